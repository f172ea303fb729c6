/* unpickle: the values of a pickle, built without executing anything.
 *
 * Only what files of tensors need is understood: the opcodes in the table of unpickle.c and the globals in that of
 * unpickle_globals.c; any other is refused by its name. A call (REDUCE) makes a record of what would be built. Nothing
 * recurses, and memory is bounded by the size of the pickle. */
#ifndef UNPICKLE_H
#define UNPICKLE_H

#include "base/base.h"
#include "core/core.h"

typedef struct pickled pickled_t;
typedef struct pickle_global pickle_global_t;

typedef struct pickled_storage { /* the bytes of the record data/KEY */
    const char *key;
    dtype_t dtype; /* U8 for an untyped storage */
    int64_t count; /* elements of that dtype */
} pickled_storage_t;
typedef struct pickled_tensor { /* a strided view; nothing is checked but that the numbers are >= 0 */
    const pickled_storage_t *storage;
    dtype_t dtype;
    int64_t offset;
    const pickled_t *sizes, *strides; /* tuples of equally many integers, at most MAX_RANK */
    bool is_param;
    bool has_lazy_bits; /* conjugated or negated when read */
} pickled_tensor_t;

typedef enum pickled_kind {
    PICKLED_NONE,
    PICKLED_BOOL,    /* number */
    PICKLED_INT,     /* number */
    PICKLED_FLOAT,   /* real */
    PICKLED_TEXT,    /* text, size */
    PICKLED_TUPLE,   /* items, count */
    PICKLED_LIST,    /* items, count */
    PICKLED_DICT,    /* items, count: keys and values in turn; of equal keys the last one holds */
    PICKLED_GLOBAL,  /* global */
    PICKLED_STORAGE, /* storage */
    PICKLED_TENSOR   /* tensor */
} pickled_kind_t;
struct pickled {
    pickled_kind_t kind;
    uint32_t count, capacity;
    union {
        int64_t number;
        double real;
        struct {
            const char *text; /* with a zero byte after its end; it may hold others */
            size_t size;
        };
        pickled_t **items;
        const pickle_global_t *global;
        const pickled_storage_t *storage;
        const pickled_tensor_t *tensor;
    };
};

/* The value of the pickle, in the arena. name: what errors call it. Errors: FORMAT (broken), UNSUPPORTED (an opcode or
 * a global that is not read), NOMEM. */
MUST_CHECK insitu_status unpickle(arena_t *arena, const char *name, const uint8_t *data, size_t size,
                                  const pickled_t **out, insitu_diag *diag);
const char *pickled_kind_name(pickled_kind_t kind); /* "an integer" */

/* ---- shared by unpickle.c and unpickle_globals.c ---- */
typedef struct unpickler {
    arena_t *arena;
    const char *name;
    const uint8_t *data;
    size_t size, position;
    size_t opcode_at; /* of the opcode that is carried out */
    const char *opcode;
    pickled_t **stack, **memo;
    uint32_t *marks; /* heights of the stack */
    uint32_t height, stack_capacity, memo_count, memo_capacity, mark_count, mark_capacity, value_count;
    insitu_diag *diag;
} unpickler_t;
/* Fails with a sentence that begins with the record, the place and the opcode. */
insitu_status unpickle_fail(const unpickler_t *u, insitu_status code, const char *format, ...) PRINTF_LIKE(3, 4);
MUST_CHECK insitu_status unpickle_new(unpickler_t *u, pickled_kind_t kind, pickled_t **out);
/* Looks a global up; module and name need no zero byte at their end. */
MUST_CHECK insitu_status unpickle_global(unpickler_t *u, const char *module, size_t module_size, const char *name,
                                         size_t name_size, pickled_t **out);
/* What calling the global gives. */
MUST_CHECK insitu_status unpickle_call(unpickler_t *u, const pickled_t *callee, const pickled_t *arguments,
                                       pickled_t **out);
/* What a persistent id stands for: a storage. */
MUST_CHECK insitu_status unpickle_persistent(unpickler_t *u, const pickled_t *id, pickled_t **out);

#endif
