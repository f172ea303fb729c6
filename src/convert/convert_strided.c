/* as_strided and as_strided_scatter: they address memory, so their operand is brought into the order in which the program
 * recorded it to lie:
 *
 *     %x: f32[3,4]{1,3}      permute 1,0  ->  [4,3]  ->  reshape [12]  ->  as_strided (offset from x's first element)
 *
 * An update goes the same way back. Memory outside the operand, and layouts that leave gaps or show an element twice, are
 * not handled. */
#include "convert/convert_int.h"

typedef struct memory_order { /* how a tensor lies in its recorded layout */
    uint32_t axes[MAX_RANK];  /* its dimensions, outermost first */
    shape_t sizes;            /* in that order */
    sym_t offset;             /* of its first element */
} memory_order_t;

static insitu_status take_order(converter_t *c, const char *name, memory_order_t *out) {
    const tensor_type_t *type = &graph_value_of(c->graph, take_arg(c, name)->value)->type;
    uint32_t rank = type->shape.rank, left = rank, taken = 0;
    sym_t reach = sym_int(c->pool, 1);
    *out = (memory_order_t){.sizes.rank = rank, .offset = type->offset};
    bool is_empty = is_int_constant(c, shape_numel(c->pool, &type->shape), 0);
    while (left > 0) { /* the next dimension outwards steps over all that the inner ones reach */
        uint32_t found = NONE;
        for (uint32_t i = rank; i-- > 0 && found == NONE;) {
            bool fits = is_empty || is_int_constant(c, type->shape.sizes[i], 1) ||
                        sym_is_eq(c->pool, type->strides[i], reach) == TRUTH_TRUE;
            if (fits && !((taken >> i) & 1)) found = i;
        }
        if (found == NONE) return convert_unsupported(c, "of a tensor whose memory has gaps or repeats elements");
        taken |= 1u << found;
        out->axes[--left] = found;
        out->sizes.sizes[left] = type->shape.sizes[found];
        reach = sym_mul(c->pool, reach, type->shape.sizes[found]);
    }
    return INSITU_OK;
}

/* x as one row of memory. */
static insitu_status emit_memory(converter_t *c, tensor_id_t x, const memory_order_t *order, tensor_id_t *out) {
    shape_t flat = {.rank = 1, .sizes = {shape_numel(c->pool, &order->sizes)}};
    TRY(emit_permute(c, x, order->axes, out));
    return emit_reshape(c, *out, &flat, out);
}

static insitu_status emit_from_memory(converter_t *c, tensor_id_t memory, const memory_order_t *order,
                                      tensor_id_t *out) {
    uint32_t back[MAX_RANK] = {0};
    for (uint32_t i = 0; i < order->sizes.rank; i++) back[order->axes[i]] = i;
    TRY(emit_reshape(c, memory, &order->sizes, out));
    return emit_permute(c, *out, back, out);
}

typedef struct window { /* size, stride and storage_offset */
    shape_t sizes;
    sym_t strides[MAX_RANK];
    sym_t offset; /* from the operand's first element */
} window_t;

static insitu_status take_strided(converter_t *c, const memory_order_t *order, window_t *out) {
    uint32_t count;
    sym_t numel = shape_numel(c->pool, &order->sizes), zero = sym_int(c->pool, 0), one = sym_int(c->pool, 1);
    TRY(take_syms(c, "size", out->sizes.sizes, &out->sizes.rank));
    TRY(take_syms(c, "stride", out->strides, &count));
    if (count != out->sizes.rank) return convert_fail(c, INSITU_FORMAT, "sizes and strides differ in number");
    TRY(take_sym_or(c, "storage_offset", order->offset, &out->offset));
    out->offset = sym_sub(c->pool, out->offset, order->offset);
    sym_t last = out->offset;
    for (uint32_t i = 0; i < count; i++) {
        if (is_int_constant(c, out->sizes.sizes[i], 0)) return INSITU_OK;
        last = sym_add(c->pool, last, sym_mul(c->pool, sym_sub(c->pool, out->sizes.sizes[i], one), out->strides[i]));
    }
    if (sym_truth(c->pool, sym_compare(c->pool, SYM_LT, out->offset, zero)) == TRUTH_TRUE ||
        sym_is_le(c->pool, numel, last) == TRUTH_TRUE) {
        return convert_unsupported(c, "of memory outside the tensor that it is called on");
    }
    return INSITU_OK;
}

static void draft_window(layer_draft_t *draft, const window_t *window) {
    draft_list(draft, ATTR_SIZES, window->sizes.sizes, window->sizes.rank);
    draft_list(draft, ATTR_STRIDES, window->strides, window->sizes.rank);
    draft_sym(draft, ATTR_OFFSET, window->offset);
}

/* as_strided, as_strided_copy */
insitu_status convert_as_strided(converter_t *c) {
    tensor_id_t x, result;
    memory_order_t order;
    window_t window;
    TRY(take_tensor(c, "self", &x));
    TRY(take_order(c, "self", &order));
    TRY(take_strided(c, &order, &window));
    TRY(emit_memory(c, x, &order, &x));
    layer_draft_t view = draft_of(LAYER_AS_STRIDED);
    draft_window(&view, &window);
    TRY(emit_on(c, &view, x, &result));
    set_only_result(c, result);
    return INSITU_OK;
}

/* Sufficient: taken from the smallest stride on, each dimension steps over all that those before it reach. */
static bool is_apart(converter_t *c, const window_t *window) {
    uint32_t taken = 0;
    sym_t one = sym_int(c->pool, 1), reach = one; /* one past the last element that they reach */
    for (uint32_t i = 0; i < window->sizes.rank; i++) {
        if (is_int_constant(c, window->sizes.sizes[i], 1)) taken |= 1u << i;
    }
    while (taken + 1 != 1u << window->sizes.rank) {
        uint32_t next = NONE;
        for (uint32_t i = 0; i < window->sizes.rank; i++) {
            if ((taken >> i) & 1) continue;
            if (next == NONE || sym_is_le(c->pool, window->strides[i], window->strides[next]) == TRUTH_TRUE) next = i;
        }
        if (sym_is_le(c->pool, reach, window->strides[next]) != TRUTH_TRUE) return false;
        taken |= 1u << next;
        sym_t steps = sym_sub(c->pool, window->sizes.sizes[next], one);
        reach = sym_add(c->pool, reach, sym_mul(c->pool, steps, window->strides[next]));
    }
    return true;
}

insitu_status convert_as_strided_scatter(converter_t *c) {
    tensor_id_t x, operands[2], result;
    memory_order_t order;
    window_t window;
    TRY(take_tensor(c, "self", &x));
    TRY(take_tensor(c, "src", &operands[1]));
    TRY(take_order(c, "self", &order));
    TRY(take_strided(c, &order, &window));
    TRY(check_source(c, &window.sizes, operands[1]));
    if (!is_apart(c, &window)) return convert_unsupported(c, "into memory where elements may overlap");
    TRY(emit_cast(c, operands[1], dtype_of(c, x), &operands[1]));
    TRY(emit_memory(c, x, &order, &operands[0]));
    layer_draft_t update = draft_of(LAYER_AS_STRIDED_UPDATE);
    draft_window(&update, &window);
    TRY(emit(c, &update, operands, 2, &result));
    TRY(emit_from_memory(c, result, &order, &result));
    set_only_result(c, result);
    return INSITU_OK;
}
