/* Copies a strided tensor's elements to another strided place, as bytes. */
#include "plan/bound_plan.h"

typedef struct copy_loops {
    uint32_t count;
    int64_t sizes[MAX_RANK], target[MAX_RANK], source[MAX_RANK]; /* strides in bytes, outermost first */
} copy_loops_t;

/* Drops dimensions of size 1 and joins neighbours that both sides step through evenly. */
static copy_loops_t make_loops(uint32_t rank, const int64_t *sizes, const int64_t *target_steps,
                               const int64_t *source_steps) {
    copy_loops_t loops = {0};
    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] == 1) continue;
        int64_t target = target_steps[i], source = source_steps[i];
        uint32_t last = loops.count - 1;
        if (loops.count && loops.target[last] == target * sizes[i] && loops.source[last] == source * sizes[i]) {
            loops.sizes[last] *= sizes[i];
            loops.target[last] = target;
            loops.source[last] = source;
            continue;
        }
        loops.sizes[loops.count] = sizes[i];
        loops.target[loops.count] = target;
        loops.source[loops.count] = source;
        loops.count++;
    }
    return loops;
}

static void copy_row(uint8_t *target, const uint8_t *source, size_t item_size, int64_t count, int64_t target_step,
                     int64_t source_step) {
    if (target_step == (int64_t)item_size && source_step == (int64_t)item_size) {
        memcpy(target, source, (size_t)count * item_size);
        return;
    }
    for (int64_t i = 0; i < count; i++) memcpy(target + i * target_step, source + i * source_step, item_size);
}

void strided_copy_bytes(size_t item_size, uint32_t rank, const int64_t *sizes, void *target,
                        const int64_t *target_steps, const void *source, const int64_t *source_steps) {
    for (uint32_t i = 0; i < rank; i++)
        if (sizes[i] == 0) return;
    copy_loops_t loops = make_loops(rank, sizes, target_steps, source_steps);
    uint8_t *to = target;
    const uint8_t *from = source;
    if (loops.count == 0) {
        memcpy(to, from, item_size);
        return;
    }
    uint32_t inner = loops.count - 1;
    int64_t position[MAX_RANK] = {0};
    for (;;) {
        copy_row(to, from, item_size, loops.sizes[inner], loops.target[inner], loops.source[inner]);
        uint32_t dim = inner;
        for (;;) {
            if (dim == 0) return;
            dim--;
            to += loops.target[dim];
            from += loops.source[dim];
            if (++position[dim] < loops.sizes[dim]) break;
            to -= loops.target[dim] * loops.sizes[dim];
            from -= loops.source[dim] * loops.sizes[dim];
            position[dim] = 0;
        }
    }
}

void byte_steps(dtype_t type, uint32_t rank, const int64_t *strides, int64_t *out_steps) {
    for (uint32_t i = 0; i < rank; i++) out_steps[i] = strides[i] * (int64_t)dtype_size(type);
}

void strided_copy(dtype_t type, uint32_t rank, const int64_t *sizes, void *target, const int64_t *target_strides,
                  const void *source, const int64_t *source_strides) {
    int64_t target_steps[MAX_RANK], source_steps[MAX_RANK];
    byte_steps(type, rank, target_strides, target_steps);
    byte_steps(type, rank, source_strides, source_steps);
    strided_copy_bytes(dtype_size(type), rank, sizes, target, target_steps, source, source_steps);
}
