/* Engines: compiled programs. An engine is immutable and may be used by several threads at once. */
#ifndef INSITU_ENGINE_H
#define INSITU_ENGINE_H

#include <insitu/status.h>
#include <insitu/tensor.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct insitu_engine insitu_engine;

typedef struct insitu_load_options {
    size_t struct_size;
    bool verify_weights; /* check the weights' hashes too: reads the whole file */
} insitu_load_options;

/* Loads an engine file; weights are mapped. options NULL means defaults. Errors: IO, FORMAT, VERSION, NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_load(const char *path, const insitu_load_options *options,
                                                              insitu_engine **out_engine, insitu_diag *diag);
/* The same from memory, which must be aligned to 64 bytes, and stay valid and unchanged until the engine is destroyed. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_load_memory(const void *data, size_t size,
                                                                     const insitu_load_options *options,
                                                                     insitu_engine **out_engine, insitu_diag *diag);
/* Writes an engine file: to a temporary name beside path, then renamed, with the permissions of the file that was there; a
 * link to a file stands for that file; a device or a pipe is written to as it is. Equal engines give equal bytes.
 * Errors: IO, NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_save(const insitu_engine *engine, const char *path,
                                                              insitu_diag *diag);
/* NULL is allowed. States, contexts and modules of the engine must be destroyed first. */
INSITU_API void insitu_engine_destroy(insitu_engine *engine);

/* True if the engine was found in the compile cache (insitu_compile_options.cache_dir). */
INSITU_API bool insitu_engine_is_cached(const insitu_engine *engine);
/* Names of devices that the library knows, by number from 0 on; NULL after the last. Some are known in order to be refused with
 * a reason, when something is compiled for them. Any thread. */
INSITU_API const char *insitu_device_name(int32_t number);
/* Name of the device that the engine was compiled for, "cpu"; owned by the library. NULL of NULL. */
INSITU_API const char *insitu_engine_device(const insitu_engine *engine);

/* One input, output or state tensor as the engine declares it. A size that is fixed is a number >= 0 in sizes; one that
 * varies is -1 there, with its range in min_sizes and max_sizes (max -1: unbounded). */
typedef struct insitu_value_info {
    size_t struct_size;
    const char *name; /* owned by the engine */
    insitu_dtype dtype;
    int32_t ndim;
    const int64_t *sizes;     /* ndim numbers, owned by the engine */
    const int64_t *min_sizes; /* ndim numbers */
    const int64_t *max_sizes; /* ndim numbers */
    bool is_written;          /* inputs: the program writes this input in place */
    bool is_scalar;           /* a Python number: bound as a 0-d tensor (I64, F64 or BOOL) */
    const char *aliased;      /* outputs: the input or state whose memory the output is; NULL: memory of its own */
    /* Of an input that is written, which must be bound with them: ndim numbers of elements, -1 for one that varies with the
     * sizes; else NULL. Owned by the engine. */
    const int64_t *strides;
    bool is_fixed; /* inputs: a number for which the program has one value alone, which need not be bound */
    /* Inputs: the least and greatest I64 that a number may be (INT64_MIN, INT64_MAX: no limit); of anything else 0. */
    int64_t min_value, max_value;
} insitu_value_info;

INSITU_API int32_t insitu_engine_input_count(const insitu_engine *engine);
INSITU_API int32_t insitu_engine_output_count(const insitu_engine *engine);
INSITU_API int32_t insitu_engine_state_count(const insitu_engine *engine);
/* info->struct_size must be set by the caller. Errors: ARG (index out of range). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_input(const insitu_engine *engine, int32_t index,
                                                               insitu_value_info *info, insitu_diag *diag);
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_output(const insitu_engine *engine, int32_t index,
                                                                insitu_value_info *info, insitu_diag *diag);
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_state(const insitu_engine *engine, int32_t index,
                                                               insitu_value_info *info, insitu_diag *diag);
/* A buffer that the program does not write, be it used or not: a read-only view of bytes that the engine maps. The name,
 * data, shape and strides are the engine's, valid until it is destroyed; the memory must not be written to. States and
 * these buffers together are all buffers of the module; no two have one name. In an engine whose state is the caller's,
 * a buffer of an input's name ("buf_cache") is that input's initial value; of a network's states that begin with zeros
 * there is none. Errors: ARG (index out of range). */
INSITU_API int32_t insitu_engine_buffer_count(const insitu_engine *engine);
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_buffer(const insitu_engine *engine, int32_t index,
                                                                const char **out_name, insitu_tensor *out_tensor,
                                                                insitu_diag *diag);
/* Index by name, -1 if there is none. */
INSITU_API int32_t insitu_engine_find_input(const insitu_engine *engine, const char *name);
INSITU_API int32_t insitu_engine_find_output(const insitu_engine *engine, const char *name);
INSITU_API int32_t insitu_engine_find_state(const insitu_engine *engine, const char *name);
/* True if the program writes the named input. */
INSITU_API bool insitu_engine_input_is_written(const insitu_engine *engine, const char *input_name);

/* Aliased inputs and outputs: one row for each input that the program writes, in the order of the inputs. The row's
 * output is the input's new value and lies in the input's memory. It is an output of the engine if the program returns
 * the written input, or if insitu_compile_options.mutated_inputs names it; else it is called "mutated.NAME" and is the
 * caller's input alone. */
typedef enum insitu_alias_kind {
    INSITU_ALIAS_USER = 0,
    INSITU_ALIAS_KV_CACHE_UPDATE = 1 /* rows that follow one another on the sequence axis (dimension 1 or 2) of a 4-D
                                        cache of constant sizes, from one position or from one a batch row */
} insitu_alias_kind;
typedef struct insitu_alias {
    size_t struct_size;
    const char *output; /* owned by the engine, as is input */
    const char *input;
    insitu_alias_kind kind;
    int32_t output_index; /* -1: it is none of the engine's outputs */
    int32_t input_index;
} insitu_alias;
INSITU_API int32_t insitu_engine_alias_count(const insitu_engine *engine);
/* alias->struct_size must be set by the caller. Errors: ARG (index out of range). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_alias(const insitu_engine *engine, int32_t index,
                                                               insitu_alias *alias, insitu_diag *diag);
/* The input in whose memory the named output lies: that of its row, or the input of which it is a view. NULL: the output
 * has memory of its own, is a state tensor, or there is none of that name. */
INSITU_API const char *insitu_engine_aliased_input(const insitu_engine *engine, const char *output_name);
/* "user", "kv_cache_update"; "unknown" for a number that is no kind. */
INSITU_API const char *insitu_alias_kind_name(insitu_alias_kind kind);

/* The in-place report: one row a state tensor (a mutated buffer, or an input that the program mutates). */
typedef struct insitu_report_row {
    size_t struct_size;
    const char *name;
    const char *type;   /* "f32[1,2,64,8]" */
    const char *update; /* "index_update dim 2" */
    const char
        *verdict; /* "in place", "in place (moves 384, saves 16)", "COPIED 16 KiB: mul_3 (model.py:41) reads ..." */
    const char *written;   /* bytes written a call: a number, or an expression over the program's symbols */
    int64_t bytes_written; /* the same as a number; -1 if it depends on a size that is only known at run time */
    int64_t bytes_moved;
    int64_t bytes_copied;
    bool in_place;
    int64_t bytes_saved; /* old bytes set aside until the last check that may fail the call; not a copy */
    const char *reason;  /* of a copy: "mul_3 (model.py:41) reads the old value after the write"; else "" */
    const char *source;  /* where the model updates it: "model.py:41, model.py:52"; "" if the program does not say */
    const char *advice;  /* of a copy: the smallest change of the model that avoids it, where one is known; else "" */
} insitu_report_row;

INSITU_API int32_t insitu_engine_report_count(const insitu_engine *engine);
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_report(const insitu_engine *engine, int32_t index,
                                                                insitu_report_row *row, insitu_diag *diag);
/* Text of the engine, one of: "report" (the in-place report), "plan" (steps and memory), "values" (inputs, outputs,
 * states, buffers, aliases), each for people; "json" (everything, one JSON object). *out_text is freed by
 * insitu_text_free. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_engine_print(const insitu_engine *engine, const char *what,
                                                               char **out_text, insitu_diag *diag);
INSITU_API void insitu_text_free(char *text);

#ifdef __cplusplus
}
#endif
#endif
