/* A file is written without a name (O_TMPFILE) or under a temporary one, and then linked or renamed to its own. Whoever
 * writes holds a lock on it (flock), which ends with the process: a temporary file that nobody has locked is a leftover. */
#include "base/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PREFIX_SIZE = 32, NAME_SIZE = 80, MOST_NAMES = 1 << 16 };

/* What a file needs to get from its folder to its name. */
typedef struct target {
    char folder_path[PATH_MAX];
    int folder;               /* open */
    char prefix[PREFIX_SIZE]; /* of its temporary names */
    const char *name;         /* its own, in the folder */
} target_t;

int descriptor_write(int descriptor, const file_part_t *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *data = parts[i].data;
        for (size_t left = parts[i].size; left;) {
            ssize_t written = write(descriptor, data, left);
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) return errno;
            data += written;
            left -= (size_t)written;
        }
    }
    return 0;
}

/* ---- names ---- */

static int target_open(const char *path, target_t *out_target) {
    const char *slash = strrchr(path, '/');
    *out_target = (target_t){.folder = -1, .name = slash ? slash + 1 : path};
    size_t size = slash ? (size_t)(slash - path) + 1 : 0;
    if (size >= PATH_MAX) return ENAMETOOLONG;
    memcpy(out_target->folder_path, size ? path : ".", size ? size : 1);
    if (!*out_target->name) return *path ? EISDIR : ENOENT;
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (const char *c = out_target->name; *c; c++) hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    snprintf(out_target->prefix, PREFIX_SIZE, ".insitu.%016llx.", (unsigned long long)hash);
    out_target->folder = open(out_target->folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return out_target->folder < 0 ? errno : 0;
}

static void next_name(const target_t *target, char name[static NAME_SIZE]) {
    static uint32_t serial;
    snprintf(name, NAME_SIZE, "%s%ld.%u", target->prefix, (long)getpid(),
             (unsigned)__atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED));
}

/* Removes a temporary file if no process holds it. */
static void remove_leftover(const target_t *target, const char *name) {
    int descriptor = openat(target->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) (void)unlinkat(target->folder, name, 0);
    close(descriptor);
}

static void remove_leftovers(const target_t *target) {
    DIR *directory = opendir(target->folder_path);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strncmp(entry->d_name, target->prefix, strlen(target->prefix)) == 0) remove_leftover(target, entry->d_name);
    closedir(directory);
}

/* ---- the file before it has its name ---- */

/* A new file with no name; -1 where the file system or the machine can't. */
static int open_unnamed(const target_t *target, mode_t mode) {
    char path[64];
    int descriptor = openat(target->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (descriptor < 0) return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    if (access(path, F_OK) == 0) return descriptor;
    close(descriptor);
    return -1;
}

/* A new file with a temporary name, and its lock: a process that takes it for a leftover meanwhile has removed it. */
static int open_named(const target_t *target, mode_t mode, char name[static NAME_SIZE], int *out_descriptor) {
    for (uint32_t names = 0; names < MOST_NAMES; names++) {
        next_name(target, name);
        int descriptor = openat(target->folder, name, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, mode);
        if (descriptor < 0 && errno == EEXIST) continue;
        if (descriptor < 0) return errno;
        struct stat information;
        (void)flock(descriptor, LOCK_EX);
        *out_descriptor = descriptor;
        if (fstat(descriptor, &information) == 0 && information.st_nlink) return 0;
        close(descriptor);
    }
    return EEXIST;
}

/* Gives a file without a name its own, or, if that is taken, a temporary one: out_name is "" or that. */
static int link_unnamed(const target_t *target, int descriptor, char out_name[static NAME_SIZE]) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    (void)flock(descriptor, LOCK_EX | LOCK_NB);
    out_name[0] = 0;
    if (linkat(AT_FDCWD, path, target->folder, target->name, AT_SYMLINK_FOLLOW) == 0) return 0;
    for (uint32_t names = 0; errno == EEXIST && names < MOST_NAMES; names++) {
        next_name(target, out_name);
        if (linkat(AT_FDCWD, path, target->folder, out_name, AT_SYMLINK_FOLLOW) == 0) return 0;
    }
    out_name[0] = 0;
    return errno;
}

/* ---- whole files ---- */

/* like: whose permissions the file gets, where the file system has any; NULL: those of any new file. */
static int write_new(const target_t *target, file_naming_t naming, const struct stat *like, const file_part_t *parts,
                     size_t count) {
    mode_t mode = like ? S_IRUSR | S_IWUSR : 0666;
    char name[NAME_SIZE] = "";
    int descriptor = naming == FILE_UNNAMED ? open_unnamed(target, mode) : -1;
    bool has_name = descriptor < 0;
    int error = has_name ? open_named(target, mode, name, &descriptor) : 0;
    if (error) return error;
    if (like) (void)fchmod(descriptor, like->st_mode & 0777);
    error = descriptor_write(descriptor, parts, count);
    if (!error && fsync(descriptor) != 0) error = errno;
    if (!error && !has_name) error = link_unnamed(target, descriptor, name);
    if (!error && name[0] && renameat(target->folder, name, target->folder, target->name) != 0) error = errno;
    if (error && name[0]) (void)unlinkat(target->folder, name, 0);
    if (close(descriptor) != 0 && !error) error = errno;
    return error;
}

int whole_file_replace(const char *path, file_naming_t naming, const file_part_t *parts, size_t count) {
    struct stat old;
    bool is_there = lstat(path, &old) == 0;
    if (is_there && S_ISDIR(old.st_mode)) return EISDIR;
    target_t target;
    int error = target_open(path, &target);
    if (error) return error;
    remove_leftovers(&target);
    error = write_new(&target, naming, is_there && S_ISREG(old.st_mode) ? &old : NULL, parts, count);
    if (!error)
        (void)fsync(target.folder); /* so that the name outlives a crash of the machine; some file systems can't */
    close(target.folder);
    return error;
}

static int write_existing(const char *path, const file_part_t *parts, size_t count) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return errno;
    int error = descriptor_write(descriptor, parts, count);
    if (close(descriptor) != 0 && !error) error = errno;
    return error;
}

int path_resolve(const char *path, char *out_path) {
    enum { MOST_LINKS = 40 };
    char at[PATH_MAX], link[PATH_MAX], folder[PATH_MAX];
    if (snprintf(at, sizeof(at), "%s", path) >= PATH_MAX) return ENAMETOOLONG;
    for (int links = 0; links < MOST_LINKS; links++) {
        char *slash = strrchr(at, '/');
        ssize_t size = readlink(at, link, sizeof(link) - 1);
        if (size < 0) {
            if (slash) *slash = 0;
            if (!realpath(!slash ? "." : *at ? at : "/", folder)) return errno;
            int length = snprintf(out_path, PATH_MAX, "%s/%s", folder, slash ? slash + 1 : at);
            return length < PATH_MAX ? 0 : ENAMETOOLONG;
        }
        link[size] = 0;
        size_t room = link[0] != '/' && slash ? (size_t)(slash - at) + 1 : 0;
        if (room + (size_t)size >= sizeof(at)) return ENAMETOOLONG;
        memcpy(at + room, link, (size_t)size + 1);
    }
    return ELOOP;
}

/* A link that leads to no file yet is not replaced: the file is made where it leads. */
static int write_absent(const char *path, const file_part_t *parts, size_t count) {
    struct stat information;
    char resolved[PATH_MAX];
    bool is_link = lstat(path, &information) == 0 && S_ISLNK(information.st_mode);
    int error = is_link ? path_resolve(path, resolved) : 0;
    return error ? error : whole_file_replace(is_link ? resolved : path, FILE_UNNAMED, parts, count);
}

int whole_file_write(const char *path, const file_part_t *parts, size_t count) {
    struct stat information;
    char resolved[PATH_MAX];
    if (stat(path, &information) != 0) return write_absent(path, parts, count);
    if (S_ISDIR(information.st_mode)) return EISDIR;
    bool has_name =
        information.st_nlink > 0; /* memory, or a file that was removed while it is open, has none to replace */
    if (!S_ISREG(information.st_mode) || !has_name) return write_existing(path, parts, count);
    return whole_file_replace(realpath(path, resolved) ? resolved : path, FILE_UNNAMED, parts, count);
}
