/* Questions about an engine: its inputs, outputs, states and buffers, the in-place report, and texts. */
#include "engine/record.h"

#include <inttypes.h>

bool insitu_engine_is_cached(const insitu_engine *engine) { return engine && engine->is_cached; }

const char *insitu_device_name(int32_t number) {
    const device_entry_t *entry = number < 0 ? NULL : device_entry_at((uint32_t)number);
    return entry ? entry->name : NULL;
}

const char *insitu_engine_device(const insitu_engine *engine) { return engine ? engine->device->entry->name : NULL; }
int32_t insitu_engine_input_count(const insitu_engine *engine) {
    return engine ? (int32_t)engine->plan->input_count : 0;
}
int32_t insitu_engine_output_count(const insitu_engine *engine) {
    return engine ? (int32_t)engine->plan->output_count : 0;
}
int32_t insitu_engine_state_count(const insitu_engine *engine) {
    return engine ? (int32_t)engine->plan->state_count : 0;
}
int32_t insitu_engine_buffer_count(const insitu_engine *engine) {
    return engine ? (int32_t)engine->plan->buffer_count : 0;
}
int32_t insitu_engine_report_count(const insitu_engine *engine) {
    return engine ? (int32_t)engine->plan->report_count : 0;
}

static insitu_status check_question(const char *function, const insitu_engine *engine, const size_t *struct_size,
                                    insitu_diag *diag) {
    if (!engine || !struct_size || *struct_size < sizeof(size_t))
        FAIL(diag, INSITU_ARG, "%s needs an engine and a struct with its struct_size", function);
    return INSITU_OK;
}

static insitu_status answer(const char *what, const insitu_value_info *rows, uint32_t count, int32_t index,
                            insitu_value_info *info, insitu_diag *diag) {
    if (index < 0 || (uint32_t)index >= count)
        FAIL(diag, INSITU_ARG, "%s %d does not exist: the engine has %u", what, (int)index, count);
    public_copy(info, info->struct_size, &rows[index], sizeof(*info));
    return INSITU_OK;
}

insitu_status insitu_engine_input(const insitu_engine *engine, int32_t index, insitu_value_info *info,
                                  insitu_diag *diag) {
    TRY(check_question("insitu_engine_input", engine, info ? &info->struct_size : NULL, diag));
    return answer("input", engine->inputs, engine->plan->input_count, index, info, diag);
}

insitu_status insitu_engine_output(const insitu_engine *engine, int32_t index, insitu_value_info *info,
                                   insitu_diag *diag) {
    TRY(check_question("insitu_engine_output", engine, info ? &info->struct_size : NULL, diag));
    return answer("output", engine->outputs, engine->plan->output_count, index, info, diag);
}

insitu_status insitu_engine_state(const insitu_engine *engine, int32_t index, insitu_value_info *info,
                                  insitu_diag *diag) {
    TRY(check_question("insitu_engine_state", engine, info ? &info->struct_size : NULL, diag));
    return answer("state", engine->states, engine->plan->state_count, index, info, diag);
}

insitu_status insitu_engine_buffer(const insitu_engine *engine, int32_t index, const char **out_name,
                                   insitu_tensor *out_tensor, insitu_diag *diag) {
    if (out_name) *out_name = NULL;
    if (out_tensor) *out_tensor = (insitu_tensor){0};
    if (!engine || !out_name || !out_tensor)
        FAIL(diag, INSITU_ARG, "insitu_engine_buffer needs an engine, out_name and out_tensor");
    if (index < 0 || (uint32_t)index >= engine->plan->buffer_count)
        FAIL(diag, INSITU_ARG, "buffer %d does not exist: the engine has %u", (int)index, engine->plan->buffer_count);
    *out_name = engine->plan->buffers[index].name;
    *out_tensor = engine->buffers[index];
    return INSITU_OK;
}

static int32_t find(const map_t *names, const char *name) {
    uint32_t index = name ? map_find(names, name) : NONE;
    return index == NONE ? -1 : (int32_t)index;
}

int32_t insitu_engine_find_input(const insitu_engine *engine, const char *name) {
    return engine ? find(&engine->input_names, name) : -1;
}

int32_t insitu_engine_find_output(const insitu_engine *engine, const char *name) {
    return engine ? find(&engine->output_names, name) : -1;
}

int32_t insitu_engine_find_state(const insitu_engine *engine, const char *name) {
    return engine ? find(&engine->state_names, name) : -1;
}

bool insitu_engine_input_is_written(const insitu_engine *engine, const char *input_name) {
    int32_t index = insitu_engine_find_input(engine, input_name);
    return index >= 0 && engine->plan->inputs[index].is_written;
}

insitu_status insitu_engine_report(const insitu_engine *engine, int32_t index, insitu_report_row *row,
                                   insitu_diag *diag) {
    TRY(check_question("insitu_engine_report", engine, row ? &row->struct_size : NULL, diag));
    if (index < 0 || (uint32_t)index >= engine->plan->report_count)
        FAIL(diag, INSITU_ARG, "report row %d does not exist: the engine has %u", (int)index,
             engine->plan->report_count);
    const report_row_t *from = &engine->plan->report[index];
    const engine_text_row_t *texts = &engine->report[index];
    insitu_report_row full = {.name = from->name,
                              .type = texts->type,
                              .update = from->update,
                              .verdict = texts->verdict,
                              .written = texts->written,
                              .bytes_written = texts->bytes_written,
                              .bytes_moved = texts->bytes_moved,
                              .bytes_copied = texts->bytes_copied,
                              .in_place = from->in_place,
                              .bytes_saved = texts->bytes_saved,
                              .reason = from->reason,
                              .source = from->source,
                              .advice = from->advice};
    public_copy(row, row->struct_size, &full, sizeof(full));
    return INSITU_OK;
}

/* ---- texts ---- */

static void print_declared(const plan_t *plan, const char *name, const tensor_type_t *type, text_t *out) {
    text_printf(out, "  %s: %s", name, dtype_name(type->dtype));
    shape_print(&plan->symbols, &type->shape, out);
}

/* ", 2*n from 2 to 16", of what is no constant */
static void print_in_range(const plan_t *plan, sym_t value, int64_t least, text_t *out) {
    int64_t lowest, highest;
    sym_range(&plan->symbols, value, &lowest, &highest);
    if (lowest < least) lowest = least;
    if (lowest != INT64_MIN || highest != INT64_MAX) {
        text_printf(out, ", ");
        sym_print(&plan->symbols, value, out);
    }
    if (lowest != INT64_MIN) text_printf(out, " from %" PRId64, lowest);
    if (highest != INT64_MAX) text_printf(out, " to %" PRId64, highest);
}

static void print_sizes_in_range(const plan_t *plan, const shape_t *shape, text_t *out) {
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t constant;
        if (!sym_constant(&plan->symbols, shape->sizes[i], &constant)) print_in_range(plan, shape->sizes[i], 0, out);
    }
}

static void print_input_value(const plan_t *plan, const plan_input_t *input, text_t *out) {
    if (input->is_none) {
        text_printf(out, "  %s: none\n", input->name);
        return;
    }
    if (input->is_scalar) {
        text_printf(out, "  %s: number %s", input->name, dtype_name(input->type.dtype));
        if (input->is_constant) {
            text_printf(out, ", always ");
            sym_print(&plan->symbols, input->value, out);
        } else if (input->type.dtype == DTYPE_I64) {
            print_in_range(plan, input->value, INT64_MIN, out);
        }
        text_printf(out, "\n");
        return;
    }
    print_declared(plan, input->name, &input->type, out);
    print_sizes_in_range(plan, &input->type.shape, out);
    text_printf(out, input->is_written ? ", written in place\n" : "\n");
}

static void print_output_value(const plan_t *plan, const plan_output_t *output, text_t *out) {
    switch (output->kind) {
    case OUTPUT_NONE: text_printf(out, "  %s: none", output->name); break;
    case OUTPUT_NUMBER:
        text_printf(out, "  %s: number ", output->name);
        sym_print(&plan->symbols, output->value, out);
        break;
    case OUTPUT_TENSOR: print_declared(plan, output->name, &output->operand.type, out); break;
    }
    if (output->kind == OUTPUT_TENSOR && output->alias == ALIAS_INPUT)
        text_printf(out, ", is input '%s'", plan->inputs[output->alias_index].name);
    if (output->kind == OUTPUT_TENSOR && output->alias == ALIAS_STATE)
        text_printf(out, ", is state '%s'", plan->states[output->alias_index].name);
    text_printf(out, "\n");
}

static void print_values(const insitu_engine *engine, text_t *out) {
    const plan_t *plan = engine->plan;
    text_printf(out, "inputs\n");
    for (uint32_t i = 0; i < plan->input_count; i++) print_input_value(plan, &plan->inputs[i], out);
    text_printf(out, "outputs\n");
    for (uint32_t i = 0; i < plan->output_count; i++) print_output_value(plan, &plan->outputs[i], out);
    aliases_print(engine, out);
    text_printf(out, "states\n");
    for (uint32_t i = 0; i < plan->state_count; i++) {
        print_declared(plan, plan->states[i].name, &plan->states[i].type, out);
        print_sizes_in_range(plan, &plan->states[i].type.shape, out);
        text_printf(out, "\n");
    }
    text_printf(out, "buffers\n");
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        print_declared(plan, plan->buffers[i].name, &plan->buffers[i].type, out);
        text_printf(out, "\n");
    }
}

static void print_json_sizes(const char *key, const int64_t *sizes, int32_t count, text_t *out) {
    text_printf(out, ",\"%s\":[", key);
    for (int32_t i = 0; i < count; i++) text_printf(out, "%s%" PRId64, i ? "," : "", sizes[i]);
    text_printf(out, "]");
}

static void print_json_value(const insitu_value_info *info, text_t *out) {
    dtype_t type;
    text_printf(out, "{\"name\":");
    json_print_string(out, info->name);
    if (dtype_from_public(info->dtype, &type)) {
        text_printf(out, ",\"dtype\":\"%s\"", dtype_name(type));
        print_json_sizes("sizes", info->sizes, info->ndim, out);
        print_json_sizes("min_sizes", info->min_sizes, info->ndim, out);
        print_json_sizes("max_sizes", info->max_sizes, info->ndim, out);
    }
    if (info->is_written) text_printf(out, ",\"written\":true");
    if (info->is_scalar) text_printf(out, ",\"scalar\":true");
    if (info->is_fixed) text_printf(out, ",\"fixed\":true");
    if (info->min_value || info->max_value)
        text_printf(out, ",\"min_value\":%" PRId64 ",\"max_value\":%" PRId64, info->min_value, info->max_value);
    if (info->aliased) {
        text_printf(out, ",\"aliased\":");
        json_print_string(out, info->aliased);
    }
    text_printf(out, "}");
}

static void print_json_values(const char *key, const insitu_value_info *rows, uint32_t count, text_t *out) {
    text_printf(out, "\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        text_printf(out, i ? ",\n" : "\n");
        print_json_value(&rows[i], out);
    }
    text_printf(out, "],\n");
}

static void print_json_buffers(const insitu_engine *engine, text_t *out) {
    text_printf(out, "\"buffers\":[");
    for (uint32_t i = 0; i < engine->plan->buffer_count; i++) {
        const insitu_tensor *buffer = &engine->buffers[i];
        const insitu_value_info info = {.name = engine->plan->buffers[i].name,
                                        .dtype = buffer->dtype,
                                        .ndim = buffer->ndim,
                                        .sizes = buffer->shape,
                                        .min_sizes = buffer->shape,
                                        .max_sizes = buffer->shape};
        text_printf(out, i ? ",\n" : "\n");
        print_json_value(&info, out);
    }
    text_printf(out, "],\n");
}

static void print_json_report(const insitu_engine *engine, text_t *out) {
    text_printf(out, "\"report\":[");
    for (uint32_t i = 0; i < engine->plan->report_count; i++) {
        const report_row_t *row = &engine->plan->report[i];
        const engine_text_row_t *texts = &engine->report[i];
        text_printf(out, i ? ",\n{\"name\":" : "\n{\"name\":");
        json_print_string(out, row->name);
        const char *const pairs[][2] = {
            {"type", texts->type},   {"update", row->update}, {"written", texts->written}, {"verdict", texts->verdict},
            {"source", row->source}, {"reason", row->reason}, {"advice", row->advice}};
        for (size_t p = 0; p < COUNT_OF(pairs); p++) {
            text_printf(out, ",\"%s\":", pairs[p][0]);
            json_print_string(out, pairs[p][1]);
        }
        text_printf(out,
                    ",\"bytes_written\":%" PRId64 ",\"bytes_moved\":%" PRId64 ",\"bytes_copied\":%" PRId64
                    ",\"bytes_saved\":%" PRId64 ",\"in_place\":%s}",
                    texts->bytes_written, texts->bytes_moved, texts->bytes_copied, texts->bytes_saved,
                    row->in_place ? "true" : "false");
    }
    text_printf(out, "],\n");
}

static void print_json_record(const insitu_engine *engine, text_t *out) {
    arena_t scratch;
    record_t record;
    arena_init(&scratch);
    text_printf(out, "\"record\":");
    if (record_make(engine, &scratch, &record, NULL) == INSITU_OK)
        record_print(&record, out);
    else
        out->failed = true;
    text_printf(out, ",\n");
    arena_release(&scratch);
}

static void print_json(const insitu_engine *engine, text_t *out) {
    const plan_t *plan = engine->plan;
    text_printf(out, "{");
    print_json_values("inputs", engine->inputs, plan->input_count, out);
    print_json_values("outputs", engine->outputs, plan->output_count, out);
    aliases_print_json(engine, out);
    print_json_record(engine, out);
    print_json_values("states", engine->states, plan->state_count, out);
    print_json_buffers(engine, out);
    print_json_report(engine, out);
    text_printf(out, "\"plan\":");
    plan_print_json(plan, NULL, NULL, out);
    text_printf(out, "}\n");
}

insitu_status insitu_engine_print(const insitu_engine *engine, const char *what, char **out_text, insitu_diag *diag) {
    if (out_text) *out_text = NULL;
    if (!engine || !what || !out_text) FAIL(diag, INSITU_ARG, "insitu_engine_print needs an engine, what and out_text");
    text_t out;
    text_init(&out);
    if (strcmp(what, "report") == 0)
        plan_print_report(engine->plan, &out);
    else if (strcmp(what, "plan") == 0)
        plan_print(engine->plan, &out);
    else if (strcmp(what, "values") == 0)
        print_values(engine, &out);
    else if (strcmp(what, "json") == 0)
        print_json(engine, &out);
    else
        FAIL(diag, INSITU_ARG, "an engine has no text '%s': report, plan, values and json are known", what);
    text_add(&out, "", 0);
    insitu_status status = text_status(&out, diag);
    if (status != INSITU_OK) {
        text_release(&out);
        return status;
    }
    *out_text = out.data;
    return INSITU_OK;
}

void insitu_text_free(char *text) { memory_free(text); }
