/* The record of an engine, as it is written. */
#include "engine/record.h"
#include "plan/plan_fields.h"

const char *record_field_name(record_field_t field) {
    static const char *const names[] = {
        [RECORD_ABI_TARGET] = "ABI_TARGET",
        [RECORD_NAME] = "NAME",
        [RECORD_DEVICE_NAME] = "DEVICE",
        [RECORD_ENGINE] = "ENGINE",
        [RECORD_INPUT_NAMES] = "INPUT_BINDING_NAMES",
        [RECORD_OUTPUT_NAMES] = "OUTPUT_BINDING_NAMES",
        [RECORD_HW_COMPATIBLE] = "HW_COMPATIBLE",
        [RECORD_SERIALIZED_METADATA] = "SERIALIZED_METADATA",
        [RECORD_TARGET_PLATFORM] = "TARGET_PLATFORM",
        [RECORD_REQUIRES_OUTPUT_ALLOCATOR] = "REQUIRES_OUTPUT_ALLOCATOR",
        [RECORD_RESOURCE_ALLOCATION_STRATEGY] = "RESOURCE_ALLOCATION_STRATEGY",
        [RECORD_REQUIRES_NATIVE_MULTIDEVICE] = "REQUIRES_NATIVE_MULTIDEVICE",
        [RECORD_ALIASED_IO] = "ALIASED_IO",
    };
    return field < RECORD_LENGTH ? names[field] : "unknown";
}

/* ---- lists in fields ---- */

static void add_name(const char *name, text_t *out) {
    if (!*name) text_printf(out, "\\e");
    for (const char *c = name; *c; c++) {
        if (*c == '%' || *c == '@' || *c == '\\') text_add(out, "\\", 1);
        text_add(out, c, 1);
    }
}

void record_join_names(const char *const *names, uint32_t count, text_t *out) {
    text_add(out, "", 0);
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_add(out, "%", 1);
        add_name(names[i], out);
    }
}

void record_join_aliases(const record_alias_t *aliases, uint32_t count, text_t *out) {
    text_add(out, "", 0);
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_add(out, "%", 1);
        add_name(aliases[i].output, out);
        text_add(out, "@", 1);
        add_name(aliases[i].input, out);
        text_add(out, "@", 1);
        add_name(aliases[i].kind, out);
    }
}

/* ---- an engine's ---- */

/* The text's string, in the arena; the text is released. */
static insitu_status take_text(text_t *text, arena_t *arena, const char **out_string, insitu_diag *diag) {
    insitu_status status = text_status(text, diag);
    if (status == INSITU_OK) status = arena_string(arena, text->data, text->size, out_string);
    text_release(text);
    return status;
}

static insitu_status make_names(const insitu_engine *engine, arena_t *arena, record_t *record, insitu_diag *diag) {
    const plan_t *plan = engine->plan;
    const char **names;
    uint32_t count = 0;
    text_t joined;
    TRY(arena_array(arena, (size_t)plan->input_count + plan->output_count + engine->alias_count, sizeof(*names),
                    &names));
    for (uint32_t i = 0; i < plan->input_count; i++) names[count++] = plan->inputs[i].name;
    text_init(&joined);
    record_join_names(names, count, &joined);
    TRY(take_text(&joined, arena, &record->fields[RECORD_INPUT_NAMES], diag));
    count = 0;
    for (uint32_t i = 0; i < engine->alias_count; i++)
        if (engine->aliases[i].output_index == NONE) names[count++] = engine->aliases[i].output;
    for (uint32_t i = 0; i < plan->output_count; i++) names[count++] = plan->outputs[i].name;
    text_init(&joined);
    record_join_names(names, count, &joined);
    return take_text(&joined, arena, &record->fields[RECORD_OUTPUT_NAMES], diag);
}

static insitu_status make_aliases(const insitu_engine *engine, arena_t *arena, record_t *record, insitu_diag *diag) {
    record_alias_t *aliases;
    text_t joined;
    TRY(arena_array(arena, engine->alias_count, sizeof(*aliases), &aliases));
    for (uint32_t i = 0; i < engine->alias_count; i++) {
        const plan_input_t *input = &engine->plan->inputs[engine->aliases[i].input];
        aliases[i] = (record_alias_t){engine->aliases[i].output, input->name, update_kind_name(input->update)};
    }
    text_init(&joined);
    record_join_aliases(aliases, engine->alias_count, &joined);
    return take_text(&joined, arena, &record->fields[RECORD_ALIASED_IO], diag);
}

/* "1" if an output has a size that only the call decides. */
static insitu_status find_decided(const plan_t *plan, arena_t *arena, const char **out_flag) {
    const sym_pool_t *pool = &plan->symbols;
    bool *by_call; /* of each expression; arguments come before it */
    *out_flag = "0";
    TRY(arena_array(arena, pool->node_count, sizeof(*by_call), &by_call));
    for (uint32_t id = 0; id < pool->node_count; id++) {
        uint32_t symbol = sym_symbol_index(pool, (sym_t){id});
        by_call[id] = symbol != NONE && plan->symbol_sources[symbol].source == SYMBOL_STEP;
        for (uint32_t i = 0; i < sym_arg_count(pool, (sym_t){id}); i++)
            by_call[id] |= by_call[sym_arg(pool, (sym_t){id}, i).id];
    }
    for (uint32_t i = 0; i < plan->output_count; i++) {
        const shape_t *shape = &plan->outputs[i].operand.type.shape;
        for (uint32_t d = 0; plan->outputs[i].kind == OUTPUT_TENSOR && d < shape->rank; d++)
            if (by_call[shape->sizes[d].id]) *out_flag = "1";
    }
    return INSITU_OK;
}

insitu_status record_make(const insitu_engine *engine, arena_t *arena, record_t *out_record, insitu_diag *diag) {
    for (uint32_t i = 0; i < RECORD_LENGTH; i++) out_record->fields[i] = "";
    out_record->fields[RECORD_ABI_TARGET] = RECORD_ABI;
    out_record->fields[RECORD_DEVICE_NAME] = engine->device->entry->name;
    out_record->fields[RECORD_ENGINE] = PLAN_TENSOR;
    out_record->fields[RECORD_TARGET_PLATFORM] = RECORD_PLATFORM;
    TRY(find_decided(engine->plan, arena, &out_record->fields[RECORD_REQUIRES_OUTPUT_ALLOCATOR]));
    TRY(make_names(engine, arena, out_record, diag));
    return make_aliases(engine, arena, out_record, diag);
}

void record_print(const record_t *record, text_t *out) {
    for (uint32_t i = 0; i < RECORD_LENGTH; i++) {
        text_printf(out, i ? "," : "[");
        json_print_string(out, record->fields[i]);
    }
    text_printf(out, "]");
}
