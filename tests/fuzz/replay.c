/* Runs a fuzz target on files, or on all files of folders: regressions, and corpora for coverage.
 *
 *     replay_TARGET FILE_OR_FOLDER... */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t run_file(const char *path) {
    file_map_t *map;
    if (file_map_open(path, &map, NULL) != INSITU_OK) {
        fprintf(stderr, "can't read %s\n", path);
        exit(1);
    }
    uint8_t *data = malloc(map->size + (map->size == 0)); /* memory of just its size: an overrun is found */
    size_t size = map->size;
    if (!data) exit(1);
    if (size) memcpy(data, map->data, size);
    file_map_release(map);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static size_t run_folder(DIR *folder, const char *path) {
    size_t count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        count += run_file(name);
    }
    return count;
}

int main(int argc, char **argv) {
    LLVMFuzzerInitialize(&argc, &argv);
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        count += folder ? run_folder(folder, argv[i]) : run_file(argv[i]);
        if (folder) closedir(folder);
    }
    printf("%zu inputs\n", count);
    return 0;
}
