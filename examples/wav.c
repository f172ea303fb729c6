/* A RIFF file: "RIFF", size, "WAVE", then chunks, each a name, the size of its body, and the body, padded to an even
 * size. "fmt " tells what the samples are, "data" holds them; others are skipped. All numbers are little-endian. */
#include "wav.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_SIZE = 44, FORMAT_SIZE = 16, FORMAT_PCM = 1, FORMAT_FLOAT = 3, MAX_RATE = 1 << 20 };
static const size_t max_file_size = (size_t)1 << 30;

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes_t;

static insitu_status fail(insitu_diag *diag, insitu_status status, const char *path, const char *what) {
    snprintf(diag->message, sizeof(diag->message), "%s: %s", path, what);
    return status;
}

static uint32_t read_number(const uint8_t *data, int size) {
    uint32_t number = 0;
    for (int i = size; i-- > 0;) number = number << 8 | data[i];
    return number;
}

static uint8_t *write_number(uint8_t *data, uint32_t number, int size) {
    for (int i = 0; i < size; i++) data[i] = (uint8_t)(number >> 8 * i);
    return data + size;
}

static insitu_status read_file(const char *path, bytes_t *file, insitu_diag *diag) {
    FILE *stream = fopen(path, "rb");
    if (!stream) return fail(diag, INSITU_IO, path, "cannot be opened");
    insitu_status status = INSITU_OK;
    size_t room = 0, got = 1;
    while (got > 0 && status == INSITU_OK) {
        if (file->size == room) {
            room = room ? 2 * room : 1 << 16;
            uint8_t *larger = room <= max_file_size ? realloc(file->data, room) : NULL;
            if (!larger) {
                status = fail(diag, INSITU_NOMEM, path, "is too large");
                break;
            }
            file->data = larger;
        }
        got = fread(file->data + file->size, 1, room - file->size, stream);
        file->size += got;
    }
    if (status == INSITU_OK && ferror(stream)) status = fail(diag, INSITU_IO, path, "cannot be read");
    fclose(stream);
    return status;
}

static insitu_status read_format(const char *path, bytes_t body, wav_t *sound, insitu_diag *diag) {
    if (body.size < FORMAT_SIZE) return fail(diag, INSITU_FORMAT, path, "the format chunk is too short");
    uint32_t kind = read_number(body.data, 2), channels = read_number(body.data + 2, 2);
    uint32_t sample_size = read_number(body.data + 12, 2), bits = read_number(body.data + 14, 2);
    sound->rate = read_number(body.data + 4, 4);
    sound->is_float = kind == FORMAT_FLOAT;
    if (channels != 1) return fail(diag, INSITU_UNSUPPORTED, path, "only sound with one channel is read");
    if (!(kind == FORMAT_PCM && bits == 16) && !(kind == FORMAT_FLOAT && bits == 32))
        return fail(diag, INSITU_UNSUPPORTED, path, "only 16-bit PCM and 32-bit float samples are read");
    if (sample_size * 8 != bits || sound->rate < 1 || sound->rate > MAX_RATE)
        return fail(diag, INSITU_FORMAT, path, "the format chunk contradicts itself");
    return INSITU_OK;
}

static insitu_status read_samples(const char *path, bytes_t body, wav_t *sound, insitu_diag *diag) {
    size_t sample_size = sound->is_float ? 4 : 2;
    if (body.size == 0 || body.size % sample_size)
        return fail(diag, INSITU_FORMAT, path, "the data chunk does not hold whole samples");
    sound->count = (int64_t)(body.size / sample_size);
    sound->samples = malloc((size_t)sound->count * sizeof(float));
    if (!sound->samples) return fail(diag, INSITU_NOMEM, path, "is too large");
    for (int64_t i = 0; i < sound->count; i++) {
        uint32_t number = read_number(body.data + (size_t)i * sample_size, (int)sample_size);
        if (sound->is_float)
            memcpy(&sound->samples[i], &number, sizeof(float));
        else
            sound->samples[i] = (float)(number < 1 << 15 ? (int32_t)number : (int32_t)number - (1 << 16)) / (1 << 15);
        if (!isfinite(sound->samples[i])) return fail(diag, INSITU_FORMAT, path, "holds a sample that is no number");
    }
    return INSITU_OK;
}

static insitu_status read_chunks(const char *path, bytes_t file, wav_t *sound, insitu_diag *diag) {
    if (file.size < 12 || memcmp(file.data, "RIFF", 4) != 0 || memcmp(file.data + 8, "WAVE", 4) != 0)
        return fail(diag, INSITU_FORMAT, path, "is no WAV file");
    bool has_format = false;
    for (size_t place = 12; place <= file.size && file.size - place >= 8;) {
        const uint8_t *name = file.data + place;
        bytes_t body = {file.data + place + 8, read_number(name + 4, 4)};
        if (body.size > file.size - place - 8) return fail(diag, INSITU_FORMAT, path, "ends within a chunk");
        if (memcmp(name, "fmt ", 4) == 0) {
            insitu_status status = read_format(path, body, sound, diag);
            if (status != INSITU_OK) return status;
            has_format = true;
        } else if (memcmp(name, "data", 4) == 0) {
            if (!has_format) return fail(diag, INSITU_FORMAT, path, "has no format chunk before the data");
            return read_samples(path, body, sound, diag);
        }
        place += 8 + body.size + body.size % 2;
    }
    return fail(diag, INSITU_FORMAT, path, "has no data chunk");
}

insitu_status wav_read(const char *path, wav_t *out_wav, insitu_diag *diag) {
    *out_wav = (wav_t){0};
    bytes_t file = {0};
    insitu_status status = read_file(path, &file, diag);
    if (status == INSITU_OK) status = read_chunks(path, file, out_wav, diag);
    free(file.data);
    if (status != INSITU_OK) wav_release(out_wav);
    return status;
}

static uint32_t sample_bits(const wav_t *sound, int64_t i) {
    uint32_t bits;
    if (sound->is_float) {
        memcpy(&bits, &sound->samples[i], sizeof(bits));
        return bits;
    }
    float scaled = roundf(sound->samples[i] * (1 << 15));
    if (!(scaled > -(1 << 15))) return 1 << 15; /* also what is no number */
    return (uint32_t)(int32_t)fminf(scaled, (1 << 15) - 1);
}

static uint8_t *write_header(const wav_t *sound, uint32_t sample_size, uint8_t *place) {
    uint32_t size = (uint32_t)sound->count * sample_size;
    memcpy(place, "RIFF", 4);
    write_number(place + 4, HEADER_SIZE - 8 + size, 4);
    memcpy(place + 8, "WAVEfmt ", 8);
    place = write_number(place + 16, FORMAT_SIZE, 4);
    place = write_number(place, sound->is_float ? FORMAT_FLOAT : FORMAT_PCM, 2);
    place = write_number(place, 1, 2);
    place = write_number(place, sound->rate, 4);
    place = write_number(place, sound->rate * sample_size, 4);
    place = write_number(place, sample_size, 2);
    place = write_number(place, 8 * sample_size, 2);
    memcpy(place, "data", 4);
    return write_number(place + 4, size, 4);
}

insitu_status wav_write(const char *path, const wav_t *sound, insitu_diag *diag) {
    uint32_t sample_size = sound->is_float ? 4 : 2;
    size_t size = HEADER_SIZE + (size_t)sound->count * sample_size;
    uint8_t *data = malloc(size);
    if (!data) return fail(diag, INSITU_NOMEM, path, "is too large");
    uint8_t *place = write_header(sound, sample_size, data);
    for (int64_t i = 0; i < sound->count; i++) place = write_number(place, sample_bits(sound, i), (int)sample_size);
    FILE *stream = fopen(path, "wb");
    bool is_written = stream && fwrite(data, 1, size, stream) == size;
    if (stream && fclose(stream) != 0) is_written = false;
    free(data);
    return is_written ? INSITU_OK : fail(diag, INSITU_IO, path, "cannot be written");
}

void wav_release(wav_t *sound) {
    free(sound->samples);
    *sound = (wav_t){0};
}
