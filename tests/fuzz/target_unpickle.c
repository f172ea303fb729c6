/* A pickle as torch.save writes them. Every value that comes out is visited: it must be whole. */
#include "archive/unpickle.h"
#include "fuzz.h"

#include <string.h>

enum { MAX_VISITED = 1 << 14, MAX_DEPTH = 64 };

static uint32_t visited;

static void visit_tensor(const pickled_tensor_t *tensor) {
    fuzz_expect(tensor->sizes->count == tensor->strides->count && tensor->sizes->count <= MAX_RANK, "rank");
    for (uint32_t i = 0; i < tensor->sizes->count; i++)
        fuzz_expect(tensor->sizes->items[i]->kind == PICKLED_INT && tensor->strides->items[i]->number >= 0, "sizes");
    fuzz_expect(tensor->offset >= 0 && tensor->storage->count >= 0 && strlen(tensor->storage->key) > 0, "storage");
    fuzz_expect(tensor->dtype < DTYPE_COUNT && tensor->storage->dtype < DTYPE_COUNT, "dtype");
}

/* Values may be shared, or hold themselves. */
static void visit(const pickled_t *value, uint32_t depth) {
    if (depth > MAX_DEPTH || visited++ > MAX_VISITED) return;
    fuzz_expect(pickled_kind_name(value->kind)[0] != 0, "kind");
    if (value->kind == PICKLED_TEXT) fuzz_expect(value->text[value->size] == 0, "text");
    if (value->kind == PICKLED_TENSOR) visit_tensor(value->tensor);
    if (value->kind == PICKLED_DICT) fuzz_expect(value->count % 2 == 0, "a key has no value");
    if (value->kind != PICKLED_TUPLE && value->kind != PICKLED_LIST && value->kind != PICKLED_DICT) return;
    for (uint32_t i = 0; i < value->count; i++) visit(value->items[i], depth + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    arena_t arena;
    insitu_diag diag;
    const pickled_t *value;
    insitu_diag_init(&diag);
    fuzz_begin(size);
    arena_init(&arena);
    visited = 0;
    if (fuzz_is_ok(unpickle(&arena, "data.pkl", data, size, &value, &diag), &diag)) visit(value, 0);
    arena_release(&arena);
    insitu_diag_release(&diag);
    fuzz_end();
    return 0;
}
