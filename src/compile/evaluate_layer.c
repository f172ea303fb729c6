/* Constant folding's arithmetic: a layer over constants becomes a network of its own, is planned, and runs once on the
 * CPU, so that a folded value has the bits that the program would compute. */
#include "compile/compile_int.h"
#include "plan/device.h"
#include "planner/planner.h"

typedef struct evaluation {
    const network_t *source;
    network_t *network;
    plan_t *plan;
    arena_t arena;
    void *memory, *workspace;
    insitu_diag *diag;
} evaluation_t;

/* A constant expression of the source network in the new one's pool. */
static insitu_status move_sym(evaluation_t *evaluation, sym_t value, sym_t *out_value) {
    sym_pool_t *target = &evaluation->network->symbols;
    const sym_pool_t *source = &evaluation->source->symbols;
    int64_t integer;
    double real;
    if (sym_constant(source, value, &integer))
        *out_value =
            sym_kind_of(source, value) == SYM_KIND_BOOL ? sym_bool(target, integer != 0) : sym_int(target, integer);
    else if (sym_constant_float(source, value, &real))
        *out_value = sym_float(target, real);
    else
        FAIL(evaluation->diag, INSITU_UNSUPPORTED, "a layer that depends on a symbol is not a constant");
    return sym_pool_status(target, evaluation->diag);
}

static insitu_status move_operand(evaluation_t *evaluation, tensor_id_t operand, tensor_id_t *out_tensor) {
    const network_t *source = evaluation->source;
    const network_tensor_t *tensor = network_tensor_of(source, operand);
    if (tensor->role != TENSOR_CONSTANT)
        FAIL(evaluation->diag, INSITU_INTERNAL, "'%s' is not a constant", tensor->name);
    const network_constant_t *from = &source->constants[tensor->index];
    shape_t sizes = {.rank = tensor->shape.rank};
    for (uint32_t i = 0; i < sizes.rank; i++) TRY(move_sym(evaluation, tensor->shape.sizes[i], &sizes.sizes[i]));
    network_t *target = evaluation->network;
    uint32_t record_index = NONE;
    if (from->record != NONE) {
        weight_record_t *record;
        record_index = target->record_count;
        TRY(network_add_record(target, &record));
        *record = source->records[from->record];
    }
    uint32_t index = target->constant_count;
    TRY(network_add_tensor(target, tensor->name, TENSOR_CONSTANT, tensor->dtype, &sizes, index, out_tensor));
    network_constant_t *constant;
    TRY(network_add_constant(target, &constant));
    constant->tensor = *out_tensor;
    constant->record = record_index;
    TRY(move_sym(evaluation, from->offset, &constant->offset));
    for (uint32_t i = 0; i < sizes.rank; i++) TRY(move_sym(evaluation, from->strides[i], &constant->strides[i]));
    return INSITU_OK;
}

static insitu_status move_attr(evaluation_t *evaluation, const attr_t *from, attr_t *out_attr) {
    *out_attr = *from;
    if (from->kind == ATTR_KIND_SYM) return move_sym(evaluation, from->value, &out_attr->value);
    if (from->kind != ATTR_KIND_SYMS) return INSITU_OK;
    sym_t *items;
    TRY(arena_array(&evaluation->arena, from->list.count, sizeof(*items), &items));
    for (uint32_t i = 0; i < from->list.count; i++) TRY(move_sym(evaluation, from->list.items[i], &items[i]));
    *out_attr = attr_of_list(items, from->list.count);
    return INSITU_OK;
}

static insitu_status build_network(evaluation_t *evaluation, const layer_t *layer) {
    network_t *target = evaluation->network;
    tensor_id_t *operands, *results;
    layer_draft_t draft = draft_of(layer->kind);
    TRY(arena_array(&evaluation->arena, layer->operand_count, sizeof(*operands), &operands));
    TRY(arena_array(&evaluation->arena, layer->result_count, sizeof(*results), &results));
    for (uint32_t i = 0; i < layer->operand_count; i++) {
        operands[i] = NO_TENSOR;
        for (uint32_t before = 0; before < i; before++)
            if (layer->operands[before].index == layer->operands[i].index) operands[i] = operands[before];
        if (operands[i].index == NONE) TRY(move_operand(evaluation, layer->operands[i], &operands[i]));
    }
    for (uint32_t i = 0; i < layer_info_of(layer->kind)->attr_count; i++)
        TRY(move_attr(evaluation, &layer->attrs[i], &draft.attrs[i]));
    TRY(network_add_layer(target, &draft, operands, layer->operand_count, layer->name, layer->source, results,
                          evaluation->diag));
    network_output_t *output;
    TRY(network_add_output(target, &output));
    *output = (network_output_t){.name = "output.0", .kind = OUTPUT_TENSOR, .tensor = results[0]};
    return INSITU_OK;
}

/* Memory for the arena and the output, behind one another. */
static insitu_status place(evaluation_t *evaluation, const bound_plan_t *bound, size_t arena_bytes, void ***out_bases) {
    const plan_t *plan = evaluation->plan;
    void **bases;
    *out_bases = NULL;
    TRY(arena_array(&evaluation->arena, plan->storage_count, sizeof(*bases), &bases));
    size_t total = arena_bytes;
    for (uint32_t i = 0; i < plan->storage_count; i++)
        if (plan->storages[i].kind == STORAGE_OUTPUT && !checked_size_add(total, bound->storage_bytes[i], &total))
            return INSITU_NOMEM;
    evaluation->memory = memory_alloc_aligned(total, ARENA_ALIGNMENT);
    if (!evaluation->memory) return INSITU_NOMEM;
    uint8_t *outputs = (uint8_t *)evaluation->memory + arena_bytes;
    for (uint32_t i = 0; i < plan->storage_count; i++) {
        const plan_storage_t *storage = &plan->storages[i];
        switch (storage->kind) {
        case STORAGE_ARENA: bases[i] = (uint8_t *)evaluation->memory + bound->arena_offsets[i]; break;
        case STORAGE_WEIGHT: /* without bytes any address will do */
            bases[i] = (void *)(uintptr_t)plan->weights[storage->index].data;
            if (!bases[i]) bases[i] = evaluation->memory;
            break;
        case STORAGE_OUTPUT: /* one output, so one storage */ bases[i] = outputs; break;
        case STORAGE_STATE:
        case STORAGE_INPUT: FAIL(evaluation->diag, INSITU_INTERNAL, "a constant layer has no state and no input");
        }
    }
    *out_bases = bases;
    return INSITU_OK;
}

static insitu_status run_prepared(evaluation_t *evaluation, const void *prepared, void **bases) {
    const device_t *cpu = device_cpu();
    device_call_t call = {.bases = bases, .workspace = evaluation->workspace, .end = evaluation->plan->step_count};
    return cpu->run(cpu, NULL, prepared, &call, evaluation->diag);
}

static insitu_status run_plan(evaluation_t *evaluation, const bound_plan_t *bound, void **bases) {
    const device_t *cpu = device_cpu();
    void *prepared = NULL;
    size_t workspace_bytes = 0;
    insitu_status status =
        cpu->prepare(cpu, bound, 1, &evaluation->arena, &prepared, &workspace_bytes, evaluation->diag);
    if (status == INSITU_OK) {
        evaluation->workspace = memory_alloc_aligned(workspace_bytes, ARENA_ALIGNMENT);
        status = evaluation->workspace ? run_prepared(evaluation, prepared, bases) : INSITU_NOMEM;
    }
    cpu->release(cpu, prepared);
    return status;
}

/* The output's elements in row-major order. */
static insitu_status gather(evaluation_t *evaluation, void **bases, void *out_bytes, size_t size) {
    const plan_t *plan = evaluation->plan;
    const plan_operand_t *operand = &plan->outputs[0].operand;
    const tensor_type_t *type = &operand->type;
    int64_t sizes[MAX_RANK], strides[MAX_RANK], dense[MAX_RANK], offset;
    bool is_constant = sym_constant(&plan->symbols, type->offset, &offset);
    int64_t bytes = dtype_size(type->dtype);
    for (uint32_t i = 0; i < type->shape.rank; i++) {
        is_constant = is_constant && sym_constant(&plan->symbols, type->shape.sizes[i], &sizes[i]) &&
                      sym_constant(&plan->symbols, type->strides[i], &strides[i]);
        if (is_constant && !checked_mul(bytes, sizes[i], &bytes)) return INSITU_NOMEM;
    }
    if (!is_constant || (size_t)bytes != size)
        FAIL(evaluation->diag, INSITU_INTERNAL, "a folded value has %zu bytes where %zu were expected", (size_t)bytes,
             size);
    if (size == 0) return INSITU_OK;
    dense_strides(type->shape.rank, sizes, dense);
    const uint8_t *from = (const uint8_t *)bases[operand->storage] + offset * dtype_size(type->dtype);
    strided_copy(type->dtype, type->shape.rank, sizes, out_bytes, dense, from, strides);
    return INSITU_OK;
}

static insitu_status evaluate(evaluation_t *evaluation, const layer_t *layer, void *out_bytes, size_t size) {
    if (layer->result_count != 1)
        FAIL(evaluation->diag, INSITU_UNSUPPORTED, "a layer with %u results is not folded", layer->result_count);
    TRY(network_create(&evaluation->network));
    TRY(build_network(evaluation, layer));
    plan_search_t search = plan_search_for(evaluation->network);
    TRY(plan_network(evaluation->network, &(plan_options_t){.search = &search}, &evaluation->plan, evaluation->diag));
    sym_value_t *values;
    bool *known;
    TRY(arena_array(&evaluation->arena, evaluation->plan->symbols.symbol_count, sizeof(*values), &values));
    TRY(arena_array(&evaluation->arena, evaluation->plan->symbols.symbol_count, sizeof(*known), &known));
    bound_plan_t bound;
    size_t arena_bytes;
    void **bases;
    TRY(plan_bind(evaluation->plan, 0, NULL, values, known, &evaluation->arena, &bound, evaluation->diag));
    TRY(plan_lay_out(&bound, 0, NULL, 0, &evaluation->arena, &arena_bytes, evaluation->diag));
    TRY(place(evaluation, &bound, arena_bytes, &bases));
    TRY(run_plan(evaluation, &bound, bases));
    return gather(evaluation, bases, out_bytes, size);
}

insitu_status evaluate_layer(void *user, const network_t *network, layer_id_t layer, void *out_bytes, size_t size,
                             insitu_diag *diag) {
    (void)user;
    evaluation_t evaluation = {.source = network, .diag = diag};
    arena_init(&evaluation.arena);
    insitu_status status = evaluate(&evaluation, network_layer_of(network, layer), out_bytes, size);
    memory_free(evaluation.workspace);
    memory_free(evaluation.memory);
    plan_destroy(evaluation.plan);
    network_destroy(evaluation.network);
    arena_release(&evaluation.arena);
    return status;
}
