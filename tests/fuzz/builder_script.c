#include "builder_script.h"
#include "core/core.h"
#include "fuzz.h"
#include "layer_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls beside those of the table of layers. */
enum other_call {
    CALL_SYMBOL,
    CALL_EXPRESSION,
    CALL_ASSERT,
    CALL_INPUT,
    CALL_NUMBER,
    CALL_STATE,
    CALL_CONSTANT,
    CALL_ASSIGN,
    CALL_OUTPUT,
    CALL_NUMBER_OUTPUT,
    CALL_RENAME,
    OTHER_CALLS
};

static uint8_t next(script_record_t *record) { return record->at < record->size ? record->bytes[record->at++] : 0; }

/* No tensor is larger than any memory, whatever the symbols are. */
static void check_size(const script_t *script, insitu_value value) {
    insitu_network_value info = {.struct_size = sizeof(info)};
    fuzz_expect(insitu_network_describe(script->network, value, &info, script->diag) == INSITU_OK,
                "value %u is not described", value.id);
    int64_t bytes = info.dtype.bits / 8;
    for (int32_t i = 0; i < info.ndim; i++)
        fuzz_expect(checked_mul(bytes, info.min_sizes[i] > 1 ? info.min_sizes[i] : 1, &bytes) && bytes <= INT64_C(1)
                                                                                                              << 56,
                    "'%s' is too large", info.name);
}

static void keep_value(script_t *script, insitu_value value) {
    if (value.id) check_size(script, value);
    if (value.id && script->value_count < SCRIPT_VALUES) script->values[script->value_count++] = value;
}

static void keep_number(script_t *script, insitu_number number) {
    if (script->number_count < SCRIPT_VALUES) script->numbers[script->number_count++] = number;
}

/* ---- what a byte stands for ---- */

static bool is_alike(const script_t *script, insitu_value a, insitu_value b) {
    insitu_network_value one = {.struct_size = sizeof(one)}, other = {.struct_size = sizeof(other)};
    return insitu_network_describe(script->network, a, &one, NULL) == INSITU_OK &&
           insitu_network_describe(script->network, b, &other, NULL) == INSITU_OK && one.ndim == other.ndim &&
           one.dtype.code == other.dtype.code && one.dtype.bits == other.dtype.bits;
}

/* Most bytes: one of the good value's dtype and rank. */
static insitu_value value_of_byte(const script_t *script, uint8_t byte, insitu_value good) {
    uint32_t count = script->value_count, alike = 0;
    if (byte == 0) return good;
    if (byte >= 253) return (insitu_value){byte == 253 ? 0 : byte == 254 ? count + 1000 : UINT32_MAX};
    if (byte >= 200) return script->values[count - 1 - byte % count]; /* the newest first */
    insitu_value found = good;
    for (uint32_t i = count; i-- > 0 && alike < byte;)
        if (is_alike(script, script->values[i], good)) {
            found = script->values[i];
            alike++;
        }
    return found;
}

static insitu_number number_of_byte(script_t *script, uint8_t byte, insitu_number good) {
    static const int64_t odd[] = {INT64_MAX,
                                  INT64_MIN,
                                  INT64_C(1) << 31,
                                  INT64_C(1) << 40,
                                  INT64_C(1) << 55,
                                  INT64_C(1) << 56,
                                  INT64_C(1) << 62,
                                  -1,
                                  INT64_MAX - 1,
                                  1000,
                                  65536,
                                  -INT64_MAX,
                                  INT64_C(1) << 20,
                                  INT32_MAX,
                                  INT32_MIN,
                                  64};
    if (byte == 0) return good;
    if (byte <= 24) return insitu_int((int64_t)byte - 5);
    if (byte < 160) {
        script->has_symbols = true;
        return script->numbers[byte % script->number_count];
    }
    if (byte < 240) return insitu_int(odd[byte % COUNT_OF(odd)]);
    switch (byte) {
    case 240: return insitu_float(0.5);
    case 241: return insitu_float((double)NAN);
    case 242: return insitu_float((double)INFINITY);
    case 243: return insitu_float(-1e300);
    case 244: return insitu_bool(true);
    case 245: return (insitu_number){.kind = (insitu_number_kind)77};
    case 246: return (insitu_number){.kind = INSITU_NUMBER_EXPRESSION, .of = {.integer = 1 << 20}};
    case 247: return (insitu_number){.kind = INSITU_NUMBER_EXPRESSION, .of = {.integer = -1}};
    default: return insitu_int(byte - 244);
    }
}

static insitu_dtype dtype_of_byte(uint8_t byte, insitu_dtype good) {
    static const insitu_dtype dtypes[] = {
        {INSITU_CODE_BOOL, 8, 1},     {INSITU_CODE_INT, 8, 1},       {INSITU_CODE_INT, 16, 1},
        {INSITU_CODE_INT, 32, 1},     {INSITU_CODE_INT, 64, 1},      {INSITU_CODE_UINT, 8, 1},
        {INSITU_CODE_UINT, 16, 1},    {INSITU_CODE_UINT, 64, 1},     {INSITU_CODE_FLOAT, 16, 1},
        {INSITU_CODE_BFLOAT, 16, 1},  {INSITU_CODE_FLOAT, 64, 1},    {INSITU_CODE_COMPLEX, 64, 1},
        {INSITU_CODE_COMPLEX, 32, 1}, {INSITU_CODE_COMPLEX, 128, 1}, {INSITU_CODE_FLOAT8_E5M2, 8, 1},
        {INSITU_CODE_FLOAT, 24, 1},   {INSITU_CODE_INT, 32, 4},      {99, 8, 1}};
    if (byte == 0) return good;
    return dtypes[byte % (byte >= 230 ? COUNT_OF(dtypes) : COUNT_OF(dtypes) - 3)];
}

/* Most bytes: one that the layer may take. */
static const char *op_of_byte(uint8_t byte, const char *good) {
    static const struct {
        const char *name;
        op_group_t group;
    } ops[] = {
#define OP(id, name, group) {name, group},
#include "core/ops.def"
#undef OP
    };
    static const char *const odd[] = {"", "twice", NULL, "max", "add"};
    op_group_t group = OPS_UNARY;
    if (byte == 0) return good;
    if (byte >= 250) return odd[byte % COUNT_OF(odd)];
    for (size_t i = 0; i < COUNT_OF(ops); i++)
        if (strcmp(ops[i].name, good) == 0) group = ops[i].group;
    if (group == OPS_BINARY && byte & 1) group = OPS_COMPARE;
    const char *found = good;
    for (size_t i = 0, left = byte; left > 0; i = (i + 1) % COUNT_OF(ops)) {
        if (ops[i].group != group) continue;
        found = ops[i].name;
        left--;
    }
    return found;
}

static int32_t dim_of_byte(uint8_t byte, int32_t good) {
    static const int32_t odd[] = {-1, 4, 5, INT32_MIN, INT32_MAX};
    if (byte == 0) return good;
    return byte >= 230 ? odd[byte % COUNT_OF(odd)] : byte % 4;
}

static int64_t integer_of_byte(script_t *script, uint8_t byte, int64_t good) {
    insitu_number number = number_of_byte(script, byte, insitu_int(good));
    return number.kind == INSITU_NUMBER_INT ? number.of.integer : good;
}

static int32_t rank_of_byte(uint8_t byte, int32_t good) {
    static const int32_t odd[] = {-1, 12, 13, INT32_MAX, INT32_MIN};
    if (byte == 0) return good;
    return byte >= 248 ? odd[byte % COUNT_OF(odd)] : byte % 6;
}

/* ---- layers ---- */

typedef struct lists {
    insitu_number first[16], second[16];
    int32_t dims[16];
    insitu_value values[16];
    int64_t window[5][16];
    insitu_window whole;
    char name[8];
} lists_t;

static void read_sizes(script_t *script, script_record_t *record, layer_arguments_t *given, lists_t *lists,
                       unsigned uses) {
    int32_t good = given->rank;
    given->rank = rank_of_byte(next(record), good);
    for (int32_t i = 0; i < 16; i++) {
        bool is_read = i < given->rank && i < 6;
        const insitu_number first = i < good ? given->first[i] : insitu_int(1),
                            second = i < good ? given->second[i] : insitu_int(0);
        lists->first[i] = number_of_byte(script, is_read ? next(record) : 0, first);
        lists->second[i] = number_of_byte(script, is_read && uses & USES_AFTER ? next(record) : 0, second);
    }
    given->first = lists->first;
    given->second = lists->second;
}

static void read_dims(script_record_t *record, layer_arguments_t *given, lists_t *lists) {
    given->dim_count = rank_of_byte(next(record), given->dim_count);
    for (int32_t i = 0; i < 16; i++)
        lists->dims[i] = dim_of_byte(i < given->dim_count && i < 6 ? next(record) : 0, i < 2 ? i : i % 4);
    given->dims = lists->dims;
}

static void read_values(const script_t *script, script_record_t *record, layer_arguments_t *given, lists_t *lists) {
    given->value_count = dim_of_byte(next(record), given->value_count);
    if (given->value_count > 16) given->value_count = 16;
    for (int32_t i = 0; i < 16; i++)
        lists->values[i] =
            value_of_byte(script, i < given->value_count && i < 4 ? next(record) : 0, given->values[i % 2]);
    given->values = lists->values;
}

static void read_window(script_t *script, script_record_t *record, layer_arguments_t *given, lists_t *lists) {
    const int64_t **parts[5] = {&lists->whole.kernel, &lists->whole.stride, &lists->whole.padding,
                                &lists->whole.dilation, &lists->whole.output_padding};
    lists->whole = *given->window;
    for (size_t p = 0; p < COUNT_OF(parts); p++) {
        uint8_t byte = next(record);
        if (byte == 0) continue;
        for (int i = 0; i < 16; i++) lists->window[p][i] = integer_of_byte(script, byte, 1);
        *parts[p] = lists->window[p];
    }
    lists->whole.groups = integer_of_byte(script, next(record), 0);
    uint8_t flags = next(record);
    lists->whole.transposed = flags & 1;
    lists->whole.ceil_mode = flags & 2;
    lists->whole.count_pad = flags & 4;
    if (flags & 8) lists->whole.divisor = integer_of_byte(script, next(record), 3);
    given->window = flags & 128 ? NULL : &lists->whole;
}

static void read_numbers(script_t *script, script_record_t *record, layer_arguments_t *given, unsigned uses) {
    static const unsigned bits[3] = {USES_START, USES_END, USES_STEP};
    for (size_t i = 0; i < 3; i++)
        if (uses & bits[i]) given->numbers[i] = number_of_byte(script, next(record), given->numbers[i]);
    for (size_t i = 0; i < 2; i++) given->integers[i] = integer_of_byte(script, next(record), given->integers[i]);
}

static insitu_status call_layer(script_t *script, const layer_call_t *row, script_record_t *record) {
    layer_arguments_t given = layer_call_good(row, script->first);
    layer_results_t results = {{{0}, {0}}, {0}, false};
    lists_t lists;
    unsigned uses = row->uses;
    memset(&lists, 0, sizeof(lists));
    for (size_t i = 0; row->operands[i]; i++)
        given.operands[i] = value_of_byte(script, next(record), given.operands[i]);
    if (uses & USES_OP) given.op = op_of_byte(next(record), given.op);
    if (uses & USES_DTYPE) given.dtype = dtype_of_byte(next(record), given.dtype);
    if (uses & USES_DIM) given.dim = dim_of_byte(next(record), given.dim);
    if (uses & USES_DIM2) given.dim2 = dim_of_byte(next(record), given.dim2);
    if (uses & USES_COUNT) given.count = dim_of_byte(next(record), given.count);
    if (uses & USES_SIZES) read_sizes(script, record, &given, &lists, uses);
    if (uses & USES_DIMS) read_dims(record, &given, &lists);
    if (uses & USES_LIST) read_values(script, record, &given, &lists);
    if (uses & USES_WINDOW) read_window(script, record, &given, &lists);
    read_numbers(script, record, &given, uses);
    if (uses & USES_NAME) {
        snprintf(lists.name, sizeof(lists.name), "u%u", script->number_count);
        given.name = lists.name;
        given.min = given.integers[1];
        given.max = integer_of_byte(script, next(record), -1);
    }
    uint8_t flags = next(record);
    given.flags[0] = flags & 1;
    given.flags[1] = flags & 2;
    given.layout = (insitu_cache_layout)((flags >> 2) & 3);
    given.real = flags & 16 ? 1.0 : flags & 32 ? (double)NAN : 0.0;
    insitu_status status = row->call(script->network, &given, &results, script->diag);
    if (status != INSITU_OK) return status;
    keep_value(script, results.values[0]);
    keep_value(script, results.values[1]);
    if (results.has_number) keep_number(script, results.number);
    script->has_symbols |= results.has_number;
    return status;
}

/* ---- the rest ---- */

/* Most bytes: a new one. */
static const char *name_of_byte(script_t *script, uint8_t byte, char name[16]) {
    static const char *const odd[] = {"", "max", "a b", "\"q\"", "%", "true", "n.1", "f32", "X", "\n", "a1", "\xff"};
    if (byte >= 200) return odd[byte % COUNT_OF(odd)];
    snprintf(name, 16, "a%u", ++script->name_count);
    return name;
}

static insitu_status call_expression(script_t *script, script_record_t *record) {
    static const char *const pieces[] = {
        "n",    "k",     "a0",     "b0",   "0",      "1",       "2",    "3",
        " + ",  " - ",   "*",      " // ", " % ",    " / ",     " << ", " >> ",
        "max(", "min(",  "where(", "pow(", ", ",     ")",       "(",    " == ",
        " < ",  " and ", " or ",   "not ", "float(", "trunc(",  "1.5",  "9223372036854775807",
        "-",    "true",  "abs(",   "64",   "inf",    "bitand(", " ",    "sqrt("};
    static const char *const good[] = {
        "n",     "n + 1",        "2*n",   "n // 2", "n % 4 == 0", "max(n - 4, 0)",      "min(n, 4)",  "n*n",
        "n - 1", "float(n) / 2", "n < 4", "4",      "pow(n, 3)",  "where(n < 2, n, 2)", "abs(n - 3)", "n << 2"};
    char text[512] = "";
    insitu_number number;
    uint8_t count = next(record);
    if (count < 128) {
        snprintf(text, sizeof(text), "%s", good[count % COUNT_OF(good)]);
    } else {
        size_t length = 0;
        for (uint8_t i = 0; i < count % 14; i++)
            length +=
                (size_t)snprintf(text + length, sizeof(text) - length, "%s", pieces[next(record) % COUNT_OF(pieces)]);
    }
    insitu_status status = insitu_network_add_expression(script->network, text, &number, script->diag);
    if (status == INSITU_OK) keep_number(script, number);
    return status;
}

static insitu_status call_symbol(script_t *script, script_record_t *record, bool is_number) {
    static const insitu_dtype dtypes[] = {
        {INSITU_CODE_INT, 64, 1}, {INSITU_CODE_FLOAT, 64, 1}, {INSITU_CODE_BOOL, 8, 1}, {INSITU_CODE_INT, 32, 1}};
    char name[16];
    insitu_number number;
    const char *chosen = name_of_byte(script, next(record), name);
    int64_t min = integer_of_byte(script, next(record), 0), max = integer_of_byte(script, next(record), -1);
    if (is_number && script->input_count == SCRIPT_INPUTS) return INSITU_OK;
    insitu_status status =
        is_number ? insitu_network_add_number(script->network, chosen, dtypes[next(record) % COUNT_OF(dtypes)], min,
                                              max, &number, script->diag)
                  : insitu_network_add_symbol(script->network, chosen, min, max, &number, script->diag);
    if (status != INSITU_OK) return status;
    script->input_count += is_number;
    script->has_symbols = true;
    keep_number(script, number);
    return status;
}

static insitu_status call_tensor(script_t *script, script_record_t *record, enum other_call call) {
    static const uint8_t bytes[256] = {0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0x80, 0x3f};
    char name[16];
    insitu_number sizes[16];
    int64_t constants[16];
    insitu_value value;
    const char *chosen = name_of_byte(script, next(record), name);
    insitu_dtype dtype = dtype_of_byte(next(record), (insitu_dtype){INSITU_CODE_FLOAT, 32, 1});
    int32_t rank = rank_of_byte(next(record), 2);
    uint8_t data = next(record);
    uint64_t size = (dtype.bits + 7U) / 8;
    for (int32_t i = 0; i < 16; i++) {
        sizes[i] = number_of_byte(script, i < rank && i < 5 ? next(record) : 0, insitu_int(2));
        constants[i] = sizes[i].kind == INSITU_NUMBER_INT ? sizes[i].of.integer : 3;
        if (i < rank && size <= sizeof(bytes)) size *= (uint64_t)constants[i];
    }
    if (data == 200 || size > sizeof(bytes)) size = 7; /* bytes of another size */
    bool has_data = data != 0 && size > 0;
    if (call == CALL_INPUT && script->input_count == SCRIPT_INPUTS) return INSITU_OK;
    insitu_status status =
        call == CALL_INPUT ? insitu_network_add_input(script->network, chosen, dtype, rank, sizes, &value, script->diag)
        : call == CALL_STATE
            ? insitu_network_add_state(script->network, chosen, dtype, rank, sizes, has_data ? bytes : NULL,
                                       has_data ? (size_t)size : 0, &value, script->diag)
            : insitu_network_add_constant(script->network, chosen, dtype, rank, constants, bytes, (size_t)size, &value,
                                          script->diag);
    if (status != INSITU_OK) return status;
    script->input_count += call == CALL_INPUT;
    keep_value(script, value);
    return status;
}

static insitu_status call_end(script_t *script, script_record_t *record, enum other_call call) {
    char name[16];
    const insitu_value newest = script->values[script->value_count - 1];
    insitu_value a = value_of_byte(script, next(record), newest);
    if (call == CALL_ASSIGN) {
        insitu_value target = script->first[next(record) % 4];
        uint8_t other = next(record);
        if (other) target = value_of_byte(script, other, target);
        return insitu_network_assign(script->network, target, a, script->diag);
    }
    const char *chosen = name_of_byte(script, next(record), name);
    insitu_number number = number_of_byte(script, next(record), insitu_int(1));
    if (call == CALL_ASSERT) return insitu_network_add_assert(script->network, number, chosen, script->diag);
    if (call == CALL_RENAME) return insitu_network_set_name(script->network, a, chosen, script->diag);
    insitu_status status = call == CALL_OUTPUT
                               ? insitu_network_mark_output(script->network, a, chosen, script->diag)
                               : insitu_network_mark_number(script->network, number, chosen, script->diag);
    script->output_count += status == INSITU_OK;
    return status;
}

insitu_status script_call(script_t *script, script_record_t *record) {
    uint8_t which = (uint8_t)(next(record) % (LAYER_CALL_COUNT + OTHER_CALLS));
    if (which < LAYER_CALL_COUNT) return call_layer(script, &LAYER_CALLS[which], record);
    enum other_call call = (enum other_call)(which - LAYER_CALL_COUNT);
    if (call == CALL_EXPRESSION) return call_expression(script, record);
    if (call == CALL_SYMBOL || call == CALL_NUMBER) return call_symbol(script, record, call == CALL_NUMBER);
    if (call == CALL_INPUT || call == CALL_STATE || call == CALL_CONSTANT) return call_tensor(script, record, call);
    return call_end(script, record, call);
}

void script_begin(script_t *script, uint8_t options) {
    insitu_number n;
    fuzz_expect(insitu_network_create(&script->network, script->diag) == INSITU_OK, "no network");
    fuzz_expect(insitu_network_add_symbol(script->network, "n", options & 8 ? 4 : 0, options & 16 ? 4 : 9, &n,
                                          script->diag) == INSITU_OK,
                "no symbol");
    keep_number(script, n);
    for (size_t i = 0; i < LETTER_TYPE_COUNT; i++) {
        const letter_type_t *type = &LETTER_TYPES[i];
        char name[2] = {type->letter, '\0'};
        insitu_number sizes[4];
        for (int32_t d = 0; d < type->rank; d++) sizes[d] = insitu_int(type->sizes[d]);
        if (i < 4 && options & 32) sizes[0] = n;
        bool is_state = (i < 3 && (options >> i) & 1) || (options & 64 && i >= 3);
        insitu_status status = is_state ? insitu_network_add_state(script->network, name, type->dtype, type->rank,
                                                                   sizes, NULL, 0, &script->first[i], script->diag)
                                        : insitu_network_add_input(script->network, name, type->dtype, type->rank,
                                                                   sizes, &script->first[i], script->diag);
        fuzz_expect(status == INSITU_OK, "no input: %s", script->diag->message);
        script->input_count += !is_state;
        keep_value(script, script->first[i]);
    }
    script->has_symbols = options & 32;
}

void script_finish(script_t *script) {
    insitu_value copy;
    fuzz_expect(insitu_network_add_copy(script->network, script->first[0], &copy, script->diag) == INSITU_OK,
                "nothing can be added any more: %s", script->diag->message);
    if (script->output_count) return;
    fuzz_expect(insitu_network_mark_output(script->network, script->values[script->value_count - 1], "last",
                                           script->diag) == INSITU_OK,
                "no output: %s", script->diag->message);
}
