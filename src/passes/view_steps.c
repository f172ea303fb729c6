/* What a node's results are to its first argument: the same tensor, a view of it by canonical steps, a copy, or nothing.
 *
 * Many operators make views; their inverses and equality are decided on few canonical ones: slice, select, view,
 * permute, transpose, t, unsqueeze, squeeze, expand, diagonal, as_strided, unfold, view_as_real and the like. So narrow,
 * split, chunk and tensor_split become slices, unbind becomes selects, reshape, flatten, unflatten and _unsafe_view
 * become view with the recorded sizes, movedim and T become permute. Operators that copy or alias as the strides demand
 * (reshape, contiguous, to) are decided by the operand's recorded layout, as PyTorch decided when it ran. */
#include "passes/passes_int.h"

#include "archive/archive.h" /* numbers of memory formats */

/* Of an operator whose row has no rule its schema tells: a result that aliases the first argument, and is no list, is a
 * view that the operator itself makes; of any other alias it is not known which part it is. */
static alias_rule_t rule_of(const graph_node_t *node) {
    const op_schema_t *schema = node->schema;
    const alias_rule_t rule = (alias_rule_t)operator_facts_of(schema)->alias;
    if (rule != RULE_BY_SCHEMA) return rule;
    if (!schema || schema->arg_count == 0) return RULE_FRESH;
    for (uint32_t i = 0; i < schema->return_count; i++) {
        const schema_return_t *result = &schema->returns[i];
        if (!result->alias || (result->flags & SCHEMA_WRITES)) continue;
        bool is_plain =
            schema->return_count == 1 && !(result->flags & SCHEMA_LIST) && schema->args[0].alias == result->alias;
        return is_plain ? RULE_AS_IS : RULE_UNKNOWN;
    }
    return RULE_FRESH;
}

static bool takes_items(alias_rule_t rule) {
    return rule == RULE_ITEMS_VIEW || rule == RULE_ITEMS_EXPAND || rule == RULE_GRID;
}

bool view_operand(const graph_node_t *node, uint32_t result, value_id_t *out_value) {
    *out_value = NO_VALUE;
    if (!node->schema || !node->arg_count) return false;
    const graph_arg_t *arg = &node->args[0];
    if (arg->kind == ARG_LIST && takes_items(rule_of(node))) {
        if (result >= arg->list.count) return false;
        arg = &arg->list.items[result];
    }
    if (arg->kind != ARG_VALUE) return false;
    *out_value = arg->value;
    return true;
}

bool alias_is_unknown(const graph_node_t *node) {
    alias_rule_t rule = rule_of(node);
    for (uint32_t i = 0; i < node->arg_count && rule == RULE_LONE_ITEM; i++)
        if (node->args[i].kind == ARG_LIST && node->schema->args[i].type == SCHEMA_TENSOR)
            return node->args[i].list.count == 1;
    return rule == RULE_UNKNOWN;
}

bool alias_is_view(const graph_node_t *node) { return rule_of(node) != RULE_FRESH; }

/* ---- steps and copies ---- */

static insitu_status add_step(graph_t *graph, alias_plan_t *plan, const char *target, const tensor_type_t *type,
                              const named_arg_t *args, uint32_t count) {
    view_step_t *step = &plan->steps[plan->step_count++];
    const op_schema_t *schema = schema_find(target);
    plan->verdict = ALIAS_VIEW;
    *step = (view_step_t){.schema = schema, .type = *type};
    if (!schema) return INSITU_INTERNAL;
    graph_arg_t *filled;
    TRY(arena_array(graph_arena(graph), schema->arg_count, sizeof(graph_arg_t), &filled));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t position = schema_arg_index(schema, args[i].name);
        if (position == NONE) return INSITU_INTERNAL;
        filled[position] = args[i].arg;
    }
    step->args = filled;
    step->arg_count = schema->arg_count;
    return INSITU_OK;
}

static insitu_status add_view(graph_t *graph, alias_plan_t *plan, const tensor_type_t *type) {
    named_arg_t size = {"size", {0}};
    TRY(arg_of_sizes(graph, &type->shape, &size.arg));
    return add_step(graph, plan, "aten.view.default", type, &size, 1);
}

static insitu_status add_slice(graph_t *graph, alias_plan_t *plan, const tensor_type_t *type, graph_arg_t dim,
                               sym_t start, sym_t end) {
    named_arg_t args[] = {
        {"dim", dim}, {"start", arg_sym(start)}, {"end", arg_sym(end)}, {"step", arg_of_int(graph, 1)}};
    return add_step(graph, plan, "aten.slice.Tensor", type, args, COUNT_OF(args));
}

static void plan_copy(alias_plan_t *plan, const char *target, const tensor_type_t *type) {
    plan->verdict = ALIAS_COPY;
    plan->copy = (emission_t){.target = target, .type = type, .arg_count = 1, .args = {{.name = "self"}}};
}

static void copy_arg(alias_plan_t *plan, const char *name, graph_arg_t arg) {
    plan->copy.args[plan->copy.arg_count++] = (named_arg_t){name, arg};
}

static insitu_status plan_reshape(graph_t *graph, const tensor_type_t *operand, const tensor_type_t *result,
                                  bool always, alias_plan_t *plan) {
    if (shape_same(&operand->shape, &result->shape)) {
        plan->verdict = ALIAS_VIEW;
        return INSITU_OK;
    }
    if (always || view_is_possible(graph->symbols, operand, result)) return add_view(graph, plan, result);
    plan_copy(plan, "aten.view.default", result);
    plan->clones_first = true;
    copy_arg(plan, "size", (graph_arg_t){0});
    return arg_of_sizes(graph, &result->shape, &plan->copy.args[1].arg);
}

/* ---- casts ---- */

static bool keeps_format(sym_pool_t *pool, const graph_arg_t *format, const tensor_type_t *operand,
                         const tensor_type_t *result) {
    if (arg_is_none(format) || format->kind != ARG_MEMORY_FORMAT || format->number == MEMORY_FORMAT_PRESERVE)
        return true;
    if (format->number == MEMORY_FORMAT_CONTIGUOUS) return type_is_dense(pool, operand);
    for (uint32_t i = 0; i < operand->shape.rank; i++)
        if (!sym_same(operand->strides[i], result->strides[i])) return false;
    return true;
}

static void plan_cast(const graph_t *graph, const graph_node_t *node, const tensor_type_t *operand,
                      const tensor_type_t *result, bool always, alias_plan_t *plan) {
    const graph_arg_t *format = graph_arg_of(graph, node, "memory_format");
    bool copies = always || arg_bool(graph, graph_arg_of(graph, node, "copy"), false);
    if (!copies && operand->dtype == result->dtype && keeps_format(graph->symbols, format, operand, result)) {
        plan->verdict = ALIAS_SELF;
        return;
    }
    plan_copy(plan, "aten._to_copy.default", result);
    copy_arg(plan, "dtype", arg_of_dtype(result->dtype));
    if (!arg_is_none(format)) copy_arg(plan, "memory_format", *format);
}

static void plan_contiguous(const graph_t *graph, const graph_node_t *node, const tensor_type_t *operand,
                            const tensor_type_t *result, alias_plan_t *plan) {
    const graph_arg_t *format = graph_arg_of(graph, node, "memory_format");
    bool is_kept = arg_is_none(format) ? type_is_dense(graph->symbols, operand)
                                       : keeps_format(graph->symbols, format, operand, result);
    if (is_kept) {
        plan->verdict = ALIAS_SELF;
        return;
    }
    plan_copy(plan, "aten.clone.default", result);
    if (!arg_is_none(format)) copy_arg(plan, "memory_format", *format);
}

/* ---- permutations ---- */

static insitu_status add_permute(graph_t *graph, const uint32_t *order, const tensor_type_t *type, alias_plan_t *plan) {
    int64_t dims[MAX_RANK];
    for (uint32_t i = 0; i < type->shape.rank; i++) dims[i] = order[i];
    named_arg_t arg = {"dims", {0}};
    TRY(arg_of_numbers(graph, dims, type->shape.rank, &arg.arg));
    return add_step(graph, plan, "aten.permute.default", type, &arg, 1);
}

/* A number or a list of numbers as dimensions. */
static bool read_dims(const graph_t *graph, const graph_arg_t *arg, uint32_t rank, uint32_t *dims,
                      uint32_t *out_count) {
    const graph_arg_t *items = arg->kind == ARG_LIST ? arg->list.items : arg;
    *out_count = arg->kind == ARG_LIST ? arg->list.count : 1;
    if (*out_count > rank) return false;
    for (uint32_t i = 0; i < *out_count; i++) {
        int64_t dim;
        if (!arg_constant(graph, &items[i], &dim) || !wrap_dim(dim, rank, &dims[i])) return false;
    }
    return true;
}

static insitu_status plan_movedim(graph_t *graph, const graph_node_t *node, const tensor_type_t *type,
                                  alias_plan_t *plan, insitu_diag *diag) {
    uint32_t rank = type->shape.rank, from[MAX_RANK], to[MAX_RANK], from_count, to_count, order[MAX_RANK];
    bool taken[MAX_RANK] = {false}, placed[MAX_RANK] = {false};
    char text[NODE_TEXT_SIZE];
    const graph_arg_t *source = graph_arg_of(graph, node, "source"), *target = graph_arg_of(graph, node, "destination");
    if (!source || !target || !read_dims(graph, source, rank, from, &from_count) ||
        !read_dims(graph, target, rank, to, &to_count) || from_count != to_count)
        FAIL(diag, INSITU_FORMAT, "%s moves dimensions that its operand lacks", node_text(node, text, sizeof(text)));
    for (uint32_t i = 0; i < from_count; i++) {
        order[to[i]] = from[i];
        if (placed[to[i]] || taken[from[i]])
            FAIL(diag, INSITU_FORMAT, "%s names a dimension twice", node_text(node, text, sizeof(text)));
        placed[to[i]] = taken[from[i]] = true;
    }
    uint32_t next = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (placed[i]) continue;
        while (taken[next]) next++;
        order[i] = next++;
    }
    return add_permute(graph, order, type, plan);
}

static insitu_status plan_swap(graph_t *graph, const tensor_type_t *type, int64_t dim0, int64_t dim1,
                               alias_plan_t *plan) {
    named_arg_t args[] = {{"dim0", arg_of_int(graph, dim0)}, {"dim1", arg_of_int(graph, dim1)}};
    return add_step(graph, plan, "aten.transpose.int", type, args, COUNT_OF(args));
}

static insitu_status plan_swap_named(graph_t *graph, const graph_node_t *node, const tensor_type_t *type,
                                     alias_plan_t *plan) {
    int64_t dim0, dim1; /* swapaxes calls them axis0 and axis1: by position */
    if (node->arg_count < 3 || !arg_constant(graph, &node->args[1], &dim0) ||
        !arg_constant(graph, &node->args[2], &dim1))
        return INSITU_INTERNAL;
    return plan_swap(graph, type, dim0, dim1, plan);
}

/* ---- parts ---- */

static insitu_status plan_unbind(graph_t *graph, const graph_node_t *node, uint32_t result, const tensor_type_t *type,
                                 alias_plan_t *plan) {
    named_arg_t args[] = {{"dim", *graph_arg_of(graph, node, "dim")}, {"index", arg_of_int(graph, result)}};
    return add_step(graph, plan, "aten.select.int", type, args, COUNT_OF(args));
}

/* Result k lies after the results before it, by their recorded sizes. tensor_split's indices may overlap or go back:
 * recorded sizes then don't add up, and the bounds are taken from the list. */
static insitu_status plan_part(graph_t *graph, const graph_node_t *node, alias_rule_t rule, uint32_t result,
                               const tensor_type_t *type, alias_plan_t *plan, insitu_diag *diag) {
    const graph_arg_t *dim_arg = graph_arg_of(graph, node, "dim");
    int64_t dim_number = rule == RULE_PARTS_DEEP ? 2 : rule == RULE_PARTS_ACROSS && type->shape.rank > 1 ? 1 : 0;
    uint32_t dim;
    char text[NODE_TEXT_SIZE];
    if ((rule == RULE_PARTS && !arg_constant(graph, dim_arg, &dim_number)) ||
        !wrap_dim(dim_number, type->shape.rank, &dim) || !type->shape.rank)
        FAIL(diag, INSITU_FORMAT, "%s splits a dimension that its operand lacks", node_text(node, text, sizeof(text)));
    sym_t start = sym_int(graph->symbols, 0), end;
    const graph_arg_t *indices = graph_arg_of(graph, node, "indices");
    if (indices && indices->kind == ARG_LIST) {
        if (result > 0 && result <= indices->list.count) start = indices->list.items[result - 1].sym;
        end = result < indices->list.count ? indices->list.items[result].sym : sym_int(graph->symbols, INT64_MAX);
    } else {
        for (uint32_t i = 0; i < result; i++) {
            const graph_value_t *before = graph_value_of(graph, node->results[i]);
            start = sym_add(graph->symbols, start, before->type.shape.sizes[dim]);
        }
        end = sym_add(graph->symbols, start, type->shape.sizes[dim]);
    }
    return add_slice(graph, plan, type, arg_of_int(graph, dim_number), start, end);
}

static insitu_status plan_narrow(graph_t *graph, const graph_node_t *node, const tensor_type_t *type,
                                 alias_plan_t *plan) {
    const graph_arg_t *start = graph_arg_of(graph, node, "start"), *length = graph_arg_of(graph, node, "length");
    if (start->kind != ARG_SYM || length->kind != ARG_SYM) return INSITU_INTERNAL;
    sym_t end = sym_add(graph->symbols, start->sym, length->sym);
    int64_t known;
    if (sym_constant(graph->symbols, start->sym, &known) && known < 0 && sym_constant(graph->symbols, end, &known) &&
        known == 0)
        end = sym_int(graph->symbols, INT64_MAX); /* the last rows: an end of 0 would mean none */
    return add_slice(graph, plan, type, *graph_arg_of(graph, node, "dim"), start->sym, end);
}

/* ---- complex tensors ---- */

static insitu_status plan_component(graph_t *graph, const tensor_type_t *operand, const tensor_type_t *type,
                                    int64_t index, alias_plan_t *plan, insitu_diag *diag) {
    if (!dtype_is_complex(operand->dtype)) {
        plan->verdict = ALIAS_SELF;
        return INSITU_OK;
    }
    tensor_type_t pairs = {.dtype = type->dtype, .shape = operand->shape, .offset = operand->offset};
    sym_t two = sym_int(graph->symbols, 2);
    if (operand->shape.rank == MAX_RANK) return refuse(diag, "is a part of a tensor of rank %d", MAX_RANK);
    for (uint32_t i = 0; i < operand->shape.rank; i++)
        pairs.strides[i] = sym_mul(graph->symbols, operand->strides[i], two);
    pairs.offset = sym_mul(graph->symbols, operand->offset, two);
    pairs.strides[pairs.shape.rank] = sym_int(graph->symbols, 1);
    pairs.shape.sizes[pairs.shape.rank++] = two;
    TRY(add_step(graph, plan, "aten.view_as_real.default", &pairs, NULL, 0));
    named_arg_t args[] = {{"dim", arg_of_int(graph, -1)}, {"index", arg_of_int(graph, index)}};
    return add_step(graph, plan, "aten.select.int", type, args, COUNT_OF(args));
}

static insitu_status plan_as_is(graph_t *graph, const graph_node_t *node, const tensor_type_t *type,
                                alias_plan_t *plan) {
    (void)graph;
    plan->verdict = ALIAS_VIEW;
    plan->steps[plan->step_count++] =
        (view_step_t){.schema = node->schema, .args = node->args, .arg_count = node->arg_count, .type = *type};
    return INSITU_OK;
}

static insitu_status plan_expand(graph_t *graph, const tensor_type_t *operand, const tensor_type_t *type,
                                 alias_plan_t *plan) {
    plan->verdict = ALIAS_VIEW;
    if (shape_same(&operand->shape, &type->shape)) return INSITU_OK;
    named_arg_t size = {"size", {0}};
    TRY(arg_of_sizes(graph, &type->shape, &size.arg));
    named_arg_t args[] = {size, {"implicit", arg_sym(sym_bool(graph->symbols, false))}};
    return add_step(graph, plan, "aten.expand.default", type, args, COUNT_OF(args));
}

/* Item k of meshgrid's list lies along dimension k of every result, by indexing "xy" the first two swapped. */
static insitu_status plan_grid(graph_t *graph, const graph_node_t *node, uint32_t result, const tensor_type_t *operand,
                               const tensor_type_t *type, alias_plan_t *plan) {
    const graph_arg_t *indexing = graph_arg_of(graph, node, "indexing");
    bool swaps = indexing && indexing->kind == ARG_STRING && strcmp(indexing->string, "xy") == 0 &&
                 type->shape.rank > 1 && result < 2;
    const uint32_t dim = swaps ? 1 - result : result;
    if (dim >= type->shape.rank) return INSITU_INTERNAL;
    tensor_type_t line = {.dtype = type->dtype, .shape.rank = type->shape.rank, .offset = type->offset};
    for (uint32_t i = 0; i < line.shape.rank; i++) {
        line.shape.sizes[i] = sym_int(graph->symbols, 1);
        line.strides[i] = type->strides[i];
    }
    line.shape.sizes[dim] = operand->shape.rank ? operand->shape.sizes[0] : sym_int(graph->symbols, 1);
    if (!shape_same(&operand->shape, &line.shape)) TRY(add_view(graph, plan, &line));
    return plan_expand(graph, &line, type, plan);
}

static insitu_status plan_diagonal(graph_t *graph, const graph_node_t *node, const tensor_type_t *type,
                                   alias_plan_t *plan) {
    static const char *const names[] = {"offset", "dim1", "dim2"};
    named_arg_t args[COUNT_OF(names)];
    for (size_t i = 0; i < COUNT_OF(names); i++)
        args[i] = (named_arg_t){names[i], *graph_arg_of(graph, node, names[i])};
    return add_step(graph, plan, "aten.diagonal.default", type, args, COUNT_OF(names));
}

static insitu_status plan_dims(graph_t *graph, const graph_node_t *node, alias_rule_t rule, const tensor_type_t *type,
                               alias_plan_t *plan, insitu_diag *diag) {
    uint32_t order[MAX_RANK];
    for (uint32_t i = 0; i < type->shape.rank; i++) order[i] = type->shape.rank - 1 - i;
    if (rule == RULE_MOVEDIM) return plan_movedim(graph, node, type, plan, diag);
    if (rule == RULE_REVERSE) return add_permute(graph, order, type, plan);
    if (rule == RULE_SWAP_LAST) return plan_swap(graph, type, -2, -1, plan);
    return plan_swap_named(graph, node, type, plan);
}

insitu_status view_plan(graph_t *graph, const graph_node_t *node, uint32_t result, const tensor_type_t *operand,
                        insitu_diag *diag, alias_plan_t *out_plan) {
    const tensor_type_t *type = &graph_value_of(graph, node->results[result])->type;
    alias_rule_t rule = rule_of(node);
    *out_plan = (alias_plan_t){.verdict = ALIAS_FRESH};
    switch (rule) {
    case RULE_BY_SCHEMA:
    case RULE_FRESH: break;
    case RULE_SELF: out_plan->verdict = ALIAS_SELF; break;
    case RULE_ALIAS: out_plan->verdict = ALIAS_VIEW; break;
    case RULE_AS_IS: return plan_as_is(graph, node, type, out_plan);
    case RULE_RESHAPE: return plan_reshape(graph, operand, type, false, out_plan);
    case RULE_ITEMS_VIEW:
    case RULE_VIEW: return plan_reshape(graph, operand, type, true, out_plan);
    case RULE_ITEMS_EXPAND:
    case RULE_EXPAND: return plan_expand(graph, operand, type, out_plan);
    case RULE_GRID: return plan_grid(graph, node, result, operand, type, out_plan);
    case RULE_DIAGONAL: return plan_diagonal(graph, node, type, out_plan);
    case RULE_SAME_SIZES:
        if (shape_same(&operand->shape, &type->shape)) out_plan->verdict = ALIAS_SELF;
        break;
    case RULE_LONE_ITEM:
    case RULE_UNKNOWN:
        if (alias_is_unknown(node)) out_plan->verdict = ALIAS_UNKNOWN;
        break;
    case RULE_CONTIGUOUS: plan_contiguous(graph, node, operand, type, out_plan); break;
    case RULE_CAST: plan_cast(graph, node, operand, type, false, out_plan); break;
    case RULE_CAST_COPY: plan_cast(graph, node, operand, type, true, out_plan); break;
    case RULE_CLONE: plan_copy(out_plan, "aten.clone.default", type); break;
    case RULE_DROPOUT:
        if (!arg_bool(graph, graph_arg_of(graph, node, "train"), true)) out_plan->verdict = ALIAS_SELF;
        break;
    case RULE_MOVEDIM:
    case RULE_REVERSE:
    case RULE_SWAP_LAST:
    case RULE_SWAP_NAMED: return plan_dims(graph, node, rule, type, out_plan, diag);
    case RULE_NARROW: return plan_narrow(graph, node, type, out_plan);
    case RULE_PARTS:
    case RULE_PARTS_ACROSS:
    case RULE_PARTS_DOWN:
    case RULE_PARTS_DEEP: return plan_part(graph, node, rule, result, type, out_plan, diag);
    case RULE_UNBIND: return plan_unbind(graph, node, result, type, out_plan);
    case RULE_REAL_PART: return plan_component(graph, operand, type, 0, out_plan, diag);
    case RULE_IMAGINARY: return plan_component(graph, operand, type, 1, out_plan, diag);
    case RULE_IF_REAL:
        if (!dtype_is_complex(operand->dtype))
            out_plan->verdict = ALIAS_SELF;
        else if (node->schema->returns[0].alias)
            return plan_as_is(graph, node, type, out_plan);
        break;
    }
    return INSITU_OK;
}
