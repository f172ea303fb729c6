/* network: the layer-level form: functional SSA over the layers of core/layers.def, built by convert.c from a graph or
 * parsed from text. Owned by one arena; points at nothing upstream save weight bytes in the mapped archive. Broadcasts
 * (expand) and casts are explicit; elementwise operands have the result's sizes and one dtype. docs/ir.md has the text. */
#ifndef NETWORK_H
#define NETWORK_H

#include "core/core.h"

typedef struct tensor_id {
    uint32_t index;
} tensor_id;
typedef struct layer_id {
    uint32_t index;
} layer_id;
#define NO_TENSOR ((tensor_id){NONE})
#define NO_LAYER ((layer_id){NONE})

typedef enum tensor_role { TENSOR_RESULT, TENSOR_INPUT, TENSOR_STATE, TENSOR_CONSTANT } tensor_role;
typedef struct network_tensor {
    const char *name; /* unique */
    tensor_role role;
    dtype dtype;
    shape shape;
    layer_id producer; /* RESULT */
    uint32_t index;    /* RESULT: position among the layer's results; else index of the input, state or constant */
} network_tensor;

typedef struct layer {
    layer_kind kind;
    const tensor_id *operands;
    uint32_t operand_count;
    const tensor_id *results;
    uint32_t result_count;
    attr *attrs;        /* one for each attribute row of the kind */
    const char *name;   /* of the node that it came from */
    const char *source; /* "model.py:41" or "" */
    bool assembles; /* an update that network_rewrite_as_updates made: its source is a part of the state's new value */
} layer;

typedef struct network_input { /* in the order of the user inputs */
    const char *name;
    tensor_id tensor;                     /* NO_TENSOR: a number, None or string */
    sym strides[MAX_RANK];                /* of a tensor: as recorded */
    bool is_scalar, is_constant, is_none; /* as in plan_input */
    dtype dtype;                          /* is_scalar: I64, F64 or BOOL */
    sym value;                            /* is_scalar */
} network_input;

typedef struct network_state { /* one mutated buffer (or constant): the view of its storage */
    const char *name;
    tensor_id tensor; /* its value when the call begins */
    uint32_t record;  /* weight record with the initial bytes; NONE: zeros. States with equal record share storage */
    sym strides[MAX_RANK];
    sym offset;
    tensor_id next; /* its value when the call ends; NO_TENSOR: unchanged (it shares storage with one that changes) */
} network_state;

typedef struct network_constant { /* a strided view of a weight record */
    tensor_id tensor;
    uint32_t record;
    sym strides[MAX_RANK];
    sym offset;
} network_constant;

typedef struct network_buffer { /* a buffer that the program does not write: the view of a weight record */
    const char *name;
    uint32_t record;  /* NONE: it has no elements */
    tensor_type type; /* constants */
} network_buffer;

typedef struct network_mutation { /* an input that the program mutates */
    uint32_t input;
    tensor_id next; /* its value when the call ends */
} network_mutation;

typedef struct network_output { /* in the order of the flattened result; None and strings included */
    const char *name;           /* "output.N" */
    output_kind kind;
    tensor_id tensor; /* OUTPUT_TENSOR */
    sym value;        /* OUTPUT_NUMBER */
    bool is_input;    /* the caller wants it to be the new value of this mutated input, whatever else has that value */
    uint32_t input;
} network_output;

typedef struct network {
    arena arena;
    sym_pool symbols;
    network_tensor *tensors;
    uint32_t tensor_count, tensor_capacity;
    layer *layers; /* by id; */
    uint32_t layer_count, layer_capacity;
    layer_id *order; /* each layer after the producers of its operands */
    uint32_t order_count, order_capacity;
    network_input *inputs;
    uint32_t input_count, input_capacity;
    network_state *states;
    uint32_t state_count, state_capacity;
    network_constant *constants;
    uint32_t constant_count, constant_capacity;
    network_buffer *buffers; /* names alone: layers read the same bytes as constants */
    uint32_t buffer_count, buffer_capacity;
    network_mutation *mutations;
    uint32_t mutation_count, mutation_capacity;
    network_output *outputs;
    uint32_t output_count, output_capacity;
    weight_record *records;
    uint32_t record_count, record_capacity;
    sym_assert *asserts;
    uint32_t assert_count, assert_capacity;
    struct network **regions; /* networks that layers run (network_region.c); owned */
    uint32_t region_count, region_capacity;
    map names;
    uint64_t identity; /* of the program that it is, unchanged; 0: it was built or changed by hand */
} network;

MUST_CHECK insitu_status network_create(network **out_network);
void network_destroy(network *network); /* NULL allowed */

/* Adds a tensor that is an input's, a state's or a constant's; the caller then adds the row. */
MUST_CHECK insitu_status network_add_tensor(network *network, const char *name, tensor_role role, dtype type,
                                            const shape *shape, uint32_t index, tensor_id *out_tensor);
/* what ("input 'x'") can be no tensor of that type: it needs more than MAX_TENSOR_BYTES. Errors: SHAPE. */
MUST_CHECK insitu_status network_check_bytes(const network *network, const char *what, dtype type, const shape *shape,
                                             insitu_diag *diag);
/* One more row at the end of an array of the network; *out is the zeroed row. */
MUST_CHECK insitu_status network_add_input(network *network, network_input **out);
MUST_CHECK insitu_status network_add_state(network *network, network_state **out);
MUST_CHECK insitu_status network_add_constant(network *network, network_constant **out);
MUST_CHECK insitu_status network_add_buffer(network *network, network_buffer **out);
MUST_CHECK insitu_status network_add_mutation(network *network, network_mutation **out);
MUST_CHECK insitu_status network_add_output(network *network, network_output **out);
MUST_CHECK insitu_status network_add_assert(network *network, sym_assert **out);
MUST_CHECK insitu_status network_add_record(network *network, weight_record **out);

static inline const network_tensor *network_tensor_of(const network *network, tensor_id tensor) {
    return &network->tensors[tensor.index];
}
static inline layer *network_layer_of(const network *network, layer_id layer) { return &network->layers[layer.index]; }
static inline attr attr_of_sym(sym value) { return (attr){.kind = ATTR_KIND_SYM, .value = value}; }
static inline attr attr_of_dtype(dtype type) { return (attr){.kind = ATTR_KIND_DTYPE, .dtype = type}; }
static inline attr attr_of_op(op_kind op) { return (attr){.kind = ATTR_KIND_OP, .op = op}; }
static inline attr attr_of_list(const sym *items, uint32_t count) {
    return (attr){.kind = ATTR_KIND_SYMS, .list = {items, count}};
}
/* An attribute of a layer; kind ATTR_KIND_NONE if it has none of that name. */
attr layer_attr(const layer *layer, attr_id id);
/* The same as a constant; the verifier guarantees that dims, axes, flags and the like are constants. */
int64_t layer_attr_int(const network *network, const layer *layer, attr_id id);

/* ---- regions (network_region.c) ---- */
/* An empty region, at the end of the network's; it dies with the network. */
MUST_CHECK insitu_status network_add_region(network *network, struct network **out_region);
/* That region of a layer of a kind with TRAIT_REGIONS and such attributes; NULL: there is none. */
struct network *network_region(const network *network, const attr *attrs, uint32_t which);
uint32_t layer_result_count(const network *network, layer_kind kind, const attr *attrs);
/* Each symbol: an item layer of the network itself gives it its value. out_read: symbols.symbol_count of them, false. */
void network_find_read(const network *network, bool *out_read);
/* What the symbols of a region are in the outer network: its symbols of the same name, save those that the region reads. */
typedef struct region_symbols {
    const sym_pool *inner;
    sym_pool *outer;
    sym *by; /* each symbol of the region; where is_inside, whoever moves expressions says */
    bool *is_inside;
} region_symbols;
MUST_CHECK insitu_status region_symbols_find(const network *region, sym_pool *outer, arena *arena,
                                             region_symbols *out_symbols);
/* An expression of the region in the outer network; false if it uses a symbol that is the region's own. */
bool region_sym_leave(const region_symbols *symbols, sym inside, sym *out);

/* Shape and dtype of the results of a layer, from its operands and attributes (one shape function a kind). */
typedef struct inferred {
    dtype dtype;
    shape shape;
} inferred;
MUST_CHECK insitu_status network_infer(network *network, layer_kind kind, const tensor_id *operands,
                                       uint32_t operand_count, const attr *attrs, inferred *out_results,
                                       insitu_diag *diag);

MUST_CHECK insitu_status network_print(const network *network, text *out, insitu_diag *diag);
MUST_CHECK insitu_status network_parse(const char *source, network **out_network, insitu_diag *diag);
MUST_CHECK insitu_status network_verify(network *network, insitu_diag *diag);
/* Every symbol that the network uses has a value when it runs. Errors: fault (names the symbol and its user). */
MUST_CHECK insitu_status network_check_symbols(const network *network, insitu_status fault, insitu_diag *diag);
/* The same network by itself, read from its text; records' bytes are shared. */
MUST_CHECK insitu_status network_copy(const network *source, network **out_network, insitu_diag *diag);

/* The axis of which every write to the state replaces rows at positions (positions.c); NONE: there is none. */
uint32_t network_position_axis(const network *network, uint32_t state);
/* Of an input (or a state) that begins as start and ends as next (update_kind.c). */
update_kind network_update_kind(const network *network, tensor_id start, tensor_id next);
/* What is known of an index tensor (affine_index.c): element [i,j...] is base + i*steps[0] + j*steps[1] ... + an unknown number
 * if is_unknown, which changes along the dimensions of varies alone. Dimensions of size 1 have step 0. */
typedef struct affine_index {
    int64_t base, steps[MAX_RANK];
    uint32_t varies;
    bool is_unknown;
} affine_index;
affine_index network_affine_index(const network *network, tensor_id tensor);

#endif
