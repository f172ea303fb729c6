/* Binding: a plan and numbers for its symbols give the tables that a backend runs from. */
#include "plan/bound_plan.h"

#include <inttypes.h>

typedef struct binder {
    const plan_t *plan;
    const sym_value_t *values;
    const bool *known;
    sym_value_t *guesses; /* values, and an allowed number for each symbol that an item step reads later */
    bool *guessed;        /* of each symbol: it has a source */
    arena_t *arena;
    size_t *storage_bytes, *arena_offsets;
    bound_patch_t *patches;
    uint32_t patch_count, patch_capacity;
    insitu_diag *diag;
} binder_t;

bool extent_bytes(dtype_t type, uint32_t rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
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

static insitu_status evaluate(const sym_pool_t *pool, sym_t expression, const sym_value_t *values, const bool *bound,
                              sym_value_t *out_value, insitu_diag *diag) {
    uint32_t missing;
    if (sym_evaluate(pool, expression, values, bound, out_value, &missing)) return INSITU_OK;
    if (missing != NONE)
        FAIL(diag, INSITU_SHAPE, "the value of symbol '%s' is not known yet", pool->symbols[missing].name);
    text_t printed;
    text_init(&printed);
    sym_print(pool, expression, &printed);
    insitu_status status = diag_set(diag, INSITU_SHAPE, "the expression %s has no value with these inputs",
                                    printed.data ? printed.data : "?");
    text_release(&printed);
    return status;
}

static insitu_status evaluate_int(const binder_t *binder, sym_t expression, int64_t *out_value) {
    sym_value_t value = {0};
    TRY(evaluate(&binder->plan->symbols, expression, binder->values, binder->known, &value, binder->diag));
    *out_value = value.i;
    return INSITU_OK;
}

/* A number that a later item step may decide: then it is given an allowed value, and is left to plan_patch. */
static insitu_status evaluate_if_known(const binder_t *binder, sym_t expression, sym_value_t *out_value,
                                       bool *out_deferred) {
    const sym_pool_t *pool = &binder->plan->symbols;
    uint32_t missing;
    *out_deferred = false;
    if (sym_evaluate(pool, expression, binder->values, binder->known, out_value, &missing)) return INSITU_OK;
    if (missing == NONE || binder->plan->symbol_sources[missing].source != SYMBOL_STEP)
        return evaluate(pool, expression, binder->values, binder->known, out_value, binder->diag);
    *out_deferred = true;
    if (!sym_evaluate(pool, expression, binder->guesses, binder->guessed, out_value, &missing))
        *out_value = (sym_value_t){.kind = sym_kind_of(pool, expression)};
    return INSITU_OK;
}

static insitu_status add_patch(binder_t *binder, bound_patch_t patch) {
    TRY(arena_grow(binder->arena, &binder->patches, &binder->patch_capacity, (size_t)binder->patch_count + 1,
                   sizeof(patch)));
    binder->patches[binder->patch_count++] = patch;
    return INSITU_OK;
}

insitu_status attr_bind(const sym_pool_t *pool, const attr_t *attr, const sym_value_t *values, const bool *bound,
                        arena_t *arena, bound_attr_t *out_attr, insitu_diag *diag) {
    *out_attr = (bound_attr_t){.kind = attr->kind};
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
        sym_value_t value = {0};
        TRY(evaluate(pool, attr->list.items[i], values, bound, &value, diag));
        items[i] = value.i;
    }
    out_attr->items = items;
    out_attr->count = attr->list.count;
    return INSITU_OK;
}

static insitu_status bind_operand(binder_t *binder, const plan_operand_t *operand, const char *step,
                                  bound_operand_t *out_operand) {
    const tensor_type_t *type = &operand->type;
    out_operand->storage = operand->storage;
    out_operand->dtype = type->dtype;
    out_operand->rank = type->shape.rank;
    sym_value_t offset = {0};
    TRY(evaluate_if_known(binder, type->offset, &offset, &out_operand->moves));
    if (out_operand->moves) offset.i = 0;
    bool is_negative = offset.i < 0;
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        TRY(evaluate_int(binder, type->shape.sizes[i], &out_operand->sizes[i]));
        TRY(evaluate_int(binder, type->strides[i], &out_operand->strides[i]));
        is_negative = is_negative || out_operand->sizes[i] < 0 || out_operand->strides[i] < 0;
    }
    if (is_negative) FAIL(binder->diag, INSITU_SHAPE, "a size in '%s' is negative with these inputs", step);
    size_t extent;
    if (!extent_bytes(type->dtype, out_operand->rank, out_operand->sizes, out_operand->strides, offset.i, &extent) ||
        extent > binder->storage_bytes[operand->storage])
        FAIL(binder->diag, INSITU_FORMAT, "an operand of '%s' reaches beyond its storage %u of %zu bytes", step,
             operand->storage, binder->storage_bytes[operand->storage]);
    if (extent == 0) { /* nothing is addressed */
        out_operand->moves = false;
        offset.i = 0;
    }
    if (!checked_mul(offset.i, dtype_size(type->dtype), &out_operand->offset)) return INSITU_NOMEM;
    if (!out_operand->moves) return INSITU_OK;
    return add_patch(binder, (bound_patch_t){type->offset, PATCH_OFFSET, {.operand = out_operand}, step});
}

/* A step's attributes; numbers alone may be late. */
static insitu_status bind_attrs(binder_t *binder, const plan_step_t *step, uint32_t count, bound_attr_t *attrs) {
    for (uint32_t i = 0; i < count; i++) {
        const attr_t *attr = &step->attrs[i];
        if (attr->kind != ATTR_KIND_SYM) {
            TRY(attr_bind(&binder->plan->symbols, attr, binder->values, binder->known, binder->arena, &attrs[i],
                          binder->diag));
            continue;
        }
        bool late;
        attrs[i].kind = ATTR_KIND_SYM;
        TRY(evaluate_if_known(binder, attr->value, &attrs[i].value, &late));
        if (late)
            TRY(add_patch(binder, (bound_patch_t){attr->value, PATCH_ATTR, {.number = &attrs[i].value}, step->name}));
    }
    return INSITU_OK;
}

static insitu_status bind_step(binder_t *binder, const plan_step_t *step, bound_step_t *out_step) {
    bound_operand_t *operands, *results;
    bound_attr_t *attrs;
    uint32_t attr_count = step->kind == STEP_LAYER && !step_is_item(step) ? layer_info_of(step->layer)->attr_count : 0;
    TRY(arena_array(binder->arena, step->operand_count, sizeof(*operands), &operands));
    TRY(arena_array(binder->arena, step->result_count, sizeof(*results), &results));
    TRY(arena_array(binder->arena, attr_count, sizeof(*attrs), &attrs));
    for (uint32_t i = 0; i < step->operand_count; i++)
        TRY(bind_operand(binder, &step->operands[i], step->name, &operands[i]));
    for (uint32_t i = 0; i < step->result_count; i++)
        TRY(bind_operand(binder, &step->results[i], step->name, &results[i]));
    TRY(bind_attrs(binder, step, attr_count, attrs));
    *out_step = (bound_step_t){.step = step,
                               .results = results,
                               .operands = operands,
                               .attrs = attrs,
                               .result_count = step->result_count,
                               .operand_count = step->operand_count};
    if (step->kind != STEP_CHECK_INDEX) return INSITU_OK;
    sym_value_t extent = {0};
    bool late;
    TRY(evaluate_if_known(binder, step->extent, &extent, &late));
    out_step->extent = extent.i;
    if (!late) return INSITU_OK;
    return add_patch(binder, (bound_patch_t){step->extent, PATCH_EXTENT, {.extent = &out_step->extent}, step->name});
}

/* Of ARENA storages those of this segment; others are earlier ones', or are not used yet. The bytes of other storages
 * may become known later than this segment starts: no step of it uses them then. */
static insitu_status bind_storages(binder_t *binder, uint32_t segment, const bound_plan_t *earlier) {
    const plan_t *plan = binder->plan;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage_t *storage = &plan->storages[i];
        bool is_arena = storage->kind == STORAGE_ARENA;
        uint32_t home = is_arena ? plan_segment_of(plan, storage->first_step) : segment;
        if (home < segment) {
            binder->storage_bytes[i] = earlier[home].storage_bytes[i];
            binder->arena_offsets[i] = earlier[home].arena_offsets[i];
        }
        if (home != segment) continue;
        sym_value_t bytes = {0};
        bool late;
        TRY(evaluate_if_known(binder, storage->bytes, &bytes, &late));
        if (late && is_arena) TRY(evaluate_int(binder, storage->bytes, &bytes.i));
        if (late) continue;
        if (bytes.i < 0) FAIL(binder->diag, INSITU_SHAPE, "the size of storage %u is negative with these inputs", i);
        binder->storage_bytes[i] = (size_t)bytes.i;
    }
    return INSITU_OK;
}

/* A number that the symbol may have. */
static sym_value_t guess_of(const symbol_t *symbol) {
    int64_t number = 0;
    if (symbol->kind == SYM_KIND_INT && symbol->min > 0) number = symbol->min;
    if (symbol->kind == SYM_KIND_INT && symbol->max < 0) number = symbol->max;
    return (sym_value_t){.kind = symbol->kind, .i = number};
}

static insitu_status binder_init(binder_t *binder) {
    const sym_pool_t *pool = &binder->plan->symbols;
    TRY(arena_array(binder->arena, pool->symbol_count, sizeof(*binder->guesses), &binder->guesses));
    TRY(arena_array(binder->arena, pool->symbol_count, sizeof(*binder->guessed), &binder->guessed));
    for (uint32_t i = 0; i < pool->symbol_count; i++) {
        binder->guesses[i] = binder->known[i] ? binder->values[i] : guess_of(&pool->symbols[i]);
        binder->guessed[i] = binder->plan->symbol_sources[i].source != SYMBOL_UNUSED;
    }
    return INSITU_OK;
}

insitu_status plan_bind(const plan_t *plan, uint32_t segment, const bound_plan_t *earlier, const sym_value_t *values,
                        const bool *known, arena_t *arena, bound_plan_t *out_bound, insitu_diag *diag) {
    *out_bound = (bound_plan_t){.plan = plan};
    binder_t binder = {.plan = plan, .values = values, .known = known, .arena = arena, .diag = diag};
    const plan_segment_t *part = &plan->segments[segment];
    uint32_t count = part->end_step - part->first_step;
    bound_step_t *steps;
    TRY(binder_init(&binder));
    TRY(arena_array(arena, plan->storage_count, sizeof(size_t), &binder.storage_bytes));
    TRY(arena_array(arena, plan->storage_count, sizeof(size_t), &binder.arena_offsets));
    TRY(arena_array(arena, count, sizeof(*steps), &steps));
    TRY(bind_storages(&binder, segment, earlier));
    for (uint32_t i = 0; i < count; i++) TRY(bind_step(&binder, &plan->steps[part->first_step + i], &steps[i]));
    *out_bound = (bound_plan_t){.plan = plan,
                                .steps = steps,
                                .first_step = part->first_step,
                                .step_count = count,
                                .patches = binder.patches,
                                .patch_count = binder.patch_count,
                                .storage_bytes = binder.storage_bytes,
                                .arena_offsets = binder.arena_offsets};
    return INSITU_OK;
}

insitu_status plan_bind_restores(const plan_t *plan, uint32_t segment, const bound_plan_t *bound_segment,
                                 const sym_value_t *values, const bool *known, arena_t *arena, bound_plan_t *out_bound,
                                 insitu_diag *diag) {
    *out_bound = (bound_plan_t){.plan = plan};
    binder_t binder = {.plan = plan, .values = values, .known = known, .arena = arena, .diag = diag};
    uint32_t first = 0, end;
    while (first < plan->restore_count && plan_segment_of(plan, plan->restores[first].save_step) > segment) first++;
    for (end = first; end < plan->restore_count; end++)
        if (plan_segment_of(plan, plan->restores[end].save_step) != segment) break;
    bound_step_t *steps;
    TRY(binder_init(&binder));
    TRY(arena_copy(arena, bound_segment->storage_bytes, plan->storage_count * sizeof(size_t), &binder.storage_bytes));
    TRY(arena_array(arena, end - first, sizeof(*steps), &steps));
    for (uint32_t i = first; i < end; i++) TRY(bind_step(&binder, &plan->restores[i].step, &steps[i - first]));
    *out_bound = (bound_plan_t){.plan = plan,
                                .steps = steps,
                                .first_step = first,
                                .step_count = end - first,
                                .patches = binder.patches,
                                .patch_count = binder.patch_count,
                                .storage_bytes = bound_segment->storage_bytes,
                                .arena_offsets = bound_segment->arena_offsets};
    return INSITU_OK;
}

/* ---- during the call ---- */

static insitu_status move_operand(const bound_plan_t *bound, const bound_patch_t *patch, int64_t position,
                                  insitu_diag *diag) {
    bound_operand_t *operand = patch->operand;
    size_t extent, available = bound->storage_bytes[operand->storage];
    if (!extent_bytes(operand->dtype, operand->rank, operand->sizes, operand->strides, position, &extent) ||
        extent > available)
        FAIL(diag, INSITU_BOUNDS, "'%s' starts at element %" PRId64 ", which puts it outside its tensor of %zu bytes",
             patch->name, position, available);
    operand->offset = position * (int64_t)dtype_size(operand->dtype);
    return INSITU_OK;
}

insitu_status plan_patch(const bound_plan_t *bound, const sym_value_t *values, const bool *known, insitu_diag *diag) {
    const sym_pool_t *pool = &bound->plan->symbols;
    for (uint32_t i = 0; i < bound->patch_count; i++) {
        const bound_patch_t *patch = &bound->patches[i];
        sym_value_t value = {0};
        uint32_t missing;
        if (!sym_evaluate(pool, patch->expression, values, known, &value, &missing)) {
            if (missing != NONE) continue;
            FAIL(diag, INSITU_SHAPE, "a number of '%s' has no value with what the call has computed", patch->name);
        }
        switch (patch->kind) {
        case PATCH_OFFSET: TRY(move_operand(bound, patch, value.i, diag)); break;
        case PATCH_ATTR: *patch->number = value; break;
        case PATCH_EXTENT: *patch->extent = value.i; break;
        }
    }
    return INSITU_OK;
}
