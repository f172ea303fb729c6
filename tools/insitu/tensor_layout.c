/* Giving a tensor that was read from a file, which is dense, the strides that a program wants. */
#include "safetensors.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static bool is_dense(const insitu_tensor *tensor, const int64_t *strides) {
    int64_t expected = 1;
    for (int32_t i = tensor->ndim; i-- > 0;) {
        if (tensor->shape[i] == 0) return true;
        if (tensor->shape[i] != 1 && strides[i] != expected) return false;
        expected *= tensor->shape[i];
    }
    return true;
}

/* Bytes from the first element to the last; false if they can't be counted. */
static bool reach(const insitu_tensor *tensor, const int64_t *strides, size_t *out_bytes) {
    int64_t last = 0, step, bytes;
    for (int32_t i = 0; i < tensor->ndim; i++)
        if (__builtin_mul_overflow(tensor->shape[i] - 1, strides[i], &step) ||
            __builtin_add_overflow(last, step, &last))
            return false;
    if (__builtin_mul_overflow(last + 1, tensor->dtype.bits / 8, &bytes) || bytes < 0) return false;
    *out_bytes = (size_t)bytes;
    return bytes <= INT64_MAX - ALIGNMENT;
}

static void scatter(const insitu_tensor *tensor, const int64_t *strides, const char *from, char *to) {
    size_t item = tensor->dtype.bits / 8u;
    int64_t count = 1;
    for (int32_t i = 0; i < tensor->ndim; i++) count *= tensor->shape[i];
    for (int64_t n = 0; n < count; n++) {
        int64_t rest = n, place = 0;
        for (int32_t i = tensor->ndim; i-- > 0; rest /= tensor->shape[i]) place += rest % tensor->shape[i] * strides[i];
        memcpy(to + (size_t)place * item, from + (size_t)n * item, item);
    }
}

int tensor_lay_out(insitu_tensor *tensor, const int64_t *strides) {
    size_t bytes, rank = (size_t)tensor->ndim;
    if (is_dense(tensor, strides)) return DONE;
    if (!reach(tensor, strides, &bytes)) return report_error("the strides of an input reach too far");
    char *data = aligned_alloc(ALIGNMENT, (bytes / ALIGNMENT + 1) * ALIGNMENT);
    int64_t *copied = malloc((rank + 1) * sizeof(*copied));
    if (!data || !copied) {
        free(data);
        free(copied);
        return report_error("out of memory");
    }
    memset(data, 0, bytes);
    memcpy(copied, strides, rank * sizeof(*copied));
    scatter(tensor, strides, tensor->data, data);
    free(tensor->data);
    tensor->data = data;
    tensor->strides = copied;
    return DONE;
}
