/* Allocation: every byte of Insitu's own comes from here, so that tests can count and fail it.
 *
 * A block lies inside what the hook returned, behind a header that remembers the hook's address:
 *
 *     raw                      data (aligned)
 *     | ... padding ... | raw  | size bytes ... */
#include "base/base.h"

#include <assert.h>

enum { HEADER = 16, MAX_ALIGNMENT = 4096 };

static void *system_alloc(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void system_free(void *user, void *data) {
    (void)user;
    free(data);
}

static const memory_hooks system_hooks = {system_alloc, system_free, NULL};
static memory_hooks hooks = {system_alloc, system_free, NULL};

void memory_set_hooks(const memory_hooks *new_hooks) { hooks = new_hooks ? *new_hooks : system_hooks; }

/* calloc takes large blocks from the system, where they are zeros already. */
static void *allocate_zeros(size_t size) {
    if (hooks.alloc == system_alloc) return calloc(1, size);
    void *data = hooks.alloc(hooks.user, size);
    if (data) memset(data, 0, size);
    return data;
}

static void *allocate(size_t size, size_t alignment, bool zeroed) {
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0 && alignment <= MAX_ALIGNMENT);
    if (alignment < HEADER) alignment = HEADER;
    size_t total;
    if (!checked_size_add(size, alignment + HEADER, &total)) return NULL;
    uint8_t *raw = zeroed ? allocate_zeros(total) : hooks.alloc(hooks.user, total);
    if (!raw) return NULL;
    uintptr_t first = (uintptr_t)raw + HEADER;
    size_t offset = HEADER + (size_t)(-first & (alignment - 1));
    uint8_t *data = raw + offset;
    memcpy(data - HEADER, &raw, sizeof(raw));
    return data;
}

void *memory_alloc_aligned(size_t size, size_t alignment) { return allocate(size, alignment, false); }
void *memory_alloc_zeroed(size_t size, size_t alignment) { return allocate(size, alignment, true); }
void *memory_alloc(size_t size) { return memory_alloc_aligned(size, HEADER); }

void memory_free(void *data) {
    if (!data) return;
    uint8_t *raw;
    memcpy(&raw, (uint8_t *)data - HEADER, sizeof(raw));
    hooks.free(hooks.user, raw);
}
