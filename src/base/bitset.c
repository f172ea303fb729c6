/* Bit sets of a fixed size, in an arena. */
#include "base/base.h"

insitu_status bitset_create(arena *arena, uint32_t bits, bitset *out_set) {
    *out_set = (bitset){.bits = bits};
    return arena_array(arena, ((size_t)bits + 63) / 64, sizeof(uint64_t), &out_set->words);
}

bool bitset_merge(bitset *target, const bitset *source) {
    uint64_t changed = 0;
    for (size_t i = 0; i < ((size_t)target->bits + 63) / 64; i++) {
        changed |= source->words[i] & ~target->words[i];
        target->words[i] |= source->words[i];
    }
    return changed != 0;
}
