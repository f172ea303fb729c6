/* The log: what Insitu tells about its work, as text. Nothing is ever printed elsewhere. */
#ifndef INSITU_LOG_H
#define INSITU_LOG_H

#include <insitu/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Receives log text: whole lines, each with its "\n"; level 0 error, 1 warning, 2 information, 3 trace. May be called by
 * several threads at once. */
typedef void (*insitu_log_fn)(void *user, int level, const char *text);

/* Installs the process's sink; NULL, the default, drops all text. Call it before other threads use Insitu. */
INSITU_API void insitu_log_set(insitu_log_fn log, void *user);

#ifdef __cplusplus
}
#endif
#endif
