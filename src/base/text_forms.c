/* Strings and numbers as text that reads back the same: in our own forms, and in JSON. */
#include "base/base.h"

#include <locale.h>
#include <math.h>

void text_quoted(text_t *out, const char *string) {
    text_add(out, "\"", 1);
    for (const char *c = string; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\')
            text_printf(out, "\\%c", byte);
        else if (byte == '\n')
            text_add(out, "\\n", 2);
        else if (byte == '\t')
            text_add(out, "\\t", 2);
        else if (byte < 0x20 || byte == 0x7f)
            text_printf(out, "\\x%02x", byte);
        else
            text_add(out, c, 1);
    }
    text_add(out, "\"", 1);
}

/* The decimal separator that printf and strtod use is the process's choice, not ours. */
static void add_digits(text_t *out, const char *digits) {
    const char *separator = localeconv()->decimal_point;
    const char *at = *separator ? strstr(digits, separator) : NULL;
    if (!at) {
        text_printf(out, "%s%s", digits, strchr(digits, 'e') ? "" : ".0");
        return;
    }
    text_add(out, digits, (size_t)(at - digits));
    text_printf(out, ".%s", at + strlen(separator));
}

void text_double(text_t *out, double number) {
    if (isnan(number)) {
        text_printf(out, "nan");
        return;
    }
    if (isinf(number)) {
        text_printf(out, number < 0 ? "-inf" : "inf");
        return;
    }
    char digits[64];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, number);
        if (strtod(digits, NULL) == number) break;
    }
    add_digits(out, digits);
}

void json_print_double(text_t *out, double number, int precision) {
    char digits[64];
    if (isnan(number)) {
        text_printf(out, "\"NaN\"");
    } else if (isinf(number)) {
        text_printf(out, number < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else {
        snprintf(digits, sizeof(digits), "%.*g", precision, number);
        add_digits(out, digits);
    }
}

/* Bytes of the UTF-8 character at the start of the string; 0 if it is none (too long a form, a surrogate, cut off). */
static size_t character_size(const char *string) {
    const unsigned char *at = (const unsigned char *)string;
    if (at[0] < 0x80) return 1;
    size_t size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    bool wrong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
                 (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f);
    return wrong ? 0 : size;
}

bool is_utf8(const char *string) {
    for (size_t size; *string; string += size)
        if ((size = character_size(string)) == 0) return false;
    return true;
}

void json_print_string(text_t *out, const char *string) {
    text_add(out, "\"", 1);
    while (*string) {
        unsigned char byte = (unsigned char)*string;
        size_t size = character_size(string);
        if (byte == '"' || byte == '\\')
            text_printf(out, "\\%c", byte);
        else if (byte < 0x20)
            text_printf(out, "\\u%04x", byte);
        else if (size)
            text_add(out, string, size);
        else
            text_add(out, "\\ufffd", 6);
        string += size ? size : 1;
    }
    text_add(out, "\"", 1);
}
