/* Aliased inputs and outputs: which output is an input's new value, and so must share its memory. One row for each input
 * that the program writes; an output that is the whole input is its row's, else the new value has a name of its own. */
#include "engine/format.h"
#include "plan/plan_fields.h"

/* The output is the input's memory, all of it, element for element. */
static bool is_whole(const plan_t *plan, const plan_output_t *output, uint32_t input) {
    if (output->kind != OUTPUT_TENSOR || output->alias != ALIAS_INPUT || output->alias_index != input) return false;
    return type_same(&output->operand.type, &plan->inputs[input].type);
}

static insitu_status name_value(insitu_engine *engine, engine_alias_t *alias) {
    const plan_t *plan = engine->plan;
    alias->output_index = NONE;
    for (uint32_t i = plan->output_count; i-- > 0;)
        if (is_whole(plan, &plan->outputs[i], alias->input)) alias->output_index = i;
    if (alias->output_index != NONE) {
        alias->output = plan->outputs[alias->output_index].name;
        return INSITU_OK;
    }
    const char *input = plan->inputs[alias->input].name;
    TRY(arena_printf(&engine->arena, &alias->output, "mutated.%s", input));
    for (uint32_t suffix = 1; map_find(&engine->output_names, alias->output) != NONE ||
                              map_find(&engine->alias_names, alias->output) != NONE;
         suffix++)
        TRY(arena_printf(&engine->arena, &alias->output, "mutated.%s_%u", input, suffix));
    return INSITU_OK;
}

insitu_status aliases_find(insitu_engine *engine) {
    const plan_t *plan = engine->plan;
    TRY(arena_array(&engine->arena, plan->input_count, sizeof(*engine->aliases), &engine->aliases));
    for (uint32_t i = 0; i < plan->input_count; i++) {
        if (!plan->inputs[i].is_written) continue;
        engine_alias_t *alias = &engine->aliases[engine->alias_count];
        alias->input = i;
        TRY(name_value(engine, alias));
        TRY(map_set(&engine->alias_names, &engine->arena, alias->output, engine->alias_count));
        engine->alias_count++;
    }
    return INSITU_OK;
}

/* ---- queries ---- */

static insitu_alias_kind public_kind(update_kind_t kind) {
    return kind == UPDATE_KV_CACHE ? INSITU_ALIAS_KV_CACHE_UPDATE : INSITU_ALIAS_USER;
}

int32_t insitu_engine_alias_count(const insitu_engine *engine) { return engine ? (int32_t)engine->alias_count : 0; }

insitu_status insitu_engine_alias(const insitu_engine *engine, int32_t index, insitu_alias *alias, insitu_diag *diag) {
    if (!engine || !alias || alias->struct_size < sizeof(size_t))
        FAIL(diag, INSITU_ARG, "insitu_engine_alias needs an engine and a struct with its struct_size");
    if (index < 0 || (uint32_t)index >= engine->alias_count)
        FAIL(diag, INSITU_ARG, "alias %d does not exist: the engine has %u", (int)index, engine->alias_count);
    const engine_alias_t *row = &engine->aliases[index];
    const plan_input_t *input = &engine->plan->inputs[row->input];
    const insitu_alias full = {.output = row->output,
                               .input = input->name,
                               .kind = public_kind(input->update),
                               .output_index = row->output_index == NONE ? -1 : (int32_t)row->output_index,
                               .input_index = (int32_t)row->input};
    public_copy(alias, alias->struct_size, &full, sizeof(full));
    return INSITU_OK;
}

const char *insitu_engine_aliased_input(const insitu_engine *engine, const char *output_name) {
    if (!engine || !output_name) return NULL;
    uint32_t row = map_find(&engine->alias_names, output_name);
    if (row != NONE) return engine->plan->inputs[engine->aliases[row].input].name;
    uint32_t index = map_find(&engine->output_names, output_name);
    if (index == NONE) return NULL;
    const plan_output_t *output = &engine->plan->outputs[index];
    bool is_input = output->kind == OUTPUT_TENSOR && output->alias == ALIAS_INPUT;
    return is_input ? engine->plan->inputs[output->alias_index].name : NULL;
}

const char *insitu_alias_kind_name(insitu_alias_kind kind) {
    const char *name = update_kind_name(kind == INSITU_ALIAS_KV_CACHE_UPDATE ? UPDATE_KV_CACHE : UPDATE_USER);
    return kind == INSITU_ALIAS_KV_CACHE_UPDATE || kind == INSITU_ALIAS_USER ? name : "unknown";
}

/* ---- texts ---- */

void aliases_print(const insitu_engine *engine, text_t *out) {
    text_printf(out, "aliases\n");
    for (uint32_t i = 0; i < engine->alias_count; i++) {
        const engine_alias_t *alias = &engine->aliases[i];
        const plan_input_t *input = &engine->plan->inputs[alias->input];
        text_printf(out, "  %s is input '%s', %s%s\n", alias->output, input->name, update_kind_name(input->update),
                    alias->output_index == NONE ? ", not returned" : "");
    }
}

void aliases_print_json(const insitu_engine *engine, text_t *out) {
    text_printf(out, "\"aliases\":[");
    for (uint32_t i = 0; i < engine->alias_count; i++) {
        const engine_alias_t *alias = &engine->aliases[i];
        const plan_input_t *input = &engine->plan->inputs[alias->input];
        text_printf(out, i ? ",\n{\"output\":" : "\n{\"output\":");
        json_print_string(out, alias->output);
        text_printf(out, ",\"input\":");
        json_print_string(out, input->name);
        text_printf(out, ",\"kind\":\"%s\",\"returned\":%s}", update_kind_name(input->update),
                    alias->output_index == NONE ? "false" : "true");
    }
    text_printf(out, "],\n");
}
