/* Bit sets of a fixed size, in an arena. */
#include "base/base.h"

insitu_status bitset_create(arena_t *arena, uint32_t bits, bitset_t *out_set) {
    *out_set = (bitset_t){.bits = bits};
    return arena_array(arena, ((size_t)bits + 63) / 64, sizeof(uint64_t), &out_set->words);
}
