/* Conflicts: does what lies in one storage keep its value until it is read?
 *
 * Every layer or copy that stores into the storage is a write event (node, region); every operand that lies in it is a
 * read (node, tensor, region). The value of a tensor is made by certain writes, its content: for
 *
 *     %1 = slice_update(%cache, %k)      in place in cache's memory
 *     %2 = slice_update(%1, %v)          in place too
 *
 * the content of %2 is both writes over the initial bytes, that of %1 the first, that of %cache none. A read of a tensor
 * is right if each write of an overlapping region either belongs to its content, or runs after the read, or runs before
 * all of the content, where the content covers the whole tensor. The second is preferred: an edge reader -> writer is
 * added unless the writer must already run first. A layer may store over its own operand where both are the same place,
 * element by element. Reads at the end of the call (results, final values of states) can't precede anything. */
#include "plan/plan_int.h"
#include <string.h>

typedef struct write_event {
    uint32_t node;
    tensor_type region;
    region_span span;
} write_event;

struct conflict_work {
    write_event *writes;
    uint32_t write_count, write_capacity;
    bitset content; /* nodes */
    bitset content2;
    uint32_t *stack; /* tensors */
    uint32_t stack_count, stack_capacity;
};

typedef enum base_kind {
    BASE_INITIAL, /* part of it is what the storage holds before the call */
    BASE_MADE,    /* the content covers the whole tensor, or what it does not cover is undefined */
} base_kind;

insitu_status conflicts_init(planner *planner) {
    TRY(arena_array(&planner->scratch, 1, sizeof *planner->work, &planner->work));
    TRY(bitset_create(&planner->scratch, planner->node_capacity, &planner->work->content));
    return bitset_create(&planner->scratch, planner->node_capacity, &planner->work->content2);
}

/* ---- writes ---- */

static insitu_status add_write(planner *planner, uint32_t node, const tensor_type *region) {
    struct conflict_work *work = planner->work;
    TRY(arena_grow(&planner->scratch, &work->writes, &work->write_capacity, work->write_count + 1,
                   sizeof *work->writes));
    work->writes[work->write_count++] = (write_event){node, *region, span_of(planner->pool, region)};
    return INSITU_OK;
}

static insitu_status add_layer_writes(planner *planner, uint32_t index, const tensor_type *result) {
    const layer *layer = planner_layer(planner, index);
    const layer_plan *decided = &planner->layers[index];
    if (layer->kind == LAYER_EMPTY) return INSITU_OK;
    if (layer_is_copy(planner, index) && decided->takes_operand) return INSITU_OK;
    bool by_parts = layer->kind == LAYER_CONCAT || (kind_has(layer->kind, TRAIT_PART) && decided->takes_operand);
    if (!by_parts) return add_write(planner, decided->node, result);
    for (uint32_t i = layer->kind == LAYER_CONCAT ? 0 : 1; i < layer->operand_count; i++) {
        tensor_type part;
        if (decided->in_part[i]) continue;
        if (layout_part(planner->pool, planner->network, layer, i, result, &part))
            TRY(add_write(planner, decided->node, &part));
    }
    return INSITU_OK;
}

static insitu_status collect_writes(planner *planner, uint32_t storage) {
    planner->work->write_count = 0;
    for (uint32_t t = planner->storages[storage].members; t != NONE; t = planner->tensors[t].member_next) {
        const network_tensor *tensor = &planner->network->tensors[t];
        if (planner->tensors[t].root.index != t || planner->tensors[t].fixed) continue;
        TRY(add_layer_writes(planner, tensor->producer.index, &planner->tensors[t].type));
    }
    for (uint32_t i = 0; i < planner->copy_count; i++) {
        const planned_copy *copy = planner->copies[i];
        if (copy->active && copy->target.storage == storage) TRY(add_write(planner, copy->node, &copy->target.type));
    }
    return INSITU_OK;
}

/* ---- content ---- */

static insitu_status push(planner *planner, tensor_id tensor) {
    struct conflict_work *work = planner->work;
    TRY(arena_grow(&planner->scratch, &work->stack, &work->stack_capacity, work->stack_count + 1, sizeof *work->stack));
    work->stack[work->stack_count++] = planner->tensors[tensor.index].root.index;
    return INSITU_OK;
}

/* Adds the nodes that make a root's value; pushes the roots whose content belongs to it. */
static insitu_status add_content(planner *planner, uint32_t root, bitset *content, uint32_t *out_next,
                                 base_kind *base) {
    *out_next = NONE;
    if (planner->tensors[root].fixed) {
        *base = BASE_INITIAL;
        return INSITU_OK;
    }
    uint32_t index = planner->network->tensors[root].producer.index;
    const layer *layer = planner_layer(planner, index);
    const layer_plan *decided = &planner->layers[index];
    bitset_add(content, decided->node);
    for (uint32_t i = 0; i < layer->operand_count; i++)
        if (decided->in_part[i]) TRY(push(planner, layer->operands[i]));
    if (decided->takes_operand) *out_next = planner->tensors[layer->operands[0].index].root.index;
    return INSITU_OK;
}

static insitu_status find_content(planner *planner, uint32_t root, bitset *content, base_kind *out_base) {
    struct conflict_work *work = planner->work;
    memset(content->words, 0, ((size_t)content->bits + 63) / 64 * sizeof *content->words);
    work->stack_count = 0;
    *out_base = BASE_MADE;
    TRY(push(planner, (tensor_id){root}));
    while (work->stack_count > 0)
        for (uint32_t at = work->stack[--work->stack_count]; at != NONE;)
            TRY(add_content(planner, at, content, &at, out_base));
    return INSITU_OK;
}

/* ---- reads ---- */

static bool before_content(planner *planner, uint32_t node, const bitset *content) {
    const struct conflict_work *work = planner->work;
    for (uint32_t i = 0; i < work->write_count; i++) {
        uint32_t other = work->writes[i].node;
        if (bitset_has(content, other) && !order_is_before(&planner->order, node, other)) return false;
    }
    return true;
}

static insitu_status put_before_content(planner *planner, uint32_t node, const bitset *content, bool *out_ok) {
    const struct conflict_work *work = planner->work;
    *out_ok = true;
    for (uint32_t i = 0; i < work->write_count && *out_ok; i++)
        if (bitset_has(content, work->writes[i].node))
            TRY(order_add(&planner->order, node, work->writes[i].node, out_ok));
    return INSITU_OK;
}

/* A layer that stores element i after reading element i of the same place, or that moves all of it; and what stores one
 * copy and nothing else, which is a move if the places overlap, and nothing if they are the same. */
static bool may_store_over(const planner *planner, uint32_t node, const tensor_type *read, const tensor_type *written) {
    const plan_node *n = &planner->nodes[node];
    bool copies = n->kind == NODE_COPY, elementwise = false;
    if (n->kind == NODE_LAYER) {
        layer_kind kind = planner_layer(planner, n->index)->kind;
        copies =
            layer_is_copy(planner, n->index) || (kind_has(kind, TRAIT_PART) && planner->layers[n->index].takes_operand);
        elementwise = kind_has(kind, TRAIT_ELEMENTWISE) ||
                      (kind == LAYER_SHIFT_UPDATE && planner->layers[n->index].takes_operand);
    }
    if (copies && layout_moves(planner->pool, read, written)) return true;
    return (copies || elementwise) && layout_same(read, written);
}

static insitu_status check_read(planner *planner, uint32_t reader, const tensor_type *region, const bitset *content,
                                base_kind base, bool *out_ok, uint32_t *out_writer) {
    const struct conflict_work *work = planner->work;
    const region_span span = span_of(planner->pool, region);
    *out_ok = true;
    for (uint32_t i = 0; i < work->write_count; i++) {
        const write_event *write = &work->writes[i];
        if (!spans_meet(span, write->span) || bitset_has(content, write->node) ||
            !region_overlaps(planner->pool, region, &write->region))
            continue;
        if (reader == write->node && may_store_over(planner, reader, region, &write->region)) continue;
        if (base == BASE_MADE && before_content(planner, write->node, content)) continue;
        if (reader != planner->end) {
            TRY(order_add(&planner->order, reader, write->node, out_ok));
            if (*out_ok) continue;
        }
        *out_ok = false;
        if (base == BASE_MADE) TRY(put_before_content(planner, write->node, content, out_ok));
        if (*out_ok) continue;
        *out_writer = write->node;
        return INSITU_OK;
    }
    return INSITU_OK;
}

static bool is_read(const planner *planner, const use *use) {
    const layer *layer = planner_layer(planner, use->layer.index);
    const layer_plan *decided = &planner->layers[use->layer.index];
    if (decided->makes_view || decided->set_aside[use->operand] != NONE || decided->in_part[use->operand]) return false;
    bool taken = use->operand == 0 && decided->takes_operand;
    bool moves = layer->kind == LAYER_SHIFT_UPDATE; /* an element of the result is another one of the operand's */
    return !(taken && !moves && (kind_has(layer->kind, TRAIT_UPDATE) || layer_is_copy(planner, use->layer.index)));
}

/* All reads of one tensor. */
static insitu_status check_tensor(planner *planner, uint32_t t, const bitset *content, base_kind base, bool *out_ok,
                                  conflict *out_conflict) {
    const tensor_type *region = &planner->tensors[t].type;
    out_conflict->tensor = t;
    for (uint32_t i = planner->use_start[t]; i < planner->use_start[t + 1]; i++) {
        if (!is_read(planner, &planner->uses[i])) continue;
        out_conflict->reader = planner->layers[planner->uses[i].layer.index].node;
        TRY(check_read(planner, out_conflict->reader, region, content, base, out_ok, &out_conflict->writer));
        if (!*out_ok) return INSITU_OK;
    }
    for (uint32_t i = 0; i < planner->copy_count; i++) {
        const planned_copy *copy = planner->copies[i];
        if (!copy->active || copy->source.index != t || copy->set_aside != NONE) continue;
        out_conflict->reader = copy->node;
        TRY(check_read(planner, copy->node, region, content, base, out_ok, &out_conflict->writer));
        if (!*out_ok) return INSITU_OK;
    }
    for (uint32_t i = 0; i < planner->end_read_count; i++) {
        if (!planner->end_reads[i]->active || planner->end_reads[i]->tensor != t) continue;
        out_conflict->reader = planner->end;
        TRY(check_read(planner, planner->end, region, content, base, out_ok, &out_conflict->writer));
        if (!*out_ok) return INSITU_OK;
    }
    return INSITU_OK;
}

/* A source that is produced in its part must be stored after what the update's operand is made of:
 *     %z = fill(0); %p = exp(%a); %r = slice_update(%z, %p)     fill before exp, where exp stores into %z's memory */
static insitu_status order_parts(planner *planner, uint32_t root, bool *out_ok, conflict *out_conflict) {
    struct conflict_work *work = planner->work;
    *out_ok = true;
    if (planner->tensors[root].fixed) return INSITU_OK;
    uint32_t index = planner->network->tensors[root].producer.index;
    const layer *layer = planner_layer(planner, index);
    const layer_plan *decided = &planner->layers[index];
    if (!kind_has(layer->kind, TRAIT_PART) || !decided->takes_operand || !decided->in_part[1]) return INSITU_OK;
    base_kind ignored, source_base;
    const tensor_plan *source = planner_tensor(planner, layer->operands[1]);
    TRY(find_content(planner, planner->tensors[layer->operands[0].index].root.index, &work->content, &ignored));
    TRY(find_content(planner, source->root.index, &work->content2, &source_base));
    for (uint32_t i = 0; i < work->write_count; i++) {
        const write_event *first = &work->writes[i];
        if (!bitset_has(&work->content, first->node) || bitset_has(&work->content2, first->node)) continue;
        /* Bytes of the source that were there before the call can't come after anything. */
        if (source_base == BASE_INITIAL && region_overlaps(planner->pool, &first->region, &source->type)) {
            *out_ok = false;
            *out_conflict = (conflict){decided->node, NONE, first->node};
            return INSITU_OK;
        }
        for (uint32_t j = 0; j < work->write_count; j++) {
            const write_event *second = &work->writes[j];
            if (!bitset_has(&work->content2, second->node) ||
                !region_overlaps(planner->pool, &first->region, &second->region))
                continue;
            TRY(order_add(&planner->order, first->node, second->node, out_ok));
            *out_conflict = (conflict){second->node, NONE, first->node};
            if (!*out_ok) return INSITU_OK;
        }
    }
    return INSITU_OK;
}

/* What a copy stored must be intact at the end, if a state's final value is stored so. */
static insitu_status check_copied_ends(planner *planner, uint32_t storage, bool *out_ok, conflict *out_conflict) {
    bitset *content = &planner->work->content;
    *out_ok = true;
    for (uint32_t i = 0; i < planner->end_read_count && *out_ok; i++) {
        const end_read *end = planner->end_reads[i];
        if (!end->active || end->tensor != NONE) continue;
        const planned_copy *copy = planner->copies[end->copy];
        if (copy->target.storage != storage) continue;
        memset(content->words, 0, ((size_t)content->bits + 63) / 64 * sizeof *content->words);
        bitset_add(content, copy->node);
        *out_conflict = (conflict){planner->end, copy->source.index, NONE};
        TRY(check_read(planner, planner->end, &copy->target.type, content, BASE_MADE, out_ok, &out_conflict->writer));
    }
    return INSITU_OK;
}

static insitu_status order_barrier(planner *planner, uint32_t storage, bool *out_ok, conflict *out_conflict) {
    *out_ok = true;
    if (!planner->storages[storage].written) return INSITU_OK;
    for (uint32_t i = 0; i < planner->work->write_count && *out_ok; i++) {
        *out_conflict = (conflict){planner->barrier, NONE, planner->work->writes[i].node};
        TRY(order_add(&planner->order, planner->barrier, planner->work->writes[i].node, out_ok));
    }
    return INSITU_OK;
}

insitu_status conflicts_check(planner *planner, uint32_t storage, bool *out_ok, conflict *out_conflict) {
    struct conflict_work *work = planner->work;
    TRY(collect_writes(planner, storage));
    TRY(order_barrier(planner, storage, out_ok, out_conflict));
    for (uint32_t t = planner->storages[storage].members; t != NONE && *out_ok; t = planner->tensors[t].member_next) {
        base_kind base;
        if (planner->tensors[t].root.index == t) {
            TRY(order_parts(planner, t, out_ok, out_conflict));
            if (!*out_ok) return INSITU_OK;
        }
        TRY(find_content(planner, planner->tensors[t].root.index, &work->content, &base));
        TRY(check_tensor(planner, t, &work->content, base, out_ok, out_conflict));
    }
    if (*out_ok) TRY(check_copied_ends(planner, storage, out_ok, out_conflict));
    return INSITU_OK;
}

insitu_status conflicts_visit_writers(planner *planner, uint32_t storage, writer_visit_fn visit) {
    TRY(collect_writes(planner, storage));
    for (uint32_t i = 0; i < planner->work->write_count; i++) TRY(visit(planner, planner->work->writes[i].node));
    return INSITU_OK;
}
