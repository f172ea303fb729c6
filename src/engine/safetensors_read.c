/* safetensors files, untrusted: the header is parsed, and every tensor checked to lie in the file.
 *
 *     | 8 bytes: n, little endian | n bytes: JSON | data |
 *     JSON: {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}} */
#include "engine/engine.h"

#include <inttypes.h>
#include <jansson.h>

enum { LENGTH_SIZE = 8 };

typedef struct header_reader {
    const file_map *map;
    const char *what;
    arena *arena;
    safetensors *out;
    const uint8_t *data;
    size_t data_size;
    insitu_diag *diag;
} header_reader;

static insitu_status read_metadata(header_reader *reader, json_t *object) {
    if (!json_is_object(object))
        FAIL(reader->diag, INSITU_FORMAT, "the %s's __metadata__ is not an object", reader->what);
    TRY(arena_array(reader->arena, json_object_size(object), sizeof(char *), &reader->out->metadata_values));
    uint32_t count = 0;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        if (!json_is_string(value))
            FAIL(reader->diag, INSITU_FORMAT, "the %s's metadata '%s' is not a text", reader->what, key);
        const char *key_copy;
        TRY(arena_string(reader->arena, key, strlen(key), &key_copy));
        TRY(arena_string(reader->arena, json_string_value(value), json_string_length(value),
                         &reader->out->metadata_values[count]));
        TRY(map_set(&reader->out->metadata, reader->arena, key_copy, count));
        count++;
    }
    return INSITU_OK;
}

static bool read_offset(const json_t *value, size_t *out_offset) {
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *out_offset = (size_t)json_integer_value(value);
    return true;
}

static insitu_status read_shape(header_reader *reader, const json_t *shape, safetensor *tensor) {
    if (!json_is_array(shape) || json_array_size(shape) > MAX_RANK)
        FAIL(reader->diag, INSITU_FORMAT, "tensor '%s' of the %s has no shape, or one of over %d dimensions",
             tensor->name, reader->what, MAX_RANK);
    tensor->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        json_t *size = json_array_get(shape, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            FAIL(reader->diag, INSITU_FORMAT, "tensor '%s' of the %s has a size that is no number", tensor->name,
                 reader->what);
        tensor->sizes[i] = json_integer_value(size);
    }
    return INSITU_OK;
}

static insitu_status read_tensor(header_reader *reader, const json_t *object, safetensor *tensor) {
    const json_t *type = json_object_get(object, "dtype"), *offsets = json_object_get(object, "data_offsets");
    size_t begin, end, bytes = 1;
    if (!json_is_object(object) || !json_is_string(type))
        FAIL(reader->diag, INSITU_FORMAT, "tensor '%s' of the %s has no dtype", tensor->name, reader->what);
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 || !read_offset(json_array_get(offsets, 0), &begin) ||
        !read_offset(json_array_get(offsets, 1), &end) || begin > end || end > reader->data_size)
        FAIL(reader->diag, INSITU_FORMAT, "tensor '%s' does not lie in the %s: the file may be cut off", tensor->name,
             reader->what);
    TRY(read_shape(reader, json_object_get(object, "shape"), tensor));
    tensor->has_dtype = dtype_from_safetensors(json_string_value(type), &tensor->dtype);
    tensor->data = reader->data + begin;
    tensor->size = end - begin;
    if (!tensor->has_dtype) return INSITU_OK;
    bool fits = true;
    for (uint32_t i = 0; i < tensor->rank; i++)
        fits = fits && checked_size_mul(bytes, (size_t)tensor->sizes[i], &bytes);
    if (!fits || !checked_size_mul(bytes, dtype_size(tensor->dtype), &bytes) || bytes != tensor->size)
        FAIL(reader->diag, INSITU_FORMAT, "tensor '%s' of the %s has %zu bytes, which its shape does not need",
             tensor->name, reader->what, tensor->size);
    return INSITU_OK;
}

static insitu_status read_tensors(header_reader *reader, json_t *root) {
    safetensors *out = reader->out;
    TRY(arena_array(reader->arena, json_object_size(root), sizeof(*out->tensors), &out->tensors));
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (strcmp(key, "__metadata__") == 0) {
            TRY(read_metadata(reader, value));
            continue;
        }
        safetensor *tensor = &out->tensors[out->count];
        TRY(arena_string(reader->arena, key, strlen(key), &tensor->name));
        TRY(read_tensor(reader, value, tensor));
        TRY(map_set(&out->names, reader->arena, tensor->name, out->count));
        out->count++;
    }
    return INSITU_OK;
}

insitu_status safetensors_read(const file_map *map, const char *what, arena *arena, safetensors *out,
                               insitu_diag *diag) {
    *out = (safetensors){0};
    uint64_t length = 0;
    if (map->size < LENGTH_SIZE) FAIL(diag, INSITU_FORMAT, "not a valid %s: it has only %zu bytes", what, map->size);
    for (uint32_t i = LENGTH_SIZE; i-- > 0;) length = length << 8 | map->data[i];
    if (length > map->size - LENGTH_SIZE)
        FAIL(diag, INSITU_FORMAT, "not a valid %s, or one that was cut off: its header of %" PRIu64 " bytes is missing",
             what, length);
    out->header = map->data + LENGTH_SIZE;
    out->header_size = (size_t)length;
    header_reader reader = {.map = map,
                            .what = what,
                            .arena = arena,
                            .out = out,
                            .data = out->header + length,
                            .data_size = map->size - LENGTH_SIZE - (size_t)length,
                            .diag = diag};
    json_error_t error;
    json_t *root = json_loadb((const char *)out->header, out->header_size, JSON_REJECT_DUPLICATES, &error);
    if (!root) FAIL(diag, INSITU_FORMAT, "not a valid %s: its header is no JSON (%s)", what, error.text);
    insitu_status status = INSITU_OK;
    if (json_is_object(root))
        status = read_tensors(&reader, root);
    else
        status = diag_set(diag, INSITU_FORMAT, "not a valid %s: its header is no JSON object", what);
    json_decref(root);
    return status;
}

const char *safetensors_metadata(const safetensors *file, const char *key) {
    uint32_t index = map_find(&file->metadata, key);
    return index == NONE ? NULL : file->metadata_values[index];
}
