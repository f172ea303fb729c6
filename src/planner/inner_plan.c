/* The plan of a region, put into the plan around it.
 *
 * The region becomes a network by itself: its inputs lie as the operands lie that are handed over, each place once; its
 * outputs are what those inputs are replaced by, or further inputs that have nothing in them. Its symbols are numbers that
 * are given. That network is planned, as a program that mutates its inputs is, and its steps are copied behind those that
 * the plan has so far: an input's storage becomes the operand's place, memory of its own more memory. */
#include "planner/planner_int.h"

struct inner_plan {
    planner_t *planner; /* of the plan around it */
    network_t view;     /* the region's tables, changed; tables that are not are the region's own */
    arena_t scratch;
    const plan_operand_t **homes; /* each input: its place; NULL: a number */
    sym_t *inward;                /* each symbol of the plan: the region's; made when it is met */
    region_symbols_t symbols;     /* of the region's plan, outward */
    plan_t *plan;                 /* of the region */
    uint32_t *storages;           /* each storage of the region's plan: the plan's */
    const char *name;
};
typedef struct inner_plan inner_t;

/* ---- the network ---- */

/* The same numbers in the region's pool: a symbol is the one of that name, which the region must not read itself. */
static insitu_status enter_symbols(inner_t *inner) {
    const sym_pool_t *outer = inner->planner->pool;
    sym_pool_t *pool = &inner->view.symbols;
    TRY(arena_array(&inner->scratch, outer->symbol_count + 1, sizeof *inner->inward, &inner->inward));
    for (uint32_t i = 0; i < outer->symbol_count; i++) {
        const symbol_t *given = &outer->symbols[i];
        uint32_t same = sym_find_symbol(pool, given->name);
        if (same == NONE) same = sym_add_symbol(pool, given->name, given->kind, given->min, given->max);
        inner->inward[i] = sym_of_symbol(pool, same);
    }
    return sym_pool_status(pool, inner->planner->diag);
}

static sym_t enter(inner_t *inner, sym_t outside) {
    return sym_move(&inner->view.symbols, inner->planner->pool, outside, inner->inward);
}

static insitu_status copy_table(inner_t *inner, const void *table, uint32_t count, uint32_t more, size_t size,
                                void *out_copy) {
    TRY(arena_array(&inner->scratch, (size_t)count + more + 1, size, out_copy));
    if (count) memcpy(*(void **)out_copy, table, count * size);
    return INSITU_OK;
}

/* Room for the inputs and mutations to come. */
static insitu_status copy_tables(inner_t *inner, const network_t *region) {
    network_t *view = &inner->view;
    const uint32_t outputs = region->output_count;
    const uint32_t inputs = outputs + view->symbols.symbol_count;
    TRY(copy_table(inner, region->tensors, region->tensor_count, outputs, sizeof *view->tensors, &view->tensors));
    TRY(copy_table(inner, region->inputs, region->input_count, inputs, sizeof *view->inputs, &view->inputs));
    TRY(copy_table(inner, region->layers, region->layer_count, 0, sizeof *view->layers, &view->layers));
    TRY(copy_table(inner, NULL, 0, outputs, sizeof *view->mutations, &view->mutations));
    TRY(copy_table(inner, NULL, 0, region->input_count + inputs, sizeof *inner->homes, &inner->homes));
    view->mutation_count = view->output_count = 0;
    return INSITU_OK;
}

/* The input that lies at the place; NONE. */
static uint32_t find_home(const inner_t *inner, const plan_operand_t *place) {
    for (uint32_t i = 0; i < inner->view.input_count; i++)
        if (inner->homes[i] && is_same_place(inner->homes[i], place)) return i;
    return NONE;
}

static void lie_as(inner_t *inner, uint32_t input, const plan_operand_t *place) {
    network_input_t *row = &inner->view.inputs[input];
    for (uint32_t i = 0; i < place->type.shape.rank; i++) row->strides[i] = enter(inner, place->type.strides[i]);
    inner->homes[input] = place;
}

/* All that reads a tensor reads another one. */
static insitu_status read_instead(inner_t *inner, const tensor_id_t *instead) {
    network_t *view = &inner->view;
    for (uint32_t i = 0; i < view->order_count; i++) {
        layer_t *layer = &view->layers[view->order[i].index];
        tensor_id_t *operands;
        TRY(copy_table(inner, layer->operands, layer->operand_count, 0, sizeof *operands, &operands));
        for (uint32_t k = 0; k < layer->operand_count; k++) operands[k] = instead[operands[k].index];
        layer->operands = operands;
    }
    return INSITU_OK;
}

/* Inputs at one place are one input. */
static insitu_status place_inputs(inner_t *inner, const network_t *region, const region_places_t *places,
                                  tensor_id_t **out_instead) {
    tensor_id_t *instead;
    bool is_shared = false;
    TRY(arena_array(&inner->scratch, region->tensor_count + 1, sizeof *instead, &instead));
    for (uint32_t i = 0; i < region->tensor_count; i++) instead[i] = (tensor_id_t){i};
    for (uint32_t i = 0; i < region->input_count; i++) {
        uint32_t same = find_home(inner, &places->inputs[i]);
        if (same != NONE) instead[region->inputs[i].tensor.index] = region->inputs[same].tensor;
        is_shared |= same != NONE;
        lie_as(inner, i, &places->inputs[i]);
    }
    *out_instead = instead;
    return is_shared ? read_instead(inner, instead) : INSITU_OK;
}

/* Memory with nothing in it, of the output's type. */
static insitu_status add_target(inner_t *inner, tensor_id_t output, const plan_operand_t *place, uint32_t *out_input) {
    network_t *view = &inner->view;
    const uint32_t index = view->input_count++;
    view->tensors[view->tensor_count] = view->tensors[output.index];
    network_tensor_t *tensor = &view->tensors[view->tensor_count];
    tensor->role = TENSOR_INPUT;
    tensor->producer = NO_LAYER;
    tensor->index = index;
    TRY(arena_printf(&inner->scratch, &tensor->name, "result %u of %s", index, inner->name));
    view->inputs[index] = (network_input_t){.name = tensor->name, .tensor = {view->tensor_count++}};
    lie_as(inner, index, place);
    *out_input = index;
    return INSITU_OK;
}

static insitu_status place_outputs_there(inner_t *inner, const network_t *region, const region_places_t *places,
                                         const tensor_id_t *instead) {
    network_t *view = &inner->view;
    for (uint32_t i = 0; i < region->output_count; i++) {
        tensor_id_t next = instead[region->outputs[i].tensor.index];
        uint32_t input = find_home(inner, &places->outputs[i]);
        if (input == NONE) TRY(add_target(inner, next, &places->outputs[i], &input));
        if (view->inputs[input].tensor.index == next.index) continue; /* it is there */
        view->mutations[view->mutation_count++] = (network_mutation_t){input, next};
    }
    return INSITU_OK;
}

static insitu_status give_symbols(inner_t *inner, const network_t *region) {
    network_t *view = &inner->view;
    bool *is_read;
    TRY(arena_array(&inner->scratch, view->symbols.symbol_count + 1, sizeof(bool), &is_read));
    network_find_read(region, is_read);
    for (uint32_t i = 0; i < view->symbols.symbol_count; i++) {
        const symbol_t *symbol = &view->symbols.symbols[i];
        if (is_read[i]) continue;
        dtype_t type = symbol->kind == SYM_KIND_FLOAT  ? DTYPE_F64
                       : symbol->kind == SYM_KIND_BOOL ? DTYPE_BOOL
                                                       : DTYPE_I64;
        view->inputs[view->input_count++] = (network_input_t){.name = symbol->name,
                                                              .tensor = NO_TENSOR,
                                                              .is_scalar = true,
                                                              .dtype = type,
                                                              .value = sym_of_symbol(&view->symbols, i)};
    }
    return INSITU_OK;
}

static insitu_status build_view(inner_t *inner, const network_t *region, const region_places_t *places) {
    tensor_id_t *instead;
    TRY(enter_symbols(inner));
    TRY(copy_tables(inner, region));
    TRY(place_inputs(inner, region, places, &instead));
    TRY(place_outputs_there(inner, region, places, instead));
    TRY(give_symbols(inner, region));
    return sym_pool_status(&inner->view.symbols, inner->planner->diag);
}

/* ---- its plan, outward ---- */

/* A symbol that the region reads is a new one of the plan: a region may stand in it more than once. */
static insitu_status leave_symbols(inner_t *inner) {
    const sym_pool_t *pool = &inner->plan->symbols;
    sym_pool_t *outer = inner->planner->pool;
    region_symbols_t *symbols = &inner->symbols;
    *symbols = (region_symbols_t){.inner = pool, .outer = outer};
    TRY(arena_array(&inner->scratch, pool->symbol_count + 1, sizeof *symbols->by, &symbols->by));
    for (uint32_t i = 0; i < pool->symbol_count; i++) {
        const symbol_t *symbol = &pool->symbols[i];
        const char *name = symbol->name;
        bool is_read = inner->plan->symbol_sources[i].source == SYMBOL_STEP;
        for (uint32_t n = 0; is_read && sym_find_symbol(outer, name) != NONE; n++)
            TRY(arena_printf(&inner->scratch, &name, "%s_%u", symbol->name, inner->planner->plan->step_count + n));
        symbols->by[i] =
            sym_of_symbol(outer, sym_add_symbol(outer, name, symbol->kind, is_read ? symbol->min : INT64_MIN,
                                                is_read ? symbol->max : INT64_MAX));
    }
    return sym_pool_status(outer, inner->planner->diag);
}

static sym_t leave(const inner_t *inner, sym_t inside) {
    return sym_move(inner->planner->pool, inner->symbols.inner, inside, inner->symbols.by);
}

static insitu_status leave_storages(inner_t *inner) {
    const plan_t *plan = inner->plan;
    TRY(arena_array(&inner->scratch, plan->storage_count + 1, sizeof *inner->storages, &inner->storages));
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage_t *storage = &plan->storages[i];
        if (storage->kind == STORAGE_INPUT)
            inner->storages[i] = inner->homes[storage->index]->storage;
        else
            TRY(planner_add_storage(inner->planner, STORAGE_ARENA, 0, leave(inner, storage->bytes),
                                    &inner->storages[i]));
    }
    return INSITU_OK;
}

/* An input's elements begin at the place's offset, which counts elements of the place's dtype. */
static insitu_status leave_offset(const inner_t *inner, const plan_operand_t *operand, sym_t *out_offset) {
    sym_pool_t *pool = inner->planner->pool;
    const plan_storage_t *storage = &inner->plan->storages[operand->storage];
    *out_offset = leave(inner, operand->type.offset);
    if (storage->kind != STORAGE_INPUT) return INSITU_OK;
    const tensor_type_t *home = &inner->homes[storage->index]->type;
    sym_t bytes = sym_mul(pool, home->offset, sym_int(pool, dtype_size(home->dtype)));
    sym_t size = sym_int(pool, dtype_size(operand->type.dtype));
    if (sym_is_eq(pool, sym_mod(pool, bytes, size), sym_int(pool, 0)) != TRUTH_TRUE)
        FAIL(inner->planner->diag, INSITU_UNSUPPORTED,
             "a region of '%s' reads a value as another dtype, at a place that is not aligned to it", inner->name);
    *out_offset = sym_add(pool, sym_floordiv(pool, bytes, size), *out_offset);
    return INSITU_OK;
}

static insitu_status leave_operands(const inner_t *inner, const plan_operand_t *operands, uint32_t count,
                                    const plan_operand_t **out_operands) {
    plan_operand_t *moved;
    TRY(arena_array(&inner->planner->plan->arena, count + 1, sizeof *moved, &moved));
    for (uint32_t i = 0; i < count; i++) {
        moved[i] = operands[i];
        moved[i].storage = inner->storages[operands[i].storage];
        TRY(leave_offset(inner, &operands[i], &moved[i].type.offset));
        for (uint32_t d = 0; d < moved[i].type.shape.rank; d++) {
            moved[i].type.shape.sizes[d] = leave(inner, operands[i].type.shape.sizes[d]);
            moved[i].type.strides[d] = leave(inner, operands[i].type.strides[d]);
        }
    }
    *out_operands = moved;
    return INSITU_OK;
}

static insitu_status leave_attrs(const inner_t *inner, const plan_step_t *step, const attr_t **out_attrs) {
    const uint32_t count = step->attrs ? layer_info_of(step->layer)->attr_count : 0;
    attr_t *attrs;
    *out_attrs = NULL;
    if (!step->attrs) return INSITU_OK;
    TRY(arena_array(&inner->planner->plan->arena, count + 1, sizeof *attrs, &attrs));
    for (uint32_t i = 0; i < count; i++) {
        attrs[i] = step->attrs[i];
        if (attrs[i].kind == ATTR_KIND_SYM) attrs[i].value = leave(inner, attrs[i].value);
        if (attrs[i].kind != ATTR_KIND_SYMS) continue;
        sym_t *items;
        TRY(arena_array(&inner->planner->plan->arena, attrs[i].list.count + 1, sizeof *items, &items));
        for (uint32_t k = 0; k < attrs[i].list.count; k++) items[k] = leave(inner, attrs[i].list.items[k]);
        attrs[i].list.items = items;
    }
    *out_attrs = attrs;
    return INSITU_OK;
}

static bool is_state(const inner_t *inner, const plan_operand_t *operands, uint32_t count) {
    bool is_any = false;
    for (uint32_t i = 0; i < count; i++) is_any |= inner->planner->storages[operands[i].storage].written;
    return is_any;
}

/* Bytes count where they are a state's: a value that is carried elsewhere is the program's own. */
static void leave_counters(const inner_t *inner, const plan_step_t *inside, plan_step_t *step) {
    const sym_t none = sym_int(inner->planner->pool, 0);
    bool stores = is_state(inner, step->results, step->result_count);
    bool sets_aside = step->result_count && inner->plan->storages[inside->results[0].storage].kind == STORAGE_ARENA &&
                      is_state(inner, step->operands, step->operand_count);
    /* a region saves nothing, and emit_step counts what is read of weights */
    for (uint32_t i = 0; i < COUNTER_COUNT; i++) step->counters[i] = none;
    step->counters[COUNTER_STATE_WRITTEN] = stores ? leave(inner, inside->counters[COUNTER_STATE_WRITTEN]) : none;
    step->counters[COUNTER_STATE_MOVED] = stores ? leave(inner, inside->counters[COUNTER_STATE_MOVED]) : none;
    step->counters[COUNTER_STATE_COPIED] =
        stores || sets_aside ? leave(inner, inside->counters[COUNTER_STATE_COPIED]) : none;
}

static insitu_status leave_step(inner_t *inner, emitter_t *emitter, const plan_step_t *step, uint32_t base) {
    arena_t *arena = &inner->planner->plan->arena;
    plan_step_t moved = *step;
    TRY(leave_operands(inner, step->results, step->result_count, &moved.results));
    TRY(leave_operands(inner, step->operands, step->operand_count, &moved.operands));
    TRY(leave_attrs(inner, step, &moved.attrs));
    TRY(arena_string(arena, step->name, strlen(step->name), &moved.name));
    TRY(arena_string(arena, step->source, strlen(step->source), &moved.source));
    moved.extent = leave(inner, step->extent);
    moved.middle += base;
    moved.end += base;
    leave_counters(inner, step, &moved);
    return emit_step(emitter, moved);
}

static insitu_status leave_asserts(const inner_t *inner) {
    plan_t *plan = inner->planner->plan;
    for (uint32_t i = 0; i < inner->plan->assert_count; i++) {
        sym_assert_t moved = inner->plan->asserts[i];
        moved.condition = leave(inner, moved.condition);
        TRY(arena_string(&plan->arena, moved.message, strlen(moved.message), &moved.message));
        TRY(arena_string(&plan->arena, moved.source, strlen(moved.source), &moved.source));
        TRY(arena_grow(&plan->arena, &plan->asserts, &inner->planner->assert_capacity, (size_t)plan->assert_count + 1,
                       sizeof *plan->asserts));
        plan->asserts[plan->assert_count++] = moved;
    }
    return INSITU_OK;
}

/* Why the region copies a state: the first reason of each. */
static insitu_status leave_reasons(const inner_t *inner) {
    planner_t *planner = inner->planner;
    for (uint32_t i = 0; i < inner->plan->report_count; i++) {
        const report_row_t *row = &inner->plan->report[i];
        uint32_t input = 0;
        while (strcmp(inner->plan->inputs[input].name, row->name) != 0) input++;
        for (uint32_t f = 0; f < planner->final_count && !row->in_place; f++) {
            state_target_t *final = &planner->finals[f];
            if (final->place.storage != inner->homes[input]->storage || final->reason) continue;
            TRY(arena_string(&planner->plan->arena, row->reason, strlen(row->reason), &final->reason));
        }
    }
    return INSITU_OK;
}

insitu_status inner_plan_emit(inner_t *inner, emitter_t *emitter) {
    const uint32_t base = inner->planner->plan->step_count;
    TRY(leave_symbols(inner));
    TRY(leave_storages(inner));
    for (uint32_t i = 0; i < inner->plan->step_count; i++)
        TRY(leave_step(inner, emitter, &inner->plan->steps[i], base));
    for (uint32_t i = 0; i < inner->plan->storage_count; i++) {
        const plan_storage_t *storage = &inner->plan->storages[i];
        if (storage->last_step != NONE)
            storage_keep(inner->planner, inner->storages[i], base + storage->first_step, base + storage->last_step);
    }
    TRY(leave_asserts(inner));
    return leave_reasons(inner);
}

/* ---- the whole ---- */

static insitu_status plan_view(inner_t *inner, const network_t *region, const region_places_t *places,
                               region_rule_t rule) {
    const planner_t *planner = inner->planner;
    plan_options_t options = planner->options;
    options.region = rule;
    options.order = 0;
    TRY(build_view(inner, region, places));
    TRY(plan_network(&inner->view, &options, &inner->plan, planner->diag));
    if (inner->plan->segment_count == 1) return INSITU_OK;
    FAIL(planner->diag, INSITU_UNSUPPORTED,
         "a size in a region of '%s' depends on a number that the region reads from a tensor", inner->name);
}

insitu_status inner_plan_make(planner_t *planner, const network_t *region, const region_places_t *places,
                              region_rule_t rule, const char *layer_name, inner_t **out_inner) {
    inner_t *made = memory_alloc(sizeof(*made));
    *out_inner = NULL;
    if (!made) return INSITU_NOMEM;
    *made = (inner_t){.planner = planner, .view = *region, .name = layer_name};
    arena_init(&made->scratch);
    insitu_status status = sym_pool_clone(&region->symbols, &made->view.symbols);
    if (status != INSITU_OK) {
        memory_free(made);
        return status;
    }
    *out_inner = made;
    return plan_view(made, region, places, rule);
}

bool inner_plan_has_deferred(const inner_t *inner) {
    const plan_t *plan = inner->plan;
    for (uint32_t i = plan->first_write; i < plan->step_count; i++)
        for (uint32_t r = 0; r < plan->steps[i].result_count; r++)
            if (plan->storages[plan->steps[i].results[r].storage].kind == STORAGE_INPUT &&
                plan_check_after(plan, i) != NONE)
                return true;
    return false;
}

void inner_plan_destroy(inner_t *inner) {
    if (!inner) return;
    plan_destroy(inner->plan);
    sym_pool_release(&inner->view.symbols);
    arena_release(&inner->scratch);
    memory_free(inner);
}
