/* in_spec and out_spec: trees, saved as JSON text, that say how arguments and results are nested.
 *
 * Insitu flattens both: the leaves of in_spec are the user inputs in order, those of out_spec the user outputs. A leaf's
 * path is kept as guards_code writes it, "L['batch'][0].mask", so that guards can be tied to inputs. */
#include "archive/archive_int.h"

typedef struct leaf_list {
    reader_t *reader;
    const json_cursor_t *tuple_fields; /* treespec_namedtuple_fields; NULL if absent */
    const char **paths;                /* NULL items: a path that is not known */
    uint32_t count, capacity;
} leaf_list_t;

/* ---- how the children of a node are called ---- */
typedef enum child_style { CHILD_UNKNOWN, CHILD_INDEX, CHILD_KEY, CHILD_FIELD } child_style_t;
typedef struct child_names {
    child_style_t style;
    json_t *document; /* owned; NULL if names belong to another */
    json_t *names;    /* array; of KEY and FIELD */
} child_names_t;

/* Fields of a named tuple come from a table beside the graph; its context is the bare type name. */
static child_names_t tuple_names(const leaf_list_t *leaves, const char *context) {
    json_t *row = leaves->tuple_fields ? json_object_get(leaves->tuple_fields->value, context) : NULL;
    json_t *names = json_object_get(row, "field_names");
    return (child_names_t){.style = names ? CHILD_FIELD : CHILD_UNKNOWN, .names = names};
}

static child_names_t find_names(const leaf_list_t *leaves, const char *type, const json_cursor_t *context) {
    static const char *const sequences[] = {"builtins.tuple", "builtins.list", "collections.deque"};
    static const char *const mappings[] = {"builtins.dict", "collections.OrderedDict", "collections.defaultdict"};
    for (size_t i = 0; i < COUNT_OF(sequences); i++)
        if (strcmp(type, sequences[i]) == 0) return (child_names_t){.style = CHILD_INDEX};
    const char *text = json_string_value(context->value);
    if (!text) return (child_names_t){.style = CHILD_UNKNOWN};
    if (strcmp(type, "collections.namedtuple") == 0) return tuple_names(leaves, text);
    json_t *document = json_loads(text, JSON_DECODE_ANY, NULL);
    child_names_t found = {.style = CHILD_UNKNOWN, .document = document};
    for (size_t i = 0; i < COUNT_OF(mappings); i++) {
        if (strcmp(type, mappings[i]) != 0) continue;
        json_t *inner = json_object_get(document, "dict_context"); /* of a defaultdict */
        found.style = CHILD_KEY;
        found.names = inner ? inner : document;
        return found;
    }
    json_t *fields = json_array_get(document, 0); /* of a dataclass: [[fields], [fields that were None]] */
    if (json_is_array(fields)) {
        found.style = CHILD_FIELD;
        found.names = fields;
    }
    return found;
}

/* The path of a child, NULL if it is not known. */
static insitu_status child_path(const leaf_list_t *leaves, const child_names_t *names, const char *parent,
                                uint32_t index, const char **out) {
    *out = NULL;
    if (!parent) return INSITU_OK;
    arena_t *scratch = &leaves->reader->scratch;
    const json_t *name = json_array_get(names->names, index);
    const char *string = json_string_value(name);
    switch (names->style) {
    case CHILD_INDEX: return arena_printf(scratch, out, "%s[%u]", parent, index);
    case CHILD_KEY:
        if (json_is_integer(name))
            return arena_printf(scratch, out, "%s[%lld]", parent, (long long)json_integer_value(name));
        return string ? arena_printf(scratch, out, "%s['%s']", parent, string) : INSITU_OK;
    case CHILD_FIELD: return string ? arena_printf(scratch, out, "%s.%s", parent, string) : INSITU_OK;
    case CHILD_UNKNOWN: break;
    }
    return INSITU_OK;
}

/* ---- the walk ---- */

static insitu_status add_leaf(leaf_list_t *leaves, const char *path) {
    arena_t *scratch = &leaves->reader->scratch;
    TRY(arena_grow(scratch, &leaves->paths, &leaves->capacity, (size_t)leaves->count + 1, sizeof(*leaves->paths)));
    leaves->paths[leaves->count++] = path;
    return INSITU_OK;
}

static insitu_status add_leaves(leaf_list_t *leaves, const json_cursor_t *node, const char *path);

static insitu_status add_children(leaf_list_t *leaves, const json_cursor_t *children, const child_names_t *names,
                                  const char *path) {
    uint32_t count;
    TRY(json_count(children, &count));
    for (uint32_t i = 0; i < count; i++) {
        json_cursor_t child;
        const char *child_text;
        json_item(children, i, &child);
        TRY(child_path(leaves, names, path, i, &child_text));
        TRY(add_leaves(leaves, &child, child_text));
    }
    return INSITU_OK;
}

static insitu_status add_leaves(leaf_list_t *leaves, const json_cursor_t *node, const char *path) {
    json_cursor_t type, children, context = {0};
    const char *type_text;
    if (json_is_object(node->value) && !json_optional(node, "type", &type)) return add_leaf(leaves, path);
    TRY(json_member(node, "type", &type));
    TRY(json_text(&type, &type_text));
    TRY(json_member(node, "children_spec", &children));
    TRY(reader_enter(leaves->reader, node));
    (void)json_optional(node, "context", &context);
    child_names_t names = find_names(leaves, type_text, &context);
    insitu_status status = add_children(leaves, &children, &names, path);
    json_decref(names.document);
    reader_leave(leaves->reader);
    return status;
}

/* [1, NODE]: 1 is the version of the notation. */
static insitu_status spec_root(const json_cursor_t *document, json_cursor_t *out_node) {
    uint32_t count;
    json_cursor_t version;
    int64_t number;
    TRY(json_count(document, &count));
    if (count != 2) return json_fail(document, INSITU_FORMAT, "%u items where [version, tree] was expected", count);
    json_item(document, 0, &version);
    TRY(json_int(&version, &number));
    if (number != 1)
        return json_fail(&version, INSITU_VERSION, "version %lld of the tree notation; version 1 is read",
                         (long long)number);
    json_item(document, 1, out_node);
    return INSITU_OK;
}

/* ---- arguments ---- */

/* A child of in_spec's root: the positional arguments or the keyword arguments. */
static insitu_status add_arguments(leaf_list_t *leaves, const json_cursor_t *node, bool positional) {
    const archive_program_t *program = leaves->reader->program;
    json_cursor_t children, type, context = {0};
    uint32_t count;
    TRY(json_member(node, "children_spec", &children));
    TRY(json_count(&children, &count));
    TRY(json_member(node, "type", &type));
    (void)json_optional(node, "context", &context);
    if (!positional) {
        const char *type_text;
        TRY(json_text(&type, &type_text));
        child_names_t names = find_names(leaves, type_text, &context);
        insitu_status status = add_children(leaves, &children, &names, "L");
        json_decref(names.document);
        return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        json_cursor_t child;
        const char *path = NULL;
        json_item(&children, i, &child);
        if (i < program->forward_arg_name_count)
            TRY(arena_printf(&leaves->reader->scratch, &path, "L['%s']", program->forward_arg_names[i]));
        TRY(add_leaves(leaves, &child, path));
    }
    return INSITU_OK;
}

static insitu_status flatten_inputs(leaf_list_t *leaves, const json_cursor_t *document) {
    json_cursor_t root, children, part;
    uint32_t count;
    TRY(spec_root(document, &root));
    TRY(json_member(&root, "children_spec", &children));
    TRY(json_count(&children, &count));
    if (count != 2)
        return json_fail(&children, INSITU_FORMAT, "%u items where positional and keyword arguments were expected",
                         count);
    for (uint32_t i = 0; i < 2; i++) {
        json_item(&children, i, &part);
        TRY(add_arguments(leaves, &part, i == 0));
    }
    return INSITU_OK;
}

static insitu_status flatten_outputs(leaf_list_t *leaves, const json_cursor_t *document) {
    json_cursor_t root;
    TRY(spec_root(document, &root));
    return add_leaves(leaves, &root, NULL);
}

static insitu_status read_spec(leaf_list_t *leaves, const char *name, const char *text,
                               insitu_status (*flatten)(leaf_list_t *leaves, const json_cursor_t *document)) {
    json_cursor_t document;
    TRY(json_read(name, text, strlen(text), &document, leaves->reader->diag));
    insitu_status status = flatten(leaves, &document);
    json_decref(document.value);
    return status;
}

static insitu_status set_guards(reader_t *reader, const leaf_list_t *leaves) {
    archive_program_t *program = reader->program;
    archive_input_t *inputs;
    TRY(arena_copy(reader->arena, program->inputs, program->graph->input_count * sizeof(*inputs), &inputs));
    for (uint32_t i = 0; i < leaves->count; i++)
        if (leaves->paths[i]) TRY(reader_intern(reader, leaves->paths[i], &inputs[program->user_inputs[i]].guard));
    program->inputs = inputs;
    return INSITU_OK;
}

static insitu_status read_specs(reader_t *reader, const json_cursor_t *signature, const json_cursor_t *tuple_fields) {
    archive_program_t *program = reader->program;
    json_cursor_t member;
    leaf_list_t inputs = {.reader = reader, .tuple_fields = tuple_fields};
    leaf_list_t outputs = {.reader = reader, .tuple_fields = tuple_fields};
    if (json_optional(signature, "forward_arg_names", &member))
        TRY(reader_texts(reader, &member, &program->forward_arg_names, &program->forward_arg_name_count));
    TRY(json_member(signature, "in_spec", &member));
    TRY(reader_text(reader, &member, &program->in_spec));
    TRY(read_spec(&inputs, "in_spec", program->in_spec, flatten_inputs));
    if (inputs.count != program->user_input_count)
        return json_fail(&member, INSITU_FORMAT, "%u leaves for %u user inputs", inputs.count,
                         program->user_input_count);
    TRY(json_member(signature, "out_spec", &member));
    TRY(reader_text(reader, &member, &program->out_spec));
    TRY(read_spec(&outputs, "out_spec", program->out_spec, flatten_outputs));
    if (outputs.count != program->user_output_count)
        return json_fail(&member, INSITU_FORMAT, "%u leaves for %u user outputs", outputs.count,
                         program->user_output_count);
    return set_guards(reader, &inputs);
}

/* The whole model is the entry of module_call_graph whose name is empty. */
insitu_status read_call_specs(reader_t *reader, const json_cursor_t *graph_module) {
    json_cursor_t entries, fields;
    uint32_t count;
    bool has_fields = json_optional(graph_module, "treespec_namedtuple_fields", &fields);
    TRY(json_member(graph_module, "module_call_graph", &entries));
    TRY(json_count(&entries, &count));
    for (uint32_t i = 0; i < count; i++) {
        json_cursor_t entry, member;
        const char *fqn;
        json_item(&entries, i, &entry);
        TRY(json_member(&entry, "fqn", &member));
        TRY(json_text(&member, &fqn));
        if (fqn[0]) continue;
        TRY(json_member(&entry, "signature", &member));
        return read_specs(reader, &member, has_fields ? &fields : NULL);
    }
    return json_fail(&entries, INSITU_FORMAT, "the entry of the whole model (fqn \"\") is missing");
}

/* ---- guards ---- */

static bool is_path(const char *guard, const char *name, size_t name_size, const char *rest, size_t rest_size) {
    return guard && strncmp(guard, "L['", 3) == 0 && strncmp(guard + 3, name, name_size) == 0 &&
           strncmp(guard + 3 + name_size, "']", 2) == 0 && strlen(guard + 5 + name_size) == rest_size &&
           memcmp(guard + 5 + name_size, rest, rest_size) == 0;
}

/* *args and **kwargs are spelled out in the specs, under the names a_0, a_1, ... and the keywords, but guards go through
 * the containers: L['a'][0], L['kwargs']['k']. Writes the spelled-out name of such a path; false if it is none. */
static bool spelled_out(const char *path, size_t size, char name[MAX_NAME], size_t *out_name_size, size_t *out_used) {
    if (size < 5 || size >= MAX_NAME || memcmp(path, "L['", 3) != 0) return false;
    const char *quote = memchr(path + 3, '\'', size - 3), *limit = path + size;
    if (!quote || limit - quote < 4 || quote[1] != ']' || quote[2] != '[') return false;
    const char *key = quote + 3;
    const char *end = memchr(key, ']', (size_t)(limit - key));
    if (!end) return false;
    size_t container = (size_t)(quote - path) - 3, length = (size_t)(end - key);
    int written;
    if (key[0] == '\'' && length >= 2)
        written = snprintf(name, MAX_NAME, "%.*s", (int)(length - 2), key + 1);
    else
        written = snprintf(name, MAX_NAME, "%.*s_%.*s", (int)container, path + 3, (int)length, key);
    if (written < 0 || written >= MAX_NAME) return false;
    *out_name_size = (size_t)written;
    *out_used = (size_t)(end + 1 - path);
    return true;
}

/* L['flat_args'][k], as strict export calls the k-th leaf of all arguments. */
static uint32_t flat_input(const archive_program_t *program, const char *text, size_t size) {
    static const char start[] = "L['flat_args'][";
    size_t at = sizeof(start) - 1;
    uint64_t number = 0;
    if (size < at + 2 || memcmp(text, start, at) != 0 || text[size - 1] != ']') return NONE;
    for (; at < size - 1; at++) {
        if (text[at] < '0' || text[at] > '9' || number > program->user_input_count) return NONE;
        number = number * 10 + (uint64_t)(text[at] - '0');
    }
    return number < program->user_input_count ? program->user_inputs[number] : NONE;
}

uint32_t archive_find_guard_input(const archive_program_t *program, const char *text, size_t size) {
    for (uint32_t i = 0; i < program->user_input_count; i++) {
        const char *guard = program->inputs[program->user_inputs[i]].guard;
        if (guard && strlen(guard) == size && memcmp(guard, text, size) == 0) return program->user_inputs[i];
    }
    char name[MAX_NAME];
    size_t name_size, used;
    if (!spelled_out(text, size, name, &name_size, &used)) return NONE;
    for (uint32_t i = 0; i < program->user_input_count; i++) {
        const char *guard = program->inputs[program->user_inputs[i]].guard;
        if (is_path(guard, name, name_size, text + used, size - used)) return program->user_inputs[i];
    }
    return flat_input(program, text, size);
}
