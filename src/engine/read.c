/* Engine files: a map becomes an engine. The file is untrusted: hash, version and every table are checked, then the plan
 * as a whole; weights stay where they are mapped. */
#include "engine/record.h"

#include <inttypes.h>

typedef struct engine_reader {
    file_map_t *map, *zeros; /* zeros: of the largest weight that is zeros; NULL */
    arena_t arena;
    safetensors_t file;
    record_t record;
    const engine_read_options_t *options;
    insitu_diag *diag;
} engine_reader_t;

static insitu_status find_tensor(const engine_reader_t *reader, const char *name, const safetensor_t **out_tensor) {
    *out_tensor = NULL;
    uint32_t index = map_find(&reader->file.names, name);
    if (index == NONE) FAIL(reader->diag, INSITU_FORMAT, "the engine file has no tensor '%s'", name);
    *out_tensor = &reader->file.tensors[index];
    return INSITU_OK;
}

static insitu_status check_hash(const engine_reader_t *reader, const safetensor_t *plan_tensor) {
    const safetensors_t *file = &reader->file;
    size_t digits_at;
    uint64_t hash;
    char digits[HASH_DIGITS + 1];
    if (!format_find_hash(file->header, file->header_size, &digits_at))
        FAIL(reader->diag, INSITU_FORMAT, "the engine file has no %s", METADATA_HASH);
    TRY(format_hash(file->header, file->header_size, digits_at, plan_tensor->data, plan_tensor->size, &hash));
    snprintf(digits, sizeof(digits), "%016" PRIx64, hash);
    if (memcmp(digits, file->header + digits_at, HASH_DIGITS) != 0)
        FAIL(reader->diag, INSITU_FORMAT,
             "the engine file is damaged: its header and plan do not have the hash that it states");
    return INSITU_OK;
}

static insitu_status check_version(const engine_reader_t *reader) {
    const char *version = safetensors_metadata(&reader->file, METADATA_PLAN_VERSION);
    char *end = NULL;
    long number = version ? strtol(version, &end, 10) : 0;
    if (!version || end == version || *end)
        FAIL(reader->diag, INSITU_FORMAT, "the engine file does not state its %s", METADATA_PLAN_VERSION);
    if (number != PLAN_VERSION)
        FAIL(reader->diag, INSITU_VERSION,
             "the engine file has plan version %ld, and this library reads version %d: compile the program again",
             number, PLAN_VERSION);
    return INSITU_OK;
}

/* Of a file that is checked as a whole: what lies between the tensors is as it was written. */
static insitu_status check_padding(const engine_reader_t *reader) {
    for (uint32_t i = 0; i < reader->file.count; i++) {
        const safetensor_t *tensor = &reader->file.tensors[i];
        if (strncmp(tensor->name, PAD_PREFIX, sizeof(PAD_PREFIX) - 1) != 0) continue;
        for (size_t at = 0; at < tensor->size; at++)
            if (tensor->data[at])
                FAIL(reader->diag, INSITU_FORMAT, "the engine file is damaged: its padding '%s' is not zeros",
                     tensor->name);
    }
    return INSITU_OK;
}

/* All weights that are zeros lie in the same ones. */
static insitu_status make_zeros(engine_reader_t *reader, const plan_t *plan, const weight_source_t *sources) {
    size_t largest = 0;
    for (uint32_t i = 0; i < plan->weight_count; i++)
        if (!sources[i].tensor && plan->weights[i].size > largest) largest = plan->weights[i].size;
    return largest ? file_map_zeros(largest, &reader->zeros, reader->diag) : INSITU_OK;
}

static insitu_status attach_weights(engine_reader_t *reader, plan_t *plan, const weight_source_t *sources) {
    TRY(make_zeros(reader, plan, sources));
    for (uint32_t i = 0; i < plan->weight_count; i++) {
        weight_record_t *weight = &plan->weights[i];
        const safetensor_t *tensor;
        if (!sources[i].tensor) {
            weight->data = reader->zeros ? reader->zeros->data : NULL;
            continue;
        }
        TRY(find_tensor(reader, sources[i].tensor, &tensor));
        if (tensor->size != weight->size)
            FAIL(reader->diag, INSITU_FORMAT, "weight '%s' has %zu bytes in the engine file where %zu were expected",
                 weight->name, tensor->size, weight->size);
        if (tensor->size && (uintptr_t)tensor->data % DATA_ALIGNMENT)
            FAIL(reader->diag, INSITU_FORMAT, "weight '%s' is not aligned to %d bytes in the engine file", weight->name,
                 DATA_ALIGNMENT);
        weight->data = tensor->data;
        if (reader->options->verify_weights && hash_bytes(tensor->data, tensor->size, 0) != sources[i].hash)
            FAIL(reader->diag, INSITU_FORMAT, "weight '%s' of the engine file is damaged: it does not have its hash",
                 weight->name);
    }
    return INSITU_OK;
}

/* record_check refuses the record of any other device. */
static const device_t *device_of(const char *name) {
    const device_t *found;
    return device_open(name, &found, NULL) == INSITU_OK ? found : device_cpu();
}

static insitu_status read_engine(engine_reader_t *reader, insitu_engine **out_engine) {
    const safetensor_t *plan_tensor;
    weight_source_t *sources;
    plan_t *plan;
    TRY(safetensors_read(reader->map, "engine file", &reader->arena, &reader->file, reader->diag));
    const char *format = safetensors_metadata(&reader->file, METADATA_FORMAT);
    if (!format || strcmp(format, "insitu") != 0)
        FAIL(reader->diag, INSITU_FORMAT,
             "not an engine file, as insitu_engine_save writes it: its metadata do not say so");
    const char *wanted = reader->options->cache_key, *key = safetensors_metadata(&reader->file, METADATA_CACHE_KEY);
    if (wanted && (!key || strcmp(key, wanted) != 0))
        FAIL(reader->diag, INSITU_FORMAT, "the engine file is of another program, other options or another compiler");
    const char *record = safetensors_metadata(&reader->file, METADATA_RECORD);
    if (!record) FAIL(reader->diag, INSITU_VERSION, "the engine file has no record: compile the program again");
    TRY(record_parse(record, &reader->arena, &reader->record, reader->diag));
    TRY(find_tensor(reader, reader->record.fields[RECORD_ENGINE], &plan_tensor));
    TRY(check_hash(reader, plan_tensor));
    TRY(check_version(reader));
    if (reader->options->cache_key || reader->options->verify_weights) TRY(check_padding(reader));
    TRY(plan_read_json((const char *)plan_tensor->data, plan_tensor->size, &plan, &sources, reader->diag));
    insitu_status status = attach_weights(reader, plan, sources);
    if (status == INSITU_OK) status = plan_verify(plan, reader->diag);
    if (status != INSITU_OK) {
        plan_destroy(plan);
        return status;
    }
    file_map_t *const maps[2] = {reader->map, reader->zeros};
    const device_t *device = device_of(reader->record.fields[RECORD_DEVICE_NAME]);
    TRY(engine_create(plan, device, maps, reader->zeros ? 2 : 1, out_engine, reader->diag));
    status = record_check(&reader->record, *out_engine, reader->diag);
    if (status == INSITU_OK && reader->options->cache_key)
        status = record_same(&reader->record, *out_engine, reader->diag);
    if (status == INSITU_OK) return INSITU_OK;
    insitu_engine_destroy(*out_engine);
    *out_engine = NULL;
    return status;
}

insitu_status engine_read(file_map_t *map, const engine_read_options_t *options, insitu_engine **out_engine,
                          insitu_diag *diag) {
    engine_reader_t reader = {.map = map, .options = options, .diag = diag};
    arena_init(&reader.arena);
    insitu_status status = read_engine(&reader, out_engine);
    file_map_release(reader.zeros);
    arena_release(&reader.arena);
    return diag_complete(diag, status);
}

static insitu_status load(file_map_t *map, const insitu_load_options *options, insitu_engine **out_engine,
                          insitu_diag *diag) {
    engine_read_options_t read = {0};
    if (options && (options->struct_size <= sizeof(size_t) || options->struct_size > sizeof(*options)))
        FAIL(diag, INSITU_ARG, "load options have struct_size %zu where at most %zu was expected", options->struct_size,
             sizeof(*options));
    const size_t needed = offsetof(insitu_load_options, verify_weights) + sizeof(bool);
    if (options && options->struct_size >= needed) read.verify_weights = options->verify_weights;
    return engine_read(map, &read, out_engine, diag);
}

insitu_status insitu_engine_load(const char *path, const insitu_load_options *options, insitu_engine **out_engine,
                                 insitu_diag *diag) {
    if (out_engine) *out_engine = NULL;
    if (!path || !out_engine) FAIL(diag, INSITU_ARG, "insitu_engine_load needs a path and out_engine");
    file_map_t *map;
    TRY(file_map_open(path, &map, diag));
    insitu_status status = load(map, options, out_engine, diag);
    file_map_release(map);
    return status;
}

insitu_status insitu_engine_load_memory(const void *data, size_t size, const insitu_load_options *options,
                                        insitu_engine **out_engine, insitu_diag *diag) {
    if (out_engine) *out_engine = NULL;
    if (!data || !out_engine) FAIL(diag, INSITU_ARG, "insitu_engine_load_memory needs data and out_engine");
    if ((uintptr_t)data % DATA_ALIGNMENT)
        FAIL(diag, INSITU_ARG, "an engine in memory must be aligned to %d bytes", DATA_ALIGNMENT);
    file_map_t *map;
    TRY(file_map_wrap(data, size, &map, diag));
    insitu_status status = load(map, options, out_engine, diag);
    file_map_release(map);
    return status;
}
