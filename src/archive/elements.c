/* Elements of stored tensors, in row-major order whatever their strides: their hash, and their values as text. */
#include "archive/archive_int.h"

#include <inttypes.h>

uint32_t stored_tensor_count(const archive_program_t *program) {
    return program->payload_count + program->about->unused_count;
}

stored_tensor_t stored_tensor_of(const archive_program_t *program, uint32_t index) {
    if (index < program->payload_count) {
        const archive_payload_t *payload = &program->payloads[index];
        const archive_storage_t *storage = payload->storage == NONE ? NULL : &program->storages[payload->storage];
        return (stored_tensor_t){.payload = payload, .storage = storage};
    }
    const archive_unused_t *unused = &program->about->unused[index - program->payload_count];
    return (stored_tensor_t){.payload = &unused->payload,
                             .storage = unused->storage.record ? &unused->storage : NULL,
                             .problem = unused->problem};
}

/* ---- the walk ---- */

/* Elements of a view that the archive has checked: it lies in its storage, and their number is an int64. */
typedef struct walk {
    const archive_payload_t *payload;
    const uint8_t *at;
    int64_t position[MAX_RANK];
    int64_t left;
} walk_t;

static walk_t walk_of(const stored_tensor_t *tensor) {
    const archive_payload_t *payload = tensor->payload;
    walk_t walk = {.payload = payload};
    if (!tensor->storage) return walk;
    walk.left = 1;
    for (uint32_t i = 0; i < payload->rank; i++) walk.left *= payload->sizes[i];
    walk.at = tensor->storage->data + (size_t)payload->offset * dtype_size(payload->dtype);
    return walk;
}

static void walk_on(walk_t *walk) {
    const archive_payload_t *payload = walk->payload;
    int64_t step = (int64_t)dtype_size(payload->dtype);
    if (!--walk->left) return;
    for (uint32_t i = payload->rank; i-- > 0;) {
        if (payload->sizes[i] == 1) continue; /* its stride may be anything */
        walk->at += payload->strides[i] * step;
        if (++walk->position[i] < payload->sizes[i]) return;
        walk->at -= payload->sizes[i] * payload->strides[i] * step;
        walk->position[i] = 0;
    }
}

static bool is_dense(const archive_payload_t *payload) {
    int64_t next = 1;
    for (uint32_t i = payload->rank; i-- > 0;) {
        if (payload->sizes[i] != 1 && payload->strides[i] != next) return false;
        next *= payload->sizes[i];
    }
    return true;
}

/* ---- hash ---- */

insitu_status stored_tensor_hash(const stored_tensor_t *tensor, uint64_t *out_hash) {
    walk_t walk = walk_of(tensor);
    size_t width = tensor->storage ? dtype_size(tensor->payload->dtype) : 0, size;
    *out_hash = 0;
    if (!checked_size_mul((size_t)walk.left, width, &size)) return INSITU_NOMEM;
    if (!size || is_dense(tensor->payload)) {
        *out_hash = hash_bytes(size ? walk.at : (const uint8_t *)"", size, 0);
        return INSITU_OK;
    }
    uint8_t *dense = memory_alloc(size);
    if (!dense) return INSITU_NOMEM;
    for (uint8_t *to = dense; walk.left; walk_on(&walk), to += width) memcpy(to, walk.at, width);
    *out_hash = hash_bytes(dense, size, 0);
    memory_free(dense);
    return INSITU_OK;
}

/* ---- values ---- */

/* A float, or half of a complex number, of that dtype. */
static void print_float(const uint8_t *at, dtype_t type, text_t *out) {
    sym_value_t number;
    if (element_value(type, at, &number)) json_print_double(out, number.f, type == DTYPE_F64 ? 17 : 9);
}

static void print_integer(const uint8_t *at, uint32_t size, bool is_signed, text_t *out) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < size; i++) bits |= (uint64_t)at[i] << 8 * i;
    if (!is_signed) {
        text_printf(out, "%" PRIu64, bits);
        return;
    }
    if (size < 8 && bits >> (8 * size - 1)) bits |= ~UINT64_C(0) << 8 * size;
    text_printf(out, "%" PRId64, (int64_t)bits);
}

static void print_element(const uint8_t *at, dtype_t type, text_t *out) {
    const uint32_t size = dtype_size(type);
    const dtype_t half = size == 16 ? DTYPE_F64 : size == 8 ? DTYPE_F32 : DTYPE_F16; /* of a complex number */
    switch (dtype_kind_of(type)) {
    case KIND_BOOL: text_printf(out, *at ? "true" : "false"); break;
    case KIND_UNSIGNED:
    case KIND_SIGNED: print_integer(at, size, dtype_kind_of(type) == KIND_SIGNED, out); break;
    case KIND_FLOAT: print_float(at, type, out); break;
    case KIND_COMPLEX:
        text_add(out, "[", 1);
        print_float(at, half, out);
        text_add(out, ",", 1);
        print_float(at + size / 2, half, out);
        text_add(out, "]", 1);
        break;
    }
}

void stored_tensor_print(const stored_tensor_t *tensor, text_t *out) {
    walk_t walk = walk_of(tensor);
    text_add(out, "[", 1);
    for (bool first = true; walk.left && !out->failed; walk_on(&walk), first = false) {
        if (!first) text_add(out, ",", 1);
        print_element(walk.at, tensor->payload->dtype, out);
    }
    text_add(out, "]", 1);
}
