/* What follows from a plan's rows: when each expression is known, what the writes to states replace, and where a call
 * stops. Found here once, so that below the plan nobody asks a step's layer. The rows need not be verified yet: what is
 * wrong about them is left out, and plan_verify says it. */
#include "plan/plan.h"

/* ---- when expressions are known ---- */

static uint32_t ready_of_symbol(const plan_t *plan, uint32_t symbol) {
    const plan_symbol_t *source = &plan->symbol_sources[symbol];
    if (source->source == SYMBOL_UNUSED) return NONE;
    return source->source == SYMBOL_STEP ? source->step + 1 : 0;
}

static insitu_status find_ready(const plan_t *plan, arena_t *arena, uint32_t **out_ready) {
    const sym_pool_t *pool = &plan->symbols;
    uint32_t *ready;
    TRY(arena_array(arena, pool->node_count, sizeof(*ready), &ready));
    for (uint32_t id = 0; id < pool->node_count; id++) {
        uint32_t symbol = sym_symbol_index(pool, (sym_t){id});
        if (symbol != NONE) ready[id] = ready_of_symbol(plan, symbol);
        for (uint32_t i = 0; i < sym_arg_count(pool, (sym_t){id}); i++) {
            uint32_t argument = sym_arg(pool, (sym_t){id}, i).id, known = argument < id ? ready[argument] : NONE;
            if (known > ready[id]) ready[id] = known;
        }
    }
    *out_ready = ready;
    return INSITU_OK;
}

static uint32_t ready_of(const plan_t *plan, const plan_facts_t *facts, sym_t expression) {
    return expression.id < plan->symbols.node_count ? facts->ready[expression.id] : NONE;
}

/* ---- what writes to states replace ---- */

static bool add_dim(const plan_t *plan, const plan_step_t *step, sym_t dim, plan_write_t *write) {
    int64_t number;
    uint32_t rank = step->results[write->result].type.shape.rank;
    if (dim.id >= plan->symbols.node_count || !sym_constant(&plan->symbols, dim, &number)) return false;
    if (number < 0 || number >= rank || rank > MAX_RANK || write->dim_count == rank) return false;
    write->dims[write->dim_count++] = (uint32_t)number;
    return write->positions + write->dim_count <= step->operand_count;
}

/* Behind the steps that run as often as the outermost control step around the step says; step + 1 outside of all. */
static uint32_t end_of_control(const plan_t *plan, uint32_t step) {
    uint32_t end = plan->steps[step].end;
    return step_is_control(&plan->steps[step]) && end > step && end <= plan->step_count ? end : step + 1;
}

/* An index update replaces the rows at its positions, a scatter its elements, any other step the whole of its result. */
static bool has_positions(const plan_t *plan, const plan_step_t *step, plan_write_t *write) {
    if (step->kind != STEP_LAYER || write->result || !step->attrs) return false;
    if (step->layer != LAYER_INDEX_UPDATE && step->layer != LAYER_SCATTER_UPDATE) return false;
    write->undo = step->layer == LAYER_INDEX_UPDATE ? UNDO_ROWS : UNDO_ELEMENTS;
    write->positions = layer_info_of(step->layer)->first_position;
    attr_id_t id = step->layer == LAYER_INDEX_UPDATE ? ATTR_DIMS : ATTR_DIM;
    const attr_t *attr = &step->attrs[layer_attr_index(step->layer, id)];
    if (attr->kind == ATTR_KIND_SYM) return add_dim(plan, step, attr->value, write);
    bool is_good = attr->kind == ATTR_KIND_SYMS && attr->list.count > 0;
    for (uint32_t i = 0; is_good && i < attr->list.count; i++)
        is_good = add_dim(plan, step, attr->list.items[i], write);
    return is_good;
}

/* The first step before which the write's place is known; writers[s]: 1 + the last step that has written storage s. */
static uint32_t known_from(const plan_t *plan, const plan_facts_t *facts, const uint32_t *writers,
                           const plan_write_t *write) {
    const plan_step_t *step = &plan->steps[write->step];
    uint32_t known = ready_of(plan, facts, step->results[write->result].type.offset);
    for (uint32_t i = 0; i < write->dim_count; i++) {
        const plan_operand_t *positions = &step->operands[write->positions + i];
        uint32_t written = positions->storage < plan->storage_count ? writers[positions->storage] : NONE;
        uint32_t placed = ready_of(plan, facts, positions->type.offset);
        if (written > known) known = written;
        if (placed > known) known = placed;
    }
    return known;
}

/* In a region, how often a write happens is not known: all that it may replace is saved before the outermost control step. */
static void add_inside(const plan_t *plan, uint32_t control, plan_write_t write, plan_facts_t *facts) {
    uint32_t placed = ready_of(plan, facts, plan->steps[write.step].results[write.result].type.offset);
    write.undo = placed > control ? UNDO_STORAGE : UNDO_WHOLE;
    write.save = control;
    facts->writes[facts->write_count++] = write;
}

/* What a write replaces is saved as early as its place is known, or where the write before it is saved, so that a segment has
 * few stops, and kernels that run several steps have none inside. */
static void add_write(const plan_t *plan, const uint32_t *writers, plan_write_t write, plan_facts_t *facts) {
    const plan_write_t *last = facts->write_count ? &facts->writes[facts->write_count - 1] : NULL;
    plan_write_t found = write;
    if (has_positions(plan, &plan->steps[write.step], &found)) write = found;
    uint32_t segment = plan_segment_of(plan, write.step), known = known_from(plan, facts, writers, &write);
    write.save = segment < plan->segment_count ? plan->segments[segment].first_step : write.step;
    if (last && last->save > write.save) write.save = last->save;
    if (known > write.save) write.save = known;
    if (write.save > write.step) write.save = write.step; /* a position that is never known: the verifier says so */
    facts->writes[facts->write_count++] = write;
}

static insitu_status find_writes(const plan_t *plan, arena_t *arena, plan_facts_t *facts) {
    uint32_t *writers;
    size_t count = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) count += plan->steps[i].result_count;
    TRY(arena_array(arena, plan->storage_count, sizeof(*writers), &writers));
    TRY(arena_array(arena, count, sizeof(*facts->writes), &facts->writes));
    uint32_t control = 0,
             end = 0; /* the step at hand, or the outermost control step around it, and behind what that runs */
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const plan_step_t *step = &plan->steps[i];
        if (i >= end) control = i, end = end_of_control(plan, i);
        for (uint32_t r = 0; r < step->result_count; r++) {
            const plan_write_t write = {.step = i, .result = r};
            uint32_t storage = step->results[r].storage;
            if (storage >= plan->storage_count || plan->storages[storage].kind != STORAGE_STATE) continue;
            if (i == control)
                add_write(plan, writers, write, facts);
            else
                add_inside(plan, control, write, facts);
        }
        for (uint32_t r = 0; r < step->result_count; r++)
            if (step->results[r].storage < plan->storage_count) writers[step->results[r].storage] = end;
    }
    return INSITU_OK;
}

/* ---- where a call stops ---- */

static void add_stop(plan_facts_t *facts, stop_kind_t kind, uint32_t step) {
    facts->stops[facts->stop_count++] = (plan_stop_t){kind, step};
}

/* A check in a loop may fail after whatever the loop has written. */
static uint32_t find_last_check(const plan_t *plan) {
    uint32_t last = NONE;
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (step_is_check(&plan->steps[i])) last = i;
    for (uint32_t i = 0; last != NONE && i < last; i++)
        if (plan->steps[i].kind == STEP_LOOP && end_of_control(plan, i) > last) return plan->steps[i].end - 1;
    return last;
}

/* Before each step, and the end: what a control step runs begins or ends there. */
static insitu_status find_edges(const plan_t *plan, arena_t *arena, bool **out_edges) {
    TRY(arena_array(arena, (size_t)plan->step_count + 1, sizeof(**out_edges), out_edges));
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const plan_step_t *step = &plan->steps[i];
        if (!step_is_control(step)) continue;
        if (step->middle <= plan->step_count) (*out_edges)[step->middle] = true;
        if (step->end <= plan->step_count) (*out_edges)[step->end] = true;
    }
    return INSITU_OK;
}

static insitu_status find_stops(const plan_t *plan, arena_t *arena, plan_facts_t *facts) {
    uint32_t segment = 0, write = 0;
    size_t most = (size_t)plan->segment_count + facts->write_count + 2 * (size_t)plan->step_count + 2;
    bool *edges;
    TRY(find_edges(plan, arena, &edges));
    TRY(arena_array(arena, most, sizeof(*facts->stops), &facts->stops));
    facts->last_check = find_last_check(plan);
    for (uint32_t i = 0; i <= plan->step_count; i++) {
        for (; segment < plan->segment_count && plan->segments[segment].first_step == i; segment++)
            add_stop(facts, STOP_SEGMENT, i);
        if (facts->last_check != NONE && i == facts->last_check + 1) add_stop(facts, STOP_CHECKED, i);
        bool saves = write < facts->write_count && facts->writes[write].save == i;
        while (write < facts->write_count && facts->writes[write].save == i) write++;
        if (saves) add_stop(facts, STOP_SAVE, i);
        if (edges[i]) add_stop(facts, STOP_REGION, i);
        if (i < plan->step_count && step_is_item(&plan->steps[i])) add_stop(facts, STOP_ITEM, i);
        if (i < plan->step_count && step_is_control(&plan->steps[i])) add_stop(facts, STOP_CONTROL, i);
    }
    return INSITU_OK;
}

insitu_status plan_find_facts(const plan_t *plan, arena_t *arena, plan_facts_t *out_facts) {
    *out_facts = (plan_facts_t){.last_check = NONE};
    TRY(find_ready(plan, arena, &out_facts->ready));
    out_facts->ready_count = plan->symbols.node_count;
    TRY(find_writes(plan, arena, out_facts));
    return find_stops(plan, arena, out_facts);
}

insitu_status plan_derive(plan_t *plan) { return plan_find_facts(plan, &plan->arena, &plan->facts); }

/* Facts are made of numbers alone, in memory that begins as zeros: they are equal if their bytes are. */
bool plan_facts_same(const plan_facts_t *a, const plan_facts_t *b) {
    if (a->last_check != b->last_check || a->write_count != b->write_count || a->stop_count != b->stop_count ||
        a->ready_count < b->ready_count)
        return false;
    return memcmp(a->ready, b->ready, b->ready_count * sizeof(*a->ready)) == 0 &&
           memcmp(a->writes, b->writes, a->write_count * sizeof(*a->writes)) == 0 &&
           memcmp(a->stops, b->stops, a->stop_count * sizeof(*a->stops)) == 0;
}
