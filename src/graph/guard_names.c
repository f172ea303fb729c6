/* How guards_code names inputs: L['x'], L['more'][0]['k'], L['batch'].mask; L['flat_args'][1] is the second leaf of all
 * arguments. */
#include "graph/guard_text.h"

/* The end of [...] at at, which holds a quoted key or a number. NULL: not that. */
static const char *end_of_key(const char *at) {
    at++;
    if (*at == '\'' || *at == '"') {
        char quote = *at++;
        while (*at && *at != quote) at++;
        if (!*at) return NULL;
        at++;
    } else {
        while (*at >= '0' && *at <= '9') at++;
    }
    return *at == ']' ? at + 1 : NULL;
}

/* The end of ['a'][0].mask: keys, and attributes that are not called. NULL: not that. */
static const char *end_of_path(const char *at) {
    while (at && *at == '[') {
        at = end_of_key(at);
        while (at && *at == '.') {
            const char *end = at + 1;
            while (is_name_char(*end) && *end != '.') end++;
            if (*end == '(' || end == at + 1) return at;
            at = end;
        }
    }
    return at;
}

const char *guard_path(const archive_program_t *program, const char *at, uint32_t *out_input) {
    *out_input = NONE;
    const char *end = at[0] == 'L' && at[1] == '[' ? end_of_path(at + 1) : NULL;
    if (end) *out_input = archive_find_guard_input(program, at, (size_t)(end - at));
    return end;
}

/* The name in the path L['name'] of an input, without what makes it one. */
static void print_path(const char *path, text_t *out) {
    const char *quote = strchr(path + 3, '\'');
    if (strncmp(path, "L['", 3) != 0 || !quote || quote[1] != ']')
        text_printf(out, "%s", path);
    else
        text_printf(out, "%.*s%s", (int)(quote - path - 3), path + 3, quote + 2);
}

void guard_print(const archive_program_t *program, const char *guard, text_t *out) {
    for (const char *at = guard; *at;) {
        uint32_t input;
        bool begins = at == guard || !is_name_char(at[-1]);
        const char *end = begins ? guard_path(program, at, &input) : NULL;
        const char *path = end && input != NONE ? program->inputs[input].guard : NULL;
        if (path)
            print_path(path, out);
        else
            text_printf(out, "%.1s", at);
        at = path ? end : at + 1;
    }
}
