/* The hash that guards an engine file's header and plan. */
#include "engine/format.h"

insitu_status format_hash(const uint8_t *header, size_t header_size, size_t digits_at, const void *plan,
                          size_t plan_size, uint64_t *out_hash) {
    arena_t scratch;
    uint8_t *copy;
    arena_init(&scratch);
    insitu_status status = arena_copy(&scratch, header, header_size, &copy);
    if (status == INSITU_OK) {
        memset(copy + digits_at, '0', HASH_DIGITS);
        *out_hash = hash_bytes(plan, plan_size, hash_bytes(copy, header_size, 0));
    }
    arena_release(&scratch);
    return status;
}

bool format_find_hash(const uint8_t *header, size_t header_size, size_t *out_digits_at) {
    const size_t key_size = sizeof(HASH_KEY) - 1;
    const uint8_t *first = memmem(header, header_size, HASH_KEY, key_size);
    if (!first) return false;
    size_t at = (size_t)(first - header) + key_size;
    if (header_size - at < HASH_DIGITS || memmem(header + at, header_size - at, HASH_KEY, key_size)) return false;
    *out_digits_at = at;
    return true;
}
