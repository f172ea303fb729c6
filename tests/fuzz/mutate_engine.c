/* Mutates an engine file: mostly the plan's JSON, sometimes the header's; then the file is put together again, data at
 * multiples of 64 and offsets moved as the plan grew. The target sets the hash. */
#include "mutate.h"

#include <jansson.h>
#include <string.h>

#define PLAN "insitu.plan"
enum { LENGTH_SIZE = 8, ALIGNMENT = 64, MAX_SIZE = 1 << 17 };

typedef struct engine_parts {
    json_t *header;
    uint8_t plan[MAX_SIZE], rest[MAX_SIZE];
    size_t plan_size, rest_size; /* rest: behind the plan's end rounded up */
} engine_parts_t;

static size_t round_up(size_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static json_t *plan_offsets(json_t *header) { return json_object_get(json_object_get(header, PLAN), "data_offsets"); }

/* True if the plan comes first, as it does in files that were written. */
static bool take_apart(const uint8_t *data, size_t size, engine_parts_t *parts) {
    uint64_t length = 0;
    if (size < LENGTH_SIZE || size > MAX_SIZE) return false;
    for (uint32_t i = LENGTH_SIZE; i-- > 0;) length = length << 8 | data[i];
    if (length > size - LENGTH_SIZE) return false;
    parts->header = json_loadb((const char *)data + LENGTH_SIZE, (size_t)length, 0, NULL);
    json_t *offsets = plan_offsets(parts->header);
    json_int_t begin = json_integer_value(json_array_get(offsets, 0));
    json_int_t end = json_integer_value(json_array_get(offsets, 1));
    const uint8_t *first = data + LENGTH_SIZE + length;
    size_t data_size = size - LENGTH_SIZE - (size_t)length;
    if (json_array_size(offsets) != 2 || begin != 0 || end < 0 || (size_t)end > data_size) return false;
    parts->plan_size = (size_t)end;
    memcpy(parts->plan, first, parts->plan_size);
    size_t rest = round_up(parts->plan_size) < data_size ? round_up(parts->plan_size) : data_size;
    parts->rest_size = data_size - rest;
    memcpy(parts->rest, first + rest, parts->rest_size);
    return true;
}

/* Every tensor behind the plan moves with the plan's end; the padding right behind the plan fills what is left. */
static void move_offsets(json_t *header, size_t old_end, size_t new_end) {
    json_int_t delta = (json_int_t)round_up(new_end) - (json_int_t)round_up(old_end);
    const json_t *plan = plan_offsets(header);
    const char *name;
    json_t *tensor;
    json_object_foreach(header, name, tensor) {
        json_t *offsets = json_object_get(tensor, "data_offsets");
        if (json_array_size(offsets) != 2 || offsets == plan) continue;
        json_int_t begin = json_integer_value(json_array_get(offsets, 0));
        json_int_t end = json_integer_value(json_array_get(offsets, 1));
        if (begin < 0 || end < 0 || begin > 2 * MAX_SIZE || end > 2 * MAX_SIZE) continue; /* wrong on purpose */
        bool is_padding = begin == (json_int_t)old_end && end == (json_int_t)round_up(old_end);
        json_array_set_new(offsets, 0, json_integer(is_padding ? (json_int_t)new_end : begin + delta));
        json_array_set_new(offsets, 1, json_integer(end + delta));
        if (!is_padding) continue;
        json_t *shape = json_object_get(tensor, "shape");
        json_array_set_new(shape, 0, json_integer((json_int_t)(round_up(new_end) - new_end)));
    }
    json_array_set_new(plan_offsets(header), 1, json_integer((json_int_t)new_end));
    json_t *plan_shape = json_object_get(json_object_get(header, PLAN), "shape");
    json_array_set_new(plan_shape, 0, json_integer((json_int_t)new_end));
}

static size_t put_together(const engine_parts_t *parts, uint8_t *data, size_t limit, uint32_t *random) {
    static uint8_t header[MAX_SIZE];
    size_t size = json_dumpb(parts->header, (char *)header, sizeof(header), JSON_COMPACT);
    if (size > sizeof(header)) return 0;
    if (mutate_random(random, 8) == 0) size = mutate_json(header, size, sizeof(header) - ALIGNMENT, random);
    while ((size + LENGTH_SIZE) % ALIGNMENT && size < sizeof(header)) header[size++] = ' ';
    size_t plan_end = LENGTH_SIZE + size + round_up(parts->plan_size);
    if (size > sizeof(header) - ALIGNMENT || plan_end + parts->rest_size > limit) return 0;
    for (uint32_t i = 0; i < LENGTH_SIZE; i++) data[i] = (uint8_t)((uint64_t)size >> (8 * i));
    memcpy(data + LENGTH_SIZE, header, size);
    memset(data + LENGTH_SIZE + size, 0, round_up(parts->plan_size));
    memcpy(data + LENGTH_SIZE + size, parts->plan, parts->plan_size);
    memcpy(data + plan_end, parts->rest, parts->rest_size);
    return plan_end + parts->rest_size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed) {
    static engine_parts_t parts;
    uint32_t random = seed;
    size_t changed = 0;
    parts.header = NULL;
    if (mutate_random(&random, 8) != 0 && take_apart(data, size, &parts)) {
        size_t old_end = parts.plan_size;
        if (mutate_random(&random, 8) != 0) {
            parts.plan_size = mutate_json(parts.plan, parts.plan_size, sizeof(parts.plan), &random);
            move_offsets(parts.header, old_end, parts.plan_size);
        }
        if (parts.plan_size) changed = put_together(&parts, data, limit, &random);
    }
    json_decref(parts.header);
    return changed ? changed : LLVMFuzzerMutate(data, size, limit);
}
