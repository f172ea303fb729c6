/* walk: strided iteration in row-major order, cut into runs along the innermost dimension.
 *
 * Dimensions of size 1 are dropped and neighbours that lie together in every operand are fused (walk_merge), so that a
 * dense tensor of any rank is one run. A walk may start anywhere: threads share a tensor by element ranges. */
#include "backend/cpu/cpu_int.h"

void walk_init(walk_t *walk, uint32_t rank, const int64_t *sizes) {
    memset(walk, 0, sizeof(*walk));
    walk->rank = rank;
    for (uint32_t i = 0; i < rank; i++) walk->sizes[i] = sizes[i];
}

void walk_add(walk_t *walk, char *data, const int64_t *strides, int64_t size) {
    uint32_t slot = walk->count++;
    walk->data[slot] = data;
    for (uint32_t i = 0; i < walk->rank; i++) walk->strides[slot][i] = strides[i] * size;
}

void walk_add_operand(walk_t *walk, const kernel_call_t *call, const bound_operand_t *operand) {
    walk_add(walk, operand_data(call, operand), operand->strides, (int64_t)dtype_size(operand->dtype));
}

/* True if dimension b directly follows dimension a in memory, for every operand. */
static bool lie_together(const walk_t *walk, uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < walk->count; i++)
        if (walk->strides[i][a] != walk->strides[i][b] * walk->sizes[b]) return false;
    return true;
}

static void move_dimension(walk_t *walk, uint32_t to, uint32_t from) {
    walk->sizes[to] = walk->sizes[from];
    for (uint32_t i = 0; i < walk->count; i++) walk->strides[i][to] = walk->strides[i][from];
}

void walk_merge(walk_t *walk) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < walk->rank; i++) {
        if (walk->sizes[i] == 1) continue;
        if (kept && lie_together(walk, kept - 1, i)) {
            int64_t size = walk->sizes[kept - 1] * walk->sizes[i];
            move_dimension(walk, kept - 1, i);
            walk->sizes[kept - 1] = size;
        } else {
            move_dimension(walk, kept++, i);
        }
    }
    walk->rank = kept;
}

int64_t walk_total(const walk_t *walk) {
    int64_t total = 1;
    for (uint32_t i = 0; i < walk->rank; i++) total *= walk->sizes[i];
    return total;
}

static void set_run(walk_t *walk) {
    int64_t rest = walk->end - walk->position;
    int64_t row = walk->rank ? walk->sizes[walk->rank - 1] - walk->index[walk->rank - 1] : 1;
    walk->run = row < rest ? row : rest;
}

bool walk_start(walk_t *walk, int64_t begin, int64_t end) {
    if (begin >= end) return false;
    walk->position = begin;
    walk->end = end;
    int64_t rest = begin;
    for (uint32_t i = walk->rank; i-- > 0;) {
        walk->index[i] = rest % walk->sizes[i];
        rest /= walk->sizes[i];
        for (uint32_t k = 0; k < walk->count; k++) walk->data[k] += walk->index[i] * walk->strides[k][i];
    }
    for (uint32_t k = 0; k < walk->count; k++) walk->step[k] = walk->rank ? walk->strides[k][walk->rank - 1] : 0;
    set_run(walk);
    return true;
}

bool walk_next(walk_t *walk) {
    walk->position += walk->run;
    if (walk->position >= walk->end) return false;
    uint32_t inner = walk->rank - 1; /* a walk of rank 0 has one run */
    for (uint32_t k = 0; k < walk->count; k++) walk->data[k] -= walk->index[inner] * walk->strides[k][inner];
    walk->index[inner] = 0;
    for (uint32_t i = inner; i-- > 0;) {
        for (uint32_t k = 0; k < walk->count; k++) walk->data[k] += walk->strides[k][i];
        if (++walk->index[i] < walk->sizes[i]) break;
        for (uint32_t k = 0; k < walk->count; k++) walk->data[k] -= walk->sizes[i] * walk->strides[k][i];
        walk->index[i] = 0;
    }
    set_run(walk);
    return true;
}
