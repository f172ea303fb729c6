/* Engine files: an engine becomes a safetensors file of its plan and weights. Equal engines give equal bytes. */
#include "engine/record.h"

#include <inttypes.h>

typedef struct engine_writer {
    const insitu_engine *engine;
    const plan_t *plan;
    const char *cache_key; /* NULL: none */
    arena_t arena;
    text_t json, header, record;
    safetensor_source_t *tensors; /* the plan, then the weights */
    uint32_t tensor_count;
    const char **names; /* of the weights' tensors; NULL: the weight is zeros, and has none */
    insitu_diag *diag;
} engine_writer_t;

/* The dense tensor of which a type is a view with its dimensions in another order; false if it is no such view. */
static bool dense_shape(const sym_pool_t *pool, const tensor_type_t *type, size_t record_size, int64_t *out_sizes) {
    int64_t sizes[MAX_RANK], strides[MAX_RANK], dense[MAX_RANK], offset;
    uint32_t rank = type->shape.rank;
    size_t bytes = dtype_size(type->dtype);
    if (!sym_constant(pool, type->offset, &offset) || offset != 0) return false;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t size, stride;
        if (!sym_constant(pool, type->shape.sizes[i], &size) || !sym_constant(pool, type->strides[i], &stride))
            return false;
        uint32_t at = i; /* sorted by falling stride, equal ones in order */
        for (; at > 0 && strides[at - 1] < stride; at--) {
            sizes[at] = sizes[at - 1];
            strides[at] = strides[at - 1];
        }
        sizes[at] = size;
        strides[at] = stride;
        if (!checked_size_mul(bytes, (size_t)size, &bytes)) return false;
    }
    if (bytes != record_size) return false;
    dense_strides(rank, sizes, dense);
    for (uint32_t i = 0; i < rank; i++)
        if (sizes[i] != 1 && strides[i] != dense[i]) return false;
    memcpy(out_sizes, sizes, rank * sizeof(*sizes));
    return true;
}

/* One more use of a weight: it keeps its shape and dtype only if all uses agree. rank MAX_RANK + 1: they do not. */
static void add_use(const engine_writer_t *writer, uint32_t weight, const tensor_type_t *type, bool *is_used) {
    safetensor_source_t *tensor = &writer->tensors[weight + 1];
    int64_t sizes[MAX_RANK];
    const char *name = dtype_safetensors(type->dtype);
    bool is_dense = name && dense_shape(&writer->plan->symbols, type, tensor->size, sizes);
    if (is_dense && !is_used[weight]) {
        tensor->dtype = name;
        tensor->rank = type->shape.rank;
        memcpy(tensor->sizes, sizes, sizeof(sizes));
    } else if (!is_dense || tensor->rank > MAX_RANK || strcmp(tensor->dtype, name) != 0 ||
               tensor->rank != type->shape.rank || memcmp(tensor->sizes, sizes, tensor->rank * sizeof(*sizes)) != 0) {
        tensor->rank = MAX_RANK + 1;
    }
    is_used[weight] = true;
}

static void add_operand_use(const engine_writer_t *writer, const plan_operand_t *operand, bool *is_used) {
    const plan_storage_t *storage = &writer->plan->storages[operand->storage];
    if (storage->kind == STORAGE_WEIGHT) add_use(writer, storage->index, &operand->type, is_used);
}

static void add_uses(const engine_writer_t *writer, bool *is_used) {
    const plan_t *plan = writer->plan;
    for (uint32_t i = 0; i < plan->step_count; i++)
        for (uint32_t j = 0; j < plan->steps[i].operand_count; j++)
            add_operand_use(writer, &plan->steps[i].operands[j], is_used);
    for (uint32_t i = 0; i < plan->output_count; i++)
        if (plan->outputs[i].kind == OUTPUT_TENSOR) add_operand_use(writer, &plan->outputs[i].operand, is_used);
    for (uint32_t i = 0; i < plan->state_count; i++) {
        uint32_t initial = plan->state_storages[plan->states[i].state_storage].initial;
        if (initial != NONE) add_use(writer, initial, &plan->states[i].type, is_used);
    }
    for (uint32_t i = 0; i < plan->buffer_count; i++)
        add_use(writer, plan->buffers[i].weight, &plan->buffers[i].type, is_used);
}

/* A record that is not one dense tensor is a row of elements, or of bytes where the format lacks the dtype. */
static void describe_as_row(const weight_record_t *weight, safetensor_source_t *tensor) {
    size_t width = dtype_size(weight->dtype);
    tensor->dtype = dtype_safetensors(weight->dtype);
    if (!tensor->dtype || weight->size % width) {
        tensor->dtype = "U8";
        width = 1;
    }
    tensor->rank = 1;
    tensor->sizes[0] = (int64_t)(weight->size / width);
}

/* Two records may have one name, and a name may be one of the file's own. */
static insitu_status choose_name(engine_writer_t *writer, map_t *taken, uint32_t weight) {
    const char *name = writer->plan->weights[weight].name, *stem = name + strspn(name, "_");
    for (uint32_t attempt = 2; map_find(taken, name) != NONE || strncmp(name, "__", 2) == 0; attempt++)
        TRY(arena_printf(&writer->arena, &name, "%s#%u", stem, attempt));
    writer->names[weight] = name;
    return map_set(taken, &writer->arena, name, weight);
}

/* Caches begin with zeros, and take more bytes than all else: only their number is written. */
static bool is_zeros(const weight_record_t *weight, bool is_used) {
    enum { LEAST = 4096 }; /* small ones are kept where other tools may look for them */
    return weight->size >= (is_used ? LEAST : 1) && weight->data[0] == 0 &&
           memcmp(weight->data, weight->data + 1, weight->size - 1) == 0;
}

static insitu_status describe_weights(engine_writer_t *writer) {
    const plan_t *plan = writer->plan;
    bool *is_used;
    map_t taken = {0};
    TRY(arena_array(&writer->arena, plan->weight_count, sizeof(bool), &is_used));
    TRY(map_set(&taken, &writer->arena, PLAN_TENSOR, 0));
    for (uint32_t i = 0; i < plan->weight_count; i++) {
        TRY(choose_name(writer, &taken, i));
        writer->tensors[i + 1] = (safetensor_source_t){
            .name = writer->names[i], .data = plan->weights[i].data, .size = plan->weights[i].size};
    }
    add_uses(writer, is_used);
    for (uint32_t i = 0; i < plan->weight_count; i++)
        if (!is_used[i] || writer->tensors[i + 1].rank > MAX_RANK)
            describe_as_row(&plan->weights[i], &writer->tensors[i + 1]);
    writer->tensor_count = 1;
    for (uint32_t i = 0; i < plan->weight_count; i++) {
        if (is_zeros(&plan->weights[i], is_used[i]))
            writer->names[i] = NULL;
        else
            writer->tensors[writer->tensor_count++] = writer->tensors[i + 1];
    }
    return INSITU_OK;
}

static insitu_status print_plan(engine_writer_t *writer) {
    const plan_t *plan = writer->plan;
    uint64_t *hashes;
    TRY(arena_array(&writer->arena, plan->weight_count, sizeof(*hashes), &hashes));
    for (uint32_t i = 0; i < plan->weight_count; i++)
        if (writer->names[i]) hashes[i] = hash_bytes(plan->weights[i].data, plan->weights[i].size, 0);
    plan_print_json(plan, writer->names, hashes, &writer->json);
    TRY(text_status(&writer->json, writer->diag));
    writer->tensors[0] = (safetensor_source_t){.name = PLAN_TENSOR,
                                               .dtype = "U8",
                                               .rank = 1,
                                               .sizes = {(int64_t)writer->json.size},
                                               .data = writer->json.data,
                                               .size = writer->json.size};
    return INSITU_OK;
}

static insitu_status print_record(engine_writer_t *writer) {
    record_t record;
    TRY(record_make(writer->engine, &writer->arena, &record, writer->diag));
    record_print(&record, &writer->record);
    return text_status(&writer->record, writer->diag);
}

/* The header was laid out with zeros for digits. */
static insitu_status state_hash(engine_writer_t *writer) {
    enum { LENGTH_SIZE = 8 };
    uint8_t *header = (uint8_t *)writer->header.data + LENGTH_SIZE;
    size_t size = writer->header.size - LENGTH_SIZE, digits_at;
    uint64_t hash;
    char digits[HASH_DIGITS + 1];
    if (!format_find_hash(header, size, &digits_at))
        FAIL(writer->diag, INSITU_INTERNAL, "the engine file's header has no place for its hash");
    TRY(format_hash(header, size, digits_at, writer->json.data, writer->json.size, &hash));
    snprintf(digits, sizeof(digits), "%016" PRIx64, hash);
    memcpy(header + digits_at, digits, HASH_DIGITS);
    return INSITU_OK;
}

static insitu_status write_engine(engine_writer_t *writer, const char *path) {
    const plan_t *plan = writer->plan;
    const char *version;
    file_part_t *parts;
    size_t part_count;
    TRY(arena_array(&writer->arena, (size_t)plan->weight_count + 1, sizeof(*writer->tensors), &writer->tensors));
    TRY(arena_array(&writer->arena, plan->weight_count, sizeof(*writer->names), &writer->names));
    TRY(describe_weights(writer));
    TRY(print_plan(writer));
    TRY(arena_printf(&writer->arena, &version, "%d", PLAN_VERSION));
    TRY(print_record(writer));
    const char *const metadata[][2] = {{METADATA_FORMAT, "insitu"},
                                       {METADATA_PLAN_VERSION, version},
                                       {METADATA_RECORD, writer->record.data},
                                       {METADATA_HASH, "0000000000000000"},
                                       {METADATA_CACHE_KEY, writer->cache_key}};
    uint32_t pairs = (uint32_t)COUNT_OF(metadata) - (writer->cache_key ? 0 : 1);
    TRY(safetensors_layout(writer->tensors, writer->tensor_count, metadata, pairs, DATA_ALIGNMENT, &writer->arena,
                           &writer->header, &parts, &part_count, writer->diag));
    TRY(state_hash(writer));
    if (writer->cache_key) return file_replace(path, parts, part_count, writer->diag);
    return file_write(path, parts, part_count, writer->diag);
}

insitu_status engine_write(const insitu_engine *engine, const char *path, const char *cache_key, insitu_diag *diag) {
    engine_writer_t writer = {.engine = engine, .plan = engine->plan, .cache_key = cache_key, .diag = diag};
    arena_init(&writer.arena);
    text_init(&writer.json);
    text_init(&writer.header);
    text_init(&writer.record);
    insitu_status status = write_engine(&writer, path);
    text_release(&writer.json);
    text_release(&writer.header);
    text_release(&writer.record);
    arena_release(&writer.arena);
    return diag_complete(diag, status);
}

insitu_status insitu_engine_save(const insitu_engine *engine, const char *path, insitu_diag *diag) {
    if (!engine || !path) FAIL(diag, INSITU_ARG, "insitu_engine_save needs an engine and a path");
    return engine_write(engine, path, NULL, diag);
}
