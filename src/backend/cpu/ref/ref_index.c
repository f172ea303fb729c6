/* index (torch's advanced indexing) and gather: elements at places that index operands give.
 *
 * In index the elements of x lie along its indexed dimensions (dims) and its other ones (the rest); the result has the
 * index tensors' sizes where the first of dims was if dims are neighbours, else in front, and the rest's sizes.
 *   x f32[V,D], dims [0], index i64[T] -> f32[T,D]
 * index_update uses the same layout for its source. */
#include "backend/cpu/ref/ref_index.h"
#include "backend/cpu/cpu_int.h"

bool index_layout_read(const bound_step_t *step, const bound_operand_t *x, const bound_operand_t *gathered,
                       uint32_t first_index, index_layout_t *out, reason_t *why) {
    uint32_t count = attr_count(step, ATTR_DIMS);
    if (!count || count > x->rank || step->operand_count != first_index + count)
        return decline(why, "it does not have one index operand a dimension");
    const bound_operand_t *indices = &step->operands[first_index];
    *out = (index_layout_t){.count = count, .indices = indices, .index_rank = indices->rank};
    bool indexed[MAX_RANK] = {false}, neighbours = true;
    for (uint32_t i = 0; i < count; i++) {
        int64_t dim = attr_item(step, ATTR_DIMS, i, 0);
        if (dim < 0 || dim >= x->rank || indexed[dim]) return decline(why, "an indexed dimension is out of range");
        indexed[dim] = true;
        out->dims[i] = (uint32_t)dim;
        if (i && out->dims[i] != out->dims[i - 1] + 1) neighbours = false;
        if (indices[i].dtype != DTYPE_I64 && indices[i].dtype != DTYPE_I32)
            return decline(why, "an index operand is neither i64 nor i32");
        if (!operand_same_sizes(&indices[i], indices)) return decline(why, "the index operands' sizes differ");
    }
    out->front = neighbours ? out->dims[0] : 0;
    if (gathered->rank != x->rank - count + indices->rank) return decline(why, "the ranks do not fit");
    for (uint32_t i = 0; i < indices->rank; i++)
        if (gathered->sizes[out->front + i] != indices->sizes[i]) return decline(why, "the sizes do not fit");
    uint32_t rest = 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (indexed[i]) continue;
        uint32_t at = rest < out->front ? rest : rest + indices->rank;
        if (gathered->sizes[at] != x->sizes[i]) return decline(why, "the sizes do not fit");
        out->rest_sizes[rest] = x->sizes[i];
        out->rest_x_strides[rest] = x->strides[i];
        out->rest_strides[rest++] = gathered->strides[at];
    }
    out->rest_rank = rest;
    return true;
}

bool index_place(const kernel_call_t *call, const index_layout_t *layout, const bound_operand_t *x,
                 const bound_operand_t *gathered, int64_t position, index_pair_t *out) {
    bool wrap = attr_int(call->step, ATTR_WRAP, 0) != 0;
    int64_t size = (int64_t)dtype_size(x->dtype);
    *out = (index_pair_t){operand_data(call, x), operand_data(call, gathered)};
    for (uint32_t i = 0; i < layout->count; i++) {
        int64_t extent = x->sizes[layout->dims[i]];
        if (extent == 0) return false;
        const bound_operand_t *operand = &layout->indices[i];
        int64_t index = index_inside(index_value(operand, operand_data(call, operand), position), extent, wrap);
        out->x += index * x->strides[layout->dims[i]] * size;
    }
    for (uint32_t i = layout->index_rank; i-- > 0;) {
        int64_t extent = layout->indices[0].sizes[i];
        out->gathered += position % extent * gathered->strides[layout->front + i] * size;
        position /= extent;
    }
    return true;
}

void index_rest_walk(const index_layout_t *layout, int64_t size, walk_t *out) {
    walk_init(out, layout->rest_rank, layout->rest_sizes);
    walk_add(out, NULL, layout->rest_x_strides, size);
    walk_add(out, NULL, layout->rest_strides, size);
    walk_merge(out);
}

bool ref_index_can_run(const bound_step_t *step, reason_t *why) {
    index_layout_t layout;
    if (step->operands[0].dtype != step->results[0].dtype) return decline(why, "the dtypes differ");
    return index_layout_read(step, &step->operands[0], &step->results[0], 1, &layout, why);
}

void ref_index(const kernel_call_t *call) {
    const bound_operand_t *x = &call->step->operands[0], *r = &call->step->results[0];
    index_layout_t layout;
    reason_t why;
    walk_t rest;
    if (!index_layout_read(call->step, x, r, 1, &layout, &why)) return;
    uint32_t size = dtype_size(x->dtype);
    index_rest_walk(&layout, size, &rest);
    int64_t width = walk_total(&rest), begin, end;
    call_share(call, operand_numel(r), 16, &begin, &end);
    while (begin < end) {
        int64_t position = begin / width, first = begin % width, last = end - position * width;
        if (last > width) last = width;
        index_pair_t pair;
        walk_t walk = rest;
        if (index_place(call, &layout, x, r, position, &pair)) {
            walk.data[0] = pair.x;
            walk.data[1] = pair.gathered;
            if (walk_start(&walk, first, last)) {
                do element_copy(size, walk.data[1], walk.step[1], walk.data[0], walk.step[0], walk.run);
                while (walk_next(&walk));
            }
        }
        begin += last - first;
    }
}

/* ---- gather ---- */
bool lines_of_index_fit(const bound_step_t *step, const bound_operand_t *index, const bound_operand_t *other,
                        reason_t *why) {
    const bound_operand_t *x = &step->operands[0];
    int64_t dim = attr_dim(step, ATTR_DIM);
    if (dim < 0) return decline(why, "the dimension is out of range");
    if (index->dtype != DTYPE_I64 && index->dtype != DTYPE_I32) return decline(why, "the index is neither i64 nor i32");
    if (other->dtype != x->dtype) return decline(why, "the dtypes differ");
    if (index->rank != x->rank || other->rank != x->rank) return decline(why, "the ranks differ");
    for (uint32_t i = 0; i < x->rank; i++)
        if ((i != dim && index->sizes[i] > x->sizes[i]) || index->sizes[i] > other->sizes[i])
            return decline(why, "the index is larger than an operand");
    return true;
}

bool ref_gather_can_run(const bound_step_t *step, reason_t *why) {
    if (!operand_same_sizes(&step->operands[1], &step->results[0]))
        return decline(why, "the index does not have the result's sizes");
    return lines_of_index_fit(step, &step->operands[1], &step->results[0], why);
}

void ref_gather(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *x = &step->operands[0], *index = &step->operands[1], *r = &step->results[0];
    int64_t dim = attr_dim(step, ATTR_DIM), extent = x->rank ? x->sizes[dim] : 1, x_strides[MAX_RANK], begin, end;
    uint32_t size = dtype_size(x->dtype);
    memcpy(x_strides, x->strides, sizeof(x_strides));
    if (x->rank) x_strides[dim] = 0;
    int64_t x_step = x->rank ? x->strides[dim] * (int64_t)size : 0;
    walk_t walk;
    walk_init(&walk, r->rank, r->sizes);
    walk_add_operand(&walk, call, r);
    walk_add_operand(&walk, call, index);
    walk_add(&walk, operand_data(call, x), x_strides, size);
    walk_merge(&walk);
    call_share(call, walk_total(&walk), 64, &begin, &end);
    if (extent == 0 || !walk_start(&walk, begin, end)) return;
    do {
        for (int64_t i = 0; i < walk.run; i++) {
            int64_t at = index_inside(element_int(index->dtype, walk.data[1] + i * walk.step[1]), extent, false);
            memcpy(walk.data[0] + i * walk.step[0], walk.data[2] + i * walk.step[2] + at * x_step, size);
        }
    } while (walk_next(&walk));
}
