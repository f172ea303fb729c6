/* The compile cache: a folder of engine files. An entry's name is the hash of its key, a text that names the program's
 * bytes, the options, the device and the compiler; the entry holds that text, and is used only if it is the same. What
 * can't be read, does not have the hashes that it states, or was written by another version is a miss: the program is
 * compiled, and the entry replaced by a renamed file, so that processes that do so at once see whole files. */
#include "compile/compile_int.h"
#include "engine/engine.h"
#include "fingerprint.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* What decides the engine, one line a fact. */
static insitu_status make_key(const file_map_t *program, const insitu_compile_options *options, text_t *key,
                              insitu_diag *diag) {
    text_printf(key, "compiler %s\nprogram %zu bytes %016" PRIx64 "\n", SOURCE_FINGERPRINT, program->size,
                hash_bytes(program->data, program->size, 0));
    text_printf(key, "device %s\nstrict %d\nno_inplace %d\nkeep_values %d\nstate %d\nbounds %d\n",
                options->device ? options->device : "cpu", options->strict,
                options->no_inplace || switch_on(SWITCH_NO_INPLACE), options->keep_values, (int)options->state,
                (int)options->bounds);
    for (int32_t i = 0; i < options->mutated_input_count; i++) {
        const insitu_mutated_input *row = &options->mutated_inputs[i];
        text_printf(key, "mutated %d ", row->input ? -1 : (int)row->input_index);
        text_quoted(key, row->input ? row->input : "");
        text_printf(key, " %d ", row->output ? -1 : (int)row->output_index);
        text_quoted(key, row->output ? row->output : "");
        text_printf(key, "\n");
    }
    return text_status(key, diag);
}

insitu_status cache_open(cache_entry_t *entry, const file_map_t *program, const insitu_compile_options *options,
                         insitu_diag *diag) {
    *entry = (cache_entry_t){.folder = options->cache_dir};
    text_init(&entry->key);
    text_init(&entry->path);
    insitu_status status = make_key(program, options, &entry->key, diag);
    if (status == INSITU_OK) {
        text_printf(&entry->path, "%s/%016" PRIx64 ".insitu", entry->folder,
                    hash_bytes(entry->key.data, entry->key.size, 0));
        status = text_status(&entry->path, diag);
    }
    if (status != INSITU_OK) cache_close(entry);
    return status;
}

void cache_close(cache_entry_t *entry) {
    text_release(&entry->key);
    text_release(&entry->path);
}

insitu_status cache_look_up(const cache_entry_t *entry, insitu_engine **out_engine) {
    insitu_diag why = {.struct_size = sizeof(why)};
    file_map_t *map;
    *out_engine = NULL;
    insitu_status status = file_map_open(entry->path.data, &map, &why);
    if (status == INSITU_OK) {
        const engine_read_options_t options = {.verify_weights = true, .cache_key = entry->key.data};
        status = engine_read(map, &options, out_engine, &why);
        file_map_release(map);
    }
    if (*out_engine) (*out_engine)->is_cached = true;
    if (status != INSITU_OK && status != INSITU_IO)
        log_printf(2, "compile cache: '%s' is not used: %s", entry->path.data, why.message);
    insitu_diag_release(&why);
    return status == INSITU_NOMEM ? status : INSITU_OK;
}

/* The folder of the entry's path, and those that it lies in; false, and errno: it is not there. */
static bool make_folders(char *path) {
    bool is_there = true;
    for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        is_there = mkdir(path, 0777) == 0 || errno == EEXIST;
        *end = '/';
    }
    return is_there;
}

void cache_store(const cache_entry_t *entry, const insitu_engine *engine) {
    insitu_diag why = {.struct_size = sizeof(why)};
    if (!make_folders(entry->path.data))
        log_printf(1, "compile cache: cannot make the folder '%s': %s", entry->folder, strerror(errno));
    else if (engine_write(engine, entry->path.data, entry->key.data, &why) != INSITU_OK)
        log_printf(1, "compile cache: %s", why.message);
    insitu_diag_release(&why);
}
