/* safetensors files, untrusted: the header is parsed, and every tensor checked to lie in the file. As the format demands,
 * every byte behind the header belongs to one tensor.
 *
 *     | 8 bytes: n, little endian | n bytes: JSON | data |
 *     JSON: {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 *
 * tools/insitu/safetensors.c reads such files without the library's internals, and says the same of a wrong one. */
#include "engine/engine.h"

#include <inttypes.h>
#include <jansson.h>

enum { LENGTH_SIZE = 8, MAX_HEADER = 100000000 /* the format's own limit */ };

typedef struct header_reader {
    const char *what;
    arena_t *arena;
    safetensors_t *out;
    const uint8_t *data;
    size_t data_size;
    insitu_diag *diag;
} header_reader_t;

static insitu_status bad_file(const header_reader_t *reader, const char *why) {
    return diag_set(reader->diag, INSITU_FORMAT, "not a valid %s: %s", reader->what, why);
}

static insitu_status bad_tensor(const header_reader_t *reader, const char *name, const char *why) {
    return diag_set(reader->diag, INSITU_FORMAT, "not a valid %s: tensor '%s' %s", reader->what, name, why);
}

/* ---- the header ---- */

static insitu_status read_metadata(header_reader_t *reader, json_t *object) {
    if (!json_is_object(object)) return bad_file(reader, "its __metadata__ is not an object");
    TRY(arena_array(reader->arena, json_object_size(object), sizeof(char *), &reader->out->metadata_values));
    uint32_t count = 0;
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        if (!json_is_string(value)) return bad_file(reader, "its __metadata__ holds more than strings");
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

static insitu_status read_shape(header_reader_t *reader, const json_t *shape, safetensor_t *tensor) {
    if (!json_is_array(shape)) return bad_tensor(reader, tensor->name, "has no array 'shape'");
    if (json_array_size(shape) > MAX_RANK)
        FAIL(reader->diag, INSITU_FORMAT, "not a valid %s: tensor '%s' has %zu dimensions, more than %d", reader->what,
             tensor->name, json_array_size(shape), MAX_RANK);
    tensor->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        json_t *size = json_array_get(shape, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return bad_tensor(reader, tensor->name, "has a size that is no count");
        tensor->sizes[i] = json_integer_value(size);
    }
    return INSITU_OK;
}

static insitu_status check_bytes(header_reader_t *reader, const safetensor_t *tensor) {
    size_t bytes = dtype_size(tensor->dtype);
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (!checked_size_mul(bytes, (size_t)tensor->sizes[i], &bytes))
            return bad_tensor(reader, tensor->name, "is too large");
    if (bytes != tensor->size)
        return bad_tensor(reader, tensor->name, "has another number of bytes than its shape and dtype say");
    return INSITU_OK;
}

static insitu_status read_tensor(header_reader_t *reader, const json_t *object, safetensor_t *tensor) {
    const json_t *type = json_object_get(object, "dtype"), *offsets = json_object_get(object, "data_offsets");
    size_t begin, end;
    if (!json_is_string(type)) return bad_tensor(reader, tensor->name, "has no string 'dtype'");
    TRY(read_shape(reader, json_object_get(object, "shape"), tensor));
    if (json_array_size(offsets) != 2 || !read_offset(json_array_get(offsets, 0), &begin) ||
        !read_offset(json_array_get(offsets, 1), &end))
        return bad_tensor(reader, tensor->name, "has no pair of counts 'data_offsets'");
    if (begin > end || end > reader->data_size) return bad_tensor(reader, tensor->name, "lies outside the file");
    tensor->has_dtype = dtype_from_safetensors(json_string_value(type), &tensor->dtype);
    tensor->data = reader->data + begin;
    tensor->size = end - begin;
    return tensor->has_dtype ? check_bytes(reader, tensor) : INSITU_OK;
}

static insitu_status read_tensors(header_reader_t *reader, json_t *root) {
    safetensors_t *out = reader->out;
    TRY(arena_array(reader->arena, json_object_size(root), sizeof(*out->tensors), &out->tensors));
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (strcmp(key, "__metadata__") == 0) {
            TRY(read_metadata(reader, value));
            continue;
        }
        safetensor_t *tensor = &out->tensors[out->count];
        TRY(arena_string(reader->arena, key, strlen(key), &tensor->name));
        TRY(read_tensor(reader, value, tensor));
        TRY(map_set(&out->names, reader->arena, tensor->name, out->count));
        out->count++;
    }
    return INSITU_OK;
}

/* ---- every byte belongs to one tensor ---- */

static int by_place(const void *left, const void *right) {
    const safetensor_t *a = *(const safetensor_t *const *)left, *b = *(const safetensor_t *const *)right;
    if (a->data != b->data) return a->data < b->data ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

static insitu_status check_cover(const header_reader_t *reader) {
    const safetensors_t *file = reader->out;
    const safetensor_t **order;
    size_t end = 0;
    TRY(arena_array(reader->arena, file->count, sizeof(*order), &order));
    for (uint32_t i = 0; i < file->count; i++) order[i] = &file->tensors[i];
    if (file->count) qsort(order, file->count, sizeof(*order), by_place);
    for (uint32_t i = 0; i < file->count; i++) {
        size_t begin = (size_t)(order[i]->data - reader->data);
        if (begin < end) return bad_tensor(reader, order[i]->name, "shares bytes with another one");
        if (begin > end) return bad_tensor(reader, order[i]->name, "comes after bytes that belong to no tensor");
        end = begin + order[i]->size;
    }
    if (end < reader->data_size)
        FAIL(reader->diag, INSITU_FORMAT, "not a valid %s: its last %zu bytes belong to no tensor", reader->what,
             reader->data_size - end);
    return INSITU_OK;
}

static insitu_status read_header(header_reader_t *reader) {
    const safetensors_t *out = reader->out;
    json_error_t error;
    json_t *root = json_loadb((const char *)out->header, out->header_size, JSON_REJECT_DUPLICATES, &error);
    if (!root && json_error_code(&error) == json_error_out_of_memory) return INSITU_NOMEM;
    if (!root)
        FAIL(reader->diag, INSITU_FORMAT, "not a valid %s: its header is not JSON (%s)", reader->what, error.text);
    insitu_status status =
        json_is_object(root) ? read_tensors(reader, root) : bad_file(reader, "its header is not a JSON object");
    json_decref(root);
    return status;
}

insitu_status safetensors_read(const file_map_t *map, const char *what, arena_t *arena, safetensors_t *out,
                               insitu_diag *diag) {
    *out = (safetensors_t){0};
    header_reader_t reader = {.what = what, .arena = arena, .out = out, .diag = diag};
    uint64_t length = 0;
    if (map->size < LENGTH_SIZE) return bad_file(&reader, "it has fewer than 8 bytes");
    for (uint32_t i = LENGTH_SIZE; i-- > 0;) length = length << 8 | map->data[i];
    if (length > map->size - LENGTH_SIZE)
        return bad_file(&reader, "its header is longer than the file, which is cut off or of another kind");
    if (length > MAX_HEADER) return bad_file(&reader, "its header has more than 100 MB");
    out->header = map->data + LENGTH_SIZE;
    out->header_size = (size_t)length;
    reader.data = out->header + length;
    reader.data_size = map->size - LENGTH_SIZE - (size_t)length;
    TRY(read_header(&reader));
    return check_cover(&reader);
}

const char *safetensors_metadata(const safetensors_t *file, const char *key) {
    uint32_t index = map_find(&file->metadata, key);
    return index == NONE ? NULL : file->metadata_values[index];
}
