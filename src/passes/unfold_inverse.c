/* Writing through unfold: what the parent becomes when its windows become a value (..., n, ..., size).
 *
 *     windows that adjoin     the size goes behind n, both become one dimension, put over the parent's first n size
 *     windows with gaps       all but the last, as the first size of each step; then the last, after which no gap need
 *                             follow
 *
 * Windows that overlap are refused: what PyTorch leaves in the shared elements depends on its order of work. */
#include "passes/passes_int.h"

typedef struct unfolding {
    graph_t *graph;
    const inverse_request_t *request;
    insitu_diag *diag;
    uint32_t dim, rank; /* of the parent */
    int64_t size, step;
    sym_t count; /* of windows */
} unfolding_t;

static insitu_status refuse_view(const unfolding_t *work, const char *why) {
    return refuse(work->diag, "writes through a view made by %s, %s", work->request->step->schema->target, why);
}

/* A node on value whose result is dense and has those sizes. */
static insitu_status emit_step(const unfolding_t *work, const char *target, value_id_t value, const shape_t *sizes,
                               const named_arg_t *args, uint32_t count, value_id_t *out_value) {
    tensor_type_t type = {
        .dtype = work->request->parent->dtype, .shape = *sizes, .offset = sym_int(work->graph->symbols, 0)};
    shape_dense_strides(work->graph->symbols, sizes, type.strides);
    emission_t step = {.target = target,
                       .type = &type,
                       .source = work->request->writer->source,
                       .arg_count = 1,
                       .args = {{"self", arg_value(value)}}};
    for (uint32_t i = 0; i < count; i++) step.args[step.arg_count++] = args[i];
    *out_value = NO_VALUE;
    return emit_node(work->graph, &step, work->diag, out_value);
}

static insitu_status emit_view(const unfolding_t *work, value_id_t value, const shape_t *sizes, value_id_t *out_value) {
    named_arg_t size = {"size", {0}};
    TRY(arg_of_sizes(work->graph, sizes, &size.arg));
    return emit_step(work, "aten.view.default", value, sizes, &size, 1, out_value);
}

static insitu_status emit_slice(const unfolding_t *work, value_id_t value, const shape_t *whole, uint32_t dim,
                                sym_t end, value_id_t *out_value) {
    shape_t sizes = *whole;
    sizes.sizes[dim] = end;
    named_arg_t args[] = {{"dim", arg_of_int(work->graph, dim)},
                          {"start", arg_of_int(work->graph, 0)},
                          {"end", arg_sym(end)},
                          {"step", arg_of_int(work->graph, 1)}};
    return emit_step(work, "aten.slice.Tensor", value, &sizes, args, COUNT_OF(args), out_value);
}

/* whole with source put over start to end of dim. */
static insitu_status emit_part(const unfolding_t *work, value_id_t whole, const shape_t *sizes, value_id_t source,
                               uint32_t dim, sym_t start, sym_t end, value_id_t *out_value) {
    named_arg_t args[] = {{"src", arg_value(source)},
                          {"dim", arg_of_int(work->graph, dim)},
                          {"start", arg_sym(start)},
                          {"end", arg_sym(end)},
                          {"step", arg_of_int(work->graph, 1)}};
    return emit_step(work, "aten.slice_scatter.default", whole, sizes, args, COUNT_OF(args), out_value);
}

static sym_t product(const unfolding_t *work, sym_t a, int64_t b) {
    return sym_mul(work->graph->symbols, a, sym_int(work->graph->symbols, b));
}

/* (..., n, ..., size) -> (..., n, size, ...) */
static insitu_status emit_ordered(const unfolding_t *work, value_id_t *out_value, shape_t *out_sizes) {
    const shape_t *from = &work->request->step->type.shape;
    int64_t order[MAX_RANK];
    *out_sizes = (shape_t){.rank = from->rank};
    for (uint32_t i = 0, next = 0; i < from->rank; i++) {
        order[i] = i == work->dim + 1 ? (int64_t)from->rank - 1 : (int64_t)next++;
        out_sizes->sizes[i] = from->sizes[order[i]];
    }
    named_arg_t dims = {"dims", {0}};
    TRY(arg_of_numbers(work->graph, order, from->rank, &dims.arg));
    return emit_step(work, "aten.permute.default", work->request->value, out_sizes, &dims, 1, out_value);
}

static insitu_status write_adjoining(const unfolding_t *work, value_id_t ordered, value_id_t *out_value) {
    const shape_t *parent = &work->request->parent->shape;
    shape_t joined = *parent;
    value_id_t flat;
    joined.sizes[work->dim] = product(work, work->count, work->size);
    TRY(emit_view(work, ordered, &joined, &flat));
    *out_value = flat;
    if (shape_equal(work->graph->symbols, &joined, parent) == TRUTH_TRUE) return INSITU_OK;
    return emit_part(work, work->request->before, parent, flat, work->dim, sym_int(work->graph->symbols, 0),
                     joined.sizes[work->dim], out_value);
}

/* The windows before the last, whose steps fill the parent up to reach. */
static insitu_status write_front(const unfolding_t *work, value_id_t ordered, const shape_t *windows, sym_t front,
                                 sym_t reach, value_id_t *whole) {
    const shape_t *parent = &work->request->parent->shape;
    shape_t grid = *windows, body = *parent;
    value_id_t source, steps, region;
    sym_t zero = sym_int(work->graph->symbols, 0);
    TRY(emit_slice(work, ordered, windows, work->dim, front, &source));
    TRY(emit_slice(work, *whole, parent, work->dim, reach, &region));
    grid.sizes[work->dim] = front;
    grid.sizes[work->dim + 1] = sym_int(work->graph->symbols, work->step);
    body.sizes[work->dim] = reach;
    TRY(emit_view(work, region, &grid, &steps));
    TRY(emit_part(work, steps, &grid, source, work->dim + 1, zero, windows->sizes[work->dim + 1], &steps));
    TRY(emit_view(work, steps, &body, &region));
    return emit_part(work, *whole, parent, region, work->dim, zero, reach, whole);
}

static insitu_status write_with_gaps(const unfolding_t *work, value_id_t ordered, const shape_t *windows,
                                     value_id_t *out_value) {
    sym_pool_t *pool = work->graph->symbols;
    const shape_t *parent = &work->request->parent->shape;
    sym_t front = sym_sub(pool, work->count, sym_int(pool, 1)), start = product(work, front, work->step);
    shape_t sizes = *parent;
    value_id_t whole = work->request->before, last;
    int64_t known;
    if (!sym_constant(pool, front, &known) || known > 0) TRY(write_front(work, ordered, windows, front, start, &whole));
    sizes.sizes[work->dim] = windows->sizes[work->dim + 1];
    named_arg_t args[] = {{"dim", arg_of_int(work->graph, work->dim)}, {"index", arg_sym(front)}};
    TRY(emit_step(work, "aten.select.int", ordered, &sizes, args, COUNT_OF(args), &last));
    return emit_part(work, whole, parent, last, work->dim, start, sym_add(pool, start, sizes.sizes[work->dim]),
                     out_value);
}

insitu_status unfold_inverse(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                             value_id_t *out_value) {
    unfolding_t work = {.graph = graph, .request = request, .diag = diag, .rank = request->parent->shape.rank};
    const graph_arg_t *args = request->step->args; /* self, dimension, size, step */
    int64_t dim, count;
    if (request->step->arg_count < 4 || !arg_constant(graph, &args[1], &dim) ||
        !arg_constant(graph, &args[2], &work.size) || !arg_constant(graph, &args[3], &work.step) ||
        !wrap_dim(dim, work.rank, &work.dim) || work.rank == 0 || request->step->type.shape.rank != work.rank + 1)
        return refuse_view(&work, "whose windows are not constant");
    work.count = request->step->type.shape.sizes[work.dim];
    bool is_single = sym_constant(graph->symbols, work.count, &count) && count == 1;
    if (work.size > work.step && !is_single) return refuse_view(&work, "whose windows overlap");
    shape_t windows;
    value_id_t ordered;
    TRY(emit_ordered(&work, &ordered, &windows));
    if (work.size == work.step || is_single) return write_adjoining(&work, ordered, out_value);
    return write_with_gaps(&work, ordered, &windows, out_value);
}
