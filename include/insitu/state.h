/* States: the state tensors of one sequence. Used by one thread at a time; two calls at once on one state are refused. */
#ifndef INSITU_STATE_H
#define INSITU_STATE_H

#include <insitu/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct insitu_state insitu_state;
/* A CUDA stream; NULL on CPU. */
typedef void *insitu_stream;

/* Allocates the engine's state tensors and fills them with their initial values. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_create(const insitu_engine *engine, insitu_state **out_state,
                                                               insitu_diag *diag);
/* NULL is allowed. */
INSITU_API void insitu_state_destroy(insitu_state *state);
/* Sets every tensor to its initial value. Errors: ARG (a call is running on the state). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_reset(insitu_state *state, insitu_stream stream,
                                                              insitu_diag *diag);
/* A copy that shares nothing with the original. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_fork(const insitu_state *state, insitu_stream stream,
                                                             insitu_state **out_state, insitu_diag *diag);
/* Writes a safetensors file, one tensor a state name: to a temporary name beside path, then renamed. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_save(const insitu_state *state, const char *path,
                                                             insitu_diag *diag);
/* Reads such a file. Names, dtypes and shapes must be this engine's; on any error the state is as before. It may hold
 * buffers of insitu_engine_buffer too, with the very bytes that the engine has. Errors: IO, FORMAT, ARG, SHAPE. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_load(insitu_state *state, const char *path, insitu_diag *diag);

INSITU_API int32_t insitu_state_count(const insitu_state *state);
/* The tensor itself, not a copy: valid until the state is destroyed; shape and strides are owned by the state. The
 * order is that of insitu_engine_state. Errors: ARG. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_tensor(const insitu_state *state, int32_t index,
                                                               insitu_tensor *out_tensor, insitu_diag *diag);
/* Copies the named tensor to or from size bytes of dense row-major memory. Errors: ARG (name), SHAPE (size). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_read(const insitu_state *state, const char *name, void *data,
                                                             size_t size, insitu_diag *diag);
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_write(insitu_state *state, const char *name, const void *data,
                                                              size_t size, insitu_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
