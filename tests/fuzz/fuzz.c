/* Properties that hold for every target: diagnostics, and memory in proportion to the input. */
#include "fuzz.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What reading may take: passes copy a graph a few times, and a node's text is short beside what describes it. */
enum { MEMORY_FIXED = 64 << 20, MEMORY_FACTOR = 4096 };

static struct {
    size_t live, limit;
    bool is_strict; /* going beyond the limit is a fault, not NOMEM */
} memory;

void fuzz_expect(bool holds, const char *format, ...) {
    if (holds) return;
    va_list arguments;
    va_start(arguments, format);
    fputs("fuzz: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

bool fuzz_is_ok(insitu_status status, const insitu_diag *diag) {
    if (status == INSITU_OK) return true;
    fuzz_expect(diag->status == status, "status %s is told as %s", insitu_status_name(status),
                insitu_status_name(diag->status));
    fuzz_expect(diag->message[0] && memchr(diag->message, 0, sizeof(diag->message)), "%s has no sentence",
                insitu_status_name(status));
    fuzz_expect(status != INSITU_INTERNAL, "a bug: %s", diag->message);
    return false;
}

static void *count_alloc(void *user, size_t size) {
    (void)user;
    if (size > memory.limit - memory.live) {
        fuzz_expect(!memory.is_strict, "%zu bytes more than the %zu that are in use", size, memory.live);
        return NULL;
    }
    void *data = malloc(size);
    fuzz_expect(data != NULL, "malloc of %zu bytes failed", size);
    memory.live += malloc_usable_size(data);
    if (memory.live > memory.limit) memory.limit = memory.live; /* usable is a little more than was asked for */
    return data;
}

static void count_free(void *user, void *data) {
    (void)user;
    memory.live -= malloc_usable_size(data);
    free(data);
}

void fuzz_begin(size_t size) {
    static const memory_hooks_t hooks = {.alloc = count_alloc, .free = count_free};
    memory_set_hooks(&hooks);
    memory.live = 0;
    memory.limit = MEMORY_FIXED + MEMORY_FACTOR * size;
    memory.is_strict = true;
}

void fuzz_allow(size_t limit) {
    memory.limit = memory.live + limit;
    memory.is_strict = false;
}

void fuzz_end(void) {
    fuzz_expect(memory.live == 0, "%zu bytes were not freed", memory.live);
    memory_set_hooks(NULL);
}

/* One thread, no library opened: what happens depends on the input alone. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("INSITU_CHECK", "roundtrip", 1);
    setenv("INSITU_MAX_ROUNDS", "1000", 1);
    return 0;
}
