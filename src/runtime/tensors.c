/* Tensors of the API and dense memory. Their dtypes and strides were checked before. */
#include "runtime/runtime_int.h"

static void copy(const insitu_tensor *tensor, const void *source, void *target) {
    dtype type;
    if (!dtype_from_public(tensor->dtype, &type)) return;
    int64_t dense[MAX_RANK];
    uint32_t rank = (uint32_t)tensor->ndim;
    uint8_t *data = (uint8_t *)tensor->data + tensor->byte_offset;
    dense_strides(rank, tensor->shape, dense);
    if (target)
        strided_copy(type, rank, tensor->shape, target, dense, data, tensor->strides);
    else if (source)
        strided_copy(type, rank, tensor->shape, data, tensor->strides, source, dense);
}

void tensor_gather(const insitu_tensor *tensor, void *dense) { copy(tensor, NULL, dense); }
void tensor_scatter(const insitu_tensor *tensor, const void *dense) { copy(tensor, dense, NULL); }

bool same_strides(uint32_t rank, const int64_t *sizes, const int64_t *a, const int64_t *b) {
    bool is_same = true;
    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] == 0) return true;
        if (sizes[i] != 1 && a[i] != b[i]) is_same = false;
    }
    return is_same;
}
