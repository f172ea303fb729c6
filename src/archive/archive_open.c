/* Opens a .pt2 file: finds out which container it is, parses the program's JSON, and has its parts read.
 *
 * Containers (by which record exists, never by version numbers):
 *   raw      ROOT/archive_format, ROOT/models/M.json, data/{weights,constants}/M_*_config.json     torch 2.9 and later
 *   pickled  the same with data/{weights,constants}/M.pt, a torch.save file                        torch 2.8
 *   flat     serialized_exported_program.json, serialized_{state_dict,constants}.pt at the top level    torch up to 2.7
 * They differ in where records lie and in how weights are kept (stored_weights.c); all the rest is common. */
#include "archive/archive_int.h"

enum { SCHEMA_MAJOR = 8 };

/* ---- reader helpers ---- */

insitu_status reader_intern(reader_t *reader, const char *text, const char **out) {
    uint32_t found = map_find(&reader->interned, text);
    if (found != NONE) {
        *out = reader->texts[found];
        return INSITU_OK;
    }
    TRY(arena_string(reader->arena, text, strlen(text), out));
    TRY(arena_grow(&reader->scratch, &reader->texts, &reader->text_capacity, (size_t)reader->text_count + 1,
                   sizeof(*reader->texts)));
    reader->texts[reader->text_count] = *out;
    return map_set(&reader->interned, &reader->scratch, *out, reader->text_count++);
}

insitu_status reader_text(reader_t *reader, const json_cursor_t *at, const char **out) {
    const char *text;
    *out = "";
    TRY(json_text(at, &text));
    return reader_intern(reader, text, out);
}

insitu_status reader_texts(reader_t *reader, const json_cursor_t *at, const char *const **out, uint32_t *out_count) {
    const char **texts;
    TRY(json_count(at, out_count));
    TRY(arena_array(reader->arena, *out_count, sizeof(*texts), &texts));
    for (uint32_t i = 0; i < *out_count; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        TRY(reader_text(reader, &item, &texts[i]));
    }
    *out = texts;
    return INSITU_OK;
}

insitu_status reader_enter(reader_t *reader, const json_cursor_t *at) {
    if (reader->depth >= MAX_NESTING) return json_fail(at, INSITU_FORMAT, "nested deeper than %d levels", MAX_NESTING);
    reader->depth++;
    return INSITU_OK;
}

/* ---- container ---- */

static bool entry_is(const zip_entry_t *entry, const char *text) {
    return entry->size == strlen(text) && memcmp(entry->data, text, entry->size) == 0;
}

/* A record that must hold the given text. */
static insitu_status check_record(reader_t *reader, const char *name, const char *text, insitu_status code) {
    const zip_entry_t *entry;
    TRY(reader_find(reader, name, &entry));
    if (!entry) FAIL(reader->diag, INSITU_FORMAT, "the file has no record '%s%s'", reader->root, name);
    TRY(zip_verify(entry, reader->diag));
    if (!entry_is(entry, text))
        FAIL(reader->diag, code, "record '%s' holds '%.*s' where '%s' was expected", entry->name,
             entry->size < 40 ? (int)entry->size : 40, (const char *)entry->data, text);
    return INSITU_OK;
}

static insitu_status find_root(reader_t *reader) {
    const char *first = reader->zip.count ? reader->zip.entries[0].name : "";
    const char *slash = strchr(first, '/');
    if (!slash) FAIL(reader->diag, INSITU_FORMAT, "the zip file is not a .pt2 program: it has no root folder");
    TRY(arena_string(&reader->scratch, first, (size_t)(slash + 1 - first), &reader->root));
    const zip_entry_t *entry;
    TRY(reader_find(reader, "archive_format", &entry));
    if (!entry)
        FAIL(reader->diag, INSITU_FORMAT, "the zip file is not a .pt2 program: it has no record '%sarchive_format'",
             reader->root);
    TRY(check_record(reader, "archive_format", "pt2", INSITU_FORMAT));
    TRY(check_record(reader, "archive_version", "0", INSITU_VERSION));
    TRY(reader_find(reader, "byteorder", &entry));
    return entry ? check_record(reader, "byteorder", "little", INSITU_UNSUPPORTED) : INSITU_OK;
}

/* models/M.json: "model" if there is one of that name, else the only one. */
static insitu_status find_model(reader_t *reader, const char **out_name, const zip_entry_t **out_entry) {
    const char *prefix;
    TRY(arena_printf(&reader->scratch, &prefix, "%smodels/", reader->root));
    size_t prefix_size = strlen(prefix);
    uint32_t count = 0;
    *out_name = NULL;
    *out_entry = NULL;
    for (uint32_t i = 0; i < reader->zip.count; i++) {
        const zip_entry_t *entry = &reader->zip.entries[i];
        size_t size = strlen(entry->name);
        if (strncmp(entry->name, prefix, prefix_size) != 0 || size < prefix_size + 6) continue;
        if (strcmp(entry->name + size - 5, ".json") != 0) continue;
        const char *name;
        TRY(arena_string(&reader->scratch, entry->name + prefix_size, size - prefix_size - 5, &name));
        bool is_default = strcmp(name, "model") == 0;
        if (!*out_name || is_default) {
            *out_name = name;
            *out_entry = entry;
        }
        if (is_default) return INSITU_OK;
        count++;
    }
    if (!count) FAIL(reader->diag, INSITU_FORMAT, "the archive holds no program (no record '%s*.json')", prefix);
    if (count > 1)
        FAIL(reader->diag, INSITU_UNSUPPORTED,
             "the archive holds %u programs, none of them named 'model'; save each in a file of its own", count);
    return INSITU_OK;
}

/* The flat container: everything at the top level, and byte order a matter of the torch.save files. */
static const zip_entry_t *find_flat(const reader_t *reader) {
    return zip_find(&reader->zip, "serialized_exported_program.json");
}

static insitu_status refuse_json_weights(const reader_t *reader) {
    if (zip_find(&reader->zip, "serialized_state_dict.json"))
        FAIL(reader->diag, INSITU_UNSUPPORTED,
             "the weights are in 'serialized_state_dict.json', as the first versions of torch.export.save wrote them; "
             "load the file with torch.export.load and save it again with torch 2.6 or later");
    return INSITU_OK;
}

/* ---- the document ---- */

static insitu_status read_schema_version(reader_t *reader) {
    archive_program_t *program = reader->program;
    json_cursor_t version, member;
    TRY(json_member(&reader->document, "schema_version", &version));
    if (json_is_integer(version.value)) {
        program->schema_major = json_integer_value(version.value); /* of the oldest files */
    } else {
        TRY(json_member(&version, "major", &member));
        TRY(json_int(&member, &program->schema_major));
        TRY(json_member(&version, "minor", &member));
        TRY(json_int(&member, &program->schema_minor));
    }
    program->torch_version = "";
    if (json_optional(&reader->document, "torch_version", &member))
        TRY(reader_text(reader, &member, &program->torch_version));
    if (program->schema_major != SCHEMA_MAJOR)
        FAIL(reader->diag, INSITU_VERSION,
             "the program has schema version %lld.%lld (written by torch %s); version %d is read",
             (long long)program->schema_major, (long long)program->schema_minor,
             program->torch_version[0] ? program->torch_version : "of unknown version", SCHEMA_MAJOR);
    return INSITU_OK;
}

static insitu_status read_verifiers(reader_t *reader) {
    json_cursor_t verifiers;
    const char *const *names;
    uint32_t count;
    TRY(json_member(&reader->document, "verifiers", &verifiers));
    TRY(reader_texts(reader, &verifiers, &names, &count));
    for (uint32_t i = 0; i < count; i++) reader->program->is_training |= strcmp(names[i], "TRAINING") == 0;
    return INSITU_OK;
}

static insitu_status read_ranges(reader_t *reader) {
    archive_program_t *program = reader->program;
    json_cursor_t ranges, row, member;
    TRY(json_member(&reader->document, "range_constraints", &ranges));
    TRY(json_members(&ranges, &program->range_count));
    archive_range_t *items;
    TRY(arena_array(reader->arena, program->range_count, sizeof(*items), &items));
    void *iterator = NULL;
    for (archive_range_t *range = items; json_next(&ranges, &iterator, &row); range++) {
        uint32_t member_count;
        range->min = INT64_MIN;
        range->max = INT64_MAX;
        TRY(reader_intern(reader, row.key, &range->expression));
        TRY(json_members(&row, &member_count));
        if (json_optional(&row, "min_val", &member)) TRY(json_int(&member, &range->min));
        if (json_optional(&row, "max_val", &member)) TRY(json_int(&member, &range->max));
        if (range->min > range->max)
            return json_fail(&row, INSITU_FORMAT, "the range from %lld to %lld is empty", (long long)range->min,
                             (long long)range->max);
    }
    program->ranges = items;
    return INSITU_OK;
}

static insitu_status read_document(reader_t *reader) {
    archive_program_t *program = reader->program;
    json_cursor_t graph_module, member;
    TRY(read_schema_version(reader));
    TRY(read_verifiers(reader));
    TRY(read_ranges(reader));
    if (json_optional(&reader->document, "guards_code", &member))
        TRY(reader_texts(reader, &member, &program->guards, &program->guard_count));
    TRY(json_member(&reader->document, "graph_module", &graph_module));
    TRY(json_member(&graph_module, "graph", &member));
    TRY(read_graph(reader, &member, &program->graph));
    TRY(json_member(&graph_module, "signature", &member));
    TRY(read_signature(reader, &member));
    return read_call_specs(reader, &graph_module);
}

static insitu_status read_parts(reader_t *reader, const char *model) {
    archive_about_t *about;
    TRY(read_document(reader));
    TRY(arena_array(reader->arena, 1, sizeof(*about), &about));
    TRY(read_stored_weights(reader, model, about));
    TRY(read_about(reader, model, about));
    reader->program->about = about;
    return INSITU_OK;
}

static insitu_status read_program(reader_t *reader) {
    const char *model = NULL, *document = "serialized_exported_program.json";
    TRY(zip_read(&reader->scratch, reader->program->map, NULL, &reader->zip, reader->diag));
    const zip_entry_t *entry = find_flat(reader);
    if (entry) {
        TRY(refuse_json_weights(reader));
    } else {
        TRY(find_root(reader));
        TRY(find_model(reader, &model, &entry));
        TRY(arena_printf(&reader->scratch, &document, "models/%s.json", model));
    }
    TRY(zip_verify(entry, reader->diag));
    TRY(json_read(document, entry->data, entry->size, &reader->document, reader->diag));
    return read_parts(reader, model);
}

/* ---- entry points ---- */

static insitu_status program_create(file_map_t *map, archive_program_t **out_program) {
    archive_program_t *program;
    arena_t own;
    arena_init(&own);
    insitu_status status = arena_array(&own, 1, sizeof(*program), &program);
    if (status != INSITU_OK) {
        arena_release(&own);
        return status;
    }
    program->arena = own;
    arena_init(&program->copies);
    program->map = file_map_retain(map);
    *out_program = program;
    return INSITU_OK;
}

insitu_status archive_open(file_map_t *map, archive_program_t **out_program, insitu_diag *diag) {
    *out_program = NULL;
    archive_program_t *program;
    insitu_status status = program_create(map, &program);
    if (status != INSITU_OK) FAIL(diag, status, "out of memory while opening the program");
    reader_t reader = {.program = program, .arena = &program->arena, .root = "", .diag = diag};
    arena_init(&reader.scratch);
    status = read_program(&reader);
    json_decref(reader.document.value);
    arena_release(&reader.scratch);
    if (status != INSITU_OK) {
        archive_destroy(program);
        if (status == INSITU_NOMEM) FAIL(diag, status, "out of memory while opening the program");
        return status;
    }
    *out_program = program;
    return INSITU_OK;
}

void archive_destroy(archive_program_t *program) {
    if (!program) return;
    arena_t own = program->arena; /* which holds the program itself */
    file_map_release(program->map);
    arena_release(&program->copies);
    arena_release(&own);
}
