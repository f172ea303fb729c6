/* Growing text. The first failure is remembered and later prints do nothing, so that printers need no checks. */
#include "base/base.h"

void text_init(text_t *text) { *text = (text_t){0}; }

void text_release(text_t *text) {
    memory_free(text->data);
    text_init(text);
}

/* Room for extra more bytes and the NUL. */
static bool reserve(text_t *text, size_t extra) {
    if (text->failed) return false;
    size_t needed;
    if (checked_size_add(text->size, extra, &needed) && checked_size_add(needed, 1, &needed)) {
        if (needed <= text->capacity) return true;
        size_t capacity = needed < 128 ? 128 : needed;
        if (capacity < text->capacity * 2) capacity = text->capacity * 2;
        char *data = memory_alloc(capacity);
        if (data) {
            if (text->size) memcpy(data, text->data, text->size);
            data[text->size] = 0;
            memory_free(text->data);
            text->data = data;
            text->capacity = capacity;
            return true;
        }
    }
    text->failed = true;
    return false;
}

void text_add(text_t *text, const char *data, size_t size) {
    if (!reserve(text, size)) return;
    if (size) memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = 0;
}

void text_add_number(text_t *text, uint64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    text_add(text, digits + at, sizeof digits - at);
}

/* Written where there is room already; again, if it is not enough. */
void text_vprintf(text_t *text, const char *format, va_list arguments) {
    const char *directive = strchr(format, '%');
    if (!directive) {
        text_add(text, format, strlen(format));
        return;
    }
    if (!reserve(text, (size_t)(directive - format))) return;
    va_list again;
    va_copy(again, arguments);
    size_t room = text->capacity - text->size;
    int length = vsnprintf(text->data + text->size, room, format, arguments);
    if (length < 0 || (size_t)length >= room) text->data[text->size] = 0;
    if (length < 0) {
        text->failed = true;
    } else if ((size_t)length < room || reserve(text, (size_t)length)) {
        if ((size_t)length >= room) vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
        text->size += (size_t)length;
    }
    va_end(again);
}

void text_printf(text_t *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(text, format, arguments);
    va_end(arguments);
}

insitu_status text_status(const text_t *text, insitu_diag *diag) {
    if (text->failed) FAIL(diag, INSITU_NOMEM, "out of memory while writing text of %zu bytes", text->size);
    return INSITU_OK;
}
