/* Writing through a view: what the parent becomes when its view becomes a value.
 *
 *     slice, select, diagonal, as_strided       the matching scatter of the value into the parent
 *     view, permute, transpose, t, squeeze ...  the view that leads back
 *     _conj, _neg_view                          the same operator again
 *     unfold                                    unfold_inverse.c
 *
 * A view that shows one element several times (an expand, overlapping windows) can't be written: PyTorch refuses it too
 * or leaves it undefined. Views without a row here can be read and not written: UNSUPPORTED. */
#include "passes/passes_int.h"

typedef insitu_status (*inverse_fn)(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                    value_id_t *out_value);

static const graph_arg_t *step_arg(const view_step_t *step, const char *name) {
    const op_schema_t *schema = step->schema;
    uint32_t position = schema ? schema_arg_index(schema, name) : NONE;
    return position == NONE ? NULL : &step->args[position];
}

static insitu_status refuse_view(const inverse_request_t *request, insitu_diag *diag, const char *why) {
    return refuse(diag, "writes through a view made by %s, %s", request->step->schema->target, why);
}

/* A scatter with the step's own arguments, by name. */
static insitu_status emit_scatter(graph_t *graph, const inverse_request_t *request, const char *target,
                                  const char *const *names, uint32_t count, insitu_diag *diag, value_id_t *out_value) {
    emission_t scatter = {.target = target,
                          .type = request->parent,
                          .source = request->writer->source,
                          .arg_count = 2,
                          .args = {{"self", arg_value(request->before)}, {"src", arg_value(request->value)}}};
    for (uint32_t i = 0; i < count; i++)
        scatter.args[scatter.arg_count++] = (named_arg_t){names[i], *step_arg(request->step, names[i])};
    *out_value = NO_VALUE;
    return emit_node(graph, &scatter, diag, out_value);
}

static insitu_status inverse_slice(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                   value_id_t *out_value) {
    static const char *const names[] = {"dim", "start", "end", "step"};
    return emit_scatter(graph, request, "aten.slice_scatter.default", names, COUNT_OF(names), diag, out_value);
}

static insitu_status inverse_select(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                    value_id_t *out_value) {
    static const char *const names[] = {"dim", "index"};
    return emit_scatter(graph, request, "aten.select_scatter.default", names, COUNT_OF(names), diag, out_value);
}

static insitu_status inverse_diagonal(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                      value_id_t *out_value) {
    static const char *const names[] = {"offset", "dim1", "dim2"};
    return emit_scatter(graph, request, "aten.diagonal_scatter.default", names, COUNT_OF(names), diag, out_value);
}

static insitu_status inverse_strided(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                     value_id_t *out_value) {
    static const char *const names[] = {"size", "stride", "storage_offset"};
    return emit_scatter(graph, request, "aten.as_strided_scatter.default", names, COUNT_OF(names), diag, out_value);
}

/* One operator on the value alone gives the parent. */
static insitu_status emit_back(graph_t *graph, const inverse_request_t *request, const char *target,
                               const named_arg_t *args, uint32_t count, insitu_diag *diag, value_id_t *out_value) {
    emission_t back = {.target = target,
                       .type = request->parent,
                       .source = request->writer->source,
                       .arg_count = 1,
                       .args = {{"self", arg_value(request->value)}}};
    for (uint32_t i = 0; i < count; i++) back.args[back.arg_count++] = args[i];
    *out_value = NO_VALUE;
    return emit_node(graph, &back, diag, out_value);
}

static insitu_status inverse_transpose(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                       value_id_t *out_value) {
    named_arg_t args[] = {{"dim0", *step_arg(request->step, "dim0")}, {"dim1", *step_arg(request->step, "dim1")}};
    return emit_back(graph, request, "aten.transpose.int", args, COUNT_OF(args), diag, out_value);
}

static insitu_status inverse_t(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                               value_id_t *out_value) {
    return emit_back(graph, request, "aten.t.default", NULL, 0, diag, out_value);
}

static insitu_status inverse_permute(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                     value_id_t *out_value) {
    const graph_arg_t *dims = step_arg(request->step, "dims");
    uint32_t rank = request->parent->shape.rank;
    int64_t back[MAX_RANK] = {0};
    if (dims->kind != ARG_LIST || dims->list.count != rank)
        return refuse_view(request, diag, "whose dimensions don't fit");
    for (uint32_t i = 0; i < rank; i++) {
        int64_t dim;
        uint32_t wrapped;
        if (!arg_constant(graph, &dims->list.items[i], &dim) || !wrap_dim(dim, rank, &wrapped))
            return refuse_view(request, diag, "whose dimensions don't fit");
        back[wrapped] = i;
    }
    named_arg_t arg = {"dims", {0}};
    TRY(arg_of_numbers(graph, back, rank, &arg.arg));
    return emit_back(graph, request, "aten.permute.default", &arg, 1, diag, out_value);
}

static insitu_status inverse_unsqueeze(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                       value_id_t *out_value) {
    int64_t dim;
    uint32_t wrapped;
    if (!arg_constant(graph, step_arg(request->step, "dim"), &dim) ||
        !wrap_dim(dim, request->step->type.shape.rank, &wrapped))
        return refuse_view(request, diag, "whose dimension doesn't fit");
    named_arg_t arg = {"dim", arg_of_int(graph, wrapped)};
    return emit_back(graph, request, "aten.squeeze.dim", &arg, 1, diag, out_value);
}

static insitu_status inverse_view(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                  value_id_t *out_value) {
    named_arg_t size = {"size", {0}};
    TRY(arg_of_sizes(graph, &request->parent->shape, &size.arg));
    return emit_back(graph, request, "aten.view.default", &size, 1, diag, out_value);
}

/* One dimension dropped is put back by unsqueeze, several by a view. */
static insitu_status inverse_squeeze(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                     value_id_t *out_value) {
    const graph_arg_t *dim_arg = step_arg(request->step, "dim");
    uint32_t parent_rank = request->parent->shape.rank, rank = request->step->type.shape.rank, wrapped;
    int64_t dim;
    if (rank == parent_rank) {
        *out_value = request->value;
        return INSITU_OK;
    }
    if (rank + 1 != parent_rank || !arg_constant(graph, dim_arg, &dim) || !wrap_dim(dim, parent_rank, &wrapped))
        return inverse_view(graph, request, diag, out_value);
    named_arg_t arg = {"dim", arg_of_int(graph, wrapped)};
    return emit_back(graph, request, "aten.unsqueeze.default", &arg, 1, diag, out_value);
}

/* Without a repeated element an expand only adds dimensions of size 1. */
static insitu_status inverse_expand(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                    value_id_t *out_value) {
    sym_pool_t *pool = graph->symbols;
    if (sym_is_eq(pool, shape_numel(pool, &request->parent->shape), shape_numel(pool, &request->step->type.shape)) !=
        TRUTH_TRUE)
        return refuse_view(request, diag, "which shows the same element several times");
    return inverse_view(graph, request, diag, out_value);
}

static insitu_status inverse_view_dtype(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                        value_id_t *out_value) {
    named_arg_t arg = {"dtype", arg_of_dtype(request->parent->dtype)};
    return emit_back(graph, request, "aten.view.dtype", &arg, 1, diag, out_value);
}

static insitu_status inverse_as_real(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                     value_id_t *out_value) {
    return emit_back(graph, request, "aten.view_as_complex.default", NULL, 0, diag, out_value);
}

/* conj and neg undo themselves. */
static insitu_status inverse_again(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                   value_id_t *out_value) {
    return emit_back(graph, request, request->step->schema->target, NULL, 0, diag, out_value);
}

static insitu_status inverse_as_complex(graph_t *graph, const inverse_request_t *request, insitu_diag *diag,
                                        value_id_t *out_value) {
    return emit_back(graph, request, "aten.view_as_real.default", NULL, 0, diag, out_value);
}

static const struct {
    inverse_fn inverse;
    bool needs_parent;
} inverses[INVERSE_COUNT] = {
    [INVERSE_SLICE] = {inverse_slice, true},
    [INVERSE_SELECT] = {inverse_select, true},
    [INVERSE_DIAGONAL] = {inverse_diagonal, true},
    [INVERSE_STRIDED] = {inverse_strided, true},
    [INVERSE_TRANSPOSE] = {inverse_transpose, false},
    [INVERSE_T] = {inverse_t, false},
    [INVERSE_PERMUTE] = {inverse_permute, false},
    [INVERSE_UNSQUEEZE] = {inverse_unsqueeze, false},
    [INVERSE_SQUEEZE] = {inverse_squeeze, false},
    [INVERSE_VIEW] = {inverse_view, false},
    [INVERSE_EXPAND] = {inverse_expand, false},
    [INVERSE_VIEW_DTYPE] = {inverse_view_dtype, false},
    [INVERSE_AGAIN] = {inverse_again, false},
    [INVERSE_AS_REAL] = {inverse_as_real, false},
    [INVERSE_AS_COMPLEX] = {inverse_as_complex, false},
    [INVERSE_UNFOLD] = {unfold_inverse, true},
};

bool view_inverse_needs_parent(const view_step_t *step) {
    return inverses[operator_facts_of(step->schema)->inverse].needs_parent;
}

insitu_status view_inverse(graph_t *graph, const inverse_request_t *request, insitu_diag *diag, value_id_t *out_value) {
    *out_value = NO_VALUE;
    const view_way_t way = (view_way_t)operator_facts_of(request->step->schema)->inverse;
    if (way == INVERSE_NONE) return refuse_view(request, diag, "which can be read and not written through");
    return inverses[way].inverse(graph, request, diag, out_value);
}
