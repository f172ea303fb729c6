/* Writing safetensors files. Elements go out in row-major order, whatever the tensor's strides. */
#include "safetensors.h"

#include "paths.h"

#include "base/whole_file.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DIMENSIONS = 64 };

static int64_t tensor_bytes(const insitu_tensor *tensor) {
    int64_t bytes = tensor->dtype.bits / 8;
    for (int32_t i = 0; i < tensor->ndim; i++) bytes *= tensor->shape[i];
    return bytes;
}

/* A dtype that the format lacks is U8 with one more dimension, the bytes of an element, as in state files. */
static json_t *tensor_entry(const insitu_tensor *tensor, int64_t begin) {
    const char *name = safetensors_dtype_name(tensor->dtype);
    json_t *shape = json_array();
    for (int32_t i = 0; i < tensor->ndim; i++) json_array_append_new(shape, json_integer(tensor->shape[i]));
    if (!name) json_array_append_new(shape, json_integer(tensor->dtype.bits / 8));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", name ? name : "U8", "shape", shape, "data_offsets",
                     (json_int_t)begin, (json_int_t)begin + (json_int_t)tensor_bytes(tensor));
}

/* The header's text, padded with spaces so that the elements begin at a multiple of 8; NULL if memory is short. */
static char *header_text(const tensor_list_t *tensors) {
    json_t *header = json_object();
    int64_t begin = 0;
    bool is_whole = header != NULL;
    for (size_t i = 0; is_whole && i < tensors->count; i++) {
        const named_tensor_t *item = &tensors->items[i];
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

/* Copies a tensor's elements in row-major order. */
static void copy_row_major(const insitu_tensor *tensor, char *to) {
    size_t item = tensor->dtype.bits / 8u;
    const char *data = (const char *)tensor->data + tensor->byte_offset;
    int64_t index[MAX_DIMENSIONS] = {0}, place = 0;
    for (;; to += item) {
        memcpy(to, data + place * (int64_t)item, item);
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

/* The tensor's elements as they go out: its own memory, or *out_copy, which the caller frees. False if memory is short. */
static bool element_part(const insitu_tensor *tensor, file_part_t *out_part, void **out_copy) {
    *out_part = (file_part_t){(const char *)tensor->data + tensor->byte_offset, (size_t)tensor_bytes(tensor)};
    if (!tensor->strides || !out_part->size) return true;
    out_part->data = *out_copy = malloc(out_part->size);
    if (!*out_copy) return false;
    copy_row_major(tensor, *out_copy);
    return true;
}

static int write_parts(const char *path, const file_part_t *parts, size_t count) {
    int error =
        is_standard(path) ? descriptor_write(STDOUT_FILENO, parts, count) : whole_file_write(path, parts, count);
    return error ? report_error("cannot write '%s': %s", path, strerror(error)) : DONE;
}

static int write_file(const char *path, const char *header, const tensor_list_t *tensors) {
    size_t count = tensors->count + 2;
    file_part_t *parts = calloc(count, sizeof(*parts));
    void **copies = calloc(count, sizeof(*copies));
    uint64_t size = strlen(header);
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(size >> (8 * i));
    bool is_whole = parts && copies;
    if (is_whole) {
        parts[0] = (file_part_t){length, sizeof(length)};
        parts[1] = (file_part_t){header, (size_t)size};
    }
    for (size_t i = 2; is_whole && i < count; i++)
        is_whole = element_part(&tensors->items[i - 2].tensor, &parts[i], &copies[i]);
    int code = is_whole ? write_parts(path, parts, count) : report_error("out of memory for '%s'", path);
    for (size_t i = 0; copies && i < count; i++) free(copies[i]);
    free(copies);
    free(parts);
    return code;
}

int tensors_write(const char *path, const tensor_list_t *tensors) {
    for (size_t i = 0; i < tensors->count; i++) {
        const insitu_tensor *tensor = &tensors->items[i].tensor;
        if (tensor->ndim > MAX_DIMENSIONS)
            return report_error("'%s' can't be written: over %d dimensions", tensors->items[i].name, MAX_DIMENSIONS);
    }
    char *header = header_text(tensors);
    int code = header ? write_file(path, header, tensors) : report_error("out of memory for '%s'", path);
    free(header);
    return code;
}
