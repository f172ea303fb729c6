/* The globals that pickles of tensors name, and what calling them would build. No other name is accepted. */
#include "archive/unpickle.h"

typedef enum global_kind {
    GLOBAL_ORDERED_DICT,
    GLOBAL_STORAGE, /* a class of storages; dtype */
    GLOBAL_UNTYPED_STORAGE,
    GLOBAL_DTYPE, /* dtype */
    GLOBAL_TENSOR_CLASS,
    GLOBAL_SIZE,
    GLOBAL_TENSOR_V2, /* a function that builds a tensor, and the like below */
    GLOBAL_TENSOR_V3,
    GLOBAL_PARAMETER,
    GLOBAL_PARAMETER_WITH_STATE,
    GLOBAL_FROM_TYPE,
    GLOBAL_WITHOUT_DATA, /* refused: a tensor without bytes */
    GLOBAL_OTHER_TENSOR  /* refused: what says which tensor it builds */
} global_kind_t;

struct pickle_global {
    const char *module, *name;
    global_kind_t kind;
    dtype_t dtype;
    const char *what;
};

static const pickle_global_t globals[] = {
    {"collections", "OrderedDict", GLOBAL_ORDERED_DICT, DTYPE_COUNT, NULL},
    {"torch._utils", "_rebuild_tensor_v2", GLOBAL_TENSOR_V2, DTYPE_COUNT, NULL},
    {"torch._utils", "_rebuild_tensor_v3", GLOBAL_TENSOR_V3, DTYPE_COUNT, NULL},
    {"torch._utils", "_rebuild_parameter", GLOBAL_PARAMETER, DTYPE_COUNT, NULL},
    {"torch._utils", "_rebuild_parameter_with_state", GLOBAL_PARAMETER_WITH_STATE, DTYPE_COUNT, NULL},
    {"torch._tensor", "_rebuild_from_type_v2", GLOBAL_FROM_TYPE, DTYPE_COUNT, NULL},
    {"torch", "Tensor", GLOBAL_TENSOR_CLASS, DTYPE_COUNT, NULL},
    {"torch", "Size", GLOBAL_SIZE, DTYPE_COUNT, NULL},

    {"torch", "FloatStorage", GLOBAL_STORAGE, DTYPE_F32, NULL},
    {"torch", "DoubleStorage", GLOBAL_STORAGE, DTYPE_F64, NULL},
    {"torch", "HalfStorage", GLOBAL_STORAGE, DTYPE_F16, NULL},
    {"torch", "BFloat16Storage", GLOBAL_STORAGE, DTYPE_BF16, NULL},
    {"torch", "LongStorage", GLOBAL_STORAGE, DTYPE_I64, NULL},
    {"torch", "IntStorage", GLOBAL_STORAGE, DTYPE_I32, NULL},
    {"torch", "ShortStorage", GLOBAL_STORAGE, DTYPE_I16, NULL},
    {"torch", "CharStorage", GLOBAL_STORAGE, DTYPE_I8, NULL},
    {"torch", "ByteStorage", GLOBAL_STORAGE, DTYPE_U8, NULL},
    {"torch", "BoolStorage", GLOBAL_STORAGE, DTYPE_BOOL, NULL},
    {"torch", "ComplexFloatStorage", GLOBAL_STORAGE, DTYPE_C64, NULL},
    {"torch", "ComplexDoubleStorage", GLOBAL_STORAGE, DTYPE_C128, NULL},
    {"torch", "UntypedStorage", GLOBAL_UNTYPED_STORAGE, DTYPE_U8, NULL},
    {"torch.storage", "UntypedStorage", GLOBAL_UNTYPED_STORAGE, DTYPE_U8, NULL},

    {"torch", "bool", GLOBAL_DTYPE, DTYPE_BOOL, NULL},
    {"torch", "uint8", GLOBAL_DTYPE, DTYPE_U8, NULL},
    {"torch", "int8", GLOBAL_DTYPE, DTYPE_I8, NULL},
    {"torch", "int16", GLOBAL_DTYPE, DTYPE_I16, NULL},
    {"torch", "int32", GLOBAL_DTYPE, DTYPE_I32, NULL},
    {"torch", "int64", GLOBAL_DTYPE, DTYPE_I64, NULL},
    {"torch", "uint16", GLOBAL_DTYPE, DTYPE_U16, NULL},
    {"torch", "uint32", GLOBAL_DTYPE, DTYPE_U32, NULL},
    {"torch", "uint64", GLOBAL_DTYPE, DTYPE_U64, NULL},
    {"torch", "float16", GLOBAL_DTYPE, DTYPE_F16, NULL},
    {"torch", "bfloat16", GLOBAL_DTYPE, DTYPE_BF16, NULL},
    {"torch", "float32", GLOBAL_DTYPE, DTYPE_F32, NULL},
    {"torch", "float64", GLOBAL_DTYPE, DTYPE_F64, NULL},
    {"torch", "complex32", GLOBAL_DTYPE, DTYPE_C32, NULL},
    {"torch", "complex64", GLOBAL_DTYPE, DTYPE_C64, NULL},
    {"torch", "complex128", GLOBAL_DTYPE, DTYPE_C128, NULL},
    {"torch", "float8_e4m3fn", GLOBAL_DTYPE, DTYPE_E4M3FN, NULL},
    {"torch", "float8_e5m2", GLOBAL_DTYPE, DTYPE_E5M2, NULL},
    {"torch", "float8_e4m3fnuz", GLOBAL_DTYPE, DTYPE_E4M3FNUZ, NULL},
    {"torch", "float8_e5m2fnuz", GLOBAL_DTYPE, DTYPE_E5M2FNUZ, NULL},
    {"torch", "float8_e8m0fnu", GLOBAL_DTYPE, DTYPE_E8M0, NULL},

    {"torch._export.serde.serialize", "_reconstruct_fake_tensor", GLOBAL_WITHOUT_DATA, DTYPE_COUNT, "fake"},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", GLOBAL_WITHOUT_DATA, DTYPE_COUNT, "meta"},
    {"torch._utils", "_rebuild_qtensor", GLOBAL_OTHER_TENSOR, DTYPE_COUNT, "a quantized tensor"},
    {"torch._utils", "_rebuild_sparse_tensor", GLOBAL_OTHER_TENSOR, DTYPE_COUNT, "a sparse tensor"},
    {"torch._utils", "_rebuild_nested_tensor", GLOBAL_OTHER_TENSOR, DTYPE_COUNT, "a nested tensor"},
    {"torch._utils", "_rebuild_wrapper_subclass", GLOBAL_OTHER_TENSOR, DTYPE_COUNT, "a tensor subclass"},
};

enum { SHOWN_NAME = 120 };

/* "module.name" for an error, shortened, and without bytes that don't print. */
static void show_name(char shown[SHOWN_NAME], const char *module, size_t module_size, const char *name,
                      size_t name_size) {
    int module_shown = module_size < SHOWN_NAME / 2 ? (int)module_size : SHOWN_NAME / 2 - 2;
    int name_shown = name_size < SHOWN_NAME / 2 ? (int)name_size : SHOWN_NAME / 2 - 2;
    snprintf(shown, SHOWN_NAME, "%.*s.%.*s", module_shown, module, name_shown, name);
    for (char *at = shown; *at; at++)
        if (*at < ' ' || *at > '~') *at = '?';
}

static bool same(const char *text, const char *bytes, size_t size) {
    return strlen(text) == size && memcmp(text, bytes, size) == 0;
}

insitu_status unpickle_global(unpickler_t *u, const char *module, size_t module_size, const char *name,
                              size_t name_size, pickled_t **out) {
    *out = NULL;
    char shown[SHOWN_NAME];
    show_name(shown, module, module_size, name, name_size);
    for (size_t i = 0; i < COUNT_OF(globals); i++) {
        const pickle_global_t *row = &globals[i];
        if (!same(row->module, module, module_size) || !same(row->name, name, name_size)) continue;
        if (row->kind == GLOBAL_WITHOUT_DATA)
            return unpickle_fail(u, INSITU_FORMAT,
                                 "'%s': the file has no weights (the program was exported with %s tensors)", shown,
                                 row->what);
        if (row->kind == GLOBAL_OTHER_TENSOR)
            return unpickle_fail(u, INSITU_UNSUPPORTED, "'%s' builds %s; only plain tensors are read", shown,
                                 row->what);
        TRY(unpickle_new(u, PICKLED_GLOBAL, out));
        (*out)->global = row;
        return INSITU_OK;
    }
    return unpickle_fail(u, INSITU_UNSUPPORTED,
                         "the global '%s' is not read: files of plain tensors do without it, and nothing that a file "
                         "names is executed",
                         shown);
}

/* ---- arguments of calls ---- */

static insitu_status check_argument(const unpickler_t *u, const pickle_global_t *callee, const pickled_t *arguments,
                                    uint32_t index, pickled_kind_t kind) {
    const pickled_t *argument = arguments->items[index];
    if (argument->kind == kind) return INSITU_OK;
    return unpickle_fail(u, INSITU_FORMAT, "'%s.%s' is given %s as argument %u, where %s was expected", callee->module,
                         callee->name, pickled_kind_name(argument->kind), index, pickled_kind_name(kind));
}

static insitu_status check_count(const unpickler_t *u, const pickle_global_t *callee, const pickled_t *arguments,
                                 uint32_t least, uint32_t most) {
    if (arguments->count >= least && arguments->count <= most) return INSITU_OK;
    return unpickle_fail(u, INSITU_FORMAT, "'%s.%s' is given %u arguments where %u to %u were expected", callee->module,
                         callee->name, arguments->count, least, most);
}

/* A tuple of numbers >= 0, few enough for a shape. */
static insitu_status check_dims(const unpickler_t *u, const pickled_t *dims, const char *what) {
    if (dims->count > MAX_RANK)
        return unpickle_fail(u, INSITU_UNSUPPORTED, "a tensor of rank %u; at most %d is handled", dims->count,
                             MAX_RANK);
    for (uint32_t i = 0; i < dims->count; i++)
        if (dims->items[i]->kind != PICKLED_INT || dims->items[i]->number < 0)
            return unpickle_fail(u, INSITU_FORMAT, "the tensor's %s %u is not a number >= 0", what, i);
    return INSITU_OK;
}

/* ---- tensors ---- */

static insitu_status new_tensor(unpickler_t *u, const pickled_tensor_t *content, pickled_t **out) {
    pickled_tensor_t *tensor;
    TRY(arena_copy(u->arena, content, sizeof(*content), &tensor));
    TRY(unpickle_new(u, PICKLED_TENSOR, out));
    (*out)->tensor = tensor;
    return INSITU_OK;
}

/* (storage, offset, sizes, strides, requires_grad, hooks[, bits]); v3 has the dtype after the hooks, and its storage is
 * untyped. The bits are a dict that says whether reading conjugates or negates. */
static insitu_status call_tensor(unpickler_t *u, const pickle_global_t *callee, const pickled_t *arguments,
                                 pickled_t **out) {
    enum { STORAGE, OFFSET, SIZES, STRIDES, HOOKS = 5, DTYPE };
    bool has_dtype = callee->kind == GLOBAL_TENSOR_V3;
    uint32_t bits_at = has_dtype ? DTYPE + 1 : DTYPE;
    TRY(check_count(u, callee, arguments, bits_at, bits_at + 1));
    TRY(check_argument(u, callee, arguments, STORAGE, PICKLED_STORAGE));
    TRY(check_argument(u, callee, arguments, OFFSET, PICKLED_INT));
    TRY(check_argument(u, callee, arguments, SIZES, PICKLED_TUPLE));
    TRY(check_argument(u, callee, arguments, STRIDES, PICKLED_TUPLE));
    pickled_t *const *items = arguments->items;
    pickled_tensor_t tensor = {.storage = items[STORAGE]->storage,
                               .dtype = items[STORAGE]->storage->dtype,
                               .offset = items[OFFSET]->number,
                               .sizes = items[SIZES],
                               .strides = items[STRIDES]};
    if (has_dtype) {
        TRY(check_argument(u, callee, arguments, DTYPE, PICKLED_GLOBAL));
        if (items[DTYPE]->global->kind != GLOBAL_DTYPE)
            return unpickle_fail(u, INSITU_FORMAT, "'%s' is not a dtype", items[DTYPE]->global->name);
        tensor.dtype = items[DTYPE]->global->dtype;
    }
    if (tensor.offset < 0)
        return unpickle_fail(u, INSITU_FORMAT, "the tensor's offset %lld is negative", (long long)tensor.offset);
    TRY(check_dims(u, tensor.sizes, "size"));
    TRY(check_dims(u, tensor.strides, "stride"));
    if (tensor.sizes->count != tensor.strides->count)
        return unpickle_fail(u, INSITU_FORMAT, "%u strides for %u sizes", tensor.strides->count, tensor.sizes->count);
    if (arguments->count > bits_at) {
        const pickled_t *bits = items[bits_at];
        tensor.has_lazy_bits = bits->kind != PICKLED_NONE && (bits->kind != PICKLED_DICT || bits->count != 0);
    }
    return new_tensor(u, &tensor, out);
}

/* (tensor, requires_grad, hooks[, attributes]) */
static insitu_status call_parameter(unpickler_t *u, const pickle_global_t *callee, const pickled_t *arguments,
                                    pickled_t **out) {
    uint32_t count = callee->kind == GLOBAL_PARAMETER_WITH_STATE ? 4 : 3;
    TRY(check_count(u, callee, arguments, count, count));
    TRY(check_argument(u, callee, arguments, 0, PICKLED_TENSOR));
    pickled_tensor_t tensor = *arguments->items[0]->tensor;
    tensor.is_param = true;
    return new_tensor(u, &tensor, out);
}

/* (function, class, arguments of the function, attributes): a tensor that has Python attributes, such as nn.Buffer, or
 * one of a subclass. */
static insitu_status call_from_type(unpickler_t *u, const pickle_global_t *callee, const pickled_t *arguments,
                                    pickled_t **out) {
    TRY(check_count(u, callee, arguments, 4, 4));
    TRY(check_argument(u, callee, arguments, 0, PICKLED_GLOBAL));
    TRY(check_argument(u, callee, arguments, 1, PICKLED_GLOBAL));
    TRY(check_argument(u, callee, arguments, 2, PICKLED_TUPLE));
    const pickle_global_t *function = arguments->items[0]->global, *class = arguments->items[1]->global;
    if (class->kind != GLOBAL_TENSOR_CLASS)
        return unpickle_fail(u, INSITU_FORMAT, "'%s.%s' is not a class of tensors", class->module, class->name);
    if (function->kind != GLOBAL_TENSOR_V2 && function->kind != GLOBAL_TENSOR_V3)
        return unpickle_fail(u, INSITU_FORMAT, "'%s.%s' builds no plain tensor", function->module, function->name);
    return call_tensor(u, function, arguments->items[2], out);
}

static insitu_status call_size(unpickler_t *u, const pickle_global_t *callee, const pickled_t *arguments,
                               pickled_t **out) {
    TRY(check_count(u, callee, arguments, 1, 1));
    TRY(check_argument(u, callee, arguments, 0, PICKLED_TUPLE));
    *out = arguments->items[0];
    return INSITU_OK;
}

insitu_status unpickle_call(unpickler_t *u, const pickled_t *callee, const pickled_t *arguments, pickled_t **out) {
    *out = NULL;
    if (callee->kind != PICKLED_GLOBAL)
        return unpickle_fail(u, INSITU_FORMAT, "%s is called", pickled_kind_name(callee->kind));
    if (arguments->kind != PICKLED_TUPLE)
        return unpickle_fail(u, INSITU_FORMAT, "%s where the arguments of a call were expected",
                             pickled_kind_name(arguments->kind));
    const pickle_global_t *global = callee->global;
    switch (global->kind) {
    case GLOBAL_ORDERED_DICT: TRY(check_count(u, global, arguments, 0, 0)); return unpickle_new(u, PICKLED_DICT, out);
    case GLOBAL_TENSOR_V2:
    case GLOBAL_TENSOR_V3: return call_tensor(u, global, arguments, out);
    case GLOBAL_PARAMETER:
    case GLOBAL_PARAMETER_WITH_STATE: return call_parameter(u, global, arguments, out);
    case GLOBAL_FROM_TYPE: return call_from_type(u, global, arguments, out);
    case GLOBAL_SIZE: return call_size(u, global, arguments, out);
    case GLOBAL_STORAGE:
    case GLOBAL_UNTYPED_STORAGE:
    case GLOBAL_DTYPE:
    case GLOBAL_TENSOR_CLASS:
    case GLOBAL_WITHOUT_DATA:
    case GLOBAL_OTHER_TENSOR: break;
    }
    return unpickle_fail(u, INSITU_FORMAT, "'%s.%s' is called", global->module, global->name);
}

/* ---- storages ---- */

/* ("storage", class, key, device, count of elements; of bytes if it is untyped) */
insitu_status unpickle_persistent(unpickler_t *u, const pickled_t *id, pickled_t **out) {
    enum { TAG, CLASS, KEY, DEVICE, COUNT, PARTS };
    *out = NULL;
    if (id->kind != PICKLED_TUPLE || id->count != PARTS || id->items[TAG]->kind != PICKLED_TEXT ||
        strcmp(id->items[TAG]->text, "storage") != 0 || id->items[CLASS]->kind != PICKLED_GLOBAL ||
        id->items[KEY]->kind != PICKLED_TEXT || id->items[COUNT]->kind != PICKLED_INT)
        return unpickle_fail(u, INSITU_FORMAT,
                             "the id is not of the form ('storage', class, key, device, number of elements)");
    const pickle_global_t *class = id->items[CLASS]->global;
    const pickled_t *key = id->items[KEY], *count = id->items[COUNT];
    if (class->kind != GLOBAL_STORAGE && class->kind != GLOBAL_UNTYPED_STORAGE)
        return unpickle_fail(u, INSITU_FORMAT, "'%s.%s' is not a class of storages", class->module, class->name);
    if (!key->size || key->size > MAX_NAME || strlen(key->text) != key->size)
        return unpickle_fail(u, INSITU_FORMAT, "the storage's key is not the name of a record");
    if (count->number < 0)
        return unpickle_fail(u, INSITU_FORMAT, "a storage of %lld elements", (long long)count->number);
    pickled_storage_t *storage;
    TRY(arena_array(u->arena, 1, sizeof(*storage), &storage));
    *storage = (pickled_storage_t){.key = key->text, .dtype = class->dtype, .count = count->number};
    TRY(unpickle_new(u, PICKLED_STORAGE, out));
    (*out)->storage = storage;
    return INSITU_OK;
}
