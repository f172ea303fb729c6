/* JSON strings as text: deterministic, everything outside printable ASCII that JSON does not allow is escaped. */
#include "engine/engine.h"

void json_print_string(text *out, const char *string) {
    text_add(out, "\"", 1);
    const char *start = string;
    for (const char *at = string;; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
        text_add(out, start, (size_t)(at - start));
        if (byte == 0) break;
        if (byte >= 0x20)
            text_printf(out, "\\%c", byte);
        else
            text_printf(out, "\\u%04x", byte);
        start = at + 1;
    }
    text_add(out, "\"", 1);
}
