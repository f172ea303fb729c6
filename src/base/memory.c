/* Allocation: every byte of Insitu's own comes from here, so that tests can count and fail it.
 *
 * A block lies inside what the hook returned, behind a header that remembers the hook's address:
 *
 *     raw                      data (aligned)
 *     | ... padding ... | raw  | size bytes ... */
#include "base/base.h"

#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEADER = 16, MAX_ALIGNMENT = 4096 };

static void *system_alloc(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void *system_alloc_zeros(void *user, size_t size) {
    (void)user;
    return calloc(1, size);
}

static void system_free(void *user, void *data) {
    (void)user;
    free(data);
}

static const memory_hooks_t system_hooks = {system_alloc, system_free, NULL, system_alloc_zeros};
static memory_hooks_t hooks = {system_alloc, system_free, NULL, system_alloc_zeros};

void memory_set_hooks(const memory_hooks_t *new_hooks) { hooks = new_hooks ? *new_hooks : system_hooks; }

static void *alloc_block(size_t size, size_t alignment, bool is_zeros) {
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0 && alignment <= MAX_ALIGNMENT);
    if (alignment < HEADER) alignment = HEADER;
    size_t total;
    if (!checked_size_add(size, alignment + HEADER, &total)) return NULL;
    bool has_zeros = is_zeros && hooks.alloc_zeros;
    uint8_t *raw = has_zeros ? hooks.alloc_zeros(hooks.user, total) : hooks.alloc(hooks.user, total);
    if (!raw) return NULL;
    if (is_zeros && !has_zeros) memset(raw, 0, total);
    uintptr_t first = (uintptr_t)raw + HEADER;
    size_t offset = HEADER + (size_t)(-first & (alignment - 1));
    uint8_t *data = raw + offset;
    memcpy(data - HEADER, &raw, sizeof(raw));
    return data;
}

void *memory_alloc_aligned(size_t size, size_t alignment) { return alloc_block(size, alignment, false); }
void *memory_alloc_zeros(size_t size, size_t alignment) { return alloc_block(size, alignment, true); }
void *memory_alloc(size_t size) { return memory_alloc_aligned(size, HEADER); }

void memory_free(void *data) {
    if (!data) return;
    uint8_t *raw;
    memcpy(&raw, (uint8_t *)data - HEADER, sizeof(raw));
    hooks.free(hooks.user, raw);
}

/* The memory is the process's own, so pages that are given back read as zeros. Where that is refused (locked memory) they
 * are set. */
void memory_set_zeros(void *data, size_t size) {
    enum { MANY = 1 << 20 };
    long page = sysconf(_SC_PAGESIZE);
    if (size < MANY || page <= 0) {
        memset(data, 0, size);
        return;
    }
    size_t head = (size_t)(-(uintptr_t)data & ((uintptr_t)page - 1)),
           whole = (size - head) / (size_t)page * (size_t)page;
    uint8_t *pages = (uint8_t *)data + head;
    if (madvise(pages, whole, MADV_DONTNEED) != 0) memset(pages, 0, whole);
    memset(data, 0, head);
    memset(pages + whole, 0, size - head - whole);
}
