/* What kernels ask about a step: its attributes, and how its operands lie. */
#include "backend/cpu/cpu_int.h"

const bound_attr_t *attr_of(const bound_step_t *step, attr_id_t id) {
    uint32_t index = layer_attr_index(step->step->layer, id);
    if (index == NONE || step->attrs[index].kind == ATTR_KIND_NONE) return NULL;
    return &step->attrs[index];
}

int64_t attr_int(const bound_step_t *step, attr_id_t id, int64_t absent) {
    const bound_attr_t *attr = attr_of(step, id);
    if (!attr) return absent;
    if (attr->value.kind != SYM_KIND_FLOAT) return attr->value.i;
    double value = attr->value.f;
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

double attr_real(const bound_step_t *step, attr_id_t id, double absent) {
    const bound_attr_t *attr = attr_of(step, id);
    if (!attr) return absent;
    return attr->value.kind == SYM_KIND_FLOAT ? attr->value.f : (double)attr->value.i;
}

op_kind_t attr_op(const bound_step_t *step) {
    const bound_attr_t *attr = attr_of(step, ATTR_OP);
    return attr ? attr->op : OP_COUNT;
}

uint32_t attr_count(const bound_step_t *step, attr_id_t id) {
    const bound_attr_t *attr = attr_of(step, id);
    return attr ? attr->count : 0;
}

int64_t attr_item(const bound_step_t *step, attr_id_t id, uint32_t index, int64_t absent) {
    const bound_attr_t *attr = attr_of(step, id);
    return attr && index < attr->count ? attr->items[index] : absent;
}

int64_t attr_dim(const bound_step_t *step, attr_id_t id) {
    int64_t rank = step->operands[0].rank ? step->operands[0].rank : 1;
    int64_t dim = attr_int(step, id, -1);
    if (dim < 0) dim += rank;
    return dim >= 0 && dim < rank ? dim : -1;
}

bool operand_same_sizes(const bound_operand_t *a, const bound_operand_t *b) {
    if (a->rank != b->rank) return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->sizes[i] != b->sizes[i]) return false;
    return true;
}

bool decline(reason_t *why, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why->text, sizeof(why->text), format, arguments);
    va_end(arguments);
    return false;
}

bool require_result_sizes(const bound_step_t *step, uint32_t index, reason_t *why) {
    if (index < step->operand_count && operand_same_sizes(&step->operands[index], &step->results[0])) return true;
    return decline(why, "operand %u does not have the result's sizes", index);
}
