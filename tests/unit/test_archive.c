/* Opening .pt2 files: what is read, and that every kind of wrong file is refused with a sentence that says what is wrong. */
#include "unit_test.h"

#include "small_program.h"
#include "zip_writer.h"

#include <math.h>

static const char weights_json[] =
    "{\"config\": {\"lin.w\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": false, "
    "\"tensor_meta\": " META("7", N("2") ", " N("3"), N("1") ", " N("2"),
                             "0") "}, \"v\": {\"path_name\": \"weight_0\", \"is_param\": false, "
                                  "\"use_pickle\": false, \"tensor_meta\": " META(
                                      "7", N("2"), N("1"),
                                      "4") "}, \"unused\": {\"path_name\": \"gone\", \"is_param\": "
                                           "false, \"use_pickle\": true, \"tensor_meta\": null}}}";
static const char constants_json[] = "{\"config\": {\"k\": {\"path_name\": \"tensor_0\", \"is_param\": false, "
                                     "\"use_pickle\": false, \"tensor_meta\": " META("5", "", "", "0") "}}}";
#define MODEL "m/models/model.json"
#define WEIGHTS "m/data/weights/model_weights_config.json"
#define CONSTANTS "m/data/constants/model_constants_config.json"

static void fill(zip_writer_t *zip) {
    *zip = (zip_writer_t){0};
    zip_add(zip, "m/data/weights/weight_0", weight_0, sizeof(weight_0));
    zip_add_text(zip, WEIGHTS, weights_json);
    zip_add(zip, "m/data/constants/tensor_0", tensor_0, sizeof(tensor_0));
    zip_add_text(zip, CONSTANTS, constants_json);
    zip_add_text(zip, MODEL, model_json);
    zip_add_text(zip, "m/archive_format", "pt2");
    zip_add_text(zip, "m/archive_version", "0");
    zip_add_text(zip, "m/byteorder", "little");
}

static void expect(zip_writer_t *zip, insitu_status expected, const char *part) {
    insitu_diag diag;
    zip_finish(zip);
    insitu_status status = try_bytes(zip->bytes, zip->size, &diag);
    if (status != expected || !strstr(diag.message, part))
        fail_msg("%s: '%s' where %s and '%s' were expected", insitu_status_name(status), diag.message,
                 insitu_status_name(expected), part);
    zip_release(zip);
}

static void expect_replaced(const char *record, const char *start, const char *from, const char *to,
                            insitu_status expected, const char *part) {
    zip_writer_t zip;
    fill(&zip);
    zip_record_t *changed = zip_record_of(&zip, record);
    char *content = replace(changed->data, start, from, to);
    changed->data = content;
    changed->size = strlen(content);
    expect(&zip, expected, part);
    free(content);
}

/* ---- what is read ---- */

static archive_program_t *open_good(zip_writer_t *zip) {
    archive_program_t *program;
    insitu_diag diag;
    insitu_diag_init(&diag);
    fill(zip);
    zip_finish(zip);
    if (open_bytes(zip->bytes, zip->size, &program, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    return program;
}

static void graph_is_read(void **state) {
    (void)state;
    zip_writer_t zip;
    archive_program_t *program = open_good(&zip);
    const archive_graph_t *graph = program->graph;
    assert_int_equal(graph->node_count, 2);
    assert_int_equal(graph->value_count, 6);
    const archive_node_t *size = &graph->nodes[0], *add = &graph->nodes[1];
    assert_string_equal(size->target, "torch.ops.aten.sym_size.int");
    assert_string_equal(size->op, "aten.sym_size.int");
    assert_string_equal(size->source, "model.py:41");
    assert_string_equal(size->module, "layers.0.sub");
    assert_int_equal(size->outputs[0].kind, ARGUMENT_INT);
    const archive_value_t *symbol = &graph->values[size->outputs[0].number.value];
    assert_int_equal(symbol->kind, ARCHIVE_SYM);
    assert_string_equal(symbol->sym.expression, "Symbol('s77', positive=True, integer=True)");
    assert_true(symbol->sym.has_hint);
    assert_int_equal(symbol->sym.value.i, 4);
    assert_int_equal(add->inputs[1].argument.kind, ARGUMENT_TENSOR);
    assert_string_equal(graph->values[add->inputs[1].argument.value].name, "c_k");
    assert_int_equal(add->inputs[2].argument.kind, ARGUMENT_FLOAT);
    assert_int_equal(add->inputs[2].argument.number.value, NONE);
    assert_true(isinf(add->inputs[2].argument.number.literal.f));
    assert_string_equal(add->source, "");
    const archive_tensor_meta_t *meta = &graph->values[map_find(&graph->value_ids, "p_w")].tensor;
    assert_int_equal(meta->dtype, DTYPE_F32);
    assert_int_equal(meta->rank, 2);
    assert_int_equal(meta->strides[1].value.i, 2);
    assert_int_equal(program->schema_minor, 20);
    assert_true(program->is_training);
    assert_int_equal(program->range_count, 1);
    assert_int_equal(program->ranges[0].min, 2);
    assert_true(program->ranges[0].max == INT64_MAX);
    archive_destroy(program);
    zip_release(&zip);
}

static void signature_is_read(void **state) {
    (void)state;
    zip_writer_t zip;
    archive_program_t *program = open_good(&zip);
    assert_int_equal(program->user_input_count, 2);
    assert_int_equal(program->user_output_count, 2);
    const archive_input_t *x = &program->inputs[program->user_inputs[0]],
                          *mode = &program->inputs[program->user_inputs[1]];
    assert_int_equal(x->kind, ARCHIVE_INPUT_USER);
    assert_string_equal(x->name, "x");
    assert_string_equal(x->guard, "L['a_0'][0]");
    assert_int_equal(mode->kind, ARCHIVE_INPUT_CONSTANT);
    assert_string_equal(mode->name, "mode");
    assert_int_equal(mode->value, NONE);
    assert_string_equal(program->graph->inputs[4].string, "max");
    assert_int_equal(program->inputs[0].kind, ARCHIVE_INPUT_PARAMETER);
    assert_string_equal(program->inputs[0].fqn, "lin.w");
    assert_int_equal(program->inputs[2].kind, ARCHIVE_INPUT_TENSOR_CONSTANT);
    archive_destroy(program);
    zip_release(&zip);
}

static void guards_find_their_inputs(void **state) {
    (void)state;
    zip_writer_t zip;
    archive_program_t *program = open_good(&zip);
    static const struct {
        const char *path;
        uint32_t input;
    } cases[] = {{"L['a_0'][0]", 3},
                 {"L['a'][0][0]", 3},
                 {"L['mode']", 4},
                 {"L['kwargs']['mode']", 4},
                 {"L['a'][1][0]", NONE},
                 {"L['a'][0]", NONE},
                 {"L['a'][0][0", NONE},
                 {"L['", NONE},
                 {"L['a'][", NONE},
                 {"", NONE},
                 {"L['kwargs']['", NONE},
                 {"L['flat_args'][0]", 3},
                 {"L['flat_args'][1]", 4},
                 {"L['flat_args'][2]", NONE},
                 {"L['flat_args'][]", NONE},
                 {"L['flat_args'][0][0]", NONE},
                 {"L['flat_args'][99999999999999999999]", NONE}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(archive_find_guard_input(program, cases[i].path, strlen(cases[i].path)), cases[i].input);
    archive_destroy(program);
    zip_release(&zip);
}

static void weights_are_views_of_the_file(void **state) {
    (void)state;
    zip_writer_t zip;
    archive_program_t *program = open_good(&zip);
    assert_int_equal(program->payload_count, 3);
    assert_int_equal(program->storage_count, 2);
    const archive_payload_t *w = &program->payloads[program->inputs[0].payload];
    const archive_payload_t *v = &program->payloads[program->inputs[1].payload];
    const archive_payload_t *k = &program->payloads[program->inputs[2].payload];
    assert_int_equal(w->storage, v->storage);
    assert_true(w->is_param && !v->is_param && !w->is_constant && k->is_constant);
    assert_int_equal(v->offset, 4);
    const archive_storage_t *storage = &program->storages[w->storage];
    assert_string_equal(storage->record, "weights/weight_0");
    assert_true(storage->data > zip.bytes && storage->data < zip.bytes + zip.size);
    assert_memory_equal(storage->data, weight_0, sizeof(weight_0));
    assert_int_equal(storage->size, sizeof(weight_0));
    assert_memory_equal(program->storages[k->storage].data, tensor_0, sizeof(tensor_0));
    archive_destroy(program);
    zip_release(&zip);
}

/* ---- damaged files ---- */

static void truncated_files_are_refused(void **state) {
    (void)state;
    zip_writer_t zip;
    insitu_diag diag;
    fill(&zip);
    zip_finish(&zip);
    for (size_t size = 0; size < zip.size; size += size + 200 < zip.size ? 37 : 1) {
        uint8_t *part = malloc(size ? size : 1); /* a block of its own, so that a read beyond it is found */
        memcpy(part, zip.bytes, size);
        assert_int_equal(try_bytes(part, size, &diag), INSITU_FORMAT);
        free(part);
    }
    zip_release(&zip);
}

static void changed_bytes_never_crash(void **state) {
    (void)state;
    zip_writer_t zip;
    insitu_diag diag;
    fill(&zip);
    zip_finish(&zip);
    for (size_t i = 0; i < zip.size; i += 3) {
        uint8_t before = zip.bytes[i];
        zip.bytes[i] ^= (uint8_t)(1 + i * 37 % 255);
        (void)try_bytes(zip.bytes, zip.size, &diag);
        zip.bytes[i] = before;
    }
    zip_release(&zip);
}

static void other_files_are_refused(void **state) {
    (void)state;
    static const char text[] = "This is a text and not a zip file.";
    insitu_diag diag;
    assert_int_equal(try_bytes(text, sizeof(text), &diag), INSITU_FORMAT);
    assert_non_null(strstr(diag.message, "not a zip file"));
    zip_writer_t zip = {0};
    zip_add_text(&zip, "a/b.txt", "text");
    expect(&zip, INSITU_FORMAT, "not a .pt2 program");
    zip = (zip_writer_t){0};
    expect(&zip, INSITU_FORMAT, "not a .pt2 program");
}

static void other_containers_are_named(void **state) {
    (void)state;
    zip_writer_t zip;
    fill(&zip);
    zip_record_of(&zip, "m/byteorder")->data = "bigend";
    expect(&zip, INSITU_UNSUPPORTED, "byteorder");
    fill(&zip);
    zip_record_of(&zip, "m/archive_version")->data = "1";
    expect(&zip, INSITU_VERSION, "archive_version");
    fill(&zip);
    zip_record_of(&zip, MODEL)->name = "m/models/a.json";
    zip_add_text(&zip, "m/models/b.json", model_json);
    expect(&zip, INSITU_UNSUPPORTED, "2 programs");
}

static void zip_features_are_refused(void **state) {
    (void)state;
    zip_writer_t zip;
    fill(&zip);
    zip_record_of(&zip, MODEL)->method = 8;
    expect(&zip, INSITU_UNSUPPORTED, "compressed (method 8)");
    fill(&zip);
    zip_record_of(&zip, WEIGHTS)->flags = 1;
    expect(&zip, INSITU_UNSUPPORTED, "encrypted");
    fill(&zip);
    zip_add_text(&zip, "m/byteorder", "little");
    expect(&zip, INSITU_FORMAT, "two records named 'm/byteorder'");
    fill(&zip);
    zip_record_of(&zip, "m/byteorder")->extra_size = 100000;
    expect(&zip, INSITU_FORMAT, "m/byteorder");
    fill(&zip);
    zip_record_of(&zip, MODEL)->wrong_checksum = true;
    expect(&zip, INSITU_FORMAT, "checksum");
}

static void missing_records_are_named(void **state) {
    (void)state;
    static const struct {
        const char *record, *part;
    } cases[] = {{MODEL, "holds no program"},
                 {"m/data/weights/weight_0", "no record 'data/weights/weight_0'"},
                 {WEIGHTS, "does not store 'lin.w'"},
                 {CONSTANTS, "does not store 'k'"},
                 {"m/archive_format", "archive_format"},
                 {"m/archive_version", "archive_version"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        zip_writer_t zip;
        fill(&zip);
        zip_record_t *record = zip_record_of(&zip, cases[i].record);
        memmove(record, record + 1, (size_t)(zip.records + zip.count - record - 1) * sizeof(*record));
        zip.count--;
        expect(&zip, INSITU_FORMAT, cases[i].part);
    }
}

/* ---- wrong documents ---- */

typedef struct wrong_text {
    const char *start, *from, *to;
    insitu_status status;
    const char *part;
} wrong_text_t;

static void expect_each(const char *record, const wrong_text_t *cases, size_t count) {
    for (size_t i = 0; i < count; i++)
        expect_replaced(record, cases[i].start, cases[i].from, cases[i].to, cases[i].status, cases[i].part);
}

static void wrong_programs_are_refused_with_their_place(void **state) {
    (void)state;
    static const wrong_text_t cases[] = {
        {"", "\"graph_module\": {", "\"graph_module\": {{", INSITU_FORMAT, "not valid JSON"},
        {"", "\"graph_module\"", "\"graph\"", INSITU_FORMAT, "'graph_module' is missing"},
        {"schema_version", "\"major\": 8", "\"major\": 9", INSITU_VERSION,
         "schema version 9.20 (written by torch 2.13.0)"},
        {"schema_version", "{\"major\": 8, \"minor\": 20}", "1", INSITU_VERSION, "schema version 1.0"},
        {"schema_version", "\"minor\": 20", "\"minor\": \"x\"", INSITU_FORMAT,
         "schema_version.minor: a string where an integer"},
        {"\"outputs\"", "[", "7, \"o\": [", INSITU_FORMAT, "graph_module.graph.outputs: an integer where an array"},
        {"sym_size.int", "{\"as_int\": 0}", "{\"as_word\": 0}", INSITU_UNSUPPORTED,
         "nodes[0].inputs[1].arg: an argument of the unknown kind 'as_word'"},
        {"sym_size.int", "{\"as_int\": 0}", "{\"as_int\": 0, \"as_float\": 1}", INSITU_FORMAT,
         "2 members where one was expected"},
        {"sym_size.int", "{\"as_int\": 0}", "{\"as_scalar_type\": 99}", INSITU_UNSUPPORTED, "element type number 99"},
        {"sym_size.int", "{\"as_int\": 0}", "{\"as_memory_format\": 5}", INSITU_UNSUPPORTED, "memory format number 5"},
        {"sym_size.int", "{\"as_int\": 0}", "{\"as_ints\": [1, true]}", INSITU_FORMAT,
         "as_ints[1]: a boolean where an integer"},
        {"sym_size.int", "{\"as_int\": 0}", "{\"as_int\": 99999999999999999999}", INSITU_FORMAT, "not valid JSON"},
        {"sym_size.int", "\"name\": \"x\"", "\"name\": \"y\"", INSITU_FORMAT, "'y' is in none of the graph's tables"},
        {"sym_size.int", "\"name\": \"x\"", "\"name\": \"add\"", INSITU_FORMAT, "'add' is used before it is defined"},
        {"add.Tensor", "[{\"as_tensor\": {\"name\": \"add\"}}]", "[{\"as_tensor\": {\"name\": \"x\"}}]", INSITU_FORMAT,
         "'x' is defined twice"},
        {"add.Tensor", "-Infinity", "infinite", INSITU_FORMAT, "as_float: the string 'infinite'"},
        {"", "torch.ops.aten.add.Tensor", "", INSITU_FORMAT, "nodes[1].target: the node 'add' names no operator"},
        {"", "aten.add.Tensor", "", INSITU_FORMAT, "nodes[1].target: the node 'add' names no operator"},
        {"tensor_values", "\"dtype\": 7", "\"dtype\": 70", INSITU_UNSUPPORTED,
         "tensor_values.p_w.dtype: the element type number 70"},
        {"tensor_values", "\"layout\": 7", "\"layout\": 1", INSITU_UNSUPPORTED, "layout sparse_coo"},
        {"tensor_values", "{\"as_int\": 2}", "{\"as_int\": -2}", INSITU_FORMAT, "sizes[0]: the number -2 is negative"},
        {"tensor_values", "{\"as_int\": 2}, {\"as_int\": 3}", "{\"as_int\": 2}", INSITU_FORMAT,
         "2 strides for 1 sizes"},
        {"sym_int_values", "\"sym_size_int\"", "\"x\"", INSITU_FORMAT, "the value 'x' is in two tables"},
        {"input_specs", "\"p_w\"", "\"b_v\"", INSITU_FORMAT, "'b_v' is not the tensor that the graph has"},
        {"input_specs", "\"parameter\"", "\"gift\"", INSITU_UNSUPPORTED, "an input of the kind 'gift'"},
        {"input_specs", "{\"parameter\": {\"arg\": {\"name\": \"p_w\"}, \"parameter_name\": \"lin.w\"}}, ", "",
         INSITU_FORMAT, "4 specs for the graph's 5 inputs"},
        {"output_specs", "{\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"add\"}}}}",
         "{\"buffer_mutation\": {\"arg\": {\"name\": \"add\"}, \"buffer_name\": \"w\"}}", INSITU_FORMAT,
         "no input is called 'w'"},
        {"output_specs", "{\"user_output\"", "{\"loss_output\"", INSITU_UNSUPPORTED,
         "an output of the kind 'loss_output'"},
        {"output_specs", "\"add\"", "\"x\"", INSITU_FORMAT, "not the result that the graph has"},
        {"in_spec", "[1, ", "[2, ", INSITU_VERSION, "in_spec: [0]: version 2"},
        {"out_spec", "builtins.tuple", "builtins.dict", INSITU_OK, ""},
        {"out_spec", "null, \\\"context\\\": null", "\\\"builtins.list\\\", \\\"context\\\": \\\"null\\\"",
         INSITU_FORMAT, "1 leaves for 2 user outputs"},
        {"module_call_graph", "\"fqn\": \"\"", "\"fqn\": \"sub\"", INSITU_FORMAT, "the entry of the whole model"},
        {"range_constraints", "\"max_val\": null", "\"max_val\": 1", INSITU_FORMAT,
         "range_constraints.s77: the range from 2 to 1 is empty"},
        {"verifiers", "\"TRAINING\"", "7", INSITU_FORMAT, "verifiers[0]: an integer where a string"},
    };
    expect_each(MODEL, cases, COUNT_OF(cases));
}

static void wrong_weights_are_refused_by_name(void **state) {
    (void)state;
    static const wrong_text_t cases[] = {
        {"\"v\"", "\"as_int\": 4", "\"as_int\": 5", INSITU_FORMAT, "'v' needs 7 elements of f32"},
        {"\"v\"", "\"as_int\": 4", "\"as_int\": 9223372036854775807", INSITU_FORMAT, "larger than any file"},
        {"\"v\"", "\"as_int\": 2", "\"as_int\": 3", INSITU_FORMAT, "'v' needs 7 elements of f32, but its record"},
        {"\"v\"", "\"strides\": [{\"as_int\": 1}]", "\"strides\": [{\"as_int\": 2}]", INSITU_FORMAT,
         "'v' needs 7 elements"},
        {"\"v\"", "\"dtype\": 7", "\"dtype\": 5", INSITU_FORMAT, "'v' needs 6 elements of i64"},
        {"\"v\"", "\"dtype\": 7", "\"dtype\": 4", INSITU_FORMAT, "'v' has another dtype or shape"},
        {"\"v\"", "weight_0", "../weights/weight_0", INSITU_FORMAT, "'../weights/weight_0' is not a plain record name"},
        {"\"v\"", "weight_0", "a\\\\\\\\b", INSITU_FORMAT, "is not a plain record name"},
        {"\"v\"", "weight_0", "weight_1", INSITU_FORMAT, "no record 'data/weights/weight_1'"},
        {"\"v\"", "\"use_pickle\": false", "\"use_pickle\": true", INSITU_FORMAT,
         "record 'weights/weight_0' is not a file of torch.save"},
        {"\"config\"", "\"config\"", "\"configs\"", INSITU_FORMAT, "'config' is missing"},
        {"\"config\"", "\"config\": ", "\"config\": 3, \"rest\": ", INSITU_FORMAT,
         "config: an integer where an object was expected"},
        {"\"v\"", "\"v\": ", "\"v\": [], \"rest\": ", INSITU_FORMAT, "config.v: an array where an object was expected"},
        {"\"v\"", "\"v\"", "\"other\"", INSITU_FORMAT,
         "does not store 'v', which the input 'b_v' needs, among its weights"},
        {"\"v\"", "{\"as_int\": 2}", S77, INSITU_FORMAT, "where a stored tensor needs a number"},
    };
    expect_each(WEIGHTS, cases, COUNT_OF(cases));
    zip_writer_t zip;
    fill(&zip);
    zip_record_of(&zip, "m/data/weights/weight_0")->size = 0;
    expect(&zip, INSITU_FORMAT, "the file has no weights");
    fill(&zip);
    zip_record_of(&zip, "m/data/weights/weight_0")->size = 23;
    expect(&zip, INSITU_FORMAT, "'lin.w' needs 6 elements of f32");
}

static void unknown_fields_and_bare_numbers_are_read(void **state) {
    (void)state;
    expect_replaced(MODEL, "\"graph_module\"", "{", "{\"news\": [1, {}], ", INSITU_OK, "");
    expect_replaced(MODEL, "add.Tensor", "\"-Infinity\"", "-Infinity", INSITU_OK, "");
    expect_replaced(MODEL, "add.Tensor", "\"-Infinity\"", "NaN", INSITU_OK, "");
    expect_replaced(MODEL, "add.Tensor", "\"-Infinity\"", "3", INSITU_OK, "");
    expect_replaced(MODEL, "schema_version", "\"minor\": 20", "\"minor\": 99", INSITU_OK, "");
}

/* count times before, then middle, then count times after */
static char *nested(const char *before, const char *middle, const char *after, size_t count) {
    size_t size = (strlen(before) + strlen(after)) * count + strlen(middle) + 1;
    char *result = malloc(size), *at = result;
    for (size_t i = 0; i < count; i++) at = (char *)memcpy(at, before, strlen(before)) + strlen(before);
    at = (char *)memcpy(at, middle, strlen(middle)) + strlen(middle);
    for (size_t i = 0; i < count; i++) at = (char *)memcpy(at, after, strlen(after)) + strlen(after);
    *at = 0;
    return result;
}

static void deep_nesting_is_refused(void **state) {
    (void)state;
    char *shallow = nested("{\"as_string_to_argument\": {\"a\": ", "{\"as_int\": 0}", "}}", 100);
    expect_replaced(MODEL, "sym_size.int", "{\"as_int\": 0}", shallow, INSITU_OK, "");
    char *deep = nested("{\"as_string_to_argument\": {\"a\": ", "{\"as_int\": 0}", "}}", 400);
    expect_replaced(MODEL, "sym_size.int", "{\"as_int\": 0}", deep, INSITU_FORMAT, "nested deeper than 256 levels");
    char *graphs = nested("{\"as_graph\": {\"name\": \"g\", \"graph\": {\"inputs\": [], \"outputs\": [], "
                          "\"tensor_values\": {}, \"nodes\": "
                          "[{\"target\": \"t\", \"outputs\": [], \"inputs\": [{\"name\": \"\", \"arg\": ",
                          "{\"as_int\": 0}", "}]}]}}}", 280);
    expect_replaced(MODEL, "sym_size.int", "{\"as_int\": 0}", graphs, INSITU_FORMAT, "nested deeper than 256 levels");
    char *deeper = nested("[", "", "]", 100000);
    expect_replaced(MODEL, "\"graph_module\"", "{", deeper, INSITU_FORMAT, "not valid JSON");
    char *leaf = nested("{\\\"type\\\": \\\"builtins.list\\\", \\\"context\\\": \\\"null\\\", \\\"children_spec\\\": [",
                        "{\\\"type\\\": null, \\\"children_spec\\\": []}", "]}", 300);
    expect_replaced(MODEL, "out_spec", "{\\\"type\\\": null, \\\"context\\\": null, \\\"children_spec\\\": []}", leaf,
                    INSITU_FORMAT, "nested deeper than 256 levels");
    free(shallow), free(deep), free(graphs), free(deeper), free(leaf);
}

static void running_out_of_memory_is_reported(void **state) {
    (void)state;
    zip_writer_t zip;
    fill(&zip);
    zip_finish(&zip);
    expect_short_memory(zip.bytes, zip.size);
    zip_release(&zip);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graph_is_read),
        cmocka_unit_test(signature_is_read),
        cmocka_unit_test(guards_find_their_inputs),
        cmocka_unit_test(weights_are_views_of_the_file),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(changed_bytes_never_crash),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(other_containers_are_named),
        cmocka_unit_test(zip_features_are_refused),
        cmocka_unit_test(missing_records_are_named),
        cmocka_unit_test(wrong_programs_are_refused_with_their_place),
        cmocka_unit_test(wrong_weights_are_refused_by_name),
        cmocka_unit_test(unknown_fields_and_bare_numbers_are_read),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
