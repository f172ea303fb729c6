/* Mutates scripts of builder calls by whole records, so that calls keep their arguments. */
#include "builder_script.h"
#include "mutate.h"

#include <string.h>

static size_t insert(uint8_t *data, size_t size, size_t limit, size_t at, const uint8_t *record) {
    if (size + SCRIPT_RECORD > limit) return 0;
    memmove(data + at + SCRIPT_RECORD, data + at, size - at);
    memcpy(data + at, record, SCRIPT_RECORD);
    return size + SCRIPT_RECORD;
}

static size_t change_byte(uint8_t *data, size_t size, uint32_t *random) {
    size_t at = mutate_random(random, (uint32_t)size);
    data[at] = mutate_random(random, 4) ? (uint8_t)mutate_random(random, 26) : (uint8_t)mutate_random(random, 256);
    return size;
}

/* A record is added or doubled, removed, or changed in one byte. */
static size_t change_records(uint8_t *data, size_t size, size_t limit, uint32_t *random) {
    uint32_t count = (uint32_t)((size - 1) / SCRIPT_RECORD);
    size_t at = 1 + (size_t)mutate_random(random, count + 1) * SCRIPT_RECORD;
    uint8_t record[SCRIPT_RECORD] = {0};
    switch (mutate_random(random, 6)) {
    case 0: record[0] = (uint8_t)mutate_random(random, 256); return insert(data, size, limit, at, record);
    case 1:
        if (!count) return 0;
        memcpy(record, data + 1 + (size_t)mutate_random(random, count) * SCRIPT_RECORD, SCRIPT_RECORD);
        return insert(data, size, limit, at, record);
    case 2:
        if (at + SCRIPT_RECORD > size) return 0;
        memmove(data + at, data + at + SCRIPT_RECORD, size - at - SCRIPT_RECORD);
        return size - SCRIPT_RECORD;
    default: return change_byte(data, size, random);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed) {
    uint32_t random = seed * 2654435761U + 1;
    size_t changed = size > 0 && mutate_random(&random, 8) ? change_records(data, size, limit, &random) : 0;
    return changed ? changed : LLVMFuzzerMutate(data, size, limit);
}
