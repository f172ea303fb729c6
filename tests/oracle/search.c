/* The cheapest schedule, by uniform-cost search over situations: which layers have run and where their results were made,
 * what every cell holds, what is set aside. Of equal cost the last found goes first. A situation that was reached before at
 * no more cost is dropped, so the first complete one is a minimum. */
#include "oracle.h"
#include <stdlib.h>
#include <string.h>

typedef struct decision {
    enum { BEGIN, RUN, BRING, FINISH } kind;
    uint32_t index; /* compute, tensor */
    uint8_t placed[2];
} decision_t;

typedef struct node {
    uint32_t cost, parent;
    decision_t decision;
    bool finished;
} node_t;

typedef struct searcher {
    const program_t *program;
    size_t size;     /* bytes of a situation */
    uint8_t *states; /* of every node */
    node_t *nodes;
    uint32_t count, limit;
    uint32_t *heap, heap_count;
    uint64_t *hashes; /* open addressing: hash of a situation; 0: free */
    uint32_t *costs;
    uint32_t bucket_count;
    uint8_t *scratch; /* need, busy, owner, and one situation */
} searcher_t;

/* Of need, busy and owner; a situation may follow. */
static size_t scratch_size(const program_t *program) {
    return ((program->cell_count + 1) * (sizeof(uint32_t) + 1) + program->value_count + 7) / 8 * 8;
}

static situation_t view(searcher_t *searcher, uint8_t *bytes, schedule_t *log) {
    const program_t *program = searcher->program;
    size_t cells = program->cell_count;
    situation_t now = {.program = program, .log = log};
    now.content = (uint16_t *)(void *)bytes;
    now.placed = bytes + cells * sizeof(uint16_t);
    now.flags = now.placed + 2 * program->compute_count;
    now.owner = (uint32_t *)(void *)searcher->scratch;
    now.busy = searcher->scratch + (cells + 1) * sizeof(uint32_t);
    now.need = now.busy + cells + 1;
    return now;
}

/* ---- nodes in order of cost ---- */

static bool before(const searcher_t *searcher, uint32_t a, uint32_t b) {
    const node_t *x = &searcher->nodes[a], *y = &searcher->nodes[b];
    return x->cost != y->cost ? x->cost < y->cost : a > b;
}

static void push(searcher_t *searcher, uint32_t node) {
    uint32_t at = searcher->heap_count++;
    for (; at > 0 && before(searcher, node, searcher->heap[(at - 1) / 2]); at = (at - 1) / 2)
        searcher->heap[at] = searcher->heap[(at - 1) / 2];
    searcher->heap[at] = node;
}

static uint32_t pop(searcher_t *searcher) {
    uint32_t top = searcher->heap[0], last = searcher->heap[--searcher->heap_count], at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= searcher->heap_count) break;
        if (child + 1 < searcher->heap_count && before(searcher, searcher->heap[child + 1], searcher->heap[child]))
            child++;
        if (!before(searcher, searcher->heap[child], last)) break;
        searcher->heap[at] = searcher->heap[child];
        at = child;
    }
    searcher->heap[at] = last;
    return top;
}

/* Is the situation new, or reached at less cost than before? */
static bool remember(searcher_t *searcher, const uint8_t *bytes, bool finished, uint32_t cost) {
    uint64_t hash = hash_bytes(bytes, searcher->size, finished) | 1;
    uint32_t at = (uint32_t)(hash >> 8) % searcher->bucket_count;
    while (searcher->hashes[at] && searcher->hashes[at] != hash) at = (at + 1) % searcher->bucket_count;
    if (searcher->hashes[at] == hash && searcher->costs[at] <= cost) return false;
    searcher->hashes[at] = hash;
    searcher->costs[at] = cost;
    return true;
}

static void add_node(searcher_t *searcher, uint32_t parent, decision_t decision, const situation_t *now,
                     const uint8_t *bytes) {
    uint32_t cost = searcher->nodes[parent].cost + now->cost;
    bool finished = decision.kind == FINISH;
    if (searcher->count == searcher->limit || !remember(searcher, bytes, finished, cost)) return;
    searcher->nodes[searcher->count] = (node_t){cost, parent, decision, finished};
    memcpy(searcher->states + searcher->count * searcher->size, bytes, searcher->size);
    push(searcher, searcher->count++);
}

/* ---- what follows ---- */

static bool apply(situation_t *now, const decision_t *decision) {
    const program_t *program = now->program;
    if (decision->kind == RUN) return situation_run(now, decision->index, decision->placed);
    if (decision->kind == BRING)
        return situation_bring(now, decision->index, &program->tensors[decision->index].places[decision->placed[0]]);
    situation_finish(now);
    return true;
}

/* Tries a decision in a copy of the node. *out_cost: what it costs; false: impossible. */
static bool try_decision(searcher_t *searcher, uint32_t parent, decision_t decision, bool add, uint32_t *out_cost) {
    const program_t *program = searcher->program;
    uint8_t *bytes = searcher->scratch + scratch_size(program);
    memcpy(bytes, searcher->states + parent * searcher->size, searcher->size);
    situation_t now = view(searcher, bytes, NULL);
    if (!apply(&now, &decision)) return false;
    if (out_cost) *out_cost = now.cost;
    if (add) add_node(searcher, parent, decision, &now, bytes);
    return true;
}

static const layer_t *layer_of(const searcher_t *searcher, uint32_t compute) {
    return &searcher->program->network->layers[searcher->program->computes[compute].layer];
}

static uint32_t place_options(const searcher_t *searcher, uint32_t compute, uint32_t result) {
    const layer_t *layer = layer_of(searcher, compute);
    if (result >= layer->result_count) return 0;
    return searcher->program->tensors[layer->results[result].index].place_count;
}

static bool may_place(const searcher_t *searcher, uint32_t compute, uint32_t result, uint32_t option) {
    if (option == 0) return true;
    return searcher->program->tensors[layer_of(searcher, compute)->results[result].index].places[option - 1].strided;
}

static void expand_run(searcher_t *searcher, uint32_t parent, uint32_t compute) {
    uint32_t first = place_options(searcher, compute, 0), second = place_options(searcher, compute, 1);
    for (uint32_t a = 0; a <= first; a++)
        for (uint32_t b = 0; b <= second; b++) {
            if (!may_place(searcher, compute, 0, a) || !may_place(searcher, compute, 1, b)) continue;
            decision_t decision = {.kind = RUN, .index = compute, .placed = {(uint8_t)(1 + a), (uint8_t)(1 + b)}};
            (void)try_decision(searcher, parent, decision, true, NULL);
        }
}

/* A layer that has no place in a state and costs nothing now: it is best run at once. */
static bool run_at_once(searcher_t *searcher, uint32_t parent, const situation_t *now) {
    for (uint32_t c = 0; c < searcher->program->compute_count; c++) {
        if (now->placed[2 * c] || !situation_is_ready(now, c)) continue;
        bool placeable = false;
        for (uint32_t r = 0; r < 2; r++)
            for (uint32_t p = place_options(searcher, c, r); p > 0; p--) placeable |= may_place(searcher, c, r, p);
        decision_t decision = {.kind = RUN, .index = c, .placed = {1, 1}};
        uint32_t cost = 0;
        if (placeable || !try_decision(searcher, parent, decision, false, &cost) || cost) continue;
        (void)try_decision(searcher, parent, decision, true, NULL);
        return true;
    }
    return false;
}

static void expand_brings(searcher_t *searcher, uint32_t parent, const situation_t *now, uint32_t compute) {
    const layer_t *layer = layer_of(searcher, compute);
    for (uint32_t k = 0; k < layer->operand_count; k++) {
        uint32_t index = layer->operands[k].index;
        const elements_t *tensor = &searcher->program->tensors[index];
        if (!situation_has(now, index) || situation_all_outside(now, index) || situation_shows(now, index)) continue;
        for (uint32_t p = 0; p < tensor->place_count; p++) {
            bool there = true;
            if (!tensor->places[p].whole) continue;
            for (uint32_t i = 0; i < tensor->count; i++)
                there &= now->content[tensor->places[p].cells[i]] == tensor->values[i];
            if (there) continue;
            decision_t decision = {.kind = BRING, .index = index, .placed = {(uint8_t)p, 0}};
            (void)try_decision(searcher, parent, decision, true, NULL);
        }
    }
}

static void expand(searcher_t *searcher, uint32_t parent) {
    const program_t *program = searcher->program;
    situation_t now = view(searcher, searcher->states + parent * searcher->size, NULL);
    bool all_ran = true;
    if (run_at_once(searcher, parent, &now)) return;
    for (uint32_t c = 0; c < program->compute_count; c++) {
        if (now.placed[2 * c]) continue;
        all_ran = false;
        if (!program->pieces || !program->computes[c].elementwise) expand_brings(searcher, parent, &now, c);
    }
    for (uint32_t c = 0; c < program->compute_count; c++)
        if (!now.placed[2 * c] && situation_is_ready(&now, c)) expand_run(searcher, parent, c);
    if (all_ran) (void)try_decision(searcher, parent, (decision_t){.kind = FINISH}, true, NULL);
}

/* ---- from the beginning to the end ---- */

static void find_outputs(situation_t *now, schedule_t *log) {
    const program_t *program = now->program;
    uint32_t count = 0;
    for (uint32_t o = 0; o < program->network->output_count; o++)
        if (program->network->outputs[o].kind == OUTPUT_TENSOR)
            count += program->tensors[program->network->outputs[o].tensor.index].count;
    log->outputs = oracle_array(log->arena, count, sizeof *log->outputs);
    count = 0;
    for (uint32_t o = 0; o < program->network->output_count; o++) {
        if (program->network->outputs[o].kind != OUTPUT_TENSOR) continue;
        const elements_t *tensor = &program->tensors[program->network->outputs[o].tensor.index];
        for (uint32_t i = 0; i < tensor->count; i++) situation_find(now, tensor->values[i], &log->outputs[count++]);
    }
}

/* The path to the node once more, written down. */
static void retrace(searcher_t *searcher, uint32_t last, schedule_t *log) {
    uint32_t *path = oracle_array(log->arena, searcher->count, sizeof *path), length = 0;
    for (uint32_t at = last; searcher->nodes[at].decision.kind != BEGIN; at = searcher->nodes[at].parent)
        path[length++] = at;
    situation_t now = view(searcher, searcher->states, log);
    while (length > 0) (void)apply(&now, &searcher->nodes[path[--length]].decision);
    find_outputs(&now, log);
}

static void begin(searcher_t *searcher) {
    const program_t *program = searcher->program;
    situation_t now = view(searcher, searcher->states, NULL);
    for (uint32_t i = 0; i < program->cell_count; i++) now.content[i] = (uint16_t)program->cells[i].initial;
    for (uint32_t c = 0; c < program->compute_count; c++) now.placed[2 * c] = program->computes[c].dead;
    (void)remember(searcher, searcher->states, false, 0);
    searcher->nodes[0] = (node_t){.decision = {.kind = BEGIN}, .parent = NONE};
    searcher->count = 1;
    push(searcher, 0);
}

void search(const program_t *program, uint32_t node_limit, arena_t *arena, search_result_t *out) {
    searcher_t searcher = {.program = program, .limit = node_limit, .bucket_count = 4 * node_limit + 16};
    size_t cells = program->cell_count;
    *out = (search_result_t){.refusal = "the search is too large", .schedule = {.arena = arena}};
    searcher.size = (cells * sizeof(uint16_t) + 2 * (size_t)program->compute_count + program->value_count + 7) / 8 * 8;
    searcher.states = calloc(node_limit, searcher.size);
    searcher.nodes = calloc(node_limit, sizeof *searcher.nodes);
    searcher.heap = calloc(node_limit, sizeof *searcher.heap);
    searcher.hashes = calloc(searcher.bucket_count, sizeof *searcher.hashes);
    searcher.costs = calloc(searcher.bucket_count, sizeof *searcher.costs);
    searcher.scratch = calloc(1, scratch_size(program) + searcher.size);
    if (!searcher.states || !searcher.nodes || !searcher.heap || !searcher.hashes || !searcher.costs ||
        !searcher.scratch)
        abort();
    begin(&searcher);
    while (searcher.heap_count > 0 && searcher.count < searcher.limit) {
        uint32_t at = pop(&searcher);
        if (searcher.nodes[at].finished) {
            out->refusal = NULL;
            out->cost = searcher.nodes[at].cost;
            retrace(&searcher, at, &out->schedule);
            break;
        }
        expand(&searcher, at);
    }
    out->nodes = searcher.count;
    free(searcher.states);
    free(searcher.nodes);
    free(searcher.heap);
    free(searcher.hashes);
    free(searcher.costs);
    free(searcher.scratch);
}
