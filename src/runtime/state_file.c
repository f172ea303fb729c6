/* States as safetensors files: one tensor a state name, dense; a dtype that the format lacks is U8 with one more
 * dimension, the bytes of an element. */
#include "runtime/runtime_int.h"

#include <inttypes.h>

/* How a state tensor is declared in the file. */
static void describe(const plan_state *state, const insitu_tensor *tensor, safetensor_source *out) {
    const char *type = dtype_safetensors(state->type.dtype);
    out->name = state->name;
    out->dtype = type ? type : "U8";
    out->rank = (uint32_t)tensor->ndim;
    out->size = dtype_size(state->type.dtype);
    for (uint32_t i = 0; i < out->rank; i++) {
        out->sizes[i] = tensor->shape[i];
        out->size *= (size_t)tensor->shape[i]; /* the verifier found that it fits */
    }
    if (!type) out->sizes[out->rank++] = dtype_size(state->type.dtype);
}

/* Wider elements first, so that each tensor is aligned to its elements. */
static void list_by_width(const insitu_state *state, uint32_t *out_order) {
    const plan *plan = state->engine->plan;
    uint32_t count = 0;
    for (uint32_t width = 16; width > 0; width /= 2)
        for (uint32_t i = 0; i < plan->state_count; i++)
            if (dtype_size(plan->states[i].type.dtype) == width) out_order[count++] = i;
}

static insitu_status gather_states(const insitu_state *state, arena *arena, safetensor_source *sources) {
    const plan *plan = state->engine->plan;
    uint32_t *order;
    TRY(arena_array(arena, plan->state_count, sizeof(*order), &order));
    list_by_width(state, order);
    for (uint32_t i = 0; i < plan->state_count; i++) {
        const insitu_tensor *tensor = &state->tensors[order[i]];
        int64_t strides[MAX_RANK];
        uint8_t *dense;
        describe(&plan->states[order[i]], tensor, &sources[i]);
        sources[i].data = tensor->data;
        dense_strides((uint32_t)tensor->ndim, tensor->shape, strides);
        if (same_strides((uint32_t)tensor->ndim, tensor->shape, tensor->strides, strides)) continue;
        TRY(arena_array(arena, sources[i].size, 1, &dense));
        tensor_gather(tensor, dense);
        sources[i].data = dense;
    }
    return INSITU_OK;
}

/* The state is locked. */
static insitu_status save(const insitu_state *state, const char *path, arena *arena, text *header, insitu_diag *diag) {
    static const char *const metadata[][2] = {{"format", "insitu.state"}};
    uint32_t count = state->engine->plan->state_count;
    safetensor_source *sources;
    TRY(arena_array(arena, count, sizeof(*sources), &sources));
    TRY(gather_states(state, arena, sources));
    file_part *parts;
    size_t part_count;
    TRY(safetensors_layout(sources, count, metadata, COUNT_OF(metadata), 1, arena, header, &parts, &part_count, diag));
    return file_write_atomic(path, parts, part_count, diag);
}

insitu_status insitu_state_save(const insitu_state *state, const char *path, insitu_diag *diag) {
    if (!state || !path) FAIL(diag, INSITU_ARG, "insitu_state_save needs a state and a path");
    arena arena;
    text header;
    TRY(state_lock(state, diag));
    arena_init(&arena);
    text_init(&header);
    insitu_status status = save(state, path, &arena, &header, diag);
    state_unlock(state);
    text_release(&header);
    arena_release(&arena);
    return diag_complete(diag, status);
}

/* The file's tensor for a state name, checked. */
static insitu_status find_saved(const safetensors *file, const plan_state *state, const insitu_tensor *tensor,
                                const safetensor **out_saved, insitu_diag *diag) {
    uint32_t index = map_find(&file->names, state->name);
    if (index == NONE) FAIL(diag, INSITU_ARG, "the state file has no tensor '%s'", state->name);
    const safetensor *saved = &file->tensors[index];
    safetensor_source expected;
    dtype type;
    describe(state, tensor, &expected);
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
    return INSITU_OK;
}

static insitu_status load(insitu_state *state, const file_map *map, arena *arena, insitu_diag *diag) {
    const plan *plan = state->engine->plan;
    safetensors file;
    const safetensor **saved;
    TRY(safetensors_read(map, "state file", arena, &file, diag));
    TRY(arena_array(arena, plan->state_count, sizeof(*saved), &saved));
    for (uint32_t i = 0; i < file.count; i++)
        if (insitu_engine_find_state(state->engine, file.tensors[i].name) < 0)
            FAIL(diag, INSITU_ARG, "the engine has no state '%s', which the file holds", file.tensors[i].name);
    for (uint32_t i = 0; i < plan->state_count; i++)
        TRY(find_saved(&file, &plan->states[i], &state->tensors[i], &saved[i], diag));
    TRY(state_lock(state, diag));
    for (uint32_t i = 0; i < plan->state_count; i++) tensor_scatter(&state->tensors[i], saved[i]->data);
    state_unlock(state);
    return INSITU_OK;
}

insitu_status insitu_state_load(insitu_state *state, const char *path, insitu_diag *diag) {
    if (!state || !path) FAIL(diag, INSITU_ARG, "insitu_state_load needs a state and a path");
    file_map *map;
    TRY(file_map_open(path, &map, diag));
    arena arena;
    arena_init(&arena);
    insitu_status status = load(state, map, &arena, diag);
    arena_release(&arena);
    file_map_release(map);
    return diag_complete(diag, status);
}
