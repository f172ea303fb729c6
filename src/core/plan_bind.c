/* Binding: a plan and numbers for its symbols give the tables that a backend runs from. */
#include "core/backend.h"

#include <inttypes.h>

typedef struct binder {
    const plan *plan;
    const sym_value *values;
    bool *bound;
    arena *arena;
    size_t *storage_bytes;
    insitu_diag *diag;
} binder;

bool extent_bytes(dtype type, uint32_t rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                  size_t *out_bytes) {
    *out_bytes = 0;
    int64_t last = offset, bytes = dtype_size(type);
    bool is_empty = false;
    if (offset < 0) return false;
    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] < 0 || strides[i] < 0) return false;
        is_empty = is_empty || sizes[i] == 0;
    }
    if (is_empty) return true;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t reach;
        if (!checked_mul(sizes[i] - 1, strides[i], &reach) || !checked_add(last, reach, &last)) return false;
        if (!checked_mul(bytes, sizes[i], &bytes)) return false;
    }
    return checked_add(last, 1, &last) && checked_size_mul((size_t)last, dtype_size(type), out_bytes) &&
           *out_bytes <= INT64_MAX;
}

static insitu_status evaluate(const sym_pool *pool, sym expression, const sym_value *values, const bool *bound,
                              sym_value *out_value, insitu_diag *diag) {
    uint32_t missing;
    if (sym_evaluate(pool, expression, values, bound, out_value, &missing)) return INSITU_OK;
    if (missing != NONE)
        FAIL(diag, INSITU_SHAPE, "the value of symbol '%s' is not known before the call", pool->symbols[missing].name);
    text printed;
    text_init(&printed);
    sym_print(pool, expression, &printed);
    insitu_status status = diag_set(diag, INSITU_SHAPE, "the expression %s has no value with these inputs",
                                    printed.data ? printed.data : "?");
    text_release(&printed);
    return status;
}

static insitu_status evaluate_int(const binder *binder, sym expression, int64_t *out_value) {
    sym_value value = {0};
    TRY(evaluate(&binder->plan->symbols, expression, binder->values, binder->bound, &value, binder->diag));
    *out_value = value.i;
    return INSITU_OK;
}

insitu_status attr_bind(const sym_pool *pool, const attr *attr, const sym_value *values, const bool *bound,
                        arena *arena, bound_attr *out_attr, insitu_diag *diag) {
    *out_attr = (bound_attr){.kind = attr->kind};
    switch (attr->kind) {
    case ATTR_KIND_NONE: return INSITU_OK;
    case ATTR_KIND_SYM: return evaluate(pool, attr->value, values, bound, &out_attr->value, diag);
    case ATTR_KIND_DTYPE: out_attr->dtype = attr->dtype; return INSITU_OK;
    case ATTR_KIND_OP: out_attr->op = attr->op; return INSITU_OK;
    case ATTR_KIND_SYMS: break;
    }
    int64_t *items;
    TRY(arena_array(arena, attr->list.count, sizeof(*items), &items));
    for (uint32_t i = 0; i < attr->list.count; i++) {
        sym_value value = {0};
        TRY(evaluate(pool, attr->list.items[i], values, bound, &value, diag));
        items[i] = value.i;
    }
    out_attr->items = items;
    out_attr->count = attr->list.count;
    return INSITU_OK;
}

static insitu_status bind_operand(const binder *binder, const plan_operand *operand, const char *step,
                                  bound_operand *out_operand) {
    const tensor_type *type = &operand->type;
    out_operand->storage = operand->storage;
    out_operand->dtype = type->dtype;
    out_operand->rank = type->shape.rank;
    int64_t offset;
    TRY(evaluate_int(binder, type->offset, &offset));
    bool is_negative = offset < 0;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        TRY(evaluate_int(binder, type->shape.sizes[i], &out_operand->sizes[i]));
        TRY(evaluate_int(binder, type->strides[i], &out_operand->strides[i]));
        is_negative = is_negative || out_operand->sizes[i] < 0 || out_operand->strides[i] < 0;
    }
    if (is_negative) FAIL(binder->diag, INSITU_SHAPE, "a size in '%s' is negative with these inputs", step);
    size_t extent;
    if (!extent_bytes(type->dtype, out_operand->rank, out_operand->sizes, out_operand->strides, offset, &extent) ||
        extent > binder->storage_bytes[operand->storage])
        FAIL(binder->diag, INSITU_FORMAT, "an operand of '%s' reaches beyond its storage %u of %zu bytes", step,
             operand->storage, binder->storage_bytes[operand->storage]);
    if (extent == 0) offset = 0; /* nothing is addressed */
    if (!checked_mul(offset, dtype_size(type->dtype), &out_operand->offset)) return INSITU_NOMEM;
    return INSITU_OK;
}

static insitu_status bind_step(const binder *binder, const plan_step *step, bound_step *out_step) {
    bound_operand *operands, *results;
    bound_attr *attrs;
    uint32_t attr_count = step->kind == STEP_LAYER ? layer_info_of(step->layer)->attr_count : 0;
    TRY(arena_array(binder->arena, step->operand_count, sizeof(*operands), &operands));
    TRY(arena_array(binder->arena, step->result_count, sizeof(*results), &results));
    TRY(arena_array(binder->arena, attr_count, sizeof(*attrs), &attrs));
    for (uint32_t i = 0; i < step->operand_count; i++)
        TRY(bind_operand(binder, &step->operands[i], step->name, &operands[i]));
    for (uint32_t i = 0; i < step->result_count; i++)
        TRY(bind_operand(binder, &step->results[i], step->name, &results[i]));
    for (uint32_t i = 0; i < attr_count; i++)
        TRY(attr_bind(&binder->plan->symbols, &step->attrs[i], binder->values, binder->bound, binder->arena, &attrs[i],
                      binder->diag));
    *out_step = (bound_step){.step = step,
                             .results = results,
                             .operands = operands,
                             .attrs = attrs,
                             .result_count = step->result_count,
                             .operand_count = step->operand_count};
    if (step->kind == STEP_CHECK_INDEX) TRY(evaluate_int(binder, step->extent, &out_step->extent));
    return INSITU_OK;
}

static insitu_status bind_storages(binder *binder) {
    const plan *plan = binder->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        int64_t bytes;
        TRY(evaluate_int(binder, plan->storages[i].bytes, &bytes));
        if (bytes < 0) FAIL(binder->diag, INSITU_SHAPE, "the size of storage %u is negative with these inputs", i);
        binder->storage_bytes[i] = (size_t)bytes;
    }
    return INSITU_OK;
}

static insitu_status place_arena(const plan *plan, const size_t *storage_bytes, arena *arena, size_t *out_offsets,
                                 size_t *out_total) {
    memory_block *blocks;
    size_t *offsets;
    TRY(arena_array(arena, plan->storage_count, sizeof(*blocks), &blocks));
    TRY(arena_array(arena, plan->storage_count, sizeof(*offsets), &offsets));
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage *storage = &plan->storages[i];
        if (storage->kind == STORAGE_ARENA)
            blocks[count++] = (memory_block){storage_bytes[i], storage->first_step, storage->last_step};
    }
    TRY(memory_assign(blocks, count, ARENA_ALIGNMENT, arena, offsets, out_total));
    count = 0;
    for (uint32_t i = 0; i < plan->storage_count; i++)
        if (plan->storages[i].kind == STORAGE_ARENA) out_offsets[i] = offsets[count++];
    return INSITU_OK;
}

insitu_status plan_bind(const plan *plan, const sym_value *values, arena *arena, bound_plan *out_bound,
                        size_t *out_arena_bytes, insitu_diag *diag) {
    *out_bound = (bound_plan){.plan = plan};
    *out_arena_bytes = 0;
    binder binder = {.plan = plan, .values = values, .arena = arena, .diag = diag};
    bound_step *steps;
    size_t *arena_offsets;
    TRY(arena_array(arena, plan->symbols.symbol_count, sizeof(bool), &binder.bound));
    TRY(arena_array(arena, plan->storage_count, sizeof(size_t), &binder.storage_bytes));
    TRY(arena_array(arena, plan->storage_count, sizeof(size_t), &arena_offsets));
    TRY(arena_array(arena, plan->step_count, sizeof(*steps), &steps));
    for (uint32_t i = 0; i < plan->symbols.symbol_count; i++)
        binder.bound[i] = plan->symbol_sources[i].source != SYMBOL_UNUSED;
    TRY(bind_storages(&binder));
    for (uint32_t i = 0; i < plan->step_count; i++) TRY(bind_step(&binder, &plan->steps[i], &steps[i]));
    TRY(place_arena(plan, binder.storage_bytes, arena, arena_offsets, out_arena_bytes));
    *out_bound = (bound_plan){.plan = plan,
                              .steps = steps,
                              .step_count = plan->step_count,
                              .storage_bytes = binder.storage_bytes,
                              .arena_offsets = arena_offsets};
    return INSITU_OK;
}
