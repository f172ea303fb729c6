/* What the search for a plan costs, in steps of its own: programs of a family cost in proportion to their size, or nearly so,
 * stay within the budget, which is linear, and copy no more than they must. */
#include "unit_test.h"

#include "rewrite/rewrite.h"
#include <inttypes.h>

typedef void (*make_fn)(text_t *out, uint32_t size);

/* ---- families ---- */

static void chain(text_t *out, uint32_t size) {
    text_printf(out, "network\ninput \"x\" = %%y0: f32[4]\n");
    for (uint32_t k = 0; k < size; k++) text_printf(out, "%%y%u: f32[4] = unary(%%y%u) {op=tanh}\n", k + 1, k);
    text_printf(out, "output \"output.0\" = %%y%u\n", size);
}

static void slice_of(text_t *out, const char *name, uint32_t number, const char *of, uint32_t row) {
    text_printf(out, "%%%s%u: f32[1] = slice(%%%s%u) {dim=0, end=%u, start=%u, step=1}\n", name, number, of, number,
                row + 1, row);
}

/* Element writes of one state, of what was read from it. */
static void elements(text_t *out, uint32_t size) {
    text_printf(out, "network\ninput \"x\" = %%x: f32[1]\nstate \"h\" = %%h0: f32[16] of zeros\n");
    for (uint32_t k = 0; k < size; k++) {
        slice_of(out, "r", k, "h", (k + 7) % 16);
        text_printf(out, "%%a%u: f32[1] = binary(%%r%u, %%x) {op=add}\n", k, k);
        text_printf(out, "%%h%u: f32[16] = slice_update(%%h%u, %%a%u) {dim=0, end=%u, start=%u, step=1}\n", k + 1, k, k,
                    k % 16 + 1, k % 16);
    }
    text_printf(out, "next \"h\" = %%h%u\noutput \"output.0\" = %%a%u\n", size, size - 1);
}

/* Row writes of one state, each followed by a read of all of it. */
static void rows(text_t *out, uint32_t size) {
    text_printf(out, "network\ninput \"x\" = %%y0: f32[1,4]\nstate \"h\" = %%h0: f32[%u,4] of zeros\n", size);
    for (uint32_t k = 0; k < size; k++) {
        text_printf(out, "%%h%u: f32[%u,4] = slice_update(%%h%u, %%y%u) {dim=0, end=%u, start=%u, step=1}\n", k + 1,
                    size, k, k, k + 1, k);
        text_printf(out, "%%s%u: f32[1,4] = reduce(%%h%u) {axes=[0], keepdim=true, op=sum}\n", k, k + 1);
        text_printf(out, "%%y%u: f32[1,4] = binary(%%y%u, %%s%u) {op=add}\n", k + 1, k, k);
    }
    text_printf(out, "next \"h\" = %%h%u\noutput \"output.0\" = %%y%u\n", size, size);
}

/* Second-order sections: an element of a row of the state, written through a view of the row. */
static void sections(text_t *out, uint32_t size) {
    text_printf(out, "network\ninput \"x\" = %%v0: f32[1,1]\nstate \"z\" = %%z0: f32[4,2] of zeros\n");
    for (uint32_t k = 0; k < size; k++) {
        uint32_t row = k / 2 % 4, column = k % 2;
        text_printf(out, "%%w%u: f32[1,2] = slice(%%z%u) {dim=0, end=%u, start=%u, step=1}\n", k, k, row + 1, row);
        text_printf(out, "%%e%u: f32[1,1] = slice(%%w%u) {dim=1, end=%u, start=%u, step=1}\n", k, k, column + 1,
                    column);
        text_printf(out, "%%v%u: f32[1,1] = binary(%%e%u, %%v%u) {op=add}\n", k + 1, k, k);
        text_printf(out, "%%u%u: f32[1,2] = slice_update(%%w%u, %%v%u) {dim=1, end=%u, start=%u, step=1}\n", k, k,
                    k + 1, 2 - column, 1 - column);
        text_printf(out, "%%z%u: f32[4,2] = slice_update(%%z%u, %%u%u) {dim=0, end=%u, start=%u, step=1}\n", k + 1, k,
                    k, row + 1, row);
    }
    text_printf(out, "next \"z\" = %%z%u\noutput \"output.0\" = %%v%u\n", size, size);
}

/* Concats of all earlier values, whose parts are made in the last one. */
static void dense(text_t *out, uint32_t size, const char *batch) {
    text_printf(out, "network\n%sinput \"x\" = %%x0: f32[%s,4]\n", batch[0] == 'b' ? "symbol b: int in 1..64\n" : "",
                batch);
    for (uint32_t k = 0; k <= size; k++) {
        text_printf(out, "%%c%u: f32[%s,%u] = concat(%%x0", k, batch, 4 * (k + 1));
        for (uint32_t i = 1; i <= k; i++) text_printf(out, ", %%x%u", i);
        text_printf(out, ") {dim=1}\n");
        text_printf(out, "%%r%u: f32[%s,1] = reduce(%%c%u) {axes=[1], keepdim=true, op=sum}\n", k, batch, k);
        text_printf(out, "%%q%u: f32[%s,4] = expand(%%r%u) {sizes=[%s, 4]}\n", k, batch, k, batch);
        text_printf(out, "%%x%u: f32[%s,4] = unary(%%q%u) {op=exp}\n", k + 1, batch, k);
    }
    text_printf(out, "output \"output.0\" = %%c%u\n", size);
}

static void dense_static(text_t *out, uint32_t size) { dense(out, size, "2"); }
static void dense_dynamic(text_t *out, uint32_t size) { dense(out, size, "b"); }

/* States that are each updated from the one before. */
static void states(text_t *out, uint32_t size) {
    text_printf(out, "network\ninput \"x\" = %%x0: f32[4]\n");
    for (uint32_t k = 0; k < size; k++) text_printf(out, "state \"s%u\" = %%s%u: f32[4] of zeros\n", k, k);
    for (uint32_t k = 0; k < size; k++) {
        text_printf(out, "%%m%u: f32[4] = binary(%%s%u, %%x%u) {op=add}\n", k, k, k);
        text_printf(out, "%%x%u: f32[4] = unary(%%m%u) {op=tanh}\n", k + 1, k);
    }
    for (uint32_t k = 0; k < size; k++) text_printf(out, "next \"s%u\" = %%m%u\n", k, k);
    text_printf(out, "output \"output.0\" = %%x%u\n", size);
}

/* States that each take the old value of the next: one of them must be set aside. */
static void rotation(text_t *out, uint32_t size) {
    text_printf(out, "network\ninput \"x\" = %%x: f32[4]\n");
    for (uint32_t k = 0; k < size; k++) text_printf(out, "state \"s%u\" = %%s%u: f32[4] of zeros\n", k, k);
    text_printf(out, "%%y: f32[4] = binary(%%x, %%s0) {op=add}\n");
    for (uint32_t k = 0; k < size; k++) text_printf(out, "next \"s%u\" = %%s%u\n", k, (k + 1) % size);
    text_printf(out, "output \"output.0\" = %%y\n");
}

/* ---- what they cost ---- */

typedef struct cost {
    uint64_t steps, most;
    int64_t copied;
    uint32_t layers;
    bool is_cut;
} cost_t;

/* most: NULL: what the search may cost by itself. */
static cost_t cost_of(make_fn make, uint32_t size, const uint64_t *most) {
    network_t *network;
    plan_t *plan;
    insitu_diag diag;
    text_t source;
    insitu_diag_init(&diag);
    text_init(&source);
    make(&source, size);
    if (network_parse(source.data, &network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    plan_search_t search = plan_search_for(network);
    if (most) search.most = *most;
    const plan_options_t options = {.search = &search};
    if (plan_build(network, &options, &plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    const cost_t cost = {search.spent, search.most, plan_copied_bytes(plan), network->order_count, search.is_cut};
    plan_destroy(plan);
    network_destroy(network);
    text_release(&source);
    insitu_diag_release(&diag);
    return cost;
}

/* Twice the layers may cost most_ratio times the steps. */
static void expect_cost(const char *name, make_fn make, uint32_t size, double most_ratio, int64_t copied) {
    const cost_t one = cost_of(make, size, NULL), two = cost_of(make, 2 * size, NULL);
    double layers = one.layers ? (double)two.layers / (double)one.layers : 2;
    double ratio = (double)two.steps / (double)one.steps * 2 / layers;
    printf("%s: %u layers, %" PRIu64 " steps (%.0f a layer); twice as large: %.2f times\n", name, two.layers, two.steps,
           (double)two.steps / (two.layers + 1.0), ratio);
    if (ratio > most_ratio) fail_msg("%s: twice the size costs %.2f times the steps", name, ratio);
    if (one.is_cut || two.is_cut) fail_msg("%s: the search ended before all was tried", name);
    if (one.copied != copied || two.copied != copied)
        fail_msg("%s: copies %" PRId64 " and %" PRId64 " bytes", name, one.copied, two.copied);
    if (two.steps > two.most) fail_msg("%s: the budget was exceeded", name);
}

static void test_families(void **state) {
    (void)state;
    expect_cost("chain", chain, 500, 2.1, 0);
    expect_cost("elements", elements, 250, 4.2, 0);
    expect_cost("rows", rows, 250, 4.2, 0);
    expect_cost("sections", sections, 200, 4.2, 0);
    expect_cost("dense", dense_static, 40, 4.5, 0);
    expect_cost("dense, dynamic batch", dense_dynamic, 40, 4.5, 0);
    expect_cost("states", states, 250, 4.2, 0);
    expect_cost("rotation", rotation, 50, 8, 16);
}

/* Of a budget that is too small, little more is spent than it holds and a plan needs by itself. */
static void test_small_budgets(void **state) {
    (void)state;
    const make_fn makers[] = {elements, rows, sections, dense_dynamic, states, rotation};
    for (uint32_t i = 0; i < COUNT_OF(makers); i++)
        for (uint64_t most = 1000; most < 2000000; most *= 4) {
            const cost_t cost = cost_of(makers[i], 100, &most);
            if (cost.steps > 2 * most + 16384 * (cost.layers + 100))
                fail_msg("maker %u: %" PRIu64 " steps of %" PRIu64, i, cost.steps, most);
        }
}

/* A budget that is spent leaves a plan of the same results, which may copy more. */
static void test_spent(void **state) {
    (void)state;
    network_t *network;
    plan_t *plan;
    insitu_diag diag;
    text_t source;
    insitu_diag_init(&diag);
    text_init(&source);
    sections(&source, 40);
    assert_int_equal(network_parse(source.data, &network, &diag), INSITU_OK);
    plan_search_t search = {.most = 1};
    const plan_options_t options = {.search = &search};
    if (plan_build(network, &options, &plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    assert_true(search.is_cut);
    assert_true(plan_copied_bytes(plan) > 0);
    assert_int_equal(plan_note_cut(plan), INSITU_OK);
    assert_non_null(strstr(plan->report[0].reason, "this may be avoidable"));
    plan_destroy(plan);
    network_destroy(network);
    text_release(&source);
    insitu_diag_release(&diag);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families), cmocka_unit_test(test_small_budgets),
                                       cmocka_unit_test(test_spent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
