/* The registry of devices: those that this library has, those that it knows by name, and what a program adds. */
#include "backend/devices.h"

/* Known by name, so that a refusal says why. */
static const device_entry_t cuda = {.name = "cuda", .can_alias = true};
static const device_entry_t dla = {.name = "dla"};

enum { MAX_DEVICES = 16 };
static const device_entry_t *entries[MAX_DEVICES] = {&device_entry_cpu, &cuda, &dla};

const device_entry_t *device_entry_at(uint32_t number) { return number < MAX_DEVICES ? entries[number] : NULL; }

bool device_register(const device_entry_t *entry) {
    uint32_t number = 0;
    while (number < MAX_DEVICES && entries[number]) number++;
    if (number == MAX_DEVICES) return false;
    entries[number] = entry;
    return true;
}

/* ":12" of "cuda:12"; false: something else follows the name. */
static bool read_index(const char *text, int32_t *out_index) {
    enum { MOST_DIGITS = 6 };
    *out_index = 0;
    if (!*text) return true;
    size_t digits = strspn(++text, "0123456789");
    if (digits == 0 || digits > MOST_DIGITS || text[digits]) return false;
    for (size_t i = 0; i < digits; i++) *out_index = *out_index * 10 + (text[i] - '0');
    return true;
}

const device_entry_t *device_entry_find(const char *name, int32_t *out_index) {
    size_t size = strcspn(name, ":");
    if (!read_index(name + size, out_index)) return NULL;
    for (uint32_t i = 0; i < MAX_DEVICES && entries[i]; i++)
        if (strlen(entries[i]->name) == size && memcmp(entries[i]->name, name, size) == 0) return entries[i];
    return NULL;
}

insitu_status device_unknown(const char *name, insitu_diag *diag) {
    text_t known;
    text_init(&known);
    uint32_t count = 0;
    for (uint32_t i = 0; i < MAX_DEVICES && entries[i]; i++)
        if (entries[i]->is_available) text_printf(&known, count++ ? ", %s" : "%s", entries[i]->name);
    insitu_status status = text_status(&known, diag);
    if (status == INSITU_OK)
        status =
            diag_set(diag, INSITU_ARG, "unknown device '%s': %s %s known", name, known.data, count == 1 ? "is" : "are");
    text_release(&known);
    return status;
}

insitu_status device_open(const char *name, const device_t **out_device, insitu_diag *diag) {
    int32_t index;
    const device_entry_t *entry = device_entry_find(name, &index);
    *out_device = NULL;
    if (!entry) return device_unknown(name, diag);
    if (!entry->is_available) FAIL(diag, INSITU_UNSUPPORTED, "this library has no device '%s'", name);
    insitu_status status = entry->open(index, out_device, diag);
    return status == INSITU_ARG ? device_unknown(name, diag) : status;
}
