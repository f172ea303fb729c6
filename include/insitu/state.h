/* States: the state tensors of one sequence.
 *
 * Threads: any number of states of one engine may be made, used and destroyed at once. One state is used by one thread at a
 * time, and may be handed from thread to thread; a call or verb that finds another one running on the state is refused with
 * ARG and does nothing. The state is destroyed when nothing uses it any more. insitu_state_tensor, _describe, _count and
 * _engine may run beside anything but bind, unbind and destroy; what lies in the tensors is the running call's meanwhile. */
#ifndef INSITU_STATE_H
#define INSITU_STATE_H

#include <insitu/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct insitu_state insitu_state;
/* A CUDA stream; NULL on CPU. */
typedef void *insitu_stream;

/* Allocates the engine's state tensors and fills them with their initial values. Errors: ARG (a size of a state is open:
 * below), NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_create(const insitu_engine *engine, insitu_state **out_state,
                                                               insitu_diag *diag);
/* A size of a state tensor that the program leaves open (-1 in insitu_engine_state), such as the capacity of a cache. */
typedef struct insitu_state_size {
    const char *name; /* the state's */
    int32_t dim;
    int64_t size;
} insitu_state_size;
/* The same with open sizes chosen: states of one engine may have different capacities, and are used in turn with one
 * context. Dimensions that share a symbol have one size, so that one of them is enough. Such tensors begin with zeros.
 * Errors: ARG (name, dim; a size is missing), SHAPE (outside its range; two that contradict each other; too large),
 * NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_create_sized(const insitu_engine *engine,
                                                                     const insitu_state_size *sizes, size_t count,
                                                                     insitu_state **out_state, insitu_diag *diag);
/* NULL is allowed. */
INSITU_API void insitu_state_destroy(insitu_state *state);
/* Sets every tensor to its initial value. Errors: ARG (a call is running on the state), NOMEM (an open snapshot's log). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_reset(insitu_state *state, insitu_stream stream,
                                                              insitu_diag *diag);
/* A copy that shares nothing with the original: its memory is its own, and no snapshot of it is open.
 * Errors: ARG (a call is running on the state), NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_fork(const insitu_state *state, insitu_stream stream,
                                                             insitu_state **out_state, insitu_diag *diag);
/* Writes a safetensors file, one tensor a state name, with its version and the program that the engine comes from as
 * metadata: to a temporary name beside path (path.tmp.PID.N), which is synced to the disk and then renamed, so that path
 * is the old file or the whole new one, whatever ends the process. It keeps the old file's permissions; a link to a file
 * stands for that file. A device or a pipe is written to as it is, and waited for.
 * Errors: ARG (a call is running), UNSUPPORTED (a state called __metadata__, which the format reserves), IO, NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_save(const insitu_state *state, const char *path,
                                                             insitu_diag *diag);
/* The same with the buffers of insitu_engine_buffer: all that the module would hold. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_save_all(const insitu_state *state, const char *path,
                                                                 insitu_diag *diag);
/* Reads such a file. The program must be this engine's, whatever its compile options were; a file of another tool, which
 * does not tell, is taken if names, dtypes and shapes are those of the engine. Buffers of insitu_engine_buffer must have
 * the very bytes that the engine has. On any error the state is as before. Errors: IO, FORMAT, VERSION (of a later
 * library), ARG (another program; names, dtypes, values of buffers; a call is running), SHAPE, NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_load(insitu_state *state, const char *path, insitu_diag *diag);

/* The engine that it was created for; NULL of NULL. */
INSITU_API const insitu_engine *insitu_state_engine(const insitu_state *state);
INSITU_API int32_t insitu_state_count(const insitu_state *state);
/* What a state tensor is. */
typedef struct insitu_state_info {
    size_t struct_size;
    const char *name; /* owned by the engine, as is update */
    insitu_dtype dtype;
    int32_t ndim;
    const int64_t *sizes;  /* ndim numbers, owned by the state */
    size_t bytes;          /* of its elements */
    const char *update;    /* how the program writes it: "index_update dim 2"; as in the in-place report */
    int32_t position_axis; /* the axis whose rows insitu_state_truncate cuts; -1: it is not indexed by position */
    bool is_bound;         /* it lies in the caller's memory */
} insitu_state_info;
/* info->struct_size must be set by the caller. Errors: ARG (index). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_describe(const insitu_state *state, int32_t index,
                                                                 insitu_state_info *info, insitu_diag *diag);
/* The tensor itself, not a copy: valid until the state is destroyed, or the tensor bound or unbound; shape and strides are
 * owned by the state. The order is that of insitu_engine_state. What is written through it no snapshot sees.
 * Errors: ARG. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_tensor(const insitu_state *state, int32_t index,
                                                               insitu_tensor *out_tensor, insitu_diag *diag);
/* Copies the named tensor to or from size bytes of dense row-major memory; the tensor stays where it is.
 * Errors: ARG (name; a call is running), SHAPE (size), NOMEM (write: an open snapshot's log). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_read(const insitu_state *state, const char *name, void *data,
                                                             size_t size, insitu_diag *diag);
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_write(insitu_state *state, const char *name, const void *data,
                                                              size_t size, insitu_diag *diag);

/* Cuts a sequence: in the named tensor, or in all that the program writes (name NULL), the rows from `rows` on get
 * their initial values, as if nothing had been written there. A tensor is indexed by position if every write of the
 * program to it replaces rows of one axis from the position on that the call is given, or that a counter of the program's
 * holds, which insitu_state_info tells. Positions that the program wraps, clamps, shifts or looks up are none: of a ring or a
 * history only a snapshot knows older values. With name NULL one such tensor that is written refuses the whole, and nothing is
 * cut; a tensor of one element, such as a counter, stays as it is, and is the caller's to set. The positions of later calls are the caller's to give. An open snapshot brings the
 * rows back. Nothing happens to a tensor of no more rows. Takes time proportional to the rows that are cut.
 * Errors: ARG (name; rows < 0; a tensor that is not indexed by position; a call is running), NOMEM (an open snapshot's log). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_truncate(insitu_state *state, const char *name, int64_t rows,
                                                                 insitu_stream stream, insitu_diag *diag);

/* ---- the caller's memory ---- */

/* Whose bytes a tensor that is bound begins with. */
typedef enum insitu_contents {
    INSITU_CONTENTS_OF_STATE, /* the state's present ones, copied into the memory */
    INSITU_CONTENTS_OF_MEMORY /* those that the memory holds: nothing is copied */
} insitu_contents;

/* Puts the named tensor into the caller's memory, which must have the dtype, sizes and strides of insitu_state_tensor and
 * stay until it is unbound, another is bound, or the state is destroyed; the state's own memory is freed. The tensor
 * struct, its shape and strides are copied. Every verb works on the bound memory, calls write it in place; a fork has
 * memory of its own. Memory bound to several states belongs to whichever call runs: only one may.
 * Errors: ARG (name, dtype, device, alignment; memory of another tensor of the state; a tensor that is a part of a block
 * which others use; an open snapshot; a call is running), SHAPE. On an error the tensor stays where it was. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_bind(insitu_state *state, const char *name,
                                                             const insitu_tensor *tensor, insitu_contents contents,
                                                             insitu_stream stream, insitu_diag *diag);
/* Takes the tensor back into memory of the state's own, with its contents; the caller's memory keeps its bytes. Nothing
 * happens if it isn't bound. Errors: ARG (name; an open snapshot; a call is running), NOMEM (it stays bound). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_unbind(insitu_state *state, const char *name,
                                                               insitu_stream stream, insitu_diag *diag);

/* ---- snapshots ---- */

/* Remembers the present values: from now on whatever a call, reset, load or write replaces in the state is saved first
 * (insitu_run_stats.snapshot_bytes_saved), so that insitu_state_restore takes time proportional to what was written and
 * not to the size of the state. Nothing is copied now. Snapshots nest; *out_snapshot is the number of those that were open
 * before. Inputs that the program mutates are the caller's, not the state's. Errors: ARG (a call is running), NOMEM. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_snapshot(insitu_state *state, insitu_stream stream,
                                                                 int32_t *out_snapshot, insitu_diag *diag);
/* Puts back the values of the snapshot, which is closed, with all that were taken after it.
 * Errors: ARG (no open snapshot has this number; a call is running). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_restore(insitu_state *state, int32_t snapshot,
                                                                insitu_stream stream, insitu_diag *diag);
/* Closes the snapshot and all that were taken after it; the present values stay. Errors: as insitu_state_restore. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_state_discard(insitu_state *state, int32_t snapshot,
                                                                insitu_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
