/* Conflicts: does what lies in one storage keep its value until it is read?
 *
 * Every layer or copy that stores into the storage is a write (node, region); every operand that lies in it is a read
 * (node, tensor, region). The value of a tensor is made by certain writes, its content (reaching_writes.c): for
 *
 *     %1 = slice_update(%cache, %k)      in place in cache's memory
 *     %2 = slice_update(%1, %v)          in place too
 *
 * the content of %2 is both writes over the initial bytes, that of %1 the first, that of %cache none. A read of a tensor
 * is right if each write of an overlapping region either belongs to its content, or runs after the read, or runs before
 * all of the content, where the content covers the whole tensor. The second is preferred: an edge reader -> writer is
 * added unless the writer must already run first. A layer may store over its own operand where both are the same place,
 * element by element. Reads at the end of the call (results, final values of states) can't precede anything.
 *
 * Only what was added to the storage since it was last found to be sound is looked at (planner_touch): new reads with all
 * writes, new writes with all reads, and the values whose content grew, where they rest on a write that runs before it. */
#include "planner/reaching_writes.h"

insitu_status conflicts_init(planner_t *planner) {
    struct conflict_work *work;
    TRY(arena_array(&planner->scratch, 1, sizeof *work, &work));
    planner->work = work;
    TRY(reaching_writes_init(planner, &work->content));
    TRY(reaching_writes_init(planner, &work->other));
    TRY(reaching_writes_init(planner, &work->added));
    return reaching_writes_init(planner, &work->takers);
}

/* ---- writes ---- */

static insitu_status add_write(planner_t *planner, write_list_t *list, uint32_t node, uint32_t root,
                               const tensor_type_t *region, region_span_t span) {
    TRY(arena_grow(&planner->scratch, &list->items, &list->capacity, list->count + 1, sizeof *list->items));
    list->items[list->count++] = (write_event_t){node, root, region, span};
    planner->steps++;
    return INSITU_OK;
}

/* Where the operands of a concat, or the source of a slice update, lie in the result: worked out once for each layout. */
static insitu_status find_parts(planner_t *planner, uint32_t index, const tensor_type_t *result) {
    const layer_t *layer = planner_layer(planner, index);
    layer_plan_t *decided = &planner->layers[index];
    if (decided->parts_known) return INSITU_OK;
    if (!decided->parts)
        TRY(arena_array(&planner->scratch, layer->operand_count, sizeof *decided->parts, &decided->parts));
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        placed_part_t *part = &decided->parts[i];
        part->is_known = planner_part(planner, index, i, result, &part->type);
        if (part->is_known) part->span = span_of(planner->pool, &part->type);
        planner->steps++;
    }
    decided->parts_known = true;
    return INSITU_OK;
}

/* What the root's layer stores into the root's memory. */
static insitu_status add_root_writes(planner_t *planner, uint32_t root, write_list_t *list) {
    const tensor_plan_t *made = &planner->tensors[root];
    if (made->fixed) return INSITU_OK;
    uint32_t index = planner->network->tensors[root].producer.index;
    const layer_t *layer = planner_layer(planner, index);
    const layer_plan_t *decided = &planner->layers[index];
    if (layer->kind == LAYER_EMPTY) return INSITU_OK;
    if (layer_is_copy(planner, index) && decided->takes_operand) return INSITU_OK;
    bool by_parts = layer->kind == LAYER_CONCAT || (kind_has(layer->kind, TRAIT_PART) && decided->takes_operand);
    if (!by_parts) return add_write(planner, list, decided->node, root, &made->type, made->span);
    TRY(find_parts(planner, index, &made->type));
    for (uint32_t i = layer->kind == LAYER_CONCAT ? 0 : 1; i < layer->operand_count; i++)
        if (!decided->in_part[i] && decided->parts[i].is_known)
            TRY(add_write(planner, list, decided->node, root, &decided->parts[i].type, decided->parts[i].span));
    return INSITU_OK;
}

static insitu_status add_copy_write(planner_t *planner, const planned_copy_t *copy, write_list_t *list) {
    return add_write(planner, list, copy->node, NONE, &copy->target.type, span_of(planner->pool, &copy->target.type));
}

/* All writes of the storage; once in a check. */
static insitu_status gather_writes(planner_t *planner, uint32_t storage) {
    struct conflict_work *work = planner->work;
    if (work->is_gathered) return INSITU_OK;
    work->is_gathered = true;
    work->writes.count = 0;
    for (uint32_t t = planner->storages[storage].roots; t != NONE; t = planner->tensors[t].root_next)
        TRY(add_root_writes(planner, t, &work->writes));
    for (uint32_t i = 0; i < planner->copy_count; i++) {
        const planned_copy_t *copy = planner->copies[i];
        if (copy->active && copy->target.storage == storage) TRY(add_copy_write(planner, copy, &work->writes));
    }
    return INSITU_OK;
}

/* ---- a read and a write ---- */

static bool region_meets(planner_t *planner, const tensor_type_t *a, const tensor_type_t *b) {
    planner->steps += 4;
    return region_overlaps(planner->pool, a, b);
}

typedef struct read_of { /* a tensor, or what a copy stores (content: the copy's node alone) */
    uint32_t tensor, root, only_node;
    const tensor_type_t *region;
    region_span_t span;
} read_of_t;

static read_of_t read_of_tensor(const planner_t *planner, uint32_t t) {
    const tensor_plan_t *tensor = &planner->tensors[t];
    return (read_of_t){t, tensor->root.index, NONE, &tensor->type, tensor->span};
}

static bool belongs(const struct conflict_work *work, const read_of_t *read, const write_event_t *write) {
    if (read->only_node != NONE) return write->node == read->only_node;
    return write->root != NONE && reaching_writes_has(&work->content, write->root);
}

static bool before_content(planner_t *planner, const read_of_t *read, uint32_t node) {
    const struct conflict_work *work = planner->work;
    for (uint32_t i = 0; i < work->writes.count; i++) {
        const write_event_t *write = &work->writes.items[i];
        planner->steps++;
        if (belongs(work, read, write) && !order_is_before(&planner->order, node, write->node)) return false;
    }
    return true;
}

static insitu_status put_before_content(planner_t *planner, const read_of_t *read, uint32_t node, bool *out_ok) {
    const struct conflict_work *work = planner->work;
    *out_ok = true;
    for (uint32_t i = 0; i < work->writes.count && *out_ok; i++) {
        planner->steps++;
        if (belongs(work, read, &work->writes.items[i]))
            TRY(order_add(&planner->order, node, work->writes.items[i].node, out_ok));
    }
    return INSITU_OK;
}

/* A layer that stores element i after reading element i of the same place, or all that is needed of it, or that moves all
 * of it; and what stores one copy and nothing else, which is a move if the places overlap, and nothing if they are the same. */
static bool may_store_over(const planner_t *planner, uint32_t node, const tensor_type_t *read,
                           const tensor_type_t *written) {
    const plan_node_t *n = &planner->nodes[node];
    bool copies = n->kind == NODE_COPY, elementwise = false;
    if (n->kind == NODE_LAYER) {
        layer_kind_t kind = planner_layer(planner, n->index)->kind;
        copies =
            layer_is_copy(planner, n->index) || (kind_has(kind, TRAIT_PART) && planner->layers[n->index].takes_operand);
        elementwise = kind_has(kind, TRAIT_ELEMENTWISE | TRAIT_REPLACE) ||
                      (kind == LAYER_SHIFT_UPDATE && planner->layers[n->index].takes_operand);
    }
    if (copies && layout_moves(planner->pool, read, written)) return true;
    return (copies || elementwise) && type_same_elements(read, written);
}

/* A region's plan knows which of its inputs its results replace. A loop carries a value in its operand's place if that is read
 * as a value to be carried alone; in the place of another operand it carries none. */
static bool may_replace(const planner_t *planner, uint32_t node, const read_of_t *read, const write_event_t *write) {
    const plan_node_t *n = &planner->nodes[node];
    if (n->kind != NODE_LAYER || write->root == NONE || !type_same_elements(read->region, write->region)) return false;
    const layer_t *layer = planner_layer(planner, n->index);
    if (!kind_has(layer->kind, TRAIT_REGIONS)) return false;
    if (layer->kind == LAYER_COND) return true;
    const uint32_t result = network_tensor_of(planner->network, (tensor_id_t){write->root})->index;
    for (uint32_t i = layer->result_count; i < layer->operand_count; i++)
        if (layer->operands[i].index == read->tensor && planner->layers[n->index].spill[i] == NONE) return false;
    return layer->operands[result].index == read->tensor;
}

/* A layer that itself stores nothing where it is in the content of a value. */
static bool stores_nothing(const planner_t *planner, uint32_t root) {
    if (planner->tensors[root].fixed) return true;
    layer_kind_t kind = planner_layer(planner, planner->network->tensors[root].producer.index)->kind;
    return kind == LAYER_EMPTY || kind == LAYER_CONCAT || kind == LAYER_COPY || kind_has(kind, TRAIT_VIEW);
}

/* Could a write run before all of the content? Then it also runs before the root's layer, if any of it stores. */
static bool may_precede(const planner_t *planner, const read_of_t *read, uint32_t node) {
    if (read->only_node != NONE) return true;
    if (planner->tensors[read->root].fixed) return false;
    uint32_t index = planner->network->tensors[read->root].producer.index;
    const layer_t *layer = planner_layer(planner, index);
    bool by_part = kind_has(layer->kind, TRAIT_PART) && planner->layers[index].in_part[1];
    uint32_t storing = by_part ? planner_tensor(planner, layer->operands[1])->root.index : read->root;
    return stores_nothing(planner, storing) || order_is_before(&planner->order, node, planner->layers[index].node);
}

/* What the tensor was before its content, where that was looked for. */
static base_kind_t find_base(planner_t *planner, const read_of_t *read) {
    if (read->only_node != NONE) return BASE_MADE;
    reaching_writes_find(planner, &planner->work->content, read->root);
    return planner->work->content.base;
}

static insitu_status rests_before(planner_t *planner, const read_of_t *read) {
    if (read->only_node != NONE) return INSITU_OK;
    planner->work->any_rests = true;
    return planner_set(planner, &planner->tensors[read->root].rests, true);
}

/* Of a write that overlaps and does not belong to the content. */
static insitu_status order_pair(planner_t *planner, uint32_t storage, const read_of_t *read, uint32_t reader,
                                const write_event_t *write, bool *out_ok) {
    if (may_precede(planner, read, write->node)) {
        TRY(gather_writes(planner, storage));
        if (find_base(planner, read) == BASE_MADE && before_content(planner, read, write->node))
            return rests_before(planner, read);
    }
    if (reader != planner->end) {
        TRY(order_add(&planner->order, reader, write->node, out_ok));
        if (*out_ok) return INSITU_OK;
    }
    *out_ok = false;
    if (find_base(planner, read) != BASE_MADE) return INSITU_OK;
    TRY(gather_writes(planner, storage));
    TRY(put_before_content(planner, read, write->node, out_ok));
    return *out_ok ? rests_before(planner, read) : INSITU_OK;
}

static insitu_status check_pair(planner_t *planner, uint32_t storage, const read_of_t *read, uint32_t reader,
                                const write_event_t *write, bool *out_ok, conflict_t *out_conflict) {
    planner->steps++;
    *out_ok = true;
    if (order_is_before(&planner->order, reader, write->node)) return INSITU_OK;
    if (reader == write->node && may_store_over(planner, reader, read->region, write->region)) return INSITU_OK;
    if (reader == write->node && may_replace(planner, reader, read, write)) return INSITU_OK;
    TRY(order_pair(planner, storage, read, reader, write, out_ok));
    if (!*out_ok) *out_conflict = (conflict_t){reader, read->tensor, write->node};
    return INSITU_OK;
}

static bool is_read(const planner_t *planner, const use_t *use) {
    const layer_t *layer = planner_layer(planner, use->layer.index);
    const layer_plan_t *decided = &planner->layers[use->layer.index];
    if (decided->makes_view || decided->spill[use->operand] != NONE || decided->in_part[use->operand]) return false;
    bool taken = use->operand == 0 && decided->takes_operand;
    bool moves = layer->kind == LAYER_SHIFT_UPDATE; /* an element of the result is another one of the operand's */
    return !(taken && !moves && (kind_has(layer->kind, TRAIT_UPDATE) || layer_is_copy(planner, use->layer.index)));
}

/* All reads of one tensor against some writes, which overlap it and belong to others. */
static insitu_status check_readers(planner_t *planner, uint32_t storage, const read_of_t *read,
                                   const write_event_t *writes, uint32_t count, bool *out_ok,
                                   conflict_t *out_conflict) {
    const tensor_plan_t *tensor = &planner->tensors[read->tensor];
    *out_ok = true;
    for (uint32_t i = planner->use_start[read->tensor]; i < planner->use_start[read->tensor + 1]; i++) {
        const uint32_t reader = planner->layers[planner->uses[i].layer.index].node;
        if (!is_read(planner, &planner->uses[i])) continue;
        for (uint32_t k = 0; k < count; k++) {
            TRY(check_pair(planner, storage, read, reader, &writes[k], out_ok, out_conflict));
            if (!*out_ok) return INSITU_OK;
        }
    }
    for (uint32_t i = tensor->copies; i != NONE; i = planner->copies[i]->copy_next) {
        const planned_copy_t *copy = planner->copies[i];
        for (uint32_t k = 0; k < count && copy->active && copy->spill == NONE; k++) {
            TRY(check_pair(planner, storage, read, copy->node, &writes[k], out_ok, out_conflict));
            if (!*out_ok) return INSITU_OK;
        }
    }
    bool is_kept = false;
    for (uint32_t i = tensor->end_reads; i != NONE && !is_kept; i = planner->end_reads[i]->end_next)
        is_kept = planner->end_reads[i]->active;
    for (uint32_t k = 0; k < count && is_kept; k++) {
        TRY(check_pair(planner, storage, read, planner->end, &writes[k], out_ok, out_conflict));
        if (!*out_ok) return INSITU_OK;
    }
    return INSITU_OK;
}

static bool has_readers(const planner_t *planner, uint32_t t) {
    const tensor_plan_t *tensor = &planner->tensors[t];
    if (tensor->copies != NONE || tensor->end_reads != NONE) return true;
    for (uint32_t i = planner->use_start[t]; i < planner->use_start[t + 1]; i++)
        if (is_read(planner, &planner->uses[i])) return true;
    return false;
}

/* New reads: with all writes of the storage. */
static insitu_status check_tensor(planner_t *planner, uint32_t storage, uint32_t t, bool *out_ok,
                                  conflict_t *out_conflict) {
    struct conflict_work *work = planner->work;
    const read_of_t read = read_of_tensor(planner, t);
    *out_ok = true;
    if (!has_readers(planner, t)) return INSITU_OK;
    TRY(gather_writes(planner, storage));
    bool is_found = false;
    work->met.count = 0;
    for (uint32_t i = 0; i < work->writes.count; i++) {
        const write_event_t write = work->writes.items[i];
        planner->steps++;
        if (!spans_meet(read.span, write.span)) continue;
        if (!is_found) reaching_writes_find(planner, &work->content, read.root);
        is_found = true;
        if (belongs(work, &read, &write) || !region_meets(planner, read.region, write.region)) continue;
        TRY(add_write(planner, &work->met, write.node, write.root, write.region, write.span));
    }
    return check_readers(planner, storage, &read, work->met.items, work->met.count, out_ok, out_conflict);
}

static region_span_t span_of_list(const write_list_t *list) {
    region_span_t span = {INT64_MAX, 0};
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].span.begin < span.begin) span.begin = list->items[i].span.begin;
        if (list->items[i].span.end > span.end) span.end = list->items[i].span.end;
    }
    return span;
}

/* New writes: with all reads of the storage. The content of a tensor holds a write if it takes over the write's root. */
static insitu_status check_writes(planner_t *planner, uint32_t storage, const write_list_t *list, bool *out_ok,
                                  conflict_t *out_conflict) {
    struct conflict_work *work = planner->work;
    *out_ok = true;
    if (list->count == 0) return INSITU_OK;
    const uint32_t root = list->items[0].root;
    const region_span_t span = span_of_list(list);
    for (uint32_t t = planner->storages[storage].members; t != NONE; t = planner->tensors[t].member_next) {
        planner->steps++;
        if (!spans_meet(planner->tensors[t].span, span) || !has_readers(planner, t)) continue;
        if (root != NONE) reaching_writes_find_takers(planner, &work->takers, root, NONE);
        if (root != NONE && reaching_writes_has(&work->takers, planner->tensors[t].root.index)) continue;
        const read_of_t read = read_of_tensor(planner, t);
        for (uint32_t i = 0; i < list->count; i++) {
            const write_event_t *write = &list->items[i];
            if (!spans_meet(read.span, write->span) || !region_meets(planner, read.region, write->region)) continue;
            TRY(check_readers(planner, storage, &read, write, 1, out_ok, out_conflict));
            if (!*out_ok) return INSITU_OK;
        }
    }
    return INSITU_OK;
}

/* ---- sources that are made in their parts ---- */

static bool makes_part(const planner_t *planner, uint32_t root) {
    if (planner->tensors[root].fixed) return false;
    uint32_t index = planner->network->tensors[root].producer.index;
    const layer_plan_t *decided = &planner->layers[index];
    return kind_has(planner_layer(planner, index)->kind, TRAIT_PART) && decided->takes_operand && decided->in_part[1];
}

static const tensor_plan_t *source_of(const planner_t *planner, uint32_t root) {
    const layer_t *layer = planner_layer(planner, planner->network->tensors[root].producer.index);
    return planner_tensor(planner, layer->operands[1]);
}

static bool takes_any(const planner_t *planner, uint32_t root) {
    if (planner->tensors[root].fixed) return true;
    uint32_t index = planner->network->tensors[root].producer.index;
    return planner->layers[index].takes_operand || planner_layer(planner, index)->kind == LAYER_CONCAT;
}

/* Writes of a set of roots, in the storage. */
static insitu_status add_reaching_writes(planner_t *planner, uint32_t storage, const reaching_writes_t *set,
                                         const reaching_writes_t *but, write_list_t *list) {
    list->count = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        planner->steps++;
        if (planner->tensors[set->roots[i]].storage != storage || (but && reaching_writes_has(but, set->roots[i])))
            continue;
        TRY(add_root_writes(planner, set->roots[i], list));
    }
    return INSITU_OK;
}

static insitu_status order_first_second(planner_t *planner, uint32_t root, const write_list_t *firsts,
                                        const write_list_t *seconds, base_kind_t source_base, bool *out_ok,
                                        conflict_t *out_conflict) {
    const uint32_t index = planner->network->tensors[root].producer.index;
    const tensor_plan_t *source = source_of(planner, root);
    *out_ok = true;
    for (uint32_t i = 0; i < firsts->count; i++) {
        const write_event_t *first = &firsts->items[i];
        planner->steps++;
        /* Bytes of the source that were there before the call can't come after anything. */
        if (source_base == BASE_INITIAL && spans_meet(first->span, source->span) &&
            region_meets(planner, first->region, &source->type)) {
            *out_ok = false;
            *out_conflict = (conflict_t){planner->layers[index].node, NONE, first->node};
            return INSITU_OK;
        }
        for (uint32_t j = 0; j < seconds->count; j++) {
            const write_event_t *second = &seconds->items[j];
            planner->steps++;
            if (order_is_before(&planner->order, first->node, second->node) || !spans_meet(first->span, second->span) ||
                !region_meets(planner, first->region, second->region))
                continue;
            TRY(order_add(&planner->order, first->node, second->node, out_ok));
            *out_conflict = (conflict_t){second->node, NONE, first->node};
            if (!*out_ok) return INSITU_OK;
        }
    }
    return INSITU_OK;
}

/* A source that is produced in its part must be stored after what the update's operand is made of:
 *     %z = fill(0); %p = exp(%a); %r = slice_update(%z, %p)     fill before exp, where exp stores into %z's memory
 * added: the roots that are new in the operand's content; NULL: all are looked at. */
static insitu_status order_parts(planner_t *planner, uint32_t storage, uint32_t root, const reaching_writes_t *added,
                                 bool *out_ok, conflict_t *out_conflict) {
    struct conflict_work *work = planner->work;
    const layer_t *layer = planner_layer(planner, planner->network->tensors[root].producer.index);
    const uint32_t base = planner_tensor(planner, layer->operands[0])->root.index;
    const uint32_t source = source_of(planner, root)->root.index;
    *out_ok = true;
    if (reaching_writes_lead_to(planner, source, base))
        return INSITU_OK; /* all that makes the one makes the other too */
    reaching_writes_find(planner, &work->other, source);
    if (!added) reaching_writes_find(planner, &work->content, base);
    TRY(add_reaching_writes(planner, storage, added ? added : &work->content, &work->other, &work->firsts));
    if (work->firsts.count == 0) return INSITU_OK;
    TRY(add_reaching_writes(planner, storage, &work->other, NULL, &work->seconds));
    return order_first_second(planner, root, &work->firsts, &work->seconds, work->other.base, out_ok, out_conflict);
}

/* ---- what changed ---- */

/* The content of a root has grown by the roots in added, whose writes lie in the span, and so has that of all which takes it
 * over and did not hold them. */
static insitu_status check_takers(planner_t *planner, uint32_t storage, uint32_t root, uint32_t held,
                                  const reaching_writes_t *added, region_span_t span, bool *out_ok,
                                  conflict_t *out_conflict) {
    reaching_writes_t *takers = &planner->work->takers;
    *out_ok = true;
    reaching_writes_find_takers(planner, takers, root, held);
    for (uint32_t i = 0; i < takers->count && *out_ok; i++) {
        const uint32_t taker = takers->roots[i];
        planner->steps++;
        if (planner->tensors[taker].storage != storage) continue;
        if (makes_part(planner, taker) && spans_meet(source_of(planner, taker)->span, span)) {
            bool whole = taker == root || reaching_writes_has(takers, source_of(planner, taker)->root.index);
            TRY(order_parts(planner, storage, taker, whole ? NULL : added, out_ok, out_conflict));
        }
        bool rests = planner->tensors[taker].rests;
        for (uint32_t t = taker; rests && t != NONE && *out_ok; t = planner->tensors[t].view_tree_next)
            TRY(check_tensor(planner, storage, t, out_ok, out_conflict));
    }
    return INSITU_OK;
}

/* Is there a source, made in its part, that the writes might have to precede or follow? */
static bool meets_parts(planner_t *planner, uint32_t storage, const write_list_t *writes) {
    const region_span_t span = span_of_list(writes);
    for (uint32_t t = planner->storages[storage].roots; t != NONE && writes->count; t = planner->tensors[t].root_next) {
        planner->steps++;
        if (!makes_part(planner, t)) continue;
        const tensor_plan_t *source = source_of(planner, t);
        if (!spans_meet(source->span, span)) continue;
        /* One that a single layer stores, after these writes. */
        if (source->fixed || takes_any(planner, source->root.index) ||
            !order_is_before(&planner->order, writes->items[0].node, tensor_node(planner, source->root)))
            return true;
    }
    return false;
}

static insitu_status check_root(planner_t *planner, uint32_t storage, uint32_t root, bool *out_ok,
                                conflict_t *out_conflict) {
    write_list_t *fresh = &planner->work->fresh;
    uint32_t only = root;
    const reaching_writes_t one = {.roots = &only, .count = 1};
    fresh->count = 0;
    TRY(add_root_writes(planner, root, fresh));
    TRY(check_writes(planner, storage, fresh, out_ok, out_conflict));
    if (!*out_ok || (!planner->work->any_rests && !meets_parts(planner, storage, fresh))) return INSITU_OK;
    return check_takers(planner, storage, root, NONE, &one, span_of_list(fresh), out_ok, out_conflict);
}

/* The layer takes over an operand, or one lies in its part; or it copies the operand after all. */
static insitu_status check_layer(planner_t *planner, uint32_t storage, uint32_t at, bool *out_ok,
                                 conflict_t *out_conflict) {
    const touch_t *touch = &planner->touches[at];
    const layer_t *layer = planner_layer(planner, touch->index);
    const layer_plan_t *decided = &planner->layers[touch->index];
    const uint32_t root = layer->results[0].index;
    const uint32_t operand = planner_tensor(planner, layer->operands[touch->operand])->root.index;
    reaching_writes_t *added = &planner->work->added;
    *out_ok = true;
    if (decided->in_part[touch->operand] || (touch->operand == 0 && decided->takes_operand)) {
        const tensor_plan_t *taken = &planner->tensors[operand];
        bool comes = !taken->fixed && (taken->storage == NONE || (taken->placed != NONE && taken->placed > at));
        if (comes) return INSITU_OK; /* it is looked at when it is placed */
        reaching_writes_find(planner, added, operand);
        const region_span_t all = {0, INT64_MAX};
        return check_takers(planner, storage, root, operand, added, all, out_ok, out_conflict);
    }
    TRY(check_root(planner, storage, root, out_ok, out_conflict));
    bool has_lost = planner->tensors[operand].storage == storage;
    for (uint32_t t = planner->storages[storage].members; has_lost && t != NONE && *out_ok;
         t = planner->tensors[t].member_next)
        TRY(check_tensor(planner, storage, t, out_ok, out_conflict));
    return INSITU_OK;
}

static insitu_status check_copy(planner_t *planner, uint32_t storage, uint32_t index, bool *out_ok,
                                conflict_t *out_conflict) {
    const planned_copy_t *copy = planner->copies[index];
    *out_ok = true;
    if (!copy->active) return INSITU_OK;
    planner->work->fresh.count = 0;
    if (copy->target.storage == storage) TRY(add_copy_write(planner, copy, &planner->work->fresh));
    TRY(check_writes(planner, storage, &planner->work->fresh, out_ok, out_conflict));
    if (!*out_ok || planner_tensor(planner, copy->source)->storage != storage) return INSITU_OK;
    return check_tensor(planner, storage, copy->source.index, out_ok, out_conflict);
}

/* What a copy stored must be intact at the end, if a state's final value is stored so. */
static insitu_status check_copied_ends(planner_t *planner, uint32_t storage, bool *out_ok, conflict_t *out_conflict) {
    struct conflict_work *work = planner->work;
    *out_ok = true;
    for (uint32_t i = 0; i < planner->end_read_count && *out_ok; i++) {
        const end_read_t *end = planner->end_reads[i];
        planner->steps++;
        if (!end->active || end->tensor != NONE) continue;
        const planned_copy_t *copy = planner->copies[end->copy];
        if (copy->target.storage != storage) continue;
        const tensor_type_t *region = &copy->target.type;
        const read_of_t read = {copy->source.index, NONE, copy->node, region, span_of(planner->pool, region)};
        TRY(gather_writes(planner, storage));
        for (uint32_t k = 0; k < work->writes.count && *out_ok; k++) {
            const write_event_t *write = &work->writes.items[k];
            planner->steps++;
            if (write->node == copy->node || !spans_meet(read.span, write->span) ||
                !region_meets(planner, region, write->region))
                continue;
            TRY(check_pair(planner, storage, &read, planner->end, write, out_ok, out_conflict));
        }
    }
    return INSITU_OK;
}

/* Writes of what is tensors, layers and copies of the storage come after the checks of positions. */
static insitu_status order_commit_point(planner_t *planner, uint32_t storage, const touch_t *touch, bool *out_ok,
                                        conflict_t *out_conflict) {
    write_list_t *fresh = &planner->work->fresh;
    fresh->count = 0;
    *out_ok = true;
    if (touch->kind == TOUCH_TENSOR && planner->tensors[touch->index].root.index == touch->index)
        TRY(add_root_writes(planner, touch->index, fresh));
    if (touch->kind == TOUCH_LAYER)
        TRY(add_root_writes(planner, planner_layer(planner, touch->index)->results[0].index, fresh));
    if (touch->kind == TOUCH_COPY && planner->copies[touch->index]->active &&
        planner->copies[touch->index]->target.storage == storage)
        TRY(add_copy_write(planner, planner->copies[touch->index], fresh));
    for (uint32_t i = 0; i < fresh->count && *out_ok; i++) {
        *out_conflict = (conflict_t){planner->commit_point, NONE, fresh->items[i].node};
        TRY(order_add(&planner->order, planner->commit_point, fresh->items[i].node, out_ok));
    }
    return INSITU_OK;
}

static insitu_status check_touch(planner_t *planner, uint32_t storage, uint32_t at, bool *out_ok,
                                 conflict_t *out_conflict) {
    const touch_t *touch = &planner->touches[at];
    const uint32_t index = touch->index;
    *out_ok = true;
    switch (touch->kind) {
    case TOUCH_COPY: return check_copy(planner, storage, index, out_ok, out_conflict);
    case TOUCH_LAYER: return check_layer(planner, storage, at, out_ok, out_conflict);
    case TOUCH_END: return INSITU_OK; /* check_copied_ends looks at all of them */
    case TOUCH_READ:
    case TOUCH_TENSOR: break;
    }
    if (touch->kind == TOUCH_TENSOR && planner->tensors[index].root.index == index)
        TRY(check_root(planner, storage, index, out_ok, out_conflict));
    return *out_ok ? check_tensor(planner, storage, index, out_ok, out_conflict) : INSITU_OK;
}

static insitu_status check_touched(planner_t *planner, uint32_t storage, bool *out_ok, conflict_t *out_conflict) {
    storage_plan_t *lies = &planner->storages[storage];
    for (uint32_t i = lies->touched; lies->written && i != lies->checked && *out_ok; i = planner->touches[i].previous)
        TRY(order_commit_point(planner, storage, &planner->touches[i], out_ok, out_conflict));
    for (uint32_t i = lies->touched; i != lies->checked && *out_ok; i = planner->touches[i].previous)
        TRY(check_touch(planner, storage, i, out_ok, out_conflict));
    if (*out_ok) TRY(check_copied_ends(planner, storage, out_ok, out_conflict));
    return *out_ok ? planner_set(planner, &lies->checked, lies->touched) : INSITU_OK;
}

insitu_status conflicts_check(planner_t *planner, uint32_t storage, bool *out_ok, conflict_t *out_conflict) {
    struct conflict_work *work = planner->work;
    *out_ok = true;
    if (planner->storages[storage].touched == planner->storages[storage].checked) return INSITU_OK;
    work->is_gathered = false;
    work->check++;
    return check_touched(planner, storage, out_ok, out_conflict);
}

insitu_status conflicts_visit_writers(planner_t *planner, uint32_t storage, writer_visit_fn visit) {
    planner->work->is_gathered = false;
    TRY(gather_writes(planner, storage));
    for (uint32_t i = 0; i < planner->work->writes.count; i++) TRY(visit(planner, planner->work->writes.items[i].node));
    return INSITU_OK;
}
