/* Whole files (whole_file.h), with a sentence where one can't be written. */
#include "base/base.h"

static insitu_status check_written(const char *path, int error, insitu_diag *diag) {
    if (error) FAIL(diag, INSITU_IO, "cannot write '%s': %s", path, strerror(error));
    return INSITU_OK;
}

insitu_status file_replace(const char *path, const file_part_t *parts, size_t count, insitu_diag *diag) {
    return check_written(path, whole_file_replace(path, FILE_UNNAMED, parts, count), diag);
}

insitu_status file_write(const char *path, const file_part_t *parts, size_t count, insitu_diag *diag) {
    return check_written(path, whole_file_write(path, parts, count), diag);
}
