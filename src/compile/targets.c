/* The devices that programs are compiled for, by name. */
#include "compile/compile_int.h"

static const target targets[] = {
    {.name = "cpu", .is_available = true, .can_alias = true},
    {.name = "cuda", .is_available = false, .can_alias = true},
    {.name = "dla", .is_available = false, .can_alias = false},
};

/* "cuda:1" is cuda. */
insitu_status target_find(const char *device, const target **out_target, insitu_diag *diag) {
    *out_target = &targets[0];
    if (!device) return INSITU_OK;
    size_t size = strcspn(device, ":");
    const char *number = device + size;
    bool has_number = !*number || (number[1] && strspn(number + 1, "0123456789") == strlen(number + 1));
    for (size_t i = 0; i < COUNT_OF(targets) && has_number; i++) {
        if (strlen(targets[i].name) != size || memcmp(targets[i].name, device, size) != 0) continue;
        if (*number && targets[i].is_available) break;
        *out_target = &targets[i];
        return INSITU_OK;
    }
    FAIL(diag, INSITU_ARG, "unknown device '%s': cpu is known", device);
}

insitu_status target_check(const target *target, const char *written, insitu_diag *diag) {
    if (!target->can_alias && written)
        FAIL(diag, INSITU_UNSUPPORTED,
             "device '%s' can't let an input and an output share memory, so '%s' can't be written in place there",
             target->name, written);
    if (!target->is_available)
        FAIL(diag, INSITU_UNSUPPORTED, "this library does not compile for device '%s'", target->name);
    return INSITU_OK;
}
