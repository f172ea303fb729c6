/* What may be done in a situation, what it costs, and what follows. See oracle.h for the rules. */
#include "oracle.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_RESCUES = 12, MAX_BASES = 64 };

static const value_t *value_at(const situation_t *now, uint32_t id) { return &now->program->values[id]; }

static const layer_t *layer_at(const situation_t *now, uint32_t compute) {
    return &now->program->network->layers[now->program->computes[compute].layer];
}

static const elements_t *operand_at(const situation_t *now, uint32_t compute, uint32_t operand) {
    return &now->program->tensors[layer_at(now, compute)->operands[operand].index];
}

/* ---- where values are ---- */

static bool exists(const situation_t *now, uint32_t id) {
    const value_t *value = value_at(now, id);
    return value->kind != VALUE_COMPUTED || now->placed[2 * value->compute] != 0;
}

static bool outside(const situation_t *now, uint32_t id, location_t *out) {
    const value_t *value = value_at(now, id);
    *out = (location_t){IN_FIXED, id};
    if (value->kind == VALUE_FIXED || value->kind == VALUE_UNDEFINED) return true;
    out->kind = IN_ASIDE;
    if (now->flags[id] & SET_ASIDE) return true;
    out->kind = IN_RESULT;
    if (value->kind == VALUE_COMPUTED && now->placed[2 * value->compute + value->result] == 1) return true;
    out->kind = IN_KEPT;
    return (now->flags[id] & KEPT) != 0;
}

static uint32_t cell_of(const situation_t *now, uint32_t id, uint32_t but) {
    for (uint32_t i = 0; i < now->program->cell_count; i++)
        if (now->content[i] == id && i != but && !now->busy[i]) return i;
    return NONE;
}

void situation_find(const situation_t *now, uint32_t id, location_t *out) {
    if (!outside(now, id, out)) *out = (location_t){IN_STATE, cell_of(now, id, NONE)};
}

bool situation_has(const situation_t *now, uint32_t tensor) {
    const elements_t *elements = &now->program->tensors[tensor];
    for (uint32_t i = 0; i < elements->count; i++)
        if (!exists(now, elements->values[i])) return false;
    return true;
}

bool situation_all_outside(const situation_t *now, uint32_t tensor) {
    const elements_t *elements = &now->program->tensors[tensor];
    location_t where;
    for (uint32_t i = 0; i < elements->count; i++)
        if (!outside(now, elements->values[i], &where)) return false;
    return true;
}

bool situation_is_ready(const situation_t *now, uint32_t compute) {
    const layer_t *layer = layer_at(now, compute);
    for (uint32_t i = 0; i < layer->operand_count; i++)
        if (!situation_has(now, layer->operands[i].index)) return false;
    return true;
}

/* What final values, results and layers that have not run need. Of layer except only what others need too. */
static void find_needs(situation_t *now, uint32_t except) {
    const program_t *program = now->program;
    memset(now->need, 0, program->value_count);
    for (uint32_t i = 0; i < program->cell_count; i++) now->need[program->cells[i].last] = 1;
    for (uint32_t c = 0; c < program->compute_count; c++) {
        if (now->placed[2 * c] || c == except) continue;
        for (uint32_t k = 0; k < layer_at(now, c)->operand_count; k++) {
            const elements_t *operand = operand_at(now, c, k);
            for (uint32_t i = 0; i < operand->count; i++) now->need[operand->values[i]] = 1;
        }
    }
    for (uint32_t o = 0; o < program->network->output_count; o++) {
        if (program->network->outputs[o].kind != OUTPUT_TENSOR) continue;
        const elements_t *output = &program->tensors[program->network->outputs[o].tensor.index];
        for (uint32_t i = 0; i < output->count; i++) now->need[output->values[i]] = 1;
    }
    for (uint32_t i = 0; i < program->value_count; i++)
        if (program->values[i].kind == VALUE_UNDEFINED) now->need[i] = 0;
}

/* ---- single moves ---- */

static void log_move(situation_t *now, location_t to, location_t from) {
    if (!now->log) return;
    schedule_t *log = now->log;
    if (arena_grow(log->arena, &log->steps, &log->capacity, log->count + 1, sizeof *log->steps) != INSITU_OK) abort();
    log->steps[log->count++] = (schedule_step_t){.to = to, .from = from};
}

static void spill(situation_t *now, uint32_t at) {
    uint32_t id = now->content[at];
    now->flags[id] |= SET_ASIDE;
    now->cost += value_at(now, id)->bytes;
    log_move(now, (location_t){IN_ASIDE, id}, (location_t){IN_STATE, at});
}

static void keep(situation_t *now, uint32_t at) {
    uint32_t id = now->content[at];
    now->flags[id] |= KEPT;
    log_move(now, (location_t){IN_KEPT, id}, (location_t){IN_STATE, at});
}

static void store(situation_t *now, uint32_t at, uint32_t id) {
    location_t from = {IN_STATE, NONE};
    for (uint32_t i = 0; i < now->program->cell_count && from.index == NONE; i++)
        if (now->content[i] == id) from.index = i;
    bool moves = from.index != NONE || (outside(now, id, &from) && (from.kind == IN_FIXED || from.kind == IN_ASIDE));
    if (!moves && !value_at(now, id)->written) now->cost += value_at(now, id)->bytes;
    log_move(now, (location_t){IN_STATE, at}, from);
    now->content[at] = (uint16_t)id;
}

/* Is there a cell that is yet to be given the value, at being stored over? */
static bool is_wanted(const situation_t *now, uint32_t id, uint32_t at) {
    for (uint32_t i = 0; i < now->program->cell_count; i++)
        if (now->program->cells[i].last == id && (now->content[i] != id || i == at)) return true;
    for (uint32_t i = 0; i < now->row_count; i++)
        if (now->rows[i].id == id && now->content[now->rows[i].at] != id) return true;
    return false;
}

/* May the cell be stored over for nothing? What the program keeps anyway is kept now. */
static bool is_free(situation_t *now, uint32_t at) {
    uint32_t id = now->content[at];
    location_t where;
    if (!now->need[id] || cell_of(now, id, at) != NONE) return true;
    bool is_outside = outside(now, id, &where);
    if (is_outside && (where.kind == IN_FIXED || where.kind == IN_ASIDE)) return true;
    if (is_wanted(now, id, at) && !value_at(now, id)->written) return false;
    if (!is_outside && value_at(now, id)->kept) keep(now, at);
    return is_outside || value_at(now, id)->kept;
}

/* Stores the value at a cell where it is at last to be, if nothing is lost by that. */
static bool rescue(situation_t *now, uint32_t at, uint32_t depth) {
    uint32_t id = now->content[at];
    bool done = false, was_busy = now->busy[at];
    if (depth == MAX_RESCUES) return false;
    now->busy[at] = 1;
    for (uint32_t i = 0; i < now->program->cell_count && !done; i++) {
        if (now->program->cells[i].last != id || now->content[i] == id || now->busy[i]) continue;
        if (!is_free(now, i) && !rescue(now, i, depth + 1)) continue;
        store(now, i, id);
        done = true;
    }
    now->busy[at] = was_busy;
    return done;
}

/* Before a cell is stored over. */
static void vacate(situation_t *now, uint32_t at) {
    location_t where;
    if (!is_free(now, at) && !rescue(now, at, 0) && !outside(now, now->content[at], &where)) spill(now, at);
}

/* ---- storing many at once ---- */

static bool is_pending(const pending_t *rows, uint32_t count, uint32_t id) {
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].id == id) return true;
    return false;
}

/* The row to be stored although its old value is needed: one that nothing stores if there is one, else the smallest. */
static uint32_t choose(const situation_t *now, const pending_t *rows, uint32_t count) {
    uint32_t best = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t old = now->content[rows[i].at];
        if (!is_pending(rows, count, old)) return i;
        if (value_at(now, old)->bytes < value_at(now, now->content[rows[best].at])->bytes) best = i;
    }
    return best;
}

static void store_all(situation_t *now, pending_t *rows, uint32_t count) {
    now->rows = rows;
    while (count > 0) {
        now->row_count = count;
        uint32_t left = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (now->content[rows[i].at] == rows[i].id) continue;
            if (is_free(now, rows[i].at))
                store(now, rows[i].at, rows[i].id);
            else
                rows[left++] = rows[i];
        }
        if (left == count) {
            uint32_t row = choose(now, rows, count);
            vacate(now, rows[row].at);
            store(now, rows[row].at, rows[row].id);
        }
        count = left;
    }
    now->row_count = 0;
}

static pending_t *pending_rows(const situation_t *now) {
    pending_t *rows = calloc(now->program->cell_count + 1, sizeof *rows);
    if (!rows) abort();
    return rows;
}

static void bring(situation_t *now, const elements_t *tensor, const place_t *place) {
    pending_t *rows = pending_rows(now);
    uint32_t count = 0;
    for (uint32_t i = 0; i < tensor->count; i++)
        if (value_at(now, tensor->values[i])->kind != VALUE_UNDEFINED)
            rows[count++] = (pending_t){place->cells[i], tensor->values[i]};
    store_all(now, rows, count);
    free(rows);
}

bool situation_bring(situation_t *now, uint32_t tensor, const place_t *place) {
    find_needs(now, NONE);
    bring(now, &now->program->tensors[tensor], place);
    return true;
}

void situation_finish(situation_t *now) {
    const program_t *program = now->program;
    pending_t *rows = pending_rows(now);
    uint32_t count = 0;
    find_needs(now, NONE);
    for (uint32_t i = 0; i < program->cell_count; i++)
        if (value_at(now, program->cells[i].last)->kind != VALUE_UNDEFINED)
            rows[count++] = (pending_t){i, program->cells[i].last};
    store_all(now, rows, count);
    free(rows);
}

/* ---- reading ---- */

/* May the layer read these cells, with what it stores to? owner: element of the result + 1. */
static bool may_read(const situation_t *now, bool replaces, const elements_t *tensor, const uint32_t *cells) {
    for (uint32_t i = 0; i < tensor->count; i++) {
        uint32_t owner = now->owner[cells[i]];
        if (owner && (!replaces || (owner - 1) % tensor->count != i)) return false;
    }
    return true;
}

typedef struct finding {
    const situation_t *now;
    const elements_t *tensor;
    bool replaces;
    int64_t strides[MAX_RANK];
    uint32_t *cells;
} finding_t;

static bool try_strides(finding_t *finding, uint32_t base, uint32_t dim) {
    const situation_t *now = finding->now;
    const elements_t *tensor = finding->tensor;
    uint32_t count = now->program->cell_count, storage = now->program->cells[base].storage;
    if (dim < tensor->rank) {
        uint32_t step = 1;
        for (uint32_t d = tensor->rank; d-- > dim + 1;) step *= (uint32_t)tensor->sizes[d];
        finding->strides[dim] = 0;
        if (tensor->sizes[dim] == 1) return try_strides(finding, base, dim + 1);
        for (uint32_t i = 0; i < count; i++) {
            if (now->content[i] != tensor->values[step] || now->program->cells[i].storage != storage) continue;
            finding->strides[dim] = (int64_t)i - base;
            if (try_strides(finding, base, dim + 1)) return true;
        }
        return false;
    }
    for (uint32_t i = 0; i < tensor->count; i++) {
        int64_t at = base, flat = i;
        for (uint32_t d = tensor->rank; d-- > 0; flat /= tensor->sizes[d])
            at += flat % tensor->sizes[d] * finding->strides[d];
        if (at < 0 || at >= count || now->content[at] != tensor->values[i]) return false;
        if (now->program->cells[at].storage != storage) return false;
        finding->cells[i] = (uint32_t)at;
    }
    return may_read(now, finding->replaces, tensor, finding->cells);
}

/* The tensor as one strided view of a state. */
static bool find_view(const situation_t *now, const elements_t *tensor, bool replaces, uint32_t *cells) {
    finding_t finding = {.now = now, .tensor = tensor, .replaces = replaces, .cells = cells};
    if (tensor->count == 0) return true;
    for (uint32_t i = 0; i < now->program->cell_count; i++)
        if (now->content[i] == tensor->values[0] && try_strides(&finding, i, 0)) return true;
    return false;
}

bool situation_shows(const situation_t *now, uint32_t tensor) {
    const elements_t *elements = &now->program->tensors[tensor];
    uint32_t *cells = calloc(elements->count + 1, sizeof *cells);
    if (!cells) abort();
    bool found = find_view(now, elements, true, cells);
    free(cells);
    return found;
}

/* Element by element, from wherever each is and may be read. */
static bool find_piece(const situation_t *now, uint32_t id, uint32_t element, location_t *out) {
    if (outside(now, id, out)) return true;
    for (uint32_t i = 0; i < now->program->cell_count; i++) {
        if (now->content[i] != id || (now->owner[i] && now->owner[i] != element + 1)) continue;
        *out = (location_t){IN_STATE, i};
        return true;
    }
    return false;
}

static void gather(situation_t *now, uint32_t id, location_t *out) {
    if (outside(now, id, out)) return;
    uint32_t at = 0;
    while (now->content[at] != id) at++;
    if (value_at(now, id)->kept)
        keep(now, at);
    else
        spill(now, at);
    (void)outside(now, id, out);
}

static void read_operand(situation_t *now, const elements_t *tensor, const compute_t *compute, bool must_gather,
                         location_t *out) {
    uint32_t *cells = calloc(tensor->count + 1, sizeof *cells);
    if (!cells) abort();
    bool all_outside = true;
    for (uint32_t i = 0; i < tensor->count && all_outside; i++) all_outside = outside(now, tensor->values[i], &out[i]);
    if (!all_outside && !must_gather && find_view(now, tensor, compute->replaces, cells)) {
        for (uint32_t i = 0; i < tensor->count; i++) out[i] = (location_t){IN_STATE, cells[i]};
    } else if (!all_outside) {
        bool pieces = now->program->pieces && compute->elementwise;
        for (uint32_t i = 0; i < tensor->count; i++)
            if (!pieces || !find_piece(now, tensor->values[i], i, &out[i])) gather(now, tensor->values[i], &out[i]);
    }
    free(cells);
}

/* ---- running a layer ---- */

static void log_run(situation_t *now, uint32_t index, const location_t *operands, uint32_t operand_count,
                    const location_t *results, uint32_t result_count) {
    schedule_t *log = now->log;
    if (!log) return;
    if (arena_grow(log->arena, &log->steps, &log->capacity, log->count + 1, sizeof *log->steps) != INSITU_OK) abort();
    schedule_step_t *step = &log->steps[log->count++];
    *step = (schedule_step_t){.runs = true, .compute = index};
    step->operands = oracle_array(log->arena, operand_count, sizeof *operands);
    step->results = oracle_array(log->arena, result_count, sizeof *results);
    memcpy(step->operands, operands, operand_count * sizeof *operands);
    memcpy(step->results, results, result_count * sizeof *results);
}

/* The cells that the layer stores to are claimed; what else needs from them is moved away. False: claimed twice. */
static bool claim(situation_t *now, uint32_t index, const uint8_t placed[2]) {
    const layer_t *layer = layer_at(now, index);
    find_needs(now, index);
    for (uint32_t r = 0; r < layer->result_count; r++) {
        const elements_t *result = &now->program->tensors[layer->results[r].index];
        for (uint32_t i = 0; placed[r] >= 2 && i < result->count; i++) {
            uint32_t at = result->places[placed[r] - 2].cells[i];
            if (now->busy[at]) return false;
            now->busy[at] = 1;
            now->owner[at] = i + 1;
        }
    }
    uint8_t *others = calloc(now->program->value_count + 1, 1);
    if (!others) abort();
    memcpy(others, now->need, now->program->value_count);
    find_needs(now, NONE);
    for (uint32_t i = 0; i < now->program->cell_count; i++)
        if (now->owner[i] && others[now->content[i]]) vacate(now, i);
    free(others);
    return true;
}

static void unclaim(situation_t *now) {
    memset(now->busy, 0, now->program->cell_count);
    memset(now->owner, 0, now->program->cell_count * sizeof *now->owner);
}

static uint32_t result_locations(situation_t *now, uint32_t index, const uint8_t placed[2], location_t *out) {
    const layer_t *layer = layer_at(now, index);
    uint32_t count = 0;
    for (uint32_t r = 0; r < layer->result_count; r++) {
        const elements_t *result = &now->program->tensors[layer->results[r].index];
        now->placed[2 * index + r] = placed[r];
        for (uint32_t i = 0; i < result->count; i++) {
            out[count] = (location_t){IN_RESULT, result->values[i]};
            if (placed[r] >= 2) {
                out[count] = (location_t){IN_STATE, result->places[placed[r] - 2].cells[i]};
                now->content[out[count].index] = (uint16_t)result->values[i];
            }
            count++;
        }
    }
    return count;
}

bool situation_run(situation_t *now, uint32_t index, const uint8_t placed[2]) {
    const compute_t *compute = &now->program->computes[index];
    const layer_t *layer = layer_at(now, index);
    uint32_t operands = 0, results = 0;
    for (uint32_t k = 0; k < layer->operand_count; k++) operands += operand_at(now, index, k)->count;
    for (uint32_t r = 0; r < layer->result_count; r++) results += now->program->tensors[layer->results[r].index].count;
    location_t *from = calloc(operands + results + 1, sizeof *from);
    if (!from) abort();
    bool in_place = compute->updates && placed[0] >= 2;
    const place_t *place = NULL;
    if (in_place) place = &now->program->tensors[layer->results[0].index].places[placed[0] - 2];
    if (in_place) (void)situation_bring(now, layer->operands[0].index, place);
    bool done = claim(now, index, placed);
    operands = 0;
    for (uint32_t k = 0; k < layer->operand_count && done; k++) {
        const elements_t *operand = operand_at(now, index, k);
        location_t *out = from + operands;
        operands += operand->count;
        if (k == 0 && in_place) {
            for (uint32_t i = 0; i < operand->count; i++) {
                done &= now->content[place->cells[i]] == operand->values[i];
                out[i] = (location_t){IN_STATE, place->cells[i]};
            }
            continue;
        }
        read_operand(now, operand, compute, compute->updates && k == 0, out);
    }
    if (done) {
        results = result_locations(now, index, placed, from + operands);
        log_run(now, index, from, operands, from + operands, results);
    }
    unclaim(now);
    free(from);
    return done;
}
