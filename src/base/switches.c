/* Switches: environment variables, copied once, so that later changes of the environment can't be seen half-way. */
#include "base/base.h"

#include <pthread.h>

enum { LONGEST_VALUE = 256 };

static struct {
    bool set;
    char value[LONGEST_VALUE];
} switches[SWITCH_COUNT];

static void read_environment(void) {
    static const char *const names[] = {
#define SWITCH(id, name, help) [SWITCH_##id] = name,
#include "base/switches.def"
#undef SWITCH
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *value = getenv(names[i]);
        switches[i].set = value != NULL;
        if (value) snprintf(switches[i].value, LONGEST_VALUE, "%s", value);
    }
}

const char *switch_value(switch_id id) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return switches[id].set ? switches[id].value : NULL;
}

bool switch_on(switch_id id) {
    const char *value = switch_value(id);
    return value && value[0] && strcmp(value, "0") != 0;
}
