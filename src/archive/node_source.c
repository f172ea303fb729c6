/* Where a node comes from, parsed from the texts that the writer keeps with it:
 *   stack_trace:      File "/home/me/model.py", line 41, in forward\n    x = x + 1\n ...   (innermost frame last)
 *   nn_module_stack:  L__self__,,pkg.Model;L__self___sub,sub,pkg.Sub                    (innermost module last)
 * These serve messages only: a text of another form gives "". */
#include "archive/archive_int.h"

typedef struct frame {
    const char *path;
    size_t path_size;
    const char *line;
    size_t line_size;
} frame_t;

/* The next frame at or after *cursor; false if there is none. */
static bool next_frame(const char **cursor, frame_t *out) {
    static const char start[] = "File \"", middle[] = "\", line ";
    for (const char *at; (at = strstr(*cursor, start));) {
        *cursor = out->path = at + sizeof(start) - 1;
        const char *end = strstr(out->path, middle);
        if (!end || memchr(out->path, '\n', (size_t)(end - out->path))) continue;
        out->path_size = (size_t)(end - out->path);
        *cursor = out->line = end + sizeof(middle) - 1;
        out->line_size = strspn(out->line, "0123456789");
        return true;
    }
    return false;
}

static bool path_holds(const frame_t *frame, const char *part) {
    return memmem(frame->path, frame->path_size, part, strlen(part)) != NULL;
}

/* PyTorch's own files say little about the model. */
static bool is_users(const frame_t *frame) {
    return !path_holds(frame, "-packages/torch/") && strncmp(frame->path, "torch/", 6) != 0;
}

static insitu_status read_stack_trace(reader_t *reader, const char *trace, archive_node_t *node) {
    frame_t innermost = {0}, current;
    bool found_users = false;
    for (const char *cursor = trace; next_frame(&cursor, &current);) {
        if (path_holds(&current, "<")) continue; /* generated code: <eval_with_key>.1 */
        bool users = is_users(&current);
        if (users || !found_users) innermost = current;
        found_users |= users;
    }
    if (!innermost.path || !innermost.line_size) return INSITU_OK;
    const char *base = innermost.path;
    for (size_t i = 0; i < innermost.path_size; i++)
        if (innermost.path[i] == '/' || innermost.path[i] == '\\') base = innermost.path + i + 1;
    size_t base_size = innermost.path_size - (size_t)(base - innermost.path);
    if (base_size > MAX_NAME || innermost.line_size > 10) return INSITU_OK;
    return arena_printf(reader->arena, &node->source, "%.*s:%.*s", (int)base_size, base, (int)innermost.line_size,
                        innermost.line);
}

static insitu_status read_module_stack(reader_t *reader, const char *stack, archive_node_t *node) {
    const char *last = strrchr(stack, ';');
    last = last ? last + 1 : stack;
    const char *first_comma = strchr(last, ',');
    const char *second_comma = first_comma ? strchr(first_comma + 1, ',') : NULL;
    if (!second_comma) return INSITU_OK;
    const char *fqn;
    TRY(arena_string(&reader->scratch, first_comma + 1, (size_t)(second_comma - first_comma - 1), &fqn));
    return reader_intern(reader, fqn, &node->module);
}

insitu_status read_node_source(reader_t *reader, const json_cursor_t *metadata, archive_node_t *node) {
    json_cursor_t member;
    if (json_optional(metadata, "stack_trace", &member) && json_is_string(member.value))
        TRY(read_stack_trace(reader, json_string_value(member.value), node));
    if (json_optional(metadata, "nn_module_stack", &member) && json_is_string(member.value))
        TRY(read_module_stack(reader, json_string_value(member.value), node));
    return INSITU_OK;
}
