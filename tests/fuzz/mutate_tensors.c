/* Mutates a safetensors file: its header as JSON, its length set to fit, or the bytes as they are. */
#include "mutate.h"

#include <string.h>

enum { LENGTH_SIZE = 8 };

static uint64_t read_length(const uint8_t *data, size_t size) {
    uint64_t length = 0;
    for (uint32_t i = LENGTH_SIZE; i-- > 0;) length = length << 8 | (size >= LENGTH_SIZE ? data[i] : 0);
    return length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed) {
    static uint8_t header[1 << 16], rest[1 << 16];
    uint32_t random = seed;
    uint64_t length = read_length(data, size);
    size_t rest_size = size - LENGTH_SIZE - (size_t)length;
    bool is_whole =
        size >= LENGTH_SIZE && length <= size - LENGTH_SIZE && length <= sizeof(header) && rest_size <= sizeof(rest);
    if (!is_whole || mutate_random(&random, 4) == 0) return LLVMFuzzerMutate(data, size, limit);
    memcpy(header, data + LENGTH_SIZE, (size_t)length);
    memcpy(rest, data + LENGTH_SIZE + length, rest_size);
    size_t changed = mutate_json(header, (size_t)length, sizeof(header), &random);
    if (!changed || LENGTH_SIZE + changed + rest_size > limit) return LLVMFuzzerMutate(data, size, limit);
    for (uint32_t i = 0; i < LENGTH_SIZE; i++) data[i] = (uint8_t)((uint64_t)changed >> (8 * i));
    memcpy(data + LENGTH_SIZE, header, changed);
    memcpy(data + LENGTH_SIZE + changed, rest, rest_size);
    return LENGTH_SIZE + changed + rest_size;
}
