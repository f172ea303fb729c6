/* Programs saved by torch.export (.pt2) and their compilation. Needs libinsitu. */
#ifndef INSITU_PROGRAM_H
#define INSITU_PROGRAM_H

#include <insitu/engine.h>
#include <insitu/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct insitu_program insitu_program;

/* Who owns the tensors that the program keeps from call to call: its mutated buffers and constants. */
typedef enum insitu_state_owner {
    INSITU_STATE_OWNED = 0,  /* the engine's states: insitu_state */
    INSITU_STATE_CALLER = 1, /* the caller: each is an input after the program's own, "buf_" and its name with "_" for
                                dots ("_1" and so on is added where that is taken), written in place */
    INSITU_STATE_FROZEN = 2  /* nobody: each call begins with the initial values, and what it writes is lost */
} insitu_state_owner;

/* What happens to rows written by a slice assignment that lie outside of the tensor. */
typedef enum insitu_bounds {
    INSITU_BOUNDS_EAGER =
        0, /* as in PyTorch: a slice ends where its tensor ends, so cache[64:65] = row on 64 rows writes
                                nothing */
    INSITU_BOUNDS_STRICT = 1 /* such a write is an error (BOUNDS), of the compilation where that can be known */
} insitu_bounds;

/* An input and the output that is its new value. */
typedef struct insitu_mutated_input {
    const char *input;    /* name; NULL: input_index counts */
    const char *output;   /* name; NULL: output_index counts */
    int32_t input_index;  /* among the engine's inputs */
    int32_t output_index; /* among the engine's outputs as they are in the end, new ones first */
} insitu_mutated_input;

/* Compile options. Zero-initialise, set struct_size, then set what differs from zero; or insitu_compile_options_init. */
typedef struct insitu_compile_options {
    size_t struct_size;
    bool strict; /* a copied byte of any state tensor is an error (UNSUPPORTED) that names the tensor and the reason */
    bool no_inplace; /* every update builds a whole new value and copies it back: to compare results with */
    /* The value of every tensor, as it is when its node has run, is one more output "node.NAME" after the program's own:
     * to find the node whose value is wrong. NAME is the value's in the program; values in subgraphs are left out. */
    bool keep_values;
    /* Inputs whose new values are outputs; the array and its names are read during the call alone.
     * - An input that the program writes and returns: name that output; nothing changes.
     * - One that it writes, under any new name: an output is added in front of the program's own, in the order of this
     *   array, and is the caller's tensor itself. An index must be the output's place there; its name is "mutated.NAME".
     * - One that it does not write: an output of the program, of the same dtype and sizes, is written into the input.
     * Inputs that the program writes need not be named. Errors: ARG (no such input or output, one named twice, another
     * dtype), SHAPE (other sizes, or sizes that are not known to be the same); the sentence names both. */
    const insitu_mutated_input *mutated_inputs;
    int32_t mutated_input_count;
    insitu_state_owner state;
    insitu_bounds bounds;
    /* What the engine shall run on; NULL: "cpu", which is the only one here. A device that can't let an input and an
     * output share memory ("dla") refuses every program that writes an input or a state. Errors: ARG (unknown),
     * UNSUPPORTED. */
    const char *device;
    /* A folder of engines compiled before, made if it is missing, with those that it lies in; NULL: none. The engine is
     * taken from there if the program's bytes, the options and the compiler are the same, and is then what a compilation
     * makes; else it is compiled and put there. An entry that is damaged or of another version is replaced. Several threads
     * and processes may use one folder. What can't be written there is a warning in the log. */
    const char *cache_dir;
} insitu_compile_options;

INSITU_API void insitu_compile_options_init(insitu_compile_options *options);

/* Opens a .pt2 file. Its weights are mapped, not read. Errors: IO, FORMAT, VERSION, UNSUPPORTED, NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_program_load(const char *pt2_path, insitu_program **out_program,
                                                               insitu_diag *diag);
/* The same from memory, which must stay valid and unchanged until the program and every engine compiled from it are
 * destroyed. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_program_load_memory(const void *data, size_t size,
                                                                      insitu_program **out_program, insitu_diag *diag);
/* NULL is allowed. Engines compiled from the program stay valid. */
INSITU_API void insitu_program_destroy(insitu_program *program);

/* What insitu_program_print writes. Zero-initialise, and set struct_size. */
typedef struct insitu_print_options {
    size_t struct_size;
    bool json;   /* one JSON object that holds everything (docs/program-json.md), else text for people */
    bool hashes; /* also xxh64 of each stored tensor's elements, row-major; reads them all */
    bool values; /* with json: also the elements of each stored tensor */
} insitu_print_options;

/* The program as saved, whether or not it can be compiled: container, versions, ranges, guards, inputs and outputs,
 * nodes, stored tensors. options NULL means text for people. *out_text is freed by insitu_text_free.
 * Errors: ARG (values without json), NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_program_print(const insitu_program *program,
                                                                const insitu_print_options *options, char **out_text,
                                                                insitu_diag *diag);

/* Compiles the program. The engine shares the program's mapped weights. options NULL means defaults.
 * Errors: UNSUPPORTED (all unsupported operators are listed in diag's rows), FORMAT, BOUNDS, SHAPE, ARG (options),
 * NOMEM.
 * A program is immutable: several threads may compile it at once. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_program_compile(const insitu_program *program,
                                                                  const insitu_compile_options *options,
                                                                  insitu_engine **out_engine, insitu_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
