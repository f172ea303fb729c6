/* Stored tensors that no input names, such as the second name of a tied weight: nothing needs them but a listing of the
 * file, so one that can't be read is listed with the reason and is no error. */
#include "archive/archive_int.h"

typedef struct unused_list {
    archive_unused_t *items;
    uint32_t count, capacity;
} unused_list_t;

static insitu_status read_row(reader_t *reader, const stored_folder_t *folder, archive_unused_t *row) {
    stored_folder_t quiet = *folder;
    stored_bytes_t bytes = {0};
    bool found;
    int64_t extent;
    quiet.config.diag = reader->diag;
    TRY(folder_find(reader, &quiet, &row->payload, &bytes, &found));
    if (!found) FAIL(reader->diag, INSITU_INTERNAL, "'%s' is in the table and not found", row->payload.fqn);
    TRY(check_view(reader, &bytes, &row->payload, &extent));
    if (!extent) return INSITU_OK;
    TRY(reader_intern(reader, bytes.record, &row->storage.record));
    row->storage.data = bytes.entry->data;
    row->storage.size = bytes.entry->size;
    row->storage.position = (size_t)(bytes.entry->data - reader->program->map->data);
    return INSITU_OK;
}

/* Reads one with a diagnostic of its own. */
static insitu_status try_row(reader_t *reader, const stored_folder_t *folder, archive_unused_t *row) {
    insitu_diag found, *outer = reader->diag;
    insitu_diag_init(&found);
    reader->diag = &found;
    insitu_status status = read_row(reader, folder, row);
    reader->diag = outer;
    if (status != INSITU_OK && status != INSITU_NOMEM)
        status = arena_string(reader->arena, found.message, strlen(found.message), &row->problem);
    insitu_diag_release(&found);
    return status;
}

static insitu_status add_name(reader_t *reader, const stored_folder_t *folder, const char *name, unused_list_t *list) {
    if (map_find(&folder->payloads, name) != NONE) return INSITU_OK;
    TRY(arena_grow(reader->arena, &list->items, &list->capacity, (size_t)list->count + 1, sizeof(*list->items)));
    archive_unused_t *row = &list->items[list->count++];
    row->payload = (archive_payload_t){.storage = NONE, .is_constant = strcmp(folder->name, "constants") == 0};
    TRY(reader_intern(reader, name, &row->payload.fqn));
    return try_row(reader, folder, row);
}

static insitu_status add_raw(reader_t *reader, const stored_folder_t *folder, unused_list_t *list) {
    json_cursor_t row;
    uint32_t count;
    TRY(json_members(&folder->config, &count));
    void *iterator = NULL;
    while (json_next(&folder->config, &iterator, &row)) TRY(add_name(reader, folder, row.key, list));
    return INSITU_OK;
}

static insitu_status add_pickled(reader_t *reader, const stored_folder_t *folder, unused_list_t *list) {
    const pickled_t *value = folder->save.value;
    for (uint32_t i = 0; value && i < value->count; i += 2) {
        const char *name = value->items[i]->text;
        if (map_find(&folder->save.names, name) == i + 1) TRY(add_name(reader, folder, name, list));
    }
    return INSITU_OK;
}

insitu_status read_unused_weights(reader_t *reader, const stored_folder_t *folders, uint32_t count,
                                  archive_about_t *about) {
    unused_list_t list = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (folders[i].kind == FOLDER_RAW) TRY(add_raw(reader, &folders[i], &list));
        if (folders[i].kind == FOLDER_PICKLED) TRY(add_pickled(reader, &folders[i], &list));
    }
    about->unused = list.items;
    about->unused_count = list.count;
    return INSITU_OK;
}
