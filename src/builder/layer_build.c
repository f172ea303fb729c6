/* A layer of the public builder: operands and attributes are given one by one, the first that is wrong is remembered, and
 * build_close adds the layer or leaves the network as it was. */
#include "builder/builder_int.h"

void build_fail(layer_build_t *build, insitu_status status, const char *format, ...) {
    if (build->status != INSITU_OK) return;
    text_t sentence;
    text_init(&sentence);
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&sentence, format, arguments);
    va_end(arguments);
    build->status = text_status(&sentence, build->diag);
    if (build->status == INSITU_OK)
        build->status = diag_set(build->diag, status, "%s: %s", layer_info_of(build->draft.kind)->name, sentence.data);
    text_release(&sentence);
}

/* An argument that must not be NULL. */
static bool is_given(layer_build_t *build, const void *argument, const char *what) {
    if (build->status != INSITU_OK) return false;
    if (!argument) build->status = diag_set(build->diag, INSITU_ARG, "%s needs %s", build->function, what);
    return argument != NULL;
}

void build_needs_place(layer_build_t *build) {
    (void)is_given(build, NULL, "a network and a place for what it gives out");
}

void build_open(layer_build_t *build, insitu_network *network, layer_kind_t kind, const char *function,
                insitu_value *out_first, insitu_value *out_second, insitu_diag *diag) {
    *build = (layer_build_t){.network = network, .draft = draft_of(kind), .function = function, .diag = diag};
    build->out[0] = out_first;
    build->out[1] = out_second;
    bool is_missing = !network;
    for (uint32_t i = 0; i < MAX_OWN_RESULTS; i++) {
        if (build->out[i]) *build->out[i] = insitu_no_value();
        is_missing = is_missing || (i < layer_info_of(kind)->results && !build->out[i]);
    }
    if (is_missing) build_needs_place(build);
}

void build_operand(layer_build_t *build, insitu_value value) {
    if (build->status != INSITU_OK) return;
    tensor_id_t tensor = builder_tensor(build->network, value);
    if (tensor.index == NONE) {
        build_fail(build, INSITU_ARG, "operand %u is no tensor of the network", build->operand_count);
        return;
    }
    build->status = arena_grow(&build->network->network->arena, &build->operands, &build->operand_capacity,
                               (size_t)build->operand_count + 1, sizeof(tensor_id_t));
    if (build->status == INSITU_OK) build->operands[build->operand_count++] = tensor;
}

void build_operands(layer_build_t *build, int32_t count, const insitu_value *values, const char *what) {
    if (count < 0) build_fail(build, INSITU_ARG, "%d %s", (int)count, what);
    if (count > 0 && !is_given(build, values, what)) return;
    for (int32_t i = 0; i < count; i++) build_operand(build, values[i]);
}

void build_optional(layer_build_t *build, insitu_value value) {
    if (value.id != 0) build_operand(build, value);
}

/* A number of the attribute, or of its list. */
static void take_number(layer_build_t *build, attr_id_t id, insitu_number number, sym_t *out) {
    char what[64];
    if (build->status != INSITU_OK) return;
    snprintf(what, sizeof(what), "%s of %s", attr_name(id), layer_info_of(build->draft.kind)->name);
    build->status = builder_sym(build->network, number, what, out, build->diag);
}

void build_number(layer_build_t *build, attr_id_t id, insitu_number number) {
    sym_t value;
    take_number(build, id, number, &value);
    if (build->status == INSITU_OK) draft_sym(&build->draft, id, value);
}

void build_int(layer_build_t *build, attr_id_t id, int64_t value) { build_number(build, id, insitu_int(value)); }

void build_flag(layer_build_t *build, attr_id_t id, bool value) { build_number(build, id, insitu_bool(value)); }

void build_float(layer_build_t *build, attr_id_t id, double value) { build_number(build, id, insitu_float(value)); }

void build_dtype(layer_build_t *build, insitu_dtype type) {
    dtype_t known;
    if (build->status != INSITU_OK) return;
    build->status = builder_dtype(type, layer_info_of(build->draft.kind)->name, &known, build->diag);
    if (build->status == INSITU_OK) draft_dtype(&build->draft, known);
}

void build_op(layer_build_t *build, const char *op) {
    op_kind_t known;
    if (!is_given(build, op, "an op")) return;
    if (!layer_parse_op(build->draft.kind, op, &known))
        build_fail(build, INSITU_ARG, "there is no op '%s' of this layer", op);
    else
        draft_op(&build->draft, known);
}

/* The next list, for count items; NULL after a failure. */
static sym_t *take_list(layer_build_t *build, attr_id_t id, int64_t count) {
    if (build->status != INSITU_OK) return NULL;
    if (count < 0 || count > MAX_RANK) {
        build_fail(build, INSITU_ARG, "%s has %lld items where 0 to %d are allowed", attr_name(id), (long long)count,
                   MAX_RANK);
        return NULL;
    }
    sym_t *items = build->lists[build->list_count++];
    draft_list(&build->draft, id, items, (uint32_t)count);
    return items;
}

void build_numbers(layer_build_t *build, attr_id_t id, int32_t count, const insitu_number *numbers) {
    if (count > 0 && !is_given(build, numbers, attr_name(id))) return;
    sym_t *items = take_list(build, id, count);
    for (int32_t i = 0; items && i < count; i++) take_number(build, id, numbers[i], &items[i]);
}

void build_dims(layer_build_t *build, attr_id_t id, int32_t count, const int32_t *dims) {
    if (count > 0 && !is_given(build, dims, attr_name(id))) return;
    sym_t *items = take_list(build, id, count);
    for (int32_t i = 0; items && i < count; i++) items[i] = sym_int(&build->network->network->symbols, dims[i]);
}

void build_ints(layer_build_t *build, attr_id_t id, uint32_t count, const int64_t *values, int64_t otherwise) {
    sym_t *items = take_list(build, id, count);
    for (uint32_t i = 0; items && i < count; i++)
        items[i] = sym_int(&build->network->network->symbols, values ? values[i] : otherwise);
}

/* What must hold when the network runs: where a slice's positions may be too large, that is a matter of bounds. */
static void mark_bounds(const layer_build_t *build, uint32_t first_assert) {
    network_t *network = build->network->network;
    if (layer_attr_index(build->draft.kind, ATTR_END) == NONE) return;
    for (uint32_t i = first_assert; i < network->assert_count; i++)
        network->asserts[i].is_bounds = sym_op_of(&network->symbols, network->asserts[i].condition) != SYM_EQ;
}

insitu_status build_close(layer_build_t *build) {
    if (build->status != INSITU_OK) {
        if (build->network) sym_pool_clear_error(&build->network->network->symbols);
        return diag_complete(build->diag, build->status);
    }
    network_t *network = build->network->network;
    tensor_id_t results[MAX_RESULTS];
    char name[64];
    const network_mark_t before = network_mark_end(network);
    snprintf(name, sizeof(name), "%s.%u", layer_info_of(build->draft.kind)->name, network->tensor_count);
    insitu_status status = network_add_layer(network, &build->draft, build->operands, build->operand_count, name, "",
                                             results, build->diag);
    if (status != INSITU_OK) {
        network_undo(network, before); /* what inference required before it failed */
        sym_pool_clear_error(&network->symbols);
        return diag_complete(build->diag, status);
    }
    mark_bounds(build, before.asserts);
    network->fingerprint = 0;
    for (uint32_t i = 0; i < layer_info_of(build->draft.kind)->results; i++) *build->out[i] = value_of(results[i]);
    return INSITU_OK;
}
