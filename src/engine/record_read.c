/* The record of an engine file: read, refused, and compared with the engine.
 *
 * The engine is the source of truth for what it enforces: an alias of kind kv_cache_update that it does not have, and one
 * that the record lacks, are corrected with a warning. Whatever else differs means that the file was not written as it
 * is, and is an error: no record ever puts two tensors into one memory. */
#include "engine/record.h"
#include "plan/plan_fields.h"

#include <jansson.h>

/* ---- lists in fields ---- */

typedef struct splitter {
    const char *at;
    arena_t *arena;
    insitu_diag *diag;
} splitter_t;

/* A name up to an end that no backslash precedes. */
static insitu_status take_name(splitter_t *splitter, const char **out_name) {
    char *name;
    size_t size = 0;
    const char *from = splitter->at;
    TRY(arena_array(splitter->arena, strcspn(from, "%") + strlen(from) + 1, 1, &name));
    for (; *splitter->at && *splitter->at != '%' && *splitter->at != '@'; splitter->at++) {
        if (*splitter->at == '\\' && (!splitter->at[1] || !strchr("%@\\e", splitter->at[1])))
            FAIL(splitter->diag, INSITU_FORMAT, "the record has an unknown escape at '%.40s'", splitter->at);
        if (*splitter->at != '\\') {
            name[size++] = *splitter->at;
        } else if (*++splitter->at != 'e') {
            name[size++] = *splitter->at;
        } else if (splitter->at - from != 1 || (splitter->at[1] && splitter->at[1] != '%' && splitter->at[1] != '@')) {
            FAIL(splitter->diag, INSITU_FORMAT, "the record has an empty name within a name at '%.40s'", from);
        }
    }
    if (splitter->at == from) FAIL(splitter->diag, INSITU_FORMAT, "the record lacks a name at '%.40s'", from);
    *out_name = name;
    return INSITU_OK;
}

static insitu_status take_mark(splitter_t *splitter, char mark) {
    if (*splitter->at != mark)
        FAIL(splitter->diag, INSITU_FORMAT, "the record lacks a '%c' at '%.40s'", mark, splitter->at);
    splitter->at++;
    return INSITU_OK;
}

insitu_status record_split_names(const char *joined, arena_t *arena, const char ***out_names, uint32_t *out_count,
                                 insitu_diag *diag) {
    splitter_t splitter = {.at = joined, .arena = arena, .diag = diag};
    uint32_t capacity = 0;
    *out_names = NULL;
    *out_count = 0;
    for (bool more = *joined != 0; more;) {
        TRY(arena_grow(arena, out_names, &capacity, (size_t)*out_count + 1, sizeof(**out_names)));
        TRY(take_name(&splitter, &(*out_names)[(*out_count)++]));
        more = *splitter.at != 0;
        if (more) TRY(take_mark(&splitter, '%'));
    }
    return INSITU_OK;
}

insitu_status record_split_aliases(const char *joined, arena_t *arena, record_alias_t **out_aliases,
                                   uint32_t *out_count, insitu_diag *diag) {
    splitter_t splitter = {.at = joined, .arena = arena, .diag = diag};
    uint32_t capacity = 0;
    *out_aliases = NULL;
    *out_count = 0;
    for (bool more = *joined != 0; more;) {
        TRY(arena_grow(arena, out_aliases, &capacity, (size_t)*out_count + 1, sizeof(**out_aliases)));
        record_alias_t *alias = &(*out_aliases)[(*out_count)++];
        TRY(take_name(&splitter, &alias->output));
        TRY(take_mark(&splitter, '@'));
        TRY(take_name(&splitter, &alias->input));
        TRY(take_mark(&splitter, '@'));
        TRY(take_name(&splitter, &alias->kind));
        more = *splitter.at != 0;
        if (more) TRY(take_mark(&splitter, '%'));
    }
    return INSITU_OK;
}

/* ---- the list of strings ---- */

static insitu_status read_fields(const json_t *list, arena_t *arena, record_t *out_record, insitu_diag *diag) {
    const char *version = json_string_value(json_array_get(list, 0));
    size_t count = json_array_size(list);
    if (!version)
        FAIL(diag, INSITU_FORMAT, "the engine file's record is no list of strings that begins with a version");
    if (strcmp(version, RECORD_ABI) != 0 || count != RECORD_LENGTH)
        FAIL(diag, INSITU_VERSION,
             "the engine file's record has version '%.40s' and %zu fields, and this library reads version '%s' of %d "
             "fields: compile the program again",
             version, count, RECORD_ABI, (int)RECORD_LENGTH);
    for (size_t i = 0; i < count; i++) {
        const json_t *field = json_array_get(list, i);
        if (!json_is_string(field))
            FAIL(diag, INSITU_FORMAT, "the engine file's record: %s is no string",
                 record_field_name((record_field_t)i));
        TRY(arena_string(arena, json_string_value(field), json_string_length(field), &out_record->fields[i]));
    }
    return INSITU_OK;
}

insitu_status record_parse(const char *json, arena_t *arena, record_t *out_record, insitu_diag *diag) {
    json_error_t error;
    json_t *list = json_loads(json, JSON_REJECT_DUPLICATES, &error);
    insitu_status status = read_fields(list, arena, out_record, diag);
    json_decref(list);
    return status;
}

/* ---- against the engine ---- */

typedef struct checker {
    const record_t *record;
    const insitu_engine *engine;
    arena_t arena;
    insitu_diag *diag;
} checker_t;

/* Fields that say nothing here, or one thing. */
static insitu_status check_fixed(const checker_t *checker, const record_t *expected) {
    static const record_field_t fields[] = {RECORD_HW_COMPATIBLE, RECORD_SERIALIZED_METADATA,
                                            RECORD_RESOURCE_ALLOCATION_STRATEGY, RECORD_REQUIRES_NATIVE_MULTIDEVICE,
                                            RECORD_REQUIRES_OUTPUT_ALLOCATOR};
    static const record_field_t places[] = {RECORD_DEVICE_NAME, RECORD_TARGET_PLATFORM};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const char *given = checker->record->fields[places[i]], *known = expected->fields[places[i]];
        if (strcmp(given, known) != 0)
            FAIL(checker->diag, INSITU_UNSUPPORTED,
                 "the engine file is for %s '%.80s', and this library runs engines for '%s'",
                 record_field_name(places[i]), given, known);
    }
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const char *given = checker->record->fields[fields[i]], *known = expected->fields[fields[i]];
        if (strcmp(given, known) != 0)
            FAIL(checker->diag, INSITU_FORMAT, "the engine file's record: %s is '%.80s' where the engine has '%s'",
                 record_field_name(fields[i]), given, known);
    }
    return INSITU_OK;
}

static insitu_status check_names(checker_t *checker, record_field_t field, const record_t *expected) {
    const char **given, **known;
    uint32_t given_count, known_count;
    TRY(record_split_names(checker->record->fields[field], &checker->arena, &given, &given_count, checker->diag));
    TRY(record_split_names(expected->fields[field], &checker->arena, &known, &known_count, checker->diag));
    for (uint32_t i = 0; i < given_count && i < known_count; i++)
        if (strcmp(given[i], known[i]) != 0)
            FAIL(checker->diag, INSITU_FORMAT,
                 "the engine file's record: %s has '%.200s' where the engine has '%.200s'", record_field_name(field),
                 given[i], known[i]);
    if (given_count != known_count)
        FAIL(checker->diag, INSITU_FORMAT, "the engine file's record: %s has %u names where the engine has %u",
             record_field_name(field), given_count, known_count);
    return INSITU_OK;
}

static bool is_kind(const char *kind) {
    for (uint32_t i = 0; update_kind_name(i); i++)
        if (strcmp(update_kind_name(i), kind) == 0) return true;
    return false;
}

/* An output that the record says is an input has the input's type. */
static insitu_status check_types(const checker_t *checker, const record_alias_t *alias, uint32_t input) {
    const plan_t *plan = checker->engine->plan;
    uint32_t index = map_find(&checker->engine->output_names, alias->output);
    if (index == NONE || plan->outputs[index].kind != OUTPUT_TENSOR) return INSITU_OK;
    const tensor_type_t *from = &plan->outputs[index].operand.type, *to = &plan->inputs[input].type;
    if (from->dtype == to->dtype && shape_same(&from->shape, &to->shape)) return INSITU_OK;
    text_t types;
    text_init(&types);
    text_printf(&types, "%s", dtype_name(from->dtype));
    shape_print(&plan->symbols, &from->shape, &types);
    text_printf(&types, " and %s", dtype_name(to->dtype));
    shape_print(&plan->symbols, &to->shape, &types);
    insitu_status status = diag_set(checker->diag, INSITU_FORMAT,
                                    "the engine file's record: output '%.200s' can't be input '%.200s': they are %s",
                                    alias->output, alias->input, types.data ? types.data : "of other types");
    text_release(&types);
    return status;
}

/* The engine's own row for the output, or a reason why the file can't be right. */
static insitu_status check_alias(const checker_t *checker, const record_alias_t *alias, const map_t *bindings) {
    const insitu_engine *engine = checker->engine;
    uint32_t input = map_find(&engine->input_names, alias->input);
    if (!is_kind(alias->kind))
        FAIL(checker->diag, INSITU_FORMAT,
             "the engine file's record: output '%.200s' has the unknown alias kind '%.80s'", alias->output,
             alias->kind);
    if (input == NONE || map_find(bindings, alias->output) == NONE)
        FAIL(checker->diag, INSITU_FORMAT,
             "the engine file's record: output '%.200s' is said to be input '%.200s', and one of them does not exist",
             alias->output, alias->input);
    TRY(check_types(checker, alias, input));
    uint32_t row = map_find(&engine->alias_names, alias->output);
    const plan_input_t *truth = row == NONE ? NULL : &engine->plan->inputs[engine->aliases[row].input];
    if (truth && engine->aliases[row].input == input && strcmp(alias->kind, update_kind_name(truth->update)) == 0)
        return INSITU_OK;
    bool is_pair = truth && engine->aliases[row].input == input;
    if (!is_pair && strcmp(alias->kind, update_kind_name(UPDATE_KV_CACHE)) != 0)
        FAIL(checker->diag, INSITU_FORMAT,
             "the engine file's record: output '%.200s' is said to be input '%.200s', and in the engine it is %s%s",
             alias->output, alias->input, truth ? "input " : "no input", truth ? truth->name : "");
    log_printf(1, "the engine file's record calls output '%s' a %s of input '%s': in the engine it is %s%s",
               alias->output, alias->kind, alias->input,
               is_pair ? "of kind "
               : truth ? "input "
                       : "no input",
               is_pair ? update_kind_name(truth->update)
               : truth ? truth->name
                       : "");
    return INSITU_OK;
}

static insitu_status name_bindings(checker_t *checker, map_t *bindings) {
    const char **names;
    uint32_t count;
    TRY(record_split_names(checker->record->fields[RECORD_OUTPUT_NAMES], &checker->arena, &names, &count,
                           checker->diag));
    for (uint32_t i = 0; i < count; i++) TRY(map_set(bindings, &checker->arena, names[i], i));
    return INSITU_OK;
}

static insitu_status check_aliases(checker_t *checker) {
    map_t bindings = {0}, outputs = {0}, inputs = {0};
    record_alias_t *aliases;
    uint32_t count;
    TRY(name_bindings(checker, &bindings));
    TRY(record_split_aliases(checker->record->fields[RECORD_ALIASED_IO], &checker->arena, &aliases, &count,
                             checker->diag));
    for (uint32_t i = 0; i < count; i++) {
        if (map_find(&outputs, aliases[i].output) != NONE || map_find(&inputs, aliases[i].input) != NONE)
            FAIL(checker->diag, INSITU_FORMAT,
                 "the engine file's record: output '%.200s' or input '%.200s' is in two aliases", aliases[i].output,
                 aliases[i].input);
        TRY(map_set(&outputs, &checker->arena, aliases[i].output, i));
        TRY(map_set(&inputs, &checker->arena, aliases[i].input, i));
        TRY(check_alias(checker, &aliases[i], &bindings));
    }
    for (uint32_t i = 0; i < checker->engine->alias_count; i++)
        if (map_find(&outputs, checker->engine->aliases[i].output) == NONE)
            log_printf(1, "the engine file's record lacks output '%s', which the engine says is input '%s'",
                       checker->engine->aliases[i].output,
                       checker->engine->plan->inputs[checker->engine->aliases[i].input].name);
    return INSITU_OK;
}

static insitu_status check(checker_t *checker) {
    record_t expected;
    TRY(record_make(checker->engine, &checker->arena, &expected, checker->diag));
    TRY(check_fixed(checker, &expected));
    TRY(check_names(checker, RECORD_INPUT_NAMES, &expected));
    TRY(check_names(checker, RECORD_OUTPUT_NAMES, &expected));
    return check_aliases(checker);
}

insitu_status record_check(const record_t *record, const insitu_engine *engine, insitu_diag *diag) {
    checker_t checker = {.record = record, .engine = engine, .diag = diag};
    arena_init(&checker.arena);
    insitu_status status = check(&checker);
    arena_release(&checker.arena);
    return status;
}

insitu_status record_same(const record_t *record, const insitu_engine *engine, insitu_diag *diag) {
    record_t expected;
    arena_t arena;
    arena_init(&arena);
    insitu_status status = record_make(engine, &arena, &expected, diag);
    for (uint32_t i = 0; i < RECORD_LENGTH && status == INSITU_OK; i++)
        if (strcmp(record->fields[i], expected.fields[i]) != 0)
            status = diag_set(diag, INSITU_FORMAT, "the engine file's record: %s is not what it would be today",
                              record_field_name((record_field_t)i));
    arena_release(&arena);
    return status;
}
