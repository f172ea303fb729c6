/* safetensors files: what is read of a good one, and the sentence for each way in which one can be wrong. */
#include "unit_test.h"

#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

/* A file of the header and size bytes, in a block of its own, so that a read beyond it is found. */
static file_map_t make_file(const char *header, size_t size) {
    size_t length = strlen(header);
    uint8_t *data = calloc(8 + length + size, 1);
    assert_non_null(data);
    for (size_t i = 0; i < 8; i++) data[i] = (uint8_t)(length >> (8 * i));
    memcpy(data + 8, header, length);
    return (file_map_t){.data = data, .size = 8 + length + size};
}

static insitu_status read_file(const char *header, size_t size, insitu_diag *diag) {
    arena_t arena;
    safetensors_t file;
    file_map_t map = make_file(header, size);
    insitu_diag_init(diag);
    arena_init(&arena);
    insitu_status status = safetensors_read(&map, "test file", &arena, &file, diag);
    arena_release(&arena);
    free((void *)(uintptr_t)map.data);
    return status;
}

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define B "\"b\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[8,16]}"
#define EMPTY "\"empty\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[8,8]}"
#define ENTRY(dtype, shape, offsets) "{\"x\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void tensors_are_read(void **state) {
    (void)state;
    arena_t arena;
    safetensors_t file;
    file_map_t map = make_file("{\"__metadata__\":{\"k\":\"v\"}," B "," EMPTY "," A "}  ", 16);
    arena_init(&arena);
    assert_int_equal(safetensors_read(&map, "test file", &arena, &file, NULL), INSITU_OK);
    assert_int_equal(file.count, 3);
    const safetensor_t *a = &file.tensors[map_find(&file.names, "a")], *b = &file.tensors[map_find(&file.names, "b")];
    assert_true(a->has_dtype && a->dtype == DTYPE_F32);
    assert_int_equal(a->rank, 1);
    assert_int_equal(a->sizes[0], 2);
    assert_ptr_equal(a->data, map.data + map.size - 16);
    assert_int_equal(b->rank, 0);
    assert_ptr_equal(b->data, map.data + map.size - 8);
    assert_string_equal(safetensors_metadata(&file, "k"), "v");
    assert_null(safetensors_metadata(&file, "l"));
    arena_release(&arena);
    free((void *)(uintptr_t)map.data);
}

static void wrong_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *header;
        size_t size;
        const char *sentence; /* after "not a valid test file: " */
    } cases[] = {
        {"{", 0, "its header is not JSON ("},
        {"[]", 0, "its header is not a JSON object"},
        {"{" A "," A "}", 8, "its header is not JSON (duplicate object key"},
        {"{\"__metadata__\":[]}", 0, "its __metadata__ is not an object"},
        {"{\"__metadata__\":{\"k\":1}}", 0, "its __metadata__ holds more than strings"},
        {"{\"x\":1}", 0, "tensor 'x' has no string 'dtype'"},
        {ENTRY("7", "[2]", "[0,8]"), 8, "tensor 'x' has no string 'dtype'"},
        {ENTRY("\"F32\"", "2", "[0,8]"), 8, "tensor 'x' has no array 'shape'"},
        {ENTRY("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "tensor 'x' has 13 dimensions, more than 12"},
        {ENTRY("\"F32\"", "[-2]", "[0,8]"), 8, "tensor 'x' has a size that is no count"},
        {ENTRY("\"F32\"", "[2.0]", "[0,8]"), 8, "tensor 'x' has a size that is no count"},
        {ENTRY("\"F32\"", "[2]", "[0,8,8]"), 8, "tensor 'x' has no pair of counts 'data_offsets'"},
        {ENTRY("\"F32\"", "[2]", "[-8,0]"), 8, "tensor 'x' has no pair of counts 'data_offsets'"},
        {ENTRY("\"F32\"", "[2]", "8"), 8, "tensor 'x' has no pair of counts 'data_offsets'"},
        {ENTRY("\"F32\"", "[2]", "[0,8]"), 7, "tensor 'x' lies outside the file"},
        {ENTRY("\"F32\"", "[2]", "[8,0]"), 8, "tensor 'x' lies outside the file"},
        {ENTRY("\"F32\"", "[3]", "[0,8]"), 8, "tensor 'x' has another number of bytes than its shape and dtype say"},
        {ENTRY("\"F32\"", "[4611686018427387904,8]", "[0,8]"), 8, "tensor 'x' is too large"},
        {"{}", 1, "its last 1 bytes belong to no tensor"},
        {"{" A "," B "}", 19, "its last 3 bytes belong to no tensor"},
        {"{" B "}", 16, "tensor 'b' comes after bytes that belong to no tensor"},
        {"{" A ",\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", 12,
         "tensor 'b' shares bytes with another one"},
        {"{" A ",\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "shares bytes with another one"},
        {"{" A ",\"b\":{\"dtype\":\"ODD\",\"shape\":[2],\"data_offsets\":[9,16]}}", 16,
         "tensor 'b' comes after bytes that belong to no tensor"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        insitu_diag diag;
        insitu_status status = read_file(cases[i].header, cases[i].size, &diag);
        if (status != INSITU_FORMAT || strncmp(diag.message, "not a valid test file: ", 23) != 0 ||
            !strstr(diag.message, cases[i].sentence))
            fail_msg("%s: %s: '%s'", cases[i].header, insitu_status_name(status), diag.message);
    }
}

static void wrong_lengths_are_refused(void **state) {
    (void)state;
    arena_t arena;
    safetensors_t file;
    insitu_diag diag;
    insitu_diag_init(&diag);
    arena_init(&arena);
    file_map_t map = make_file("{}", 0);
    map.size = 7;
    assert_int_equal(safetensors_read(&map, "test file", &arena, &file, &diag), INSITU_FORMAT);
    assert_non_null(strstr(diag.message, "it has fewer than 8 bytes"));
    map.size = 9;
    assert_int_equal(safetensors_read(&map, "test file", &arena, &file, &diag), INSITU_FORMAT);
    assert_non_null(strstr(diag.message, "its header is longer than the file, which is cut off or of another kind"));
    arena_release(&arena);
    free((void *)(uintptr_t)map.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_read),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(wrong_lengths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
