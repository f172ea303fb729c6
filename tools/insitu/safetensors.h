/* safetensors files: the tensors that a call is given, and those that it returns.
 *
 *   8 bytes   N, little-endian
 *   N bytes   JSON: {"name": {"dtype": "F32", "shape": [2,3], "data_offsets": [begin, end]}, ..., "__metadata__": {...}}
 *   the rest  dense row-major elements; offsets count from here */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include "tool.h"

typedef struct named_tensor {
    char *name;
    insitu_tensor tensor; /* read from a file: dense row-major until it is laid out otherwise; data aligned to 64 bytes,
                           * and it may be written to */
} named_tensor_t;

typedef struct tensor_list {
    named_tensor_t *items;
    size_t count, capacity;
} tensor_list_t;

/* Reads a whole file into memory of the list's own. Returns an exit code, having said why of the file that the user calls
 * shown. */
int tensors_read(const char *shown, const char *path, tensor_list_t *out_tensors);
/* Frees what tensors_read made. */
void tensors_release(tensor_list_t *tensors);
/* Moves a dense tensor that was read from a file into memory where it has the strides, which are not negative. Returns an
 * exit code, having said why. */
int tensor_lay_out(insitu_tensor *tensor, const int64_t *strides);
const named_tensor_t *tensors_find(const tensor_list_t *tensors, const char *name);

/* Appends a tensor by name, copying the name alone. Returns an exit code. */
int tensors_add(tensor_list_t *tensors, const char *name, const insitu_tensor *tensor);
/* Frees the names: for a list made by tensors_add. */
void tensors_forget(tensor_list_t *tensors);
/* Writes the tensors, whatever their strides, row-major. Returns an exit code, having said why. */
int tensors_write(const char *path, const tensor_list_t *tensors);

/* What a file calls an element type; NULL if the format lacks it. */
const char *safetensors_dtype_name(insitu_dtype dtype);

#endif
