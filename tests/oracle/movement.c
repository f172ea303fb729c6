/* Layers that move elements: which element of which operand each element of the result is. */
#include "oracle.h"

static int64_t attr_number(program_t *program, const layer_t *layer, attr_id_t id) {
    int64_t number = 0;
    attr_t attr = layer_attr(layer, id);
    if (attr.kind == ATTR_KIND_SYM) (void)program_number(program, attr.value, &number);
    return number;
}

static int64_t list_number(program_t *program, const layer_t *layer, attr_id_t id, uint32_t index) {
    int64_t number = 0;
    attr_t attr = layer_attr(layer, id);
    if (attr.kind == ATTR_KIND_SYMS && index < attr.list.count)
        (void)program_number(program, attr.list.items[index], &number);
    return number;
}

static void unflatten(const elements_t *tensor, uint32_t flat, int64_t *at) {
    for (uint32_t i = tensor->rank; i-- > 0;) {
        at[i] = flat % tensor->sizes[i];
        flat = (uint32_t)(flat / tensor->sizes[i]);
    }
}

static uint32_t flatten(const elements_t *tensor, const int64_t *at) {
    int64_t index = 0;
    for (uint32_t i = 0; i < tensor->rank; i++) index = index * tensor->sizes[i] + at[i];
    return (uint32_t)index;
}

/* The places of a diagonal's element: the dimensions that are left in order, then the diagonal's. */
static void at_diagonal(program_t *program, const layer_t *layer, uint32_t rank, const int64_t *at, int64_t *from) {
    int64_t dim1 = attr_number(program, layer, ATTR_DIM1), dim2 = attr_number(program, layer, ATTR_DIM2);
    int64_t offset = attr_number(program, layer, ATTR_OFFSET);
    uint32_t next = 0;
    for (uint32_t i = 0; i < rank; i++)
        if (i != dim1 && i != dim2) from[i] = at[next++];
    from[dim1] = at[next] + (offset < 0 ? -offset : 0);
    from[dim2] = at[next] + (offset > 0 ? offset : 0);
}

static uint32_t at_strided(program_t *program, const layer_t *layer, uint32_t rank, const int64_t *at) {
    int64_t index = attr_number(program, layer, ATTR_OFFSET);
    for (uint32_t i = 0; i < rank; i++) index += at[i] * list_number(program, layer, ATTR_STRIDES, i);
    return (uint32_t)index;
}

static uint32_t viewed_element(program_t *program, const layer_t *layer, const elements_t *x, const elements_t *r,
                               uint32_t flat) {
    int64_t at[MAX_RANK] = {0}, from[MAX_RANK] = {0};
    unflatten(r, flat, at);
    for (uint32_t i = 0; i < x->rank; i++) from[i] = i < r->rank ? at[i] : 0;
    switch ((int)layer->kind) {
    case LAYER_PERMUTE:
        for (uint32_t i = 0; i < r->rank; i++) from[list_number(program, layer, ATTR_AXES, i)] = at[i];
        break;
    case LAYER_SLICE: {
        int64_t dim = attr_number(program, layer, ATTR_DIM);
        from[dim] = attr_number(program, layer, ATTR_START) + at[dim] * attr_number(program, layer, ATTR_STEP);
        break;
    }
    case LAYER_EXPAND:
        for (uint32_t i = 0; i < x->rank; i++)
            if (x->sizes[i] == 1) from[i] = 0;
        break;
    case LAYER_DIAGONAL: at_diagonal(program, layer, x->rank, at, from); break;
    case LAYER_UNFOLD: {
        int64_t dim = attr_number(program, layer, ATTR_DIM);
        from[dim] = at[dim] * attr_number(program, layer, ATTR_STEP) + at[r->rank - 1];
        break;
    }
    case LAYER_AS_STRIDED: return at_strided(program, layer, r->rank, at);
    default: return flat;
    }
    return flatten(x, from);
}

/* The element of the result that the source's element is stored to. */
static uint32_t updated_element(program_t *program, const layer_t *layer, const elements_t *r, const elements_t *source,
                                uint32_t flat) {
    int64_t at[MAX_RANK] = {0}, to[MAX_RANK] = {0};
    unflatten(source, flat, at);
    if (layer->kind == LAYER_AS_STRIDED_UPDATE) return at_strided(program, layer, source->rank, at);
    if (layer->kind == LAYER_DIAGONAL_UPDATE) {
        at_diagonal(program, layer, r->rank, at, to);
        return flatten(r, to);
    }
    int64_t dim = attr_number(program, layer, ATTR_DIM);
    at[dim] = attr_number(program, layer, ATTR_START) + at[dim] * attr_number(program, layer, ATTR_STEP);
    return flatten(r, at);
}

static void move_update(program_t *program, const layer_t *layer, origin_t *origins) {
    const elements_t *source = &program->tensors[layer->operands[1].index];
    const elements_t *r = &program->tensors[layer->results[0].index];
    for (uint32_t i = 0; i < r->count; i++) origins[i] = (origin_t){0, i};
    for (uint32_t i = 0; i < source->count; i++)
        origins[updated_element(program, layer, r, source, i)] = (origin_t){1, i};
}

/* A window of the operands joined along dim; start: the window's first. */
static void move_joined(program_t *program, const layer_t *layer, const uint32_t *order, uint32_t parts, int64_t dim,
                        int64_t start, origin_t *origins) {
    const elements_t *r = &program->tensors[layer->results[0].index];
    for (uint32_t i = 0; i < r->count; i++) {
        int64_t at[MAX_RANK];
        unflatten(r, i, at);
        at[dim] += start;
        for (uint32_t p = 0; p < parts; p++) {
            const elements_t *part = &program->tensors[layer->operands[order[p]].index];
            if (at[dim] < part->sizes[dim]) {
                origins[i] = (origin_t){order[p], flatten(part, at)};
                break;
            }
            at[dim] -= part->sizes[dim];
        }
    }
}

static void move_shift(program_t *program, const layer_t *layer, origin_t *origins) {
    static const uint32_t behind[] = {0, 1}, before[] = {1, 0};
    int64_t dim = attr_number(program, layer, ATTR_DIM), front = attr_number(program, layer, ATTR_FRONT);
    int64_t added = program->tensors[layer->operands[1].index].sizes[dim];
    move_joined(program, layer, front ? before : behind, 2, dim, front ? 0 : added, origins);
}

static void move_concat(program_t *program, const layer_t *layer, origin_t *origins) {
    uint32_t *order = oracle_array(program->arena, layer->operand_count, sizeof *order);
    for (uint32_t i = 0; i < layer->operand_count; i++) order[i] = i;
    move_joined(program, layer, order, layer->operand_count, attr_number(program, layer, ATTR_DIM), 0, origins);
}

static bool moves(const program_t *program, const layer_t *layer) {
    uint32_t traits = layer_info_of(layer->kind)->traits;
    if (layer->kind == LAYER_BITCAST)
        return program->tensors[layer->operands[0].index].bytes == program->tensors[layer->results[0].index].bytes;
    return (traits & (TRAIT_VIEW | TRAIT_PART)) || layer->kind == LAYER_COPY || layer->kind == LAYER_CONCAT ||
           layer->kind == LAYER_SHIFT_UPDATE;
}

bool movement_of(program_t *program, uint32_t index, origin_t **out_origins) {
    const layer_t *layer = &program->network->layers[index];
    *out_origins = NULL;
    if (!moves(program, layer)) return true;
    const elements_t *r = &program->tensors[layer->results[0].index];
    origin_t *origins = oracle_array(program->arena, r->count, sizeof *origins);
    if (layer->kind == LAYER_CONCAT)
        move_concat(program, layer, origins);
    else if (layer->kind == LAYER_SHIFT_UPDATE)
        move_shift(program, layer, origins);
    else if (layer_info_of(layer->kind)->traits & TRAIT_UPDATE)
        move_update(program, layer, origins);
    else
        for (uint32_t i = 0; i < r->count; i++)
            origins[i] =
                (origin_t){0, viewed_element(program, layer, &program->tensors[layer->operands[0].index], r, i)};
    for (uint32_t i = 0; i < r->count && !program->refusal; i++)
        if (origins[i].element >= program->tensors[layer->operands[origins[i].operand].index].count)
            program->refusal = "a layer reads beyond its operand";
    *out_origins = origins;
    return program->refusal == NULL;
}
