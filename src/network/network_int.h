/* What the files of this room share. */
#ifndef NETWORK_INT_H
#define NETWORK_INT_H

#include "network/network_edit.h"

/* ---- inference (infer.c, infer_*.c): one function a layer kind ---- */
typedef struct infer_call {
    network_t *network;
    sym_pool_t *pool;
    layer_kind_t kind;
    const tensor_id_t *operands;
    uint32_t operand_count;
    const attr_t *attrs;
    inferred_t *results;
    insitu_diag *diag;
} infer_call_t;
typedef insitu_status (*infer_fn)(const infer_call_t *call);

const network_tensor_t *infer_operand(const infer_call_t *call, uint32_t index);
attr_t infer_attr(const infer_call_t *call, attr_id_t id);
/* "slice_update(f32[2,4], f32[3]): ..." */
insitu_status infer_fail(const infer_call_t *call, insitu_status code, const char *format, ...) PRINTF_LIKE(3, 4);
/* A constant in [min, max]. */
MUST_CHECK insitu_status infer_int(const infer_call_t *call, attr_id_t id, int64_t min, int64_t max, int64_t *out);
/* A dimension of operand 0. */
MUST_CHECK insitu_status infer_dim(const infer_call_t *call, attr_id_t id, uint32_t *out);
MUST_CHECK insitu_status infer_flag(const infer_call_t *call, attr_id_t id, bool *out);
/* A list of distinct dimensions of operand 0; *out_set has their bits. */
MUST_CHECK insitu_status infer_dims(const infer_call_t *call, attr_id_t id, uint32_t *out_set,
                                    uint32_t out_dims[MAX_RANK], uint32_t *out_count);
/* An integer expression that may not be below min. */
MUST_CHECK insitu_status infer_size(const infer_call_t *call, sym_t value, int64_t min, const char *what);
/* The result's sizes and dtype are those of a tensor that can be (SHAPE). */
MUST_CHECK insitu_status infer_bytes(const infer_call_t *call, uint32_t result);
/* Proved, disproved (SHAPE), or required at run time. what: "size of dimension 2". */
MUST_CHECK insitu_status infer_equal(const infer_call_t *call, sym_t a, sym_t b, const char *what);
MUST_CHECK insitu_status infer_at_most(const infer_call_t *call, sym_t a, sym_t b, const char *what);
MUST_CHECK insitu_status infer_same_shape(const infer_call_t *call, const shape_t *a, const shape_t *b,
                                          const char *what);
MUST_CHECK insitu_status infer_same_dtypes(const infer_call_t *call, uint32_t first, uint32_t end);
MUST_CHECK insitu_status infer_rank(const infer_call_t *call, uint32_t operand, uint32_t rank);
/* The result is of operand 0's type. */
void infer_as_operand(const infer_call_t *call, uint32_t result);
/* Sizes of x[:, start:end:step] along dim, from the attributes of that name. */
MUST_CHECK insitu_status infer_slice_shape(const infer_call_t *call, shape_t *out);
MUST_CHECK insitu_status infer_diagonal_shape(const infer_call_t *call, shape_t *out);
MUST_CHECK insitu_status infer_strided_shape(const infer_call_t *call, shape_t *out);
/* Sizes of x[indices], from the attribute dims and the index operands, which begin at operand first. */
MUST_CHECK insitu_status infer_index_shape(const infer_call_t *call, uint32_t first, shape_t *out);

#define LAYER(id, ...) MUST_CHECK insitu_status infer_##id(const infer_call_t *call);
#include "core/layers.def"
#undef LAYER

#endif
