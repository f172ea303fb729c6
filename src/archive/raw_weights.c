/* Stored tensors of the raw container: two JSON configs map a name to a record and to a strided view of it.
 *
 *   data/weights/MODEL_weights_config.json      {"config": {FQN: {"path_name": "weight_0", "tensor_meta": ...}}}
 *   data/weights/weight_0                       the bytes of a whole storage
 *
 * and the same under data/constants. A record with use_pickle is a torch.save file of one tensor. */
#include "archive/archive_int.h"

insitu_status raw_folder_open(reader_t *reader, stored_folder_t *folder) {
    const zip_entry_t *record;
    uint32_t count;
    TRY(reader_find(reader, folder->config_path, &record));
    if (!record) return INSITU_OK; /* then nothing may be needed from it */
    TRY(zip_verify(record, reader->diag));
    TRY(json_read(folder->config_path, record->data, record->size, &folder->document, reader->diag));
    TRY(json_member(&folder->document, "config", &folder->config));
    TRY(json_members(&folder->config, &count)); /* it is an object */
    folder->kind = FOLDER_RAW;
    return INSITU_OK;
}

static insitu_status fixed_numbers(reader_t *reader, const json_cursor_t *at, const archive_sym_t *syms, uint32_t count,
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

static insitu_status read_view(reader_t *reader, const json_cursor_t *at, archive_payload_t *payload) {
    archive_tensor_meta_t meta;
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

static insitu_status check_path_name(const json_cursor_t *at, const char *name) {
    if (!name[0] || strchr(name, '/') || strchr(name, '\\') || strstr(name, ".."))
        return json_fail(at, INSITU_FORMAT, "'%s' is not a plain record name", name);
    return INSITU_OK;
}

static insitu_status find_record(reader_t *reader, const stored_folder_t *folder, const json_cursor_t *at,
                                 stored_bytes_t *out) {
    json_cursor_t member;
    const char *path_name, *path;
    TRY(json_member(at, "path_name", &member));
    TRY(json_text(&member, &path_name));
    TRY(check_path_name(&member, path_name));
    TRY(arena_printf(&reader->scratch, &path, "data/%s/%s", folder->name, path_name));
    TRY(reader_find(reader, path, &out->entry));
    if (!out->entry) return json_fail(&member, INSITU_FORMAT, "the file has no record '%s'", path);
    out->record = path + sizeof("data/") - 1;
    return INSITU_OK;
}

static insitu_status read_pickled(reader_t *reader, archive_payload_t *payload, stored_bytes_t *bytes) {
    torch_save_t save;
    TRY(torch_save_read(reader, bytes->record, bytes->entry, &save));
    if (!save.value) FAIL(reader->diag, INSITU_FORMAT, "'%s': its record '%s' is empty", payload->fqn, bytes->record);
    return torch_save_payload(reader, &save, save.value, payload, bytes);
}

insitu_status raw_payload(reader_t *reader, const stored_folder_t *folder, archive_payload_t *payload,
                          stored_bytes_t *out, bool *out_found) {
    json_cursor_t row, member;
    bool is_pickled = false;
    uint32_t count;
    *out_found = json_optional(&folder->config, payload->fqn, &row);
    if (!*out_found) return INSITU_OK;
    TRY(json_members(&row, &count)); /* it is an object */
    if (json_optional(&row, "is_param", &member)) TRY(json_bool(&member, &payload->is_param));
    if (json_optional(&row, "use_pickle", &member)) TRY(json_bool(&member, &is_pickled));
    if (!json_optional(&row, "tensor_meta", &member))
        return json_fail(&row, INSITU_UNSUPPORTED,
                         "'%s' is stored as a Python object that is not a tensor; only tensors are read", payload->fqn);
    if (!is_pickled) TRY(read_view(reader, &member, payload));
    TRY(find_record(reader, folder, &row, out));
    return is_pickled ? read_pickled(reader, payload, out) : INSITU_OK;
}
