/* Weights that torch.save keeps: the flat container, the archive with pickles, and pickled records of the raw container. */
#include "unit_test.h"

#include "pickle_writer.h"
#include "small_program.h"
#include "zip_writer.h"

/* Three views of the small program: a parameter, a buffer that shares its storage, a constant. */
static const pickle_view_t weight = {
    .storage = "FloatStorage", .key = "0", .count = 6, .rank = 2, .sizes = {2, 3}, .strides = {1, 2}};
static const pickle_view_t part = {
    .storage = "FloatStorage", .key = "0", .count = 6, .offset = 4, .rank = 1, .sizes = {2}, .strides = {1}};
static const pickle_view_t constant = {.storage = "LongStorage", .key = "0", .count = 1};
static const pickle_view_t nothing = {.storage = "FloatStorage", .key = "9", .rank = 1, .sizes = {0}, .strides = {1}};

enum { WEIGHTS, CONSTANTS };

/* A .pt2 file in the making: the pickles and the inner zip files may be changed before it is finished. */
typedef struct saved_file {
    bool flat;
    pickle_writer_t pickles[2];
    zip_writer_t inner[2], outer;
} saved_file_t;

static void fill_inner(saved_file_t *file, int which, const void *storage, size_t size) {
    zip_writer_t *inner = &file->inner[which];
    *inner = (zip_writer_t){0};
    zip_add(inner, "archive/data.pkl", NULL, 0);
    zip_add_text(inner, "archive/byteorder", "little");
    zip_add(inner, "archive/data/0", storage, size);
    zip_add_text(inner, "archive/version", "3\n");
}

static void fill(saved_file_t *file, bool flat) {
    file->flat = flat;
    fill_inner(file, WEIGHTS, weight_0, sizeof(weight_0));
    fill_inner(file, CONSTANTS, tensor_0, sizeof(tensor_0));
    pickle_begin_dict(&file->pickles[WEIGHTS]);
    pickle_text(&file->pickles[WEIGHTS], "lin.w");
    pickle_parameter(&file->pickles[WEIGHTS], &weight);
    pickle_text(&file->pickles[WEIGHTS], "v");
    pickle_tensor(&file->pickles[WEIGHTS], &part);
    pickle_text(&file->pickles[WEIGHTS], "unused");
    pickle_tensor(&file->pickles[WEIGHTS], &nothing);
    pickle_end_dict(&file->pickles[WEIGHTS]);
    pickle_begin_dict(&file->pickles[CONSTANTS]);
    pickle_text(&file->pickles[CONSTANTS], "k");
    pickle_tensor(&file->pickles[CONSTANTS], &constant);
    pickle_end_dict(&file->pickles[CONSTANTS]);
}

/* The weights' dict holds one buffer as what add writes, and the parameter. */
static void fill_part(saved_file_t *file, const pickle_view_t *view,
                      void (*add)(pickle_writer_t *, const pickle_view_t *)) {
    fill(file, true);
    pickle_writer_t *pickle = &file->pickles[WEIGHTS];
    pickle_begin_dict(pickle);
    pickle_text(pickle, "lin.w");
    pickle_parameter(pickle, &weight);
    pickle_text(pickle, "v");
    add(pickle, view);
    pickle_end_dict(pickle);
}

static void finish_inner(saved_file_t *file, int which) {
    zip_writer_t *inner = &file->inner[which];
    zip_record_t *pickle = zip_record_of(inner, "archive/data.pkl");
    if (pickle) {
        pickle->data = file->pickles[which].bytes;
        pickle->size = file->pickles[which].size;
    }
    zip_finish(inner);
}

/* Makes file->outer's bytes. */
static void finish(saved_file_t *file) {
    zip_writer_t *outer = &file->outer;
    finish_inner(file, WEIGHTS);
    finish_inner(file, CONSTANTS);
    const zip_writer_t *weights = &file->inner[WEIGHTS], *constants = &file->inner[CONSTANTS];
    *outer = (zip_writer_t){.packed = file->flat};
    if (file->flat) {
        zip_add_text(outer, "serialized_exported_program.json", model_json);
        zip_add(outer, "serialized_state_dict.pt", weights->bytes, weights->size);
        zip_add(outer, "serialized_constants.pt", constants->bytes, constants->size);
        zip_add_text(outer, "version", "8.2");
    } else {
        zip_add_text(outer, "m/models/model.json", model_json);
        zip_add(outer, "m/data/weights/model.pt", weights->bytes, weights->size);
        zip_add(outer, "m/data/constants/model.pt", constants->bytes, constants->size);
        zip_add_text(outer, "m/archive_format", "pt2");
        zip_add_text(outer, "m/archive_version", "0");
        zip_add_text(outer, "m/byteorder", "little");
    }
    zip_finish(outer);
}

static void release(saved_file_t *file) {
    zip_release(&file->inner[WEIGHTS]);
    zip_release(&file->inner[CONSTANTS]);
    zip_release(&file->outer);
}

static archive_program_t *open_good(saved_file_t *file) {
    archive_program_t *program;
    insitu_diag diag;
    insitu_diag_init(&diag);
    finish(file);
    if (open_bytes(file->outer.bytes, file->outer.size, &program, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    return program;
}

static void expect_finished(saved_file_t *file, insitu_status expected, const char *text) {
    insitu_diag diag;
    insitu_status status = try_bytes(file->outer.bytes, file->outer.size, &diag);
    if (status != expected || !strstr(diag.message, text))
        fail_msg("%s: '%s' where %s and '%s' were expected", insitu_status_name(status), diag.message,
                 insitu_status_name(expected), text);
    release(file);
}

static void expect(saved_file_t *file, insitu_status expected, const char *text) {
    finish(file);
    expect_finished(file, expected, text);
}

/* ---- what is read ---- */

static void both_containers_are_read(void **state) {
    (void)state;
    for (int flat = 0; flat < 2; flat++) {
        saved_file_t file;
        fill(&file, flat != 0);
        archive_program_t *program = open_good(&file);
        assert_int_equal(program->payload_count, 3);
        assert_int_equal(program->storage_count, 2);
        const archive_payload_t *w = &program->payloads[program->inputs[0].payload];
        const archive_payload_t *v = &program->payloads[program->inputs[1].payload];
        const archive_payload_t *k = &program->payloads[program->inputs[2].payload];
        assert_int_equal(w->storage, v->storage);
        assert_true(w->is_param && !v->is_param && !w->is_constant && k->is_constant);
        assert_int_equal(w->dtype, DTYPE_F32);
        assert_true(w->strides[0] == 1 && w->strides[1] == 2 && v->offset == 4 && v->sizes[0] == 2);
        const archive_storage_t *storage = &program->storages[w->storage];
        assert_string_equal(storage->record, flat ? "serialized_state_dict.pt/data/0" : "data/weights/model.pt/data/0");
        assert_int_equal((uintptr_t)storage->data % sizeof(float), 0);
        assert_int_equal(storage->size, sizeof(weight_0));
        assert_memory_equal(storage->data, weight_0, sizeof(weight_0));
        assert_int_equal((uintptr_t)program->storages[k->storage].data % 8, 0);
        assert_memory_equal(program->storages[k->storage].data, tensor_0, sizeof(tensor_0));
        bool is_copy = storage->data < file.outer.bytes || storage->data >= file.outer.bytes + file.outer.size;
        if (!flat) assert_false(is_copy);
        archive_destroy(program);
        release(&file);
    }
}

/* Storages are copied exactly where the file puts them at an odd address. */
static void unaligned_storages_are_copied(void **state) {
    (void)state;
    for (size_t shift = 0; shift < 9; shift++) {
        saved_file_t file;
        fill(&file, true);
        finish(&file);
        static const char names[9][10] = {"a",      "ab",      "abc",      "abcd",     "abcde",
                                          "abcdef", "abcdefg", "abcdefgh", "abcdefghi"};
        zip_writer_t outer = {.packed = true};
        zip_add_text(&outer, names[shift], "");
        for (size_t i = 0; i < file.outer.count; i++)
            zip_add(&outer, file.outer.records[i].name, file.outer.records[i].data, file.outer.records[i].size);
        zip_finish(&outer);
        archive_program_t *program;
        insitu_diag diag;
        insitu_diag_init(&diag);
        if (open_bytes(outer.bytes, outer.size, &program, &diag) != INSITU_OK) fail_msg("%s", diag.message);
        for (uint32_t i = 0; i < program->storage_count; i++) {
            const uint8_t *data = program->storages[i].data;
            const void *bytes = i ? (const void *)tensor_0 : weight_0;
            uintptr_t alignment = i ? 8 : 4;
            const uint8_t *in_file = NULL;
            for (const uint8_t *at = outer.bytes; at + 8 < outer.bytes + outer.size && !in_file; at++)
                if (memcmp(at, bytes, program->storages[i].size) == 0) in_file = at;
            assert_non_null(in_file);
            assert_int_equal((uintptr_t)data % alignment, 0);
            assert_memory_equal(data, bytes, program->storages[i].size);
            assert_true((data == in_file) == ((uintptr_t)in_file % alignment == 0));
        }
        archive_destroy(program);
        zip_release(&outer);
        release(&file);
    }
}

static void other_forms_of_tensors_are_read(void **state) {
    (void)state;
    static void (*const forms[])(pickle_writer_t *, const pickle_view_t *) = {pickle_parameter, pickle_tensor,
                                                                              pickle_parameter_with_state};
    saved_file_t file;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        fill_part(&file, &part, forms[i]);
        archive_program_t *program = open_good(&file);
        assert_true(program->payloads[program->inputs[1].payload].is_param == (forms[i] != pickle_tensor));
        archive_destroy(program);
        release(&file);
    }
    fill(&file, true);
    pickle_writer_t *pickle = &file.pickles[WEIGHTS];
    pickle_begin(pickle);
    pickle_hooks(pickle); /* an ordered dict with attributes, and a tensor with some */
    pickle_put(pickle, "}", 1);
    pickle_text(pickle, "_metadata");
    pickle_put(pickle, "Nsb(", 4);
    pickle_text(pickle, "v");
    pickle_tensor(pickle, &nothing); /* the later of equal keys holds */
    pickle_text(pickle, "lin.w");
    pickle_parameter(pickle, &weight);
    pickle_text(pickle, "v");
    pickle_buffer(pickle, "Tensor", &part);
    pickle_end_dict(pickle);
    archive_program_t *program = open_good(&file);
    const archive_payload_t *v = &program->payloads[program->inputs[1].payload];
    assert_true(!v->is_param && v->offset == 4 && v->storage == program->payloads[program->inputs[0].payload].storage);
    archive_destroy(program);
    release(&file);
}

static void one_tensor_may_have_two_inputs(void **state) {
    (void)state;
    saved_file_t file;
    fill(&file, true);
    finish(&file);
    char *model = replace(model_json, "input_specs",
                          "{\"buffer\": {\"arg\": {\"name\": \"b_v\"}, \"buffer_name\": \"v\", \"persistent\": true}}",
                          "{\"parameter\": {\"arg\": {\"name\": \"b_v\"}, \"parameter_name\": \"lin.w\"}}");
    char *same = replace(model, "\"b_v\": {\"dtype\"", "[{\"as_int\": 2}]", "[{\"as_int\": 2}, {\"as_int\": 3}]");
    char *strided = replace(same, "\"b_v\": {\"dtype\"", "[{\"as_int\": 1}]", "[{\"as_int\": 1}, {\"as_int\": 2}]");
    zip_record_t *program_record = zip_record_of(&file.outer, "serialized_exported_program.json");
    zip_release(&file.outer);
    program_record->data = strided;
    program_record->size = strlen(strided);
    zip_finish(&file.outer);
    archive_program_t *program;
    insitu_diag diag;
    insitu_diag_init(&diag);
    if (open_bytes(file.outer.bytes, file.outer.size, &program, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    assert_int_equal(program->inputs[0].payload, program->inputs[1].payload);
    assert_int_equal(program->payload_count, 2);
    archive_destroy(program);
    release(&file);
    free(model), free(same), free(strided);
}

/* ---- a raw container whose record is a pickle ---- */

static void pickled_records_are_read(void **state) {
    (void)state;
    static const char config[] =
        "{\"config\": {\"lin.w\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": true, "
        "\"tensor_meta\": {}}, \"v\": {\"path_name\": \"weight_0\", \"is_param\": false, \"use_pickle\": true, "
        "\"tensor_meta\": {}}}}";
    static const struct {
        const pickle_view_t *view;
        const char *class_name;
        insitu_status status;
        const char *text;
    } cases[] = {{&weight, "Tensor", INSITU_FORMAT, "'v' has another dtype or shape"},
                 {&part, "Tensor", INSITU_FORMAT, "'lin.w' has another dtype or shape"},
                 {&weight, "FloatStorage", INSITU_FORMAT, "'torch.FloatStorage' is not a class of tensors"},
                 {&weight, "MaskedTensor", INSITU_UNSUPPORTED, "weights/weight_0': archive/data.pkl, byte "}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        saved_file_t file;
        fill(&file, false);
        pickle_begin(&file.pickles[WEIGHTS]);
        pickle_buffer(&file.pickles[WEIGHTS], cases[i].class_name, cases[i].view);
        pickle_op(&file.pickles[WEIGHTS], '.');
        finish(&file);
        zip_release(&file.outer);
        *zip_record_of(&file.outer, "m/data/weights/model.pt") = (zip_record_t){
            .name = "m/data/weights/weight_0", .data = file.inner[WEIGHTS].bytes, .size = file.inner[WEIGHTS].size};
        zip_add_text(&file.outer, "m/data/weights/model_weights_config.json", config);
        zip_finish(&file.outer);
        expect_finished(&file, cases[i].status, cases[i].text);
    }
}

/* ---- what is refused ---- */

static void wrong_tensors_are_refused_by_name(void **state) {
    (void)state;
    static const struct {
        pickle_view_t view;
        insitu_status status;
        const char *text;
    } cases[] = {
        {{.storage = "FloatStorage", .key = "0", .count = 6, .offset = 5, .rank = 1, .sizes = {2}, .strides = {1}},
         INSITU_FORMAT,
         "'v' needs 7 elements of f32, but its record"},
        {{.storage = "FloatStorage", .key = "0", .count = 6, .rank = 1, .sizes = {2}, .strides = {INT64_MAX}},
         INSITU_FORMAT,
         "'v' is larger than any file"},
        {{.storage = "FloatStorage", .key = "0", .count = 7, .rank = 1, .sizes = {2}, .strides = {1}},
         INSITU_FORMAT,
         "has 24 bytes where 7 elements of f32 were expected"},
        {{.storage = "FloatStorage", .key = "1", .count = 6, .rank = 1, .sizes = {2}, .strides = {1}},
         INSITU_FORMAT,
         "'serialized_state_dict.pt' has no record 'archive/data/1'"},
        {{.storage = "FloatStorage", .key = "../0", .count = 6, .rank = 1, .sizes = {2}, .strides = {1}},
         INSITU_FORMAT,
         "has no record 'archive/data/../0'"},
        {{.storage = "DoubleStorage", .key = "0", .count = 3, .rank = 1, .sizes = {2}, .strides = {1}},
         INSITU_UNSUPPORTED,
         "'lin.w' and 'v' are stored as views of one storage with the dtypes f32 and f64"},
        {{.storage = "FloatStorage", .key = "0", .count = 6, .rank = 1, .sizes = {3}, .strides = {1}},
         INSITU_FORMAT,
         "'v' has another dtype or shape"},
        {{.storage = "FloatStorage", .key = "0", .count = 6, .rank = 1, .sizes = {2}, .strides = {1}, .bits = "conj"},
         INSITU_UNSUPPORTED,
         "'v' is stored as a tensor whose elements are conjugated"},
        {{.storage = "UntypedStorage",
          .key = "0",
          .count = 24,
          .rank = 1,
          .sizes = {2},
          .strides = {1},
          .dtype = "float16"},
         INSITU_UNSUPPORTED,
         "with the dtypes f32 and f16"},
        {{.storage = "QInt8Storage", .key = "0", .count = 24, .rank = 1, .sizes = {2}, .strides = {1}},
         INSITU_UNSUPPORTED,
         "'serialized_state_dict.pt': archive/data.pkl, byte "},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        saved_file_t file;
        fill_part(&file, &cases[i].view, pickle_tensor);
        expect(&file, cases[i].status, cases[i].text);
    }
    saved_file_t file;
    fill_part(&file, &part, pickle_tensor);
    zip_record_of(&file.inner[WEIGHTS], "archive/data/0")->size = 0;
    expect(&file, INSITU_FORMAT, "has 0 bytes where 6 elements");
}

static void wrong_files_are_refused_by_record(void **state) {
    (void)state;
    saved_file_t file;
    fill(&file, true);
    zip_record_of(&file.inner[WEIGHTS], "archive/byteorder")->data = "bigend";
    expect(&file, INSITU_UNSUPPORTED, "'serialized_state_dict.pt': its byteorder is 'bigend'");
    fill(&file, false);
    zip_record_of(&file.inner[CONSTANTS], "archive/data.pkl")->name = "archive/data.txt";
    expect(&file, INSITU_FORMAT, "'data/constants/model.pt' is not a file of torch.save: it has no record");
    fill(&file, true);
    zip_record_of(&file.inner[WEIGHTS], "archive/byteorder")->wrong_checksum = true;
    expect(&file, INSITU_FORMAT, "record 'archive/byteorder' of 'serialized_state_dict.pt' is damaged");
    fill(&file, true);
    zip_record_of(&file.inner[WEIGHTS], "archive/data/0")->method = 8;
    expect(&file, INSITU_UNSUPPORTED, "record 'archive/data/0' of 'serialized_state_dict.pt' is compressed");
    fill(&file, true);
    zip_record_of(&file.inner[WEIGHTS], "archive/data/0")->extra_size = 1 << 20;
    expect(&file, INSITU_FORMAT, "of 'serialized_state_dict.pt' claims");
    fill(&file, true);
    pickle_begin(&file.pickles[WEIGHTS]);
    pickle_put(&file.pickles[WEIGHTS], "K\1.", 3);
    expect(&file, INSITU_FORMAT, "'serialized_state_dict.pt' holds an integer where a dict of tensors");
    fill(&file, true);
    pickle_begin(&file.pickles[WEIGHTS]);
    pickle_put(&file.pickles[WEIGHTS], "}K\1K\2s.", 7);
    expect(&file, INSITU_FORMAT, "key 0 of the dict of tensors is not a name");
    fill(&file, true);
    pickle_begin_dict(&file.pickles[WEIGHTS]);
    pickle_text(&file.pickles[WEIGHTS], "lin.w");
    pickle_put(&file.pickles[WEIGHTS], "K\1", 2);
    pickle_end_dict(&file.pickles[WEIGHTS]);
    expect(&file, INSITU_UNSUPPORTED, "'lin.w' is stored as an integer");
    fill(&file, true);
    pickle_begin(&file.pickles[WEIGHTS]);
    pickle_name(&file.pickles[WEIGHTS], "os", "system");
    expect(&file, INSITU_UNSUPPORTED,
           "record 'serialized_state_dict.pt': archive/data.pkl, byte 2, GLOBAL: the global 'os.system'");
}

static void other_outer_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *record, *new_name, *content, *text;
        insitu_status status;
    } cases[] = {
        {"serialized_state_dict.pt", "serialized_state_dict.json", "{}", "'serialized_state_dict.json'",
         INSITU_UNSUPPORTED},
        {"serialized_state_dict.pt", "serialized_state_dict.pt", "", "does not store 'lin.w'", INSITU_FORMAT},
        {"serialized_state_dict.pt", "serialized_state_dict.pt", "\x80\x02}.", "is not a file of torch.save",
         INSITU_FORMAT},
        {"serialized_constants.pt", "serialized_others.pt", "", "does not store 'k'", INSITU_FORMAT},
        {"serialized_exported_program.json", "serialized_exported_program.json", "{\"schema_version\": 1}",
         "schema version 1.0", INSITU_VERSION},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        saved_file_t file;
        fill(&file, true);
        finish(&file);
        zip_release(&file.outer);
        zip_record_t *record = zip_record_of(&file.outer, cases[i].record);
        *record = (zip_record_t){.name = cases[i].new_name, .data = cases[i].content, .size = strlen(cases[i].content)};
        zip_finish(&file.outer);
        expect_finished(&file, cases[i].status, cases[i].text);
    }
}

/* Storages that overlap would be copied more often than the file has bytes. */
static void overlapping_storages_are_refused(void **state) {
    (void)state;
    enum { COUNT = 50000 };
    static const char *const shifts[] = {"a", "ab", "abc", "abcd"};
    static float large[COUNT];
    pickle_view_t first = weight, second = part;
    first.count = second.count = COUNT;
    second.key = "1";
    saved_file_t file;
    int refused = 0;
    for (size_t i = 0; i < COUNT_OF(shifts); i++) {
        fill(&file, true);
        pickle_begin_dict(&file.pickles[WEIGHTS]);
        pickle_text(&file.pickles[WEIGHTS], "lin.w");
        pickle_tensor(&file.pickles[WEIGHTS], &first);
        pickle_text(&file.pickles[WEIGHTS], "v");
        pickle_tensor(&file.pickles[WEIGHTS], &second);
        pickle_end_dict(&file.pickles[WEIGHTS]);
        file.inner[WEIGHTS].count = 0;
        zip_add(&file.inner[WEIGHTS], "archive/data.pkl", NULL, 0);
        zip_add(&file.inner[WEIGHTS], "archive/data/0", large, sizeof(large));
        zip_add(&file.inner[WEIGHTS], "archive/data/1", large, sizeof(large))->over_previous = true;
        finish(&file);
        zip_release(&file.outer);
        zip_record_of(&file.outer, "version")->name = shifts[i]; /* moved before the weights */
        zip_record_t moved = file.outer.records[3];
        memmove(&file.outer.records[1], &file.outer.records[0], 3 * sizeof(moved));
        file.outer.records[0] = moved;
        zip_finish(&file.outer);
        insitu_diag diag;
        insitu_status status = try_bytes(file.outer.bytes, file.outer.size, &diag);
        if (status != INSITU_OK) {
            assert_int_equal(status, INSITU_FORMAT);
            assert_non_null(strstr(diag.message, "records overlap"));
            refused++;
        }
        release(&file);
    }
    assert_int_equal(refused, 3); /* the fourth one needs no copies */
}

/* ---- damage ---- */

static void truncated_files_are_refused(void **state) {
    (void)state;
    saved_file_t file;
    insitu_diag diag;
    fill(&file, false);
    finish_inner(&file, WEIGHTS);
    size_t whole = file.inner[WEIGHTS].size;
    finish_inner(&file, CONSTANTS);
    zip_writer_t outer = {0};
    zip_add_text(&outer, "m/models/model.json", model_json);
    zip_record_t *weights = zip_add(&outer, "m/data/weights/model.pt", file.inner[WEIGHTS].bytes, whole);
    zip_add(&outer, "m/data/constants/model.pt", file.inner[CONSTANTS].bytes, file.inner[CONSTANTS].size);
    zip_add_text(&outer, "m/archive_format", "pt2");
    zip_add_text(&outer, "m/archive_version", "0");
    for (size_t size = 0; size <= whole; size += size + 60 < whole ? 13 : 1) {
        weights->size = size;
        zip_finish(&outer);
        assert_int_equal(try_bytes(outer.bytes, outer.size, &diag), size == whole ? INSITU_OK : INSITU_FORMAT);
        zip_release(&outer);
    }
    zip_release(&file.inner[WEIGHTS]);
    zip_release(&file.inner[CONSTANTS]);
}

/* The checksum of the record is not compared, so that damage gets as far as the inner reader. */
static void changed_bytes_never_crash(void **state) {
    (void)state;
    for (int flat = 0; flat < 2; flat++) {
        saved_file_t file;
        insitu_diag diag;
        fill(&file, flat != 0);
        finish(&file);
        uint8_t *bytes = file.outer.bytes;
        size_t start = strlen(model_json);
        for (size_t i = start; i < file.outer.size; i += 2) {
            uint8_t before = bytes[i];
            bytes[i] ^= (uint8_t)(1 + i * 37 % 255);
            (void)try_bytes(bytes, file.outer.size, &diag);
            bytes[i] = before;
        }
        release(&file);
    }
}

static void running_out_of_memory_is_reported(void **state) {
    (void)state;
    saved_file_t file;
    fill(&file, true);
    finish(&file);
    expect_short_memory(file.outer.bytes, file.outer.size);
    release(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_containers_are_read),          cmocka_unit_test(unaligned_storages_are_copied),
        cmocka_unit_test(other_forms_of_tensors_are_read),   cmocka_unit_test(one_tensor_may_have_two_inputs),
        cmocka_unit_test(pickled_records_are_read),          cmocka_unit_test(wrong_tensors_are_refused_by_name),
        cmocka_unit_test(wrong_files_are_refused_by_record), cmocka_unit_test(other_outer_files_are_refused),
        cmocka_unit_test(overlapping_storages_are_refused),  cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(changed_bytes_never_crash),         cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
