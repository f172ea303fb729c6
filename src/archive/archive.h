/* archive: the records of a .pt2 file as saved, checked for form and not interpreted.
 *
 * What comes out is one tree in one arena: strings are NUL-terminated, names of values are resolved to ids, weights are
 * spans of the mapped file, which is retained, or copies where the file doesn't align them. Checked here: every offset,
 * count, name and enum number; that values are defined once and before their use; that stored tensors lie in their
 * records. Not checked here: whether an operator exists, its arguments, and whether expressions parse. Names that the
 * graph room has too begin with ARCHIVE_. */
#ifndef ARCHIVE_H
#define ARCHIVE_H

#include "base/base.h"
#include "core/core.h"

typedef struct archive_graph archive_graph_t;
typedef struct archive_argument archive_argument_t;

/* An int, float or bool of the value tables: a constant, or an expression over the program's symbols. */
typedef struct archive_sym {
    const char *expression; /* SymPy's constructor notation (sym_parse_srepr); NULL: value is the number */
    sym_value_t value;      /* its kind always holds; with an expression: the hint, if has_hint */
    bool has_hint;
} archive_sym_t;

typedef struct archive_device {
    const char *type; /* "cpu", "cuda", "meta" */
    int32_t index;    /* -1: none given */
} archive_device_t;

typedef struct archive_tensor_meta {
    dtype_t dtype;
    uint32_t rank;
    const archive_sym_t *sizes, *strides; /* rank items each; kind INT */
    archive_sym_t offset;                 /* of a node's result: what tracing saw; always 0 from torch <= 2.8 */
    archive_device_t device;
    bool requires_grad;
} archive_tensor_meta_t;

/* A row of a graph's value tables. Names are unique in a graph; a subgraph has its own. */
typedef enum archive_value_kind { ARCHIVE_TENSOR, ARCHIVE_SYM, ARCHIVE_OBJECT } archive_value_kind_t;
typedef struct archive_value {
    const char *name;
    archive_value_kind_t kind;
    union {
        archive_tensor_meta_t tensor;
        archive_sym_t sym; /* sym.value.kind says int, float or bool */
        const char *class_fqn;
    };
} archive_value_t;

/* A number given as an argument: a literal, or (value != NONE) the symbolic value with that id in the graph. */
typedef struct archive_number {
    uint32_t value;
    sym_value_t literal; /* its kind holds for references too */
} archive_number_t;

/* An argument as the writer chose to save it, which follows the Python value and not the operator's schema. as_sym_int
 * is INT, as_sym_ints INTS (and so on), as_optional_tensors TENSORS, as_optional_tensor TENSOR or NONE. */
typedef enum archive_argument_kind {
    ARGUMENT_NONE,
    ARGUMENT_TENSOR,         /* value */
    ARGUMENT_TENSORS,        /* values; an item is NONE for Python's None, and may name a symbolic number */
    ARGUMENT_NESTED_TENSORS, /* items: each TENSORS */
    ARGUMENT_INT,            /* number */
    ARGUMENT_FLOAT,          /* number */
    ARGUMENT_BOOL,           /* number */
    ARGUMENT_COMPLEX,        /* complex */
    ARGUMENT_INTS,           /* numbers */
    ARGUMENT_FLOATS,         /* numbers */
    ARGUMENT_BOOLS,          /* numbers */
    ARGUMENT_INT_LISTS,      /* items: each INTS */
    ARGUMENT_FLOAT_LISTS,    /* items: each FLOATS */
    ARGUMENT_STRING,         /* string */
    ARGUMENT_STRINGS,        /* strings */
    ARGUMENT_DTYPE,          /* dtype */
    ARGUMENT_MEMORY_FORMAT,  /* memory_format */
    ARGUMENT_LAYOUT,         /* layout */
    ARGUMENT_DEVICE,         /* device */
    ARGUMENT_GRAPH,          /* graph */
    ARGUMENT_OBJECT,         /* value; string is the class */
    ARGUMENT_OPERATOR,       /* string: a target */
    ARGUMENT_MAP             /* strings: keys; items: their arguments */
} archive_argument_kind_t;

/* Numbers of the file format. */
typedef enum archive_memory_format {
    MEMORY_FORMAT_UNKNOWN,
    MEMORY_FORMAT_CONTIGUOUS,
    MEMORY_FORMAT_CHANNELS_LAST,
    MEMORY_FORMAT_CHANNELS_LAST_3D,
    MEMORY_FORMAT_PRESERVE
} archive_memory_format_t;
typedef enum archive_layout {
    LAYOUT_UNKNOWN,
    LAYOUT_SPARSE_COO,
    LAYOUT_SPARSE_CSR,
    LAYOUT_SPARSE_CSC,
    LAYOUT_SPARSE_BSR,
    LAYOUT_SPARSE_BSC,
    LAYOUT_MKLDNN,
    LAYOUT_STRIDED
} archive_layout_t;

struct archive_argument {
    archive_argument_kind_t kind;
    uint32_t count;             /* of the list that the kind has */
    const char *string;         /* STRING, OPERATOR, OBJECT; name of a GRAPH */
    const char *const *strings; /* STRINGS, MAP */
    union {
        uint32_t value;
        const uint32_t *values;
        archive_number_t number;
        const archive_number_t *numbers;
        struct {
            double real, imag;
        } complex;
        dtype_t dtype;
        archive_memory_format_t memory_format;
        archive_layout_t layout;
        archive_device_t device;
        const archive_graph_t *graph;
        const archive_argument_t *items;
    };
};

typedef struct archive_named_argument {
    const char *name; /* the schema's name; "" for positional arguments of higher-order operators */
    archive_argument_t argument;
    bool is_keyword; /* given by keyword, as the file says */
} archive_named_argument_t;

typedef struct archive_node {
    const char *target; /* "torch.ops.aten.add.Tensor" */
    const char *op;     /* the same without a leading "torch.ops." */
    const char *name;   /* "add_3"; of old files the first result's name, or "" */
    const char *source; /* "model.py:41": innermost frame outside PyTorch; "" where unknown */
    const char *module; /* fully qualified name of the innermost nn.Module; "" for the root or unknown */
    uint32_t input_count, output_count;
    const archive_named_argument_t *inputs;
    const archive_argument_t *outputs; /* TENSOR, TENSORS, INT, FLOAT, BOOL (references), NONE, OBJECT */
    bool single_tensor_return;         /* of a higher-order operator: the result is one bare tensor */
} archive_node_t;

struct archive_graph {
    uint32_t input_count, output_count, node_count, value_count;
    const archive_argument_t *inputs; /* placeholders in order: references, or literals (constant inputs) */
    const archive_argument_t *outputs;
    const archive_node_t *nodes; /* in program order */
    const archive_value_t *values;
    map_t value_ids; /* name -> index in values */
    bool single_tensor_return;
};

/* ---- stored tensors ---- */
typedef struct archive_storage { /* a record: a whole storage, aligned for its dtype (to at most 8 bytes) */
    const char *record;          /* "weights/weight_0", "serialized_state_dict.pt/data/0" */
    const uint8_t *data;
    size_t size;
    size_t position; /* of the record in the file */
} archive_storage_t;
typedef struct archive_payload { /* a strided view of a storage, inside its bounds */
    const char *fqn;
    bool is_param, is_constant; /* is_constant: of the constants, else of the weights (the state dict) */
    dtype_t dtype;
    uint32_t rank;
    const int64_t *sizes, *strides; /* in elements; strides >= 0 */
    int64_t offset;                 /* in elements */
    uint32_t storage;               /* payloads of one storage have one id (same record and dtype); NONE: no elements */
} archive_payload_t;

/* ---- signature ---- */
typedef enum archive_input_kind {
    ARCHIVE_INPUT_USER,
    ARCHIVE_INPUT_CONSTANT,
    ARCHIVE_INPUT_PARAMETER,
    ARCHIVE_INPUT_BUFFER,
    ARCHIVE_INPUT_TENSOR_CONSTANT
} archive_input_kind_t;
typedef struct archive_input { /* describes graph.inputs[i] */
    archive_input_kind_t kind;
    const char *name;   /* the placeholder; of CONSTANT the argument's name */
    const char *fqn;    /* PARAMETER, BUFFER, TENSOR_CONSTANT: where it is stored; else NULL */
    uint32_t value;     /* id in graph.values; NONE for a literal */
    uint32_t payload;   /* index in payloads; NONE for USER and CONSTANT. Two inputs may have the same */
    bool is_persistent; /* BUFFER */
    const char *guard;  /* USER, CONSTANT: how guards_code calls it, "L['a'][0]"; NULL where unknown */
} archive_input_t;
typedef enum archive_output_kind {
    OUTPUT_USER,
    OUTPUT_BUFFER_MUTATION,
    OUTPUT_PARAMETER_MUTATION,
    OUTPUT_INPUT_MUTATION,
} archive_output_kind_t;
typedef struct archive_output { /* describes graph.outputs[i] */
    archive_output_kind_t kind;
    const char *target;    /* the mutated buffer's or parameter's FQN, the mutated user input's name; else NULL */
    uint32_t target_input; /* index in inputs of the first input with that name; NONE for USER */
} archive_output_t;
typedef struct archive_range {
    const char *expression; /* a symbol, or infix text such as "2*s77" */
    int64_t min, max;       /* INT64_MIN, INT64_MAX: unbounded */
} archive_range_t;

typedef struct archive_program {
    arena_t arena;
    arena_t copies;  /* of storages that the file doesn't align */
    file_map_t *map; /* retained */
    const archive_graph_t *graph;
    const archive_input_t *inputs;   /* graph->input_count */
    const archive_output_t *outputs; /* graph->output_count */
    /* What the caller passes and gets, in the order of the flattened arguments and result: indices into inputs and
     * outputs. The name of a user input at the API is inputs[user_inputs[i]].name; output N is user_outputs[N] (None,
     * strings and numbers are counted). */
    const uint32_t *user_inputs, *user_outputs;
    uint32_t user_input_count, user_output_count;
    const archive_payload_t *payloads; /* those that inputs name */
    uint32_t payload_count;
    const archive_storage_t *storages;
    uint32_t storage_count;
    const archive_range_t *ranges;
    uint32_t range_count;
    const char *const *guards; /* Python boolean expressions over the inputs */
    uint32_t guard_count;
    const char *in_spec, *out_spec;       /* pytrees as saved (JSON text) */
    const char *const *forward_arg_names; /* NULL if the file doesn't say */
    uint32_t forward_arg_name_count;
    bool is_training; /* saved as exported: in-place operators, no mutations in the signature */
    int64_t schema_major, schema_minor;
    const char *torch_version;         /* "" if the file doesn't say */
    const struct archive_about *about; /* what only archive_print tells */
} archive_program_t;

/* Reads a .pt2 file. Errors: FORMAT (damaged, or contradicts itself), VERSION (another schema), UNSUPPORTED (a
 * container, stored object or enum number that is not read), NOMEM. */
MUST_CHECK insitu_status archive_open(file_map_t *map, archive_program_t **out_program, insitu_diag *diag);
/* The user input (index in inputs) that guards_code calls by text of the given size, such as L['q'], L['a'][0] (element
 * 0 of *a or of a container argument), L['kwargs']['k'] or L['flat_args'][1] (of the leaves of all arguments, in order,
 * where no argument is called flat_args); NONE if there is none. */
uint32_t archive_find_guard_input(const archive_program_t *program, const char *text, size_t size);
/* The whole program as text, for people or as one JSON object. hashes: xxh64 of each stored tensor's elements; values: the
 * elements (JSON alone). Errors: NOMEM. */
typedef struct archive_print_options {
    bool json, hashes, values;
} archive_print_options_t;
MUST_CHECK insitu_status archive_print(const archive_program_t *program, const archive_print_options_t *options,
                                       text_t *out, insitu_diag *diag);
/* NULL is allowed. */
void archive_destroy(archive_program_t *program);

#endif
