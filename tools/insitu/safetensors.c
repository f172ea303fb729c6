/* Reading safetensors files: nothing in a file is believed before it was checked against the file's size. A wrong file
 * gets the sentence that the library has for a wrong engine or state file. */
#include "safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LENGTH_SIZE = 8, DATA_ALIGNMENT = 64, MAX_HEADER = 100000000 /* the format's own limit */ };

static const struct dtype_row {
    const char *name;
    insitu_dtype dtype;
} dtype_rows[] = {
    {"F32", {INSITU_CODE_FLOAT, 32, 1}},
    {"F64", {INSITU_CODE_FLOAT, 64, 1}},
    {"F16", {INSITU_CODE_FLOAT, 16, 1}},
    {"BF16", {INSITU_CODE_BFLOAT, 16, 1}},
    {"I64", {INSITU_CODE_INT, 64, 1}},
    {"I32", {INSITU_CODE_INT, 32, 1}},
    {"I16", {INSITU_CODE_INT, 16, 1}},
    {"I8", {INSITU_CODE_INT, 8, 1}},
    {"U64", {INSITU_CODE_UINT, 64, 1}},
    {"U32", {INSITU_CODE_UINT, 32, 1}},
    {"U16", {INSITU_CODE_UINT, 16, 1}},
    {"U8", {INSITU_CODE_UINT, 8, 1}},
    {"BOOL", {INSITU_CODE_BOOL, 8, 1}},
    {"C64", {INSITU_CODE_COMPLEX, 64, 1}},
    {"F8_E4M3", {INSITU_CODE_FLOAT8_E4M3FN, 8, 1}},
    {"F8_E5M2", {INSITU_CODE_FLOAT8_E5M2, 8, 1}},
    {"F8_E8M0", {INSITU_CODE_FLOAT8_E8M0FNU, 8, 1}},
};
enum { DTYPE_ROWS = sizeof(dtype_rows) / sizeof(dtype_rows[0]) };

const char *safetensors_dtype_name(insitu_dtype dtype) {
    for (size_t i = 0; i < DTYPE_ROWS; i++)
        if (dtype_rows[i].dtype.code == dtype.code && dtype_rows[i].dtype.bits == dtype.bits) return dtype_rows[i].name;
    return NULL;
}

static bool find_dtype(const char *name, insitu_dtype *out) {
    for (size_t i = 0; i < DTYPE_ROWS; i++) {
        if (strcmp(dtype_rows[i].name, name) != 0) continue;
        *out = dtype_rows[i].dtype;
        return true;
    }
    return false;
}

/* ---- the file's bytes ---- */

typedef struct file_bytes {
    const char *path;
    uint8_t *data;
    size_t size;
    const uint8_t *elements; /* after the header */
    size_t element_size;
} file_bytes_t;

typedef struct place { /* of a tensor's elements, from the first one's */
    const char *name;
    size_t begin, end;
} place_t;

static int read_bytes(const char *shown, const char *path, file_bytes_t *out) {
    *out = (file_bytes_t){.path = shown};
    FILE *file = fopen(path, "rb");
    if (!file) return report_error("cannot open '%s': %s", shown, strerror(errno));
    struct stat information;
    int code = DONE;
    if (fstat(fileno(file), &information) != 0) code = report_error("cannot read '%s': %s", shown, strerror(errno));
    if (code == DONE) {
        out->size = (size_t)information.st_size;
        out->data = malloc(out->size + 1);
        if (!out->data)
            code = report_error("out of memory for '%s'", shown);
        else if (fread(out->data, 1, out->size, file) != out->size)
            code = report_error("cannot read '%s': %s", shown, ferror(file) ? strerror(errno) : "it became shorter");
    }
    fclose(file);
    return code;
}

static int bad_file(const file_bytes_t *file, const char *why) {
    return report_error("%s: not a valid safetensors file: %s", file->path, why);
}

static int bad_tensor(const file_bytes_t *file, const char *name, const char *why) {
    return report_error("%s: not a valid safetensors file: tensor '%s' %s", file->path, name, why);
}

static int read_header(file_bytes_t *file, json_t **out_header) {
    if (file->size < LENGTH_SIZE) return bad_file(file, "it has fewer than 8 bytes");
    uint64_t length = 0;
    for (int i = LENGTH_SIZE; i-- > 0;) length = length << 8 | file->data[i];
    if (length > file->size - LENGTH_SIZE)
        return bad_file(file, "its header is longer than the file, which is cut off or of another kind");
    if (length > MAX_HEADER) return bad_file(file, "its header has more than 100 MB");
    json_error_t error;
    *out_header = json_loadb((const char *)file->data + LENGTH_SIZE, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    if (!*out_header)
        return report_error("%s: not a valid safetensors file: its header is not JSON (%s)", file->path, error.text);
    if (!json_is_object(*out_header)) return bad_file(file, "its header is not a JSON object");
    file->elements = file->data + LENGTH_SIZE + length;
    file->element_size = file->size - LENGTH_SIZE - (size_t)length;
    return DONE;
}

static int check_metadata(const file_bytes_t *file, json_t *metadata) {
    const char *key;
    json_t *value;
    if (!json_is_object(metadata)) return bad_file(file, "its __metadata__ is not an object");
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value)) return bad_file(file, "its __metadata__ holds more than strings");
    }
    return DONE;
}

/* ---- its tensors ---- */

static int read_shape(const file_bytes_t *file, const char *name, const json_t *shape, insitu_tensor *tensor) {
    size_t rank = json_array_size(shape);
    if (!json_is_array(shape) || rank > INT32_MAX) return bad_tensor(file, name, "has no array 'shape'");
    tensor->shape = calloc(rank + 1, sizeof(int64_t));
    if (!tensor->shape) return report_error("out of memory for '%s'", file->path);
    tensor->ndim = (int32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *size = json_array_get(shape, i);
        tensor->shape[i] = json_integer_value(size);
        if (!json_is_integer(size) || tensor->shape[i] < 0)
            return bad_tensor(file, name, "has a size that is no count");
    }
    return DONE;
}

static int read_place(const file_bytes_t *file, const char *name, const json_t *offsets, place_t *out_place) {
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (!json_is_integer(first) || !json_is_integer(last) || json_array_size(offsets) != 2 || begin < 0 || end < 0)
        return bad_tensor(file, name, "has no pair of counts 'data_offsets'");
    if (end < begin || (uint64_t)end > file->element_size) return bad_tensor(file, name, "lies outside the file");
    *out_place = (place_t){name, (size_t)begin, (size_t)end};
    return DONE;
}

static int read_elements(const file_bytes_t *file, const place_t *place, insitu_tensor *tensor) {
    size_t bytes = tensor->dtype.bits / 8u;
    for (int32_t i = 0; i < tensor->ndim; i++)
        if (__builtin_mul_overflow(bytes, (size_t)tensor->shape[i], &bytes))
            return bad_tensor(file, place->name, "is too large");
    if (place->end - place->begin != bytes)
        return bad_tensor(file, place->name, "has another number of bytes than its shape and dtype say");
    tensor->data = aligned_alloc(DATA_ALIGNMENT, (bytes / DATA_ALIGNMENT + 1) * DATA_ALIGNMENT);
    if (!tensor->data) return report_error("out of memory for '%s'", file->path);
    if (bytes) memcpy(tensor->data, file->elements + place->begin, bytes);
    /* A bool of any other byte than 0 and 1 is no value of its type. */
    const uint8_t *data = tensor->data;
    for (size_t i = 0; tensor->dtype.code == INSITU_CODE_BOOL && i < bytes; i++)
        if (data[i] > 1) return bad_tensor(file, place->name, "holds a BOOL that is neither 0 nor 1");
    return DONE;
}

static int read_tensor(const file_bytes_t *file, const char *name, const json_t *entry, insitu_tensor *tensor,
                       place_t *out_place) {
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    if (!dtype) return bad_tensor(file, name, "has no string 'dtype'");
    tensor->device.device_type = INSITU_DEVICE_CPU;
    int code = read_shape(file, name, json_object_get(entry, "shape"), tensor);
    if (code == DONE) code = read_place(file, name, json_object_get(entry, "data_offsets"), out_place);
    if (code != DONE) return code;
    if (!find_dtype(dtype, &tensor->dtype)) return bad_tensor(file, name, "has an unknown dtype");
    return read_elements(file, out_place, tensor);
}

static int by_place(const void *left, const void *right) {
    const place_t *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* As the format demands, every byte behind the header belongs to one tensor. Sorts the places. */
static int check_cover(const file_bytes_t *file, place_t *places, size_t count) {
    size_t end = 0;
    qsort(places, count, sizeof(*places), by_place);
    for (size_t i = 0; i < count; i++) {
        if (places[i].begin < end) return bad_tensor(file, places[i].name, "shares bytes with another one");
        if (places[i].begin > end)
            return bad_tensor(file, places[i].name, "comes after bytes that belong to no tensor");
        end = places[i].end;
    }
    if (end == file->element_size) return DONE;
    return report_error("%s: not a valid safetensors file: its last %zu bytes belong to no tensor", file->path,
                        file->element_size - end);
}

static int read_tensors(const file_bytes_t *file, json_t *header, tensor_list_t *tensors) {
    const char *name;
    json_t *entry;
    place_t *places = calloc(json_object_size(header) + 1, sizeof(*places));
    int code = places ? DONE : report_error("out of memory for '%s'", file->path);
    json_object_foreach(header, name, entry) {
        if (code != DONE) break;
        if (strcmp(name, "__metadata__") == 0) {
            code = check_metadata(file, entry);
            continue;
        }
        size_t index = tensors->count;
        code = tensors_add(tensors, name, &(insitu_tensor){0});
        if (code == DONE) code = read_tensor(file, name, entry, &tensors->items[index].tensor, &places[index]);
    }
    if (code == DONE) code = check_cover(file, places, tensors->count);
    free(places);
    return code;
}

int tensors_read(const char *shown, const char *path, tensor_list_t *out_tensors) {
    *out_tensors = (tensor_list_t){0};
    file_bytes_t file;
    json_t *header = NULL;
    int code = read_bytes(shown, path, &file);
    if (code == DONE) code = read_header(&file, &header);
    if (code == DONE) code = read_tensors(&file, header, out_tensors);
    json_decref(header);
    free(file.data);
    if (code != DONE) tensors_release(out_tensors);
    return code;
}

/* ---- lists ---- */

int tensors_add(tensor_list_t *tensors, const char *name, const insitu_tensor *tensor) {
    if (tensors->count == tensors->capacity) {
        size_t capacity = tensors->capacity ? 2 * tensors->capacity : 16;
        named_tensor_t *items = realloc(tensors->items, capacity * sizeof(*items));
        if (!items) return report_error("out of memory");
        tensors->items = items;
        tensors->capacity = capacity;
    }
    named_tensor_t item = {strdup(name), *tensor};
    if (!item.name) return report_error("out of memory");
    tensors->items[tensors->count++] = item;
    return DONE;
}

const named_tensor_t *tensors_find(const tensor_list_t *tensors, const char *name) {
    for (size_t i = 0; i < tensors->count; i++)
        if (strcmp(tensors->items[i].name, name) == 0) return &tensors->items[i];
    return NULL;
}

void tensors_forget(tensor_list_t *tensors) {
    for (size_t i = 0; i < tensors->count; i++) free(tensors->items[i].name);
    free(tensors->items);
    *tensors = (tensor_list_t){0};
}

void tensors_release(tensor_list_t *tensors) {
    for (size_t i = 0; i < tensors->count; i++) {
        free(tensors->items[i].tensor.shape);
        free(tensors->items[i].tensor.strides);
        free(tensors->items[i].tensor.data);
    }
    tensors_forget(tensors);
}
