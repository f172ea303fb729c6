/* tools/insitu/safetensors.c under another name, and silent. */
#define tensors_read tool_safetensors_read
#include "tensor_file.h"
#include "../../tools/insitu/safetensors.c"

int report_error(const char *format, ...) {
    (void)format;
    return FAILED;
}

void tensor_file_read(const char *path) {
    tensor_list_t tensors;
    if (tensors_read(path, path, &tensors) != DONE) return;
    unsigned sum = 0;
    for (size_t i = 0; i < tensors.count; i++) {
        const insitu_tensor *tensor = &tensors.items[i].tensor;
        int64_t bytes = tensor->dtype.bits / 8;
        for (int32_t dim = 0; dim < tensor->ndim; dim++) bytes *= tensor->shape[dim];
        for (int64_t byte = 0; byte < bytes; byte++) sum += ((const uint8_t *)tensor->data)[byte];
        if (tensors_find(&tensors, tensors.items[i].name) == NULL) sum++;
    }
    static volatile unsigned sink;
    sink = sum;
    (void)sink;
    tensors_release(&tensors);
}
