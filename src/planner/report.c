/* The in-place report: one row a state tensor or mutated input, summed over the steps that serve it: both branches
 * of a condition, and one round of a loop. */
#include "planner/planner_int.h"
#include <string.h>

/* "index_update dim 2", "elementwise", "matmul" */
static void describe_layer(planner_t *planner, const layer_t *layer, text_t *out) {
    const char *name = layer_info_of(layer->kind)->name;
    if (layer->kind == LAYER_COND) name = "cond, both branches";
    if (layer->kind == LAYER_LOOP) name = "loop, one round";
    if (kind_has(layer->kind, TRAIT_ELEMENTWISE) || layer->kind == LAYER_FILL) name = "elementwise";
    text_printf(out, "%s", name);
    if (!kind_has(layer->kind, TRAIT_UPDATE)) return;
    attr_t dim = layer_attr(layer, ATTR_DIM), dims = layer_attr(layer, ATTR_DIMS);
    int64_t number;
    if (dim.kind == ATTR_KIND_SYM && sym_constant(planner->pool, dim.value, &number))
        text_printf(out, " dim %lld", (long long)number);
    for (uint32_t i = 0; dims.kind == ATTR_KIND_SYMS && i < dims.list.count; i++)
        if (sym_constant(planner->pool, dims.list.items[i], &number))
            text_printf(out, i == 0 ? " dim %lld" : ",%lld", (long long)number);
}

enum { MAX_DESCRIBED = 8 }; /* updates that a row names */

typedef struct update_list {
    text_t names[MAX_DESCRIBED];
    uint32_t count;
} update_list_t;

static void add_name(planner_t *planner, update_list_t *list, const layer_t *layer) {
    text_t name;
    text_init(&name);
    describe_layer(planner, layer, &name);
    bool known = list->count == MAX_DESCRIBED || !name.data;
    for (uint32_t i = 0; i < list->count && !known; i++) known = strcmp(list->names[i].data, name.data) == 0;
    if (known)
        text_release(&name);
    else
        list->names[list->count++] = name;
}

/* The updates that make a value, the last first: down the operands that each takes over, and inside each part. */
static void add_updates(planner_t *planner, update_list_t *list, tensor_id_t tensor) {
    for (uint32_t links = 0; links <= planner->network->layer_count; links++) {
        tensor_id_t root = planner_tensor(planner, tensor)->root;
        if (planner_tensor(planner, root)->fixed) return;
        const layer_t *layer = planner_layer(planner, network_tensor_of(planner->network, root)->producer.index);
        if (!kind_has(layer->kind, TRAIT_UPDATE)) {
            if (list->count == 0) add_name(planner, list, layer);
            return;
        }
        add_name(planner, list, layer);
        for (const layer_t *part = layer; kind_has(part->kind, TRAIT_PART);) {
            tensor_id_t source = planner_tensor(planner, part->operands[1])->root;
            if (planner_tensor(planner, source)->fixed) break;
            part = planner_layer(planner, network_tensor_of(planner->network, source)->producer.index);
            if (kind_has(part->kind, TRAIT_UPDATE)) add_name(planner, list, part);
        }
        tensor = layer->operands[0];
    }
}

/* "none" (unchanged), "assign" (another tensor's value), or the updates that make the final value. */
static insitu_status describe_update(planner_t *planner, const state_target_t *final, const char **out_text) {
    update_list_t list = {.count = 0};
    text_t words;
    text_init(&words);
    add_updates(planner, &list, final->next);
    if (list.count == 0) text_printf(&words, final->next.index == final->start.index ? "none" : "assign");
    for (uint32_t i = 0; i < list.count; i++) {
        text_printf(&words, "%s%s", i ? ", " : "", list.names[i].data);
        text_release(&list.names[i]);
    }
    insitu_status status = text_status(&words, planner->diag);
    if (status == INSITU_OK)
        status = arena_string(&planner->plan->arena, words.data ? words.data : "", words.size, out_text);
    text_release(&words);
    return status;
}

/* The places in the model of the layers that make the final value, each once, the last first. */
static insitu_status describe_source(planner_t *planner, const state_target_t *final, const char **out_text) {
    text_t places;
    text_init(&places);
    tensor_id_t tensor = final->next;
    const char *last = "";
    for (uint32_t links = 0, count = 0; links <= planner->network->layer_count && count < MAX_DESCRIBED; links++) {
        tensor_id_t root = planner_tensor(planner, tensor)->root;
        if (planner_tensor(planner, root)->fixed) break;
        uint32_t index = network_tensor_of(planner->network, root)->producer.index;
        const layer_t *layer = planner_layer(planner, index);
        if (*layer->source && strcmp(layer->source, last) != 0) {
            text_printf(&places, "%s%s", count ? ", " : "", layer->source);
            last = layer->source;
            count++;
        }
        if (!kind_has(layer->kind, TRAIT_UPDATE) && !layer_is_copy(planner, index)) break;
        tensor = layer->operands[0];
    }
    insitu_status status = text_status(&places, planner->diag);
    if (status == INSITU_OK)
        status = arena_string(&planner->plan->arena, places.data ? places.data : "", places.size, out_text);
    text_release(&places);
    return status;
}

static void add_to(planner_t *planner, sym_t *sum, sym_t more) { *sum = sym_add(planner->pool, *sum, more); }

/* Bytes of the steps that store into the final's storage; copies made for its sake; copies of its old value. */
static void sum_steps(planner_t *planner, const state_target_t *final, report_row_t *row) {
    const plan_t *plan = planner->plan;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const plan_step_t *step = &plan->steps[i];
        bool writes = false, reads = false;
        for (uint32_t r = 0; r < step->result_count; r++) writes |= step->results[r].storage == final->place.storage;
        for (uint32_t k = 0; k < step->operand_count; k++) reads |= step->operands[k].storage == final->place.storage;
        if (writes) {
            add_to(planner, &row->written, step->counters[COUNTER_STATE_WRITTEN]);
            add_to(planner, &row->moved, step->counters[COUNTER_STATE_MOVED]);
        }
        bool sets_aside =
            reads && step->result_count > 0 && plan->storages[step->results[0].storage].kind == STORAGE_ARENA;
        if (writes || sets_aside) add_to(planner, &row->copied, step->counters[COUNTER_STATE_COPIED]);
        if (step->operand_count && step->operands[0].storage == final->place.storage) /* what a save step copies */
            add_to(planner, &row->saved, step->counters[COUNTER_STATE_SAVED]);
    }
}

static bool copies_state(const planner_t *planner, const plan_step_t *step) {
    int64_t copied;
    return step->result_count > 0 &&
           !(sym_constant(planner->pool, step->counters[COUNTER_STATE_COPIED], &copied) && copied == 0);
}

static const plan_step_t *find_reader(const plan_t *plan, uint32_t after, uint32_t storage) {
    for (uint32_t i = after + 1; i < plan->step_count; i++)
        for (uint32_t k = 0; k < plan->steps[i].operand_count; k++)
            if (plan->steps[i].operands[k].storage == storage) return &plan->steps[i];
    return NULL;
}

/* For copies that no decision about the whole value explains: a part that is stored after it was computed elsewhere, or an
 * old value that is set aside for a layer which computes the new one. */
static insitu_status describe_parts(planner_t *planner, const state_target_t *final, const char **out_text) {
    const plan_t *plan = planner->plan;
    const uint32_t storage = final->place.storage;
    *out_text = "an old value is read after the write";
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const plan_step_t *step = &plan->steps[i];
        if (!copies_state(planner, step)) continue;
        bool stores = step->results[0].storage == storage;
        const plan_step_t *reader = NULL;
        if (step->operand_count && step->operands[0].storage == storage)
            reader = find_reader(plan, i, step->results[0].storage);
        if (!stores && !reader) continue;
        const char *name = stores ? step->name : reader->name, *source = stores ? step->source : reader->source;
        const char *open = *source ? " (" : "", *close = *source ? ")" : "";
        const char *words = "reads the old value after the write";
        if (stores)
            words = "joins is computed in another layout, or is itself a part of what is computed";
        else if (reader->result_count && reader->results[0].storage == storage)
            words = "reads all of the old value, and what it computes is the new one";
        return arena_printf(&planner->plan->arena, out_text, "%s%s%s%s%s %s", stores ? "a part that " : "", name, open,
                            source, close, words);
    }
    return INSITU_OK;
}

insitu_status report_build(planner_t *planner) {
    plan_t *plan = planner->plan;
    sym_t none = sym_int(planner->pool, 0);
    TRY(arena_array(&plan->arena, planner->final_count + 1, sizeof *plan->report, &plan->report));
    for (uint32_t pass = 0; pass < 2; pass++) { /* states in their order, then inputs */
        uint32_t count = pass == 0 ? plan->state_count : plan->input_count;
        for (uint32_t index = 0; index < count; index++)
            for (uint32_t i = 0; i < planner->final_count; i++) {
                const state_target_t *final = &planner->finals[i];
                if (final->is_input != (pass == 1) || final->index != index) continue;
                report_row_t *row = &plan->report[plan->report_count++];
                *row = (report_row_t){.name = final->name,
                                      .type = final->place.type,
                                      .written = none,
                                      .moved = none,
                                      .copied = none,
                                      .reason = "",
                                      .advice = ""};
                TRY(describe_update(planner, final, &row->update));
                TRY(describe_source(planner, final, &row->source));
                sum_steps(planner, final, row);
                int64_t copied;
                row->in_place = sym_constant(planner->pool, row->copied, &copied) && copied == 0;
                if (row->in_place) continue;
                const char *reason = final->reason;
                if (!reason) TRY(describe_parts(planner, final, &reason));
                TRY(arena_string(&plan->arena, reason, strlen(reason), &row->reason));
                if (final->advice) TRY(arena_string(&plan->arena, final->advice, strlen(final->advice), &row->advice));
            }
    }
    return INSITU_OK;
}

insitu_status plan_note_cut(plan_t *plan) {
    for (uint32_t i = 0; i < plan->report_count; i++) {
        report_row_t *row = &plan->report[i];
        if (row->in_place) continue;
        TRY(arena_printf(&plan->arena, &row->reason,
                         "%s; the search for fewer copies ended before all was tried, so this may be avoidable",
                         row->reason));
    }
    return INSITU_OK;
}

insitu_status plan_require_in_place(const plan_t *plan, insitu_diag *diag) {
    for (uint32_t i = 0; i < plan->report_count; i++) {
        const report_row_t *row = &plan->report[i];
        if (row->in_place) continue;
        FAIL(diag, INSITU_UNSUPPORTED, "strict: the update of '%s' copies state: %s", row->name, row->reason);
    }
    return INSITU_OK;
}
