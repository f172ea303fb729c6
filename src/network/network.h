/* network: the layer-level form: functional SSA over the layers of core/layers.def, built by convert.c from a graph or
 * parsed from text. Owned by one arena; points at nothing upstream save weight bytes in the mapped archive. Broadcasts
 * (expand) and casts are explicit; elementwise operands have the result's sizes and one dtype. docs/ir.md has the text. */
#ifndef NETWORK_H
#define NETWORK_H

#include "core/core.h"

typedef struct tensor_id {
    uint32_t index;
} tensor_id_t;
typedef struct layer_id {
    uint32_t index;
} layer_id_t;
#define NO_TENSOR ((tensor_id_t){NONE})
#define NO_LAYER ((layer_id_t){NONE})

typedef enum tensor_role { TENSOR_RESULT, TENSOR_INPUT, TENSOR_STATE, TENSOR_CONSTANT } tensor_role_t;
typedef struct network_tensor {
    const char *name; /* unique */
    tensor_role_t role;
    dtype_t dtype;
    shape_t shape;
    layer_id_t producer; /* RESULT */
    uint32_t index;      /* RESULT: position among the layer's results; else index of the input, state or constant */
} network_tensor_t;

typedef struct layer {
    layer_kind_t kind;
    const tensor_id_t *operands;
    uint32_t operand_count;
    const tensor_id_t *results;
    uint32_t result_count;
    attr_t *attrs;      /* one for each attribute row of the kind */
    const char *name;   /* of the node that it came from */
    const char *source; /* "model.py:41" or "" */
    bool assembles; /* an update that network_rewrite_as_updates made: its source is a part of the state's new value */
} layer_t;

typedef struct network_input { /* in the order of the user inputs */
    const char *name;
    tensor_id_t tensor;                   /* NO_TENSOR: a number, None or string */
    sym_t strides[MAX_RANK];              /* of a tensor: as recorded */
    bool is_scalar, is_constant, is_none; /* as in plan_input */
    dtype_t dtype;                        /* is_scalar: I64, F64 or BOOL */
    sym_t value;                          /* is_scalar */
} network_input_t;

typedef struct network_state { /* one mutated buffer (or constant): the view of its storage */
    const char *name;
    tensor_id_t tensor; /* its value when the call begins */
    uint32_t record;    /* weight record with the initial bytes; NONE: zeros. States with equal record share storage */
    sym_t strides[MAX_RANK];
    sym_t offset;
    tensor_id_t next; /* its value when the call ends; NO_TENSOR: unchanged (it shares storage with one that changes) */
} network_state_t;

typedef struct network_constant { /* a strided view of a weight record */
    tensor_id_t tensor;
    uint32_t record;
    sym_t strides[MAX_RANK];
    sym_t offset;
} network_constant_t;

typedef struct network_buffer { /* a buffer that the program does not write: the view of a weight record */
    const char *name;
    uint32_t record;    /* NONE: it has no elements */
    tensor_type_t type; /* constants */
} network_buffer_t;

typedef struct network_mutation { /* an input that the program mutates */
    uint32_t input;
    tensor_id_t next; /* its value when the call ends */
} network_mutation_t;

typedef struct network_output { /* in the order of the flattened result; None and strings included */
    const char *name;           /* "output.N" */
    output_kind_t kind;
    tensor_id_t tensor; /* OUTPUT_TENSOR */
    sym_t value;        /* OUTPUT_NUMBER */
    bool is_input; /* the caller wants it to be the new value of this mutated input, whatever else has that value */
    uint32_t input;
} network_output_t;

typedef struct network {
    arena_t arena;
    sym_pool_t symbols;
    network_tensor_t *tensors;
    uint32_t tensor_count, tensor_capacity;
    layer_t *layers; /* by id; */
    uint32_t layer_count, layer_capacity;
    layer_id_t *order; /* each layer after the producers of its operands */
    uint32_t order_count, order_capacity;
    network_input_t *inputs;
    uint32_t input_count, input_capacity;
    network_state_t *states;
    uint32_t state_count, state_capacity;
    network_constant_t *constants;
    uint32_t constant_count, constant_capacity;
    network_buffer_t *buffers; /* names alone: layers read the same bytes as constants */
    uint32_t buffer_count, buffer_capacity;
    network_mutation_t *mutations;
    uint32_t mutation_count, mutation_capacity;
    network_output_t *outputs;
    uint32_t output_count, output_capacity;
    weight_record_t *records;
    uint32_t record_count, record_capacity;
    sym_assert_t *asserts;
    uint32_t assert_count, assert_capacity;
    struct network **regions; /* networks that layers run (network_region.c); owned */
    uint32_t region_count, region_capacity;
    map_t names;
    uint64_t fingerprint; /* of the program that it is, unchanged; 0: it was built or changed by hand */
} network_t;

MUST_CHECK insitu_status network_create(network_t **out_network);
void network_destroy(network_t *network); /* NULL allowed */

/* Adds a tensor that is an input's, a state's or a constant's; the caller then adds the row. */
MUST_CHECK insitu_status network_add_tensor(network_t *network, const char *name, tensor_role_t role, dtype_t type,
                                            const shape_t *shape, uint32_t index, tensor_id_t *out_tensor);
/* what ("input 'x'") can be no tensor of that type: it needs more than MAX_TENSOR_BYTES. Errors: SHAPE. */
MUST_CHECK insitu_status network_check_bytes(const network_t *network, const char *what, dtype_t type,
                                             const shape_t *shape, insitu_diag *diag);
/* One more row at the end of an array of the network; *out is the zeroed row. */
MUST_CHECK insitu_status network_add_input(network_t *network, network_input_t **out);
MUST_CHECK insitu_status network_add_state(network_t *network, network_state_t **out);
MUST_CHECK insitu_status network_add_constant(network_t *network, network_constant_t **out);
MUST_CHECK insitu_status network_add_buffer(network_t *network, network_buffer_t **out);
MUST_CHECK insitu_status network_add_mutation(network_t *network, network_mutation_t **out);
MUST_CHECK insitu_status network_add_output(network_t *network, network_output_t **out);
MUST_CHECK insitu_status network_add_assert(network_t *network, sym_assert_t **out);
MUST_CHECK insitu_status network_add_record(network_t *network, weight_record_t **out);

static inline const network_tensor_t *network_tensor_of(const network_t *network, tensor_id_t tensor) {
    return &network->tensors[tensor.index];
}
static inline layer_t *network_layer_of(const network_t *network, layer_id_t layer) {
    return &network->layers[layer.index];
}
static inline attr_t attr_of_sym(sym_t value) { return (attr_t){.kind = ATTR_KIND_SYM, .value = value}; }
static inline attr_t attr_of_dtype(dtype_t type) { return (attr_t){.kind = ATTR_KIND_DTYPE, .dtype = type}; }
static inline attr_t attr_of_op(op_kind_t op) { return (attr_t){.kind = ATTR_KIND_OP, .op = op}; }
static inline attr_t attr_of_list(const sym_t *items, uint32_t count) {
    return (attr_t){.kind = ATTR_KIND_SYMS, .list = {items, count}};
}
/* An attribute of a layer; kind ATTR_KIND_NONE if it has none of that name. */
attr_t layer_attr(const layer_t *layer, attr_id_t id);
/* The same as a constant; the verifier guarantees that dims, axes, flags and the like are constants. */
int64_t layer_attr_int(const network_t *network, const layer_t *layer, attr_id_t id);

/* ---- regions (network_region.c) ---- */
/* An empty region, at the end of the network's; it dies with the network. */
MUST_CHECK insitu_status network_add_region(network_t *network, struct network **out_region);
/* That region of a layer of a kind with TRAIT_REGIONS and such attributes; NULL: there is none. */
struct network *network_region(const network_t *network, const attr_t *attrs, uint32_t which);
uint32_t layer_result_count(const network_t *network, layer_kind_t kind, const attr_t *attrs);
/* Each symbol: an item layer of the network itself gives it its value. out_read: symbols.symbol_count of them, false. */
void network_find_read(const network_t *network, bool *out_read);
/* What the symbols of a region are in the outer network: its symbols of the same name, save those that the region reads. */
typedef struct region_symbols {
    const sym_pool_t *inner;
    sym_pool_t *outer;
    sym_t *by; /* each symbol of the region; where is_inside, whoever moves expressions says */
    bool *is_inside;
} region_symbols_t;
MUST_CHECK insitu_status region_symbols_find(const network_t *region, sym_pool_t *outer, arena_t *arena,
                                             region_symbols_t *out_symbols);
/* An expression of the region in the outer network; false if it uses a symbol that is the region's own. */
bool region_sym_leave(const region_symbols_t *symbols, sym_t inside, sym_t *out);

/* Shape and dtype of the results of a layer, from its operands and attributes (one shape function a kind). */
typedef struct inferred {
    dtype_t dtype;
    shape_t shape;
} inferred_t;
MUST_CHECK insitu_status network_infer(network_t *network, layer_kind_t kind, const tensor_id_t *operands,
                                       uint32_t operand_count, const attr_t *attrs, inferred_t *out_results,
                                       insitu_diag *diag);

MUST_CHECK insitu_status network_print(const network_t *network, text_t *out, insitu_diag *diag);
MUST_CHECK insitu_status network_parse(const char *source, network_t **out_network, insitu_diag *diag);
MUST_CHECK insitu_status network_verify(network_t *network, insitu_diag *diag);
/* Every symbol that the network uses has a value when it runs. Errors: fault (names the symbol and its user). */
MUST_CHECK insitu_status network_check_symbols(const network_t *network, insitu_status fault, insitu_diag *diag);
/* The same network by itself, read from its text; records' bytes are shared. */
MUST_CHECK insitu_status network_copy(const network_t *source, network_t **out_network, insitu_diag *diag);

/* The axis of which every write to the state replaces rows at positions (positions.c); NONE: there is none. */
uint32_t network_position_axis(const network_t *network, uint32_t state);
/* Of an input (or a state) that begins as start and ends as next (update_kind.c). */
update_kind_t network_update_kind(const network_t *network, tensor_id_t start, tensor_id_t next);
/* What is known of an index tensor (affine_index.c): element [i,j...] is base + i*steps[0] + j*steps[1] ... + an unknown number
 * if is_unknown, which changes along the dimensions of varies alone. Dimensions of size 1 have step 0. */
typedef struct affine_index {
    int64_t base, steps[MAX_RANK];
    uint32_t varies;
    bool is_unknown;
} affine_index_t;
affine_index_t network_affine_index(const network_t *network, tensor_id_t tensor);

#endif
