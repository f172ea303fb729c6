/* The public network builder: inputs, states, constants, symbols, what is assigned and what comes out. Layers are in
 * add_*.c; text and questions in builder_text.c. Every call that changes the network makes it another program's. */
#include "builder/builder_int.h"

/* ---- what arguments mean ---- */

tensor_id_t builder_tensor(const insitu_network *network, insitu_value value) {
    if (value.id == 0 || value.id > network->network->tensor_count) return NO_TENSOR;
    return (tensor_id_t){value.id - 1};
}

insitu_status builder_sym(insitu_network *network, insitu_number number, const char *what, sym_t *out,
                          insitu_diag *diag) {
    sym_pool_t *pool = &network->network->symbols;
    *out = (sym_t){0};
    switch (number.kind) {
    case INSITU_NUMBER_INT: *out = sym_int(pool, number.of.integer); break;
    case INSITU_NUMBER_FLOAT: *out = sym_float(pool, number.of.real); break;
    case INSITU_NUMBER_BOOL: *out = sym_bool(pool, number.of.integer != 0); break;
    case INSITU_NUMBER_EXPRESSION:
        if (number.of.integer < 0 || number.of.integer >= pool->node_count)
            FAIL(diag, INSITU_ARG, "%s is an expression of another network", what);
        *out = (sym_t){(uint32_t)number.of.integer};
        break;
    default: FAIL(diag, INSITU_ARG, "%s is a number of the unknown kind %d", what, (int)number.kind);
    }
    return sym_pool_status(pool, diag);
}

insitu_status builder_dtype(insitu_dtype given, const char *what, dtype_t *out, insitu_diag *diag) {
    if (!dtype_from_public(given, out))
        FAIL(diag, INSITU_ARG, "%s: there is no dtype of code %d, %d bits and %d lanes", what, given.code, given.bits,
             given.lanes);
    return INSITU_OK;
}

static insitu_status need_size(const insitu_network *network, sym_t size, const char *what, int32_t index,
                               insitu_diag *diag) {
    const sym_pool_t *pool = &network->network->symbols;
    int64_t least, most;
    if (sym_kind_of(pool, size) != SYM_KIND_INT) FAIL(diag, INSITU_ARG, "%s: size %d is no integer", what, (int)index);
    if (network_reads_size(network->network, size))
        FAIL(diag, INSITU_ARG, "%s: size %d is a number that the network reads from a tensor", what, (int)index);
    sym_range(pool, size, &least, &most);
    if (most >= 0) return INSITU_OK;
    text_t printed;
    text_init(&printed);
    sym_print(pool, size, &printed);
    insitu_status status = text_status(&printed, diag);
    if (status == INSITU_OK)
        status = diag_set(diag, INSITU_SHAPE, "%s: size %d is %s, below 0", what, (int)index, printed.data);
    text_release(&printed);
    return status;
}

insitu_status builder_shape(insitu_network *network, dtype_t type, int32_t ndim, const insitu_number *sizes,
                            const char *what, shape_t *out, insitu_diag *diag) {
    *out = (shape_t){0};
    if (ndim < 0 || ndim > MAX_RANK || (ndim && !sizes))
        FAIL(diag, INSITU_ARG, "%s has %d dimensions where 0 to %d are allowed%s", what, (int)ndim, MAX_RANK,
             ndim && !sizes ? ", and no sizes" : "");
    for (int32_t i = 0; i < ndim; i++) {
        TRY(builder_sym(network, sizes[i], what, &out->sizes[i], diag));
        TRY(need_size(network, out->sizes[i], what, i, diag));
    }
    out->rank = (uint32_t)ndim;
    return network_check_bytes(network->network, what, type, out, diag);
}

static insitu_status check_name(const char *name, const char *what, insitu_diag *diag) {
    if (!name[0]) FAIL(diag, INSITU_ARG, "%s has an empty name", what);
    if (strlen(name) > MAX_NAME) FAIL(diag, INSITU_ARG, "%s has a name of over %d bytes", what, MAX_NAME);
    if (!is_utf8(name)) FAIL(diag, INSITU_ARG, "%s has a name that is not UTF-8", what);
    return INSITU_OK;
}

/* A name that no tensor, input, state or buffer has: an imported one's may differ from its tensor's. */
static insitu_status check_new_name(const insitu_network *network, const char *name, const char *what,
                                    insitu_diag *diag) {
    const network_t *built = network->network;
    TRY(check_name(name, what, diag));
    bool is_taken = map_find(&built->names, name) != NONE;
    for (uint32_t i = 0; i < built->input_count && !is_taken; i++) is_taken = strcmp(built->inputs[i].name, name) == 0;
    for (uint32_t i = 0; i < built->state_count && !is_taken; i++) is_taken = strcmp(built->states[i].name, name) == 0;
    for (uint32_t i = 0; i < built->buffer_count && !is_taken; i++)
        is_taken = strcmp(built->buffers[i].name, name) == 0;
    if (is_taken)
        FAIL(diag, INSITU_ARG, "%s can't be called '%s': the network has a tensor or input of that name", what, name);
    return INSITU_OK;
}

static insitu_status copy_name(insitu_network *network, const char *name, const char **out) {
    return arena_string(&network->network->arena, name, strlen(name), out);
}

/* ---- life ---- */

insitu_status builder_wrap(network_t *network, file_map_t *map, insitu_network **out_network) {
    *out_network = NULL;
    insitu_network *wrapped = memory_alloc(sizeof(*wrapped));
    if (!wrapped) {
        network_destroy(network);
        return INSITU_NOMEM;
    }
    *wrapped = (insitu_network){.network = network, .map = map ? file_map_retain(map) : NULL};
    *out_network = wrapped;
    return INSITU_OK;
}

insitu_status insitu_network_create(insitu_network **out_network, insitu_diag *diag) {
    if (out_network) *out_network = NULL;
    if (!out_network) FAIL(diag, INSITU_ARG, "insitu_network_create needs out_network");
    network_t *created;
    insitu_status status = network_create(&created);
    if (status == INSITU_OK) status = builder_wrap(created, NULL, out_network);
    return diag_complete(diag, status);
}

void insitu_network_destroy(insitu_network *network) {
    if (!network) return;
    network_destroy(network->network);
    file_map_release(network->map);
    memory_free(network);
}

/* ---- symbols ---- */

insitu_status builder_symbol(insitu_network *network, const char *name, sym_kind_t kind, int64_t min, int64_t max,
                             sym_t *out, insitu_diag *diag) {
    sym_pool_t *pool = &network->network->symbols;
    *out = (sym_t){0};
    if (!sym_is_name(name)) FAIL(diag, INSITU_ARG, "'%.64s' is no name for a symbol", name);
    if (sym_find_symbol(pool, name) != NONE) FAIL(diag, INSITU_ARG, "the network has a symbol '%s' already", name);
    if (max == -1) max = INT64_MAX;
    if (kind == SYM_KIND_INT && min > max)
        FAIL(diag, INSITU_ARG, "symbol '%s' has the empty range [%lld, %lld]", name, (long long)min, (long long)max);
    *out = sym_of_symbol(pool, sym_add_symbol(pool, name, kind, min, max));
    network->network->fingerprint = 0;
    return sym_pool_status(pool, diag);
}

insitu_status insitu_network_add_symbol(insitu_network *network, const char *name, int64_t min, int64_t max,
                                        insitu_number *out_number, insitu_diag *diag) {
    if (out_number) *out_number = insitu_int(0);
    if (!network || !name || !out_number)
        FAIL(diag, INSITU_ARG, "insitu_network_add_symbol needs a network, a name and out_number");
    if (min < 0) FAIL(diag, INSITU_ARG, "symbol '%.64s' is a size, and can't be %lld", name, (long long)min);
    sym_t value;
    insitu_status status = builder_symbol(network, name, SYM_KIND_INT, min, max, &value, diag);
    if (status == INSITU_OK) *out_number = number_of(value);
    return diag_complete(diag, status);
}

/* Every name that no "(" follows must be a symbol that is there; the parser knows the words of expressions. */
static insitu_status check_symbols(const insitu_network *network, const char *text, insitu_diag *diag) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    for (const char *c = text; *c;) {
        size_t size = strspn(c, letters), digits = strspn(c, "0123456789");
        if (digits) { /* a number, with its exponent: "1e-5" */
            c += size;
            continue;
        }
        char name[MAX_NAME + 1];
        bool is_call = c[size] == '(';
        if (size > MAX_NAME) FAIL(diag, INSITU_ARG, "an expression has a name of over %d bytes", MAX_NAME);
        memcpy(name, c, size);
        name[size] = '\0';
        c += size ? size : 1;
        if (!is_call && sym_is_name(name) && sym_find_symbol(&network->network->symbols, name) == NONE)
            FAIL(diag, INSITU_ARG, "the expression '%.200s' has a symbol '%.64s' that the network has not", text, name);
    }
    return INSITU_OK;
}

static insitu_status need_value(const sym_pool_t *pool, sym_t value, const char *text, insitu_diag *diag) {
    sym_t part;
    if (!sym_find_fault(pool, value, &part)) return INSITU_OK;
    text_t printed;
    text_init(&printed);
    sym_print(pool, part, &printed);
    insitu_status status = text_status(&printed, diag);
    if (status == INSITU_OK)
        status = diag_set(diag, INSITU_ARG, "the expression '%.200s' has no value: %.200s fails", text, printed.data);
    text_release(&printed);
    return status;
}

static insitu_status parse_expression(insitu_network *network, const char *text, sym_t *out, insitu_diag *diag) {
    const char *cursor = text;
    sym_pool_t *pool = &network->network->symbols;
    TRY(check_symbols(network, text, diag));
    insitu_status status = sym_parse(pool, &cursor, out, diag);
    sym_pool_clear_error(pool);
    TRY(status);
    cursor += strspn(cursor, " ");
    if (*cursor) FAIL(diag, INSITU_FORMAT, "the expression '%.200s' ends before '%.64s'", text, cursor);
    return need_value(pool, *out, text, diag);
}

insitu_status insitu_network_add_expression(insitu_network *network, const char *text, insitu_number *out_number,
                                            insitu_diag *diag) {
    if (out_number) *out_number = insitu_int(0);
    if (!network || !text || !out_number)
        FAIL(diag, INSITU_ARG, "insitu_network_add_expression needs a network, text and out_number");
    sym_t value;
    insitu_status status = parse_expression(network, text, &value, diag);
    if (status == INSITU_OK) *out_number = number_of(value);
    return diag_complete(diag, status);
}

static insitu_status add_assert(insitu_network *network, insitu_number number, const char *message, insitu_diag *diag) {
    sym_t condition;
    TRY(builder_sym(network, number, "the condition", &condition, diag));
    if (sym_kind_of(&network->network->symbols, condition) != SYM_KIND_BOOL)
        FAIL(diag, INSITU_ARG, "the condition of an assertion must be true or false, not a number");
    if (sym_truth(&network->network->symbols, condition) == TRUTH_FALSE)
        FAIL(diag, INSITU_ARG, "the assertion '%.200s' never holds", message);
    if (!is_utf8(message)) FAIL(diag, INSITU_ARG, "the message of an assertion is not UTF-8");
    network->network->fingerprint = 0;
    return network_require(network->network, condition, message, "");
}

insitu_status insitu_network_add_assert(insitu_network *network, insitu_number condition, const char *message,
                                        insitu_diag *diag) {
    if (!network || !message) FAIL(diag, INSITU_ARG, "insitu_network_add_assert needs a network and a message");
    return diag_complete(diag, add_assert(network, condition, message, diag));
}

/* ---- what goes in ---- */

/* "input 'x'" */
typedef struct described {
    char text[256];
} described_t;
static described_t describe(const char *what, const char *name) {
    described_t result;
    snprintf(result.text, sizeof(result.text), "%s '%.200s'", what, name);
    return result;
}

static insitu_status add_input(insitu_network *network, const char *name, insitu_dtype type, int32_t ndim,
                               const insitu_number *sizes, insitu_value *out_value, insitu_diag *diag) {
    const described_t what = describe("input", name);
    network_t *built = network->network;
    network_input_t *row;
    tensor_id_t tensor;
    dtype_t known;
    shape_t shape;
    TRY(check_new_name(network, name, "an input", diag));
    TRY(builder_dtype(type, what.text, &known, diag));
    TRY(builder_shape(network, known, ndim, sizes, what.text, &shape, diag));
    TRY(network_add_tensor(built, name, TENSOR_INPUT, known, &shape, built->input_count, &tensor));
    TRY(network_add_input(built, &row));
    row->name = network_tensor_of(built, tensor)->name;
    row->tensor = tensor;
    shape_dense_strides(&built->symbols, &shape, row->strides);
    built->fingerprint = 0;
    *out_value = value_of(tensor);
    return sym_pool_status(&built->symbols, diag);
}

insitu_status insitu_network_add_input(insitu_network *network, const char *name, insitu_dtype dtype, int32_t ndim,
                                       const insitu_number *sizes, insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    if (!network || !name || !out_value)
        FAIL(diag, INSITU_ARG, "insitu_network_add_input needs a network, a name and out_value");
    return diag_complete(diag, add_input(network, name, dtype, ndim, sizes, out_value, diag));
}

static insitu_status add_number(insitu_network *network, const char *name, insitu_dtype type, int64_t min, int64_t max,
                                sym_t *out, insitu_diag *diag) {
    network_input_t *row;
    dtype_t known;
    TRY(check_new_name(network, name, "an input", diag));
    TRY(builder_dtype(type, "a number", &known, diag));
    if (known != DTYPE_I64 && known != DTYPE_F64 && known != DTYPE_BOOL)
        FAIL(diag, INSITU_ARG, "input '%s' is a number, and can't be of %s: i64, f64 and bool are allowed", name,
             dtype_name(known));
    sym_kind_t kind = known == DTYPE_I64 ? SYM_KIND_INT : known == DTYPE_F64 ? SYM_KIND_FLOAT : SYM_KIND_BOOL;
    TRY(builder_symbol(network, name, kind, min, max, out, diag));
    TRY(network_add_input(network->network, &row));
    TRY(copy_name(network, name, &row->name));
    row->is_scalar = true;
    row->dtype = known;
    row->value = *out;
    return INSITU_OK;
}

insitu_status insitu_network_add_number(insitu_network *network, const char *name, insitu_dtype dtype, int64_t min,
                                        int64_t max, insitu_number *out_number, insitu_diag *diag) {
    if (out_number) *out_number = insitu_int(0);
    if (!network || !name || !out_number)
        FAIL(diag, INSITU_ARG, "insitu_network_add_number needs a network, a name and out_number");
    sym_t value;
    insitu_status status = add_number(network, name, dtype, min, max, &value, diag);
    if (status == INSITU_OK) *out_number = number_of(value);
    return diag_complete(diag, status);
}

/* The record of a tensor's bytes, copied; *out NONE: it has none. */
static insitu_status add_record(insitu_network *network, const char *name, dtype_t type, const void *data, size_t size,
                                uint32_t *out) {
    network_t *built = network->network;
    weight_record_t *record;
    *out = NONE;
    if (!data || size == 0) return INSITU_OK;
    TRY(network_add_record(built, &record));
    record->dtype = type;
    record->size = size;
    TRY(copy_name(network, name, &record->name));
    TRY(arena_copy(&built->arena, data, size, &record->data));
    *out = built->record_count - 1;
    return INSITU_OK;
}

static insitu_status check_bytes(const insitu_network *network, const shape_t *shape, dtype_t type, const char *what,
                                 size_t size, insitu_diag *diag) {
    int64_t bytes = dtype_size(type), extent;
    for (uint32_t i = 0; i < shape->rank; i++)
        bytes *= sym_constant(&network->network->symbols, shape->sizes[i], &extent) ? extent : 0;
    if ((size_t)bytes != size)
        FAIL(diag, INSITU_SHAPE, "%s has %lld bytes, and was given %zu", what, (long long)bytes, size);
    return INSITU_OK;
}

static insitu_status check_state_sizes(const insitu_network *network, const shape_t *shape, const char *what,
                                       bool has_data, insitu_diag *diag) {
    const sym_pool_t *pool = &network->network->symbols;
    int64_t size;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (sym_constant(pool, shape->sizes[i], &size)) continue;
        if (sym_symbol_index(pool, shape->sizes[i]) == NONE)
            FAIL(diag, INSITU_SHAPE, "%s: size %u is neither a number nor a symbol", what, i);
        if (has_data) FAIL(diag, INSITU_SHAPE, "%s has initial bytes, and size %u that varies", what, i);
    }
    return INSITU_OK;
}

static insitu_status add_state(insitu_network *network, const char *name, const tensor_type_t *type, uint32_t record,
                               insitu_value *out_value) {
    network_t *built = network->network;
    network_state_t *row;
    tensor_id_t tensor;
    TRY(network_add_tensor(built, name, TENSOR_STATE, type->dtype, &type->shape, built->state_count, &tensor));
    TRY(network_add_state(built, &row));
    row->name = network_tensor_of(built, tensor)->name;
    row->tensor = tensor;
    row->record = record;
    row->offset = sym_int(&built->symbols, 0);
    shape_dense_strides(&built->symbols, &type->shape, row->strides);
    built->fingerprint = 0;
    *out_value = value_of(tensor);
    return INSITU_OK;
}

insitu_status insitu_network_add_state(insitu_network *network, const char *name, insitu_dtype dtype, int32_t ndim,
                                       const insitu_number *sizes, const void *data, size_t size,
                                       insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    if (!network || !name || !out_value || (size && !data))
        FAIL(diag, INSITU_ARG,
             "insitu_network_add_state needs a network, a name, out_value, and data if it has a size");
    const described_t what = describe("state", name);
    tensor_type_t type = {.dtype = DTYPE_F32};
    uint32_t record = NONE;
    insitu_status status = check_new_name(network, name, "a state", diag);
    if (status == INSITU_OK) status = builder_dtype(dtype, what.text, &type.dtype, diag);
    if (status == INSITU_OK) status = builder_shape(network, type.dtype, ndim, sizes, what.text, &type.shape, diag);
    if (status == INSITU_OK) status = check_state_sizes(network, &type.shape, what.text, size > 0, diag);
    if (status == INSITU_OK && data) status = check_bytes(network, &type.shape, type.dtype, what.text, size, diag);
    if (status == INSITU_OK) status = add_record(network, name, type.dtype, data, size, &record);
    if (status == INSITU_OK) status = add_state(network, name, &type, record, out_value);
    return diag_complete(diag, status);
}

static insitu_status add_constant(insitu_network *network, const char *name, const tensor_type_t *type, uint32_t record,
                                  insitu_value *out_value) {
    network_t *built = network->network;
    network_constant_t *row;
    tensor_id_t tensor;
    TRY(network_add_tensor(built, name, TENSOR_CONSTANT, type->dtype, &type->shape, built->constant_count, &tensor));
    TRY(network_add_constant(built, &row));
    row->tensor = tensor;
    row->record = record;
    row->offset = sym_int(&built->symbols, 0);
    shape_dense_strides(&built->symbols, &type->shape, row->strides);
    built->fingerprint = 0;
    *out_value = value_of(tensor);
    return INSITU_OK;
}

insitu_status insitu_network_add_constant(insitu_network *network, const char *name, insitu_dtype dtype, int32_t ndim,
                                          const int64_t *sizes, const void *data, size_t size, insitu_value *out_value,
                                          insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    if (!network || !name || !out_value || (size && !data))
        FAIL(diag, INSITU_ARG, "insitu_network_add_constant needs a network, a name, out_value, and data of its size");
    const described_t what = describe("constant", name);
    insitu_number numbers[MAX_RANK];
    tensor_type_t type = {.dtype = DTYPE_F32};
    uint32_t record = NONE;
    for (int32_t i = 0; sizes && i < ndim && i < MAX_RANK; i++) numbers[i] = insitu_int(sizes[i]);
    insitu_status status = check_new_name(network, name, "a constant", diag);
    if (status == INSITU_OK) status = builder_dtype(dtype, what.text, &type.dtype, diag);
    if (status == INSITU_OK)
        status = builder_shape(network, type.dtype, ndim, sizes ? numbers : NULL, what.text, &type.shape, diag);
    if (status == INSITU_OK) status = check_bytes(network, &type.shape, type.dtype, what.text, size, diag);
    if (status == INSITU_OK) status = add_record(network, name, type.dtype, data, size, &record);
    if (status == INSITU_OK) status = add_constant(network, name, &type, record, out_value);
    return diag_complete(diag, status);
}

/* ---- what comes out ---- */

static insitu_status check_same_type(network_t *network, tensor_id_t target, tensor_id_t value, insitu_diag *diag) {
    const network_tensor_t *old = network_tensor_of(network, target), *new = network_tensor_of(network, value);
    bool is_same_shape = shape_equal(&network->symbols, &old->shape, &new->shape) == TRUTH_TRUE;
    if (old->dtype == new->dtype && is_same_shape) return INSITU_OK;
    text_t types;
    text_init(&types);
    tensor_print_type(network, old, &types);
    text_printf(&types, " and can't become ");
    tensor_print_type(network, new, &types);
    insitu_status status = text_status(&types, diag);
    if (status == INSITU_OK)
        status =
            diag_set(diag, old->dtype == new->dtype ? INSITU_SHAPE : INSITU_ARG, "'%s' is %s", old->name, types.data);
    text_release(&types);
    return status;
}

static insitu_status assign_input(network_t *network, uint32_t input, tensor_id_t value) {
    network_mutation_t *row = NULL;
    for (uint32_t i = 0; i < network->mutation_count; i++)
        if (network->mutations[i].input == input) row = &network->mutations[i];
    if (!row) TRY(network_add_mutation(network, &row));
    *row = (network_mutation_t){.input = input, .next = value};
    return INSITU_OK;
}

insitu_status insitu_network_assign(insitu_network *network, insitu_value target, insitu_value value,
                                    insitu_diag *diag) {
    if (!network) FAIL(diag, INSITU_ARG, "insitu_network_assign needs a network");
    network_t *built = network->network;
    tensor_id_t old = builder_tensor(network, target), new = builder_tensor(network, value);
    if (old.index == NONE || new.index == NONE)
        FAIL(diag, INSITU_ARG, "assign: %s is no tensor of the network",
             old.index == NONE ? "the target" : "the value");
    const network_tensor_t *written = network_tensor_of(built, old);
    if (written->role != TENSOR_INPUT && written->role != TENSOR_STATE)
        FAIL(diag, INSITU_ARG, "assign: '%s' is neither an input nor a state", written->name);
    insitu_status status = check_same_type(built, old, new, diag);
    if (status == INSITU_OK) built->fingerprint = 0;
    if (status == INSITU_OK && written->role == TENSOR_STATE) built->states[written->index].next = new;
    if (status == INSITU_OK && written->role == TENSOR_INPUT) status = assign_input(built, written->index, new);
    return diag_complete(diag, status);
}

static insitu_status add_output(insitu_network *network, const char *name, const network_output_t *output,
                                insitu_diag *diag) {
    network_t *built = network->network;
    network_output_t *row;
    const char *copy;
    TRY(check_name(name, "an output", diag));
    for (uint32_t i = 0; i < built->output_count; i++)
        if (strcmp(built->outputs[i].name, name) == 0)
            FAIL(diag, INSITU_ARG, "the network has an output '%s' already", name);
    TRY(copy_name(network, name, &copy));
    TRY(network_add_output(built, &row));
    *row = *output;
    row->name = copy;
    built->fingerprint = 0;
    return INSITU_OK;
}

insitu_status insitu_network_mark_output(insitu_network *network, insitu_value value, const char *name,
                                         insitu_diag *diag) {
    if (!network || !name) FAIL(diag, INSITU_ARG, "insitu_network_mark_output needs a network and a name");
    network_output_t output = {.kind = OUTPUT_TENSOR, .tensor = builder_tensor(network, value)};
    if (output.tensor.index == NONE) FAIL(diag, INSITU_ARG, "output '%.200s' is no tensor of the network", name);
    return diag_complete(diag, add_output(network, name, &output, diag));
}

insitu_status insitu_network_mark_number(insitu_network *network, insitu_number number, const char *name,
                                         insitu_diag *diag) {
    if (!network || !name) FAIL(diag, INSITU_ARG, "insitu_network_mark_number needs a network and a name");
    network_output_t output = {.kind = OUTPUT_NUMBER, .tensor = NO_TENSOR};
    insitu_status status = builder_sym(network, number, "an output", &output.value, diag);
    if (status == INSITU_OK) status = add_output(network, name, &output, diag);
    return diag_complete(diag, status);
}

insitu_status insitu_network_set_name(insitu_network *network, insitu_value value, const char *name,
                                      insitu_diag *diag) {
    if (!network || !name) FAIL(diag, INSITU_ARG, "insitu_network_set_name needs a network and a name");
    network_t *built = network->network;
    tensor_id_t tensor = builder_tensor(network, value);
    if (tensor.index == NONE) FAIL(diag, INSITU_ARG, "'%.200s' is to be the name of no tensor of the network", name);
    const network_tensor_t *named = network_tensor_of(built, tensor);
    if (named->role == TENSOR_INPUT || named->role == TENSOR_STATE)
        FAIL(diag, INSITU_ARG, "'%s' is an input or a state, and keeps its name", named->name);
    insitu_status status = check_new_name(network, name, "a tensor", diag);
    if (status == INSITU_OK) status = network_swap_name(built, tensor, name);
    if (status == INSITU_OK && named->role == TENSOR_RESULT && named->index == 0)
        network_layer_of(built, named->producer)->name = named->name;
    if (status == INSITU_OK) built->fingerprint = 0;
    return diag_complete(diag, status);
}
