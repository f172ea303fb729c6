/* einsum: operands are contracted from left to right, each pair as one matmul:
 *   "bhqd,bhkd->bhqk": (b h) are batch dimensions, d is summed, q and k stay.
 * Labels are letters; what "..." stands for gets digits, aligned from the right. A label twice in one operand is its
 * diagonal; a size of 1 where another operand has more is dropped, so that the product repeats it. */
#include "convert/convert_int.h"

typedef struct labelled { /* a tensor and the label of each of its dimensions */
    tensor_id_t tensor;
    char labels[MAX_RANK + 1];
} labelled_t;

static bool is_label(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Labels up to a comma, arrow or the end, without blanks; "..." stands for dots dimensions. */
static insitu_status parse_labels(converter_t *c, const char **cursor, uint32_t dots, char out[MAX_RANK + 1]) {
    uint32_t count = 0;
    out[0] = 0;
    for (; **cursor && **cursor != ',' && **cursor != '-'; (*cursor)++) {
        if (**cursor == ' ') continue;
        bool is_dots = strncmp(*cursor, "...", 3) == 0;
        if (!is_label(**cursor) && !is_dots) return convert_unsupported(c, "such an equation");
        if (count + (is_dots ? dots : 1) > MAX_RANK) return convert_unsupported(c, "over %d labels", MAX_RANK);
        if (is_dots) {
            *cursor += 2;
            for (uint32_t i = dots; i-- > 0;) out[count++] = (char)('0' + i);
        } else {
            out[count++] = **cursor;
        }
        out[count] = 0;
    }
    return INSITU_OK;
}

/* How many dimensions "..." stands for in the part of the equation that begins here; 0 without it. */
static uint32_t dots_of(const char *cursor, uint32_t rank) {
    uint32_t letters = 0;
    bool found = false;
    for (; *cursor && *cursor != ',' && *cursor != '-'; cursor++) {
        letters += is_label(*cursor);
        found = found || *cursor == '.';
    }
    return found && letters < rank ? rank - letters : 0;
}

/* Without an arrow: what "..." stands for, then labels that occur once, in order of the alphabet (capitals first). */
static insitu_status implicit_labels(converter_t *c, const labelled_t *operands, uint32_t count, uint32_t dots,
                                     char out[MAX_RANK + 1]) {
    uint32_t size = 0;
    for (uint32_t i = dots; i-- > 0;) out[size++] = (char)('0' + i);
    for (int label = 'A'; label <= 'z'; label++) {
        uint32_t uses = 0;
        for (uint32_t i = 0; is_label((char)label) && i < count; i++) {
            for (const char *at = operands[i].labels; *at; at++) uses += *at == label;
        }
        if (uses != 1) continue;
        if (size == MAX_RANK) return convert_unsupported(c, "over %d labels", MAX_RANK);
        out[size++] = (char)label;
    }
    out[size] = 0;
    return INSITU_OK;
}

static void drop_label(labelled_t *x, uint32_t at) { memmove(x->labels + at, x->labels + at + 1, MAX_RANK - at); }

/* "ii" is the diagonal, whose dimension comes last. */
static insitu_status take_diagonals(converter_t *c, labelled_t *x) {
    for (uint32_t i = 0; x->labels[i];) {
        const char *other = strchr(x->labels + i + 1, x->labels[i]);
        if (!other) {
            i++;
            continue;
        }
        char label = x->labels[i];
        uint32_t second = (uint32_t)(other - x->labels);
        layer_draft_t diagonal = draft_of(LAYER_DIAGONAL);
        draft_int(c->pool, &diagonal, ATTR_DIM1, i);
        draft_int(c->pool, &diagonal, ATTR_DIM2, second);
        draft_int(c->pool, &diagonal, ATTR_OFFSET, 0);
        if (sym_is_eq(c->pool, size_of(c, x->tensor, i), size_of(c, x->tensor, second)) == TRUTH_FALSE) {
            return convert_fail(c, INSITU_FORMAT, "label '%c' for two sizes", label);
        }
        TRY(emit_on(c, &diagonal, x->tensor, &x->tensor));
        drop_label(x, second);
        drop_label(x, i);
        size_t count = strlen(x->labels);
        x->labels[count] = label;
        x->labels[count + 1] = 0;
    }
    return INSITU_OK;
}

/* Whether some operand has another size than 1 under the label. */
static bool label_has_size(const converter_t *c, const labelled_t *operands, uint32_t count, char label) {
    for (uint32_t i = 0; i < count; i++) {
        const char *at = strchr(operands[i].labels, label);
        if (at && !is_int_constant(c, size_of(c, operands[i].tensor, (uint32_t)(at - operands[i].labels)), 1))
            return true;
    }
    return false;
}

static insitu_status drop_ones(converter_t *c, labelled_t *operands, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        labelled_t *x = &operands[i];
        for (uint32_t dim = 0; x->labels[dim];) {
            if (!is_int_constant(c, size_of(c, x->tensor, dim), 1) ||
                !label_has_size(c, operands, count, x->labels[dim])) {
                dim++;
                continue;
            }
            TRY(emit_squeeze(c, x->tensor, dim, &x->tensor));
            drop_label(x, dim);
        }
    }
    return INSITU_OK;
}

/* Sums over the labels that nobody wants. */
static insitu_status sum_unwanted(converter_t *c, labelled_t *x, const char *wanted, const char *also_wanted) {
    uint32_t axes = 0, kept = 0;
    char labels[MAX_RANK + 1] = {0};
    for (uint32_t i = 0; x->labels[i]; i++) {
        if (strchr(wanted, x->labels[i]) || strchr(also_wanted, x->labels[i])) {
            labels[kept++] = x->labels[i];
        } else {
            axes |= 1u << i;
        }
    }
    memcpy(x->labels, labels, sizeof(labels));
    return axes ? emit_reduce(c, OP_SUM, x->tensor, axes, false, &x->tensor) : INSITU_OK;
}

/* Dimensions in the order of labels, which are x's own. */
static insitu_status order_labels(converter_t *c, labelled_t *x, const char *labels) {
    uint32_t axes[MAX_RANK];
    for (uint32_t i = 0; labels[i]; i++) axes[i] = (uint32_t)(strchr(x->labels, labels[i]) - x->labels);
    memcpy(x->labels, labels, strlen(labels) + 1);
    return emit_permute(c, x->tensor, axes, &x->tensor);
}

static sym_t product_of(converter_t *c, const labelled_t *x, const char *labels) {
    sym_t product = sym_int(c->pool, 1);
    for (uint32_t i = 0; labels[i]; i++) {
        product =
            sym_mul(c->pool, product, size_of(c, x->tensor, (uint32_t)(strchr(x->labels, labels[i]) - x->labels)));
    }
    return product;
}

static void append(char *labels, const char *more) {
    size_t size = strlen(labels);
    memcpy(labels + size, more, strlen(more) + 1);
}

typedef struct pair_labels {
    char batch[MAX_RANK + 1], inner[MAX_RANK + 1], left[MAX_RANK + 1], right[MAX_RANK + 1];
} pair_labels_t;

static void sort_labels(const labelled_t *a, const labelled_t *b, const char *wanted, pair_labels_t *out) {
    uint32_t batch = 0, inner = 0, left = 0, right = 0;
    *out = (pair_labels_t){0};
    for (const char *label = a->labels; *label; label++) {
        if (!strchr(b->labels, *label)) {
            out->left[left++] = *label;
        } else if (strchr(wanted, *label)) {
            out->batch[batch++] = *label;
        } else {
            out->inner[inner++] = *label;
        }
    }
    for (const char *label = b->labels; *label; label++) {
        if (!strchr(a->labels, *label)) out->right[right++] = *label;
    }
}

/* a (batch, left, inner) by b (batch, inner, right), each group joined */
static insitu_status contract(converter_t *c, labelled_t a, labelled_t b, const char *wanted, labelled_t *out) {
    pair_labels_t groups;
    char order[2 * MAX_RANK + 2] = {0};
    TRY(sum_unwanted(c, &a, wanted, b.labels));
    TRY(sum_unwanted(c, &b, wanted, a.labels));
    sort_labels(&a, &b, wanted, &groups);
    if (strlen(groups.batch) + strlen(groups.left) + strlen(groups.right) > MAX_RANK) {
        return convert_unsupported(c, "over %d labels", MAX_RANK);
    }
    append(order, groups.batch);
    append(order, groups.left);
    append(order, groups.inner);
    TRY(order_labels(c, &a, order));
    order[0] = 0;
    append(order, groups.batch);
    append(order, groups.inner);
    append(order, groups.right);
    TRY(order_labels(c, &b, order));
    sym_t batch = product_of(c, &a, groups.batch), inner = product_of(c, &a, groups.inner);
    shape_t left = {.rank = 3, .sizes = {batch, product_of(c, &a, groups.left), inner}};
    shape_t right = {.rank = 3, .sizes = {batch, inner, product_of(c, &b, groups.right)}};
    shape_t whole = {0};
    for (const char *label = groups.batch; *label; label++) {
        whole.sizes[whole.rank++] = product_of(c, &a, (char[]){*label, 0});
    }
    for (const char *label = groups.left; *label; label++) {
        whole.sizes[whole.rank++] = product_of(c, &a, (char[]){*label, 0});
    }
    for (const char *label = groups.right; *label; label++) {
        whole.sizes[whole.rank++] = product_of(c, &b, (char[]){*label, 0});
    }
    TRY(emit_reshape(c, a.tensor, &left, &a.tensor));
    TRY(emit_reshape(c, b.tensor, &right, &b.tensor));
    TRY(emit_matmul(c, a.tensor, b.tensor, NO_TENSOR, &out->tensor));
    TRY(emit_reshape(c, out->tensor, &whole, &out->tensor));
    out->labels[0] = 0;
    append(out->labels, groups.batch);
    append(out->labels, groups.left);
    append(out->labels, groups.right);
    return INSITU_OK;
}

/* Labels of the result and of all operands from the first on, for what must outlive a contraction. */
static insitu_status wanted_labels(converter_t *c, const char *result, const labelled_t *operands, uint32_t count,
                                   const char **out) {
    char *labels;
    TRY(arena_array(&c->scratch, ((size_t)count + 1) * MAX_RANK + 1, 1, &labels));
    append(labels, result);
    for (uint32_t i = 0; i < count; i++) append(labels, operands[i].labels);
    *out = labels;
    return INSITU_OK;
}

static insitu_status take_equation(converter_t *c, labelled_t *operands, uint32_t count, char result[MAX_RANK + 1]) {
    const char *cursor = take_string(c, "equation");
    uint32_t dots = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = rank_of(c, operands[i].tensor), here = dots_of(cursor, rank);
        TRY(parse_labels(c, &cursor, here, operands[i].labels));
        if (strlen(operands[i].labels) != rank) {
            return convert_fail(c, INSITU_FORMAT, "labels '%s' for rank %u", operands[i].labels, rank);
        }
        dots = here > dots ? here : dots;
        if (i + 1 < count && *cursor++ != ',')
            return convert_fail(c, INSITU_FORMAT, "too few operands in the equation");
    }
    if (!*cursor) return implicit_labels(c, operands, count, dots, result);
    if (strncmp(cursor, "->", 2) != 0) return convert_fail(c, INSITU_FORMAT, "too many operands in the equation");
    cursor += 2;
    return parse_labels(c, &cursor, dots, result);
}

insitu_status convert_einsum(converter_t *c) {
    tensor_id_t *tensors;
    labelled_t *operands;
    uint32_t count;
    char result[MAX_RANK + 1] = {0};
    TRY(take_tensors(c, "tensors", &tensors, &count));
    TRY(arena_array(&c->scratch, count, sizeof(labelled_t), &operands));
    if (count == 0) return convert_fail(c, INSITU_FORMAT, "no operands");
    for (uint32_t i = 0; i < count; i++) {
        if (tensors[i].index == NONE) return convert_fail(c, INSITU_FORMAT, "an operand is None");
        operands[i].tensor = tensors[i];
    }
    TRY(take_equation(c, operands, count, result));
    for (uint32_t i = 0; i < count; i++) TRY(take_diagonals(c, &operands[i]));
    TRY(drop_ones(c, operands, count));
    labelled_t product = operands[0];
    for (uint32_t i = 1; i < count; i++) {
        const char *wanted;
        TRY(wanted_labels(c, result, operands + i + 1, count - i - 1, &wanted));
        TRY(contract(c, product, operands[i], wanted, &product));
    }
    TRY(sum_unwanted(c, &product, result, ""));
    if (strlen(product.labels) != strlen(result)) return convert_fail(c, INSITU_FORMAT, "a label of no operand");
    for (uint32_t i = 0; result[i]; i++) {
        if (!strchr(product.labels, result[i]) || strchr(result + i + 1, result[i]))
            return convert_fail(c, INSITU_FORMAT, "the result has a label of no operand, or one twice");
    }
    TRY(order_labels(c, &product, result));
    set_only_result(c, product.tensor);
    return INSITU_OK;
}
