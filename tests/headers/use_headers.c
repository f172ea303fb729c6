/* What the headers define as macros and inline must also be usable with every warning, in C and (the .cpp) in C++. */
#include <insitu/insitu.h>

#include <stddef.h>

insitu_tensor scalar_of(float *value);
insitu_status describe(const char *path, insitu_diag *diag);
insitu_status build(insitu_network *network, insitu_value *out_value, insitu_diag *diag);

insitu_tensor scalar_of(float *value) {
    insitu_tensor tensor = {0};
    tensor.data = value;
    tensor.device.device_type = INSITU_DEVICE_CPU;
    tensor.dtype = INSITU_DTYPE_F32;
    if (tensor.dtype.bits == INSITU_DTYPE_BF16.bits) tensor.dtype = INSITU_DTYPE_BOOL;
    return tensor;
}

insitu_status describe(const char *path, insitu_diag *diag) {
    insitu_load_options options = {.struct_size = sizeof(options), .verify_weights = true};
    insitu_engine *engine = NULL;
    insitu_status status = insitu_engine_load(path, &options, &engine, diag);
    insitu_engine_destroy(engine);
    return status;
}

insitu_status build(insitu_network *network, insitu_value *out_value, insitu_diag *diag) {
    const insitu_number sizes[2] = {insitu_int(2), insitu_int(3)};
    insitu_window window = {.struct_size = sizeof(window), .transposed = true};
    insitu_status status =
        insitu_network_add_fill(network, INSITU_DTYPE_F32, 2, sizes, insitu_float(0.5), out_value, diag);
    if (status != INSITU_OK) return status;
    return insitu_network_add_conv(network, *out_value, *out_value, insitu_no_value(), &window, out_value, diag);
}
