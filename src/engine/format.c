/* Names of enums in the engine file. A name that a file holds never changes its meaning. */
#include "engine/format.h"

static const char *look_up(const char *const *names, size_t count, uint32_t index) {
    return index < count ? names[index] : NULL;
}

const char *format_symbol_kind(uint32_t kind) {
    static const char *const names[] = {[SYM_KIND_INT] = "int", [SYM_KIND_FLOAT] = "float", [SYM_KIND_BOOL] = "bool"};
    return look_up(names, COUNT_OF(names), kind);
}

const char *format_symbol_source(uint32_t source) {
    static const char *const names[] = {[SYMBOL_UNUSED] = "unused",
                                        [SYMBOL_INPUT_SIZE] = "size",
                                        [SYMBOL_INPUT_VALUE] = "value",
                                        [SYMBOL_STATE_SIZE] = "state_size",
                                        [SYMBOL_STEP] = "step"};
    return look_up(names, COUNT_OF(names), source);
}

const char *format_storage_kind(uint32_t kind) {
    static const char *const names[] = {[STORAGE_WEIGHT] = "weight",
                                        [STORAGE_STATE] = "state",
                                        [STORAGE_INPUT] = "input",
                                        [STORAGE_OUTPUT] = "output",
                                        [STORAGE_ARENA] = "arena"};
    return look_up(names, COUNT_OF(names), kind);
}

const char *format_step_kind(uint32_t kind) {
    static const char *const names[] = {
        [STEP_LAYER] = "layer", [STEP_CHECK_INDEX] = "check_index", [STEP_COND] = "cond", [STEP_LOOP] = "loop"};
    return look_up(names, COUNT_OF(names), kind);
}

const char *format_output_kind(uint32_t kind) {
    static const char *const names[] = {[OUTPUT_TENSOR] = "tensor", [OUTPUT_NUMBER] = "number", [OUTPUT_NONE] = "none"};
    return look_up(names, COUNT_OF(names), kind);
}

const char *format_alias_kind(uint32_t kind) {
    static const char *const names[] = {[ALIAS_NONE] = "none", [ALIAS_INPUT] = "input", [ALIAS_STATE] = "state"};
    return look_up(names, COUNT_OF(names), kind);
}

const char *format_update_kind(uint32_t kind) {
    static const char *const names[] = {[UPDATE_USER] = "user", [UPDATE_KV_CACHE] = "kv_cache_update"};
    return look_up(names, COUNT_OF(names), kind);
}

const char *format_op_group(uint32_t group) {
    static const char *const names[] = {
        [OPS_UNARY] = "unary", [OPS_BINARY] = "binary", [OPS_COMPARE] = "compare", [OPS_REDUCE] = "reduce",
        [OPS_SCAN] = "scan",   [OPS_UPDATE] = "update", [OPS_MODE] = "mode"};
    return look_up(names, COUNT_OF(names), group);
}

const char *format_sym_op(uint32_t op) {
    static const char *const names[] = {
#define SYM_OP(id, srepr, infix) [SYM_##id] = infix,
#include "core/sym_ops.def"
#undef SYM_OP
    };
    if (op == SYM_CONST || op == SYM_SYMBOL) return "";
    return look_up(names, COUNT_OF(names), op);
}
