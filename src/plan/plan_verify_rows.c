/* The plan verifier: fields by themselves, as plan_fields.def lists them. An id exists, an enum is known, a text is there, an
 * expression is the plan's, a count is not negative. */
#include "plan/plan_checker.h"
#include "plan/plan_fields.h"

static uint32_t limit_of(const plan_t *plan, const plan_field_t *field) {
    return field->limit ? *(const uint32_t *)(const void *)((const char *)plan + field->limit) : NONE;
}

static void check_field(plan_checker_t *checker, const plan_field_t *field, const void *row) {
    const void *place = field_of(field, row);
    switch (field->kind) {
    case FIELD_TEXT:
        if (!*(const char *const *)place) fault(checker, "it has no %s", field->name);
        break;
    case FIELD_ENUM:
    case FIELD_OPTIONAL_ENUM:
        if (!field->names(field_number(field, row))) fault(checker, "its %s is unknown", field->name);
        break;
    case FIELD_OPTIONAL_ID:
        if (field_number(field, row) == NONE) break;
        if (field_number(field, row) >= limit_of(checker->plan, field))
            fault(checker, "its %s does not exist", field->name);
        break;
    case FIELD_ID:
        if (field->limit && field_number(field, row) >= limit_of(checker->plan, field))
            fault(checker, "its %s does not exist", field->name);
        break;
    case FIELD_SIZE:
        if (*(const size_t *)place > INT64_MAX) fault(checker, "its %s is too large", field->name);
        break;
    case FIELD_SYM: check_sym(checker, *(const sym_t *)place, field->name); break;
    case FIELD_COUNT: check_int(checker, *(const sym_t *)place, 0, field->name); break;
    case FIELD_TYPE: check_type(checker, place, "its type"); break;
    case FIELD_PART: check_fields(checker, field->part, place); break;
    case FIELD_SMALL:
    case FIELD_NUMBER:
    case FIELD_FLAG:
    case FIELD_OPERAND: /* when storages were checked */
    case FIELD_LAYER: break;
    }
}

void check_fields(plan_checker_t *checker, const plan_struct_t *fields, const void *row) {
    for (uint32_t i = 0; i < fields->count; i++)
        if (field_exists(fields, &fields->fields[i], row)) check_field(checker, &fields->fields[i], row);
}

/* The row's title; NULL: it has none. */
static const char *title_of(const plan_struct_t *fields, const void *row) {
    const plan_field_t *first = &fields->fields[0];
    return first->kind == FIELD_TEXT ? shown(*(const char *const *)field_of(first, row)) : NULL;
}

void check_rows(plan_checker_t *checker) {
    const plan_t *plan = checker->plan;
    for (size_t t = 0; t < PLAN_TABLES; t++) {
        const plan_table_t *table = &plan_tables[t];
        for (uint32_t i = 0; i < table_count(table, plan); i++) {
            const void *row = table_row(table, plan, i);
            const char *title = title_of(table->row, row);
            if (title)
                fault_at(checker, "%s %u '%s'", table->row_name, i, title);
            else
                fault_at(checker, "%s %u", table->row_name, i);
            check_fields(checker, table->row, row);
        }
    }
}
