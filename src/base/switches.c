/* Switches: environment variables, copied once, so that later changes of the environment can't be seen half-way. */
#include "base/base.h"

#include <pthread.h>

enum { LONGEST_VALUE = 256 };

static struct {
    bool set;
    char value[LONGEST_VALUE];
} switches[SWITCH_COUNT];

bool list_has(const char *list, const char *word, size_t size) {
    for (const char *item = list; item && *item;) {
        size_t length = strcspn(item, ",");
        if (length == size && memcmp(item, word, size) == 0) return true;
        item += length + (item[length] == ',');
    }
    return false;
}

/* A switch whose values are 0 and 1 is on for any other one: see switch_on. */
static void check_values(const char *name, const char *known, const char *value) {
    for (const char *item = value; *known && *item;) {
        size_t size = strcspn(item, ",");
        if (!list_has(known, item, size))
            log_printf(1, "%s: '%.*s' is not known%s; the values are %s", name, (int)size, item,
                       list_has(known, "1", 1) ? " and taken for 1" : "", known);
        item += size + (item[size] == ',');
    }
}

static void read_environment(void) {
    static const struct {
        const char *name, *values;
    } rows[] = {
#define SWITCH(id, name, values, help) [SWITCH_##id] = {name, values},
#include "base/switches.def"
#undef SWITCH
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *value = getenv(rows[i].name);
        switches[i].set = value != NULL;
        if (!value) continue;
        snprintf(switches[i].value, LONGEST_VALUE, "%s", value);
        check_values(rows[i].name, rows[i].values, switches[i].value);
    }
}

const char *switch_value(switch_id_t id) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return switches[id].set ? switches[id].value : NULL;
}

bool switch_on(switch_id_t id) {
    const char *value = switch_value(id);
    return value && value[0] && strcmp(value, "0") != 0;
}
