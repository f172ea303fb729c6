/* Progress: one line on a terminal, from the second second on, written by a timer's signal and erased at the end. */
#include "tool.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static char line[512]; /* "compiling decoder.pt2" */
static volatile sig_atomic_t seconds;
static struct sigaction replaced;

static void write_text(const char *text, size_t size) {
    ssize_t written = write(STDERR_FILENO, text, size);
    (void)written; /* nothing can be done about it here */
}

/* Only what a signal handler may do. */
static void tick(int signal_number) {
    (void)signal_number;
    char digits[16];
    size_t at = sizeof(digits);
    seconds++;
    for (int rest = (int)seconds; rest; rest /= 10) digits[--at] = (char)('0' + rest % 10);
    write_text("\r", 1);
    write_text(line, strlen(line));
    write_text(", ", 2);
    write_text(digits + at, sizeof(digits) - at);
    write_text(" s", 2);
}

void progress_begin(const char *doing, const char *path) {
    line[0] = 0;
    if (!isatty(STDERR_FILENO)) return;
    const char *slash = strrchr(path, '/');
    snprintf(line, sizeof(line), "%s %s", doing, slash ? slash + 1 : path);
    seconds = 0;
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, &replaced);
    const struct itimerval every_second = {{1, 0}, {1, 0}};
    setitimer(ITIMER_REAL, &every_second, NULL);
}

void progress_end(void) {
    static const char erase[] = "\r\033[K";
    if (!line[0]) return;
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &replaced, NULL);
    if (seconds) write_text(erase, sizeof(erase) - 1);
    line[0] = 0;
}
