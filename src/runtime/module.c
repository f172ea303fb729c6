/* Modules: an engine's context and state in one handle. */
#include "runtime/runtime_int.h"

struct insitu_module {
    insitu_context *context;
    insitu_state *state;
    uint32_t busy; /* 1 while a call runs */
};

insitu_status insitu_module_create(const insitu_engine *engine, insitu_module **out_module, insitu_diag *diag) {
    if (out_module) *out_module = NULL;
    if (!engine || !out_module) FAIL(diag, INSITU_ARG, "insitu_module_create needs an engine and out_module");
    insitu_module *module = memory_alloc(sizeof(*module));
    if (!module) FAIL(diag, INSITU_NOMEM, "out of memory for a module");
    *module = (insitu_module){0};
    insitu_status status = insitu_context_create(engine, &module->context, diag);
    if (status == INSITU_OK) status = insitu_state_create(engine, &module->state, diag);
    if (status != INSITU_OK) {
        insitu_module_destroy(module);
        return status;
    }
    *out_module = module;
    return INSITU_OK;
}

void insitu_module_destroy(insitu_module *module) {
    if (!module) return;
    insitu_context_destroy(module->context);
    insitu_state_destroy(module->state);
    memory_free(module);
}

static insitu_status call(insitu_module *module, const insitu_tensor *inputs, insitu_tensor *outputs,
                          insitu_diag *diag) {
    const plan_t *plan = module->context->engine->plan;
    for (uint32_t i = 0; i < plan->input_count; i++)
        TRY(insitu_context_set_input(module->context, (int32_t)i, &inputs[i], diag));
    TRY(insitu_context_run(module->context, module->state, NULL, diag));
    for (uint32_t i = 0; i < plan->output_count; i++)
        TRY(insitu_context_output(module->context, (int32_t)i, &outputs[i], diag));
    return INSITU_OK;
}

insitu_status insitu_module_call(insitu_module *module, const insitu_tensor *inputs, insitu_tensor *outputs,
                                 insitu_diag *diag) {
    if (!module) FAIL(diag, INSITU_ARG, "insitu_module_call needs a module");
    const plan_t *plan = module->context->engine->plan;
    if ((!inputs && plan->input_count) || (!outputs && plan->output_count))
        FAIL(diag, INSITU_ARG, "insitu_module_call needs %u inputs and %u outputs", plan->input_count,
             plan->output_count);
    if (plan->output_count) memset(outputs, 0, plan->output_count * sizeof(*outputs));
    uint32_t idle = 0;
    if (!__atomic_compare_exchange_n(&module->busy, &idle, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        FAIL(diag, INSITU_ARG, "another call is running on this module");
    insitu_status status = call(module, inputs, outputs, diag);
    __atomic_store_n(&module->busy, 0, __ATOMIC_RELEASE);
    return status;
}

insitu_state *insitu_module_state(insitu_module *module) { return module ? module->state : NULL; }
insitu_context *insitu_module_context(insitu_module *module) { return module ? module->context : NULL; }
