/* The table of facts about operators, by the number of their schemas. */
#include "graph/operators.h"

#include "graph/schema_ids.h"

enum { SCHEMA_NONE = -1 };

/* clang-format off */
static const operator_facts_t rows[SCHEMA_COUNT] = {
#define CONVERT(function, param)
#define ALIAS(rule)                .alias = RULE_##rule,
#define INVERSE(way)               .inverse = INVERSE_##way,
#define MUTATES(kind)              .write = WRITE_##kind,
#define STATISTICS(variant)           .write = WRITE_STATISTICS, .other = SCHEMA_##variant + 1,
#define RESULT(rule)               .result = RESULT_##rule,
#define NOOP(kind)                 .noop = NOOP_##kind,
#define SCATTERS(view)             .noop = NOOP_SCATTER, .other = SCHEMA_##view + 1,
#define READS(what)                .reads = READS_##what,
#define EFFECT(kind)               .effect = EFFECT_##kind,
#define NUMBER(kind)               .number = NUMBER_##kind,
#define BINARY_NUMBER(numbers, bools) .number = NUMBER_BINARY, .op_numbers = SYM_##numbers, .op_bools = SYM_##bools,
#define AUTOCAST(on_cpu, on_cuda)  .cast_cpu = CAST_##on_cpu, .cast_cuda = CAST_##on_cuda,
#define OPERATOR(id, facts)        [SCHEMA_##id] = {.is_listed = true, facts},
#include "graph/operators.def"
};
/* clang-format on */

const operator_facts_t *operator_facts_of(const op_schema_t *schema) {
    static const operator_facts_t none = {0};
    return schema ? &rows[schema_number(schema)] : &none;
}

const op_schema_t *operator_other(const operator_facts_t *facts) {
    return facts->other ? schema_row(facts->other - 1u) : NULL;
}
