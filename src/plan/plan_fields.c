/* The table of fields, and the names of enums. A name that a file holds never changes its meaning. */
#include "plan/plan_fields.h"

/* ---- names ---- */

static const char *look_up(const char *const *names, size_t count, uint32_t index) {
    return index < count ? names[index] : NULL;
}

const char *sym_kind_name(uint32_t kind) {
    static const char *const names[] = {[SYM_KIND_INT] = "int", [SYM_KIND_FLOAT] = "float", [SYM_KIND_BOOL] = "bool"};
    return look_up(names, COUNT_OF(names), kind);
}

static const char *symbol_source_name(uint32_t kind) {
    static const char *const names[] = {[SYMBOL_UNUSED] = "unused",
                                        [SYMBOL_INPUT_SIZE] = "size",
                                        [SYMBOL_INPUT_VALUE] = "value",
                                        [SYMBOL_STATE_SIZE] = "state_size",
                                        [SYMBOL_STEP] = "item"};
    return look_up(names, COUNT_OF(names), kind);
}

static const char *storage_kind_name(uint32_t kind) {
    static const char *const names[] = {[STORAGE_WEIGHT] = "weight",
                                        [STORAGE_STATE] = "block",
                                        [STORAGE_INPUT] = "input",
                                        [STORAGE_OUTPUT] = "output",
                                        [STORAGE_ARENA] = "arena"};
    return look_up(names, COUNT_OF(names), kind);
}

static const char *step_kind_name(uint32_t kind) {
    static const char *const names[] = {
        [STEP_LAYER] = "layer", [STEP_CHECK_INDEX] = "check_index", [STEP_COND] = "cond", [STEP_LOOP] = "loop"};
    return look_up(names, COUNT_OF(names), kind);
}

static const char *output_kind_name(uint32_t kind) {
    static const char *const names[] = {[OUTPUT_TENSOR] = "tensor", [OUTPUT_NUMBER] = "number", [OUTPUT_NONE] = "none"};
    return look_up(names, COUNT_OF(names), kind);
}

static const char *alias_kind_name(uint32_t kind) {
    static const char *const names[] = {[ALIAS_NONE] = "new", [ALIAS_INPUT] = "input", [ALIAS_STATE] = "state"};
    return look_up(names, COUNT_OF(names), kind);
}

const char *update_kind_name(uint32_t kind) {
    static const char *const names[] = {[UPDATE_USER] = "user", [UPDATE_KV_CACHE] = "kv_cache_update"};
    return look_up(names, COUNT_OF(names), kind);
}

static const char *name_of_dtype(uint32_t type) { return type < DTYPE_COUNT ? dtype_name((dtype_t)type) : NULL; }

uint32_t name_find(names_fn names, const char *name, size_t size) {
    for (uint32_t i = 0; names(i); i++)
        if (strlen(names(i)) == size && memcmp(names(i), name, size) == 0) return i;
    return NONE;
}

/* ---- the table ---- */

#define NO_EXTRA .limit = 0
#define NO_LIMIT .limit = 0
#define LIMIT(member) .limit = offsetof(plan_t, member)
#define NAMES(function) .names = function
#define PART_OF(type) .part = &type##_struct
#define LOWEST .standard = INT64_MIN
#define HIGHEST .standard = INT64_MAX
#define ALWAYS UINT32_MAX
#define IS(value) (1u << (value))

#define STRUCT(type) static const plan_field_t type##_fields[] = {
#define FIELD(type, member, what, title, extra, exists)                                                                \
    {.kind = FIELD_##what, .name = title, .offset = offsetof(type##_t, member), extra, .when = exists},
#define END(type)                                                                                                      \
    }                                                                                                                  \
    ;                                                                                                                  \
    const plan_struct_t type##_struct = {type##_fields, COUNT_OF(type##_fields), sizeof(type##_t)};
#define TABLE(member, type, counted, row_title)
#include "plan/plan_fields.def"
#undef STRUCT
#undef FIELD
#undef END
#undef TABLE

#define STRUCT(type)
#define FIELD(type, member, what, title, extra, exists)
#define END(type)
#define TABLE(member, type, counted, row_title)                                                                        \
    {#member, row_title, offsetof(plan_t, member), offsetof(plan_t, counted), &type##_struct},
const plan_table_t plan_tables[] = {
#include "plan/plan_fields.def"
};

/* ---- fields ---- */

const plan_field_t *struct_selector(const plan_struct_t *fields) {
    for (uint32_t i = 0; i < fields->count; i++)
        if (fields->fields[i].kind == FIELD_ENUM || fields->fields[i].kind == FIELD_OPTIONAL_ENUM)
            return &fields->fields[i];
    return NULL;
}

bool field_exists(const plan_struct_t *fields, const plan_field_t *field, const void *row) {
    if (field->when == ALWAYS) return true;
    uint32_t value = field_number(struct_selector(fields), row);
    return value < 32 && (field->when & IS(value));
}

static bool is_zero(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const uint8_t *)bytes)[i]) return false;
    return true;
}

bool field_is_left_out(const plan_field_t *field, const void *row) {
    const void *place = field_of(field, row);
    switch (field->kind) {
    case FIELD_TEXT: return !*(const char *const *)place || !**(const char *const *)place;
    case FIELD_OPTIONAL_ID: return *(const uint32_t *)place == NONE;
    case FIELD_OPTIONAL_ENUM:
    case FIELD_SMALL:
    case FIELD_SYM: /* the constant 0 is expression 0 */
    case FIELD_COUNT: return *(const uint32_t *)place == 0;
    case FIELD_NUMBER: return *(const int64_t *)place == field->standard;
    case FIELD_FLAG: return !*(const bool *)place;
    case FIELD_TYPE: return is_zero(place, sizeof(tensor_type_t));
    case FIELD_ENUM:
    case FIELD_ID:
    case FIELD_SIZE:
    case FIELD_OPERAND:
    case FIELD_LAYER:
    case FIELD_PART: break;
    }
    return false;
}

bool field_leave_out(const plan_field_t *field, void *row) {
    void *place = (char *)row + field->offset;
    switch (field->kind) {
    case FIELD_TEXT: *(const char **)place = ""; return true;
    case FIELD_OPTIONAL_ID: *(uint32_t *)place = NONE; return true;
    case FIELD_OPTIONAL_ENUM:
    case FIELD_SMALL:
    case FIELD_SYM:
    case FIELD_COUNT: *(uint32_t *)place = 0; return true;
    case FIELD_NUMBER: *(int64_t *)place = field->standard; return true;
    case FIELD_FLAG: *(bool *)place = false; return true;
    case FIELD_TYPE: memset(place, 0, sizeof(tensor_type_t)); return true;
    case FIELD_ENUM:
    case FIELD_ID:
    case FIELD_SIZE:
    case FIELD_OPERAND:
    case FIELD_LAYER:
    case FIELD_PART: break;
    }
    return false;
}
