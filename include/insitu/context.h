/* Contexts: what one running call needs. Used by one thread at a time, so that each thread has its own; contexts of one
 * engine run at once, on different states. A context works with any state of its engine. */
#ifndef INSITU_CONTEXT_H
#define INSITU_CONTEXT_H

#include <insitu/state.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct insitu_context insitu_context;

INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_create(const insitu_engine *engine,
                                                                 insitu_context **out_context, insitu_diag *diag);
/* NULL is allowed. */
INSITU_API void insitu_context_destroy(insitu_context *context);

/* Binds an input. The tensor struct, its shape and strides are copied, its data are used in place: they must stay valid
 * until the next run has returned. On a device with memory of its own an input may lie in host memory, too: each run copies
 * it there, and one that the program writes back, for which it waits. An input that the program writes is written there, so its strides must be those that it
 * was exported with. A binding that fails leaves the one before. Errors: ARG (index, dtype, device, alignment, no data),
 * SHAPE (rank, size, a size outside its range; a negative stride; strides of a written input, though the run finds those
 * that depend on other inputs' sizes). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_set_input(insitu_context *context, int32_t index,
                                                                    const insitu_tensor *tensor, insitu_diag *diag);
/* Binds memory for an output; tensor NULL unbinds it. An output that is left unbound lives in memory of the context
 * until its next run; one that is a state tensor or an input is that tensor itself, and takes no memory. Sizes must be those
 * that the output has in the run (SHAPE), so that one whose sizes the call decides is better left unbound. Strides are any
 * that aren't negative and put no two elements in one place; into dense memory the output is computed, other strides cost a
 * copy. On a device with memory of its own the run copies to host memory, and waits. A binding that fails leaves the one
 * before. Errors: ARG (index, dtype, device, alignment, no data; the output is None), SHAPE (rank, size, strides). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_set_output(insitu_context *context, int32_t index,
                                                                     const insitu_tensor *tensor, insitu_diag *diag);
/* Gives every unbound output memory of its own now, enough for its largest sizes: from then on each result lies at one
 * address in all calls, until this is called with false. The results of the last run are lost. An engine with aliased
 * inputs ignores it, with a warning in the log. Errors: SHAPE (a size without a limit), NOMEM; then it is off. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_preallocate_outputs(insitu_context *context, bool is_on,
                                                                              insitu_diag *diag);
/* Sizes that the output will have with the inputs bound now, before the run (room for out_ndim <= 12 sizes); of a number or
 * None out_ndim is 0. Errors: ARG (index; an input that its sizes depend on is not bound), SHAPE (the size of a state decides
 * them that no bound input has too, which insitu_state_describe tells; the call itself decides them: bind nothing, and ask
 * insitu_context_output after the run). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_output_shape(insitu_context *context, int32_t index,
                                                                       int32_t *out_ndim, int64_t *out_sizes,
                                                                       insitu_diag *diag);
/* Runs the program once on a state (NULL: the engine has no state). A call that fails changes no state and no input. On an
 * asynchronous device it may return before the work is done, which is ordered on the stream (NULL: the device's own). What
 * then fails is told by the next function that waits (insitu_context_synchronize, a run that copies to host memory or reads
 * a size, whatever else uses the state), and calls made meanwhile have changed nothing. The CPU is not asynchronous.
 * Errors: ARG (an input is not bound; a number that is_fixed is bound to another value; two bindings share memory that is
 * written; another call runs on this state), SHAPE, BOUNDS, ASSERT, NOMEM, DEVICE. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_run(insitu_context *context, insitu_state *state,
                                                              insitu_stream stream, insitu_diag *diag);
/* Waits for the runs of this context, of which the last were on the state (NULL: on none). Errors: what one of them has
 * failed with; ARG, DEVICE. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_synchronize(insitu_context *context, insitu_state *state,
                                                                      insitu_diag *diag);
/* An output of the last run; valid until the next run of the context (of the state, if it is a state tensor). It has
 * strides, which are not dense where it is a view of a state or an input; data is its first element, and byte_offset 0, but
 * for memory that was bound with a byte_offset, which is kept. A number of the program's result, a constant one too, is a
 * 0-d tensor; None is a tensor of zeros without data. Errors: ARG. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_output(const insitu_context *context, int32_t index,
                                                                 insitu_tensor *out_tensor, insitu_diag *diag);

/* Copies an output of the last run, wherever it lies, to host memory: its elements in row-major order, size bytes. Waits for
 * the run, and does not tell whether it has failed. Errors: ARG, SHAPE (size), NOMEM, DEVICE. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_read_output(insitu_context *context, int32_t index,
                                                                      void *data, size_t size, insitu_diag *diag);

/* Counters of the last run, in bytes; of the context where it is said. */
typedef struct insitu_run_stats {
    size_t struct_size;
    double seconds;
    int64_t weight_bytes_read;    /* bytes of weights that the steps read; of an embedding the gathered rows alone */
    int64_t state_bytes_written;  /* bytes stored into state tensors (mutated inputs too) */
    int64_t state_bytes_moved;    /* bytes shifted within one state tensor */
    int64_t state_bytes_copied;   /* old bytes set aside, and new bytes built elsewhere and copied back */
    int64_t state_bytes_saved;    /* bytes of the undo log */
    int64_t output_bytes_copied;  /* bytes of state or input tensors copied to other memory as outputs */
    int64_t arena_bytes;          /* size of the context's memory for intermediate values */
    int64_t snapshot_bytes_saved; /* replaced bytes that the state's open snapshots keep */
    /* Sets of sizes that the context has prepared since it was created, and those of them that were dropped because 16 of
     * a part of the program are kept at most. Many of either: sizes change with every call. */
    int64_t bindings_made, bindings_dropped;
} insitu_run_stats;

/* stats->struct_size must be set by the caller. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_context_stats(const insitu_context *context, insitu_run_stats *stats,
                                                                insitu_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
