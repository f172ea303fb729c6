/* Arenas: bump allocation in blocks that grow geometrically and are freed together.
 *
 *     blocks -> [ header | used ... | free ... ] -> older block -> ...
 *
 * A request larger than a block gets a block of its own. Under AddressSanitizer the free part is poisoned and items are
 * kept apart by a red zone, so that an overrun is found as it would be with malloc. */
#include "base/base.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#endif

#ifdef ARENA_POISON
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = 16 };
static void poison(void *data, size_t size) { __asan_poison_memory_region(data, size); }
static void unpoison(void *data, size_t size) { __asan_unpoison_memory_region(data, size); }
#else
enum { RED_ZONE = 0 };
static void poison(void *data, size_t size) { (void)data, (void)size; }
static void unpoison(void *data, size_t size) { (void)data, (void)size; }
#endif

enum { ALIGNMENT = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct arena_block {
    arena_block_t *next;
    size_t size, used; /* bytes of data */
    _Alignas(ALIGNMENT) uint8_t data[];
};

void arena_init(arena_t *arena) { *arena = (arena_t){.block_size = FIRST_BLOCK}; }

void arena_release(arena_t *arena) {
    for (arena_block_t *block = arena->blocks; block;) {
        arena_block_t *next = block->next;
        unpoison(block->data, block->size);
        memory_free(block);
        block = next;
    }
    arena_init(arena);
}

static insitu_status add_block(arena_t *arena, size_t needed) {
    size_t size = arena->block_size ? arena->block_size : FIRST_BLOCK;
    if (size < LARGEST_BLOCK) arena->block_size = size * 2;
    if (size < needed) size = needed;
    size_t total;
    if (!checked_size_add(size, sizeof(arena_block_t), &total)) return INSITU_NOMEM;
    arena_block_t *block = memory_alloc(total);
    if (!block) return INSITU_NOMEM;
    block->size = size;
    block->used = 0;
    block->next = arena->blocks;
    arena->blocks = block;
    poison(block->data, block->size);
    return INSITU_OK;
}

/* size bytes, not zeroed */
static insitu_status take(arena_t *arena, size_t size, void **out_data) {
    *out_data = NULL;
    size_t needed;
    if (!checked_size_add(size, RED_ZONE + ALIGNMENT - 1, &needed)) return INSITU_NOMEM;
    needed &= ~(size_t)(ALIGNMENT - 1);
    arena_block_t *block = arena->blocks;
    if (!block || block->size - block->used < needed) {
        TRY(add_block(arena, needed));
        block = arena->blocks;
    }
    *out_data = block->data + block->used;
    block->used += needed;
    unpoison(*out_data, size);
    return INSITU_OK;
}

insitu_status arena_array(arena_t *arena, size_t count, size_t item_size, void *out_pointer) {
    void *data = NULL;
    memcpy(out_pointer, &data, sizeof(data));
    size_t size;
    if (!checked_size_mul(count, item_size, &size)) return INSITU_NOMEM;
    TRY(take(arena, size, &data));
    memset(data, 0, size);
    memcpy(out_pointer, &data, sizeof(data));
    return INSITU_OK;
}

insitu_status arena_grow(arena_t *arena, void *items_pointer, uint32_t *capacity, size_t needed, size_t item_size) {
    if (needed <= *capacity) return INSITU_OK;
    if (needed > UINT32_MAX) return INSITU_NOMEM;
    size_t grown = *capacity ? (size_t)*capacity * 2 : 8;
    if (grown < needed) grown = needed;
    if (grown > UINT32_MAX) grown = UINT32_MAX;
    void *old, *items;
    memcpy(&old, items_pointer, sizeof(old));
    TRY(arena_array(arena, grown, item_size, &items));
    if (*capacity) memcpy(items, old, (size_t)*capacity * item_size);
    memcpy(items_pointer, &items, sizeof(items));
    *capacity = (uint32_t)grown;
    return INSITU_OK;
}

insitu_status arena_copy(arena_t *arena, const void *data, size_t size, void *out_pointer) {
    void *copy;
    insitu_status status = take(arena, size, &copy);
    if (status == INSITU_OK && size) memcpy(copy, data, size);
    memcpy(out_pointer, &copy, sizeof(copy));
    return status;
}

insitu_status arena_string(arena_t *arena, const char *text, size_t size, const char **out_text) {
    *out_text = NULL;
    size_t with_end;
    if (!checked_size_add(size, 1, &with_end)) return INSITU_NOMEM;
    void *data;
    TRY(take(arena, with_end, &data));
    char *copy = data;
    if (size) memcpy(copy, text, size);
    copy[size] = 0;
    *out_text = copy;
    return INSITU_OK;
}

insitu_status arena_printf(arena_t *arena, const char **out_text, const char *format, ...) {
    *out_text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) return INSITU_NOMEM;
    void *data;
    TRY(take(arena, (size_t)length + 1, &data));
    va_start(arguments, format);
    vsnprintf(data, (size_t)length + 1, format, arguments);
    va_end(arguments);
    *out_text = data;
    return INSITU_OK;
}
