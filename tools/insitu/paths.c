/* What the paths of a command line stand for: files, pipes, and "-", which is the standard input or output. The library maps
 * what it reads, so what comes from a pipe is read into memory that has a path. */
#include "paths.h"

#include "base/whole_file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_standard(const char *path) { return strcmp(path, "-") == 0; }

/* ---- reading ---- */

typedef struct piped {
    struct piped *next;
    const char *shown;
    char path[MEMORY_PATH_SIZE]; /* of the memory that it was read into */
} piped_t;

/* What has been read so far: a pipe gives its bytes once, and a command may look at a file several times. */
static piped_t *piped_files;

/* Copies all that can be read; 0, or the number of an error. */
static int copy_all(int from, int to) {
    static char block[1 << 16];
    for (;;) {
        ssize_t size = read(from, block, sizeof(block));
        if (size == 0) return 0;
        if (size < 0 && errno == EINTR) continue;
        int error = size < 0 ? errno : descriptor_write(to, &(file_part_t){block, (size_t)size}, 1);
        if (error) return error;
    }
}

/* A command that is started with its standard descriptors closed would get their numbers for the files that it opens, and
 * would read what it writes, or write its report into an engine. What stands there instead can't be used. */
int standard_descriptors_reserve(void) {
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[i]) != i) return USAGE;
    return DONE;
}

/* New memory with a path; its descriptor, or -1. */
static int open_memory(char path[static MEMORY_PATH_SIZE]) {
    int descriptor = memfd_create("insitu", MFD_CLOEXEC);
    snprintf(path, MEMORY_PATH_SIZE, "/proc/self/fd/%d", descriptor);
    return descriptor;
}

static int read_pipe(piped_t *piped) {
    int from = is_standard(piped->shown) ? STDIN_FILENO : open(piped->shown, O_RDONLY | O_CLOEXEC);
    int memory = from < 0 ? -1 : open_memory(piped->path);
    int error = memory < 0 ? errno : copy_all(from, memory);
    if (from > STDIN_FILENO) close(from);
    if (!error) return DONE;
    const char *name = is_standard(piped->shown) ? "the standard input" : piped->shown;
    return report_error("cannot read %s%s%s: %s", name == piped->shown ? "'" : "", name,
                        name == piped->shown ? "'" : "", strerror(error));
}

static bool is_pipe(const char *path) {
    struct stat information;
    if (is_standard(path)) return true;
    return stat(path, &information) == 0 && (S_ISFIFO(information.st_mode) || S_ISSOCK(information.st_mode));
}

const char *readable_path(const char *shown) {
    if (!is_pipe(shown)) return shown;
    for (piped_t *known = piped_files; known; known = known->next)
        if (strcmp(known->shown, shown) == 0) return known->path;
    piped_t *read = calloc(1, sizeof(*read));
    if (!read) {
        (void)report_error("out of memory");
        return NULL;
    }
    read->shown = shown;
    if (read_pipe(read) != DONE) {
        free(read);
        return NULL;
    }
    read->next = piped_files;
    piped_files = read;
    return read->path;
}

/* ---- writing ---- */

int written_begin(const char *shown, written_file_t *out_file) {
    *out_file = (written_file_t){.path = shown, .memory = -1};
    if (!is_standard(shown)) return DONE;
    out_file->memory = open_memory(out_file->memory_path);
    out_file->path = out_file->memory_path;
    return out_file->memory < 0 ? report_error("cannot write to the standard output: %s", strerror(errno)) : DONE;
}

int written_end(written_file_t *file, int code) {
    if (file->memory < 0) return code;
    if (code == DONE) {
        int error = lseek(file->memory, 0, SEEK_SET) < 0 ? errno : copy_all(file->memory, STDOUT_FILENO);
        if (error) code = report_error("cannot write to the standard output: %s", strerror(error));
    }
    close(file->memory);
    return code;
}

/* ---- two paths of one file ---- */

bool is_same_file(const char *path, const char *other) {
    struct stat first, second;
    char resolved[PATH_MAX], other_resolved[PATH_MAX];
    bool is_there = stat(path, &first) == 0, other_is_there = stat(other, &second) == 0;
    if (is_there && !S_ISREG(first.st_mode)) return false; /* a device or a pipe takes and gives what it is asked to */
    if (is_there && other_is_there) return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
    if (is_there != other_is_there) return false;
    return path_resolve(path, resolved) == 0 && path_resolve(other, other_resolved) == 0 &&
           strcmp(resolved, other_resolved) == 0;
}

static bool is_written(option_id_t id) { return id == OPTION_OUTPUT || id == OPTION_SAVE_STATE; }

static bool is_read(option_id_t id) { return id == OPTION_INPUT || id == OPTION_LOAD_STATE; }

/* A state that is loaded may be saved to the same file: it has been read by then, and is what shall be replaced. */
static bool would_lose(const given_option_t *written, const given_option_t *other) {
    option_id_t a = written->option->id, b = other->option->id;
    if (!is_written(b) && (!is_read(b) || (a == OPTION_SAVE_STATE && b == OPTION_LOAD_STATE))) return false;
    bool first = is_standard(written->value), second = is_standard(other->value);
    if (first || second) return first && second && is_written(b);
    return is_same_file(written->value, other->value);
}

int check_written_files(const command_t *command, const arguments_t *arguments) {
    for (size_t i = 0; i < arguments->option_count; i++) {
        const given_option_t *given = &arguments->options[i];
        if (!is_written(given->option->id)) continue;
        if (!is_standard(given->value) && is_same_file(arguments->file, given->value))
            return usage_error(command, "'%s %s' is the program itself", given->option->name, given->value);
        if (is_standard(given->value) && argument_value(arguments, OPTION_STATS))
            return usage_error(command, "'%s -' and '--stats' would both write to the standard output",
                               given->option->name);
        for (size_t k = 0; k < arguments->option_count; k++) {
            const given_option_t *other = &arguments->options[k];
            if (k != i && would_lose(given, other))
                return usage_error(command, "'%s %s' and '%s %s' are one file, which would be overwritten",
                                   given->option->name, given->value, other->option->name, other->value);
        }
    }
    return DONE;
}
