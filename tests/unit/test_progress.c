/* The command's line of progress, on a terminal of the test's own. */
#include "unit_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/insitu/progress.c"

typedef struct terminal {
    int master, slave, saved; /* saved: the stderr before */
} terminal_t;

static terminal_t open_terminal(void) {
    terminal_t t = {.master = posix_openpt(O_RDWR | O_NOCTTY), .saved = dup(STDERR_FILENO)};
    assert_true(t.master >= 0 && t.saved >= 0);
    assert_true(grantpt(t.master) == 0 && unlockpt(t.master) == 0);
    t.slave = open(ptsname(t.master), O_RDWR | O_NOCTTY);
    assert_true(t.slave >= 0);
    dup2(t.slave, STDERR_FILENO);
    return t;
}

/* What was written to it. */
static void close_terminal(terminal_t *t, char *text, size_t size) {
    write_text("|", 1);
    dup2(t->saved, STDERR_FILENO);
    size_t used = 0;
    while (used < size - 1) {
        ssize_t got = read(t->master, text + used, size - 1 - used);
        assert_true(got > 0);
        used += (size_t)got;
        if (text[used - 1] == '|') break;
    }
    text[used] = 0;
    close(t->slave);
    close(t->master);
    close(t->saved);
}

static bool has_default_action(void) {
    struct sigaction action;
    sigaction(SIGALRM, NULL, &action);
    return action.sa_handler == SIG_DFL;
}

static void a_terminal_shows_the_seconds(void **state) {
    (void)state;
    char text[1024];
    terminal_t t = open_terminal();
    progress_begin("compiling", "some/where/model.pt2");
    for (int i = 0; i < 11; i++) raise(SIGALRM);
    progress_end();
    close_terminal(&t, text, sizeof(text));
    static const char begin[] = "\rcompiling model.pt2, 1 s\rcompiling model.pt2, 2 s\r";
    static const char end[] = "\rcompiling model.pt2, 11 s\r\033[K|";
    assert_memory_equal(text, begin, sizeof(begin) - 1);
    assert_string_equal(text + strlen(text) - (sizeof(end) - 1), end);
    assert_true(has_default_action());
}

static void short_work_shows_nothing(void **state) {
    (void)state;
    char text[1024];
    terminal_t t = open_terminal();
    progress_begin("compiling", "model.pt2");
    assert_false(has_default_action());
    progress_end();
    close_terminal(&t, text, sizeof(text));
    assert_string_equal(text, "|");
}

static void other_files_get_nothing(void **state) {
    (void)state;
    int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    dup2(null, STDERR_FILENO);
    progress_begin("compiling", "model.pt2");
    bool is_default = has_default_action();
    progress_end();
    dup2(saved, STDERR_FILENO);
    close(null);
    close(saved);
    assert_true(is_default);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_shows_the_seconds),
        cmocka_unit_test(short_work_shows_nothing),
        cmocka_unit_test(other_files_get_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
