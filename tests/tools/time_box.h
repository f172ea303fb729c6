/* How long a test of random inputs goes on: its work is cut to the machine, and to what else that does. */
#ifndef TIME_BOX_H
#define TIME_BOX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { TIME_BOX_SECONDS = 40, TIME_BOX_LEAST = 50 /* inputs that are tried in any case */ };

typedef struct time_box {
    struct timespec start;
    uint64_t done;
    bool is_over;
} time_box_t;

static inline time_box_t time_box_begin(void) {
    time_box_t box = {.done = 0};
    clock_gettime(CLOCK_MONOTONIC, &box.start);
    return box;
}

/* True if another of so many inputs is to be tried; once it is not, what was left out is printed. */
static inline bool has_time(time_box_t *box, uint64_t wanted) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    bool is_deferred = now.tv_sec - box->start.tv_sec >= TIME_BOX_SECONDS;
    if (box->done < TIME_BOX_LEAST || !is_deferred) {
        box->done++;
        return true;
    }
    if (!box->is_over)
        printf("%llu of %llu inputs in %d seconds\n", (unsigned long long)box->done, (unsigned long long)wanted,
               (int)TIME_BOX_SECONDS);
    box->is_over = true;
    return false;
}

#endif
