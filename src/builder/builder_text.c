/* Networks of the public builder as text, their records, and what they answer about tensors and layers. */
#include "builder/builder_int.h"

insitu_status network_copy(const network_t *source, network_t **out_network, insitu_diag *diag) {
    text_t printed;
    text_init(&printed);
    *out_network = NULL;
    insitu_status status = network_print(source, &printed, diag);
    if (status == INSITU_OK) status = network_parse(printed.data, out_network, diag);
    text_release(&printed);
    for (uint32_t i = 0; status == INSITU_OK && i < source->record_count; i++)
        (*out_network)->records[i].data = source->records[i].data;
    return status;
}

insitu_status insitu_network_print(const insitu_network *network, char **out_text, insitu_diag *diag) {
    if (out_text) *out_text = NULL;
    if (!network || !out_text) FAIL(diag, INSITU_ARG, "insitu_network_print needs a network and out_text");
    text_t out;
    text_init(&out);
    insitu_status status = network_print(network->network, &out, diag);
    if (status != INSITU_OK) {
        text_release(&out);
        return diag_complete(diag, status);
    }
    *out_text = out.data;
    return INSITU_OK;
}

insitu_status insitu_network_parse(const char *text, insitu_network **out_network, insitu_diag *diag) {
    if (out_network) *out_network = NULL;
    if (!text || !out_network) FAIL(diag, INSITU_ARG, "insitu_network_parse needs text and out_network");
    network_t *parsed;
    insitu_status status = network_parse(text, &parsed, diag);
    if (status != INSITU_OK) return diag_complete(diag, status);
    status = network_verify(parsed, diag);
    if (status == INSITU_OK)
        status = builder_wrap(parsed, NULL, out_network);
    else
        network_destroy(parsed);
    return diag_complete(diag, status);
}

/* ---- records ---- */

int32_t insitu_network_record_count(const insitu_network *network) {
    return network ? (int32_t)network->network->record_count : 0;
}

static insitu_status find_row(uint32_t count, const char *what, int32_t index, insitu_diag *diag) {
    if (index < 0 || (uint32_t)index >= count)
        FAIL(diag, INSITU_ARG, "%s %d does not exist: there are %u", what, (int)index, count);
    return INSITU_OK;
}

insitu_status insitu_network_record_at(const insitu_network *network, int32_t index, insitu_network_record *info,
                                       insitu_diag *diag) {
    if (!network || !info || info->struct_size < sizeof(size_t))
        FAIL(diag, INSITU_ARG, "insitu_network_record_at needs a network and info with a struct_size");
    TRY(find_row(network->network->record_count, "record", index, diag));
    const weight_record_t *record = &network->network->records[index];
    const insitu_network_record found = {.name = record->name, .data = record->data, .size = record->size};
    public_copy(info, info->struct_size, &found, sizeof(found));
    return INSITU_OK;
}

insitu_status insitu_network_set_record(insitu_network *network, int32_t index, const void *data, size_t size,
                                        insitu_diag *diag) {
    if (!network || !data) FAIL(diag, INSITU_ARG, "insitu_network_set_record needs a network and data");
    TRY(find_row(network->network->record_count, "record", index, diag));
    weight_record_t *record = &network->network->records[index];
    if (record->size != size)
        FAIL(diag, INSITU_SHAPE, "record '%s' has %zu bytes, and was given %zu", record->name, record->size, size);
    record->data = data;
    return INSITU_OK;
}

/* ---- tensors and layers ---- */

insitu_value insitu_network_find(const insitu_network *network, const char *name) {
    if (!network || !name) return insitu_no_value();
    uint32_t index = map_find(&network->network->names, name);
    bool is_present = index != NONE && strcmp(network->network->tensors[index].name, name) == 0;
    return is_present ? value_of((tensor_id_t){index}) : insitu_no_value();
}

static void describe_size(const sym_pool_t *pool, sym_t size, insitu_network_value *info, uint32_t dim) {
    int64_t number;
    if (sym_constant(pool, size, &number)) {
        info->sizes[dim] = insitu_int(number);
        info->min_sizes[dim] = info->max_sizes[dim] = number;
        return;
    }
    info->sizes[dim] = number_of(size);
    sym_range(pool, size, &info->min_sizes[dim], &info->max_sizes[dim]);
    if (info->min_sizes[dim] < 0) info->min_sizes[dim] = 0;
    if (info->max_sizes[dim] == INT64_MAX) info->max_sizes[dim] = -1;
}

insitu_status insitu_network_describe(const insitu_network *network, insitu_value value, insitu_network_value *info,
                                      insitu_diag *diag) {
    if (!network || !info || info->struct_size < sizeof(size_t))
        FAIL(diag, INSITU_ARG, "insitu_network_describe needs a network and info with a struct_size");
    tensor_id_t id = builder_tensor(network, value);
    if (id.index == NONE) FAIL(diag, INSITU_ARG, "value %u is no tensor of the network", value.id);
    const network_tensor_t *tensor = network_tensor_of(network->network, id);
    insitu_network_value found = {.name = tensor->name,
                                  .dtype = dtype_public(tensor->dtype),
                                  .ndim = (int32_t)tensor->shape.rank,
                                  .is_input = tensor->role == TENSOR_INPUT,
                                  .is_state = tensor->role == TENSOR_STATE,
                                  .is_constant = tensor->role == TENSOR_CONSTANT};
    for (uint32_t i = 0; i < tensor->shape.rank; i++)
        describe_size(&network->network->symbols, tensor->shape.sizes[i], &found, i);
    public_copy(info, info->struct_size, &found, sizeof(found));
    return INSITU_OK;
}

int32_t insitu_network_layer_count(const insitu_network *network) {
    return network ? (int32_t)network->network->order_count : 0;
}

insitu_status insitu_network_layer_at(const insitu_network *network, int32_t index, insitu_network_layer *info,
                                      insitu_diag *diag) {
    if (!network || !info || info->struct_size < sizeof(size_t))
        FAIL(diag, INSITU_ARG, "insitu_network_layer_at needs a network and info with a struct_size");
    TRY(find_row(network->network->order_count, "layer", index, diag));
    const layer_t *layer = network_layer_of(network->network, network->network->order[index]);
    insitu_network_layer found = {.kind = layer_info_of(layer->kind)->name,
                                  .operand_count = (int32_t)layer->operand_count,
                                  .result_count = (int32_t)layer->result_count};
    _Static_assert((int)MAX_OWN_RESULTS <= (int)COUNT_OF(found.results), "a layer has more results than are told");
    for (uint32_t i = 0; i < layer->result_count; i++) found.results[i] = value_of(layer->results[i]);
    public_copy(info, info->struct_size, &found, sizeof(found));
    return INSITU_OK;
}

insitu_status insitu_network_operand(const insitu_network *network, int32_t layer, int32_t operand,
                                     insitu_value *out_value, insitu_diag *diag) {
    if (out_value) *out_value = insitu_no_value();
    if (!network || !out_value) FAIL(diag, INSITU_ARG, "insitu_network_operand needs a network and out_value");
    TRY(find_row(network->network->order_count, "layer", layer, diag));
    const layer_t *found = network_layer_of(network->network, network->network->order[layer]);
    TRY(find_row(found->operand_count, "operand", operand, diag));
    *out_value = value_of(found->operands[operand]);
    return INSITU_OK;
}
