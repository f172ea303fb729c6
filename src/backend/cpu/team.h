/* How many threads a parallel region gets (team.c). OpenMP says it anew for each region, from the calling thread's own
 * settings: its number of threads, dynamic adjustment, limits, levels of nesting. */
#ifndef TEAM_H
#define TEAM_H

#include <stdbool.h>
#include <stdint.h>

/* An OpenMP runtime that a library calls, which need not be the one that this file was linked with. */
typedef struct team_runtime {
    void (*set_num_threads)(int count);
    int (*get_max_threads)(void);
    void (*set_dynamic)(int dynamic);
    int (*get_dynamic)(void);
    void (*parallel)(void (*body)(void *), void *data, unsigned count, unsigned flags); /* GOMP_parallel */
} team_runtime_t;

/* What a library's regions in between get: `threads` if team_is_whole says so. */
typedef struct team_settings {
    int count, dynamic;
} team_settings_t;
void team_enter(const team_runtime_t *runtime, uint32_t threads, team_settings_t *out_before);
void team_leave(const team_runtime_t *runtime, const team_settings_t *before);

/* The runtime of a library that was opened with dlopen; false if it uses none that can be asked. */
bool team_runtime_find(void *library, team_runtime_t *out_runtime);
/* Opens a region of so many threads, in which each must have the default floating-point environment: true if all came. */
bool team_is_whole(const team_runtime_t *runtime, uint32_t threads);

#endif
