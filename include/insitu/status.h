/* Status codes and the diagnostic that explains them.
 *
 * Every fallible function of Insitu returns an insitu_status and takes a caller-owned insitu_diag as its last
 * parameter (NULL is allowed). On failure the diagnostic holds one complete sentence, and what the function gives out is
 * NULL or zero. A NULL argument, where the header does not allow one, is ARG; a function that returns no status answers
 * NULL with 0, -1, false or NULL, and destroys, frees or initialises nothing. */
#ifndef INSITU_STATUS_H
#define INSITU_STATUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define INSITU_MUST_CHECK __attribute__((warn_unused_result))
#define INSITU_API __attribute__((visibility("default")))
#else
#define INSITU_MUST_CHECK
#define INSITU_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum insitu_status {
    INSITU_OK = 0,
    INSITU_ARG = 1,         /* the caller passed something wrong: a name, an index, a dtype, a null pointer */
    INSITU_UNSUPPORTED = 2, /* the program is valid, but something in it is not handled; the sentence names it */
    INSITU_FORMAT = 3,      /* not a valid file, or a program that contradicts itself */
    INSITU_VERSION = 4,     /* a file of a version that this library does not read */
    INSITU_SHAPE = 5,       /* a tensor's sizes or strides do not fit */
    INSITU_BOUNDS = 6,      /* a position lies outside the extent that it indexes */
    INSITU_ASSERT = 7,      /* an assertion of the program failed; the sentence carries its message */
    INSITU_NOMEM = 8,       /* out of memory */
    INSITU_IO = 9,          /* the operating system refused a file operation */
    INSITU_DEVICE = 10,     /* a device failed */
    INSITU_INTERNAL = 11    /* a bug in Insitu */
} insitu_status;

/* One row of a list in a diagnostic: an unsupported operator, how often it occurs, and where it occurs first. */
typedef struct insitu_diag_row {
    const char *op;     /* "aten.foo.default" */
    uint32_t count;     /* occurrences in the program */
    const char *source; /* "model.py:41", or "" where the program does not say */
} insitu_diag_row;

#define INSITU_DIAG_MESSAGE_SIZE 1024

/* Zero-initialise and set struct_size = sizeof(insitu_diag), or call insitu_diag_init. Reused by each call that it is
 * passed to; written on failure only. */
typedef struct insitu_diag {
    size_t struct_size;
    insitu_status status;
    char message[INSITU_DIAG_MESSAGE_SIZE]; /* one sentence, NUL-terminated */
    size_t row_count;
    insitu_diag_row *rows; /* row_count rows, owned by the diagnostic */
} insitu_diag;

/* Makes a diagnostic ready for use. */
INSITU_API void insitu_diag_init(insitu_diag *diag);
/* Frees the rows and makes the diagnostic ready for use again. */
INSITU_API void insitu_diag_release(insitu_diag *diag);
/* "OK", "ARG", ... ; "UNKNOWN" for a number that is no status. */
INSITU_API const char *insitu_status_name(insitu_status status);

#ifdef __cplusplus
}
#endif
#endif
