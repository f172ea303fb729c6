/* Writing safetensors files. Elements go out in row-major order, whatever the tensor's strides. */
#include "safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIMENSIONS = 64 };

static int64_t tensor_bytes(const insitu_tensor *tensor) {
    int64_t bytes = tensor->dtype.bits / 8;
    for (int32_t i = 0; i < tensor->ndim; i++) bytes *= tensor->shape[i];
    return bytes;
}

static json_t *tensor_entry(const insitu_tensor *tensor, int64_t begin) {
    json_t *shape = json_array();
    for (int32_t i = 0; i < tensor->ndim; i++) json_array_append_new(shape, json_integer(tensor->shape[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_dtype_name(tensor->dtype), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)begin + (json_int_t)tensor_bytes(tensor));
}

/* The header's text, padded with spaces so that the elements begin at a multiple of 8; NULL if memory is short. */
static char *header_text(const tensor_list *tensors) {
    json_t *header = json_object();
    int64_t begin = 0;
    bool is_whole = header != NULL;
    for (size_t i = 0; is_whole && i < tensors->count; i++) {
        const named_tensor *item = &tensors->items[i];
        is_whole = json_object_set_new(header, item->name, tensor_entry(&item->tensor, begin)) == 0;
        begin += tensor_bytes(&item->tensor);
    }
    char *text = is_whole ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    if (!text) return NULL;
    size_t size = strlen(text), padded = (size + 7) / 8 * 8;
    char *result = realloc(text, padded + 1);
    if (!result) {
        free(text);
        return NULL;
    }
    memset(result + size, ' ', padded - size);
    result[padded] = 0;
    return result;
}

static void write_row_major(FILE *file, const insitu_tensor *tensor) {
    size_t item = tensor->dtype.bits / 8u;
    const char *data = (const char *)tensor->data + tensor->byte_offset;
    int64_t bytes = tensor_bytes(tensor);
    if (bytes == 0) return;
    if (!tensor->strides) {
        fwrite(data, 1, (size_t)bytes, file);
        return;
    }
    int64_t index[MAX_DIMENSIONS] = {0}, place = 0;
    for (;;) {
        fwrite(data + place * (int64_t)item, item, 1, file);
        int32_t dim = tensor->ndim;
        while (dim-- > 0) {
            place += tensor->strides[dim];
            if (++index[dim] < tensor->shape[dim]) break;
            place -= tensor->strides[dim] * index[dim];
            index[dim] = 0;
        }
        if (dim < 0) return;
    }
}

/* 0, or the number of an error. */
static int write_elements(FILE *file, const char *header, const tensor_list *tensors) {
    uint64_t size = strlen(header);
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(size >> (8 * i));
    errno = 0;
    fwrite(length, sizeof(length), 1, file);
    fwrite(header, 1, (size_t)size, file);
    for (size_t i = 0; i < tensors->count; i++) write_row_major(file, &tensors->items[i].tensor);
    if (fflush(file) == 0 && !ferror(file)) return 0;
    return errno ? errno : EIO;
}

static int write_file(const char *path, const char *header, const tensor_list *tensors) {
    FILE *file = fopen(path, "wb");
    if (!file) return report_error("cannot write '%s': %s", path, strerror(errno));
    int error = write_elements(file, header, tensors);
    if (fclose(file) != 0 && !error) error = errno;
    return error ? report_error("cannot write '%s': %s", path, strerror(error)) : DONE;
}

int safetensors_write(const char *path, const tensor_list *tensors) {
    for (size_t i = 0; i < tensors->count; i++) {
        const insitu_tensor *tensor = &tensors->items[i].tensor;
        if (!safetensors_dtype_name(tensor->dtype) || tensor->ndim > MAX_DIMENSIONS)
            return report_error("'%s' can't be written: safetensors files have no such dtype", tensors->items[i].name);
    }
    char *header = header_text(tensors);
    int code = header ? write_file(path, header, tensors) : report_error("out of memory for '%s'", path);
    free(header);
    return code;
}
