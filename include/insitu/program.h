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

/* Compile options. Zero-initialise, set struct_size, then set what differs from zero; or insitu_compile_options_init. */
typedef struct insitu_compile_options {
    size_t struct_size;
    bool strict; /* a copied byte of any state tensor is an error (UNSUPPORTED) that names the tensor and the reason */
    bool no_inplace; /* every update builds a whole new value and copies it back: to compare results with */
    /* The value of every tensor, as it is when its node has run, is one more output "node.NAME" after the program's own:
     * to find the node whose value is wrong. NAME is the value's in the program; values in subgraphs are left out. */
    bool keep_values;
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
 * Errors: UNSUPPORTED (all unsupported operators are listed in diag's rows), FORMAT, BOUNDS, SHAPE, NOMEM.
 * A program is immutable: several threads may compile it at once. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_program_compile(const insitu_program *program,
                                                                  const insitu_compile_options *options,
                                                                  insitu_engine **out_engine, insitu_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
