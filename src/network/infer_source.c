/* Inference of sources: fill, iota, empty; and of item, which ends in a symbol. */
#include "network/network_int.h"

static insitu_status infer_from_sizes(const infer_call_t *call) {
    attr_t sizes = infer_attr(call, ATTR_SIZES);
    call->results[0].dtype = infer_attr(call, ATTR_DTYPE).dtype;
    call->results[0].shape.rank = sizes.list.count;
    for (uint32_t i = 0; i < sizes.list.count; i++) {
        TRY(infer_size(call, sizes.list.items[i], 0, "size"));
        call->results[0].shape.sizes[i] = sizes.list.items[i];
    }
    return INSITU_OK;
}

insitu_status infer_FILL(const infer_call_t *call) { return infer_from_sizes(call); }

insitu_status infer_EMPTY(const infer_call_t *call) { return infer_from_sizes(call); }

/* The last element of integers is one: start + (size - 1)*step is, as far as all three are known. */
static insitu_status need_last_element(const infer_call_t *call) {
    int64_t size, start, step;
    dtype_t type = call->results[0].dtype;
    if (!dtype_is_integral(type) || !sym_constant(call->pool, infer_attr(call, ATTR_SIZE).value, &size) ||
        !sym_constant(call->pool, infer_attr(call, ATTR_START).value, &start) ||
        !sym_constant(call->pool, infer_attr(call, ATTR_STEP).value, &step) || size == 0)
        return INSITU_OK;
    __int128 last = (__int128)start + (__int128)(size - 1) * step;
    if (last >= INT64_MIN && last <= (type == DTYPE_U64 ? (__int128)UINT64_MAX : INT64_MAX)) return INSITU_OK;
    return infer_fail(call, INSITU_ARG, "element %lld of %s[%lld], %lld + %lld*%lld, is beyond 64 bits",
                      (long long)size - 1, dtype_name(type), (long long)size, (long long)start, (long long)size - 1,
                      (long long)step);
}

insitu_status infer_IOTA(const infer_call_t *call) {
    call->results[0].dtype = infer_attr(call, ATTR_DTYPE).dtype;
    if (call->results[0].dtype == DTYPE_BOOL || dtype_is_complex(call->results[0].dtype)) {
        return infer_fail(call, INSITU_ARG, "dtype must be a real number's");
    }
    sym_t size = infer_attr(call, ATTR_SIZE).value;
    TRY(infer_size(call, size, 0, "size"));
    call->results[0].shape.rank = 1;
    call->results[0].shape.sizes[0] = size;
    TRY(infer_bytes(call, 0));
    return need_last_element(call);
}

insitu_status infer_ITEM(const infer_call_t *call) {
    if (sym_symbol_index(call->pool, infer_attr(call, ATTR_SYMBOL).value) == NONE) {
        return infer_fail(call, INSITU_ARG, "symbol must be a symbol");
    }
    sym_t count = shape_numel(call->pool, &infer_operand(call, 0)->shape);
    return infer_equal(call, count, sym_int(call->pool, 1), "number of elements");
}
