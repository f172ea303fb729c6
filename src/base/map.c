/* String map: open addressing with linear probing, at most three quarters full. An empty entry has a NULL key. */
#include "base/base.h"

#include <xxhash.h>

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed) { return XXH64(data, size, seed); }

static uint32_t hash_string(const char *key) { return (uint32_t)hash_bytes(key, strlen(key), 0); }

/* The key's entry, or the empty one where it belongs. The map has a capacity. */
static map_entry_t *locate(const map_t *map, const char *key, uint32_t hash) {
    uint32_t mask = map->capacity - 1;
    for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
        map_entry_t *entry = &map->entries[at];
        if (!entry->key || (entry->hash == hash && strcmp(entry->key, key) == 0)) return entry;
    }
}

uint32_t map_find(const map_t *map, const char *key) {
    if (!map->count) return NONE;
    const map_entry_t *entry = locate(map, key, hash_string(key));
    return entry->key ? entry->value : NONE;
}

static insitu_status enlarge(map_t *map, arena_t *arena) {
    if (map->capacity > UINT32_MAX / 4) return INSITU_NOMEM;
    map_t larger = {.count = map->count, .capacity = map->capacity ? map->capacity * 2 : 16};
    TRY(arena_array(arena, larger.capacity, sizeof(map_entry_t), &larger.entries));
    for (uint32_t i = 0; i < map->capacity; i++) {
        const map_entry_t *entry = &map->entries[i];
        if (entry->key) *locate(&larger, entry->key, entry->hash) = *entry;
    }
    *map = larger;
    return INSITU_OK;
}

insitu_status map_set(map_t *map, arena_t *arena, const char *key, uint32_t value) {
    if (map->count + 1 > map->capacity - map->capacity / 4) TRY(enlarge(map, arena));
    uint32_t hash = hash_string(key);
    map_entry_t *entry = locate(map, key, hash);
    if (!entry->key) map->count++;
    *entry = (map_entry_t){.key = entry->key ? entry->key : key, .value = value, .hash = hash};
    return INSITU_OK;
}
