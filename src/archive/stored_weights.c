/* Stored tensors that inputs name, whichever way the container keeps them: every view is checked against its record,
 * views of one storage get one id, and what lies unaligned in the file is copied.
 *
 *   a torch.save file    serialized_state_dict.pt, data/weights/M.pt            (torch_save.c)
 *   raw records          data/weights/M_weights_config.json and weight_N       (raw_weights.c)
 *
 * and the same for constants. What no input names is read for archive_print alone. */
#include "archive/archive_int.h"

enum { FOLDER_WEIGHTS, FOLDER_CONSTANTS };

typedef struct weights {
    reader_t *reader;
    stored_folder_t folders[2];
    map_t storage_ids; /* "weights/weight_0:f32" -> index in storages */
    map_t first_views; /* record of a torch.save file -> index in payloads */
    archive_payload_t *payloads;
    archive_storage_t *storages;
    uint32_t payload_count, payload_capacity, storage_count, storage_capacity;
    size_t copied; /* bytes */
} weights_t;

/* ---- folders ---- */

insitu_status reader_find(reader_t *reader, const char *name, const zip_entry_t **out) {
    const char *full;
    TRY(arena_printf(&reader->scratch, &full, "%s%s", reader->root, name));
    *out = zip_find(&reader->zip, full);
    return INSITU_OK;
}

static insitu_status open_folder(reader_t *reader, stored_folder_t *folder) {
    const zip_entry_t *record;
    TRY(reader_find(reader, folder->pickle_path, &record));
    if (record) {
        folder->kind = FOLDER_PICKLED;
        TRY(torch_save_read(reader, folder->pickle_path, record, &folder->save));
        return torch_save_check_dict(reader, &folder->save);
    }
    return folder->config_path ? raw_folder_open(reader, folder) : INSITU_OK;
}

/* ---- one tensor ---- */

/* The highest element that the view touches, counted from the record's start, plus one; 0 for a view of no elements. */
static insitu_status view_extent(const reader_t *reader, const archive_payload_t *payload, int64_t *out_extent) {
    *out_extent = 0;
    bool empty = false, fits = true;
    int64_t extent = 1, count = 1;
    fits &= checked_add(extent, payload->offset, &extent);
    for (uint32_t i = 0; i < payload->rank && fits; i++) {
        int64_t step;
        if (payload->sizes[i] == 0)
            empty = true;
        else
            fits = checked_mul(payload->sizes[i] - 1, payload->strides[i], &step) &&
                   checked_add(extent, step, &extent) && checked_mul(count, payload->sizes[i], &count);
    }
    if (!fits) FAIL(reader->diag, INSITU_FORMAT, "the stored tensor '%s' is larger than any file", payload->fqn);
    *out_extent = empty ? 0 : extent;
    return INSITU_OK;
}

/* The record's bytes at an address that suits the dtype. */
static insitu_status align_bytes(weights_t *weights, const zip_entry_t *record, dtype_t type, const uint8_t **out) {
    reader_t *reader = weights->reader;
    *out = record->data;
    uint32_t alignment = dtype_size(type) < 8 ? dtype_size(type) : 8;
    if ((uintptr_t)record->data % alignment == 0) return INSITU_OK;
    size_t total;
    if (!checked_size_add(weights->copied, record->size, &total) || total > reader->program->map->size)
        FAIL(reader->diag, INSITU_FORMAT, "the file claims more bytes of stored tensors than it has: records overlap");
    weights->copied = total;
    return arena_copy(&reader->program->copies, record->data, record->size, out);
}

/* The id of the record as a storage of the payload's dtype. */
static insitu_status find_storage(weights_t *weights, const stored_bytes_t *bytes, archive_payload_t *payload) {
    reader_t *reader = weights->reader;
    const char *key;
    TRY(arena_printf(&reader->scratch, &key, "%s:%s", bytes->record, dtype_name(payload->dtype)));
    payload->storage = map_find(&weights->storage_ids, key);
    if (payload->storage != NONE) return INSITU_OK;
    TRY(arena_grow(reader->arena, &weights->storages, &weights->storage_capacity, (size_t)weights->storage_count + 1,
                   sizeof(*weights->storages)));
    archive_storage_t *storage = &weights->storages[weights->storage_count];
    TRY(arena_string(reader->arena, bytes->record, strlen(bytes->record), &storage->record));
    TRY(align_bytes(weights, bytes->entry, payload->dtype, &storage->data));
    storage->size = bytes->entry->size;
    storage->position = (size_t)(bytes->entry->data - reader->program->map->data);
    payload->storage = weights->storage_count++;
    return map_set(&weights->storage_ids, &reader->scratch, key, payload->storage);
}

/* torch.save keeps the aliasing of tensors of several dtypes, which storages of one dtype would lose. */
static insitu_status check_one_dtype(weights_t *weights, const stored_bytes_t *bytes,
                                     const archive_payload_t *payload) {
    if (!bytes->keeps_aliases) return INSITU_OK;
    uint32_t first = map_find(&weights->first_views, bytes->record);
    if (first == NONE)
        return map_set(&weights->first_views, &weights->reader->scratch, bytes->record, weights->payload_count);
    const archive_payload_t *other = &weights->payloads[first];
    if (other->dtype != payload->dtype)
        FAIL(weights->reader->diag, INSITU_UNSUPPORTED,
             "'%s' and '%s' are stored as views of one storage with the dtypes %s and %s; a storage has one dtype here",
             other->fqn, payload->fqn, dtype_name(other->dtype), dtype_name(payload->dtype));
    return INSITU_OK;
}

insitu_status check_view(const reader_t *reader, const stored_bytes_t *bytes, const archive_payload_t *payload,
                         int64_t *out_extent) {
    const zip_entry_t *record = bytes->entry;
    TRY(view_extent(reader, payload, out_extent));
    if (!*out_extent) return INSITU_OK;
    if (!record->size)
        FAIL(reader->diag, INSITU_FORMAT,
             "the file has no weights: the record of '%s' is empty (the program was exported with fake tensors)",
             payload->fqn);
    if ((uint64_t)*out_extent > record->size / dtype_size(payload->dtype))
        FAIL(reader->diag, INSITU_FORMAT, "'%s' needs %lld elements of %s, but its record '%s' has %zu bytes",
             payload->fqn, (long long)*out_extent, dtype_name(payload->dtype), bytes->record, record->size);
    return INSITU_OK;
}

static insitu_status place_view(weights_t *weights, const stored_bytes_t *bytes, archive_payload_t *payload) {
    int64_t extent;
    TRY(check_view(weights->reader, bytes, payload, &extent));
    if (!extent) return INSITU_OK;
    TRY(check_one_dtype(weights, bytes, payload));
    return find_storage(weights, bytes, payload);
}

/* ---- all that inputs name ---- */

insitu_status folder_find(reader_t *reader, const stored_folder_t *folder, archive_payload_t *payload,
                          stored_bytes_t *out, bool *out_found) {
    const pickled_t *value;
    *out_found = false;
    switch (folder->kind) {
    case FOLDER_ABSENT: return INSITU_OK;
    case FOLDER_RAW: return raw_payload(reader, folder, payload, out, out_found);
    case FOLDER_PICKLED:
        value = torch_save_find(&folder->save, payload->fqn);
        if (!value) return INSITU_OK;
        *out_found = true;
        return torch_save_payload(reader, &folder->save, value, payload, out);
    }
    return INSITU_INTERNAL;
}

static insitu_status find_payload(weights_t *weights, archive_input_t *input) {
    reader_t *reader = weights->reader;
    bool constant =
        input->kind == ARCHIVE_INPUT_TENSOR_CONSTANT || (input->kind == ARCHIVE_INPUT_BUFFER && !input->is_persistent);
    stored_folder_t *folder = &weights->folders[constant ? FOLDER_CONSTANTS : FOLDER_WEIGHTS];
    input->payload = map_find(&folder->payloads, input->fqn);
    if (input->payload != NONE) return INSITU_OK;
    TRY(arena_grow(reader->arena, &weights->payloads, &weights->payload_capacity, (size_t)weights->payload_count + 1,
                   sizeof(*weights->payloads)));
    archive_payload_t *payload = &weights->payloads[weights->payload_count];
    *payload = (archive_payload_t){.fqn = input->fqn, .is_constant = constant, .storage = NONE};
    stored_bytes_t bytes = {0};
    bool found;
    TRY(folder_find(reader, folder, payload, &bytes, &found));
    if (!found)
        FAIL(reader->diag, INSITU_FORMAT, "the file does not store '%s', which the input '%s' needs, among its %s",
             input->fqn, input->name, folder->name);
    TRY(place_view(weights, &bytes, payload));
    input->payload = weights->payload_count++;
    return map_set(&folder->payloads, &reader->scratch, input->fqn, input->payload);
}

/* The program's metadata of a stored tensor must be the stored one's. */
static insitu_status check_recorded(const reader_t *reader, const archive_input_t *input,
                                    const archive_payload_t *payload) {
    const archive_tensor_meta_t *meta = &reader->program->graph->values[input->value].tensor;
    bool same = meta->dtype == payload->dtype && meta->rank == payload->rank;
    for (uint32_t i = 0; same && i < meta->rank; i++)
        same = !meta->sizes[i].expression && meta->sizes[i].value.i == payload->sizes[i];
    if (!same)
        FAIL(reader->diag, INSITU_FORMAT, "the stored tensor '%s' has another dtype or shape than the input '%s'",
             payload->fqn, input->name);
    return INSITU_OK;
}

static insitu_status read_payloads(weights_t *weights) {
    reader_t *reader = weights->reader;
    archive_program_t *program = reader->program;
    archive_input_t *inputs;
    for (size_t i = 0; i < COUNT_OF(weights->folders); i++) TRY(open_folder(reader, &weights->folders[i]));
    TRY(arena_copy(reader->arena, program->inputs, program->graph->input_count * sizeof(*inputs), &inputs));
    for (uint32_t i = 0; i < program->graph->input_count; i++) {
        if (!inputs[i].fqn) continue;
        TRY(find_payload(weights, &inputs[i]));
        TRY(check_recorded(reader, &inputs[i], &weights->payloads[inputs[i].payload]));
    }
    program->inputs = inputs;
    program->payloads = weights->payloads;
    program->payload_count = weights->payload_count;
    program->storages = weights->storages;
    program->storage_count = weights->storage_count;
    return INSITU_OK;
}

static insitu_status name_records(reader_t *reader, const char *model, stored_folder_t *folder) {
    if (!model) {
        folder->pickle_path =
            strcmp(folder->name, "weights") == 0 ? "serialized_state_dict.pt" : "serialized_constants.pt";
        return INSITU_OK;
    }
    TRY(arena_printf(&reader->scratch, &folder->pickle_path, "data/%s/%s.pt", folder->name, model));
    return arena_printf(&reader->scratch, &folder->config_path, "data/%s/%s_%s_config.json", folder->name, model,
                        folder->name);
}

insitu_status read_stored_weights(reader_t *reader, const char *model, archive_about_t *about) {
    weights_t weights = {.reader = reader, .folders = {{.name = "weights"}, {.name = "constants"}}};
    insitu_status status = INSITU_OK;
    for (size_t i = 0; i < COUNT_OF(weights.folders) && status == INSITU_OK; i++)
        status = name_records(reader, model, &weights.folders[i]);
    if (status == INSITU_OK) status = read_payloads(&weights);
    if (status == INSITU_OK) status = read_unused_weights(reader, weights.folders, COUNT_OF(weights.folders), about);
    for (size_t i = 0; i < COUNT_OF(weights.folders); i++) json_decref(weights.folders[i].document.value);
    return status;
}
