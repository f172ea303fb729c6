/* The layout that index and index_update share (ref_index.c). */
#ifndef REF_INDEX_H
#define REF_INDEX_H

#include "backend/cpu/cpu_int.h"

typedef struct index_layout {
    uint32_t count, dims[MAX_RANK]; /* indexed dimensions of x */
    const bound_operand_t *indices; /* one operand a dimension of dims */
    uint32_t index_rank, front;     /* the index dimensions of the gathered tensor: [front, front + index_rank) */
    uint32_t rest_rank;             /* the other dimensions */
    int64_t rest_sizes[MAX_RANK], rest_x_strides[MAX_RANK], rest_strides[MAX_RANK];
} index_layout_t;
/* gathered: the result of index, the source of index_update. Declines where shapes or dtypes do not fit. */
bool index_layout_read(const bound_step_t *step, const bound_operand_t *x, const bound_operand_t *gathered,
                       uint32_t first_index, index_layout_t *out, reason_t *why);

typedef struct index_pair { /* addresses of the first rest element */
    char *x, *gathered;
} index_pair_t;
/* For one row-major position of the index tensors; false: x has no elements. */
bool index_place(const kernel_call_t *call, const index_layout_t *layout, const bound_operand_t *x,
                 const bound_operand_t *gathered, int64_t position, index_pair_t *out);
/* The rest dimensions: slot 0 x, slot 1 gathered, addresses to be set. */
void index_rest_walk(const index_layout_t *layout, int64_t size, walk_t *out);
/* gather and scatter: index no larger than other, nor than operand 0 outside dim. */
bool lines_of_index_fit(const bound_step_t *step, const bound_operand_t *index, const bound_operand_t *other,
                        reason_t *why);

#endif
