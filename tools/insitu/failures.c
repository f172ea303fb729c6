/* What the command says when something fails, and with which exit code it ends. */
#include "tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void print_rows(const insitu_diag *diag) {
    for (size_t i = 0; i < diag->row_count; i++) {
        const insitu_diag_row *row = &diag->rows[i];
        fprintf(stderr, "  %s, %u time%s%s%s\n", row->op, (unsigned)row->count, row->count == 1 ? "" : "s",
                row->source[0] ? ", first at " : "", row->source);
    }
}

int report_failure(const char *prefix, const insitu_diag *diag) {
    const char *sentence = diag->message[0] ? diag->message : insitu_status_name(diag->status);
    char begin[64]; /* of the prefix: a long one is shortened in the sentence */
    snprintf(begin, sizeof(begin), "%s", prefix ? prefix : "");
    if (strstr(sentence, begin)) prefix = NULL; /* the sentence names it */
    fprintf(stderr, "insitu: %s%s%s\n", prefix ? prefix : "", prefix ? ": " : "", sentence);
    print_rows(diag);
    return diag->status == INSITU_UNSUPPORTED ? UNSUPPORTED : FAILED;
}

int report_error(const char *format, ...) {
    va_list values;
    va_start(values, format);
    fputs("insitu: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    return FAILED;
}

int usage_error(const command_t *command, const char *format, ...) {
    va_list values;
    va_start(values, format);
    fprintf(stderr, "insitu %s: ", command->name);
    vfprintf(stderr, format, values);
    fprintf(stderr, " (insitu %s --help)\n", command->name);
    va_end(values);
    return USAGE;
}

int finish_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout)) return DONE;
    return report_error("cannot write to the standard output: %s", strerror(errno));
}
