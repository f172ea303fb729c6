#include "unit_test.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/insitu_files_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static uint32_t files_in_folder(void) {
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    uint32_t count = 0;
    while (readdir(directory)) count++;
    closedir(directory);
    return count - 2;
}

static const char *in_folder(const char *name) {
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(in_folder("a"));
    rmdir(in_folder("sub"));
    return rmdir(folder);
}

static void assert_content(const char *path, const char *expected) {
    file_map_t *map;
    assert_int_equal(file_map_open(path, &map, NULL), INSITU_OK);
    assert_int_equal(map->size, strlen(expected));
    assert_memory_equal(map->data, expected, map->size);
    file_map_release(map);
}

static void parts_are_written_and_replaced_whole(void **state) {
    (void)state;
    file_part_t parts[] = {{"head ", 5}, {NULL, 0}, {"tail", 4}};
    assert_int_equal(file_write(in_folder("a"), parts, 3, NULL), INSITU_OK);
    assert_content(in_folder("a"), "head tail");
    file_map_t *old;
    assert_int_equal(file_map_open(in_folder("a"), &old, NULL), INSITU_OK);
    assert_int_equal(file_write(in_folder("a"), parts + 2, 1, NULL), INSITU_OK);
    assert_content(in_folder("a"), "tail");
    assert_memory_equal(old->data, "head tail", 9); /* an open map keeps the file that it mapped */
    file_map_release(old);
    assert_int_equal(file_write(in_folder("a"), NULL, 0, NULL), INSITU_OK);
    assert_content(in_folder("a"), "");
    assert_int_equal(files_in_folder(), 1);
}

static void a_failed_write_leaves_nothing(void **state) {
    (void)state;
    insitu_diag diag;
    insitu_diag_init(&diag);
    file_part_t part = {"data", 4};
    assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
    uint32_t before = files_in_folder();
    assert_int_equal(file_write(in_folder("sub"), &part, 1, &diag), INSITU_IO);
    assert_non_null(strstr(diag.message, in_folder("sub")));
    assert_int_equal(files_in_folder(), before);
    assert_int_equal(file_write(in_folder("absent/file"), &part, 1, &diag), INSITU_IO);
    assert_int_equal(files_in_folder(), before);
}

static mode_t mode_of(const char *path) {
    struct stat information;
    assert_int_equal(lstat(path, &information), 0);
    return information.st_mode;
}

/* A private file stays private, a shared one shared; a link to a file is followed, but an entry of a cache replaces it. */
static void permissions_and_links_are_kept(void **state) {
    (void)state;
    const mode_t modes[] = {0600, 0664, 0640};
    file_part_t part = {"data", 4}, other = {"other", 5};
    char link[128];
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        assert_int_equal(file_write(in_folder("a"), &other, 1, NULL), INSITU_OK);
        assert_int_equal(chmod(in_folder("a"), modes[i]), 0);
        assert_int_equal(file_write(in_folder("a"), &part, 1, NULL), INSITU_OK);
        assert_content(in_folder("a"), "data");
        assert_int_equal(mode_of(in_folder("a")) & 0777, modes[i]);
    }
    snprintf(link, sizeof(link), "%s/link", folder);
    assert_int_equal(symlink("a", link), 0);
    assert_int_equal(file_write(link, &other, 1, NULL), INSITU_OK);
    assert_content(in_folder("a"), "other");
    assert_true(S_ISLNK(mode_of(link)));
    assert_int_equal(file_replace(link, &part, 1, NULL), INSITU_OK);
    assert_content(in_folder("a"), "other");
    assert_content(link, "data");
    assert_true(S_ISREG(mode_of(link)));
    unlink(link);
}

/* The file is made where a link leads; one that leads in a circle leads nowhere. */
static void links_to_no_file_stay(void **state) {
    (void)state;
    file_part_t part = {"data", 4};
    char link[128], second[128], circle[128];
    snprintf(link, sizeof(link), "%s/link", folder);
    snprintf(second, sizeof(second), "%s/second", folder);
    snprintf(circle, sizeof(circle), "%s/circle", folder);
    assert_int_equal(symlink("new", link), 0);
    assert_int_equal(symlink(link, second), 0);
    assert_int_equal(symlink("circle", circle), 0);
    assert_int_equal(file_write(second, &part, 1, NULL), INSITU_OK);
    assert_content(in_folder("new"), "data");
    assert_true(S_ISLNK(mode_of(link)) && S_ISLNK(mode_of(second)) && S_ISREG(mode_of(in_folder("new"))));
    assert_int_equal(file_write(circle, &part, 1, NULL), INSITU_IO);
    assert_true(S_ISLNK(mode_of(circle)));
    unlink(in_folder("new"));
    unlink(link);
    unlink(second);
    unlink(circle);
}

/* ---- processes that die while they write ---- */

enum { LIMIT = 1 << 16 };
static int stopped[2]; /* a pipe: the writer has come to the limit */

static void stop_here(int number) {
    (void)number;
    if (write(stopped[1], "x", 1) == 1) (void)pause();
}

/* A child that comes to its limit of a file's size while it writes `a`, and dies there, or stays until it is killed. */
static pid_t start_writer(file_naming_t naming, bool stays) {
    static const char data[LIMIT];
    assert_int_equal(pipe(stopped), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const file_part_t parts[] = {{data, LIMIT}, {data, LIMIT}};
        (void)setrlimit(RLIMIT_FSIZE, &(struct rlimit){LIMIT, LIMIT});
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        (void)signal(SIGXFSZ, stays ? stop_here : SIG_DFL);
        _exit(whole_file_replace(in_folder("a"), naming, parts, 2) == 0 ? 0 : 1);
    }
    char byte;
    close(stopped[1]);
    assert_int_equal(read(stopped[0], &byte, 1), stays);
    close(stopped[0]);
    return child;
}

static void wait_for_killed(pid_t child) {
    int result = 0;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result));
}

static void killed_writers_leave_nothing_that_stays(void **state) {
    (void)state;
    const file_part_t part = {"data", 4};
    for (int is_there = 0; is_there < 2; is_there++)
        for (int naming = FILE_UNNAMED; naming <= FILE_NAMED; naming++) {
            (void)unlink(in_folder("a"));
            if (is_there) assert_int_equal(whole_file_replace(in_folder("a"), FILE_NAMED, &part, 1), 0);
            uint32_t before = files_in_folder();
            wait_for_killed(start_writer((file_naming_t)naming, false));
            assert_int_equal(files_in_folder(), before + (naming == FILE_NAMED));
            if (is_there) assert_content(in_folder("a"), "data");
            assert_int_equal(whole_file_replace(in_folder("a"), (file_naming_t)naming, &part, 1), 0);
            assert_int_equal(files_in_folder(), before + !is_there);
        }
}

static void files_that_are_being_written_are_no_leftovers(void **state) {
    (void)state;
    const file_part_t part = {"data", 4};
    uint32_t before = files_in_folder();
    pid_t child = start_writer(FILE_NAMED, true);
    assert_int_equal(files_in_folder(), before + 1);
    assert_int_equal(whole_file_replace(in_folder("b"), FILE_NAMED, &part, 1), 0);
    assert_int_equal(whole_file_replace(in_folder("a"), FILE_NAMED, &part, 1), 0);
    assert_int_equal(unlink(in_folder("b")), 0);
    uint32_t with_both = files_in_folder();
    assert_int_equal(kill(child, SIGKILL), 0);
    wait_for_killed(child);
    assert_int_equal(whole_file_replace(in_folder("a"), FILE_UNNAMED, &part, 1), 0);
    assert_int_equal(files_in_folder(), with_both - 1);
    assert_content(in_folder("a"), "data");
}

/* A name may be as long as the file system lets it be, whatever a temporary one needs. */
static void names_may_be_long(void **state) {
    (void)state;
    const file_part_t part = {"data", 4};
    static char path[NAME_MAX + sizeof(folder) + 2];
    uint32_t before = files_in_folder();
    for (int size = NAME_MAX - 12; size <= NAME_MAX + 1; size++)
        for (int time = 0; time < 4; time++) {
            snprintf(path, sizeof(path), "%s/%0*d", folder, size, 0);
            int wanted = size > NAME_MAX ? ENAMETOOLONG : 0;
            assert_int_equal(whole_file_replace(path, time % 2 ? FILE_NAMED : FILE_UNNAMED, &part, 1), wanted);
            if (!wanted) assert_content(path, "data");
            if (time > 1) (void)unlink(path);
        }
    assert_int_equal(files_in_folder(), before);
}

static void names_without_a_folder_are_of_this_one(void **state) {
    (void)state;
    const file_part_t part = {"data", 4};
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(whole_file_write("a", &part, 1), 0);
    assert_content("a", "data");
    assert_int_equal(whole_file_write("", &part, 1), ENOENT);
    assert_int_equal(whole_file_write("absent/", &part, 1), EISDIR);
    assert_int_equal(chdir(before), 0);
}

/* A pipe that a user has named gets the bytes; a file that is replaced takes a pipe's place, with nobody there to read. */
static void pipes_are_written_to_or_replaced(void **state) {
    (void)state;
    file_part_t part = {"data", 4};
    char read_back[8] = "";
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(file_write(in_folder("pipe"), &part, 1, NULL), INSITU_OK);
    assert_int_equal(read(reader, read_back, sizeof(read_back)), 4);
    assert_memory_equal(read_back, "data", 4);
    close(reader);
    alarm(20); /* instead of waiting for a reader for ever */
    assert_int_equal(file_replace(in_folder("pipe"), &part, 1, NULL), INSITU_OK);
    alarm(0);
    assert_content(in_folder("pipe"), "data");
    assert_int_equal(remove(in_folder("pipe")), 0);
    assert_int_equal(file_write("/dev/null", &part, 1, NULL), INSITU_OK);
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    insitu_diag diag;
    insitu_diag_init(&diag);
    file_map_t *map;
    assert_int_equal(file_map_open(in_folder("absent"), &map, &diag), INSITU_IO);
    assert_null(map);
    assert_non_null(strstr(diag.message, "absent"));
    assert_int_equal(file_map_open(folder, &map, &diag), INSITU_IO);
    assert_non_null(strstr(diag.message, "not a regular file"));
}

static void maps_are_shared_until_the_last_release(void **state) {
    (void)state;
    file_map_t *map;
    static const char data[] = "weights";
    assert_int_equal(file_map_wrap(data, sizeof(data), &map, NULL), INSITU_OK);
    assert_ptr_equal(file_map_retain(map), map);
    file_map_release(map);
    assert_ptr_equal(map->data, data);
    file_map_release(map);
    file_map_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_written_and_replaced_whole),
        cmocka_unit_test(a_failed_write_leaves_nothing),
        cmocka_unit_test(permissions_and_links_are_kept),
        cmocka_unit_test(links_to_no_file_stay),
        cmocka_unit_test(killed_writers_leave_nothing_that_stays),
        cmocka_unit_test(files_that_are_being_written_are_no_leftovers),
        cmocka_unit_test(names_may_be_long),
        cmocka_unit_test(names_without_a_folder_are_of_this_one),
        cmocka_unit_test(pipes_are_written_to_or_replaced),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(maps_are_shared_until_the_last_release),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
