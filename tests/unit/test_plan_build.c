/* The planner: what is in place, what is copied and why, and what no step is spent on. */
#include "unit_test.h"

#include "rewrite/rewrite.h"
#include <string.h>

typedef struct planned {
    network *network;
    plan *plan;
    text text;
} planned;

static planned plan_of(const char *source, const plan_options *options) {
    planned result;
    insitu_diag diag;
    insitu_diag_init(&diag);
    text_init(&result.text);
    if (network_parse(source, &result.network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (network_verify(result.network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (plan_build(result.network, options, &result.plan, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    plan_print(result.plan, &result.text);
    insitu_diag_release(&diag);
    return result;
}

static void release(planned *planned) {
    text_release(&planned->text);
    plan_destroy(planned->plan);
    network_destroy(planned->network);
}

static int64_t number(const plan *plan, sym value) {
    int64_t result;
    assert_true(sym_constant(&plan->symbols, value, &result));
    return result;
}

static uint32_t count_layer(const plan *plan, layer_kind kind) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->step_count; i++)
        count += plan->steps[i].kind == STEP_LAYER && plan->steps[i].layer == kind;
    return count;
}

static void expect_row(const planned *planned, uint32_t index, const char *update, int64_t written, int64_t moved,
                       int64_t copied, const char *reason) {
    const report_row *row = &planned->plan->report[index];
    if (strcmp(row->update, update) != 0 || number(planned->plan, row->written) != written ||
        number(planned->plan, row->moved) != moved || number(planned->plan, row->copied) != copied ||
        !strstr(row->reason, reason) || row->in_place != (copied == 0))
        fail_msg("row %u: %s: %s, written %lld, moved %lld, copied %lld, '%s'\n%s", index, row->name, row->update,
                 (long long)number(planned->plan, row->written), (long long)number(planned->plan, row->moved),
                 (long long)number(planned->plan, row->copied), row->reason, planned->text.data);
}

static const plan_options plain = {.no_inplace = false};

#define CACHE                                                                                                          \
    "network\n"                                                                                                        \
    "input \"x\" = %x: f32[1,4,1,8]\n"                                                                                 \
    "input \"pos\" = %pos: i64[1]\n"                                                                                   \
    "state \"cache\" = %cache: f32[1,4,16,8] of zeros\n"

static void a_row_is_written_in_place(void **state) {
    (void)state;
    planned p =
        plan_of(CACHE "%r: f32[1,4,16,8] = index_update(%cache, %x, %pos) {accumulate=false, dims=[2], wrap=false}\n"
                      "%s: f32[] = reduce(%r) {axes=[0,1,2,3], keepdim=false, op=sum}\n"
                      "next \"cache\" = %r\n"
                      "output \"output.0\" = %s\n",
                &plain);
    expect_row(&p, 0, "index_update dim 2", 4 * 8 * 4, 0, 0, "");
    assert_int_equal(p.plan->step_count, 3); /* check, update, sum */
    assert_int_equal(p.plan->steps[0].kind, STEP_CHECK_INDEX);
    assert_int_equal(p.plan->first_write, 1);
    release(&p);
}

static void a_producer_stores_into_its_slice(void **state) {
    (void)state;
    planned p = plan_of(CACHE "%e: f32[1,4,1,8] = unary(%x) {op=exp}\n"
                              "%r: f32[1,4,16,8] = slice_update(%cache, %e) {dim=2, end=4, start=3, step=1}\n"
                              "next \"cache\" = %r\n"
                              "output \"output.0\" = %r\n",
                        &plain);
    expect_row(&p, 0, "slice_update dim 2", 4 * 8 * 4, 0, 0, "");
    assert_int_equal(p.plan->step_count, 1);
    assert_int_equal(p.plan->outputs[0].alias, ALIAS_STATE);
    release(&p);
}

static void readers_of_the_old_value_run_first(void **state) {
    (void)state;
    planned p = plan_of(CACHE "%r: f32[1,4,16,8] = slice_update(%cache, %x) {dim=2, end=4, start=3, step=1}\n"
                              "%s: f32[] = reduce(%cache) {axes=[0,1,2,3], keepdim=false, op=sum}\n"
                              "next \"cache\" = %r\n"
                              "output \"output.0\" = %s\n",
                        &plain);
    expect_row(&p, 0, "slice_update dim 2", 4 * 8 * 4, 0, 0, "");
    assert_int_equal(p.plan->steps[0].layer, LAYER_REDUCE);
    release(&p);
}

static void readers_of_another_part_run_whenever(void **state) {
    (void)state;
    planned p = plan_of(CACHE "%r: f32[1,4,16,8] = slice_update(%cache, %x) {dim=2, end=4, start=3, step=1}\n"
                              "%all: f32[] = reduce(%r) {axes=[0,1,2,3], keepdim=false, op=sum}\n"
                              "%old: f32[1,4,2,8] = slice(%cache) {dim=2, end=6, start=4, step=1}\n"
                              "%wide: f32[1,1,1,1] = reshape(%all) {sizes=[1,1,1,1]}\n"
                              "%same: f32[1,4,2,8] = expand(%wide) {sizes=[1,4,2,8]}\n"
                              "%sum: f32[1,4,2,8] = binary(%old, %same) {op=add}\n"
                              "next \"cache\" = %r\n"
                              "output \"output.0\" = %sum\n",
                        &plain);
    expect_row(&p, 0, "slice_update dim 2", 4 * 8 * 4, 0, 0, "");
    release(&p);
}

static void an_old_value_that_is_needed_later_is_set_aside(void **state) {
    (void)state;
    planned p = plan_of(CACHE "%r: f32[1,4,16,8] = slice_update(%cache, %x) {dim=2, end=4, start=3, step=1}\n"
                              "%all: f32[] = reduce(%r) {axes=[0,1,2,3], keepdim=false, op=sum}\n"
                              "%old: f32[1,4,2,8] = slice(%cache) {dim=2, end=5, start=3, step=1}\n"
                              "%wide: f32[1,1,1,1] = reshape(%all) {sizes=[1,1,1,1]}\n"
                              "%same: f32[1,4,2,8] = expand(%wide) {sizes=[1,4,2,8]}\n"
                              "%sum: f32[1,4,2,8] = binary(%old, %same) {op=add} @\"sum\"  # model.py:41\n"
                              "next \"cache\" = %r\n"
                              "output \"output.0\" = %sum\n",
                        &plain);
    expect_row(&p, 0, "slice_update dim 2", 4 * 8 * 4, 0, 4 * 2 * 8 * 4, "sum (model.py:41) reads the old value");
    release(&p);
}

static void an_elementwise_chain_ends_in_the_state(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "input \"x\" = %x: f32[8]\n"
                        "state \"mean\" = %mean: f32[8] of zeros\n"
                        "%a: f32[8] = binary(%mean) {op=mul, scalar=0.9}\n"
                        "%b: f32[8] = binary(%a, %x) {op=add}\n"
                        "next \"mean\" = %b\n"
                        "output \"output.0\" = %b\n",
                        &plain);
    expect_row(&p, 0, "elementwise", 32, 0, 0, "");
    assert_int_equal(p.plan->step_count, 2);
    release(&p);
}

static void a_swap_sets_one_tensor_aside(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "state \"a\" = %a: f32[8] of zeros\n"
                        "state \"b\" = %b: f32[8] of zeros\n"
                        "next \"a\" = %b\n"
                        "next \"b\" = %a\n",
                        &plain);
    assert_int_equal(p.plan->step_count, 3);
    int64_t copied = number(p.plan, p.plan->report[0].copied) + number(p.plan, p.plan->report[1].copied);
    assert_int_equal(number(p.plan, p.plan->report[0].written), 32);
    assert_int_equal(number(p.plan, p.plan->report[1].written), 32);
    assert_true(copied == 32);
    release(&p);
}

static void a_delay_line_copies_nothing(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "input \"x\" = %x: f32[8]\n"
                        "state \"a\" = %a: f32[8] of zeros\n"
                        "state \"b\" = %b: f32[8] of zeros\n"
                        "next \"a\" = %x\n"
                        "next \"b\" = %a\n"
                        "output \"output.0\" = %b\n",
                        &plain);
    expect_row(&p, 0, "assign", 32, 0, 0, "");
    expect_row(&p, 1, "assign", 32, 0, 0, "");
    release(&p);
}

static void nested_parts_are_no_passes_of_their_own(void **state) {
    (void)state;
    /* cache[:, :, 3:5][..., 2] = x, as functional programs write it */
    planned p = plan_of("network\n"
                        "input \"x\" = %x: f32[1,4,2]\n"
                        "state \"cache\" = %cache: f32[1,4,16,8] of zeros\n"
                        "%s: f32[1,4,2,8] = slice(%cache) {dim=2, end=5, start=3, step=1}\n"
                        "%u: f32[1,4,2,1] = reshape(%x) {sizes=[1,4,2,1]}\n"
                        "%i: f32[1,4,2,8] = slice_update(%s, %u) {dim=3, end=3, start=2, step=1}\n"
                        "%r: f32[1,4,16,8] = slice_update(%cache, %i) {dim=2, end=5, start=3, step=1}\n"
                        "next \"cache\" = %r\n",
                        &plain);
    expect_row(&p, 0, "slice_update dim 2, slice_update dim 3", 4 * 2 * 4, 0, 0, "");
    assert_int_equal(p.plan->step_count, 1);
    release(&p);
}

static void fresh_tensors_are_made_part_by_part(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "input \"a\" = %a: f32[1,4]\n"
                        "input \"b\" = %b: f32[1,4]\n"
                        "%e: f32[1,8] = empty() {dtype=f32, sizes=[1,8]}\n"
                        "%x: f32[1,4] = unary(%a) {op=exp}\n"
                        "%y: f32[1,4] = unary(%b) {op=exp}\n"
                        "%f: f32[1,8] = slice_update(%e, %x) {dim=1, end=4, start=0, step=1}\n"
                        "%g: f32[1,8] = slice_update(%f, %y) {dim=1, end=8, start=4, step=1}\n"
                        "%n: f32[1,8] = unary(%g) {op=neg}\n"
                        "%c: f32[3,8] = concat(%g, %n, %n) {dim=0}\n"
                        "output \"output.0\" = %c\n",
                        &plain);
    assert_int_equal(count_layer(p.plan, LAYER_COPY), 1); /* the second use of %n */
    assert_int_equal(p.plan->step_count, 4);
    release(&p);
}

static void a_fill_comes_before_the_producer_of_a_part(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "input \"a\" = %a: f32[4]\n"
                        "%p: f32[4] = unary(%a) {op=exp}\n"
                        "%z: f32[8] = fill() {dtype=f32, sizes=[8], value=0}\n"
                        "%r: f32[8] = slice_update(%z, %p) {dim=0, end=4, start=0, step=1}\n"
                        "output \"output.0\" = %r\n",
                        &plain);
    assert_int_equal(p.plan->step_count, 2);
    assert_int_equal(p.plan->steps[0].layer, LAYER_FILL);
    release(&p);
}

static void an_update_of_an_input_copies_it_first(void **state) {
    (void)state;
    planned p = plan_of(CACHE "state \"other\" = %o: f32[8] of zeros\n"
                              "%z: f32[1,4,1,8] = copy(%x)\n"
                              "%h: f32[1,4,1,4] = slice(%x) {dim=3, end=4, start=0, step=1}\n"
                              "%r: f32[1,4,1,8] = slice_update(%z, %h) {dim=3, end=8, start=4, step=1}\n"
                              "output \"output.0\" = %r\n"
                              "output \"output.1\" = %z\n",
                        &plain);
    assert_int_equal(p.plan->report_count, 0);
    assert_int_equal(count_layer(p.plan, LAYER_COPY), 3); /* x -> z, z -> r, the part */
    release(&p);
}

static void a_position_from_a_new_value_is_checked_late(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "input \"x\" = %x: f32[1,3]\n"
                        "state \"hist\" = %hist: f32[6,3] of zeros\n"
                        "state \"pos\" = %pos: i64[1] of zeros\n"
                        "%n: i64[1] = binary(%pos) {op=add, scalar=1}\n"
                        "%m: i64[1] = binary(%n) {op=remainder, scalar=6}\n"
                        "%r: f32[6,3] = index_update(%hist, %x, %m) {accumulate=false, dims=[0], wrap=false}\n"
                        "next \"hist\" = %r\n"
                        "next \"pos\" = %n\n",
                        &plain);
    expect_row(&p, 0, "index_update dim 0", 12, 0, 0, "");
    expect_row(&p, 1, "elementwise", 8, 0, 0, "");
    assert_int_equal(number(p.plan, p.plan->report[0].saved), 0);
    assert_int_equal(number(p.plan, p.plan->report[1].saved), 8);
    assert_int_equal(p.plan->restore_count, 1);
    assert_int_equal(p.plan->steps[p.plan->restores[0].save_step].layer, LAYER_COPY);
    release(&p);
}

static void rows_before_a_late_check_are_saved(void **state) {
    (void)state;
    /* the second cache's position is what attention over the first one found */
    planned p =
        plan_of(CACHE "state \"other\" = %o: f32[1,4,16,8] of zeros\n"
                      "%r: f32[1,4,16,8] = index_update(%cache, %x, %pos) {accumulate=false, dims=[2], wrap=false}\n"
                      "%f: f32[512] = reshape(%r) {sizes=[512]}\n"
                      "%a: i64[1] = reduce(%f) {axes=[0], keepdim=true, op=argmax}\n"
                      "%q: f32[1,4,16,8] = index_update(%o, %x, %a) {accumulate=false, dims=[2], wrap=false}\n"
                      "next \"cache\" = %r\n"
                      "next \"other\" = %q\n",
                &plain);
    expect_row(&p, 0, "index_update dim 2", 128, 0, 0, "");
    expect_row(&p, 1, "index_update dim 2", 128, 0, 0, "");
    assert_int_equal(number(p.plan, p.plan->report[0].saved), 128);
    assert_int_equal(number(p.plan, p.plan->report[1].saved), 0);
    assert_int_equal(p.plan->restore_count, 1);
    assert_int_equal(p.plan->restores[0].step.layer, LAYER_INDEX_UPDATE);
    assert_int_equal(p.plan->steps[p.plan->restores[0].save_step].layer, LAYER_INDEX);
    release(&p);
}

static void an_item_position_cuts_nothing(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "symbol u0: int in 0..15\n"
                        "input \"x\" = %x: f32[1,4,1,8]\n"
                        "input \"pos\" = %pos: i64[]\n"
                        "state \"cache\" = %cache: f32[1,4,16,8] of zeros\n"
                        "%e: f32[1,4,1,8] = unary(%x) {op=exp}\n"
                        "item(%pos) {symbol=u0}\n"
                        "%r: f32[1,4,16,8] = slice_update(%cache, %e) {dim=2, end=u0 + 1, start=u0, step=1}\n"
                        "next \"cache\" = %r\n",
                        &plain);
    expect_row(&p, 0, "slice_update dim 2", 128, 0, 0, "");
    assert_int_equal(p.plan->segment_count, 1);
    assert_int_equal(p.plan->step_count, 2); /* the item comes before exp, which stores at its position */
    assert_int_equal(p.plan->steps[0].layer, LAYER_ITEM);
    release(&p);
}

static void an_item_in_a_size_cuts_the_plan(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "symbol u0: int in 0..15\n"
                        "input \"pos\" = %pos: i64[]\n"
                        "input \"x\" = %x: f32[16]\n"
                        "%n: f32[16] = unary(%x) {op=neg}\n"
                        "item(%pos) {symbol=u0}\n"
                        "%s: f32[u0 + 1] = slice(%n) {dim=0, end=u0 + 1, start=0, step=1}\n"
                        "%e: f32[u0 + 1] = unary(%s) {op=exp}\n"
                        "output \"output.0\" = %e\n",
                        &plain);
    assert_int_equal(p.plan->segment_count, 2);
    assert_int_equal(p.plan->segments[0].end_step, p.plan->segments[1].first_step);
    assert_int_equal(p.plan->segments[1].end_step, p.plan->step_count);
    release(&p);
}

static void one_value_in_two_states_is_computed_in_the_first(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "input \"x\" = %x: f32[8]\n"
                        "state \"a\" = %a: f32[8] of zeros\n"
                        "state \"b\" = %b: f32[8] of zeros\n"
                        "%n: f32[8] = binary(%a, %x) {op=add}\n"
                        "next \"a\" = %n\n"
                        "next \"b\" = %n\n",
                        &plain);
    expect_row(&p, 0, "elementwise", 32, 0, 0, "");
    expect_row(&p, 1, "elementwise", 32, 0, 0, "");
    assert_int_equal(p.plan->step_count, 2);
    release(&p);
}

static void a_part_stored_onto_itself_is_no_pass(void **state) {
    (void)state;
    /* b[:n] += x, whose result is copied onto the identical view */
    planned p = plan_of("network\n"
                        "symbol n: int in 2..16\n"
                        "input \"x\" = %x: f32[n,3]\n"
                        "state \"b\" = %b: f32[16,3] of zeros\n"
                        "%s: f32[n,3] = slice(%b) {dim=0, end=n, start=0, step=1}\n"
                        "%t: f32[n,3] = binary(%s, %x) {op=add}\n"
                        "%u: f32[16,3] = slice_update(%b, %t) {dim=0, end=n, start=0, step=1}\n"
                        "%v: f32[n,3] = slice(%u) {dim=0, end=n, start=0, step=1}\n"
                        "%w: f32[16,3] = slice_update(%u, %v) {dim=0, end=n, start=0, step=1}\n"
                        "next \"b\" = %w\n",
                        &plain);
    assert_true(p.plan->report[0].in_place);
    assert_int_equal(p.plan->step_count, 1);
    release(&p);
}

static void without_in_place_everything_is_copied(void **state) {
    (void)state;
    plan_options options = {.no_inplace = true};
    planned p =
        plan_of(CACHE "%r: f32[1,4,16,8] = index_update(%cache, %x, %pos) {accumulate=false, dims=[2], wrap=false}\n"
                      "next \"cache\" = %r\n"
                      "output \"output.0\" = %r\n",
                &options);
    expect_row(&p, 0, "index_update dim 2", 2048, 0, 4096, "switched off");
    release(&p);
}

static void strict_refuses_a_copy(void **state) {
    (void)state;
    network *network;
    plan *plan;
    insitu_diag diag;
    insitu_diag_init(&diag);
    assert_int_equal(network_parse("network\n"
                                   "state \"a\" = %a: f32[8] of zeros\n"
                                   "state \"b\" = %b: f32[8] of zeros\n"
                                   "next \"a\" = %b\n"
                                   "next \"b\" = %a\n",
                                   &network, &diag),
                     INSITU_OK);
    assert_int_equal(plan_build(network, &plain, &plan, &diag), INSITU_OK);
    assert_int_equal(plan_require_in_place(plan, &diag), INSITU_UNSUPPORTED);
    assert_non_null(strstr(diag.message, "copies state"));
    plan_destroy(plan);
    network_destroy(network);
}

static void mutated_inputs_are_their_own_outputs(void **state) {
    (void)state;
    planned p = plan_of("network\n"
                        "input \"k\" = %k: f32[2,8,4]\n"
                        "input \"x\" = %x: f32[2,1,4]\n"
                        "%r: f32[2,8,4] = slice_update(%k, %x) {dim=1, end=4, start=3, step=1}\n"
                        "%t: f32[2,4,8] = permute(%r) {axes=[0,2,1]}\n"
                        "mutation \"k\" = %r\n"
                        "output \"output.0\" = %r\n"
                        "output \"output.1\" = %t\n"
                        "output \"output.2\" = %x\n",
                        &plain);
    expect_row(&p, 0, "slice_update dim 1", 2 * 4 * 4, 0, 0, "");
    assert_true(p.plan->inputs[0].is_written && !p.plan->inputs[1].is_written);
    assert_int_equal(p.plan->outputs[0].alias, ALIAS_INPUT);
    assert_int_equal(p.plan->outputs[1].alias, ALIAS_INPUT);
    assert_int_equal(p.plan->outputs[2].alias, ALIAS_NONE);
    release(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_written_in_place),
        cmocka_unit_test(a_producer_stores_into_its_slice),
        cmocka_unit_test(readers_of_the_old_value_run_first),
        cmocka_unit_test(readers_of_another_part_run_whenever),
        cmocka_unit_test(an_old_value_that_is_needed_later_is_set_aside),
        cmocka_unit_test(an_elementwise_chain_ends_in_the_state),
        cmocka_unit_test(a_swap_sets_one_tensor_aside),
        cmocka_unit_test(a_delay_line_copies_nothing),
        cmocka_unit_test(nested_parts_are_no_passes_of_their_own),
        cmocka_unit_test(fresh_tensors_are_made_part_by_part),
        cmocka_unit_test(a_fill_comes_before_the_producer_of_a_part),
        cmocka_unit_test(an_update_of_an_input_copies_it_first),
        cmocka_unit_test(a_position_from_a_new_value_is_checked_late),
        cmocka_unit_test(rows_before_a_late_check_are_saved),
        cmocka_unit_test(one_value_in_two_states_is_computed_in_the_first),
        cmocka_unit_test(a_part_stored_onto_itself_is_no_pass),
        cmocka_unit_test(an_item_position_cuts_nothing),
        cmocka_unit_test(an_item_in_a_size_cuts_the_plan),
        cmocka_unit_test(without_in_place_everything_is_copied),
        cmocka_unit_test(strict_refuses_a_copy),
        cmocka_unit_test(mutated_inputs_are_their_own_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
