/* The log: formatted text, in whole lines, to the sink that the program installed. Without one nothing is formatted. */
#include "base/base.h"

#include <insitu/log.h>

static insitu_log_fn sink;
static void *sink_user;

void insitu_log_set(insitu_log_fn log, void *user) {
    sink = log;
    sink_user = user;
}

void log_printf(int level, const char *format, ...) {
    if (!sink) return;
    text_t message;
    text_init(&message);
    va_list arguments;
    va_start(arguments, format);
    text_vprintf(&message, format, arguments);
    va_end(arguments);
    if (message.size && message.data[message.size - 1] != '\n') text_add(&message, "\n", 1);
    if (message.data) sink(sink_user, level, message.data);
    text_release(&message);
}
