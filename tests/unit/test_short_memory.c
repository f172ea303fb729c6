/* Memory that is short for a moment: whatever allocation fails while a context is made or runs, the call is refused with
 * NOMEM, or computes the very bits that it computes with memory enough, then and later. */
#include "counting_allocator.h"
#include "saved_calls.h"

enum { MOST_OUTPUTS = 16, MOST_BYTES = 1 << 16 };

static void must_be_short(const saved_calls_t *calls, insitu_status status) {
    if (status != INSITU_NOMEM) fail_msg("%s: %s: %s", calls->name, insitu_status_name(status), calls->diag.message);
}

/* The outputs' bytes, one after the other; returns how many. */
static size_t gather_outputs(saved_calls_t *calls, const insitu_context *context, uint8_t *bytes) {
    size_t used = 0;
    for (int32_t i = 0; i < insitu_engine_output_count(calls->engine); i++) {
        insitu_tensor tensor;
        saved_must(calls, insitu_context_output(context, i, &tensor, &calls->diag));
        int64_t dense[INSITU_MAX_RANK], sizes = 1;
        dtype_t type;
        if (!tensor.data || !dtype_from_public(tensor.dtype, &type)) continue;
        for (int32_t d = 0; d < tensor.ndim; d++) sizes *= tensor.shape[d];
        assert_true(used + (size_t)sizes * dtype_size(type) <= MOST_BYTES);
        dense_strides((uint32_t)tensor.ndim, tensor.shape, dense);
        strided_copy(type, (uint32_t)tensor.ndim, tensor.shape, bytes + used, dense,
                     (const uint8_t *)tensor.data + tensor.byte_offset, tensor.strides);
        used += (size_t)sizes * dtype_size(type);
    }
    return used;
}

/* A call on a state that was reset. */
static void expect_bits(saved_calls_t *calls, insitu_context *context, const uint8_t *expected, size_t size) {
    static uint8_t bytes[MOST_BYTES];
    saved_must(calls, insitu_state_reset(calls->state, NULL, &calls->diag));
    saved_must(calls, saved_calls_run(calls, context, calls->state, 0));
    assert_int_equal(gather_outputs(calls, context, bytes), size);
    if (memcmp(bytes, expected, size) != 0) fail_msg("%s: other bits after memory was short", calls->name);
}

/* The nth allocation of making a context fails, then that of its first call; false if neither has so many. */
static bool fail_one(saved_calls_t *calls, uint64_t nth, const uint8_t *expected, size_t size) {
    allocation_count_t count = {.fail_at = nth};
    insitu_context *context;
    count_allocations(&count);
    insitu_status status = insitu_context_create(calls->engine, &context, &calls->diag);
    bool is_reached = count.calls >= nth;
    count.fail_at = 0;
    if (status == INSITU_OK) {
        expect_bits(calls, context, expected, size);
        insitu_context_destroy(context);
    } else {
        must_be_short(calls, status);
    }
    saved_must(calls, insitu_context_create(calls->engine, &context, &calls->diag));
    saved_must(calls, insitu_state_reset(calls->state, NULL, &calls->diag));
    count.calls = 0;
    count.fail_at = nth;
    status = saved_calls_run(calls, context, calls->state, 0);
    is_reached |= count.calls >= nth;
    count.fail_at = 0;
    if (status != INSITU_OK) must_be_short(calls, status);
    expect_bits(calls, context, expected, size);
    insitu_context_destroy(context);
    memory_set_hooks(NULL);
    assert_int_equal(count.live, 0);
    return is_reached;
}

static void short_memory_changes_no_bits(void **state) {
    (void)state;
    static const char *const names[] = {"history.train.pt2", "recurrent.train.pt2", "decoder.train.pt2",
                                        "decoder_dynamic.train.pt2", "late_updates.train.pt2"};
    static uint8_t expected[MOST_BYTES];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        saved_calls_t calls;
        assert_true(saved_calls_open(&calls, names[i], NULL));
        saved_must(&calls, saved_calls_run(&calls, calls.context, calls.state, 0));
        size_t size = gather_outputs(&calls, calls.context, expected);
        uint64_t nth = 1;
        while (fail_one(&calls, nth, expected, size)) nth++;
        assert_true(nth > 4);
        saved_calls_close(&calls);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_memory_changes_no_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
