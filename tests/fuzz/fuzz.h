/* What the fuzz targets share.
 *
 * A target is LLVMFuzzerTestOneInput: it does with the bytes what a program does with a file that it was given. A fault
 * is a sanitizer's report, a failed fuzz_expect, an INTERNAL status, or more memory than input of that size may take.
 * Targets use the whole library with its internal names. They are built twice: with libFuzzer, which makes the inputs
 * (INSITU_FUZZ), and with replay.c, which runs the files that it is given. */
#ifndef FUZZ_H
#define FUZZ_H

#include "base/base.h"

#include <insitu/engine.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Ends the program with the sentence if a property does not hold. */
void fuzz_expect(bool holds, const char *format, ...) PRINTF_LIKE(2, 3);
/* A failure has a sentence, its own status and is no bug of the library's; returns whether it was OK. */
bool fuzz_is_ok(insitu_status status, const insitu_diag *diag);

/* From here on the library's memory is counted: reading size bytes must not take more than a multiple of them. */
void fuzz_begin(size_t size);
/* From here on memory is what the input, found to be valid, asks for: what goes beyond the limit fails with NOMEM. */
void fuzz_allow(size_t limit);
/* Everything must have been freed. */
void fuzz_end(void);

/* The engine's texts are printed; then it runs twice with inputs of the smallest sizes that it declares, each in memory
 * of just that size, unless that would take long. The status of the last run; OK: there was none. */
insitu_status fuzz_run_engine(const insitu_engine *engine);

#endif
