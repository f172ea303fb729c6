/* Files that torch.save wrote, as records of a .pt2 file: a zip file in the zip file.
 *
 *   ROOT/data.pkl      the pickle of a dict of tensors, or of one tensor
 *   ROOT/byteorder     "little" (absent: little)
 *   ROOT/data/KEY      the bytes of a whole storage, which tensors name by its key
 *
 * A record of no bytes stands for an empty dict. Tensors of one storage share its record. */
#include "archive/archive_int.h"

static insitu_status find_inner(reader_t *reader, const torch_save_t *save, const char *name, const zip_entry_t **out) {
    const char *full;
    TRY(arena_printf(&reader->scratch, &full, "%s%s", save->root, name));
    *out = zip_find(&save->zip, full);
    return INSITU_OK;
}

static insitu_status find_root(reader_t *reader, torch_save_t *save) {
    const char *first = save->zip.count ? save->zip.entries[0].name : "";
    const char *slash = strchr(first, '/');
    if (!slash)
        FAIL(reader->diag, INSITU_FORMAT, "record '%s' is not a file of torch.save: it has no root folder", save->name);
    return arena_string(&reader->scratch, first, (size_t)(slash + 1 - first), &save->root);
}

static insitu_status check_byteorder(reader_t *reader, const torch_save_t *save) {
    const zip_entry_t *entry;
    TRY(find_inner(reader, save, "byteorder", &entry));
    if (!entry) return INSITU_OK;
    TRY(zip_verify(entry, reader->diag));
    if (entry->size != 6 || memcmp(entry->data, "little", 6) != 0)
        FAIL(reader->diag, INSITU_UNSUPPORTED, "record '%s': its byteorder is '%.*s'; only 'little' is read",
             save->name, entry->size < 40 ? (int)entry->size : 40, (const char *)entry->data);
    return INSITU_OK;
}

static insitu_status read_pickle(reader_t *reader, torch_save_t *save) {
    const zip_entry_t *entry;
    const char *name;
    TRY(find_inner(reader, save, "data.pkl", &entry));
    if (!entry)
        FAIL(reader->diag, INSITU_FORMAT, "record '%s' is not a file of torch.save: it has no record '%sdata.pkl'",
             save->name, save->root);
    TRY(zip_verify(entry, reader->diag));
    TRY(arena_printf(&reader->scratch, &name, "record '%s': %s", save->name, entry->name));
    return unpickle(&reader->scratch, name, entry->data, entry->size, &save->value, reader->diag);
}

static insitu_status index_dict(reader_t *reader, torch_save_t *save) {
    const pickled_t *value = save->value;
    for (uint32_t i = 0; i < value->count; i += 2) {
        const pickled_t *key = value->items[i];
        if (key->kind != PICKLED_TEXT || key->size > MAX_NAME || strlen(key->text) != key->size)
            FAIL(reader->diag, INSITU_FORMAT, "record '%s': key %u of the dict of tensors is not a name", save->name,
                 i / 2);
        TRY(map_set(&save->names, &reader->scratch, key->text, i + 1));
    }
    return INSITU_OK;
}

insitu_status torch_save_read(reader_t *reader, const char *path, const zip_entry_t *record, torch_save_t *out) {
    memset(out, 0, sizeof(*out));
    out->name = path;
    if (!record->size) return INSITU_OK;
    const file_map_t bytes = {.data = record->data, .size = record->size};
    TRY(zip_read(&reader->scratch, &bytes, path, &out->zip, reader->diag));
    TRY(find_root(reader, out));
    TRY(check_byteorder(reader, out));
    TRY(read_pickle(reader, out));
    return out->value->kind == PICKLED_DICT ? index_dict(reader, out) : INSITU_OK;
}

insitu_status torch_save_check_dict(const reader_t *reader, const torch_save_t *save) {
    if (!save->value || save->value->kind == PICKLED_DICT) return INSITU_OK;
    FAIL(reader->diag, INSITU_FORMAT, "record '%s' holds %s where a dict of tensors was expected", save->name,
         pickled_kind_name(save->value->kind));
}

const pickled_t *torch_save_find(const torch_save_t *save, const char *name) {
    uint32_t found = map_find(&save->names, name);
    return found == NONE ? NULL : save->value->items[found];
}

/* ---- tensors ---- */

static insitu_status copy_dims(reader_t *reader, const pickled_t *dims, const int64_t **out) {
    int64_t *numbers;
    TRY(arena_array(reader->arena, dims->count, sizeof(*numbers), &numbers));
    for (uint32_t i = 0; i < dims->count; i++) numbers[i] = dims->items[i]->number;
    *out = numbers;
    return INSITU_OK;
}

static insitu_status find_storage(reader_t *reader, const torch_save_t *save, const pickled_storage_t *storage,
                                  stored_bytes_t *out) {
    const zip_entry_t *entry;
    const char *name;
    TRY(arena_printf(&reader->scratch, &name, "data/%s", storage->key));
    TRY(find_inner(reader, save, name, &entry));
    if (!entry) FAIL(reader->diag, INSITU_FORMAT, "record '%s' has no record '%s%s'", save->name, save->root, name);
    if ((uint64_t)storage->count != entry->size / dtype_size(storage->dtype))
        FAIL(reader->diag, INSITU_FORMAT,
             "record '%s': the storage '%s' has %zu bytes where %lld elements of %s were expected", save->name,
             entry->name, entry->size, (long long)storage->count, dtype_name(storage->dtype));
    TRY(arena_printf(&reader->scratch, &out->record, "%s/%s", save->name, name));
    out->entry = entry;
    return INSITU_OK;
}

insitu_status torch_save_payload(reader_t *reader, const torch_save_t *save, const pickled_t *value,
                                 archive_payload_t *payload, stored_bytes_t *out) {
    *out = (stored_bytes_t){.keeps_aliases = true};
    if (value->kind != PICKLED_TENSOR)
        FAIL(reader->diag, INSITU_UNSUPPORTED, "'%s' is stored as %s; only tensors are read", payload->fqn,
             pickled_kind_name(value->kind));
    const pickled_tensor_t *tensor = value->tensor;
    if (tensor->has_lazy_bits)
        FAIL(reader->diag, INSITU_UNSUPPORTED,
             "'%s' is stored as a tensor whose elements are conjugated or negated when read; only plain tensors are "
             "read",
             payload->fqn);
    payload->is_param |= tensor->is_param;
    payload->dtype = tensor->dtype;
    payload->offset = tensor->offset;
    payload->rank = tensor->sizes->count;
    TRY(copy_dims(reader, tensor->sizes, &payload->sizes));
    TRY(copy_dims(reader, tensor->strides, &payload->strides));
    return find_storage(reader, save, tensor->storage, out);
}
