/* What the file says of itself beside the program: its records, versions, modules, and the stored example inputs. Only
 * archive_print tells of it, so what is absent or of another form is left out. */
#include "archive/archive_int.h"

enum { MAX_VERSION_TEXT = 64 };

static insitu_status read_records(reader_t *reader, archive_about_t *about) {
    archive_record_t *records;
    about->record_count = reader->zip.count;
    about->has_zip64 = reader->zip.has_zip64;
    TRY(arena_array(reader->arena, about->record_count, sizeof(*records), &records));
    for (uint32_t i = 0; i < about->record_count; i++) {
        const zip_entry_t *entry = &reader->zip.entries[i];
        records[i].position = (size_t)(entry->data - reader->program->map->data);
        records[i].size = entry->size;
        records[i].crc = entry->crc;
        TRY(reader_intern(reader, entry->name, &records[i].name));
    }
    about->records = records;
    return reader_intern(reader, reader->root, &about->root);
}

/* Records of a few bytes that hold a version or the like. */
static insitu_status read_versions(reader_t *reader, archive_about_t *about) {
    static const char *const names[] = {"archive_version", ".data/version", "byteorder", "version",
                                        ".data/serialization_id"};
    archive_fact_t *facts;
    TRY(arena_array(reader->arena, COUNT_OF(names), sizeof(*facts), &facts));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const zip_entry_t *entry;
        TRY(reader_find(reader, names[i], &entry));
        if (!entry || entry->size > MAX_VERSION_TEXT) continue;
        archive_fact_t *fact = &facts[about->version_count++];
        size_t size = entry->size;
        while (size && (entry->data[size - 1] == '\n' || entry->data[size - 1] == ' ')) size--;
        fact->name = names[i];
        TRY(arena_string(reader->arena, (const char *)entry->data, size, &fact->text));
    }
    about->versions = facts;
    return INSITU_OK;
}

static insitu_status read_container(reader_t *reader, const char *model, archive_about_t *about) {
    const char *name = "serialized_example_inputs.pt", *pickle;
    const zip_entry_t *entry;
    about->container = "flat";
    if (model) {
        TRY(arena_printf(&reader->scratch, &name, "data/sample_inputs/%s.pt", model));
        TRY(arena_printf(&reader->scratch, &pickle, "data/weights/%s.pt", model));
        TRY(reader_find(reader, pickle, &entry));
        about->container = entry ? "pickled" : "raw";
    }
    TRY(reader_find(reader, name, &entry));
    about->example_inputs = entry ? (uint32_t)(entry - reader->zip.entries) : NONE;
    return INSITU_OK;
}

static insitu_status read_opsets(reader_t *reader, archive_about_t *about) {
    json_cursor_t table, row;
    archive_fact_t *facts;
    if (!json_optional(&reader->document, "opset_version", &table) || !json_is_object(table.value)) return INSITU_OK;
    TRY(json_members(&table, &about->opset_count));
    TRY(arena_array(reader->arena, about->opset_count, sizeof(*facts), &facts));
    void *iterator = NULL;
    for (archive_fact_t *fact = facts; json_next(&table, &iterator, &row); fact++) {
        TRY(reader_intern(reader, row.key, &fact->name));
        TRY(arena_printf(reader->arena, &fact->text, "%lld", (long long)json_integer_value(row.value)));
    }
    about->opsets = facts;
    return INSITU_OK;
}

static insitu_status read_modules(reader_t *reader, const json_cursor_t *graph_module, archive_about_t *about) {
    json_cursor_t entries;
    const char **names;
    bool *signatures;
    uint32_t count;
    TRY(json_member(graph_module, "module_call_graph", &entries));
    TRY(json_count(&entries, &count));
    TRY(arena_array(reader->arena, count, sizeof(*names), &names));
    TRY(arena_array(reader->arena, count, sizeof(*signatures), &signatures));
    for (uint32_t i = 0; i < count; i++) {
        json_cursor_t entry, member;
        const char *fqn;
        json_item(&entries, i, &entry);
        TRY(json_member(&entry, "fqn", &member));
        TRY(reader_text(reader, &member, &fqn));
        if (!fqn[0]) continue;
        names[about->module_count] = fqn;
        signatures[about->module_count++] = json_optional(&entry, "signature", &member);
    }
    about->modules = names;
    about->module_signatures = signatures;
    return INSITU_OK;
}

static insitu_status read_metadata(reader_t *reader, const json_cursor_t *graph_module, archive_about_t *about) {
    json_cursor_t table, row;
    const char **keys;
    if (!json_optional(graph_module, "metadata", &table) || !json_is_object(table.value)) return INSITU_OK;
    TRY(json_members(&table, &about->metadata_count));
    TRY(arena_array(reader->arena, about->metadata_count, sizeof(*keys), &keys));
    void *iterator = NULL;
    for (uint32_t i = 0; json_next(&table, &iterator, &row); i++) TRY(reader_intern(reader, row.key, &keys[i]));
    about->metadata = keys;
    return INSITU_OK;
}

insitu_status read_about(reader_t *reader, const char *model, archive_about_t *about) {
    json_cursor_t member;
    TRY(read_records(reader, about));
    TRY(read_versions(reader, about));
    TRY(read_container(reader, model, about));
    TRY(read_opsets(reader, about));
    TRY(json_member(&reader->document, "verifiers", &member));
    TRY(reader_texts(reader, &member, &about->verifiers, &about->verifier_count));
    TRY(json_member(&reader->document, "graph_module", &member));
    TRY(read_modules(reader, &member, about));
    return read_metadata(reader, &member, about);
}
