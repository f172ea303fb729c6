/* Diagnostics: one sentence and a list of rows.
 *
 * The strings of a row are copied, each with its row: one block a string, freed by insitu_diag_release. */
#include "base/base.h"

void insitu_diag_init(insitu_diag *diag) {
    if (!diag) return;
    memset(diag, 0, sizeof(*diag));
    diag->struct_size = sizeof(*diag);
}

static void drop_rows(insitu_diag *diag) {
    for (size_t i = 0; i < diag->row_count; i++) {
        memory_free((void *)(uintptr_t)diag->rows[i].op);
        memory_free((void *)(uintptr_t)diag->rows[i].source);
    }
    memory_free(diag->rows);
    diag->rows = NULL;
    diag->row_count = 0;
}

void insitu_diag_release(insitu_diag *diag) {
    if (!diag) return;
    drop_rows(diag);
    insitu_diag_init(diag);
}

const char *insitu_status_name(insitu_status status) {
    static const char *const names[] = {
        [INSITU_OK] = "OK",         [INSITU_ARG] = "ARG",         [INSITU_UNSUPPORTED] = "UNSUPPORTED",
        [INSITU_FORMAT] = "FORMAT", [INSITU_VERSION] = "VERSION", [INSITU_SHAPE] = "SHAPE",
        [INSITU_BOUNDS] = "BOUNDS", [INSITU_ASSERT] = "ASSERT",   [INSITU_NOMEM] = "NOMEM",
        [INSITU_IO] = "IO",         [INSITU_DEVICE] = "DEVICE",   [INSITU_INTERNAL] = "INTERNAL",
    };
    size_t index = (size_t)status;
    return index < COUNT_OF(names) ? names[index] : "UNKNOWN";
}

enum { LONGEST_SENTENCE = 1 << 14 /* of three paths */, LEAST_KEPT = 64 };

/* Writes the sentence, with dots for the middle of its longest part between quotes, a path or a name, so that what is said of
 * it comes whole; for its end if there is none that is long enough. */
static void shorten(const char *sentence, size_t size, char message[static INSITU_DIAG_MESSAGE_SIZE]) {
    size_t room = INSITU_DIAG_MESSAGE_SIZE - 1, begin = 0, length = 0, over = size - room + 3;
    for (size_t i = 0, open = size; i < size; i++) {
        if (sentence[i] != '\'') continue;
        if (open < i && i - open > length) begin = open + 1, length = i - begin;
        open = i;
    }
    if (length < over + LEAST_KEPT) begin = room - 3, length = over;
    size_t cut = begin == room - 3 ? begin : begin + (length - over) / 2, rest = cut + over;
    while (cut && (sentence[cut] & 0xC0) == 0x80) cut--; /* no part of a UTF-8 character stays */
    while (rest < size && (sentence[rest] & 0xC0) == 0x80) rest++;
    memcpy(message, sentence, cut);
    memcpy(message + cut, "...", 3);
    memcpy(message + cut + 3, sentence + rest, size - rest);
    message[cut + 3 + size - rest] = 0;
}

insitu_status diag_set(insitu_diag *diag, insitu_status code, const char *format, ...) {
    if (!diag || diag->struct_size < sizeof(*diag)) return code;
    if (diag->status != INSITU_OK) drop_rows(diag);
    diag->status = code;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(diag->message, sizeof(diag->message), format, arguments);
    va_end(arguments);
    if (length < 0) diag->message[0] = 0;
    if (length < (int)sizeof(diag->message)) return code;
    char whole[LONGEST_SENTENCE];
    va_start(arguments, format);
    length = vsnprintf(whole, sizeof(whole), format, arguments);
    va_end(arguments);
    shorten(whole, length < (int)sizeof(whole) ? (size_t)length : sizeof(whole) - 1, diag->message);
    return code;
}

insitu_status diag_complete(insitu_diag *diag, insitu_status status) {
    if (status == INSITU_OK || !diag || (diag->status == status && diag->message[0])) return status;
    if (status == INSITU_NOMEM) FAIL(diag, status, "out of memory");
    FAIL(diag, status, "failed with status %s", insitu_status_name(status));
}

static char *copy_string(const char *string) {
    size_t size = strlen(string) + 1;
    char *copy = memory_alloc(size);
    if (copy) memcpy(copy, string, size);
    return copy;
}

void diag_add_row(insitu_diag *diag, const char *op, uint32_t count, const char *source) {
    if (!diag || diag->struct_size < sizeof(*diag)) return;
    size_t size;
    if (!checked_size_mul(diag->row_count + 1, sizeof(insitu_diag_row), &size)) return;
    char *op_copy = copy_string(op);
    char *source_copy = copy_string(source ? source : "");
    insitu_diag_row *rows = memory_alloc(size);
    if (!op_copy || !source_copy || !rows) {
        memory_free(op_copy);
        memory_free(source_copy);
        memory_free(rows);
        return;
    }
    if (diag->row_count) memcpy(rows, diag->rows, diag->row_count * sizeof(insitu_diag_row));
    memory_free(diag->rows);
    rows[diag->row_count] = (insitu_diag_row){.op = op_copy, .count = count, .source = source_copy};
    diag->rows = rows;
    diag->row_count++;
}
