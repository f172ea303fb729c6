/* Writing whole files: a reader sees the old file or the new one, whatever becomes of the process or the machine in between.
 * Needs nothing of the library, so that the command writes its files by it too. */
#ifndef BASE_WHOLE_FILE_H
#define BASE_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct file_part {
    const void *data;
    size_t size;
} file_part_t;

typedef enum file_naming {
    FILE_UNNAMED, /* while it is written the file has no name, where the file system can do that: nothing of it stays when
                   * the process is killed */
    FILE_NAMED    /* it has a temporary one, ".insitu.HASH.PID.N" in the same folder, whatever the length of its own */
} file_naming_t;

/* Writes parts one after another, syncs, and gives the file its name, whatever had that before save a folder; a file that
 * was there gives its permissions. Returns 0, or the number of an error: then nothing is left. Temporary files of the same
 * path are removed if the process that wrote them is gone. */
int whole_file_replace(const char *path, file_naming_t naming, const file_part_t *parts, size_t count);
/* Writes parts to what is open; 0, or the number of an error. */
int descriptor_write(int descriptor, const file_part_t *parts, size_t count);
/* The path, its folder without links, that a chain of links ends at, which need not be there; of PATH_MAX characters. 0, or the
 * number of an error. */
int path_resolve(const char *path, char *out_path);
/* whole_file_replace of a path that a user has named: a link stands for the file that it leads to, or would lead to; a device, a pipe or a file that
 * has no name any more is written to, and waited for as open(2) does. */
int whole_file_write(const char *path, const file_part_t *parts, size_t count);

#endif
