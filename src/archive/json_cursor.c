/* JSON over jansson: cursors that know their path, so that every wrong shape is reported with its place.
 *
 * jansson allocates with malloc, not through base: its allocator is a setting of the whole process, which a library must
 * leave to the program. Tests that count or fail allocations set it (json_set_alloc_funcs). */
#include "archive/archive_int.h"

#include <math.h>

enum { PATH_SIZE = 256, PATH_PARTS = 32 };

/* "graph_module.graph.nodes[3].inputs[0]"; the beginning is left out where it is too long. */
static void print_path(const json_cursor_t *at, char path[PATH_SIZE]) {
    const json_cursor_t *parts[PATH_PARTS];
    size_t count = 0, used = 0;
    for (; at->parent && count < PATH_PARTS; at = at->parent) parts[count++] = at;
    path[0] = 0;
    if (at->parent) used += (size_t)snprintf(path, PATH_SIZE, "...");
    while (count && used < PATH_SIZE - 1) {
        const json_cursor_t *part = parts[--count];
        const char *dot = used && path[used - 1] != '.' ? "." : "";
        int written = part->key ? snprintf(path + used, PATH_SIZE - used, "%s%s", dot, part->key)
                                : snprintf(path + used, PATH_SIZE - used, "[%zu]", part->index);
        if (written < 0) break;
        used += (size_t)written;
    }
}

insitu_status json_fail(const json_cursor_t *at, insitu_status code, const char *format, ...) {
    char path[PATH_SIZE], sentence[INSITU_DIAG_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    print_path(at, path);
    if (!path[0]) return diag_set(at->diag, code, "%s: %s", at->document, sentence);
    return diag_set(at->diag, code, "%s: %s: %s", at->document, path, sentence);
}

static const char *type_name(const json_t *value) {
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "a boolean";
    case JSON_NULL: return "null";
    }
    return "nothing";
}

static insitu_status fail_type(const json_cursor_t *at, const char *expected) {
    return json_fail(at, INSITU_FORMAT, "%s where %s was expected", type_name(at->value), expected);
}

/* ---- bare tokens ---- */

/* Length of a bare NaN, Infinity or -Infinity at text; 0 if there is none. */
static size_t bare_token(const char *text, size_t size) {
    static const char *const tokens[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        size_t length = strlen(tokens[i]);
        if (size >= length && memcmp(text, tokens[i], length) == 0) return length;
    }
    return 0;
}

/* Finds the next bare token at or after *cursor, which must not be inside a string; false at the end. */
static bool next_bare_token(const char *text, size_t size, size_t *cursor, size_t *out_length) {
    for (size_t i = *cursor; i < size; i++) {
        if (text[i] == '"') {
            for (i++; i < size && text[i] != '"'; i++)
                if (text[i] == '\\') i++;
        } else if (text[i] == 'N' || text[i] == 'I' || text[i] == '-') {
            *out_length = bare_token(text + i, size - i);
            *cursor = i;
            if (*out_length) return true;
        }
    }
    return false;
}

/* The text with bare tokens in quotes. */
static void quote_bare_tokens(const char *data, size_t size, text_t *out) {
    size_t done = 0, cursor = 0, length;
    while (next_bare_token(data, size, &cursor, &length)) {
        text_add(out, data + done, cursor - done);
        text_add(out, "\"", 1);
        text_add(out, data + cursor, length);
        text_add(out, "\"", 1);
        done = cursor += length;
    }
    text_add(out, data + done, size - done);
}

insitu_status json_read(const char *document, const void *data, size_t size, json_cursor_t *out_root,
                        insitu_diag *diag) {
    memset(out_root, 0, sizeof(*out_root));
    text_t quoted;
    text_init(&quoted);
    const char *source = data;
    size_t cursor = 0, length;
    if (next_bare_token(source, size, &cursor, &length)) {
        quote_bare_tokens(source, size, &quoted);
        insitu_status status = text_status(&quoted, diag);
        if (status != INSITU_OK) {
            text_release(&quoted);
            return status;
        }
        source = quoted.data;
        size = quoted.size;
    }
    json_error_t error;
    json_t *value = json_loadb(source, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    text_release(&quoted);
    if (!value) {
        if (json_error_code(&error) == json_error_out_of_memory)
            FAIL(diag, INSITU_NOMEM, "out of memory while reading %s", document);
        FAIL(diag, INSITU_FORMAT, "%s is not valid JSON: %s at line %d, column %d", document, error.text, error.line,
             error.column);
    }
    *out_root = (json_cursor_t){.value = value, .document = document, .diag = diag};
    return INSITU_OK;
}

/* ---- places ---- */

static json_cursor_t child_of(const json_cursor_t *parent, const char *key, size_t index, json_t *value) {
    return (json_cursor_t){.parent = parent,
                           .key = key,
                           .index = index,
                           .value = value,
                           .document = parent->document,
                           .diag = parent->diag};
}

bool json_optional(const json_cursor_t *object, const char *key, json_cursor_t *out_member) {
    json_t *value = json_object_get(object->value, key);
    if (!value || json_is_null(value)) return false;
    *out_member = child_of(object, key, 0, value);
    return true;
}

insitu_status json_member(const json_cursor_t *object, const char *key, json_cursor_t *out_member) {
    if (!json_is_object(object->value)) return fail_type(object, "an object");
    if (!json_optional(object, key, out_member)) return json_fail(object, INSITU_FORMAT, "'%s' is missing", key);
    return INSITU_OK;
}

insitu_status json_count(const json_cursor_t *array, uint32_t *out_count) {
    *out_count = 0;
    if (!json_is_array(array->value)) return fail_type(array, "an array");
    size_t count = json_array_size(array->value);
    if (count > MAX_VALUES) return json_fail(array, INSITU_FORMAT, "%zu items, more than %d", count, MAX_VALUES);
    *out_count = (uint32_t)count;
    return INSITU_OK;
}

void json_item(const json_cursor_t *array, uint32_t index, json_cursor_t *out_item) {
    *out_item = child_of(array, NULL, index, json_array_get(array->value, index));
}

insitu_status json_members(const json_cursor_t *object, uint32_t *out_count) {
    *out_count = 0;
    if (!json_is_object(object->value)) return fail_type(object, "an object");
    size_t count = json_object_size(object->value);
    if (count > MAX_VALUES) return json_fail(object, INSITU_FORMAT, "%zu members, more than %d", count, MAX_VALUES);
    *out_count = (uint32_t)count;
    return INSITU_OK;
}

bool json_next(const json_cursor_t *object, void **iterator, json_cursor_t *out_member) {
    *iterator = *iterator ? json_object_iter_next(object->value, *iterator) : json_object_iter(object->value);
    if (!*iterator) return false;
    *out_member = child_of(object, json_object_iter_key(*iterator), 0, json_object_iter_value(*iterator));
    return true;
}

insitu_status json_union(const json_cursor_t *object, json_cursor_t *out_member) {
    if (!json_is_object(object->value)) return fail_type(object, "an object with one member");
    if (json_object_size(object->value) != 1)
        return json_fail(object, INSITU_FORMAT, "an object with %zu members where one was expected",
                         json_object_size(object->value));
    void *iterator = NULL;
    (void)json_next(object, &iterator, out_member);
    return INSITU_OK;
}

/* ---- leaves ---- */

insitu_status json_int(const json_cursor_t *at, int64_t *out) {
    *out = 0;
    if (!json_is_integer(at->value)) return fail_type(at, "an integer");
    *out = json_integer_value(at->value);
    return INSITU_OK;
}

insitu_status json_bool(const json_cursor_t *at, bool *out) {
    *out = false;
    if (!json_is_boolean(at->value)) return fail_type(at, "a boolean");
    *out = json_is_true(at->value);
    return INSITU_OK;
}

insitu_status json_float(const json_cursor_t *at, double *out) {
    *out = 0;
    if (json_is_number(at->value)) {
        *out = json_number_value(at->value);
        return INSITU_OK;
    }
    if (!json_is_string(at->value)) return fail_type(at, "a number");
    const char *name = json_string_value(at->value);
    if (strcmp(name, "Infinity") == 0)
        *out = INFINITY;
    else if (strcmp(name, "-Infinity") == 0)
        *out = -INFINITY;
    else if (strcmp(name, "NaN") == 0)
        *out = NAN;
    else
        return json_fail(at, INSITU_FORMAT, "the string '%s' where a number was expected", name);
    return INSITU_OK;
}

insitu_status json_text(const json_cursor_t *at, const char **out) {
    *out = "";
    if (!json_is_string(at->value)) return fail_type(at, "a string");
    *out = json_string_value(at->value);
    return INSITU_OK;
}
