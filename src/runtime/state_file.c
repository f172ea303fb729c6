/* States as safetensors files: one tensor a state name, dense; a dtype that the format lacks is U8 with one more
 * dimension, the bytes of an element. A file may hold buffers that the program does not write too: they are compared.
 * Metadata tell the version and the program; a file without them, such as another tool makes, is judged by its tensors
 * alone. */
#include "runtime/runtime_int.h"

#include <inttypes.h>
#include <stdlib.h>

enum { STATE_VERSION = 1, IDENTITY_DIGITS = 16 };
#define STATE_FORMAT "insitu.state"
#define KEY_FORMAT "format"
#define KEY_VERSION "state_version"
#define KEY_PROGRAM "program" /* the plan's identity in hexadecimal; zeros if it is not known */

/* How a tensor is declared in the file. */
static void describe(const char *name, dtype_t element, const insitu_tensor *tensor, safetensor_source_t *out) {
    const char *type = dtype_safetensors(element);
    out->name = name;
    out->dtype = type ? type : "U8";
    out->rank = (uint32_t)tensor->ndim;
    out->size = dtype_size(element);
    for (uint32_t i = 0; i < out->rank; i++) {
        out->sizes[i] = tensor->shape[i];
        out->size *= (size_t)tensor->shape[i]; /* the verifier found that it fits */
    }
    if (!type) out->sizes[out->rank++] = dtype_size(element);
}

/* A tensor's bytes in row-major order, in host memory: its own where they are so, else gathered. */
static insitu_status dense_bytes(const device_t *device, const insitu_tensor *tensor, size_t size, arena_t *arena,
                                 const void **out_bytes, insitu_diag *diag) {
    int64_t strides[MAX_RANK];
    uint8_t *dense;
    *out_bytes = tensor->data;
    dense_strides((uint32_t)tensor->ndim, tensor->shape, strides);
    if (tensor->device.device_type == INSITU_DEVICE_CPU &&
        same_strides((uint32_t)tensor->ndim, tensor->shape, tensor->strides, strides))
        return INSITU_OK;
    TRY(arena_array(arena, size, 1, &dense));
    *out_bytes = dense;
    return tensor_gather(device, tensor, dense, diag);
}

/* A file's bools are 0 and 1; memory may hold any other byte for true, as it came from the caller. */
static insitu_status settle_bools(arena_t *arena, size_t size, const void **bytes) {
    const uint8_t *given = *bytes;
    uint8_t *settled;
    size_t good = 0;
    while (good < size && given[good] <= 1) good++;
    if (good == size) return INSITU_OK;
    TRY(arena_array(arena, size, 1, &settled));
    for (size_t i = 0; i < size; i++) settled[i] = given[i] != 0;
    *bytes = settled;
    return INSITU_OK;
}

static insitu_status add_source(const insitu_state *state, const char *name, dtype_t type, const insitu_tensor *tensor,
                                arena_t *arena, safetensor_source_t *out_source, insitu_diag *diag) {
    describe(name, type, tensor, out_source);
    TRY(dense_bytes(state->device, tensor, out_source->size, arena, &out_source->data, diag));
    return type == DTYPE_BOOL ? settle_bools(arena, out_source->size, &out_source->data) : INSITU_OK;
}

/* Wider elements first, so that each tensor is aligned to its elements; of those the states before the buffers. */
static insitu_status gather(const insitu_state *state, uint32_t buffer_count, arena_t *arena,
                            safetensor_source_t *sources, insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    uint32_t count = 0;
    for (uint32_t width = 16; width > 0; width /= 2) {
        for (uint32_t i = 0; i < plan->state_count; i++) {
            const plan_state_t *saved = &plan->states[i];
            if (dtype_size(saved->type.dtype) == width)
                TRY(add_source(state, saved->name, saved->type.dtype, &state->tensors[i], arena, &sources[count++],
                               diag));
        }
        for (uint32_t i = 0; i < buffer_count; i++) {
            const plan_buffer_t *saved = &plan->buffers[i];
            if (dtype_size(saved->type.dtype) == width)
                TRY(add_source(state, saved->name, saved->type.dtype, &state->engine->buffers[i], arena,
                               &sources[count++], diag));
        }
    }
    return INSITU_OK;
}

/* The state is locked. */
static insitu_status write(const insitu_state *state, uint32_t buffer_count, const char *path, arena_t *arena,
                           text_t *header, insitu_diag *diag) {
    char version[16], program[IDENTITY_DIGITS + 1];
    snprintf(version, sizeof(version), "%d", STATE_VERSION);
    snprintf(program, sizeof(program), "%016" PRIx64, state->engine->plan->fingerprint);
    const char *const metadata[][2] = {{KEY_FORMAT, STATE_FORMAT}, {KEY_VERSION, version}, {KEY_PROGRAM, program}};
    uint32_t count = state->engine->plan->state_count + buffer_count;
    safetensor_source_t *sources;
    TRY(arena_array(arena, count, sizeof(*sources), &sources));
    TRY(gather(state, buffer_count, arena, sources, diag));
    file_part_t *parts;
    size_t part_count;
    TRY(safetensors_layout(sources, count, metadata, COUNT_OF(metadata), 1, arena, header, &parts, &part_count, diag));
    return file_write(path, parts, part_count, diag);
}

static insitu_status save(const insitu_state *state, uint32_t buffer_count, const char *path, insitu_diag *diag) {
    arena_t arena;
    text_t header;
    TRY(state_lock_settled(state, diag));
    arena_init(&arena);
    text_init(&header);
    insitu_status status = write(state, buffer_count, path, &arena, &header, diag);
    state_unlock(state);
    text_release(&header);
    arena_release(&arena);
    return diag_complete(diag, status);
}

insitu_status insitu_state_save(const insitu_state *state, const char *path, insitu_diag *diag) {
    if (!state || !path) FAIL(diag, INSITU_ARG, "insitu_state_save needs a state and a path");
    return save(state, 0, path, diag);
}

insitu_status insitu_state_save_all(const insitu_state *state, const char *path, insitu_diag *diag) {
    if (!state || !path) FAIL(diag, INSITU_ARG, "insitu_state_save_all needs a state and a path");
    return save(state, state->engine->plan->buffer_count, path, diag);
}

/* ---- reading ---- */

static insitu_status check_version(const safetensors_t *file, insitu_diag *diag) {
    const char *version = safetensors_metadata(file, KEY_VERSION);
    char *end = NULL;
    long number = version ? strtol(version, &end, 10) : 0;
    if (!version || end == version || *end || number < 1)
        FAIL(diag, INSITU_FORMAT, "the state file does not state its %s", KEY_VERSION);
    if (number != STATE_VERSION)
        FAIL(diag, INSITU_VERSION, "the state file has version %ld, and this library reads version %d", number,
             STATE_VERSION);
    return INSITU_OK;
}

static insitu_status check_program(const safetensors_t *file, uint64_t expected, insitu_diag *diag) {
    const char *digits = safetensors_metadata(file, KEY_PROGRAM);
    if (!digits || strspn(digits, "0123456789abcdef") != IDENTITY_DIGITS || digits[IDENTITY_DIGITS])
        FAIL(diag, INSITU_FORMAT, "the state file does not state its %s", KEY_PROGRAM);
    uint64_t program = strtoull(digits, NULL, 16);
    if (program && expected && program != expected)
        FAIL(diag, INSITU_ARG,
             "the state file belongs to another engine: it was saved by program %s, and this engine is of %016" PRIx64,
             digits, expected);
    return INSITU_OK;
}

static insitu_status check_metadata(const safetensors_t *file, uint64_t program, insitu_diag *diag) {
    const char *format = safetensors_metadata(file, KEY_FORMAT);
    if (!format || strcmp(format, STATE_FORMAT) != 0) return INSITU_OK;
    TRY(check_version(file, diag));
    return check_program(file, program, diag);
}

/* A bool of any other byte than 0 and 1 is no value of its type. */
static insitu_status check_bools(const safetensor_t *saved, insitu_diag *diag) {
    for (size_t i = 0; saved->dtype == DTYPE_BOOL && i < saved->size; i++)
        if (saved->data[i] > 1)
            FAIL(diag, INSITU_FORMAT, "state '%s' of the file holds a BOOL that is neither 0 nor 1", saved->name);
    return INSITU_OK;
}

/* The file's tensor for a state name, checked. */
static insitu_status find_saved(const safetensors_t *file, const plan_state_t *state, const insitu_tensor *tensor,
                                const safetensor_t **out_saved, insitu_diag *diag) {
    uint32_t index = map_find(&file->names, state->name);
    if (index == NONE) FAIL(diag, INSITU_ARG, "the state file has no tensor '%s'", state->name);
    const safetensor_t *saved = &file->tensors[index];
    safetensor_source_t expected;
    dtype_t type;
    describe(state->name, state->type.dtype, tensor, &expected);
    if (!saved->has_dtype || !dtype_from_safetensors(expected.dtype, &type) || saved->dtype != type)
        FAIL(diag, INSITU_ARG, "state '%s' of the file has another dtype than the engine's %s", state->name,
             dtype_name(state->type.dtype));
    if (saved->rank != expected.rank)
        FAIL(diag, INSITU_SHAPE, "state '%s' of the file has %u dimensions where %u were expected", state->name,
             saved->rank, expected.rank);
    for (uint32_t i = 0; i < expected.rank; i++)
        if (saved->sizes[i] != expected.sizes[i])
            FAIL(diag, INSITU_SHAPE,
                 "state '%s' of the file has size %" PRId64 " in dimension %u where %" PRId64 " was expected",
                 state->name, saved->sizes[i], i, expected.sizes[i]);
    *out_saved = saved;
    return check_bools(saved, diag);
}

/* A tensor of the file that is no state must be a buffer as the engine has it. */
static insitu_status check_buffer(const insitu_engine *engine, const safetensor_t *saved, arena_t *arena,
                                  insitu_diag *diag) {
    uint32_t index = map_find(&engine->buffer_names, saved->name);
    if (index == NONE) FAIL(diag, INSITU_ARG, "the engine has no state '%s', which the file holds", saved->name);
    const insitu_tensor *tensor = &engine->buffers[index];
    safetensor_source_t expected;
    dtype_t type;
    const void *bytes;
    describe(saved->name, engine->plan->buffers[index].type.dtype, tensor, &expected);
    if (!saved->has_dtype || !dtype_from_safetensors(expected.dtype, &type) || saved->dtype != type)
        FAIL(diag, INSITU_ARG, "buffer '%s' of the file has another dtype than the engine's %s", saved->name,
             dtype_name(engine->plan->buffers[index].type.dtype));
    if (saved->rank != expected.rank || memcmp(saved->sizes, expected.sizes, expected.rank * sizeof(int64_t)) != 0)
        FAIL(diag, INSITU_ARG, "buffer '%s' of the file has another shape than the engine's", saved->name);
    if (expected.size == 0) return INSITU_OK;
    TRY(dense_bytes(engine->device, tensor, expected.size, arena, &bytes, diag));
    if (memcmp(saved->data, bytes, expected.size) != 0)
        FAIL(diag, INSITU_ARG,
             "buffer '%s' of the file has other values than the engine's: the program does not write it", saved->name);
    return INSITU_OK;
}

static insitu_status load(insitu_state *state, const file_map_t *map, arena_t *arena, insitu_diag *diag) {
    const plan_t *plan = state->engine->plan;
    safetensors_t file;
    const safetensor_t **saved;
    TRY(safetensors_read(map, "state file", arena, &file, diag));
    TRY(check_metadata(&file, plan->fingerprint, diag));
    TRY(arena_array(arena, plan->state_count, sizeof(*saved), &saved));
    for (uint32_t i = 0; i < file.count; i++)
        if (insitu_engine_find_state(state->engine, file.tensors[i].name) < 0)
            TRY(check_buffer(state->engine, &file.tensors[i], arena, diag));
    for (uint32_t i = 0; i < plan->state_count; i++)
        TRY(find_saved(&file, &plan->states[i], &state->tensors[i], &saved[i], diag));
    TRY(state_lock_settled(state, diag));
    insitu_status status = state_save_storages(state, NULL, diag);
    for (uint32_t i = 0; i < plan->state_count && status == INSITU_OK; i++)
        status = tensor_scatter(state->device, &state->tensors[i], saved[i]->data, diag);
    state_unlock(state);
    return status;
}

insitu_status insitu_state_load(insitu_state *state, const char *path, insitu_diag *diag) {
    if (!state || !path) FAIL(diag, INSITU_ARG, "insitu_state_load needs a state and a path");
    file_map_t *map;
    TRY(file_map_open(path, &map, diag));
    arena_t arena;
    arena_init(&arena);
    insitu_status status = load(state, map, &arena, diag);
    arena_release(&arena);
    file_map_release(map);
    return diag_complete(diag, status);
}
