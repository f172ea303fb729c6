/* The state file of a run: what the module would hold after the last call, each buffer under its fully qualified name. */
#include "safetensors.h"

/* States first, then buffers; out_name is the engine's. */
static insitu_status kept_tensor(const insitu_engine *engine, const insitu_state *state, int32_t index,
                                 const char **out_name, insitu_tensor *out_tensor, insitu_diag *diag) {
    int32_t states = insitu_engine_state_count(engine);
    if (index >= states) return insitu_engine_buffer(engine, index - states, out_name, out_tensor, diag);
    insitu_value_info info = {.struct_size = sizeof(info)};
    insitu_status status = insitu_engine_state(engine, index, &info, diag);
    *out_name = info.name;
    return status == INSITU_OK ? insitu_state_tensor(state, index, out_tensor, diag) : status;
}

static int collect_tensors(const insitu_engine *engine, const insitu_state *state, tensor_list *tensors,
                           insitu_diag *diag) {
    int32_t count = insitu_engine_state_count(engine) + insitu_engine_buffer_count(engine);
    for (int bits = 128; bits >= 8; bits /= 2) { /* wider elements first: each tensor is aligned to its elements */
        for (int32_t i = 0; i < count; i++) {
            const char *name;
            insitu_tensor tensor;
            if (kept_tensor(engine, state, i, &name, &tensor, diag) != INSITU_OK) return report_failure(NULL, diag);
            if (tensor.dtype.bits != bits) continue;
            int code = tensors_add(tensors, name, &tensor);
            if (code != DONE) return code;
        }
    }
    return DONE;
}

int saved_state_write(const char *path, const insitu_engine *engine, const insitu_state *state) {
    tensor_list tensors = {0};
    insitu_diag diag;
    insitu_diag_init(&diag);
    int code = collect_tensors(engine, state, &tensors, &diag);
    if (code == DONE) code = safetensors_replace(path, &tensors);
    tensors_forget(&tensors);
    insitu_diag_release(&diag);
    return code;
}
