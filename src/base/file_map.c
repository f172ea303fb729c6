/* Read-only views of files, of callers' memory, and of zeros. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static insitu_status wrap(const void *data, size_t size, bool owns_mapping, file_map_t **out_map, insitu_diag *diag) {
    file_map_t *map = memory_alloc(sizeof(*map));
    if (!map) FAIL(diag, INSITU_NOMEM, "out of memory while opening a file");
    *map = (file_map_t){.data = data, .size = size, .references = 1, .owns_mapping = owns_mapping};
    *out_map = map;
    return INSITU_OK;
}

static insitu_status map_descriptor(int descriptor, const char *path, file_map_t **out_map, insitu_diag *diag) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) FAIL(diag, INSITU_IO, "cannot read '%s': %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) FAIL(diag, INSITU_IO, "cannot read '%s': not a regular file", path);
    if (info.st_size == 0) return wrap("", 0, false, out_map, diag);
    size_t size = (size_t)info.st_size;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) FAIL(diag, INSITU_IO, "cannot map '%s': %s", path, strerror(errno));
    insitu_status status = wrap(data, size, true, out_map, diag);
    if (status != INSITU_OK) munmap(data, size);
    return status;
}

insitu_status file_map_open(const char *path, file_map_t **out_map, insitu_diag *diag) {
    *out_map = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) FAIL(diag, INSITU_IO, "cannot open '%s': %s", path, strerror(errno));
    insitu_status status = map_descriptor(descriptor, path, out_map, diag);
    close(descriptor);
    return status;
}

insitu_status file_map_wrap(const void *data, size_t size, file_map_t **out_map, insitu_diag *diag) {
    *out_map = NULL;
    return wrap(data, size, false, out_map, diag);
}

insitu_status file_map_zeros(size_t size, file_map_t **out_map, insitu_diag *diag) {
    *out_map = NULL;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) FAIL(diag, INSITU_NOMEM, "out of memory: there is no room for %zu bytes of zeros", size);
    insitu_status status = wrap(data, size, true, out_map, diag);
    if (status != INSITU_OK) munmap(data, size);
    return status;
}

file_map_t *file_map_retain(file_map_t *map) {
    __atomic_add_fetch(&map->references, 1, __ATOMIC_RELAXED);
    return map;
}

void file_map_release(file_map_t *map) {
    if (!map || __atomic_sub_fetch(&map->references, 1, __ATOMIC_ACQ_REL) != 0) return;
    if (map->owns_mapping) munmap((void *)(uintptr_t)map->data, map->size);
    memory_free(map);
}
