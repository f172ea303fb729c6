/* The opcodes of pickles: a stack machine over the values of unpickle.h. */
#include "archive/unpickle.h"

typedef struct opcode {
    const char *name;
    insitu_status (*run)(unpickler_t *u, uint32_t operand); /* NULL: known, and refused */
    uint32_t operand;
} opcode_t;

enum { STOP = '.', LAST_PROTOCOL = 5 };

const char *pickled_kind_name(pickled_kind_t kind) {
    static const char *const names[] = {"None",   "a boolean", "an integer", "a number",  "a string", "a tuple",
                                        "a list", "a dict",    "a global",   "a storage", "a tensor"};
    return names[kind];
}

insitu_status unpickle_fail(const unpickler_t *u, insitu_status code, const char *format, ...) {
    char sentence[INSITU_DIAG_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return diag_set(u->diag, code, "%s, byte %zu, %s: %s", u->name, u->opcode_at, u->opcode, sentence);
}

insitu_status unpickle_new(unpickler_t *u, pickled_kind_t kind, pickled_t **out) {
    *out = NULL;
    if (u->value_count >= MAX_VALUES)
        return unpickle_fail(u, INSITU_FORMAT, "the pickle holds more than %d values", MAX_VALUES);
    TRY(arena_array(u->arena, 1, sizeof(**out), out));
    (*out)->kind = kind;
    u->value_count++;
    return INSITU_OK;
}

/* ---- the stack ---- */

static insitu_status push(unpickler_t *u, pickled_t *value) {
    TRY(arena_grow(u->arena, &u->stack, &u->stack_capacity, (size_t)u->height + 1, sizeof(*u->stack)));
    u->stack[u->height++] = value;
    return INSITU_OK;
}

/* Makes sure that count values lie above the last mark. */
static insitu_status need(const unpickler_t *u, uint32_t count) {
    uint32_t floor = u->mark_count ? u->marks[u->mark_count - 1] : 0;
    if (u->height - floor < count)
        return unpickle_fail(u, INSITU_FORMAT, "it needs %u values where the stack has %u", count, u->height - floor);
    return INSITU_OK;
}

static insitu_status pop(unpickler_t *u, pickled_t **out) {
    *out = NULL;
    TRY(need(u, 1));
    *out = u->stack[--u->height];
    return INSITU_OK;
}

static insitu_status pop_text(unpickler_t *u, const pickled_t **out) {
    pickled_t *value;
    *out = NULL;
    TRY(pop(u, &value));
    if (value->kind != PICKLED_TEXT)
        return unpickle_fail(u, INSITU_FORMAT, "%s where a string was expected", pickled_kind_name(value->kind));
    *out = value;
    return INSITU_OK;
}

/* Removes the last mark; the values above it stay, and their count is told. */
static insitu_status pop_mark(unpickler_t *u, uint32_t *out_count) {
    *out_count = 0;
    if (!u->mark_count) return unpickle_fail(u, INSITU_FORMAT, "there is no mark on the stack");
    *out_count = u->height - u->marks[--u->mark_count];
    return INSITU_OK;
}

/* ---- what follows an opcode ---- */

static insitu_status take(unpickler_t *u, uint64_t size, const uint8_t **out) {
    *out = NULL;
    if (size > u->size - u->position)
        return unpickle_fail(u, INSITU_FORMAT, "it needs %llu bytes where the record has %zu left",
                             (unsigned long long)size, u->size - u->position);
    *out = u->data + u->position;
    u->position += (size_t)size;
    return INSITU_OK;
}

/* A little-endian number of at most 8 bytes. */
static insitu_status take_number(unpickler_t *u, uint32_t size, uint64_t *out) {
    const uint8_t *bytes;
    *out = 0;
    TRY(take(u, size, &bytes));
    for (uint32_t i = 0; i < size; i++) *out |= (uint64_t)bytes[i] << (8 * i);
    return INSITU_OK;
}

/* Up to the end of the line, which is left out. */
static insitu_status take_line(unpickler_t *u, const char **out, size_t *out_size) {
    const uint8_t *start = u->data + u->position;
    const uint8_t *end = memchr(start, '\n', u->size - u->position);
    *out = "";
    *out_size = 0;
    if (!end) return unpickle_fail(u, INSITU_FORMAT, "the record ends inside a name");
    *out = (const char *)start;
    *out_size = (size_t)(end - start);
    u->position += *out_size + 1;
    return INSITU_OK;
}

/* ---- plain values ---- */

static insitu_status op_protocol(unpickler_t *u, uint32_t operand) {
    uint64_t version;
    (void)operand;
    TRY(take_number(u, 1, &version));
    if (version > LAST_PROTOCOL)
        return unpickle_fail(u, INSITU_UNSUPPORTED, "pickle protocol %u; at most %d is read", (unsigned)version,
                             LAST_PROTOCOL);
    return INSITU_OK;
}

static insitu_status op_frame(unpickler_t *u, uint32_t operand) {
    uint64_t size;
    (void)operand;
    TRY(take_number(u, 8, &size));
    if (size > u->size - u->position)
        return unpickle_fail(u, INSITU_FORMAT, "a frame of %llu bytes where the record has %zu left",
                             (unsigned long long)size, u->size - u->position);
    return INSITU_OK;
}

static insitu_status op_none(unpickler_t *u, uint32_t operand) {
    pickled_t *value;
    (void)operand;
    TRY(unpickle_new(u, PICKLED_NONE, &value));
    return push(u, value);
}

static insitu_status op_bool(unpickler_t *u, uint32_t operand) {
    pickled_t *value;
    TRY(unpickle_new(u, PICKLED_BOOL, &value));
    value->number = operand;
    return push(u, value);
}

static insitu_status push_int(unpickler_t *u, int64_t number) {
    pickled_t *value;
    TRY(unpickle_new(u, PICKLED_INT, &value));
    value->number = number;
    return push(u, value);
}

/* size bytes, extended by their sign */
static insitu_status take_signed(unpickler_t *u, uint32_t size, int64_t *out) {
    uint64_t bits;
    *out = 0;
    TRY(take_number(u, size, &bits));
    if (size && size < 8 && bits >> (8 * size - 1)) bits |= UINT64_MAX << (8 * size);
    memcpy(out, &bits, sizeof(bits));
    return INSITU_OK;
}

static insitu_status op_unsigned(unpickler_t *u, uint32_t operand) {
    uint64_t number;
    TRY(take_number(u, operand, &number));
    return push_int(u, (int64_t)number);
}

static insitu_status op_signed(unpickler_t *u, uint32_t operand) {
    int64_t number;
    TRY(take_signed(u, operand, &number));
    return push_int(u, number);
}

static insitu_status op_long(unpickler_t *u, uint32_t operand) {
    uint64_t size;
    int64_t number;
    TRY(take_number(u, operand, &size));
    if (size > 8)
        return unpickle_fail(u, INSITU_UNSUPPORTED, "an integer of %llu bytes; at most 8 are read",
                             (unsigned long long)size);
    TRY(take_signed(u, (uint32_t)size, &number));
    return push_int(u, number);
}

static insitu_status op_float(unpickler_t *u, uint32_t operand) { /* big-endian */
    const uint8_t *bytes;
    pickled_t *value;
    uint64_t bits = 0;
    (void)operand;
    TRY(take(u, 8, &bytes));
    for (uint32_t i = 0; i < 8; i++) bits = bits << 8 | bytes[i];
    TRY(unpickle_new(u, PICKLED_FLOAT, &value));
    memcpy(&value->real, &bits, sizeof(bits));
    return push(u, value);
}

static insitu_status op_text(unpickler_t *u, uint32_t operand) {
    uint64_t size;
    const uint8_t *bytes;
    pickled_t *value;
    TRY(take_number(u, operand, &size));
    TRY(take(u, size, &bytes));
    TRY(unpickle_new(u, PICKLED_TEXT, &value));
    value->size = (size_t)size;
    TRY(arena_string(u->arena, (const char *)bytes, value->size, &value->text));
    return push(u, value);
}

/* ---- containers ---- */

static insitu_status op_mark(unpickler_t *u, uint32_t operand) {
    (void)operand;
    TRY(arena_grow(u->arena, &u->marks, &u->mark_capacity, (size_t)u->mark_count + 1, sizeof(*u->marks)));
    u->marks[u->mark_count++] = u->height;
    return INSITU_OK;
}

static insitu_status op_empty(unpickler_t *u, uint32_t operand) {
    pickled_t *value;
    TRY(unpickle_new(u, (pickled_kind_t)operand, &value));
    return push(u, value);
}

/* A tuple of the topmost values. */
static insitu_status op_tuple(unpickler_t *u, uint32_t operand) {
    pickled_t *value;
    TRY(need(u, operand));
    TRY(unpickle_new(u, PICKLED_TUPLE, &value));
    value->count = operand;
    u->height -= operand;
    if (operand) /* else there may be no stack yet */
        TRY(arena_copy(u->arena, u->stack + u->height, operand * sizeof(*u->stack), &value->items));
    return push(u, value);
}

static insitu_status op_tuple_marked(unpickler_t *u, uint32_t operand) {
    (void)operand;
    uint32_t count;
    TRY(pop_mark(u, &count));
    return op_tuple(u, count);
}

/* Adds the topmost count values to the container below them. */
static insitu_status add_items(unpickler_t *u, pickled_kind_t kind, uint32_t count) {
    u->height -= count;
    TRY(need(u, 1));
    pickled_t *target = u->stack[u->height - 1];
    if (target->kind != kind)
        return unpickle_fail(u, INSITU_FORMAT, "%s where %s was expected", pickled_kind_name(target->kind),
                             pickled_kind_name(kind));
    if (kind == PICKLED_DICT && count % 2)
        return unpickle_fail(u, INSITU_FORMAT, "the last of %u keys and values has no value", count);
    TRY(arena_grow(u->arena, &target->items, &target->capacity, (size_t)target->count + count, sizeof(*u->stack)));
    if (count) memcpy(target->items + target->count, u->stack + u->height, count * sizeof(*u->stack));
    target->count += count;
    return INSITU_OK;
}

static insitu_status op_append(unpickler_t *u, uint32_t operand) {
    TRY(need(u, 1));
    return add_items(u, (pickled_kind_t)operand, 1);
}

static insitu_status op_set_item(unpickler_t *u, uint32_t operand) {
    TRY(need(u, 2));
    return add_items(u, (pickled_kind_t)operand, 2);
}

static insitu_status op_add_marked(unpickler_t *u, uint32_t operand) {
    uint32_t count;
    TRY(pop_mark(u, &count));
    return add_items(u, (pickled_kind_t)operand, count);
}

/* ---- the memo ---- */

/* Python numbers the places in turn; so does every writer, which keeps the memo as small as the pickle. */
static insitu_status memoize(unpickler_t *u, uint64_t index) {
    TRY(need(u, 1));
    if (index > u->memo_count)
        return unpickle_fail(u, INSITU_FORMAT, "memo place %llu where %u would be next", (unsigned long long)index,
                             u->memo_count);
    TRY(arena_grow(u->arena, &u->memo, &u->memo_capacity, (size_t)index + 1, sizeof(*u->memo)));
    u->memo[index] = u->stack[u->height - 1];
    if (index == u->memo_count) u->memo_count++;
    return INSITU_OK;
}

static insitu_status op_put(unpickler_t *u, uint32_t operand) {
    uint64_t index;
    TRY(take_number(u, operand, &index));
    return memoize(u, index);
}

static insitu_status op_memoize(unpickler_t *u, uint32_t operand) {
    (void)operand;
    return memoize(u, u->memo_count);
}

static insitu_status op_get(unpickler_t *u, uint32_t operand) {
    uint64_t index;
    TRY(take_number(u, operand, &index));
    if (index >= u->memo_count)
        return unpickle_fail(u, INSITU_FORMAT, "memo place %llu is empty", (unsigned long long)index);
    return push(u, u->memo[index]);
}

/* ---- objects ---- */

static insitu_status op_global(unpickler_t *u, uint32_t operand) {
    const char *module, *name;
    size_t module_size, name_size;
    pickled_t *value;
    (void)operand;
    TRY(take_line(u, &module, &module_size));
    TRY(take_line(u, &name, &name_size));
    TRY(unpickle_global(u, module, module_size, name, name_size, &value));
    return push(u, value);
}

static insitu_status op_stack_global(unpickler_t *u, uint32_t operand) {
    const pickled_t *module, *name;
    pickled_t *value;
    (void)operand;
    TRY(pop_text(u, &name));
    TRY(pop_text(u, &module));
    TRY(unpickle_global(u, module->text, module->size, name->text, name->size, &value));
    return push(u, value);
}

static insitu_status op_reduce(unpickler_t *u, uint32_t operand) {
    pickled_t *arguments, *callee, *value;
    (void)operand;
    TRY(pop(u, &arguments));
    TRY(pop(u, &callee));
    TRY(unpickle_call(u, callee, arguments, &value));
    return push(u, value);
}

/* The attributes of an ordered dict (_metadata of a state dict) say nothing about its tensors. */
static insitu_status op_build(unpickler_t *u, uint32_t operand) {
    pickled_t *attributes;
    (void)operand;
    TRY(pop(u, &attributes));
    TRY(need(u, 1));
    const pickled_t *target = u->stack[u->height - 1];
    if (target->kind != PICKLED_DICT)
        return unpickle_fail(u, INSITU_UNSUPPORTED, "attributes of %s; only those of a dict are read",
                             pickled_kind_name(target->kind));
    return INSITU_OK;
}

static insitu_status op_persistent(unpickler_t *u, uint32_t operand) {
    pickled_t *id, *value;
    (void)operand;
    TRY(pop(u, &id));
    TRY(unpickle_persistent(u, id, &value));
    return push(u, value);
}

/* ---- table ---- */

static const opcode_t opcodes[256] = {
    ['('] = {"MARK", op_mark, 0},
    [')'] = {"EMPTY_TUPLE", op_empty, PICKLED_TUPLE},
    ['.'] = {"STOP", NULL, 0}, /* the loop's */
    ['0'] = {"POP", NULL, 0},
    ['1'] = {"POP_MARK", NULL, 0},
    ['2'] = {"DUP", NULL, 0},
    ['B'] = {"BINBYTES", NULL, 0},
    ['C'] = {"SHORT_BINBYTES", NULL, 0},
    ['F'] = {"FLOAT", NULL, 0},
    ['G'] = {"BINFLOAT", op_float, 0},
    ['I'] = {"INT", NULL, 0},
    ['J'] = {"BININT", op_signed, 4},
    ['K'] = {"BININT1", op_unsigned, 1},
    ['L'] = {"LONG", NULL, 0},
    ['M'] = {"BININT2", op_unsigned, 2},
    ['N'] = {"NONE", op_none, 0},
    ['P'] = {"PERSID", NULL, 0},
    ['Q'] = {"BINPERSID", op_persistent, 0},
    ['R'] = {"REDUCE", op_reduce, 0},
    ['S'] = {"STRING", NULL, 0},
    ['T'] = {"BINSTRING", NULL, 0},
    ['U'] = {"SHORT_BINSTRING", NULL, 0},
    ['V'] = {"UNICODE", NULL, 0},
    ['X'] = {"BINUNICODE", op_text, 4},
    [']'] = {"EMPTY_LIST", op_empty, PICKLED_LIST},
    ['a'] = {"APPEND", op_append, PICKLED_LIST},
    ['b'] = {"BUILD", op_build, 0},
    ['c'] = {"GLOBAL", op_global, 0},
    ['d'] = {"DICT", NULL, 0},
    ['e'] = {"APPENDS", op_add_marked, PICKLED_LIST},
    ['g'] = {"GET", NULL, 0},
    ['h'] = {"BINGET", op_get, 1},
    ['i'] = {"INST", NULL, 0},
    ['j'] = {"LONG_BINGET", op_get, 4},
    ['l'] = {"LIST", NULL, 0},
    ['o'] = {"OBJ", NULL, 0},
    ['p'] = {"PUT", NULL, 0},
    ['q'] = {"BINPUT", op_put, 1},
    ['r'] = {"LONG_BINPUT", op_put, 4},
    ['s'] = {"SETITEM", op_set_item, PICKLED_DICT},
    ['t'] = {"TUPLE", op_tuple_marked, 0},
    ['u'] = {"SETITEMS", op_add_marked, PICKLED_DICT},
    ['}'] = {"EMPTY_DICT", op_empty, PICKLED_DICT},
    [0x80] = {"PROTO", op_protocol, 0},
    [0x81] = {"NEWOBJ", NULL, 0},
    [0x82] = {"EXT1", NULL, 0},
    [0x83] = {"EXT2", NULL, 0},
    [0x84] = {"EXT4", NULL, 0},
    [0x85] = {"TUPLE1", op_tuple, 1},
    [0x86] = {"TUPLE2", op_tuple, 2},
    [0x87] = {"TUPLE3", op_tuple, 3},
    [0x88] = {"NEWTRUE", op_bool, 1},
    [0x89] = {"NEWFALSE", op_bool, 0},
    [0x8a] = {"LONG1", op_long, 1},
    [0x8b] = {"LONG4", op_long, 4},
    [0x8c] = {"SHORT_BINUNICODE", op_text, 1},
    [0x8d] = {"BINUNICODE8", op_text, 8},
    [0x8e] = {"BINBYTES8", NULL, 0},
    [0x8f] = {"EMPTY_SET", NULL, 0},
    [0x90] = {"ADDITEMS", NULL, 0},
    [0x91] = {"FROZENSET", NULL, 0},
    [0x92] = {"NEWOBJ_EX", NULL, 0},
    [0x93] = {"STACK_GLOBAL", op_stack_global, 0},
    [0x94] = {"MEMOIZE", op_memoize, 0},
    [0x95] = {"FRAME", op_frame, 0},
    [0x96] = {"BYTEARRAY8", NULL, 0},
    [0x97] = {"NEXT_BUFFER", NULL, 0},
    [0x98] = {"READONLY_BUFFER", NULL, 0},
};

/* One opcode; the value when it is STOP. */
static insitu_status step(unpickler_t *u, pickled_t **out) {
    u->opcode_at = u->position;
    u->opcode = "end";
    if (u->position >= u->size) return unpickle_fail(u, INSITU_FORMAT, "the record ends before the opcode STOP");
    uint8_t code = u->data[u->position++];
    const opcode_t *row = &opcodes[code];
    u->opcode = row->name ? row->name : "opcode";
    if (!row->name) return unpickle_fail(u, INSITU_FORMAT, "0x%02x is not an opcode of pickles", code);
    if (code == STOP) {
        if (u->mark_count || u->height != 1 || u->position != u->size)
            return unpickle_fail(u, INSITU_FORMAT, "it leaves %u marks and %u values, and %zu bytes follow it",
                                 u->mark_count, u->height, u->size - u->position);
        *out = u->stack[0];
        return INSITU_OK;
    }
    if (!row->run)
        return unpickle_fail(u, INSITU_UNSUPPORTED, "this opcode is not read: files of plain tensors do without it");
    return row->run(u, row->operand);
}

insitu_status unpickle(arena_t *arena, const char *name, const uint8_t *data, size_t size, const pickled_t **out,
                       insitu_diag *diag) {
    unpickler_t u = {.arena = arena, .name = name, .data = data, .size = size, .diag = diag};
    pickled_t *value = NULL;
    *out = NULL;
    while (!value) TRY(step(&u, &value));
    *out = value;
    return INSITU_OK;
}
