/* Whole files, written beside their final name and renamed, so that a reader sees the old file or the new one. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
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

static bool write_parts(int descriptor, const file_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!write_all(descriptor, parts[i].data, parts[i].size)) return false;
    return fsync(descriptor) == 0;
}

static insitu_status write_and_rename(const char *path, const char *temporary, const file_part *parts, size_t count,
                                      insitu_diag *diag) {
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) FAIL(diag, INSITU_IO, "cannot write '%s': %s", path, strerror(errno));
    bool written = write_parts(descriptor, parts, count);
    int error = errno;
    if (close(descriptor) != 0 && written) {
        written = false;
        error = errno;
    }
    if (written && rename(temporary, path) != 0) {
        written = false;
        error = errno;
    }
    if (written) return INSITU_OK;
    unlink(temporary);
    FAIL(diag, INSITU_IO, "cannot write '%s': %s", path, strerror(error));
}

insitu_status file_write_atomic(const char *path, const file_part *parts, size_t count, insitu_diag *diag) {
    static uint32_t serial;
    text temporary;
    text_init(&temporary);
    text_printf(&temporary, "%s.tmp.%ld.%u", path, (long)getpid(), __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED));
    insitu_status status = text_status(&temporary, diag);
    if (status == INSITU_OK) status = write_and_rename(path, temporary.data, parts, count, diag);
    text_release(&temporary);
    return status;
}
