/* Engines: life cycle, and the tables that queries answer from. */
#include "engine/engine.h"

#include <inttypes.h>

static bool lies_in_map(const insitu_engine *engine, const weight_record_t *weight) {
    uintptr_t first = (uintptr_t)weight->data;
    for (uint32_t i = 0; i < engine->map_count; i++) {
        uintptr_t start = (uintptr_t)engine->maps[i]->data;
        if (first >= start && first - start <= engine->maps[i]->size &&
            weight->size <= engine->maps[i]->size - (first - start))
            return true;
    }
    return false;
}

/* Weights that the compiler made (folded constants) move into memory of the engine. */
static insitu_status own_weights(insitu_engine *engine, insitu_diag *diag) {
    plan_t *plan = engine->plan;
    size_t total = 0;
    for (uint32_t i = 0; i < plan->weight_count; i++) {
        const weight_record_t *weight = &plan->weights[i];
        if (!weight->data && weight->size) FAIL(diag, INSITU_INTERNAL, "weight '%s' has no bytes", weight->name);
        if (lies_in_map(engine, weight)) continue;
        size_t rounded;
        if (!checked_size_add(weight->size, WEIGHT_ALIGNMENT, &rounded) ||
            !checked_size_add(total, rounded - weight->size % WEIGHT_ALIGNMENT, &total))
            return INSITU_NOMEM;
    }
    engine->copied_weights = memory_alloc_aligned(total + WEIGHT_ALIGNMENT, WEIGHT_ALIGNMENT);
    if (!engine->copied_weights) return INSITU_NOMEM;
    uint8_t *next = engine->copied_weights;
    for (uint32_t i = 0; i < plan->weight_count; i++) {
        weight_record_t *weight = &plan->weights[i];
        if (lies_in_map(engine, weight)) continue;
        if (weight->size) memcpy(next, weight->data, weight->size);
        weight->data = next;
        next += weight->size + WEIGHT_ALIGNMENT - weight->size % WEIGHT_ALIGNMENT;
    }
    return INSITU_OK;
}

static insitu_status fill_sizes(insitu_engine *engine, const tensor_type_t *type, insitu_value_info *info) {
    const sym_pool_t *pool = &engine->plan->symbols;
    uint32_t rank = type->shape.rank;
    int64_t *sizes, *lowest, *highest;
    TRY(arena_array(&engine->arena, rank, sizeof(int64_t), &sizes));
    TRY(arena_array(&engine->arena, rank, sizeof(int64_t), &lowest));
    TRY(arena_array(&engine->arena, rank, sizeof(int64_t), &highest));
    for (uint32_t i = 0; i < rank; i++) {
        if (sym_constant(pool, type->shape.sizes[i], &sizes[i])) {
            lowest[i] = highest[i] = sizes[i];
            continue;
        }
        sizes[i] = -1;
        sym_range(pool, type->shape.sizes[i], &lowest[i], &highest[i]);
        if (lowest[i] < 0) lowest[i] = 0;
        if (highest[i] == INT64_MAX) highest[i] = -1;
    }
    info->dtype = dtype_public(type->dtype);
    info->ndim = (int32_t)rank;
    info->sizes = sizes;
    info->min_sizes = lowest;
    info->max_sizes = highest;
    return INSITU_OK;
}

static insitu_status fill_strides(insitu_engine *engine, const tensor_type_t *type, insitu_value_info *info) {
    int64_t *strides;
    TRY(arena_array(&engine->arena, type->shape.rank, sizeof(int64_t), &strides));
    for (uint32_t i = 0; i < type->shape.rank; i++)
        if (!sym_constant(&engine->plan->symbols, type->strides[i], &strides[i])) strides[i] = -1;
    info->strides = strides;
    return INSITU_OK;
}

static insitu_status fill_inputs(insitu_engine *engine) {
    const plan_t *plan = engine->plan;
    TRY(arena_array(&engine->arena, plan->input_count, sizeof(insitu_value_info), &engine->inputs));
    for (uint32_t i = 0; i < plan->input_count; i++) {
        const plan_input_t *input = &plan->inputs[i];
        insitu_value_info *info = &engine->inputs[i];
        info->name = input->name;
        info->is_written = input->is_written;
        info->is_scalar = input->is_scalar;
        info->is_fixed = input->is_constant;
        if (input->is_scalar) info->dtype = dtype_public(input->type.dtype);
        if (input->is_scalar && input->type.dtype == DTYPE_I64)
            sym_range(&plan->symbols, input->value, &info->min_value, &info->max_value);
        if (!input->is_scalar && !input->is_none) TRY(fill_sizes(engine, &input->type, info));
        if (input->is_written) TRY(fill_strides(engine, &input->type, info));
        TRY(map_set(&engine->input_names, &engine->arena, input->name, i));
    }
    return INSITU_OK;
}

static insitu_dtype number_dtype(sym_kind_t kind) {
    if (kind == SYM_KIND_FLOAT) return INSITU_DTYPE_F64;
    return kind == SYM_KIND_BOOL ? INSITU_DTYPE_BOOL : INSITU_DTYPE_I64;
}

static insitu_status fill_outputs(insitu_engine *engine) {
    const plan_t *plan = engine->plan;
    TRY(arena_array(&engine->arena, plan->output_count, sizeof(insitu_value_info), &engine->outputs));
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const plan_output_t *output = &plan->outputs[i];
        insitu_value_info *info = &engine->outputs[i];
        info->name = output->name;
        info->is_scalar = output->kind == OUTPUT_NUMBER;
        if (output->kind == OUTPUT_NUMBER) info->dtype = number_dtype(sym_kind_of(&plan->symbols, output->value));
        if (output->kind == OUTPUT_TENSOR) {
            TRY(fill_sizes(engine, &output->operand.type, info));
            if (output->alias == ALIAS_INPUT) info->aliased = plan->inputs[output->alias_index].name;
            if (output->alias == ALIAS_STATE) info->aliased = plan->states[output->alias_index].name;
        }
        TRY(map_set(&engine->output_names, &engine->arena, output->name, i));
    }
    return INSITU_OK;
}

static insitu_status fill_states(insitu_engine *engine) {
    const plan_t *plan = engine->plan;
    TRY(arena_array(&engine->arena, plan->state_count, sizeof(insitu_value_info), &engine->states));
    for (uint32_t i = 0; i < plan->state_count; i++) {
        engine->states[i].name = plan->states[i].name;
        TRY(fill_sizes(engine, &plan->states[i].type, &engine->states[i]));
        TRY(map_set(&engine->state_names, &engine->arena, plan->states[i].name, i));
    }
    return INSITU_OK;
}

/* The verifier found the types constant and within their weights. */
static insitu_status fill_buffer(insitu_engine *engine, const plan_buffer_t *from, insitu_tensor *tensor) {
    const sym_pool_t *pool = &engine->plan->symbols;
    const weight_record_t *weight = &engine->plan->weights[from->weight];
    uint32_t rank = from->type.shape.rank;
    int64_t offset = 0;
    TRY(arena_array(&engine->arena, rank, sizeof(int64_t), &tensor->shape));
    TRY(arena_array(&engine->arena, rank, sizeof(int64_t), &tensor->strides));
    for (uint32_t i = 0; i < rank; i++)
        if (!sym_constant(pool, from->type.shape.sizes[i], &tensor->shape[i]) ||
            !sym_constant(pool, from->type.strides[i], &tensor->strides[i]))
            return INSITU_INTERNAL;
    if (!sym_constant(pool, from->type.offset, &offset)) return INSITU_INTERNAL;
    for (uint32_t i = 0; i < rank; i++)
        if (tensor->shape[i] == 0) offset = 0; /* it need not lie in the weight */
    tensor->data = (uint8_t *)(uintptr_t)weight->data + (size_t)offset * dtype_size(from->type.dtype);
    tensor->device = (insitu_device){INSITU_DEVICE_CPU, 0};
    tensor->ndim = (int32_t)rank;
    tensor->dtype = dtype_public(from->type.dtype);
    return INSITU_OK;
}

static insitu_status fill_buffers(insitu_engine *engine) {
    const plan_t *plan = engine->plan;
    TRY(arena_array(&engine->arena, plan->buffer_count, sizeof(insitu_tensor), &engine->buffers));
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        TRY(fill_buffer(engine, &plan->buffers[i], &engine->buffers[i]));
        TRY(map_set(&engine->buffer_names, &engine->arena, plan->buffers[i].name, i));
    }
    return INSITU_OK;
}

static int64_t constant_or_unknown(const sym_pool_t *pool, sym_t value) {
    int64_t constant;
    return sym_constant(pool, value, &constant) ? constant : -1;
}

static insitu_status fill_row(insitu_engine *engine, const report_row_t *row, engine_text_row_t *out_row,
                              text_t *scratch, insitu_diag *diag) {
    const sym_pool_t *pool = &engine->plan->symbols;
    size_t ends[3];
    text_printf(scratch, "%s", dtype_name(row->type.dtype));
    shape_print(pool, &row->type.shape, scratch);
    ends[0] = scratch->size;
    plan_print_verdict(engine->plan, row, scratch);
    ends[1] = scratch->size;
    sym_print(pool, row->written, scratch);
    ends[2] = scratch->size;
    TRY(text_status(scratch, diag));
    TRY(arena_string(&engine->arena, scratch->data, ends[0], &out_row->type));
    TRY(arena_string(&engine->arena, scratch->data + ends[0], ends[1] - ends[0], &out_row->verdict));
    TRY(arena_string(&engine->arena, scratch->data + ends[1], ends[2] - ends[1], &out_row->written));
    out_row->bytes_written = constant_or_unknown(pool, row->written);
    out_row->bytes_moved = constant_or_unknown(pool, row->moved);
    out_row->bytes_copied = constant_or_unknown(pool, row->copied);
    out_row->bytes_saved = constant_or_unknown(pool, row->saved);
    return INSITU_OK;
}

static insitu_status fill_report(insitu_engine *engine, insitu_diag *diag) {
    const plan_t *plan = engine->plan;
    TRY(arena_array(&engine->arena, plan->report_count, sizeof(engine_text_row_t), &engine->report));
    insitu_status status = INSITU_OK;
    for (uint32_t i = 0; i < plan->report_count && status == INSITU_OK; i++) {
        text_t scratch;
        text_init(&scratch);
        status = fill_row(engine, &plan->report[i], &engine->report[i], &scratch, diag);
        text_release(&scratch);
    }
    return status;
}

static insitu_status fill(insitu_engine *engine, file_map_t *const *maps, uint32_t map_count, insitu_diag *diag) {
    TRY(arena_array(&engine->arena, map_count, sizeof(*engine->maps), &engine->maps));
    for (uint32_t i = 0; i < map_count; i++) engine->maps[i] = file_map_retain(maps[i]);
    engine->map_count = map_count;
    TRY(own_weights(engine, diag));
    TRY(engine_find_weights(engine));
    TRY(fill_inputs(engine));
    TRY(fill_outputs(engine));
    TRY(fill_states(engine));
    TRY(fill_buffers(engine));
    TRY(aliases_find(engine));
    return fill_report(engine, diag);
}

insitu_status engine_create(plan_t *plan, const device_t *device, file_map_t *const *maps, uint32_t map_count,
                            insitu_engine **out_engine, insitu_diag *diag) {
    *out_engine = NULL;
    insitu_engine *engine = memory_alloc(sizeof(*engine));
    if (!engine) {
        plan_destroy(plan);
        return INSITU_NOMEM;
    }
    *engine = (insitu_engine){.plan = plan, .device = device};
    arena_init(&engine->arena);
    insitu_status status = fill(engine, maps, map_count, diag);
    if (status != INSITU_OK) {
        insitu_engine_destroy(engine);
        return status;
    }
    *out_engine = engine;
    return INSITU_OK;
}

void insitu_engine_destroy(insitu_engine *engine) {
    if (!engine) return;
    engine_free_weights(engine);
    plan_destroy(engine->plan);
    for (uint32_t i = 0; i < engine->map_count; i++) file_map_release(engine->maps[i]);
    memory_free(engine->copied_weights);
    arena_release(&engine->arena);
    memory_free(engine);
}
