/* What a file is, by its first bytes, and what a command had expected instead. */
#include "file_kind.h"

#include "paths.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { LENGTH_SIZE = 8, MAX_HEADER = 100000000, LOOKED_AT = 512 };

static const char *const kind_names[] = {
    [KIND_ABSENT] = "not there",
    [KIND_DEVICE] = "neither a file nor a pipe",
    [KIND_FOLDER] = "a folder",
    [KIND_EMPTY] = "an empty file",
    [KIND_ZIP] = "a zip file, as .pt2 programs are",
    [KIND_ENGINE] = "an engine file",
    [KIND_TENSORS] = "a safetensors file",
    [KIND_TEXT] = "a text file",
    [KIND_OTHER] = "a file of another kind",
};

static bool is_text(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((bytes[i] < 32 && !strchr("\t\n\f\r\033", bytes[i])) || bytes[i] == 127 || !bytes[i]) return false;
    return true;
}

static bool contains(const unsigned char *bytes, size_t size, const char *word) {
    return memmem(bytes, size, word, strlen(word)) != NULL;
}

/* safetensors begin with the length of a JSON object; that of an engine says so at once. */
static file_kind_t kind_of_bytes(const unsigned char *bytes, size_t size) {
    static const unsigned char zip[] = {'P', 'K', 3, 4};
    uint64_t length = 0;
    if (size == 0) return KIND_EMPTY;
    if (size >= sizeof(zip) && memcmp(bytes, zip, sizeof(zip)) == 0) return KIND_ZIP;
    for (size_t i = LENGTH_SIZE; size > LENGTH_SIZE && i-- > 0;) length = length << 8 | bytes[i];
    if (length && length <= MAX_HEADER && strchr("{ \t\r\n", bytes[LENGTH_SIZE]) && bytes[LENGTH_SIZE])
        return contains(bytes, size, "\"format\":\"insitu\",") ? KIND_ENGINE : KIND_TENSORS;
    return is_text(bytes, size) ? KIND_TEXT : KIND_OTHER;
}

file_kind_t file_kind_of(const char *path) {
    unsigned char bytes[LOOKED_AT];
    struct stat information;
    if (stat(path, &information) != 0) return KIND_ABSENT;
    if (S_ISDIR(information.st_mode)) return KIND_FOLDER;
    if (!S_ISREG(information.st_mode)) return KIND_DEVICE;
    FILE *file = fopen(path, "rb");
    if (!file) return KIND_ABSENT;
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    return kind_of_bytes(bytes, size);
}

bool is_program_file(const char *path) {
    file_kind_t kind = file_kind_of(path);
    size_t length = strlen(path);
    if (kind == KIND_ZIP) return true;
    return kind != KIND_ENGINE && kind != KIND_TENSORS && length >= 4 && strcmp(path + length - 4, ".pt2") == 0;
}

/* What is not there, or may not be read, is left to whoever opens it. Safetensors may be an engine whose metadata are
 * written otherwise: the library knows. */
int check_kind(const char *shown, const char *path, expected_kind_t expected) {
    static const char program[] = "a .pt2 program (torch.export.save)", engine[] = "an engine file (insitu compile)",
                      tensors[] = "a safetensors file of tensors by their names";
    file_kind_t kind = file_kind_of(path);
    if (kind == KIND_ABSENT) return DONE;
    if (kind == KIND_ZIP && expected != EXPECT_TENSORS) return DONE;
    bool is_safe = kind == KIND_TENSORS || kind == KIND_ENGINE;
    if (is_safe && expected == EXPECT_PROGRAM_OR_ENGINE) return DONE;
    if (kind == KIND_TENSORS && expected == EXPECT_TENSORS) return DONE;
    const char *first = expected == EXPECT_TENSORS ? tensors : program;
    const char *second = expected == EXPECT_PROGRAM_OR_ENGINE ? engine : "";
    return report_error("'%s' is %s; %s%s%s is expected", shown, kind_names[kind], first, *second ? " or " : "",
                        second);
}
