/* A strided tensor from one place to another. Within one memory that is one copy. Between the host's and a device's the bytes
 * go dense: a place that is not dense has a dense block beside it, in its own memory, for as long as that takes. */
#include "runtime/transfer.h"

typedef struct move {
    const device_t *device;
    void *stream;
    dtype_t type;
    uint32_t rank;
    const int64_t *sizes;
    int64_t dense[MAX_RANK]; /* strides of row-major order */
    size_t bytes;            /* of all elements */
    insitu_diag *diag;
} move_t;

static bool is_dense(const move_t *move, const int64_t *strides) {
    for (uint32_t i = 0; i < move->rank; i++)
        if (move->sizes[i] != 1 && strides[i] != move->dense[i]) return false;
    return true;
}

static insitu_status copy_on_device(const move_t *move, place_t target, place_t source) {
    int64_t target_steps[MAX_RANK], source_steps[MAX_RANK];
    byte_steps(move->type, move->rank, target.strides, target_steps);
    byte_steps(move->type, move->rank, source.strides, source_steps);
    const device_copy_t copy = {.item = dtype_size(move->type),
                                .rank = move->rank,
                                .sizes = move->sizes,
                                .target = target.address,
                                .target_steps = target_steps,
                                .source = source.address,
                                .source_steps = source_steps};
    return move->device->copy_strided(move->device, move->stream, &copy, move->diag);
}

static insitu_status out_of_memory(const move_t *move) {
    FAIL(move->diag, INSITU_NOMEM, "out of memory for a copy of %zu bytes", move->bytes);
}

/* From dense host memory to the device. */
static insitu_status to_device(const move_t *move, place_t target, const void *host) {
    const device_t *device = move->device;
    if (is_dense(move, target.strides))
        return device->copy_to(device, move->stream, target.address, host, move->bytes, move->diag);
    void *block = device->allocate(device, move->bytes, ARENA_ALIGNMENT, false);
    if (!block) return out_of_memory(move);
    insitu_status status = device->copy_to(device, move->stream, block, host, move->bytes, move->diag);
    if (status == INSITU_OK) status = copy_on_device(move, target, (place_t){.address = block, .strides = move->dense});
    device->free(device, block);
    return status;
}

/* From the device to dense host memory. */
static insitu_status from_device(const move_t *move, void *host, place_t source) {
    const device_t *device = move->device;
    if (is_dense(move, source.strides))
        return device->copy_from(device, move->stream, host, source.address, move->bytes, move->diag);
    void *block = device->allocate(device, move->bytes, ARENA_ALIGNMENT, false);
    if (!block) return out_of_memory(move);
    insitu_status status = copy_on_device(move, (place_t){.address = block, .strides = move->dense}, source);
    if (status == INSITU_OK) status = device->copy_from(device, move->stream, host, block, move->bytes, move->diag);
    device->free(device, block);
    return status;
}

static void copy_on_host(const move_t *move, place_t target, place_t source) {
    strided_copy(move->type, move->rank, move->sizes, target.address, target.strides, source.address, source.strides);
}

static insitu_status between(const move_t *move, place_t target, place_t source) {
    const place_t host = target.is_host ? target : source;
    void *block = is_dense(move, host.strides) ? host.address : memory_alloc(move->bytes);
    insitu_status status;
    if (!block) return out_of_memory(move);
    const place_t dense = {.address = block, .strides = move->dense, .is_host = true};
    if (target.is_host) {
        status = from_device(move, block, source);
        if (status == INSITU_OK && block != host.address) copy_on_host(move, target, dense);
    } else {
        if (block != host.address) copy_on_host(move, dense, source);
        status = to_device(move, target, block);
    }
    if (block != host.address) memory_free(block);
    return status;
}

insitu_status transfer(const device_t *device, void *stream, dtype_t type, uint32_t rank, const int64_t *sizes,
                       place_t target, place_t source, insitu_diag *diag) {
    move_t move = {.device = device, .stream = stream, .type = type, .rank = rank, .sizes = sizes, .diag = diag};
    move.bytes = dtype_size(type);
    for (uint32_t i = 0; i < rank; i++) move.bytes *= (size_t)sizes[i]; /* it fits, as the tensors do */
    if (move.bytes == 0) return INSITU_OK;
    if (device->is_host || (target.is_host && source.is_host)) {
        copy_on_host(&move, target, source);
        return INSITU_OK;
    }
    dense_strides(rank, sizes, move.dense);
    if (target.is_host || source.is_host) return between(&move, target, source);
    return copy_on_device(&move, target, source);
}

/* ---- tensors of states and outputs ---- */

static insitu_status move_tensor(const device_t *device, const insitu_tensor *tensor, void *dense, bool is_gather,
                                 insitu_diag *diag) {
    dtype_t type;
    int64_t strides[MAX_RANK];
    if (!dtype_from_public(tensor->dtype, &type)) return INSITU_OK;
    dense_strides((uint32_t)tensor->ndim, tensor->shape, strides);
    const place_t own = {(uint8_t *)tensor->data + tensor->byte_offset, tensor->strides,
                         tensor->device.device_type == INSITU_DEVICE_CPU};
    const place_t host = {dense, strides, true};
    return transfer(device, NULL, type, (uint32_t)tensor->ndim, tensor->shape, is_gather ? host : own,
                    is_gather ? own : host, diag);
}

insitu_status tensor_gather(const device_t *device, const insitu_tensor *tensor, void *dense, insitu_diag *diag) {
    return move_tensor(device, tensor, dense, true, diag);
}

insitu_status tensor_scatter(const device_t *device, const insitu_tensor *tensor, const void *dense,
                             insitu_diag *diag) {
    return move_tensor(device, tensor, (void *)(uintptr_t)dense, false, diag);
}

insitu_status read_element(const device_t *device, void *stream, dtype_t type, const void *address,
                           sym_value_t *out_value, bool *out_is_number, insitu_diag *diag) {
    _Alignas(16) uint8_t element[16]; /* of the widest dtype */
    if (device->is_host)
        *out_is_number = element_value(type, address, out_value);
    else {
        TRY(device->copy_from(device, stream, element, address, dtype_size(type), diag));
        *out_is_number = element_value(type, element, out_value);
    }
    return INSITU_OK;
}
