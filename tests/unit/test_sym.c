/* Expressions over symbols: canonical form, ranges, evaluation, text, SymPy notation, limits. */
#include "unit_test.h"

#include "core/core.h"
#include "counting_allocator.h"
#include <stdio.h>
#include <string.h>

static int setup(void **state) {
    static sym_pool_t pool;
    assert_int_equal(sym_pool_init(&pool), INSITU_OK);
    sym_add_symbol(&pool, "s0", SYM_KIND_INT, 2, 100);
    sym_add_symbol(&pool, "s1", SYM_KIND_INT, 0, INT64_MAX);
    sym_add_symbol(&pool, "u0", SYM_KIND_INT, INT64_MIN, INT64_MAX);
    sym_add_symbol(&pool, "zf0", SYM_KIND_FLOAT, INT64_MIN, INT64_MAX);
    *state = &pool;
    return 0;
}

static int teardown(void **state) {
    sym_pool_release(*state);
    return 0;
}

static sym_t parse(sym_pool_t *pool, const char *infix) {
    insitu_diag diag = {.struct_size = sizeof diag};
    const char *cursor = infix;
    sym_t result;
    if (sym_parse(pool, &cursor, &result, &diag) != INSITU_OK) fail_msg("%s: %s", infix, diag.message);
    if (*cursor) fail_msg("%s: stopped at '%s'", infix, cursor);
    return result;
}

/* Both the text of the expression, and that the text gives the same id. */
static void expect_text(sym_pool_t *pool, sym_t a, const char *expected) {
    text_t out;
    text_init(&out);
    sym_print(pool, a, &out);
    assert_int_equal(text_status(&out, NULL), INSITU_OK);
    assert_string_equal(out.data, expected);
    assert_int_equal(parse(pool, out.data).id, a.id);
    text_release(&out);
}

static void prints(sym_pool_t *pool, const char *infix, const char *expected) {
    expect_text(pool, parse(pool, infix), expected);
}

static void test_polynomials(void **state) {
    sym_pool_t *pool = *state;
    prints(pool, "32*s1 + 4*s1", "36*s1");
    prints(pool, "(s0 + 1)*4", "4*s0 + 4");
    prints(pool, "1 + s1 + s0*s1", "s0*s1 + s1 + 1");
    prints(pool, "s1*s0 - s0*s1", "0");
    prints(pool, "-s0 + 3 - s1", "-s0 - s1 + 3");
    prints(pool, "(s0 + s1)*(s0 - s1)", "s0*s0 - s1*s1");
    prints(pool, "pow(s0, 3) - s0*s0*s0 + pow(s0, 0)", "1");
    prints(pool, "s0 - 2*(s1 // 2)", "s0 - 2*(s1 // 2)");
    prints(pool, "s0 << 2", "4*s0");
    prints(pool, "-pow(s0 + s1 + u0 + 1, 5)",
           "-1*(s0 + s1 + u0 + 1)*(s0 + s1 + u0 + 1)*(s0 + s1 + u0 + 1)*(s0 + s1 + u0 + 1)*(s0 + s1 + u0 + 1)");
    prints(pool, "pow(s0 + s1 + u0 + 1, 5) // 7", /* too large to be multiplied out */
           "(s0 + s1 + u0 + 1)*(s0 + s1 + u0 + 1)*(s0 + s1 + u0 + 1)*(s0 + s1 + u0 + 1)*(s0 + s1 + u0 + 1) // 7");
    prints(pool, "(8*s1) >> 2", "2*s1");
    assert_int_equal(parse(pool, "0").id, 0);
    assert_int_equal(parse(pool, "1").id, 1);
}

static void test_order_is_structural(void **state) {
    (void)state;
    sym_pool_t first, second;
    assert_int_equal(sym_pool_init(&first), INSITU_OK);
    assert_int_equal(sym_pool_init(&second), INSITU_OK);
    prints(&first, "b*c + a + max(x, y)", "b*c + a + max(x, y)");
    parse(&second, "y + x + c + b");
    prints(&second, "max(y, x) + a + c*b", "b*c + a + max(x, y)");
    sym_pool_release(&first);
    sym_pool_release(&second);
}

static void test_huge_coefficients_fail(void **state) {
    sym_pool_t *pool = *state;
    const char *cursor = "4611686018427387904*4611686018427387904*s0";
    sym_t parsed;
    assert_int_equal(sym_parse(pool, &cursor, &parsed, NULL), INSITU_FORMAT);
    assert_true(pool->too_large);
}

static void test_overflow_stays(void **state) {
    sym_pool_t *pool = *state;
    sym_value_t out;
    uint32_t missing;
    prints(pool, "9223372036854775807 + 1", "9223372036854775807 + 1");
    prints(pool, "9223372036854775807 + 1 - 5", "9223372036854775803");
    prints(pool, "4611686018427387904*4*s0", "9223372036854775807*s0 + 9223372036854775807*s0 + 2*s0");
    prints(pool, "--9223372036854775808--9223372036854775808",
           "9223372036854775807 + 9223372036854775807 + 2"); /* however it came about */
    prints(pool, "-9223372036854775808", "-9223372036854775808");
    prints(pool, "s0 + -9223372036854775808", "s0 + -9223372036854775808");
    prints(pool, "-9223372036854775808 // -1", "9223372036854775807 + 1");
    prints(pool, "-1 // (9223372036854775807 + 1)", "-1");
    assert_false(sym_evaluate(pool, parse(pool, "9223372036854775807 + 1"), NULL, NULL, &out, &missing));
    assert_int_equal(missing, NONE);
    sym_value_t values[4] = {{.kind = SYM_KIND_INT, .i = 3}};
    bool bound[4] = {true};
    assert_false(sym_evaluate(pool, parse(pool, "4611686018427387904*s0"), values, bound, &out, &missing));
    assert_false(sym_evaluate(pool, parse(pool, "1.5 << 2"), values, bound, &out, &missing));
    assert_false(sym_evaluate(pool, parse(pool, "float(s0) >> s0"), values, bound, &out, &missing));
    assert_false(sym_evaluate(pool, parse(pool, "bitand(s0, 1.0)"), values, bound, &out, &missing));
    assert_false(sym_evaluate(pool, parse(pool, "s0 + u0"), values, bound, &out, &missing));
    assert_int_equal(missing, sym_find_symbol(pool, "u0"));
}

static void test_division(void **state) {
    sym_pool_t *pool = *state;
    prints(pool, "s1 // 1", "s1");
    prints(pool, "(6*s1) // 6", "s1");
    prints(pool, "(4*s0 + s1 + 5) // 4", "s0 + (s1 + 1) // 4 + 1");
    prints(pool, "(4*s0 + 3) // 4", "s0");
    prints(pool, "2*s1 // 4", "s1 // 2");
    prints(pool, "(2*s1 + 1) // 4", "s1 // 2");
    prints(pool, "s1 // 2 // 3", "s1 // 6");
    prints(pool, "s1 // -2", "-s1 // 2");
    prints(pool, "(s0*s1 + s0) // s0", "s1 + 1");
    prints(pool, "(s0*s1) // s1", "s0*s1 // s1"); /* s1 may be 0 */
    prints(pool, "(s0 + 1)*(s1 + 3) // (s0 + 1)", "s1 + 3");
    prints(pool, "s0 // 200", "0");
    prints(pool, "(s0 - 1) // s0", "0");
    prints(pool, "-7 // 2", "-4");
    prints(pool, "7 // 0", "7 // 0");
    prints(pool, "s1 % 1", "0");
    prints(pool, "(8*s1 + u0 + 9) % 4", "(u0 + 1) % 4");
    prints(pool, "2*u0 % 4", "2*(u0 % 2)");
    prints(pool, "s0 % 101", "s0");
    prints(pool, "s0*s1 % s0", "0");
    prints(pool, "-7 % 3", "2");
    prints(pool, "7 % -3", "-2");
    prints(pool, "u0 % 0", "u0 % 0");
}

static void test_extrema(void **state) {
    sym_pool_t *pool = *state;
    prints(pool, "max(1, s0)", "s0");
    prints(pool, "max(1, s1)", "max(1, s1)");
    prints(pool, "max(s1, max(3, s1), 2)", "max(3, s1)");
    prints(pool, "min(s1, s1 + 1)", "s1");
    prints(pool, "min(s0, 1000)", "s0");
    prints(pool, "max(2, 5, 3)", "5");
    prints(pool, "max(min(s1, 5), s1)", "s1");
    prints(pool, "max(u0, s1, 7 - 3)", "max(4, s1, u0)");
}

static void test_conditions(void **state) {
    sym_pool_t *pool = *state;
    prints(pool, "s0 >= 2", "true");
    prints(pool, "s0 > 100", "false");
    prints(pool, "s0 + 1 > s0", "true");
    prints(pool, "s1 == -1", "false");
    prints(pool, "s1 > u0", "u0 < s1");
    prints(pool, "3 == s1", "s1 == 3");
    prints(pool, "not s1 < u0", "u0 <= s1");
    prints(pool, "not (s1 == 3 or u0 == 2)", "not (s1 == 3 or u0 == 2)");
    prints(pool, "u0 == 2 and true and s1 == 3 and u0 == 2", "s1 == 3 and u0 == 2");
    prints(pool, "u0 == 2 or s0 > 0", "true");
    prints(pool, "where(s0 > 1, s1, u0)", "s1");
    prints(pool, "where(u0 > 1, s1, s1)", "s1");
    prints(pool, "where(u0 > 1, s1, 2)", "where(1 < u0, s1, 2)");
    prints(pool, "2*(s1 // 2) <= s1", "true");
    prints(pool, "min(s1, 64) - 3 <= s1", "true");
    prints(pool, "s1 <= s0*s1", "true");
    prints(pool, "s1*s1 % s0 < s0", "true");
    prints(pool, "s0 // 2 < 2*s0", "true");
    prints(pool, "where(u0 > 1, 5, s0) >= 2", "true");
}

static void test_floats(void **state) {
    sym_pool_t *pool = *state;
    prints(pool, "0.5*float(s1)", "0.5*float(s1)");
    prints(pool, "float(s1)*0.5", "0.5*float(s1)");
    prints(pool, "zf0 + 1.5 - 2*zf0", "zf0 + 1.5 - 2.0*zf0");
    prints(pool, "zf0 + (zf0 + 0.1)", "zf0 + (zf0 + 0.1)");
    prints(pool, "zf0 - zf0", "zf0 - zf0"); /* NaN */
    prints(pool, "-(-zf0)", "zf0");
    prints(pool, "2.0*(3.0*zf0)", "2.0*(3.0*zf0)");
    prints(pool, "-(zf0*zf0)", "-(zf0*zf0)");
    prints(pool, "0.1 + 0.2", "0.30000000000000004");
    prints(pool, "7 / 2", "3.5");
    prints(pool, "1 / 0", "1 / 0");
    prints(pool, "round(2.5) + round(3.5) + ceil(1.2) + floor(-1.2) + trunc(-1.7)", "5");
    prints(pool, "-7.0 // 2.0", "-4.0");
    prints(pool, "-7.0 % 2.0", "1.0");
    prints(pool, "-inf", "-inf");
    prints(pool, "nan + zf0", "nan + zf0");
    prints(pool, "-0.0 + zf0", "-0.0 + zf0");
    prints(pool, "1e300*1e300", "inf");
    prints(pool, "not zf0 < 1.0", "not zf0 < 1.0"); /* NaN */
    prints(pool, "max(zf0, 1)", "max(zf0, 1.0)");
    prints(pool, "where(u0 > 0, 1, zf0)", "where(0 < u0, 1.0, zf0)");
    prints(pool, "trunc(s1)", "s1");
    prints(pool, "abs(s0 - 200)", "-s0 + 200");
}

static void test_ranges(void **state) {
    sym_pool_t *pool = *state;
    static const struct {
        const char *text;
        int64_t min, max;
    } rows[] = {
        {"3*s0 - 1", 5, 299},
        {"7 - s0", -93, 5},
        {"s0*s0", 4, 10000},
        {"s1 + 5", 5, INT64_MAX},
        {"5 - s1", INT64_MIN, 5},
        {"s0 // 3", 0, 33},
        {"u0 % 8", 0, 7},
        {"u0 % s0", 0, 99},
        {"(s1 + 3) // s0", 0, INT64_MAX},
        {"max(u0, 4)", 4, INT64_MAX},
        {"min(u0, s0)", INT64_MIN, 100},
        {"where(u0 > 3, s0, -5)", -5, 100},
        {"abs(u0 % 9 - 4)", 0, 4},
        {"-9223372036854775807 - s1", INT64_MIN, -INT64_MAX},
        {"trunc(float(s0) / 8.0)", 0, 13},
        {"u0 == 3", 0, 1},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t min, max;
        sym_range(pool, parse(pool, rows[i].text), &min, &max);
        if (min != rows[i].min || max != rows[i].max)
            fail_msg("%s: [%lld, %lld]", rows[i].text, (long long)min, (long long)max);
    }
}

static void test_symbols(void **state) {
    sym_pool_t *pool = *state;
    uint32_t index = sym_add_symbol(pool, "s0", SYM_KIND_INT, 4, 1000); /* narrowed from below alone */
    assert_int_equal(index, sym_find_symbol(pool, "s0"));
    assert_int_equal(pool->symbols[index].min, 4);
    assert_int_equal(pool->symbols[index].max, 100);
    assert_true(sym_uses(pool, parse(pool, "max(s1, s0*u0)"), index));
    assert_false(sym_uses(pool, parse(pool, "max(s1, u0)"), index));
    assert_int_equal(sym_find_symbol(pool, "s9"), NONE);
    assert_int_equal(sym_symbol_index(pool, parse(pool, "s0")), index);
    assert_int_equal(sym_symbol_index(pool, parse(pool, "s0 + 1")), NONE);
}

static void expect_solution(sym_pool_t *pool, const char *size, const char *name, int64_t given, int64_t expected) {
    sym_value_t values[8] = {{.kind = SYM_KIND_INT, .i = 5}};
    bool known[8] = {[1] = true};
    uint32_t symbol = sym_find_symbol(pool, name);
    values[1] = (sym_value_t){.kind = SYM_KIND_INT, .i = 4}; /* s1 */
    assert_int_equal(sym_unknown(pool, parse(pool, size), known), symbol);
    bool found = sym_solve(pool, parse(pool, size), symbol, given, values, known);
    assert_int_equal(found, expected >= 0);
    assert_int_equal(known[symbol], found);
    if (found) assert_int_equal(values[symbol].i, expected);
}

static void test_sizes_give_symbols(void **state) {
    sym_pool_t *pool = *state;
    expect_solution(pool, "s0", "s0", 7, 7);
    expect_solution(pool, "2*s0", "s0", 14, 7);
    expect_solution(pool, "2*s0", "s0", 15, -1);
    expect_solution(pool, "2*s0", "s0", 2, -1); /* 1 is below its range */
    expect_solution(pool, "4*s0 - 1", "s0", 27, 7);
    expect_solution(pool, "200 - 3*s0", "s0", 179, 7);
    expect_solution(pool, "s0*s0 + s1", "s0", 53, 7);
    expect_solution(pool, "9223372036854775807*s0", "s0", 14, -1);
    sym_add_symbol(pool, "h", SYM_KIND_INT, 0, INT64_MAX);
    expect_solution(pool, "8*h + 3", "h", INT64_MAX - 4, INT64_MAX / 8);
    static const char *const unsolved[] = {"s0 // 2", "s0 % 4", "s0*s0 - 9*s0", "s0 + h", "u0*s0", "3", "max(s0, 5)"};
    for (size_t i = 0; i < COUNT_OF(unsolved); i++) {
        bool known[8] = {false};
        assert_int_equal(sym_unknown(pool, parse(pool, unsolved[i]), known), NONE);
    }
    uint32_t symbol = sym_find_symbol(pool, "s0");
    expect_text(pool, sym_replace(pool, parse(pool, "s0 + s1 - max(s0, 3) + u0"), symbol, parse(pool, "5 - s1")),
                "u0 - max(3, -s1 + 5) + 5");
}

static void expect_exact(sym_pool_t *pool, const char *condition, bool holds) {
    int64_t value;
    assert_true(sym_constant(pool, parse(pool, condition), &value));
    assert_int_equal(value, holds);
}

/* Integers and floats are compared, and integers divided, as Python does: not by doubles of the integers. */
static void test_mixed_numbers_are_exact(void **state) {
    sym_pool_t *pool = *state;
    expect_exact(pool, "9007199254740993 == 9007199254740992.0", false);
    expect_exact(pool, "9007199254740993 > 9007199254740992.0", true);
    expect_exact(pool, "9223372036854775807 < 9223372036854775808.0", true);
    expect_exact(pool, "-3 < -2.5", true);
    expect_exact(pool, "-2 < -2.5", false);
    expect_exact(pool, "3 / 2 == 1.5", true);
    expect_exact(pool, "-7 / 2 == -3.5", true);
    expect_exact(pool, "9007199254740993 / 9007199254740993 == 1.0", true);
    expect_exact(pool, "9223372036854775807 / 3 == 3074457345618258603.0", true);
    expect_exact(pool, "1 / 3 == 0.3333333333333333", true);
    prints(pool, "trunc(float(s0))", "s0");
    prints(pool, "trunc(float(s1))", "trunc(float(s1))");
}

static void test_clone_and_view(void **state) {
    sym_pool_t *pool = *state, copy, view;
    sym_t a = parse(pool, "s0*s1 + max(u0, 3)");
    uint32_t count = pool->node_count;
    sym_pool_view(pool, &view);
    prints(&view, "u0 // 17 + s77", "s77 + u0 // 17");
    assert_int_equal(parse(&view, "s0*s1 + max(u0, 3)").id, a.id);
    sym_pool_release(&view);
    assert_int_equal(pool->node_count, count);
    assert_int_equal(sym_find_symbol(pool, "s77"), NONE);
    assert_int_equal(sym_pool_clone(pool, &copy), INSITU_OK);
    expect_text(&copy, a, "s0*s1 + max(3, u0)");
    prints(&copy, "u0 // 17 + s77", "s77 + u0 // 17");
    assert_int_equal(pool->node_count, count);
    sym_pool_release(&copy);
}

/* ---- SymPy notation ---- */

static void test_srepr(void **state) {
    sym_pool_t *pool = *state;
#define S "Symbol('s1', positive=True, integer=True)"
#define U "Symbol('u0', integer=True)"
    static const char *const rows[][2] = {
        {"Add(" S ", Integer(-9))", "s1 - 9"},
        {"PythonMod(Add(" S ", Integer(-90)), Integer(4))", "(s1 + 2) % 4"},
        {"Mod(" S ", Integer(3))", "s1 % 3"},
        {"Mul(Float('0.5', precision=53), ToFloat(" S "))", "0.5*float(s1)"},
        {"Pow(" S ", Integer(2))", "s1*s1"},
        {"Max(Integer(1), Add(" U ", Integer(1)))", "max(1, u0 + 1)"},
        {"Add(*[" S ", " U ", Integer(1)])", "s1 + u0 + 1"},
        {"Mul(Rational(1, 2), " S ")", "s1 // 2"},
        {"Mul(Rational(1, 2), Add(Pow(" S ", Integer(2)), " S "))", "(s1*s1 + s1) // 2"},
        {"Add(Mul(Rational(1, 2), " S "), Rational(1, 2))", "(s1 + 1) // 2"},
        {"Mul(" U ", Pow(" S ", Integer(-1)))", "u0 // s1"},
        {"floor(Mul(Rational(1, 3), " S "))", "s1 // 3"},
        {"ceiling(Mul(Rational(1, 3), " S "))", "-(-s1 // 3)"},
        {"CeilDiv(" S ", Integer(4))", "-(-s1 // 4)"},
        {"CleanDiv(Mul(Integer(4), " S "), Integer(4))", "s1"},
        {"ModularIndexing(" S ", Integer(4), Integer(8))", "s1 // 4 % 8"},
        {"FloorDiv(" U ", Integer(2))", "u0 // 2"},
        {"IntTrueDiv(" S ", Integer(2))", "s1 / 2"},
        {"TruncToInt(IntTrueDiv(" S ", Integer(2)))", "trunc(s1 / 2)"},
        {"CeilToInt(IntTrueDiv(" S ", Integer(2)))", "ceil(s1 / 2)"},
        {"FloorToInt(IntTrueDiv(" S ", Integer(2)))", "floor(s1 / 2)"},
        {"RoundToInt(FloatTrueDiv(ToFloat(" S "), Float('2.0', precision=53)))", "round(float(s1) / 2.0)"},
        {"TruncToFloat(Symbol('zf0'))", "float(trunc(zf0))"},
        {"FloatPow(ToFloat(" S "), Float('0.5', precision=53))", "pow(float(s1), 0.5)"},
        {"PowByNatural(Integer(2), " S ")", "pow(2, s1)"},
        {"LShift(" S ", Integer(1))", "2*s1"},
        {"RShift(" S ", " U ")", "s1 >> u0"},
        {"BitwiseFn_bitwise_and(" S ", Integer(3))", "bitand(s1, 3)"},
        {"OpaqueUnaryFn_sqrt(ToFloat(" S "))", "sqrt(float(s1))"},
        {"Abs(" U ")", "abs(u0)"},
        {"StrictLessThan(" U ", " S ")", "u0 < s1"},
        {"GreaterThan(" U ", Integer(3))", "3 <= u0"},
        {"Equality(PythonMod(" U ", Integer(2)), Integer(0))", "u0 % 2 == 0"},
        {"Unequality(" U ", Integer(3))", "u0 != 3"},
        {"Not(And(Equality(" U ", Integer(3)), StrictLessThan(" S ", Integer(9))))", "not (u0 == 3 and s1 < 9)"},
        {"Or(Equality(" U ", Integer(3)), StrictLessThan(" S ", Integer(9)))", "u0 == 3 or s1 < 9"},
        {"Equality(Mul(Rational(1, 2), " U "), Integer(3))", "u0 == 6"},
        {"Where(StrictLessThan(" U ", Integer(3)), " S ", Integer(7))", "where(u0 < 3, s1, 7)"},
        {"Piecewise(ExprCondPair(Integer(5), StrictLessThan(" U ", Integer(3))), ExprCondPair(" S ", true))",
         "where(u0 < 3, 5, s1)"},
        {"Piecewise(ExprCondPair(Mul(Rational(1, 2), " U "), StrictLessThan(" U ", Integer(3))), ExprCondPair(" S
         ", true))",
         "where(u0 < 3, u0 // 2, s1)"},
        {"And(ITE(StrictLessThan(" U ", Integer(3)), StrictLessThan(" S ", " U "), true))",
         "where(u0 < 3, s1 < u0, true)"},
        {"Identity(" S ")", "s1"},
        {"IsNonOverlappingAndDenseIndicator(Integer(2), Integer(3), Integer(1), Integer(2))", "1"},
        {"IsNonOverlappingAndDenseIndicator(Integer(2), Integer(3), Integer(4), Integer(1))", "0"},
        {"s77", "s77"},
        {"true", "true"},
        {"Integer(-3)", "-3"},
        {"Float('-1.0e-5', precision=53)", "-1e-05"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        insitu_diag diag = {.struct_size = sizeof diag};
        sym_t out;
        if (sym_parse_srepr(pool, rows[i][0], &out, &diag) != INSITU_OK) fail_msg("%s", diag.message);
        expect_text(pool, out, rows[i][1]);
    }
}

static void test_srepr_refuses(void **state) {
    sym_pool_t *pool = *state;
    static const char *const rows[] = {
        "",
        "Add(",
        "Add(Integer(1)",
        "Integer()",
        "Integer(9223372036854775808)",
        "Integer(1))",
        "Symbol(s0)",
        "Symbol('')",
        "Symbol('a b')",
        "Symbol('and')",
        "Rational(1, 0)",
        "Mod(Integer(1))",
        "Where(true, Integer(1))",
        "Float('x', precision=53)",
        "Piecewise(ExprCondPair(Integer(5), false))",
        "1 2",
        "int_oo",
        "Add(*[Integer(1))",
        "Max()",
        "Symbol('s0'",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        insitu_diag diag = {.struct_size = sizeof diag};
        sym_t out;
        if (sym_parse_srepr(pool, rows[i], &out, &diag) != INSITU_FORMAT) fail_msg("accepted: %s", rows[i]);
        assert_true(diag.message[0] != '\0');
    }
    sym_t out;
    assert_int_equal(sym_parse_srepr(pool, "Zeta(Integer(2))", &out, NULL), INSITU_UNSUPPORTED);
}

/* ---- limits ---- */

static void test_deep_text_is_refused(void **state) {
    sym_pool_t *pool = *state;
    enum { TOO_DEEP = 4 * MAX_NESTING + 1 }; /* more than any expression prints */
    char deep[2 * TOO_DEEP + 2] = "", *end = deep;
    for (int i = 0; i < TOO_DEEP; i++) *end++ = '(';
    *end++ = '1';
    for (int i = 0; i < TOO_DEEP; i++) *end++ = ')';
    const char *cursor = deep;
    sym_t out;
    assert_int_equal(sym_parse(pool, &cursor, &out, NULL), INSITU_FORMAT);
    char nested[9 * MAX_NESTING + 64] = "";
    size_t size = 0;
    for (int i = 0; i < MAX_NESTING + 1; i++) size += (size_t)snprintf(nested + size, sizeof nested - size, "Abs(");
    assert_int_equal(sym_parse_srepr(pool, nested, &out, NULL), INSITU_FORMAT);
    assert_int_equal(sym_pool_status(pool, NULL), INSITU_OK);
}

static void test_deep_node_marks_the_pool(void **state) {
    sym_pool_t *pool = *state;
    sym_t a = parse(pool, "u0"), three = sym_int(pool, 3);
    for (int i = 0; i < 2 * MAX_NESTING; i++) a = sym_make(pool, SYM_BITOR, (sym_t[]){a, three}, 2);
    assert_int_equal(sym_pool_status(pool, NULL), INSITU_UNSUPPORTED);
    assert_int_equal(sym_add(pool, a, three).id, 0);
}

static void test_doubling_node_marks_the_pool(void **state) {
    sym_pool_t *pool = *state;
    sym_t a = parse(pool, "u0 // 3");
    for (int i = 0; i < 64; i++) a = sym_make(pool, SYM_BITOR, (sym_t[]){a, a}, 2);
    assert_int_equal(sym_pool_status(pool, NULL), INSITU_UNSUPPORTED);
}

static void test_parser_stops(void **state) {
    sym_pool_t *pool = *state;
    static const char *const rows[][2] = {
        {"s0 + 1, 3", ", 3"}, {"s0]", "]"}, {"s0 -> x", " -> x"}, {"s0 = aten", " = aten"}, {"s0 ", " "}, {"2)", ")"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *cursor = rows[i][0];
        sym_t out;
        assert_int_equal(sym_parse(pool, &cursor, &out, NULL), INSITU_OK);
        assert_string_equal(cursor, rows[i][1]);
    }
    static const char *const bad[] = {"",
                                      "+",
                                      "s0 +",
                                      "max(",
                                      "foo(1)",
                                      "max()",
                                      "where(1, 2)",
                                      "(1",
                                      "9223372036854775808",
                                      "1 +* 2",
                                      "and",
                                      "99999999999999999999999"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const char *cursor = bad[i];
        sym_t out;
        if (sym_parse(pool, &cursor, &out, NULL) != INSITU_FORMAT) fail_msg("accepted: %s", bad[i]);
    }
}

/* ---- random expressions: built, evaluated, printed and read back ---- */

static uint64_t random_state = 1;
static uint32_t random_below(uint32_t n) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % n;
}

enum { TRIED = 3, RANDOM_NODES = 40 };
typedef struct expected {
    sym_t built;
    bool valid[TRIED];
    int64_t value[TRIED];
} expected_t;

static int64_t reference(sym_op_t op, int64_t a, int64_t b, int64_t c, bool *valid) {
    int64_t out = 0;
    switch ((int)op) {
    case SYM_ADD: *valid &= checked_add(a, b, &out); break;
    case SYM_MUL: *valid &= checked_mul(a, b, &out); break;
    case SYM_FLOORDIV:
    case SYM_MOD:
        if (b == 0)
            *valid = false;
        else if (*valid)
            out = op == SYM_FLOORDIV ? floor_div(a, b) : floor_mod(a, b);
        break;
    case SYM_MAX: out = a > b ? a : b; break;
    case SYM_MIN: out = a < b ? a : b; break;
    case SYM_EQ: out = a == b; break;
    case SYM_NE: out = a != b; break;
    case SYM_LT: out = a < b; break;
    case SYM_LE: out = a <= b; break;
    case SYM_GT: out = a > b; break;
    case SYM_GE: out = a >= b; break;
    case SYM_AND: out = a && b; break;
    case SYM_OR: out = a || b; break;
    case SYM_NOT: out = !a; break;
    case SYM_ABS: out = a < 0 ? -a : a; break;
    default: out = a ? b : c; break; /* WHERE */
    }
    return out;
}

static void check_random(sym_pool_t *pool, const expected_t *e, const sym_value_t values[TRIED][4]) {
    static const bool bound[4] = {true, true, true, true};
    text_t out;
    text_init(&out);
    sym_print(pool, e->built, &out);
    if (parse(pool, out.data).id != e->built.id) fail_msg("not read back: %s", out.data);
    int64_t min, max;
    sym_range(pool, e->built, &min, &max);
    for (int t = 0; t < TRIED; t++) {
        sym_value_t got;
        uint32_t missing;
        if (!e->valid[t]) continue;
        bool done = sym_evaluate(pool, e->built, values[t], bound, &got, &missing);
        if (!done || got.i != e->value[t] || got.i < min || got.i > max)
            fail_msg("%s at s0=%lld s1=%lld u0=%lld: %lld, expected %lld in [%lld, %lld]", out.data,
                     (long long)values[t][0].i, (long long)values[t][1].i, (long long)values[t][2].i, (long long)got.i,
                     (long long)e->value[t], (long long)min, (long long)max);
    }
    text_release(&out);
}

static void build_random(sym_pool_t *pool, expected_t *all, uint32_t count) {
    static const sym_op_t ops[] = {SYM_ADD, SYM_ADD, SYM_MUL, SYM_FLOORDIV, SYM_MOD, SYM_MAX,
                                   SYM_MIN, SYM_EQ,  SYM_NE,  SYM_LT,       SYM_LE,  SYM_GT,
                                   SYM_GE,  SYM_AND, SYM_OR,  SYM_NOT,      SYM_ABS, SYM_WHERE};
    sym_op_t op = ops[random_below(COUNT_OF(ops))];
    const expected_t *args[3];
    sym_t syms[3];
    uint32_t arg_count = op == SYM_WHERE ? 3 : op == SYM_NOT || op == SYM_ABS ? 1 : 2;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t back = random_below(4) ? random_below(count < 12 ? count : 12) + 1 : random_below(count) + 1;
        args[i] = &all[count - back];
        syms[i] = args[i]->built;
    }
    expected_t *e = &all[count];
    e->built = sym_make(pool, op, syms, arg_count);
    for (int t = 0; t < TRIED; t++) {
        e->valid[t] = args[0]->valid[t] && (arg_count < 2 || args[1]->valid[t]) && (arg_count < 3 || args[2]->valid[t]);
        e->value[t] =
            e->valid[t] ? reference(op, args[0]->value[t], args[1]->value[t], args[2]->value[t], &e->valid[t]) : 0;
        if (e->value[t] > INT64_C(1) << 40 || e->value[t] < -(INT64_C(1) << 40)) e->valid[t] = false;
    }
}

static void test_random_expressions(void **state) {
    (void)state;
    for (uint32_t round = 0; round < 400; round++) {
        void *own = NULL;
        setup(&own);
        sym_pool_t *pool = own;
        expected_t all[RANDOM_NODES];
        sym_value_t values[TRIED][4];
        uint32_t count = 0;
        for (int t = 0; t < TRIED; t++) {
            values[t][0] = (sym_value_t){.kind = SYM_KIND_INT, .i = 2 + random_below(99)};
            values[t][1] = (sym_value_t){.kind = SYM_KIND_INT, .i = random_below(t == 0 ? 3 : 50)};
            values[t][2] = (sym_value_t){.kind = SYM_KIND_INT, .i = (int64_t)random_below(40) - 20};
            values[t][3] = (sym_value_t){.kind = SYM_KIND_FLOAT};
        }
        for (; count < 3; count++) {
            all[count].built = sym_of_symbol(pool, count);
            for (int t = 0; t < TRIED; t++) all[count].value[t] = values[t][count].i, all[count].valid[t] = true;
        }
        for (; count < 8; count++) {
            int64_t constant = (int64_t)random_below(count == 3 ? 20 : 7) - (count == 4 ? 6 : 0);
            all[count].built = sym_int(pool, constant);
            for (int t = 0; t < TRIED; t++) all[count].value[t] = constant, all[count].valid[t] = true;
        }
        for (; count < RANDOM_NODES; count++) {
            build_random(pool, all, count);
            if (pool->failed) break;
            check_random(pool, &all[count], (const sym_value_t(*)[4])values);
        }
        sym_pool_release(pool);
    }
}

/* ---- memory that runs out ---- */

static insitu_status build_much(sym_pool_t *pool) {
    static const char *const rows[] = {"(s0 + 1)*(s1 + 2)*(u0 + 3) // 7", "max(s0, u0 % 5, where(u0 < 3, s1, 4)) // s0",
                                       "not (s1*s1 < u0 and 2*u0 // 4 == s0)", "0.5*float(s0) + zf0"};
    sym_pool_t copy, view;
    for (int round = 0; round < 100; round++) {
        sym_t out;
        const char *cursor = rows[round % 4];
        TRY(sym_parse(pool, &cursor, &out, NULL));
        out = sym_add(pool, sym_mul(pool, out, sym_int(pool, round)), sym_of_symbol(pool, 0));
    }
    TRY(sym_pool_status(pool, NULL));
    TRY(sym_pool_clone(pool, &copy));
    sym_pool_release(&copy);
    sym_pool_view(pool, &view);
    sym_t out = sym_floordiv(&view, sym_of_symbol(&view, 1), sym_int(&view, 12345));
    assert_true(view.failed || sym_op_of(&view, out) == SYM_FLOORDIV);
    insitu_status status = sym_pool_status(&view, NULL);
    sym_pool_release(&view);
    return status;
}

static void test_every_failed_allocation(void **state) {
    (void)state;
    insitu_status status = INSITU_NOMEM;
    for (uint64_t fail_at = 1; status != INSITU_OK; fail_at++) {
        allocation_count_t count = {.fail_at = fail_at};
        sym_pool_t pool;
        count_allocations(&count);
        status = sym_pool_init(&pool);
        if (status == INSITU_OK) {
            status = build_much(&pool);
            sym_pool_release(&pool);
        }
        memory_set_hooks(NULL);
        assert_int_equal(count.live, 0);
        assert_int_equal(status, count.calls < fail_at ? INSITU_OK : INSITU_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_polynomials, setup, teardown),
        cmocka_unit_test(test_order_is_structural),
        cmocka_unit_test_setup_teardown(test_overflow_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_huge_coefficients_fail, setup, teardown),
        cmocka_unit_test_setup_teardown(test_division, setup, teardown),
        cmocka_unit_test_setup_teardown(test_extrema, setup, teardown),
        cmocka_unit_test_setup_teardown(test_conditions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_floats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ranges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_symbols, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sizes_give_symbols, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mixed_numbers_are_exact, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clone_and_view, setup, teardown),
        cmocka_unit_test_setup_teardown(test_srepr, setup, teardown),
        cmocka_unit_test_setup_teardown(test_srepr_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deep_text_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deep_node_marks_the_pool, setup, teardown),
        cmocka_unit_test_setup_teardown(test_doubling_node_marks_the_pool, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parser_stops, setup, teardown),
        cmocka_unit_test(test_random_expressions),
        cmocka_unit_test(test_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
