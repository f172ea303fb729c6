/* Names of enums in the engine file. A name that a file holds never changes its meaning. */
#include "engine/format.h"

static const char *look_up(const char *const *names, size_t count, uint32_t index) {
    return index < count ? names[index] : NULL;
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
