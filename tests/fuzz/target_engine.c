/* An engine file: loaded as it is, then with the hash that its header and plan have, so that what lies behind the hash
 * is reached; printed and run. */
#include "engine/format.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void load(const uint8_t *data, size_t size) {
    const insitu_load_options options = {.struct_size = sizeof(options), .verify_weights = size % 2 == 0};
    insitu_diag diag;
    insitu_engine *engine;
    insitu_diag_init(&diag);
    fuzz_begin(size);
    if (fuzz_is_ok(insitu_engine_load_memory(data, size, &options, &engine, &diag), &diag)) {
        fuzz_run_engine(engine);
        insitu_engine_destroy(engine);
    }
    insitu_diag_release(&diag);
    fuzz_end();
}

/* Writes the right hash where the file states one. */
static bool state_hash(uint8_t *data, size_t size) {
    const file_map_t map = {.data = data, .size = size};
    safetensors_t file;
    arena_t arena;
    arena_init(&arena);
    size_t digits_at;
    bool has_hash = false;
    if (safetensors_read(&map, "engine file", &arena, &file, NULL) == INSITU_OK) {
        uint32_t index = map_find(&file.names, PLAN_TENSOR);
        uint64_t hash;
        has_hash = index != NONE && format_find_hash(file.header, file.header_size, &digits_at) &&
                   format_hash(file.header, file.header_size, digits_at, file.tensors[index].data,
                               file.tensors[index].size, &hash) == INSITU_OK;
        if (has_hash) {
            char digits[HASH_DIGITS + 1];
            snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)hash);
            memcpy(data + (file.header - data) + digits_at, digits, HASH_DIGITS);
        }
    }
    arena_release(&arena);
    return has_hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* At the end of a block, so that reading beyond it is found; its begin is aligned as a mapped file's is. */
    size_t rounded = (size + DATA_ALIGNMENT) / DATA_ALIGNMENT * DATA_ALIGNMENT;
    uint8_t *block = aligned_alloc(DATA_ALIGNMENT, rounded);
    fuzz_expect(block != NULL, "no memory for the file");
    if (size) memcpy(block, data, size);
    load(block, size);
    if (state_hash(block, size)) load(block, size);
    free(block);
    return 0;
}
