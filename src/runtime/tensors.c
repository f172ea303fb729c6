/* Tensors of the API: what a caller's is checked for. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

size_t tensor_bytes(const insitu_tensor *tensor) {
    size_t bytes = tensor->dtype.bits / 8;
    for (int32_t i = 0; i < tensor->ndim; i++) bytes *= (size_t)tensor->shape[i];
    return bytes;
}

bool same_strides(uint32_t rank, const int64_t *sizes, const int64_t *a, const int64_t *b) {
    bool is_same = true;
    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] == 0) return true;
        if (sizes[i] != 1 && a[i] != b[i]) is_same = false;
    }
    return is_same;
}

/* ---- a caller's tensor ---- */

static bool is_host_tensor(const insitu_tensor *tensor) { return tensor->device.device_type == INSITU_DEVICE_CPU; }

insitu_status expect_dtype(const expected_tensor_t *expected, const insitu_tensor *tensor, insitu_diag *diag) {
    dtype_t given;
    if (!dtype_from_public(tensor->dtype, &given))
        FAIL(diag, INSITU_ARG, "%s '%s' has an unknown dtype (code %u, %u bits) where %s was expected", expected->what,
             expected->name, tensor->dtype.code, tensor->dtype.bits, dtype_name(expected->dtype));
    if (given != expected->dtype)
        FAIL(diag, INSITU_ARG, "%s '%s' has dtype %s where %s was expected", expected->what, expected->name,
             dtype_name(given), dtype_name(expected->dtype));
    const insitu_device *own = &expected->device->tensor_device;
    bool is_own = tensor->device.device_type == own->device_type &&
                  (expected->device->is_host || tensor->device.device_id == own->device_id);
    if (!is_own && !(expected->may_be_host && is_host_tensor(tensor)))
        FAIL(diag, INSITU_ARG, "%s '%s' is not in %s memory (device type %d)", expected->what, expected->name,
             expected->device->entry->title, (int)tensor->device.device_type);
    return INSITU_OK;
}

insitu_status tensor_read(const expected_tensor_t *expected, const insitu_tensor *tensor, bound_tensor_t *out,
                          insitu_diag *diag) {
    bound_tensor_t read = {.is_bound = true,
                           .is_host = is_host_tensor(tensor),
                           .data = tensor->data,
                           .byte_offset = tensor->byte_offset,
                           .rank = (uint32_t)tensor->ndim};
    if (read.rank) memcpy(read.sizes, tensor->shape, read.rank * sizeof(int64_t));
    if (tensor->strides && read.rank)
        memcpy(read.strides, tensor->strides, read.rank * sizeof(int64_t));
    else
        dense_strides(read.rank, read.sizes, read.strides);
    for (uint32_t i = 0; i < read.rank; i++) {
        if (read.strides[i] >= 0) continue;
        if (read.sizes[i] > 1)
            FAIL(diag, INSITU_SHAPE, "%s '%s' has a negative stride", expected->what, expected->name);
        read.strides[i] = 0; /* a dimension of size 1 steps nowhere */
    }
    if (!extent_bytes(expected->dtype, read.rank, read.sizes, read.strides, 0, &read.bytes))
        FAIL(diag, INSITU_SHAPE, "%s '%s' is too large", expected->what, expected->name);
    if (read.bytes && !tensor->data) FAIL(diag, INSITU_ARG, "%s '%s' has no data", expected->what, expected->name);
    if (tensor->byte_offset > UINTPTR_MAX - (uintptr_t)tensor->data ||
        read.bytes > UINTPTR_MAX - (uintptr_t)tensor->data - (uintptr_t)tensor->byte_offset)
        FAIL(diag, INSITU_ARG, "%s '%s' would end beyond the last address: byte_offset is %" PRIu64, expected->what,
             expected->name, tensor->byte_offset);
    if (tensor->data) read.address = (uint8_t *)tensor->data + tensor->byte_offset;
    size_t alignment = dtype_size(expected->dtype);
    if (dtype_is_complex(expected->dtype)) alignment /= 2;
    if (read.bytes && (uintptr_t)read.address % alignment)
        FAIL(diag, INSITU_ARG, "%s '%s' is not aligned to its elements' %zu bytes", expected->what, expected->name,
             alignment);
    *out = read;
    return INSITU_OK;
}

insitu_status check_written_strides(const char *name, const bound_tensor_t *given, const int64_t *expected,
                                    insitu_diag *diag) {
    if (same_strides(given->rank, given->sizes, given->strides, expected)) return INSITU_OK;
    uint32_t dim = 0;
    while (given->sizes[dim] == 1 || given->strides[dim] == expected[dim]) dim++;
    FAIL(diag, INSITU_SHAPE,
         "input '%s' is written by the program, so its strides must be those that it was exported with: "
         "stride %" PRId64 " in dimension %u where %" PRId64 " was expected",
         name, given->strides[dim], dim, expected[dim]);
}
