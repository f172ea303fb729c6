/* The tables of layers, their attributes and their operators. */
#include "core/core.h"
#include <string.h>

/* A layer's attributes, ended by a row that is none. */
#define ATTR(id) {ATTR_##id, false},
#define OPTIONAL(id) {ATTR_##id, true},
#define ATTRS(layer, rows) static const attr_row_t ATTRS_##layer[] = {rows{ATTR_ID_COUNT, false}};
#include "core/attrs.def"
#undef ATTRS
#undef OPTIONAL
#undef ATTR

static const layer_info_t LAYERS[] = {
/* clang-format off */
#define OPERATES(group)      .op_groups = 1u << OPS_##group,
#define OPERATES_BOTH(a, b)  .op_groups = 1u << OPS_##a | 1u << OPS_##b,
#define POSITIONS(operand)   .first_position = operand,
#define WRITES_WHAT(layer)   .has_reader = true, .reader = LAYER_##layer,
#define COUNTS(operand)      .counted = operand,
#define LAYER(id, layer_name, fewest, most, count, bits, facts) \
    {.name = layer_name, .min_operands = fewest, .max_operands = most, .results = count, .traits = bits, \
     .attrs = ATTRS_##id, .attr_count = COUNT_OF(ATTRS_##id) - 1, facts},
#include "core/layers.def"
#undef LAYER
#undef COUNTS
#undef WRITES_WHAT
#undef POSITIONS
#undef OPERATES_BOTH
#undef OPERATES
    /* clang-format on */
};

typedef struct attr_name_row {
    const char *name;
    attr_kind_t kind;
} attr_name_row_t;
static const attr_name_row_t ATTR_NAMES[] = {
#define ATTR_NAME(id, name, kind) {name, kind},
#include "core/attrs.def"
#undef ATTR_NAME
};

typedef struct op_row {
    const char *name;
    op_group_t group;
} op_row_t;
static const op_row_t OPS[] = {
#define OP(id, name, group) {name, group},
#include "core/ops.def"
#undef OP
};

const layer_info_t *layer_info_of(layer_kind_t kind) { return &LAYERS[kind]; }
const char *attr_name(attr_id_t id) { return ATTR_NAMES[id].name; }
attr_kind_t attr_kind_of(attr_id_t id) { return ATTR_NAMES[id].kind; }
const char *op_name(op_kind_t op) { return OPS[op].name; }
op_group_t op_group_of(op_kind_t op) { return OPS[op].group; }

bool layer_parse_kind(const char *name, layer_kind_t *out) {
    for (uint32_t i = 0; i < LAYER_KIND_COUNT; i++) {
        if (strcmp(LAYERS[i].name, name) != 0) continue;
        *out = (layer_kind_t)i;
        return true;
    }
    return false;
}

bool op_parse(const char *name, op_group_t group, op_kind_t *out) {
    for (uint32_t i = 0; i < OP_COUNT; i++) {
        if (OPS[i].group != group || strcmp(OPS[i].name, name) != 0) continue;
        *out = (op_kind_t)i;
        return true;
    }
    return false;
}

uint32_t layer_attr_index(layer_kind_t kind, attr_id_t id) {
    const layer_info_t *info = layer_info_of(kind);
    for (uint32_t i = 0; i < info->attr_count; i++)
        if (info->attrs[i].id == id) return i;
    return NONE;
}

/* An attribute's constant value; 0 where it is absent or no constant. */
static int64_t constant_attr(const sym_pool_t *pool, layer_kind_t kind, const attr_t *attrs, attr_id_t id) {
    uint32_t index = layer_attr_index(kind, id);
    int64_t value = 0;
    if (index == NONE || attrs[index].kind != ATTR_KIND_SYM) return 0;
    return sym_constant(pool, attrs[index].value, &value) ? value : 0;
}

uint32_t layer_index_operands(const sym_pool_t *pool, layer_kind_t kind, const attr_t *attrs, uint32_t operand_count,
                              index_operand_t out[MAX_RANK]) {
    const uint32_t first = layer_info_of(kind)->first_position, listed = layer_attr_index(kind, ATTR_DIMS);
    uint32_t count = 0;
    if (first == 0) return 0;
    if (listed == NONE) {
        out[0] = (index_operand_t){first, (uint32_t)constant_attr(pool, kind, attrs, ATTR_DIM), false};
        return 1;
    }
    const attr_t *dims = &attrs[listed];
    bool wrap = constant_attr(pool, kind, attrs, ATTR_WRAP) != 0;
    for (uint32_t i = 0; i < dims->list.count && i < MAX_RANK && first + i < operand_count; i++) {
        int64_t dim;
        if (!sym_constant(pool, dims->list.items[i], &dim)) break;
        out[count++] = (index_operand_t){first + i, (uint32_t)dim, wrap};
    }
    return count;
}

bool layer_takes_op(layer_kind_t kind, op_kind_t op) { return layer_info_of(kind)->op_groups >> op_group_of(op) & 1; }

bool layer_parse_op(layer_kind_t kind, const char *name, op_kind_t *out) {
    for (uint32_t group = 0; layer_info_of(kind)->op_groups >> group; group++)
        if ((layer_info_of(kind)->op_groups >> group & 1) && op_parse(name, (op_group_t)group, out)) return true;
    return false;
}
