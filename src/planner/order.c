/* The partial order of nodes: rows of bits hold, for each node, all that must run before it. Adding a pair updates the
 * closure and, once trials begin, logs each changed word, so that a trial can be undone. */
#include "planner/planner_int.h"

insitu_status order_init(order_t *order, arena_t *arena, uint32_t node_capacity) {
    *order = (order_t){.arena = arena, .words = node_capacity / 64 + 1, .node_capacity = node_capacity};
    TRY(arena_array(arena, node_capacity, sizeof *order->has_successor, &order->has_successor));
    return arena_array(arena, (size_t)node_capacity * order->words, sizeof *order->before, &order->before);
}

static uint64_t *row_of(const order_t *order, uint32_t node) { return order->before + (size_t)node * order->words; }

insitu_status order_add_node(order_t *order, uint32_t *out_node) {
    if (order->node_count == order->node_capacity) return INSITU_INTERNAL;
    *out_node = order->node_count++;
    return INSITU_OK;
}

bool order_is_before(const order_t *order, uint32_t first, uint32_t second) {
    return (row_of(order, second)[first >> 6] >> (first & 63)) & 1;
}

bool order_follows_any(const order_t *order, uint32_t node, const bitset_t *nodes) {
    const uint64_t *row = row_of(order, node);
    for (uint32_t i = 0; i < (nodes->bits + 63) / 64; i++)
        if (row[i] & nodes->words[i]) return true;
    return false;
}

static insitu_status change_word(order_t *order, uint64_t *word, uint64_t value) {
    if (!order->is_logged) {
        *word = value;
        return INSITU_OK;
    }
    TRY(arena_grow(order->arena, &order->changes, &order->change_capacity, order->change_count + 1,
                   sizeof *order->changes));
    order->changes[order->change_count++] = (struct order_change){word, *word};
    *word = value;
    return INSITU_OK;
}

static insitu_status merge_row(order_t *order, uint32_t target, uint32_t first) {
    uint64_t *into = row_of(order, target);
    const uint64_t *from = row_of(order, first);
    uint32_t used = order->node_count / 64 + 1;
    for (uint32_t i = 0; i < used; i++) {
        uint64_t value = into[i] | from[i] | (i == first >> 6 ? UINT64_C(1) << (first & 63) : 0);
        if (value != into[i]) TRY(change_word(order, into + i, value));
    }
    return INSITU_OK;
}

insitu_status order_add(order_t *order, uint32_t first, uint32_t second, bool *out_possible) {
    *out_possible = first != second && !order_is_before(order, second, first);
    if (!*out_possible || order_is_before(order, first, second)) return INSITU_OK;
    TRY(arena_grow(order->arena, &order->edges, &order->edge_capacity, order->edge_count + 1, sizeof *order->edges));
    order->edges[order->edge_count++] = (edge_t){first, second};
    order->has_successor[first] = true;
    order->steps += order->words / 8 + 1;
    TRY(merge_row(order, second, first));
    if (!order->has_successor[second]) return INSITU_OK;
    order->steps += order->node_count / 8;
    for (uint32_t node = 0; node < order->node_count; node++) {
        /* What comes after the first already comes after all that it comes after. */
        if (!order_is_before(order, second, node) || order_is_before(order, first, node)) continue;
        order->steps += order->words / 8 + 1;
        TRY(merge_row(order, node, first));
    }
    return INSITU_OK;
}

order_mark_t order_position(const order_t *order) { return (order_mark_t){order->edge_count, order->change_count}; }

void order_undo(order_t *order, order_mark_t mark) {
    while (order->change_count > mark.change_count) {
        order->change_count--;
        *order->changes[order->change_count].word = order->changes[order->change_count].old;
    }
    order->edge_count = mark.edge_count;
}

/* A binary heap of nodes by (key, node). */
typedef struct heap {
    uint32_t *items;
    uint32_t count;
    const uint32_t *keys;
} heap_t;

static bool comes_first(const heap_t *heap, uint32_t a, uint32_t b) {
    return heap->keys[a] != heap->keys[b] ? heap->keys[a] < heap->keys[b] : a < b;
}

static void heap_push(heap_t *heap, uint32_t node) {
    uint32_t at = heap->count++;
    while (at > 0 && comes_first(heap, node, heap->items[(at - 1) / 2])) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = node;
}

static uint32_t heap_pop(heap_t *heap) {
    uint32_t top = heap->items[0], last = heap->items[--heap->count], at = 0;
    while (2 * at + 1 < heap->count) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < heap->count && comes_first(heap, heap->items[child + 1], heap->items[child])) child++;
        if (!comes_first(heap, heap->items[child], last)) break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
    return top;
}

insitu_status order_sort(const order_t *order, const uint32_t *keys, arena_t *scratch, uint32_t *out_nodes) {
    uint32_t count = order->node_count;
    uint32_t *waiting, *start, *targets;
    heap_t heap = {.keys = keys};
    TRY(arena_array(scratch, count + 1, sizeof *waiting, &waiting));
    TRY(arena_array(scratch, count + 2, sizeof *start, &start));
    TRY(arena_array(scratch, order->edge_count + 1, sizeof *targets, &targets));
    TRY(arena_array(scratch, count + 1, sizeof *heap.items, &heap.items));
    for (uint32_t i = 0; i < order->edge_count; i++) {
        start[order->edges[i].from + 2]++;
        waiting[order->edges[i].to]++;
    }
    for (uint32_t i = 2; i < count + 2; i++) start[i] += start[i - 1];
    for (uint32_t i = 0; i < order->edge_count; i++) targets[start[order->edges[i].from + 1]++] = order->edges[i].to;
    for (uint32_t i = 0; i < count; i++)
        if (waiting[i] == 0) heap_push(&heap, i);
    uint32_t done = 0;
    while (heap.count > 0) {
        uint32_t node = heap_pop(&heap);
        out_nodes[done++] = node;
        for (uint32_t i = start[node]; i < start[node + 1]; i++)
            if (--waiting[targets[i]] == 0) heap_push(&heap, targets[i]);
    }
    return done == count ? INSITU_OK : INSITU_INTERNAL;
}
