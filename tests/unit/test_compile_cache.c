/* The compile cache: a hit is what a compilation makes; entries that are damaged, old, or another program's are misses;
 * processes that compile at once leave whole entries. */
#include "alias_fixture.h"

#include "engine/record.h"
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static void make_folder(void) {
    snprintf(folder, sizeof(folder), "/tmp/insitu_cache_XXXXXX");
    assert_non_null(mkdtemp(folder));
}

/* The only entry's path, or the number of files where that is not one. */
static size_t find_entry(char *out_path, size_t size) {
    DIR *directory = opendir(folder);
    size_t count = 0;
    assert_non_null(directory);
    for (struct dirent *file; (file = readdir(directory));) {
        if (file->d_name[0] == '.') continue;
        count++;
        if (out_path) snprintf(out_path, size, "%s/%s", folder, file->d_name);
    }
    closedir(directory);
    return count;
}

static void remove_folder(void) {
    char path[512];
    while (find_entry(path, sizeof(path))) assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void open_cached(fixture_t *f, const char *file, insitu_compile_options options) {
    options.cache_dir = folder;
    open_fixture(f, file, &options);
}

static bool is_hit(const char *file, insitu_compile_options options) {
    fixture_t f;
    open_cached(&f, file, options);
    bool hit = insitu_engine_is_cached(f.engine);
    close_fixture(&f);
    return hit;
}

static uint8_t *read_file(const char *path, size_t *out_size) {
    file_map_t *map;
    assert_int_equal(file_map_open(path, &map, NULL), INSITU_OK);
    uint8_t *copy = malloc(map->size + 1);
    assert_non_null(copy);
    memcpy(copy, map->data, map->size);
    *out_size = map->size;
    file_map_release(map);
    return copy;
}

static void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

/* ---- hits ---- */

static void expect_equal_files(const insitu_engine *a, const insitu_engine *b) {
    char first[] = "/tmp/insitu_test_XXXXXX", second[] = "/tmp/insitu_test_XXXXXX";
    size_t size, other_size;
    close(mkstemp(first));
    close(mkstemp(second));
    assert_int_equal(insitu_engine_save(a, first, NULL), INSITU_OK);
    assert_int_equal(insitu_engine_save(b, second, NULL), INSITU_OK);
    uint8_t *data = read_file(first, &size), *other = read_file(second, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(data, other, size);
    free(data);
    free(other);
    remove(first);
    remove(second);
}

/* Engine files are all that an engine is: map, arity, plan, weights. */
static void hits_are_compilations(void **state) {
    (void)state;
    static const char *const files[] = {"paired_caches.train.pt2", "decoder.train.pt2", "results.train.pt2"};
    const insitu_mutated_input row = {.input = "keys", .output = "new_keys"};
    for (size_t i = 0; i < 3; i++) {
        insitu_compile_options options = new_options();
        if (i == 0) {
            options.mutated_inputs = &row;
            options.mutated_input_count = 1;
        }
        fixture_t fresh, first, hit;
        make_folder();
        open_fixture(&fresh, files[i], &options);
        open_cached(&first, files[i], options);
        open_cached(&hit, files[i], options);
        assert_false(insitu_engine_is_cached(fresh.engine) || insitu_engine_is_cached(first.engine));
        assert_true(insitu_engine_is_cached(hit.engine));
        assert_int_equal(insitu_engine_output_count(hit.engine), insitu_engine_output_count(fresh.engine));
        assert_int_equal(insitu_engine_alias_count(hit.engine), insitu_engine_alias_count(fresh.engine));
        if (i == 0) assert_string_equal(insitu_engine_aliased_input(hit.engine, "new_keys"), "keys");
        expect_equal_files(fresh.engine, first.engine);
        expect_equal_files(fresh.engine, hit.engine);
        close_fixture(&hit);
        close_fixture(&first);
        close_fixture(&fresh);
        remove_folder();
    }
}

static void arity_counts_positions(void **state) {
    (void)state;
    make_folder();
    assert_false(is_hit("returned_twice.train.pt2", new_options()));
    fixture_t f;
    open_cached(&f, "returned_twice.train.pt2", new_options());
    assert_true(insitu_engine_is_cached(f.engine));
    assert_int_equal(insitu_engine_output_count(f.engine), 6);
    float x[4] = {1, 2, 3, 4}, y[4] = {5, 6, 7, 8};
    set(&f, "x", x);
    set(&f, "y", y);
    run(&f);
    insitu_tensor first = output_of(&f, 1), second = output_of(&f, 2);
    assert_memory_equal(data_of(&first), y, sizeof(y));
    assert_memory_equal(data_of(&second), y, sizeof(y));
    close_fixture(&f);
    remove_folder();
}

static void other_options_and_programs_are_other_entries(void **state) {
    (void)state;
    const insitu_mutated_input rows[] = {{.input = "cache", .output = "a"}, {.input = "cache", .output = "b"}};
    insitu_compile_options all[8];
    for (size_t i = 0; i < 8; i++) all[i] = new_options();
    all[1].strict = true;
    all[2].no_inplace = true;
    all[3].keep_values = true;
    all[4].state = INSITU_STATE_FROZEN;
    all[5].bounds = INSITU_BOUNDS_STRICT;
    for (size_t i = 6; i < 8; i++) {
        all[i].mutated_inputs = &rows[i - 6];
        all[i].mutated_input_count = 1;
    }
    make_folder();
    for (size_t i = 0; i < 8; i++) assert_false(is_hit("input_slice.train.pt2", all[i]));
    assert_false(is_hit("input_slice.aten.pt2", all[0]));
    assert_int_equal(find_entry(NULL, 0), 9);
    for (size_t i = 0; i < 8; i++) assert_true(is_hit("input_slice.train.pt2", all[i]));
    remove_folder();
}

/* A program of as many bytes, one of which is another (the time of day in the archive's first entry), is another program. */
static void every_byte_of_a_program_counts(void **state) {
    (void)state;
    enum { TIME_AT = 10 };
    size_t size;
    uint8_t *bytes = read_file(DATA "input_slice.train.pt2", &size);
    make_folder();
    assert_false(is_hit("input_slice.train.pt2", new_options()));
    for (int changed = 0; changed < 2; changed++) {
        insitu_diag diag;
        insitu_program *program;
        insitu_engine *engine;
        insitu_compile_options options = new_options();
        options.cache_dir = folder;
        insitu_diag_init(&diag);
        bytes[TIME_AT] ^= (uint8_t)changed;
        assert_int_equal(insitu_program_load_memory(bytes, size, &program, &diag), INSITU_OK);
        assert_int_equal(insitu_program_compile(program, &options, &engine, &diag), INSITU_OK);
        assert_int_equal(insitu_engine_is_cached(engine), !changed);
        insitu_engine_destroy(engine);
        insitu_program_destroy(program);
        insitu_diag_release(&diag);
    }
    free(bytes);
    remove_folder();
}

/* ---- misses ---- */

static void damaged_entries_are_replaced(void **state) {
    (void)state;
    char path[512];
    make_folder();
    assert_false(is_hit("cached_64.train.pt2", new_options()));
    assert_int_equal(find_entry(path, sizeof(path)), 1);
    size_t size, again;
    uint8_t *whole = read_file(path, &size);
    for (size_t part = 0; part < 16; part++) {
        write_file(path, whole, size * part / 16);
        assert_false(is_hit("cached_64.train.pt2", new_options()));
        assert_true(is_hit("cached_64.train.pt2", new_options()));
    }
    for (size_t at = 5; at < size; at += size / 16) { /* weights too */
        whole[at] ^= 0x10;
        write_file(path, whole, size);
        whole[at] ^= 0x10;
        assert_false(is_hit("cached_64.train.pt2", new_options()));
        uint8_t *written = read_file(path, &again);
        assert_int_equal(again, size);
        assert_memory_equal(written, whole, size);
        free(written);
    }
    free(whole);
    remove_folder();
}

/* What lies between the tensors counts too. */
static void padding_is_a_part_of_an_entry(void **state) {
    (void)state;
    char path[512];
    make_folder();
    assert_false(is_hit("decoder.train.pt2", new_options()));
    assert_int_equal(find_entry(path, sizeof(path)), 1);
    size_t size, begin;
    uint8_t *whole = read_file(path, &size);
    whole[size] = 0;
    uint64_t header;
    memcpy(&header, whole, sizeof(header));
    const char *pad = strstr((const char *)whole + sizeof(header), "\"__pad.0\"");
    assert_non_null(pad);
    assert_int_equal(sscanf(strstr(pad, "data_offsets"), "data_offsets\":[%zu,", &begin), 1);
    whole[sizeof(header) + header + begin] ^= 1;
    write_file(path, whole, size);
    assert_false(is_hit("decoder.train.pt2", new_options()));
    assert_true(is_hit("decoder.train.pt2", new_options()));
    free(whole);
    remove_folder();
}

/* What is no engine file at all, where the entry should be: a pipe that nobody reads, a link to nothing. */
static void other_things_are_replaced(void **state) {
    (void)state;
    char path[512];
    make_folder();
    assert_false(is_hit("cached_64.train.pt2", new_options()));
    assert_int_equal(find_entry(path, sizeof(path)), 1);
    for (int kind = 0; kind < 2; kind++) {
        assert_int_equal(remove(path), 0);
        assert_int_equal(kind == 0 ? mkfifo(path, 0600) : symlink("/nowhere/at/all", path), 0);
        alarm(60); /* instead of waiting for a reader for ever */
        assert_false(is_hit("cached_64.train.pt2", new_options()));
        alarm(0);
        assert_true(is_hit("cached_64.train.pt2", new_options()));
        assert_int_equal(find_entry(path, sizeof(path)), 1);
    }
    remove_folder();
}

/* Replaces words of the header by as many others; the hash is made right again, as an older library would have it. */
static void edit_entry(const char *path, const char *from, const char *to) {
    size_t size, digits_at;
    uint8_t *data = read_file(path, &size);
    uint64_t length, hash;
    memcpy(&length, data, sizeof(length));
    uint8_t *found = memmem(data, size, from, strlen(from));
    assert_non_null(found);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(found, to, strlen(to));
    const char *plan = memmem(data, size, "\"insitu.plan\":", 14);
    unsigned long begin, end;
    assert_non_null(plan);
    assert_int_equal(sscanf(strstr(plan, "\"data_offsets\":["), "\"data_offsets\":[%lu,%lu]", &begin, &end), 2);
    assert_true(format_find_hash(data + 8, length, &digits_at));
    assert_int_equal(format_hash(data + 8, length, digits_at, data + 8 + length + begin, end - begin, &hash),
                     INSITU_OK);
    char digits[HASH_DIGITS + 1];
    snprintf(digits, sizeof(digits), "%016llx", (unsigned long long)hash);
    memcpy(data + 8 + digits_at, digits, HASH_DIGITS);
    write_file(path, data, size);
    free(data);
}

static void old_entries_are_replaced_once(void **state) {
    (void)state;
    static const char *const edits[][2] = {{"[\\\"10\\\",", "[\\\"09\\\","}, /* a record of another version */
                                           {"\"record\":", "\"recorf\":"},   /* none at all */
                                           {"\"plan_version\":\"", "\"plan_verzion\":\""}, /* no version of the plan */
                                           {"compiler ", "compilex "}};                    /* another compiler's */
    char path[512];
    for (size_t i = 0; i < 4; i++) {
        make_folder();
        assert_false(is_hit("input_slice.train.pt2", new_options()));
        assert_int_equal(find_entry(path, sizeof(path)), 1);
        edit_entry(path, edits[i][0], edits[i][1]);
        assert_false(is_hit("input_slice.train.pt2", new_options()));
        assert_true(is_hit("input_slice.train.pt2", new_options()));
        assert_int_equal(find_entry(path, sizeof(path)), 1);
        remove_folder();
    }
}

/* A reader of engine files finds what the map lacks in the engine; the cache does not take such an entry. */
static void entries_without_a_map_are_replaced(void **state) {
    (void)state;
    char path[512];
    kept_log_t log = {0};
    make_folder();
    assert_false(is_hit("input_slice.train.pt2", new_options()));
    assert_int_equal(find_entry(path, sizeof(path)), 1);
    static const char alias[] = "\\\"mutated.cache@cache@kv_cache_update\\\"]";
    char empty[sizeof(alias)];
    snprintf(empty, sizeof(empty), "%-*s", (int)sizeof(alias) - 1, "\\\"\\\"]");
    edit_entry(path, alias, empty);
    fixture_t f = {0};
    insitu_diag_init(&f.diag);
    insitu_log_set(keep_warning, &log);
    must(&f, insitu_engine_load(path, NULL, &f.engine, &f.diag));
    insitu_log_set(NULL, NULL);
    assert_int_equal(insitu_engine_alias_count(f.engine), 1);
    assert_int_equal(log.count, 1);
    close_fixture(&f);
    assert_false(is_hit("input_slice.train.pt2", new_options()));
    assert_true(is_hit("input_slice.train.pt2", new_options()));
    remove_folder();
}

static void missing_folders_are_made(void **state) {
    (void)state;
    make_folder();
    const size_t outer = strlen(folder);
    snprintf(folder + outer, sizeof(folder) - outer, "/a/b/c//");
    assert_false(is_hit("input_slice.train.pt2", new_options()));
    assert_true(is_hit("input_slice.train.pt2", new_options()));
    remove_folder();
    for (size_t size = outer + 4; size >= outer; size -= 2) { /* ".../a/b", ".../a", "..." */
        folder[size] = '\0';
        assert_int_equal(rmdir(folder), 0);
    }
}

static void folders_that_cannot_be_written_are_a_warning(void **state) {
    (void)state;
    char file[] = "/tmp/insitu_test_XXXXXX";
    kept_log_t log = {0};
    close(mkstemp(file));
    insitu_compile_options options = new_options();
    options.cache_dir = file; /* no folder */
    fixture_t f;
    insitu_log_set(keep_warning, &log);
    open_fixture(&f, "input_slice.train.pt2", &options);
    insitu_log_set(NULL, NULL);
    assert_int_equal(log.count, 1);
    assert_non_null(strstr(log.text, "compile cache: "));
    close_fixture(&f);
    remove(file);
}

static void processes_at_once_see_whole_entries(void **state) {
    (void)state;
    enum { PROCESSES = 4, ROUNDS = 20 };
    pid_t children[PROCESSES];
    make_folder();
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i]) continue;
        alarm(120);
        for (int round = 0; round < ROUNDS; round++) {
            char path[512];
            if (i == 0 && round % 2 && find_entry(path, sizeof(path))) (void)remove(path);
            fixture_t f = {0};
            insitu_compile_options options = new_options();
            options.cache_dir = folder;
            if (compile_fixture(&f, "decoder.train.pt2", &options) != INSITU_OK) _exit(1);
            if (insitu_engine_state_count(f.engine) != 4) _exit(2);
            close_fixture(&f);
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int result;
        assert_int_equal(waitpid(children[i], &result, 0), children[i]);
        assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
    }
    (void)is_hit("decoder.train.pt2", new_options());
    assert_int_equal(find_entry(NULL, 0), 1); /* and no temporary file */
    assert_true(is_hit("decoder.train.pt2", new_options()));
    remove_folder();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_at_once_see_whole_entries), /* first: it forks, and others may start threads */
        ROW("row 65: a hit of the compile cache is a compilation: map, arity and bytes", hits_are_compilations),
        ROW("row 66: an entry of an older format is a miss, replaced once, then a hit", old_entries_are_replaced_once),
        ROW("row 67: an entry whose map is missing can be read, and is not used again",
            entries_without_a_map_are_replaced),
        ROW("row 68: a hit returns what is returned twice twice", arity_counts_positions),
        ROW("row 69: an entry that is cut or damaged anywhere is a miss, and replaced", damaged_entries_are_replaced),
        cmocka_unit_test(padding_is_a_part_of_an_entry),
        cmocka_unit_test(other_things_are_replaced),
        cmocka_unit_test(other_options_and_programs_are_other_entries),
        cmocka_unit_test(every_byte_of_a_program_counts),
        cmocka_unit_test(missing_folders_are_made),
        cmocka_unit_test(folders_that_cannot_be_written_are_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
