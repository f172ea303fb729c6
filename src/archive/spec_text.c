/* A pytree as saved, on one line: a leaf is *, a tuple (*, *), a list [*], a dict {name: *}, another container its type
 * and what the file keeps of it: collections.namedtuple<pkg.Point>(*, *). */
#include "archive/archive_int.h"

static void print_node(const json_t *node, uint32_t depth, text_t *out);

static void print_children(const json_t *children, uint32_t depth, text_t *out) {
    for (size_t i = 0; i < json_array_size(children); i++) {
        if (i) text_add(out, ", ", 2);
        print_node(json_array_get(children, i), depth, out);
    }
}

static void print_key(const json_t *key, text_t *out) {
    if (json_is_string(key))
        text_quoted(out, json_string_value(key));
    else if (json_is_integer(key))
        text_printf(out, "%lld", (long long)json_integer_value(key));
    else
        text_add(out, "?", 1);
}

static void print_dict(const json_t *keys, const json_t *children, uint32_t depth, text_t *out) {
    text_add(out, "{", 1);
    for (size_t i = 0; i < json_array_size(children); i++) {
        if (i) text_add(out, ", ", 2);
        print_key(json_array_get(keys, i), out);
        text_add(out, ": ", 2);
        print_node(json_array_get(children, i), depth, out);
    }
    text_add(out, "}", 1);
}

static void print_other(const char *type, const char *context, const json_t *children, uint32_t depth, text_t *out) {
    text_printf(out, "%s", type);
    if (context) {
        text_add(out, "<", 1);
        text_quoted(out, context);
        text_add(out, ">", 1);
    }
    text_add(out, "(", 1);
    print_children(children, depth, out);
    text_add(out, ")", 1);
}

static void print_container(const char *type, const json_t *node, uint32_t depth, text_t *out) {
    const json_t *children = json_object_get(node, "children_spec");
    const char *context = json_string_value(json_object_get(node, "context"));
    if (strcmp(type, "builtins.tuple") == 0) {
        text_add(out, "(", 1);
        print_children(children, depth, out);
        text_printf(out, json_array_size(children) == 1 ? ",)" : ")");
    } else if (strcmp(type, "builtins.list") == 0) {
        text_add(out, "[", 1);
        print_children(children, depth, out);
        text_add(out, "]", 1);
    } else {
        bool is_dict = strcmp(type, "builtins.dict") == 0 || strcmp(type, "collections.OrderedDict") == 0;
        json_t *keys = is_dict && context ? json_loads(context, JSON_DECODE_ANY, NULL) : NULL;
        if (json_is_array(keys) && json_array_size(keys) == json_array_size(children))
            print_dict(keys, children, depth, out);
        else
            print_other(type, context, children, depth, out);
        json_decref(keys);
    }
}

static void print_node(const json_t *node, uint32_t depth, text_t *out) {
    const char *type = json_string_value(json_object_get(node, "type"));
    if (!type)
        text_add(out, "*", 1);
    else if (depth == MAX_NESTING)
        text_printf(out, "...");
    else
        print_container(type, node, depth + 1, out);
}

void print_spec_text(const char *spec, text_t *out) {
    json_t *document = json_loads(spec, 0, NULL); /* [version, tree] */
    if (document)
        print_node(json_array_get(document, 1), 0, out);
    else
        text_printf(out, "%s", spec);
    json_decref(document);
}
