/* Mutates a stored zip file record by record, with right checksums, so that what reads the records is reached: JSON as
 * JSON, a zip file in a record (torch.save) as one, other records as bytes; sometimes a record is lost. Now and then the
 * file's bytes are changed as they are, for the reader of the directory. */
#include "../unit/zip_writer.h"
#include "mutate.h"

#include <string.h>

enum { NAME_SIZE = 128, MAX_RECORD = 1 << 17 };

typedef struct record_table {
    char names[ZIP_MAX_RECORDS][NAME_SIZE];
    zip_writer_t zip;
} record_table_t;

static uint32_t get(const uint8_t *data, size_t bytes) {
    uint32_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | data[i];
    return value;
}

/* The records of a file that is in order, by its directory; no zip64, no comment. */
static bool read_records(const uint8_t *data, size_t size, record_table_t *table) {
    table->zip = (zip_writer_t){.packed = true};
    const uint8_t *end = size >= 22 ? data + size - 22 : NULL;
    if (!end || memcmp(end, "PK\5\6", 4) != 0) return false;
    uint32_t count = get(end + 10, 2);
    size_t at = get(end + 16, 4);
    if (count > ZIP_MAX_RECORDS) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (at > size || size - at < 46) return false;
        const uint8_t *row = data + at;
        uint32_t bytes = get(row + 20, 4), name_size = get(row + 28, 2), header = get(row + 42, 4);
        if (size - at < 46 + (size_t)name_size || name_size >= NAME_SIZE || size < 30 || header > size - 30)
            return false;
        size_t first = header + 30 + (size_t)get(data + header + 26, 2) + get(data + header + 28, 2);
        if (first > size || bytes > size - first) return false;
        memcpy(table->names[i], row + 46, name_size);
        table->names[i][name_size] = 0;
        zip_add(&table->zip, table->names[i], data + first, bytes);
        at += 46 + (size_t)name_size + get(row + 30, 2) + get(row + 32, 2);
    }
    return count > 0;
}

static bool ends_with(const char *text, const char *end) {
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* Programs are chosen most often, then tables of weights. */
static zip_record_t *choose_record(zip_writer_t *zip, uint32_t *random) {
    zip_record_t *chosen = NULL;
    for (int trial = 0; trial < 8; trial++) {
        chosen = &zip->records[mutate_random(random, (uint32_t)zip->count)];
        if (ends_with(chosen->name, ".json") || ends_with(chosen->name, ".pt") || ends_with(chosen->name, ".pkl"))
            break;
    }
    return chosen;
}

static size_t mutate_records(uint8_t *data, size_t size, size_t limit, uint32_t *random, uint32_t depth);

static size_t mutate_record(const zip_record_t *record, uint8_t *bytes, size_t limit, uint32_t *random,
                            uint32_t depth) {
    memcpy(bytes, record->data, record->size);
    if (ends_with(record->name, ".json")) return mutate_json(bytes, record->size, limit, random);
    bool is_zip = record->size > 4 && memcmp(bytes, "PK\3\4", 4) == 0 && depth == 0;
    size_t changed = is_zip ? mutate_records(bytes, record->size, limit, random, depth + 1) : 0;
    return changed ? changed : LLVMFuzzerMutate(bytes, record->size, limit);
}

static size_t mutate_records(uint8_t *data, size_t size, size_t limit, uint32_t *random, uint32_t depth) {
    static uint8_t bytes[2][MAX_RECORD];
    record_table_t *table = malloc(sizeof(*table));
    size_t changed = 0;
    if (table && size <= MAX_RECORD && read_records(data, size, table)) {
        zip_writer_t *zip = &table->zip;
        zip_record_t *record = choose_record(zip, random);
        if (mutate_random(random, 64) == 0) {
            *record = zip->records[--zip->count];
        } else {
            record->size = mutate_record(record, bytes[depth], MAX_RECORD, random, depth);
            record->data = bytes[depth];
        }
        zip->packed = mutate_random(random, 4) == 0;
        zip_finish(zip);
        if (zip->size <= limit) {
            changed = zip->size;
            memcpy(data, zip->bytes, changed);
        }
        zip_release(zip);
    }
    free(table);
    return changed;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed) {
    uint32_t random = seed;
    size_t changed = mutate_random(&random, 16) ? mutate_records(data, size, limit, &random, 0) : 0;
    return changed ? changed : LLVMFuzzerMutate(data, size, limit);
}
