/* Comparing two tensors within a tolerance. */
#ifndef TENSOR_DIFFERENCE_H
#define TENSOR_DIFFERENCE_H

#include "tool.h"

typedef struct tolerance {
    double relative, absolute; /* elements differ by at most absolute + relative * |expected| */
} tolerance_t;
/* What floats of the dtype may differ by; nothing for integers. */
tolerance_t tolerance_of(insitu_dtype dtype);

typedef struct tensor_difference {
    bool is_other_type; /* dtypes or sizes differ: nothing else holds */
    int64_t count;      /* elements that differ */
    int64_t total;
    int64_t first;      /* row-major position of the first of them */
    double got, wanted; /* there */
    double largest;     /* the largest difference of two finite numbers */
} tensor_difference_t;
/* NaN equals NaN, an infinity itself. A complex element counts as two. wanted is dense and row-major. */
tensor_difference_t tensor_compare(const insitu_tensor *got, const insitu_tensor *wanted, tolerance_t tolerance);
/* Writes "f32[2,3]", cut off to fit. */
void tensor_type_text(const insitu_tensor *tensor, char *out, size_t size);

#endif
