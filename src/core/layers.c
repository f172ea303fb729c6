/* The tables of layers, their attributes and their operators. */
#include "core/core.h"
#include <string.h>

/* A layer's attributes, ended by a row that is none. */
#define ATTR(id) {ATTR_##id, false},
#define OPTIONAL(id) {ATTR_##id, true},
#define ATTRS(layer, rows) static const attr_row ATTRS_##layer[] = {rows{ATTR_ID_COUNT, false}};
#include "core/attrs.def"
#undef ATTRS
#undef OPTIONAL
#undef ATTR

static const layer_info LAYERS[] = {
#define LAYER(id, name, min_operands, max_operands, results, traits)                                                   \
    {name, min_operands, max_operands, results, traits, ATTRS_##id, COUNT_OF(ATTRS_##id) - 1},
#include "core/layers.def"
#undef LAYER
};

typedef struct attr_name_row {
    const char *name;
    attr_kind kind;
} attr_name_row;
static const attr_name_row ATTR_NAMES[] = {
#define ATTR_NAME(id, name, kind) {name, kind},
#include "core/attrs.def"
#undef ATTR_NAME
};

typedef struct op_row {
    const char *name;
    op_group group;
} op_row;
static const op_row OPS[] = {
#define OP(id, name, group) {name, group},
#include "core/ops.def"
#undef OP
};

const layer_info *layer_info_of(layer_kind kind) { return &LAYERS[kind]; }
const char *attr_name(attr_id id) { return ATTR_NAMES[id].name; }
attr_kind attr_kind_of(attr_id id) { return ATTR_NAMES[id].kind; }
const char *op_name(op_kind op) { return OPS[op].name; }
op_group op_group_of(op_kind op) { return OPS[op].group; }

bool layer_parse_kind(const char *name, layer_kind *out) {
    for (uint32_t i = 0; i < LAYER_KIND_COUNT; i++) {
        if (strcmp(LAYERS[i].name, name) != 0) continue;
        *out = (layer_kind)i;
        return true;
    }
    return false;
}

bool op_parse(const char *name, op_group group, op_kind *out) {
    for (uint32_t i = 0; i < OP_COUNT; i++) {
        if (OPS[i].group != group || strcmp(OPS[i].name, name) != 0) continue;
        *out = (op_kind)i;
        return true;
    }
    return false;
}

uint32_t layer_attr_index(layer_kind kind, attr_id id) {
    const layer_info *info = layer_info_of(kind);
    for (uint32_t i = 0; i < info->attr_count; i++)
        if (info->attrs[i].id == id) return i;
    return NONE;
}

/* An attribute's constant value; 0 where it is absent or no constant. */
static int64_t constant_attr(const sym_pool *pool, layer_kind kind, const attr *attrs, attr_id id) {
    uint32_t index = layer_attr_index(kind, id);
    int64_t value = 0;
    if (index == NONE || attrs[index].kind != ATTR_KIND_SYM) return 0;
    return sym_constant(pool, attrs[index].value, &value) ? value : 0;
}

uint32_t layer_index_operands(const sym_pool *pool, layer_kind kind, const attr *attrs, uint32_t operand_count,
                              index_operand out[MAX_RANK]) {
    if (kind == LAYER_GATHER || kind == LAYER_SCATTER_UPDATE) {
        uint32_t dim = (uint32_t)constant_attr(pool, kind, attrs, ATTR_DIM);
        out[0] = (index_operand){kind == LAYER_GATHER ? 1 : 2, dim, false};
        return 1;
    }
    if (kind != LAYER_INDEX && kind != LAYER_INDEX_UPDATE) return 0;
    const attr *dims = &attrs[layer_attr_index(kind, ATTR_DIMS)];
    uint32_t first = kind == LAYER_INDEX ? 1 : 2, count = 0;
    bool wrap = constant_attr(pool, kind, attrs, ATTR_WRAP) != 0;
    for (uint32_t i = 0; i < dims->list.count && i < MAX_RANK && first + i < operand_count; i++) {
        int64_t dim;
        if (!sym_constant(pool, dims->list.items[i], &dim)) break;
        out[count++] = (index_operand){first + i, (uint32_t)dim, wrap};
    }
    return count;
}

static bool group_of_layer(layer_kind kind, op_group *out_group, op_group *out_other) {
    static const struct {
        layer_kind kind;
        op_group group, other;
    } groups[] = {
        {LAYER_UNARY, OPS_UNARY, OPS_UNARY},
        {LAYER_BINARY, OPS_BINARY, OPS_COMPARE},
        {LAYER_REDUCE, OPS_REDUCE, OPS_REDUCE},
        {LAYER_REDUCE_INDEX, OPS_REDUCE, OPS_REDUCE},
        {LAYER_SCAN, OPS_SCAN, OPS_SCAN},
        {LAYER_POOL, OPS_MODE, OPS_MODE},
        {LAYER_PAD, OPS_MODE, OPS_MODE},
        {LAYER_TRIANGLE, OPS_MODE, OPS_MODE},
        {LAYER_SCATTER_UPDATE, OPS_UPDATE, OPS_UPDATE},
    };
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        if (groups[i].kind != kind) continue;
        *out_group = groups[i].group;
        *out_other = groups[i].other;
        return true;
    }
    return false;
}

bool layer_takes_op(layer_kind kind, op_kind op) {
    op_group group, other;
    if (!group_of_layer(kind, &group, &other)) return false;
    return op_group_of(op) == group || op_group_of(op) == other;
}

bool layer_parse_op(layer_kind kind, const char *name, op_kind *out) {
    op_group group, other;
    if (!group_of_layer(kind, &group, &other)) return false;
    return op_parse(name, group, out) || op_parse(name, other, out);
}
