/* Writes pickles as torch.save does (protocol 2), for tests of the reader. */
#ifndef PICKLE_WRITER_H
#define PICKLE_WRITER_H

#include "base/base.h"
#include <string.h>

typedef struct pickle_writer {
    uint8_t bytes[1 << 14];
    size_t size;
    uint8_t memo_count;
} pickle_writer_t;

static inline void pickle_put(pickle_writer_t *pickle, const void *data, size_t size) {
    memcpy(pickle->bytes + pickle->size, data, size);
    pickle->size += size;
}
static inline void pickle_op(pickle_writer_t *pickle, uint8_t opcode) { pickle_put(pickle, &opcode, 1); }
static inline void pickle_memo(pickle_writer_t *pickle) { /* BINPUT */
    pickle_op(pickle, 'q');
    pickle_op(pickle, pickle->memo_count++);
}

static inline void pickle_int(pickle_writer_t *pickle, int64_t number) { /* BININT1 or LONG1 */
    bool small = number >= 0 && number < 256;
    pickle_op(pickle, small ? 'K' : 0x8a);
    if (!small) pickle_op(pickle, 8);
    for (int i = 0; i < (small ? 1 : 8); i++) pickle_op(pickle, (uint8_t)((uint64_t)number >> (8 * i)));
}

static inline void pickle_text(pickle_writer_t *pickle, const char *text) { /* BINUNICODE */
    uint32_t size = (uint32_t)strlen(text);
    pickle_op(pickle, 'X');
    for (int i = 0; i < 4; i++) pickle_op(pickle, (uint8_t)(size >> (8 * i)));
    pickle_put(pickle, text, size);
    pickle_memo(pickle);
}

/* "torch FloatStorage" */
static inline void pickle_name(pickle_writer_t *pickle, const char *module, const char *name) {
    pickle_op(pickle, 'c');
    pickle_put(pickle, module, strlen(module));
    pickle_op(pickle, '\n');
    pickle_put(pickle, name, strlen(name));
    pickle_op(pickle, '\n');
    pickle_memo(pickle);
}

static inline void pickle_hooks(pickle_writer_t *pickle) { /* OrderedDict() */
    pickle_name(pickle, "collections", "OrderedDict");
    pickle_put(pickle, ")R", 2);
}

typedef struct pickle_view {
    const char *storage, *key;
    int64_t count, offset;
    uint32_t rank;
    int64_t sizes[4], strides[4];
    const char *dtype; /* if any: _rebuild_tensor_v3 of an untyped storage */
    const char *bits;  /* if any: a key of the dict that says how elements are read */
} pickle_view_t;

static inline void pickle_dims(pickle_writer_t *pickle, const int64_t *dims, uint32_t rank) {
    pickle_op(pickle, '(');
    for (uint32_t i = 0; i < rank; i++) pickle_int(pickle, dims[i]);
    pickle_op(pickle, 't');
}

/* The arguments of a function that builds a tensor. */
static inline void pickle_view_arguments(pickle_writer_t *pickle, const pickle_view_t *view) {
    pickle_put(pickle, "((", 2);
    pickle_text(pickle, "storage");
    pickle_name(pickle, view->dtype ? "torch.storage" : "torch", view->storage);
    pickle_text(pickle, view->key);
    pickle_text(pickle, "cpu");
    pickle_int(pickle, view->count);
    pickle_put(pickle, "tQ", 2);
    pickle_int(pickle, view->offset);
    pickle_dims(pickle, view->sizes, view->rank);
    pickle_dims(pickle, view->strides, view->rank);
    pickle_op(pickle, 0x89);
    pickle_hooks(pickle);
    if (view->dtype) pickle_name(pickle, "torch", view->dtype);
    if (view->bits) {
        pickle_op(pickle, '}');
        pickle_text(pickle, view->bits);
        pickle_put(pickle, "\x88s", 2);
    }
    pickle_op(pickle, 't');
}

static inline void pickle_tensor(pickle_writer_t *pickle, const pickle_view_t *view) {
    pickle_name(pickle, "torch._utils", view->dtype ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
    pickle_view_arguments(pickle, view);
    pickle_op(pickle, 'R');
}

static inline void pickle_parameter(pickle_writer_t *pickle, const pickle_view_t *view) {
    pickle_name(pickle, "torch._utils", "_rebuild_parameter");
    pickle_op(pickle, '(');
    pickle_tensor(pickle, view);
    pickle_op(pickle, 0x88);
    pickle_hooks(pickle);
    pickle_put(pickle, "tR", 2);
}

/* A parameter with a Python attribute. */
static inline void pickle_parameter_with_state(pickle_writer_t *pickle, const pickle_view_t *view) {
    pickle_name(pickle, "torch._utils", "_rebuild_parameter_with_state");
    pickle_op(pickle, '(');
    pickle_tensor(pickle, view);
    pickle_op(pickle, 0x88);
    pickle_hooks(pickle);
    pickle_op(pickle, '}');
    pickle_text(pickle, "kind");
    pickle_text(pickle, "unguarded");
    pickle_put(pickle, "stR", 3);
}

/* A tensor with Python attributes, as an nn.Buffer is. */
static inline void pickle_buffer(pickle_writer_t *pickle, const char *class_name, const pickle_view_t *view) {
    pickle_name(pickle, "torch._tensor", "_rebuild_from_type_v2");
    pickle_op(pickle, '(');
    pickle_name(pickle, "torch._utils", view->dtype ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
    pickle_name(pickle, "torch", class_name);
    pickle_view_arguments(pickle, view);
    pickle_op(pickle, '}');
    pickle_text(pickle, "_is_buffer");
    pickle_put(pickle, "\x88stR", 4);
}

static inline void pickle_begin(pickle_writer_t *pickle) {
    pickle->size = pickle->memo_count = 0;
    pickle_put(pickle, "\x80\x02", 2);
}
static inline void pickle_begin_dict(pickle_writer_t *pickle) {
    pickle_begin(pickle);
    pickle_op(pickle, '}');
    pickle_memo(pickle);
    pickle_op(pickle, '(');
}
static inline void pickle_end_dict(pickle_writer_t *pickle) { pickle_put(pickle, "u.", 2); }

#endif
