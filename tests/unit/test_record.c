/* The record of an engine file: lists of any names survive, and what is not a record of this version, or not the engine's
 * own, is refused with what differs. Rows are numbered in docs/aliased-io.md. */
#include "small_plans.h"

#include "engine/record.h"

#include <insitu/log.h>
#include <stdlib.h>

#include "counting_allocator.h"

/* ---- names ---- */

static uint32_t next_random(uint32_t *random) {
    *random = *random * 1664525 + 1013904223;
    return *random >> 8;
}

/* A name of pieces that include every delimiter, and letters of more than one byte. */
static void random_name(uint32_t *random, char *out, size_t size) {
    static const char *const pieces[] = {"a",        "layers.0.cache", ".", "@", "%", "\\", "\\e", "e", "%%", "@@",
                                         "\xC3\xA9", "\xE2\x82\xAC",   " ", "\""};
    uint32_t count = next_random(random) % 6;
    size_t used = 0;
    out[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *piece = pieces[next_random(random) % COUNT_OF(pieces)];
        if (used + strlen(piece) < size) used += (size_t)snprintf(out + used, size - used, "%s", piece);
    }
}

enum { NAME_SIZE = 64, MOST_NAMES = 1000 };

static void check_round_trip(uint32_t *random, uint32_t count) {
    static char spaces[3 * MOST_NAMES][NAME_SIZE];
    static record_alias_t aliases[MOST_NAMES];
    static const char *names[MOST_NAMES];
    arena_t arena;
    text_t joined;
    for (uint32_t i = 0; i < 3 * count; i++) random_name(random, spaces[i], NAME_SIZE);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = spaces[i];
        aliases[i] = (record_alias_t){spaces[3 * i], spaces[3 * i + 1], spaces[3 * i + 2]};
    }
    arena_init(&arena);
    text_init(&joined);
    record_join_aliases(aliases, count, &joined);
    record_alias_t *read;
    uint32_t read_count;
    assert_int_equal(record_split_aliases(joined.data, &arena, &read, &read_count, NULL), INSITU_OK);
    assert_int_equal(read_count, count);
    assert_int_equal(joined.size == 0, count == 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_string_equal(read[i].output, aliases[i].output);
        assert_string_equal(read[i].input, aliases[i].input);
        assert_string_equal(read[i].kind, aliases[i].kind);
    }
    text_release(&joined);
    text_init(&joined);
    record_join_names(names, count, &joined);
    const char **read_names;
    assert_int_equal(record_split_names(joined.data, &arena, &read_names, &read_count, NULL), INSITU_OK);
    assert_int_equal(read_count, count);
    for (uint32_t i = 0; i < count; i++) assert_string_equal(read_names[i], names[i]);
    text_release(&joined);
    arena_release(&arena);
}

static void maps_survive_a_round_trip(void **state) {
    (void)state;
    uint32_t random = 7;
    for (uint32_t count = 0; count < 40; count++)
        for (uint32_t round = 0; round < 50; round++) check_round_trip(&random, count);
    check_round_trip(&random, MOST_NAMES);
}

static void damaged_lists_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"a",         "a@b",      "a@b@c@d", "@b@c",    "a@@c",    "a@b@",
                                      "a@b@c%",    "%a@b@c",   "a@b@c%%", "a\\@b@c", "a@b@c\\", "a\\x@b@c",
                                      "a\\eb@b@c", "x\\e@b@c", "a@b%c@d", "%"};
    static const char *const bad_names[] = {"%", "a%", "%a", "a%%b", "a@b", "a\\", "\\x", "\\ea", "a\\e"};
    arena_t arena;
    arena_init(&arena);
    uint32_t count;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        record_alias_t *aliases;
        insitu_diag diag = {.struct_size = sizeof(diag)};
        if (record_split_aliases(bad[i], &arena, &aliases, &count, &diag) != INSITU_FORMAT || !diag.message[0])
            fail_msg("'%s' was read", bad[i]);
    }
    for (size_t i = 0; i < COUNT_OF(bad_names); i++) {
        const char **names;
        if (record_split_names(bad_names[i], &arena, &names, &count, NULL) != INSITU_FORMAT)
            fail_msg("'%s' was read", bad_names[i]);
    }
    arena_release(&arena);
}

/* A byte that is another one makes another map of as many aliases, or none: never a smaller one. */
static void no_changed_byte_loses_an_alias(void **state) {
    (void)state;
    static const record_alias_t aliases[] = {
        {"a@b", "x%y", "user"}, {"", "\\", "kv_cache_update"}, {"mutated.keys", "keys", "kv_cache_update"}};
    text_t joined;
    arena_t arena;
    uint32_t refused = 0;
    text_init(&joined);
    arena_init(&arena);
    record_join_aliases(aliases, COUNT_OF(aliases), &joined);
    for (size_t at = 0; at < joined.size; at++)
        for (int byte = 1; byte < 256; byte++) {
            char kept = joined.data[at];
            record_alias_t *read;
            uint32_t count;
            joined.data[at] = (char)byte;
            insitu_status status = record_split_aliases(joined.data, &arena, &read, &count, NULL);
            joined.data[at] = kept;
            refused += status != INSITU_OK;
            if (status != INSITU_OK) assert_int_equal(status, INSITU_FORMAT);
            if (status == INSITU_OK) assert_int_equal(count, COUNT_OF(aliases));
            arena_release(&arena);
        }
    assert_true(refused > joined.size); /* each mark that is added, and each that is gone */
    text_release(&joined);
    arena_release(&arena);
}

/* ---- versions ---- */

static void parses_as(const char *json, insitu_status expected, const char *words) {
    arena_t arena;
    record_t record;
    insitu_diag diag = {.struct_size = sizeof(diag)};
    arena_init(&arena);
    insitu_status status = record_parse(json, &arena, &record, &diag);
    if (status != expected || !strstr(diag.message, words))
        fail_msg("%s: %s '%s' where '%s' was expected", json, insitu_status_name(status), diag.message, words);
    arena_release(&arena);
}

#define FIELDS(version) "[\"" version "\",\"\",\"cpu\",\"p\",\"\",\"\",\"\",\"\",\"any\",\"0\",\"\",\"\""

static void other_versions_and_lengths_are_refused(void **state) {
    (void)state;
    parses_as(FIELDS("10") ",\"\"]", INSITU_OK, "");
    parses_as(FIELDS("9") "]", INSITU_VERSION, "version '9' and 12 fields, and this library reads version '10' of 13");
    parses_as(FIELDS("9") ",\"\"]", INSITU_VERSION, "version '9' and 13 fields");
    parses_as(FIELDS("11") ",\"\"]", INSITU_VERSION, "version '11'");
    parses_as(FIELDS("0") ",\"\"]", INSITU_VERSION, "version '0'");
    parses_as(FIELDS("4294967295") ",\"\"]", INSITU_VERSION, "version '4294967295'");
    parses_as(FIELDS("10") "]", INSITU_VERSION, "version '10' and 12 fields");
    parses_as(FIELDS("10") ",\"\",\"\"]", INSITU_VERSION, "version '10' and 14 fields");
    parses_as("[\"10\"]", INSITU_VERSION, "1 fields");
    parses_as("[]", INSITU_FORMAT, "no list of strings");
    parses_as("{}", INSITU_FORMAT, "no list of strings");
    parses_as("[10]", INSITU_FORMAT, "no list of strings");
    parses_as("", INSITU_FORMAT, "no list of strings");
    parses_as(FIELDS("10") ",7]", INSITU_FORMAT, "ALIASED_IO is no string");
}

/* ---- against the engine ---- */

static void remember(void *user, int level, const char *text) {
    char *kept = user;
    size_t used = strlen(kept);
    if (level == 1) snprintf(kept + used, 512 - used, "%s", text);
}

typedef struct fixture {
    insitu_engine *engine;
    arena_t arena;
    record_t record;
    char warning[512];
    insitu_diag diag;
} fixture_t;

/* The small plan: input "bias" is written and is output.2; its cache's kind is made to differ. */
static void open_fixture(fixture_t *f) {
    *f = (fixture_t){0};
    insitu_diag_init(&f->diag);
    arena_init(&f->arena);
    assert_int_equal(engine_create(make_small_plan(), device_cpu(), NULL, 0, &f->engine, &f->diag), INSITU_OK);
    assert_int_equal(record_make(f->engine, &f->arena, &f->record, &f->diag), INSITU_OK);
    insitu_log_set(remember, f->warning);
}

static void close_fixture(fixture_t *f) {
    insitu_log_set(NULL, NULL);
    insitu_engine_destroy(f->engine);
    arena_release(&f->arena);
    insitu_diag_release(&f->diag);
}

/* The record with one field changed is refused for a reason; or it is taken, with a warning or without (""). */
static void checks_as(record_field_t field, const char *value, insitu_status expected, const char *words) {
    fixture_t f;
    open_fixture(&f);
    f.record.fields[field] = value;
    insitu_status status = record_check(&f.record, f.engine, &f.diag);
    const char *said = status == INSITU_OK ? f.warning : f.diag.message;
    if (status != expected || !strstr(said, words) || (!words[0] && said[0]))
        fail_msg("%s '%s': %s '%s' where '%s' was expected", record_field_name(field), value,
                 insitu_status_name(status), said, words);
    close_fixture(&f);
}

static void the_engine_has_its_own_record(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f);
    static const char *const expected[RECORD_LENGTH] = {"10",
                                                        "",
                                                        "cpu",
                                                        "insitu.plan",
                                                        "x%pos%row%bias",
                                                        "output.0%output.1%output.2%output.3%output.4",
                                                        "",
                                                        "",
                                                        "any",
                                                        "0",
                                                        "",
                                                        "",
                                                        "output.2@bias@user"};
    for (uint32_t i = 0; i < RECORD_LENGTH; i++) assert_string_equal(f.record.fields[i], expected[i]);
    assert_int_equal(record_check(&f.record, f.engine, &f.diag), INSITU_OK);
    assert_string_equal(f.warning, "");
    close_fixture(&f);
}

static void unknown_kinds_are_refused(void **state) {
    (void)state;
    checks_as(RECORD_ALIASED_IO, "output.2@bias@paged", INSITU_FORMAT,
              "output 'output.2' has the unknown alias kind 'paged'");
}

static void unknown_names_are_refused(void **state) {
    (void)state;
    checks_as(RECORD_ALIASED_IO, "output.9@bias@user", INSITU_FORMAT, "output 'output.9' is said to be input 'bias'");
    checks_as(RECORD_ALIASED_IO, "output.2@biaz@user", INSITU_FORMAT, "output 'output.2' is said to be input 'biaz'");
    checks_as(RECORD_INPUT_NAMES, "x%pos%row%biaz", INSITU_FORMAT,
              "INPUT_BINDING_NAMES has 'biaz' where the engine has 'bias'");
    checks_as(RECORD_OUTPUT_NAMES, "output.0", INSITU_FORMAT,
              "OUTPUT_BINDING_NAMES has 1 names where the engine has 5");
}

static void other_pairs_never_share_memory(void **state) {
    (void)state;
    checks_as(RECORD_ALIASED_IO, "output.2@row@user", INSITU_FORMAT, "output 'output.2' can't be input 'row'");
    checks_as(RECORD_ALIASED_IO, "output.0@x@user", INSITU_FORMAT, "and in the engine it is no input");
    checks_as(RECORD_ALIASED_IO, "output.0@x@kv_cache_update", INSITU_OK, "in the engine it is no input");
    checks_as(RECORD_ALIASED_IO, "output.2@bias@kv_cache_update", INSITU_OK, "in the engine it is of kind user");
}

static void other_types_are_refused(void **state) {
    (void)state;
    checks_as(RECORD_ALIASED_IO, "output.2@x@user", INSITU_FORMAT,
              "output 'output.2' can't be input 'x': they are f32[8] and f32[s0,8]");
}

static void doubles_are_refused(void **state) {
    (void)state;
    checks_as(RECORD_ALIASED_IO, "output.2@bias@user%output.2@bias@user", INSITU_FORMAT, "is in two aliases");
    checks_as(RECORD_ALIASED_IO, "output.0@x@kv_cache_update%output.1@x@user", INSITU_FORMAT, "is in two aliases");
}

static void what_the_record_lacks_is_found_in_the_engine(void **state) {
    (void)state;
    checks_as(RECORD_ALIASED_IO, "", INSITU_OK, "lacks output 'output.2', which the engine says is input 'bias'");
}

static void other_places_are_refused(void **state) {
    (void)state;
    checks_as(RECORD_TARGET_PLATFORM, "sparc_beos", INSITU_UNSUPPORTED, "TARGET_PLATFORM 'sparc_beos'");
    checks_as(RECORD_DEVICE_NAME, "cuda:0", INSITU_UNSUPPORTED,
              "DEVICE 'cuda:0', and this library runs engines for 'cpu'");
    checks_as(RECORD_REQUIRES_NATIVE_MULTIDEVICE, "1", INSITU_FORMAT, "REQUIRES_NATIVE_MULTIDEVICE is '1'");
    checks_as(RECORD_REQUIRES_OUTPUT_ALLOCATOR, "1", INSITU_FORMAT,
              "REQUIRES_OUTPUT_ALLOCATOR is '1' where the engine has '0'");
}

static void no_allocation_fails_unseen(void **state) {
    (void)state;
    fixture_t f;
    open_fixture(&f);
    for (uint64_t n = 1;; n++) {
        allocation_count_t allocations = {.fail_at = n};
        count_allocations(&allocations);
        insitu_status status = record_check(&f.record, f.engine, &f.diag);
        memory_set_hooks(NULL);
        if (status == INSITU_OK) break;
        assert_int_equal(status, INSITU_NOMEM);
        assert_true(n < 1000);
    }
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        {"row 54: a map of any names and any length is read as it was written, an empty one is the empty string",
         maps_survive_a_round_trip, NULL, NULL, NULL},
        {"row 55: a list of aliases with a part too few or too many, or a strange escape, is refused",
         damaged_lists_are_refused, NULL, NULL, NULL},
        {"row 56: an unknown kind of alias is refused with the output and the kind", unknown_kinds_are_refused, NULL,
         NULL, NULL},
        {"row 57: an alias of names that the engine does not have is refused with both", unknown_names_are_refused,
         NULL, NULL, NULL},
        {"row 58: an alias that the engine does not have is refused, or put right with a warning if the engine "
         "enforces its kind",
         other_pairs_never_share_memory, NULL, NULL, NULL},
        {"row 59: an alias of an output with another type than its input is refused with both types",
         other_types_are_refused, NULL, NULL, NULL},
        {"row 20: an alias that names an output or an input twice is refused", doubles_are_refused, NULL, NULL, NULL},
        {"row 60: aliases that the record lacks are found in the engine, with a warning",
         what_the_record_lacks_is_found_in_the_engine, NULL, NULL, NULL},
        {"row 61: records of another version or length are refused with both, before anything else is read",
         other_versions_and_lengths_are_refused, NULL, NULL, NULL},
        {"row 62: a record for another platform or device is refused", other_places_are_refused, NULL, NULL, NULL},
        cmocka_unit_test(no_changed_byte_loses_an_alias),
        cmocka_unit_test(the_engine_has_its_own_record),
        cmocka_unit_test(no_allocation_fails_unseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
