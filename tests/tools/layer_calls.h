/* Every function of insitu/layers.h behind one signature, so that tests can go through all of them: a table of rows, each of
 * which says what its function takes, and arguments with which it succeeds. */
#ifndef LAYER_CALLS_H
#define LAYER_CALLS_H

#include <insitu/network.h>

/* What a function may be given; a row's uses say which of it counts. */
enum layer_uses {
    USES_OP = 1 << 0,
    USES_DTYPE = 1 << 1,
    USES_SIZES = 1 << 2, /* rank and first: sizes, before */
    USES_AFTER = 1 << 3, /* rank and second: strides, after */
    USES_DIMS = 1 << 4,  /* dim_count and dims */
    USES_DIM = 1 << 5,
    USES_DIM2 = 1 << 6,
    USES_LIST = 1 << 7,   /* value_count and values: the last operands */
    USES_START = 1 << 8,  /* numbers[0] */
    USES_END = 1 << 9,    /* numbers[1] */
    USES_STEP = 1 << 10,  /* numbers[2] */
    USES_COUNT = 1 << 11, /* count */
    USES_WINDOW = 1 << 12,
    USES_NAME = 1 << 13 /* of a symbol, with its range [min, max] */
};

typedef struct layer_arguments {
    const char *op, *name;
    insitu_dtype dtype;
    insitu_value operands[4]; /* some of the last may be left out: 0 */
    int32_t value_count;
    const insitu_value *values;
    int32_t rank;
    const insitu_number *first, *second;
    int32_t dim_count;
    const int32_t *dims;
    int32_t dim, dim2, count;
    insitu_number numbers[3];
    int64_t integers[2]; /* step, offset or size, as the function has them */
    int64_t min, max;
    double real;
    bool flags[2];
    const insitu_window *window;
    insitu_cache_layout layout;
} layer_arguments_t;

typedef struct layer_results {
    insitu_value values[2]; /* 0: none */
    insitu_number number;
    bool has_number;
} layer_results_t;

typedef insitu_status (*layer_call_fn)(insitu_network *network, const layer_arguments_t *given, layer_results_t *out,
                                       insitu_diag *diag);
typedef struct layer_call {
    const char *name; /* the function is insitu_network_add_NAME */
    layer_call_fn call;
    const char
        *operands;  /* a letter for each: what it may be, as layer_call_input says; in lower case: may be left out */
    const char *op; /* one that it takes */
    unsigned uses;
} layer_call_t;

extern const layer_call_t LAYER_CALLS[];
extern const size_t LAYER_CALL_COUNT;

/* The input that a letter of operands stands for: its dtype, rank and sizes. */
typedef struct letter_type {
    char letter;
    insitu_dtype dtype;
    int32_t rank;
    int64_t sizes[4];
} letter_type_t;
extern const letter_type_t LETTER_TYPES[];
extern const size_t LETTER_TYPE_COUNT;

/* Arguments with which the row's function succeeds; inputs[i] is of LETTER_TYPES[i]. */
layer_arguments_t layer_call_good(const layer_call_t *row, const insitu_value *inputs);

#endif
