/* What a program is compiled for: a device of the registry. */
#include "compile/compile_int.h"

insitu_status target_open(const char *name, const char *written, const device_t **out_device, insitu_diag *diag) {
    int32_t index = 0;
    const device_entry_t *entry = name ? device_entry_find(name, &index) : device_cpu()->entry;
    *out_device = NULL;
    if (entry && !entry->can_alias && written)
        FAIL(diag, INSITU_UNSUPPORTED,
             "device '%s' can't let an input and an output share memory, so '%s' can't be written in place there",
             entry->name, written);
    if (entry && !entry->is_available)
        FAIL(diag, INSITU_UNSUPPORTED, "this library does not compile for device '%s'", entry->name);
    return device_open(name ? name : entry->name, out_device, diag);
}
