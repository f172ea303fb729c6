/* Stored tensors of the raw container: two JSON configs map a name to a record and to a strided view of it.
 *
 *   data/weights/MODEL_weights_config.json      {"config": {FQN: {"path_name": "weight_0", "tensor_meta": ...}}}
 *   data/weights/weight_0                       the bytes of a whole storage
 *
 * and the same under data/constants. Only what an input names is read; every view is checked against its record. */
#include "archive/archive_int.h"

typedef struct folder {
    const char *name; /* "weights" */
    bool is_present;
    json_cursor document, config;
    map payloads; /* FQN -> index in weights.payloads */
} folder;

typedef struct weights {
    reader *reader;
    folder folders[2];
    map storage_ids; /* "weights/weight_0:f32" -> index in storages */
    archive_payload *payloads;
    archive_storage *storages;
    uint32_t payload_count, payload_capacity, storage_count, storage_capacity;
} weights;
enum { FOLDER_WEIGHTS, FOLDER_CONSTANTS };

static insitu_status find_record(reader *reader, const char *path, const zip_entry **out) {
    const char *full;
    TRY(arena_printf(&reader->scratch, &full, "%s%s", reader->root, path));
    *out = zip_find(&reader->zip, full);
    return INSITU_OK;
}

static insitu_status open_folder(reader *reader, const char *model, folder *folder) {
    const zip_entry *record;
    const char *path;
    TRY(arena_printf(&reader->scratch, &path, "data/%s/%s_%s_config.json", folder->name, model, folder->name));
    TRY(find_record(reader, path, &record));
    if (!record) return INSITU_OK; /* then nothing may be needed from it */
    TRY(zip_verify(record, reader->diag));
    TRY(json_read(path, record->data, record->size, &folder->document, reader->diag));
    TRY(json_member(&folder->document, "config", &folder->config));
    folder->is_present = true;
    return INSITU_OK;
}

/* ---- one tensor ---- */

/* The highest element that the view touches, counted from the record's start, plus one; 0 for a view of no elements. */
static insitu_status view_extent(const json_cursor *at, const archive_payload *payload, int64_t *out_extent) {
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
    if (!fits) return json_fail(at, INSITU_FORMAT, "the stored tensor is larger than any file");
    *out_extent = empty ? 0 : extent;
    return INSITU_OK;
}

static insitu_status fixed_numbers(reader *reader, const json_cursor *at, const archive_sym *syms, uint32_t count,
                                   const int64_t **out) {
    *out = NULL;
    int64_t *numbers;
    TRY(arena_array(reader->arena, count, sizeof(*numbers), &numbers));
    for (uint32_t i = 0; i < count; i++) {
        if (syms[i].expression)
            return json_fail(at, INSITU_FORMAT, "the expression '%s' where a stored tensor needs a number",
                             syms[i].expression);
        numbers[i] = syms[i].value.i;
    }
    *out = numbers;
    return INSITU_OK;
}

static insitu_status read_view(reader *reader, const json_cursor *at, archive_payload *payload) {
    archive_tensor_meta meta;
    const int64_t *offset;
    TRY(read_tensor_meta(reader, at, &meta));
    payload->dtype = meta.dtype;
    payload->rank = meta.rank;
    TRY(fixed_numbers(reader, at, meta.sizes, meta.rank, &payload->sizes));
    TRY(fixed_numbers(reader, at, meta.strides, meta.rank, &payload->strides));
    TRY(fixed_numbers(reader, at, &meta.offset, 1, &offset));
    payload->offset = *offset;
    return INSITU_OK;
}

/* The id of the record as a storage of the payload's dtype. */
static insitu_status find_storage(weights *weights, const json_cursor *at, const folder *folder, const char *path_name,
                                  const zip_entry *record, archive_payload *payload) {
    reader *reader = weights->reader;
    const char *key;
    TRY(arena_printf(&reader->scratch, &key, "%s/%s:%s", folder->name, path_name, dtype_name(payload->dtype)));
    payload->storage = map_find(&weights->storage_ids, key);
    if (payload->storage != NONE) return INSITU_OK;
    uint32_t alignment = dtype_size(payload->dtype) < 8 ? dtype_size(payload->dtype) : 8;
    if ((uintptr_t)record->data % alignment != 0)
        return json_fail(
            at, INSITU_UNSUPPORTED,
            "record '%s' does not begin at a multiple of %u bytes, as files written by torch.export.save do",
            record->name, alignment);
    TRY(arena_grow(reader->arena, &weights->storages, &weights->storage_capacity, (size_t)weights->storage_count + 1,
                   sizeof(*weights->storages)));
    archive_storage *storage = &weights->storages[weights->storage_count];
    TRY(arena_printf(reader->arena, &storage->record, "%s/%s", folder->name, path_name));
    storage->data = record->data;
    storage->size = record->size;
    payload->storage = weights->storage_count++;
    return map_set(&weights->storage_ids, &reader->scratch, key, payload->storage);
}

static insitu_status check_path_name(const json_cursor *at, const char *name) {
    if (!name[0] || strchr(name, '/') || strchr(name, '\\') || strstr(name, ".."))
        return json_fail(at, INSITU_FORMAT, "'%s' is not a plain record name", name);
    return INSITU_OK;
}

static insitu_status read_payload(weights *weights, const folder *folder, const json_cursor *at,
                                  archive_payload *payload) {
    reader *reader = weights->reader;
    json_cursor member;
    const char *path_name, *path;
    const zip_entry *record;
    bool pickled = false;
    if (json_optional(at, "use_pickle", &member)) TRY(json_bool(&member, &pickled));
    if (pickled || !json_optional(at, "tensor_meta", &member))
        return json_fail(
            at, INSITU_UNSUPPORTED,
            "'%s' is stored as a Python object (a tensor subclass or a class instance); only plain tensors "
            "are read",
            payload->fqn);
    TRY(read_view(reader, &member, payload));
    if (json_optional(at, "is_param", &member)) TRY(json_bool(&member, &payload->is_param));

    TRY(json_member(at, "path_name", &member));
    TRY(json_text(&member, &path_name));
    TRY(check_path_name(&member, path_name));
    TRY(arena_printf(&reader->scratch, &path, "data/%s/%s", folder->name, path_name));
    TRY(find_record(reader, path, &record));
    if (!record) return json_fail(&member, INSITU_FORMAT, "the file has no record '%s'", path);

    int64_t extent;
    TRY(view_extent(at, payload, &extent));
    if (!extent) return INSITU_OK;
    if (!record->size)
        return json_fail(at, INSITU_FORMAT,
                         "the file has no weights: the record of '%s' is empty (the program was exported with fake "
                         "tensors)",
                         payload->fqn);
    if ((uint64_t)extent > record->size / dtype_size(payload->dtype))
        return json_fail(at, INSITU_FORMAT, "'%s' needs %lld elements of %s, but its record '%s' has %zu bytes",
                         payload->fqn, (long long)extent, dtype_name(payload->dtype), record->name, record->size);
    return find_storage(weights, at, folder, path_name, record, payload);
}

/* ---- all that inputs name ---- */

static insitu_status find_payload(weights *weights, archive_input *input) {
    reader *reader = weights->reader;
    bool constant =
        input->kind == ARCHIVE_INPUT_TENSOR_CONSTANT || (input->kind == ARCHIVE_INPUT_BUFFER && !input->is_persistent);
    folder *folder = &weights->folders[constant ? FOLDER_CONSTANTS : FOLDER_WEIGHTS];
    json_cursor row;
    input->payload = map_find(&folder->payloads, input->fqn);
    if (input->payload != NONE) return INSITU_OK;
    if (!folder->is_present || !json_optional(&folder->config, input->fqn, &row))
        FAIL(reader->diag, INSITU_FORMAT, "the file does not store '%s', which the input '%s' needs, among its %s",
             input->fqn, input->name, folder->name);
    TRY(arena_grow(reader->arena, &weights->payloads, &weights->payload_capacity, (size_t)weights->payload_count + 1,
                   sizeof(*weights->payloads)));
    archive_payload *payload = &weights->payloads[weights->payload_count];
    *payload = (archive_payload){.fqn = input->fqn, .is_constant = constant, .storage = NONE};
    TRY(read_payload(weights, folder, &row, payload));
    input->payload = weights->payload_count++;
    return map_set(&folder->payloads, &reader->scratch, input->fqn, input->payload);
}

/* The program's metadata of a stored tensor must be the stored one's. */
static insitu_status check_recorded(const reader *reader, const archive_input *input, const archive_payload *payload) {
    const archive_tensor_meta *meta = &reader->program->graph->values[input->value].tensor;
    bool same = meta->dtype == payload->dtype && meta->rank == payload->rank;
    for (uint32_t i = 0; same && i < meta->rank; i++)
        same = !meta->sizes[i].expression && meta->sizes[i].value.i == payload->sizes[i];
    if (!same)
        FAIL(reader->diag, INSITU_FORMAT, "the stored tensor '%s' has another dtype or shape than the input '%s'",
             payload->fqn, input->name);
    return INSITU_OK;
}

static insitu_status read_payloads(weights *weights, const char *model) {
    reader *reader = weights->reader;
    archive_program *program = reader->program;
    archive_input *inputs;
    for (size_t i = 0; i < COUNT_OF(weights->folders); i++) TRY(open_folder(reader, model, &weights->folders[i]));
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

insitu_status read_raw_weights(reader *reader, const char *model) {
    weights weights = {.reader = reader, .folders = {{.name = "weights"}, {.name = "constants"}}};
    insitu_status status = read_payloads(&weights, model);
    for (size_t i = 0; i < COUNT_OF(weights.folders); i++) json_decref(weights.folders[i].document.value);
    return status;
}
