/* Opening what a command calls, and giving it the inputs of a file by name. */
#include "session.h"

#include "file_kind.h"
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>

static int open_state(session_t *session, const state_start_t *start, insitu_diag *diag) {
    if (insitu_state_create_sized(session->source.engine, start->sizes, start->size_count, &session->state, diag) !=
            INSITU_OK ||
        insitu_context_create(session->source.engine, &session->context, diag) != INSITU_OK)
        return report_failure(NULL, diag);
    if (!start->load_path) return DONE;
    const char *path = readable_path(start->load_path);
    int code = path ? check_kind(start->load_path, path, EXPECT_TENSORS) : FAILED;
    if (code == DONE && insitu_state_load(session->state, path, diag) != INSITU_OK)
        code = report_failure(start->load_path, diag);
    return code;
}

int session_open(const char *path, const insitu_compile_options *options, const state_start_t *start,
                 session_t *out_session) {
    *out_session = (session_t){0};
    insitu_diag diag;
    insitu_diag_init(&diag);
    int code = engine_source_open(path, options, NULL, &out_session->source);
    if (code == DONE) {
        size_t outputs = (size_t)insitu_engine_output_count(out_session->source.engine);
        out_session->copies = calloc(outputs + 1, sizeof(*out_session->copies));
        code = out_session->copies ? open_state(out_session, start, &diag) : report_error("out of memory");
    }
    insitu_diag_release(&diag);
    return code;
}

void session_close(session_t *session) {
    for (int32_t i = 0; session->copies && i < insitu_engine_output_count(session->source.engine); i++)
        free(session->copies[i]);
    free(session->copies);
    insitu_context_destroy(session->context);
    insitu_state_destroy(session->state);
    engine_source_close(&session->source);
}

int call_failure(int number, const insitu_diag *diag) {
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "call %d", number);
    return report_failure(prefix, diag);
}

int session_lay_out(const session_t *session, const char *name, insitu_tensor *tensor) {
    insitu_value_info info = {.struct_size = sizeof(info)};
    int32_t index = insitu_engine_find_input(session->source.engine, name);
    if (index < 0 || insitu_engine_input(session->source.engine, index, &info, NULL) != INSITU_OK) return DONE;
    if (!info.strides || info.ndim != tensor->ndim) return DONE;
    for (int32_t i = 0; i < info.ndim; i++)
        if (info.strides[i] < 0 || (info.sizes[i] >= 0 && info.sizes[i] != tensor->shape[i])) return DONE;
    return tensor_lay_out(tensor, info.strides);
}

static int check_names(const session_t *session, int number, const char *path, const tensor_list_t *inputs) {
    for (size_t i = 0; i < inputs->count; i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        int32_t index = insitu_engine_find_input(session->source.engine, inputs->items[i].name);
        if (index < 0 || insitu_engine_input(session->source.engine, index, &info, NULL) != INSITU_OK || is_none(&info))
            return report_error("call %d: '%s' holds a tensor '%s', and the program has no input of that name", number,
                                path, inputs->items[i].name);
    }
    return DONE;
}

static int bind_inputs(const session_t *session, int number, const char *path, const tensor_list_t *inputs,
                       insitu_diag *diag) {
    const insitu_engine *engine = session->source.engine;
    for (int32_t i = 0; i < insitu_engine_input_count(engine); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        if (insitu_engine_input(engine, i, &info, diag) != INSITU_OK) return call_failure(number, diag);
        if (is_none(&info)) continue;
        const named_tensor_t *given = tensors_find(inputs, info.name);
        if (!given && info.is_fixed) continue;
        if (!given) return report_error("call %d: '%s' holds no tensor for input '%s'", number, path, info.name);
        if (insitu_context_set_input(session->context, i, &given->tensor, diag) != INSITU_OK)
            return call_failure(number, diag);
    }
    return DONE;
}

int session_call(const session_t *session, int number, const char *input_path, const tensor_list_t *inputs) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    int code = check_names(session, number, input_path, inputs);
    if (code == DONE) code = bind_inputs(session, number, input_path, inputs, &diag);
    if (code == DONE && (insitu_context_run(session->context, session->state, NULL, &diag) != INSITU_OK ||
                         insitu_context_synchronize(session->context, session->state, &diag) != INSITU_OK))
        code = call_failure(number, &diag);
    insitu_diag_release(&diag);
    return code;
}

static int read_copy(const session_t *session, int32_t index, insitu_tensor *tensor, insitu_diag *diag) {
    size_t size = tensor->dtype.bits / 8;
    for (int32_t i = 0; i < tensor->ndim; i++) size *= (size_t)tensor->shape[i];
    free(session->copies[index]);
    void *copy = session->copies[index] = malloc(size ? size : 1);
    if (!copy) return report_error("out of memory");
    if (insitu_context_read_output(session->context, index, copy, size, diag) != INSITU_OK) return FAILED;
    *tensor = (insitu_tensor){.data = copy,
                              .device = {INSITU_DEVICE_CPU, 0},
                              .ndim = tensor->ndim,
                              .dtype = tensor->dtype,
                              .shape = tensor->shape};
    return DONE;
}

int session_output(const session_t *session, int number, int32_t index, insitu_tensor *out_tensor) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    int code = DONE;
    if (insitu_context_output(session->context, index, out_tensor, &diag) != INSITU_OK) code = FAILED;
    if (code == DONE && out_tensor->data && out_tensor->device.device_type != INSITU_DEVICE_CPU)
        code = read_copy(session, index, out_tensor, &diag);
    if (code != DONE) code = call_failure(number, &diag);
    insitu_diag_release(&diag);
    return code;
}

int read_named_tensors(const char *shown, tensor_list_t *out_tensors) {
    *out_tensors = (tensor_list_t){0};
    const char *path = readable_path(shown);
    int code = path ? check_kind(shown, path, EXPECT_TENSORS) : FAILED;
    return code == DONE ? tensors_read(shown, path, out_tensors) : code;
}
