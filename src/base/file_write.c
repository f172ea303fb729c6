/* Whole files, written beside their final name and renamed, so that a reader sees the old file or the new one, also after
 * the process or the machine has gone down in between. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int descriptor, const uint8_t *data, size_t size) {
    while (size) {
        ssize_t written = write(descriptor, data, size);
        if (written < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        data += written;
        size -= (size_t)written;
    }
    return true;
}

/* Opens, writes, syncs and closes; 0, or the number of an error. like: whose permissions a new file gets, where the file
 * system has any; NULL: those of any new file. */
static int write_parts(const char *path, int flags, const struct stat *like, const file_part *parts, size_t count) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC | flags, like ? S_IRUSR | S_IWUSR : 0666);
    if (descriptor < 0) return errno;
    if (like) (void)fchmod(descriptor, like->st_mode & 0777);
    bool is_written = true;
    for (size_t i = 0; i < count && is_written; i++) is_written = write_all(descriptor, parts[i].data, parts[i].size);
    if (is_written && flags) is_written = fsync(descriptor) == 0;
    int error = is_written ? 0 : errno;
    if (close(descriptor) != 0 && !error) error = errno;
    return error;
}

/* So that the new name outlives a crash of the machine; best effort, as some file systems can't. */
static void sync_folder(char *path) {
    int descriptor = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    (void)fsync(descriptor);
    (void)close(descriptor);
}

static int write_and_rename(const char *path, char *temporary, const file_part *parts, size_t count) {
    struct stat old;
    bool is_there = lstat(path, &old) == 0 && S_ISREG(old.st_mode);
    int error = write_parts(temporary, O_CREAT | O_EXCL, is_there ? &old : NULL, parts, count);
    if (error == EEXIST) return error; /* not ours */
    if (!error && rename(temporary, path) != 0) error = errno;
    if (error)
        unlink(temporary);
    else
        sync_folder(temporary);
    return error;
}

/* By way of the next temporary name; *out_error: the number of an error. */
static insitu_status replace_by_next_name(const char *path, const file_part *parts, size_t count, int *out_error,
                                          insitu_diag *diag) {
    static uint32_t serial;
    text temporary;
    text_init(&temporary);
    text_printf(&temporary, "%s.tmp.%ld.%u", path, (long)getpid(), __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED));
    insitu_status status = text_status(&temporary, diag);
    if (status == INSITU_OK) *out_error = write_and_rename(path, temporary.data, parts, count);
    text_release(&temporary);
    return status;
}

static insitu_status check_written(const char *path, int error, insitu_diag *diag) {
    if (error) FAIL(diag, INSITU_IO, "cannot write '%s': %s", path, strerror(error));
    return INSITU_OK;
}

enum { MOST_NAMES = 1 << 16 };

/* A temporary name that is taken is another process's: of one that was killed and had our number, as numbers recur at once
 * in containers, or of a living one on another machine. Its file is left alone, and the next name tried. */
insitu_status file_replace(const char *path, const file_part *parts, size_t count, insitu_diag *diag) {
    int error = EEXIST;
    for (uint32_t names = 0; error == EEXIST && names < MOST_NAMES; names++)
        TRY(replace_by_next_name(path, parts, count, &error, diag));
    return check_written(path, error, diag);
}

insitu_status file_write(const char *path, const file_part *parts, size_t count, insitu_diag *diag) {
    struct stat information;
    char target[PATH_MAX];
    if (stat(path, &information) != 0 || S_ISDIR(information.st_mode)) return file_replace(path, parts, count, diag);
    if (S_ISREG(information.st_mode)) return file_replace(realpath(path, target) ? target : path, parts, count, diag);
    return check_written(path, write_parts(path, 0, NULL, parts, count), diag);
}
