/* Modules: an engine's context and state in one handle, for the common case. Used by one thread at a time; two calls at
 * once on one are refused. */
#ifndef INSITU_MODULE_H
#define INSITU_MODULE_H

#include <insitu/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct insitu_module insitu_module;

/* The engine must outlive the module. */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_module_create(const insitu_engine *engine, insitu_module **out_module,
                                                                insitu_diag *diag);
/* NULL is allowed. */
INSITU_API void insitu_module_destroy(insitu_module *module);
/* One call: inputs holds insitu_engine_input_count tensors, outputs receives insitu_engine_output_count tensors, each
 * valid until the next call; zeros if it fails. Errors: those of insitu_context_set_input and insitu_context_run; ARG
 * (another call is running on the module). */
INSITU_MUST_CHECK INSITU_API insitu_status insitu_module_call(insitu_module *module, const insitu_tensor *inputs,
                                                              insitu_tensor *outputs, insitu_diag *diag);
/* The module's own parts, owned by it. */
INSITU_API insitu_state *insitu_module_state(insitu_module *module);
INSITU_API insitu_context *insitu_module_context(insitu_module *module);

#ifdef __cplusplus
}
#endif
#endif
