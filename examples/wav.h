/* Sound files: WAV with one channel of 16-bit PCM or 32-bit float samples. */
#ifndef EXAMPLES_WAV_H
#define EXAMPLES_WAV_H

#include <insitu/status.h>
#include <stdbool.h>

typedef struct wav {
    float *samples; /* count numbers, full scale is 1; freed by wav_release */
    int64_t count;
    uint32_t rate; /* samples a second */
    bool is_float; /* stored as 32-bit floats, else as 16-bit PCM */
} wav_t;

/* Errors: IO, NOMEM, FORMAT (malformed, no samples, a sample that is no number), UNSUPPORTED (another kind of sample,
 * more channels). On failure there is nothing to release. */
INSITU_MUST_CHECK insitu_status wav_read(const char *path, wav_t *out_wav, insitu_diag *diag);
/* Errors: IO. 16-bit samples are rounded, and clipped at full scale. */
INSITU_MUST_CHECK insitu_status wav_write(const char *path, const wav_t *sound, insitu_diag *diag);
void wav_release(wav_t *sound);

#endif
