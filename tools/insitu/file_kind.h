/* What a file is, by its first bytes. */
#ifndef FILE_KIND_H
#define FILE_KIND_H

#include "tool.h"

typedef enum file_kind {
    KIND_ABSENT,
    KIND_DEVICE,
    KIND_FOLDER,
    KIND_EMPTY,
    KIND_ZIP,
    KIND_ENGINE,
    KIND_TENSORS, /* safetensors that don't say that they are an engine */
    KIND_TEXT,
    KIND_OTHER
} file_kind_t;

typedef enum expected_kind { EXPECT_PROGRAM, EXPECT_PROGRAM_OR_ENGINE, EXPECT_TENSORS } expected_kind_t;

file_kind_t file_kind_of(const char *path);
/* True if the file holds a .pt2 program, judged by its first bytes, or by its name if they are of no known kind. */
bool is_program_file(const char *path);
/* DONE, or FAILED with a sentence that says what the file is and what is expected. path: where it is read, shown: how the
 * user has named it. */
int check_kind(const char *shown, const char *path, expected_kind_t expected);

#endif
