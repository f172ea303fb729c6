/* Mutates JSON text as a tree. */
#include "mutate.h"

#include <jansson.h>
#include <string.h>

enum { MAX_PLACES = 1 << 14, MAX_DEPTH = 64 };

/* A value and where it hangs. */
typedef struct place {
    json_t *parent, *value;
    const char *key; /* of an object's member */
    size_t index;    /* of an array's item */
} place_t;
typedef struct places {
    place_t items[MAX_PLACES];
    uint32_t count;
} places_t;

static void add_place(places_t *places, json_t *parent, const char *key, size_t index, json_t *value) {
    if (places->count < MAX_PLACES) places->items[places->count++] = (place_t){parent, value, key, index};
}

/* The places are added level by level. */
static void find_places(places_t *places, json_t *root) {
    places->count = 0;
    add_place(places, NULL, NULL, 0, root);
    for (uint32_t i = 0; i < places->count; i++) {
        json_t *value = places->items[i].value, *item;
        const char *key;
        size_t index;
        if (json_is_object(value)) json_object_foreach(value, key, item) add_place(places, value, key, 0, item);
        if (json_is_array(value)) json_array_foreach(value, index, item) add_place(places, value, NULL, index, item);
    }
}

static json_t *odd_number(uint32_t *random) {
    static const json_int_t numbers[] = {0,
                                         1,
                                         2,
                                         -1,
                                         3,
                                         7,
                                         12,
                                         13,
                                         64,
                                         255,
                                         256,
                                         65535,
                                         1 << 20,
                                         INT32_MAX,
                                         INT32_MIN,
                                         1 << 28,
                                         INT64_MAX,
                                         INT64_MIN,
                                         INT64_MAX - 1,
                                         1LL << 32,
                                         1LL << 62};
    if (mutate_random(random, 8) == 0) return json_real(mutate_random(random, 2) ? 0.5 : 1e300);
    return json_integer(numbers[mutate_random(random, COUNT_OF(numbers))]);
}

static json_t *odd_value(uint32_t *random) {
    switch (mutate_random(random, 7)) {
    case 0: return json_null();
    case 1: return json_boolean(mutate_random(random, 2));
    case 2: return json_string("");
    case 3: return json_array();
    case 4: return json_object();
    default: return odd_number(random);
    }
}

/* Another value for the place: of a number mostly a number near it. */
static json_t *new_value(const place_t *at, const places_t *places, uint32_t *random) {
    uint32_t choice = mutate_random(random, 8);
    if (json_is_integer(at->value) && choice < 3) {
        json_int_t number = json_integer_value(at->value);
        if (number > -1000000 && number < 1000000)
            return json_integer(number + (json_int_t)mutate_random(random, 5) - 2);
    }
    if (json_is_number(at->value) && choice < 5) return odd_number(random);
    if (choice == 7) return odd_value(random);
    for (int trial = 0; trial < 16; trial++) { /* mostly one of the same kind */
        json_t *other = places->items[mutate_random(random, places->count)].value;
        if (json_typeof(other) == json_typeof(at->value) || choice == 6) return json_deep_copy(other);
    }
    return json_deep_copy(at->value);
}

static void set_value(const place_t *at, json_t *value) {
    if (at->key)
        json_object_set_new(at->parent, at->key, value);
    else
        json_array_set_new(at->parent, at->index, value);
}

static void edit(places_t *places, uint32_t *random) {
    const place_t *at = &places->items[mutate_random(random, places->count)];
    if (!at->parent) return;
    uint32_t choice = mutate_random(random, 10);
    if (choice == 0 && at->key) {
        json_object_del(at->parent, at->key);
    } else if (choice == 0) {
        json_array_remove(at->parent, at->index);
    } else if (choice == 1 && !at->key) {
        json_array_insert_new(at->parent, at->index, json_deep_copy(at->value));
    } else if (choice == 2 && !at->key) {
        size_t other = mutate_random(random, (uint32_t)json_array_size(at->parent));
        json_t *moved = json_incref(json_array_get(at->parent, other));
        json_array_set(at->parent, other, at->value);
        json_array_set_new(at->parent, at->index, moved);
    } else {
        set_value(at, new_value(at, places, random));
    }
}

size_t mutate_json(uint8_t *data, size_t size, size_t limit, uint32_t *random) {
    static places_t places;
    json_t *root = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!root || mutate_random(random, 16) == 0) {
        json_decref(root);
        return LLVMFuzzerMutate(data, size, limit);
    }
    for (uint32_t edits = 1 + mutate_random(random, 3); edits > 0; edits--) {
        find_places(&places, root);
        edit(&places, random);
    }
    size_t printed = json_dumpb(root, (char *)data, limit, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(root);
    return printed <= limit ? printed : 0;
}
