/* Networks: programs built by hand, layer by layer, with no PyTorch in sight; and programs imported from .pt2 files, to be
 * looked at, changed, printed and read back. A network is compiled to the same engine as a program. Needs libinsitu.
 *
 * A network is functional: a tensor is computed once and never changes. What outlives a call is an input that is written or
 * a state: insitu_network_assign gives its value when the call ends, and the compiler computes it in place. insitu/layers.h
 * has one function for each kind of layer; docs/ir.md has the text.
 *
 * A network is used by one thread at a time. A call that fails changes nothing. Every name, array and byte that is passed
 * is copied, save insitu_network_set_record's. Names and messages are UTF-8. */
#ifndef INSITU_NETWORK_H
#define INSITU_NETWORK_H

#include <insitu/engine.h>
#include <insitu/layers.h>
#include <insitu/program.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INSITU_MAX_RANK 12 /* dimensions of a tensor */

/* An empty network. Errors: NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_create(insitu_network **out_network, insitu_diag *diag);
/* A program as a network, before anything was optimised or aliased. options NULL means defaults; bounds and keep_values
 * count, the others do not. The network shares the program's mapped weights, and outlives the program. Compiled without
 * having been changed, it gives the engine that insitu_program_compile gives. Errors: as insitu_program_compile. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_import(const insitu_program *program,
                                                                 const insitu_compile_options *options,
                                                                 insitu_network **out_network, insitu_diag *diag);
/* NULL is allowed. Engines compiled from the network stay valid. */
INSITU_API void insitu_network_destroy(insitu_network *network);

/* ---- numbers that are only known when the network runs ---- */

/* A symbol: a size that varies, in [min, max]; max -1: without a limit. Sizes of inputs or states that are the symbol
 * itself give its value, and so do sizes of inputs that grow or fall with it, such as 2*n + 1, if what else is in them is
 * known. The name is up to 63 letters, digits and "_", and no word of docs/ir.md's expressions, such as
 * "max". Errors: ARG (the name, also one that is taken; the range). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_symbol(insitu_network *network, const char *name,
                                                                     int64_t min, int64_t max,
                                                                     insitu_number *out_number, insitu_diag *diag);
/* An expression over symbols, as in docs/ir.md: "2*n + 1", "max(n - 4, 0)", "n % 4 == 0". Errors: ARG (a symbol that is not
 * there; no value whatever the symbols are: "n // 0", "1 << -1", a number beyond 64 bits), FORMAT (no expression). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_expression(insitu_network *network, const char *text,
                                                                         insitu_number *out_number, insitu_diag *diag);
/* The condition must hold whenever the network runs; it is checked before anything is written, or as soon as its numbers
 * are known. A call in which it does not hold fails with ASSERT and the message. Errors: ARG (it is no condition, or never
 * holds). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_assert(insitu_network *network, insitu_number condition,
                                                                     const char *message, insitu_diag *diag);

/* ---- what goes in ---- */

/* An input: dense, row-major, with ndim sizes >= 0 or expressions. Inputs are bound in the order in which they are added.
 * The tensor's name is the input's. Errors: ARG (a name that a tensor has or that is empty; a dtype; a rank above
 * INSITU_MAX_RANK; a size that depends on an item), SHAPE (a size that can't be 0 or more; over 2^56 bytes, where a size 0
 * counts as 1). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_input(insitu_network *network, const char *name,
                                                                    insitu_dtype dtype, int32_t ndim,
                                                                    const insitu_number *sizes, insitu_value *out_value,
                                                                    insitu_diag *diag);
/* An input that is a number, bound as a 0-d tensor of I64, F64 or BOOL. It may be used where a number may be: as a size, a
 * position, a scalar. [min, max] (max -1: without a limit) is the range of an I64; a call outside of it is refused. Errors:
 * ARG (the name, which is a symbol's too; the dtype; the range). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_number(insitu_network *network, const char *name,
                                                                     insitu_dtype dtype, int64_t min, int64_t max,
                                                                     insitu_number *out_number, insitu_diag *diag);
/* A state tensor: kept from call to call, in an insitu_state. data holds its size initial bytes, dense and row-major; NULL
 * and 0: zeros. A size may be a symbol, which insitu_state_create_sized then chooses; such a state begins with zeros.
 * Errors: as insitu_network_add_input; SHAPE (size is not what the sizes need; a size that is an expression). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_state(insitu_network *network, const char *name,
                                                                    insitu_dtype dtype, int32_t ndim,
                                                                    const insitu_number *sizes, const void *data,
                                                                    size_t size, insitu_value *out_value,
                                                                    insitu_diag *diag);
/* A constant tensor, such as a weight: size bytes, dense and row-major, copied. Errors: as insitu_network_add_state. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_add_constant(insitu_network *network, const char *name,
                                                                       insitu_dtype dtype, int32_t ndim,
                                                                       const int64_t *sizes, const void *data,
                                                                       size_t size, insitu_value *out_value,
                                                                       insitu_diag *diag);

/* ---- what comes out ---- */

/* value is what target, an input or a state, holds when the call ends; a second call for one target replaces the first. All
 * assignments of a call happen at once: value may be another state's old value. Errors: ARG (target is no input or state;
 * another dtype), SHAPE (sizes that are not known to be the target's). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_assign(insitu_network *network, insitu_value target,
                                                                 insitu_value value, insitu_diag *diag);
/* value is one more output. One that is a state's or an input's new value is that tensor itself, not a copy. Errors: ARG (a
 * name that an output has, or that is empty). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_mark_output(insitu_network *network, insitu_value value,
                                                                      const char *name, insitu_diag *diag);
/* A number is one more output: a 0-d tensor of I64, F64 or BOOL. Errors: ARG. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_mark_number(insitu_network *network, insitu_number number,
                                                                      const char *name, insitu_diag *diag);

/* ---- questions ---- */

/* A tensor as it is known while the network is built. Zero-initialise, and set struct_size. */
typedef struct insitu_network_value {
    size_t struct_size;
    const char *name; /* the network's, until the value is renamed or the network is destroyed */
    insitu_dtype dtype;
    int32_t ndim;
    insitu_number sizes[INSITU_MAX_RANK]; /* integers or expressions, to be used as sizes of other layers */
    int64_t min_sizes[INSITU_MAX_RANK];   /* the sizes' ranges */
    int64_t max_sizes[INSITU_MAX_RANK];   /* -1: without a limit */
    bool is_input, is_state, is_constant; /* none of them: a layer's result */
} insitu_network_value;
/* Errors: ARG (no tensor of the network). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_describe(const insitu_network *network, insitu_value value,
                                                                   insitu_network_value *info, insitu_diag *diag);
/* The tensor of that name; {0} if there is none. */
INSITU_API insitu_value insitu_network_find(const insitu_network *network, const char *name);
/* Renames the result of a layer or a constant; results are called "KIND.N" until then. Errors: ARG (a name that a tensor
 * has or that is empty; an input or a state). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_set_name(insitu_network *network, insitu_value value,
                                                                   const char *name, insitu_diag *diag);

/* A layer, in the order in which they were added. Zero-initialise, and set struct_size. */
typedef struct insitu_network_layer {
    size_t struct_size;
    const char *kind; /* "slice_update" */
    int32_t operand_count, result_count;
    insitu_value results[2];
} insitu_network_layer;
INSITU_API int32_t insitu_network_layer_count(const insitu_network *network);
/* Errors: ARG (index out of range). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_layer_at(const insitu_network *network, int32_t index,
                                                                   insitu_network_layer *info, insitu_diag *diag);
/* Operand number `operand` of a layer. Errors: ARG (an index out of range). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_operand(const insitu_network *network, int32_t layer,
                                                                  int32_t operand, insitu_value *out_value,
                                                                  insitu_diag *diag);

/* ---- text ---- */

/* The network as text (docs/ir.md), without the bytes of its records. *out_text is freed by insitu_text_free. Errors:
 * NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_print(const insitu_network *network, char **out_text,
                                                                insitu_diag *diag);
/* Reads such text, and checks it. Its records have no bytes: insitu_network_set_record gives them. Errors: FORMAT, SHAPE,
 * ARG, each with the line or the layer. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_parse(const char *text, insitu_network **out_network,
                                                                insitu_diag *diag);

/* A record: the bytes of constants, and states' initial bytes. Zero-initialise, and set struct_size. */
typedef struct insitu_network_record {
    size_t struct_size;
    const char *name; /* of the first tensor that lies in it; two records may have one name */
    const void *data; /* NULL: they were not given yet */
    size_t size;      /* bytes */
} insitu_network_record;
INSITU_API int32_t insitu_network_record_count(const insitu_network *network);
/* Errors: ARG (index out of range). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_record_at(const insitu_network *network, int32_t index,
                                                                    insitu_network_record *info, insitu_diag *diag);
/* Gives a record its bytes, which are not copied: they must stay valid and unchanged until the network is destroyed. An
 * engine has its own copy. Errors: ARG (index out of range), SHAPE (size is not the record's). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_set_record(insitu_network *network, int32_t index,
                                                                     const void *data, size_t size, insitu_diag *diag);

/* ---- compilation ---- */

/* Compiles the network, which stays as it is. options NULL means defaults. Of the options, keep_values and cache_dir are
 * programs' alone (ARG), and bounds has no meaning: a slice of a network is never clamped. Errors: ARG (options; a record
 * without bytes; a symbol that is used, and is no input, no size of an input or state, and no item), UNSUPPORTED (strict; the
 * device; ops on dtypes that no kernel computes with, such as arithmetic of complex numbers, listed in diag's rows), BOUNDS
 * (an index that is known now lies outside its extent), NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_network_compile(const insitu_network *network,
                                                                  const insitu_compile_options *options,
                                                                  insitu_engine **out_engine, insitu_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
