/* An engine with a state and a context, on which a command makes calls. */
#ifndef SESSION_H
#define SESSION_H

#include "safetensors.h"

typedef struct session {
    engine_source_t source;
    insitu_state *state;
    insitu_context *context;
    void **copies; /* of outputs that lie in a device's memory: of each output, of the last call */
} session_t;

/* What a state begins with; zeros: the program's own sizes and values. */
typedef struct state_start {
    const char *load_path; /* a saved state */
    const insitu_state_size *sizes;
    size_t size_count;
} state_start_t;

/* Opens the program or engine at path and a state for it. Returns an exit code, having said why; session_close in any
 * case. */
int session_open(const char *path, const insitu_compile_options *options, const state_start_t *start,
                 session_t *out_session);
void session_close(session_t *session);
/* An input that the program writes, read from a file, gets the strides that it was exported with; others are as they are,
 * and so is what is no input. Returns an exit code, having said why. */
int session_lay_out(const session_t *session, const char *name, insitu_tensor *tensor);
/* Makes the number-th call on inputs that came from the file input_path: each must be an input's, and each input there.
 * They must stay while the call's outputs are read. */
int session_call(const session_t *session, int number, const char *input_path, const tensor_list_t *inputs);
/* An output of the last call, in host memory, until the next call. Returns an exit code, having said why. */
int session_output(const session_t *session, int number, int32_t index, insitu_tensor *out_tensor);
/* Reads a safetensors file or a pipe that the user has named; tensors_release in any case. Returns an exit code, having said
 * why. */
int read_named_tensors(const char *shown, tensor_list_t *out_tensors);
/* report_failure of a call. */
int call_failure(int number, const insitu_diag *diag);
/* An input or output that is None and is left out of files. */
static inline bool is_none(const insitu_value_info *info) { return info->dtype.bits == 0; }

#endif
