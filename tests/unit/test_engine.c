#include "small_plans.h"

#include "engine/format.h"

#include <jansson.h>
#include <unistd.h>

typedef struct engine_file { /* an engine file in memory, aligned as load_memory wants it */
    uint8_t *data;
    size_t size;
} engine_file_t;

static const char *test_path(void) {
    static char path[64];
    snprintf(path, sizeof(path), "/tmp/insitu_test_engine_%ld", (long)getpid());
    return path;
}

static engine_file_t copy_file(const uint8_t *data, size_t size) {
    engine_file_t file = {aligned_alloc(64, (size + 127) / 64 * 64), size}; /* and a little room */
    assert_non_null(file.data);
    memcpy(file.data, data, size);
    return file;
}

static engine_file_t save(const insitu_engine *engine) {
    insitu_diag diag = {.struct_size = sizeof(diag)};
    if (insitu_engine_save(engine, test_path(), &diag) != INSITU_OK) fail_msg("%s", diag.message);
    file_map_t *map;
    assert_int_equal(file_map_open(test_path(), &map, &diag), INSITU_OK);
    engine_file_t file = copy_file(map->data, map->size);
    file_map_release(map);
    unlink(test_path());
    return file;
}

static insitu_engine *make_engine(plan_t *plan) {
    insitu_engine *engine;
    assert_int_equal(finish_plan(plan, NULL), INSITU_OK);
    assert_int_equal(engine_create(plan, device_cpu(), NULL, 0, &engine, NULL), INSITU_OK);
    return engine;
}

static engine_file_t make_file(void) {
    insitu_engine *engine = make_engine(make_small_plan());
    engine_file_t file = save(engine);
    insitu_engine_destroy(engine);
    return file;
}

static insitu_status load(const engine_file_t *file, bool verify, insitu_engine **engine, insitu_diag *diag) {
    insitu_load_options options = {.struct_size = sizeof(options), .verify_weights = verify};
    return insitu_engine_load_memory(file->data, file->size, &options, engine, diag);
}

static char *text_of(const insitu_engine *engine, const char *what) {
    char *text;
    assert_int_equal(insitu_engine_print(engine, what, &text, NULL), INSITU_OK);
    return text;
}

static void engines_survive_a_file(void **state) {
    (void)state;
    insitu_engine *engine = make_engine(make_small_plan()), *loaded;
    engine_file_t file = save(engine), again, other;
    insitu_diag diag = {.struct_size = sizeof(diag)};
    if (load(&file, true, &loaded, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    static const char *const texts[] = {"plan", "report", "values", "json"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char *before = text_of(engine, texts[i]), *after = text_of(loaded, texts[i]);
        assert_string_equal(before, after);
        insitu_text_free(before);
        insitu_text_free(after);
    }
    assert_memory_equal(loaded->plan->weights[0].data, small_weight, sizeof(small_weight));
    assert_true(loaded->plan->weights[0].data > file.data && loaded->plan->weights[0].data < file.data + file.size);
    again = save(loaded);
    assert_int_equal(again.size, file.size);
    assert_memory_equal(again.data, file.data, file.size);
    other = make_file();
    assert_int_equal(other.size, file.size);
    assert_memory_equal(other.data, file.data, file.size);
    free(again.data);
    free(other.data);
    insitu_engine_destroy(loaded);
    insitu_engine_destroy(engine);
    free(file.data);
}

static void files_are_safetensors_without_holes(void **state) {
    (void)state;
    engine_file_t file = make_file();
    uint64_t length;
    memcpy(&length, file.data, sizeof(length));
    assert_int_equal((8 + length) % 64, 0);
    json_t *root = json_loadb((const char *)file.data + 8, length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    json_t *weight = json_object_get(root, "layer.weight"), *value;
    assert_string_equal(json_string_value(json_object_get(weight, "dtype")), "F32");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(weight, "shape"), 0)), 8);
    size_t covered = 0, total = file.size - 8 - length;
    const char *key;
    json_object_foreach(root, key, value) {
        if (strcmp(key, "__metadata__") == 0) continue;
        json_t *offsets = json_object_get(value, "data_offsets");
        int64_t begin = json_integer_value(json_array_get(offsets, 0)),
                end = json_integer_value(json_array_get(offsets, 1));
        if (strncmp(key, "__pad.", 6) != 0) assert_int_equal(begin % 64, 0);
        covered += (size_t)(end - begin);
    }
    assert_int_equal(covered, total);
    json_decref(root);
    free(file.data);
}

static void every_length_but_the_whole_is_refused(void **state) {
    (void)state;
    engine_file_t file = make_file();
    for (size_t size = 0; size < file.size; size += size < 64 ? 1 : 37) {
        engine_file_t cut = copy_file(file.data, size);
        insitu_engine *engine;
        insitu_diag diag = {.struct_size = sizeof(diag)};
        insitu_status status = load(&cut, false, &engine, &diag);
        if (status != INSITU_FORMAT || !diag.message[0]) fail_msg("%zu bytes: %s", size, insitu_status_name(status));
        assert_null(engine);
        free(cut.data);
    }
    free(file.data);
}

/* The format forbids bytes that belong to no tensor. */
static void bytes_after_the_last_tensor_are_refused(void **state) {
    (void)state;
    engine_file_t file = make_file(), longer = copy_file(file.data, file.size);
    for (size_t more = 1; more <= 64; more += 63) {
        insitu_engine *engine;
        insitu_diag diag = {.struct_size = sizeof(diag)};
        memset(longer.data + file.size, 0, more);
        longer.size = file.size + more;
        assert_int_equal(load(&longer, false, &engine, &diag), INSITU_FORMAT);
        assert_non_null(strstr(diag.message, "not a valid engine file: its last"));
        assert_non_null(strstr(diag.message, "belong to no tensor"));
        assert_null(engine);
    }
    free(longer.data);
    free(file.data);
}

/* The end of the plan's bytes: what the hash guards. */
static size_t guarded_size(const engine_file_t *file) {
    insitu_engine *engine;
    assert_int_equal(load(file, false, &engine, NULL), INSITU_OK);
    const uint8_t *first = engine->plan->weights[0].data;
    insitu_engine_destroy(engine);
    uint64_t length;
    memcpy(&length, file->data, sizeof(length));
    json_t *root = json_loadb((const char *)file->data + 8, length, 0, NULL);
    json_t *offsets = json_object_get(json_object_get(root, PLAN_TENSOR), "data_offsets");
    size_t end = 8 + length + (size_t)json_integer_value(json_array_get(offsets, 1));
    json_decref(root);
    assert_true(file->data + end <= first);
    return end;
}

static void every_flipped_byte_of_header_and_plan_is_refused(void **state) {
    (void)state;
    engine_file_t file = make_file();
    size_t guarded = guarded_size(&file);
    static const uint8_t masks[] = {0x01, 0x20, 0x80};
    for (size_t at = 0; at < guarded; at++) {
        for (size_t m = 0; m < COUNT_OF(masks); m++) {
            insitu_engine *engine;
            file.data[at] ^= masks[m];
            insitu_status status = load(&file, false, &engine, NULL);
            file.data[at] ^= masks[m];
            bool is_refused = status == INSITU_FORMAT || status == INSITU_VERSION; /* the record states its version */
            if (!is_refused) fail_msg("byte %zu, mask %x: %s", at, masks[m], insitu_status_name(status));
        }
    }
    free(file.data);
}

static void damaged_weights_are_found_on_request(void **state) {
    (void)state;
    engine_file_t file = make_file();
    insitu_engine *engine;
    insitu_diag diag = {.struct_size = sizeof(diag)};
    file.data[file.size - 1] ^= 1; /* the last weight's */
    assert_int_equal(load(&file, false, &engine, &diag), INSITU_OK);
    insitu_engine_destroy(engine);
    assert_int_equal(load(&file, true, &engine, &diag), INSITU_FORMAT);
    assert_non_null(strstr(diag.message, "weight 'history' of the engine file is damaged"));
    free(file.data);
}

/* Replaces equally long words in the header or the plan, and states the new hash. */
static void edit(engine_file_t *file, const char *from, const char *to) {
    uint64_t length;
    memcpy(&length, file->data, sizeof(length));
    assert_int_equal(strlen(from), strlen(to));
    uint8_t *found = memmem(file->data, file->size, from, strlen(from));
    if (!found) fail_msg("'%s' is not in the file", from);
    memcpy(found, to, strlen(to));
    json_t *root = json_loadb((const char *)file->data + 8, length, 0, NULL);
    json_t *offsets = json_object_get(json_object_get(root, PLAN_TENSOR), "data_offsets");
    size_t begin = (size_t)json_integer_value(json_array_get(offsets, 0));
    size_t end = (size_t)json_integer_value(json_array_get(offsets, 1)), digits_at;
    json_decref(root);
    uint64_t hash;
    char digits[HASH_DIGITS + 1];
    assert_true(format_find_hash(file->data + 8, length, &digits_at));
    assert_int_equal(
        format_hash(file->data + 8, length, digits_at, file->data + 8 + length + begin, end - begin, &hash), INSITU_OK);
    snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)hash);
    memcpy(file->data + 8 + digits_at, digits, HASH_DIGITS);
}

static void faults_behind_a_good_hash_are_named(void **state) {
    (void)state;
    const struct {
        const char *from, *to;
        insitu_status status;
        const char *words;
    } cases[] = {
        {"\"plan_version\":\"4\"", "\"plan_version\":\"5\"", INSITU_VERSION,
         "plan version 5, and this library reads version 4: compile the program again"},
        {"\"plan_version\":\"4\"", "\"plan_version\":\"x\"", INSITU_FORMAT, "does not state its plan_version"},
        {"[\\\"10\\\",", "[\\\"09\\\",", INSITU_VERSION,
         "version '09' and 13 fields, and this library reads version '10'"},
        {"\"record\":", "\"recorf\":", INSITU_VERSION, "has no record: compile the program again"},
        {"\\\"insitu.plan\\\"", "\\\"insitu.plam\\\"", INSITU_FORMAT, "has no tensor 'insitu.plam'"},
        {"%row%bias\\\"", "%row%biaz\\\"", INSITU_FORMAT, "INPUT_BINDING_NAMES has 'biaz'"},
        {"\"format\":\"insitu\"", "\"format\":\"insane\"", INSITU_FORMAT, "not an engine file"},
        {"\"layer\":\"binary\"", "\"layer\":\"binaxy\"", INSITU_FORMAT, "row 1 of steps: layer"},
        {"\"kind\":\"arena\"", "\"kind\":\"arenx\"", INSITU_FORMAT, "row 9 of storages: kind"},
        {"\"min\":1", "\"min\":9", INSITU_FORMAT, "row 0 of symbols: max"},
        {"[\"symbol\",0]", "[\"symbol\",1]", INSITU_FORMAT, "of nodes: symbol"},
        {"\"first_write\":3", "\"first_write\":4", INSITU_FORMAT, "before the plan's first write"},
        {"\"bytes\":32,\"tensor\":\"layer", "\"bytes\":36,\"tensor\":\"layer", INSITU_FORMAT,
         "weight 'layer.weight' has 32 bytes in the engine file where 36"},
        {"\"tensor\":\"history\"", "\"tensor\":\"histery\"", INSITU_FORMAT, "no tensor 'histery'"},
        {"\"op\":[\"binary\",\"add\"]", "\"op\":[\"binary\",\"adx\"]", INSITU_FORMAT, "row 1 of steps: op"},
        {"\"op\":[\"binary\",\"add\"]", "\"ox\":[\"binary\",\"add\"]", INSITU_FORMAT,
         "an attribute that its layer does not have"},
        {"\"source\":\"size\"", "\"source\":\"sixe\"", INSITU_FORMAT, "row 0 of symbols: source"},
        {"{\"name\":\"scale\",\"weight\":0", "{\"name\":\"scale\",\"weight\":2", INSITU_FORMAT,
         "buffer 0 'scale': its weight does not exist"},
        {"{\"name\":\"scale\",\"weight\"", "{\"name\":\"cache\",\"weight\"", INSITU_FORMAT,
         "buffer 0 'cache': another one has the same name"},
        {"\"end\":", "\"ent\":", INSITU_FORMAT, "row 0 of segments: end"},
        {"\"extent\":", "\"extend\":", INSITU_FORMAT, "row 0 of steps: a field that such a row does not have"},
        {"\"buffers\":", "\"bufferz\":", INSITU_FORMAT, "row 0 of buffers: no such table"},
        {"{\"symbols\":", "[\"symbols\":", INSITU_FORMAT, "no JSON object"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        engine_file_t file = make_file();
        insitu_engine *engine;
        insitu_diag diag = {.struct_size = sizeof(diag)};
        edit(&file, cases[i].from, cases[i].to);
        insitu_status status = load(&file, false, &engine, &diag);
        if (status != cases[i].status || !strstr(diag.message, cases[i].words))
            fail_msg("case %zu: %s: '%s' is not in '%s'", i, insitu_status_name(status), cases[i].words, diag.message);
        free(file.data);
    }
}

/* Of a file whose record has another version nothing else is read, so nothing else may be like ours: neither hash nor plan. */
static void the_records_version_comes_first(void **state) {
    (void)state;
    static const char own[] = "[\\\"10\\\",";
    engine_file_t file = make_file();
    insitu_engine *engine;
    insitu_diag diag = {.struct_size = sizeof(diag)};
    char *version = memmem(file.data, file.size, own, strlen(own)),
         *plan = memmem(file.data, file.size, "{\"symbols\":", 11);
    assert_true(version && plan);
    version[4] = '2'; /* 12 */
    memset(plan, 'x', 100);
    assert_int_equal(load(&file, false, &engine, &diag), INSITU_VERSION);
    assert_null(engine);
    assert_non_null(strstr(diag.message, "has version '12' and 13 fields, and this library reads version '10' of 13"));
    free(file.data);
}

/* Every digit of the plan becomes another one: whatever happens, it is a status. */
static void no_number_of_the_plan_can_crash_the_reader(void **state) {
    (void)state;
    engine_file_t file = make_file();
    size_t guarded = guarded_size(&file), loaded = 0;
    uint64_t length;
    memcpy(&length, file.data, sizeof(length));
    for (size_t at = 8 + length; at < guarded; at++) {
        if (file.data[at] < '0' || file.data[at] > '9') continue;
        uint8_t digit = file.data[at];
        char from[2] = {(char)digit, 0};
        file.data[at] = (uint8_t)('0' + ((size_t)digit - '0' + 1 + at % 8) % 10);
        edit(&file, from, from); /* states the hash alone: the first such digit is replaced by itself */
        insitu_engine *engine;
        insitu_diag diag = {.struct_size = sizeof(diag)};
        insitu_status status = load(&file, false, &engine, &diag);
        if (status != INSITU_OK && status != INSITU_FORMAT)
            fail_msg("%s: %s", insitu_status_name(status), diag.message);
        loaded += status == INSITU_OK;
        insitu_engine_destroy(engine);
        file.data[at] = digit;
    }
    assert_true(loaded > 0);
    free(file.data);
}

static void questions_are_answered(void **state) {
    (void)state;
    insitu_engine *engine = make_engine(make_small_plan());
    insitu_diag diag = {.struct_size = sizeof(diag)};
    insitu_value_info info = {.struct_size = sizeof(info)};
    assert_int_equal(insitu_engine_input_count(engine), 4);
    assert_int_equal(insitu_engine_output_count(engine), 5);
    assert_int_equal(insitu_engine_state_count(engine), 3);
    assert_int_equal(insitu_engine_input(engine, 0, &info, &diag), INSITU_OK);
    assert_string_equal(info.name, "x");
    assert_int_equal(info.ndim, 2);
    assert_int_equal(info.sizes[0], -1);
    assert_int_equal(info.min_sizes[0], 1);
    assert_int_equal(info.max_sizes[0], 6);
    assert_int_equal(info.sizes[1], 8);
    assert_false(info.is_written);
    assert_int_equal(insitu_engine_output(engine, 1, &info, &diag), INSITU_OK);
    assert_string_equal(info.aliased, "cache");
    assert_int_equal(insitu_engine_output(engine, 3, &info, &diag), INSITU_OK);
    assert_true(info.is_scalar);
    assert_int_equal(insitu_engine_state(engine, 3, &info, &diag), INSITU_ARG);
    assert_int_equal(insitu_engine_find_state(engine, "cache"), 2);
    assert_int_equal(insitu_engine_find_output(engine, "cache"), -1);
    assert_string_equal(insitu_engine_aliased_input(engine, "output.2"), "bias");
    assert_null(insitu_engine_aliased_input(engine, "output.1"));
    assert_null(insitu_engine_aliased_input(engine, "nothing"));
    assert_true(insitu_engine_input_is_written(engine, "bias"));
    assert_false(insitu_engine_input_is_written(engine, "x"));
    insitu_report_row row = {.struct_size = sizeof(row)};
    assert_int_equal(insitu_engine_report(engine, 2, &row, &diag), INSITU_OK);
    assert_string_equal(row.type, "f32[8]");
    assert_string_equal(row.written, "8*s0");
    assert_int_equal(row.bytes_written, -1);
    assert_int_equal(row.bytes_copied, 16384);
    assert_false(row.in_place);
    struct { /* an older, shorter struct: nothing beyond it is written */
        size_t struct_size;
        const char *name, *guard;
    } old = {.struct_size = sizeof(size_t) + sizeof(char *), .guard = "guard"};
    insitu_report_row *as_row = (insitu_report_row *)(void *)&old;
    assert_int_equal(insitu_engine_report(engine, 0, as_row, &diag), INSITU_OK);
    assert_string_equal(old.name, "cache");
    assert_string_equal(old.guard, "guard");
    char *text;
    assert_int_equal(insitu_engine_print(engine, "poem", &text, &diag), INSITU_ARG);
    text = text_of(engine, "json");
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(json_object_get(root, "report"), 0), "verdict")), "in place");
    json_decref(root);
    insitu_text_free(text);
    insitu_engine_destroy(engine);
}

/* A buffer is a view of the bytes that the engine has, be it compiled or loaded. */
static void buffers_are_views_of_weights(void **state) {
    (void)state;
    insitu_engine *engines[2] = {make_engine(make_small_plan())};
    engine_file_t file = save(engines[0]);
    insitu_diag diag = {.struct_size = sizeof(diag)};
    if (load(&file, false, &engines[1], &diag) != INSITU_OK) fail_msg("%s", diag.message);
    for (int i = 0; i < 2; i++) {
        const char *name;
        insitu_tensor tensor;
        assert_int_equal(insitu_engine_buffer_count(engines[i]), 1);
        assert_int_equal(insitu_engine_buffer(engines[i], 0, &name, &tensor, &diag), INSITU_OK);
        assert_string_equal(name, "scale");
        assert_int_equal(tensor.dtype.code, INSITU_CODE_FLOAT);
        assert_int_equal(tensor.dtype.bits, 32);
        assert_int_equal(tensor.ndim, 1);
        assert_int_equal(tensor.shape[0], 4);
        assert_int_equal(tensor.strides[0], 2);
        const float *elements = tensor.data;
        for (int k = 0; k < 4; k++) assert_true(elements[2 * k] == small_weight[2 * k + 1]);
        assert_int_equal(insitu_engine_buffer(engines[i], 1, &name, &tensor, &diag), INSITU_ARG);
        assert_non_null(strstr(diag.message, "buffer 1 does not exist: the engine has 1"));
        assert_null(name);
        char *text = text_of(engines[i], "values");
        assert_non_null(strstr(text, "buffers\n  scale: f32[4]\n"));
        insitu_text_free(text);
        text = text_of(engines[i], "json");
        assert_non_null(strstr(text, "\"buffers\":[\n{\"name\":\"scale\",\"dtype\":\"f32\",\"sizes\":[4]"));
        insitu_text_free(text);
    }
    insitu_tensor tensor;
    const char *name;
    assert_int_equal(insitu_engine_buffer(engines[1], 0, &name, &tensor, &diag), INSITU_OK);
    const uint8_t *data = tensor.data;
    assert_true(data > file.data && data < file.data + file.size);
    insitu_engine_destroy(engines[0]);
    insitu_engine_destroy(engines[1]);
    free(file.data);
}

/* The first use of a weight is a part of it, the second all of it: a row, and the file is read again. */
static void a_part_before_the_whole_is_a_row(void **state) {
    (void)state;
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    plan_t *plan = new_plan();
    sym_pool_t *pool = &plan->symbols;
    tensor_type_t table = dense_type(plan, DTYPE_F32, 2, (sym_t[]){sym_int(pool, 2), sym_int(pool, 3)}), part = table;
    part.shape.sizes[1] = sym_int(pool, 2);
    (void)add_weight(plan, "table", table, values);
    plan->buffers[plan->buffer_count++] = (plan_buffer_t){.name = "part", .weight = 0, .type = part};
    plan->buffers[plan->buffer_count++] = (plan_buffer_t){.name = "table", .weight = 0, .type = table};
    insitu_engine *engine = make_engine(plan), *loaded;
    engine_file_t file = save(engine);
    insitu_diag diag = {.struct_size = sizeof(diag)};
    if (load(&file, true, &loaded, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    const char *expected = "\"table\":{\"dtype\":\"F32\",\"shape\":[6]";
    assert_non_null(memmem(file.data, file.size, expected, strlen(expected)));
    insitu_engine_destroy(loaded);
    insitu_engine_destroy(engine);
    free(file.data);
}

/* A weight that no step uses keeps the shape that its buffer has; one without elements is written too. */
static void unused_buffers_keep_their_shapes(void **state) {
    (void)state;
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    plan_t *plan = new_plan();
    sym_pool_t *pool = &plan->symbols;
    tensor_type_t table = dense_type(plan, DTYPE_F32, 2, (sym_t[]){sym_int(pool, 2), sym_int(pool, 3)});
    tensor_type_t none = dense_type(plan, DTYPE_F32, 2, (sym_t[]){sym_int(pool, 0), sym_int(pool, 3)});
    none.offset = sym_int(pool, 1000);
    (void)add_weight(plan, "table", table, values);
    (void)add_weight(plan, "empty", none, NULL);
    plan->storage_count = 0;
    plan->buffers[plan->buffer_count++] = (plan_buffer_t){.name = "table", .weight = 0, .type = table};
    plan->buffers[plan->buffer_count++] = (plan_buffer_t){.name = "none", .weight = 1, .type = none};
    insitu_engine *engine = make_engine(plan), *loaded;
    engine_file_t file = save(engine);
    insitu_diag diag = {.struct_size = sizeof(diag)};
    if (load(&file, true, &loaded, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    const char *expected = "\"table\":{\"dtype\":\"F32\",\"shape\":[2,3]", *name;
    assert_non_null(memmem(file.data, file.size, expected, strlen(expected)));
    insitu_tensor tensor;
    assert_int_equal(insitu_engine_buffer(loaded, 0, &name, &tensor, &diag), INSITU_OK);
    assert_memory_equal(tensor.data, values, sizeof(values));
    assert_int_equal(insitu_engine_buffer(loaded, 1, &name, &tensor, &diag), INSITU_OK);
    assert_int_equal(tensor.shape[0], 0);
    insitu_engine_destroy(loaded);
    insitu_engine_destroy(engine);
    free(file.data);
}

/* Names that the file uses itself, that are equal, or that need escapes; a weight used in two ways; dtypes. */
static void odd_weights_are_written_and_found(void **state) {
    (void)state;
    plan_t *plan = new_plan();
    sym_pool_t *pool = &plan->symbols;
    sym_t two = sym_int(pool, 2), three = sym_int(pool, 3), one = sym_int(pool, 1);
    tensor_type_t table = dense_type(plan, DTYPE_F32, 2, (sym_t[]){two, three}), turned = table;
    turned.shape.sizes[0] = three;
    turned.shape.sizes[1] = two;
    turned.strides[0] = one;
    turned.strides[1] = three;
    tensor_type_t numbers = dense_type(plan, DTYPE_C128, 1, &two),
                  empty = dense_type(plan, DTYPE_F32, 1, (sym_t[]){sym_int(pool, 0)});
    static const float values[6] = {1, 2, 3, 4, 5, 6};
    static const double complex_values[4] = {1, 2, 3, 4};
    uint32_t turned_weight = add_weight(plan, "w", table, values);
    (void)add_weight(plan, "w", table, values);
    (void)add_weight(plan, "__pad.0", table, values);
    (void)add_weight(plan, PLAN_TENSOR, table, values);
    (void)add_weight(plan, "a \"quoted\"\\\n\x01 name \xc3\xa9", numbers, complex_values);
    (void)add_weight(plan, "none", empty, values);
    uint32_t output = add_output(plan, "output.0", turned);
    (void)add_step(plan, LAYER_COPY, "copy", &(plan_operand_t){output, turned}, 1,
                   &(plan_operand_t){turned_weight, turned}, 1);
    plan->first_write = 1;
    insitu_engine *engine = make_engine(plan), *loaded;
    engine_file_t file = save(engine);
    insitu_diag diag = {.struct_size = sizeof(diag)};
    if (load(&file, true, &loaded, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    for (uint32_t i = 0; i < 6; i++) {
        assert_string_equal(loaded->plan->weights[i].name, engine->plan->weights[i].name);
        assert_int_equal(loaded->plan->weights[i].size, engine->plan->weights[i].size);
        assert_memory_equal(loaded->plan->weights[i].data, engine->plan->weights[i].data,
                            engine->plan->weights[i].size);
    }
    const char *expected =
        "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3]"; /* a transposed use is a use of the dense tensor */
    assert_non_null(memmem(file.data, file.size, expected, strlen(expected)));
    expected = "\"w#2\":{\"dtype\":\"F32\",\"shape\":[6]"; /* used by nothing: a row */
    assert_non_null(memmem(file.data, file.size, expected, strlen(expected)));
    insitu_engine_destroy(loaded);
    insitu_engine_destroy(engine);
    free(file.data);
}

static void missing_files_and_misaligned_memory_are_refused(void **state) {
    (void)state;
    insitu_engine *engine;
    insitu_diag diag = {.struct_size = sizeof(diag)};
    assert_int_equal(insitu_engine_load("/nonexistent/engine", NULL, &engine, &diag), INSITU_IO);
    engine_file_t file = make_file();
    assert_int_equal(insitu_engine_load_memory(file.data + 1, file.size - 1, NULL, &engine, &diag), INSITU_ARG);
    free(file.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_survive_a_file),
        cmocka_unit_test(files_are_safetensors_without_holes),
        cmocka_unit_test(every_length_but_the_whole_is_refused),
        cmocka_unit_test(bytes_after_the_last_tensor_are_refused),
        cmocka_unit_test(every_flipped_byte_of_header_and_plan_is_refused),
        cmocka_unit_test(damaged_weights_are_found_on_request),
        cmocka_unit_test(faults_behind_a_good_hash_are_named),
        cmocka_unit_test(the_records_version_comes_first),
        cmocka_unit_test(no_number_of_the_plan_can_crash_the_reader),
        cmocka_unit_test(questions_are_answered),
        cmocka_unit_test(buffers_are_views_of_weights),
        cmocka_unit_test(a_part_before_the_whole_is_a_row),
        cmocka_unit_test(unused_buffers_keep_their_shapes),
        cmocka_unit_test(odd_weights_are_written_and_found),
        cmocka_unit_test(missing_files_and_misaligned_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
