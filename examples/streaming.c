/* Runs a streaming model over a sound, chunk by chunk; all that it remembers between chunks is its state.
 *
 *   streaming PROGRAM INPUT.wav OUTPUT.wav CHUNK
 *
 * PROGRAM is a .pt2 program or an engine file with one input f32[1,1,n], the next n samples, and as first output the
 * n samples that they become. n is CHUNK; if the program takes any length, the last chunk may be shorter, else it is
 * padded with silence. One context and one state process the whole sound, with no copy of it: inputs and outputs are
 * bound where they lie. A call on another state has prepared the kernels before. Then
 *   - a fork of the state, made half way, continues from there,
 *   - the state is reset, and processes the sound again,
 * and both must give the same samples once more. */
#include "wav.h"

#include <insitu/insitu.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct model {
    insitu_program *program; /* NULL if an engine file was loaded */
    insitu_engine *engine;
    insitu_context *context;
    int64_t chunk;    /* samples of a chunk */
    int64_t shortest; /* samples that a call must at least take */
} model_t;

/* The sound, and what the model makes of it; both are as long as whole chunks. */
typedef struct sound {
    float *input, *output, *again;
    int64_t chunks, count;
} sound_t;

/* What processing cost. */
typedef struct cost {
    double seconds, slowest;
    int64_t written, moved, copied; /* bytes of state */
} cost_t;

static bool is_signal(const insitu_value_info *info) {
    return info->dtype.code == INSITU_CODE_FLOAT && info->dtype.bits == 32 && info->ndim == 3 && info->sizes[0] == 1 &&
           info->sizes[1] == 1;
}

static insitu_status check_model(const char *path, model_t *model, insitu_diag *diag) {
    insitu_value_info input = {.struct_size = sizeof(input)}, output = {.struct_size = sizeof(output)};
    bool fits = insitu_engine_input_count(model->engine) == 1 && insitu_engine_output_count(model->engine) >= 1;
    insitu_status status = INSITU_OK;
    if (fits) status = insitu_engine_input(model->engine, 0, &input, diag);
    if (fits && status == INSITU_OK) status = insitu_engine_output(model->engine, 0, &output, diag);
    if (status != INSITU_OK) return status;
    if (!fits || !is_signal(&input) || !is_signal(&output)) {
        snprintf(diag->message, sizeof(diag->message), "%s does not turn f32[1,1,n] into f32[1,1,n]", path);
        return INSITU_ARG;
    }
    int64_t longest = input.max_sizes[2] < 0 ? INT64_MAX : input.max_sizes[2];
    model->shortest = input.min_sizes[2];
    if (input.sizes[2] >= 0) model->shortest = longest = input.sizes[2];
    if (model->chunk >= model->shortest && model->chunk <= longest) return INSITU_OK;
    snprintf(diag->message, sizeof(diag->message), "%s takes chunks of %lld to %lld samples, not %lld", path,
             (long long)model->shortest, (long long)longest, (long long)model->chunk);
    return INSITU_SHAPE;
}

static insitu_status open_model(const char *path, model_t *model, insitu_diag *diag) {
    size_t length = strlen(path);
    insitu_status status;
    if (length > 4 && strcmp(path + length - 4, ".pt2") == 0) {
        status = insitu_program_load(path, &model->program, diag);
        if (status == INSITU_OK) status = insitu_program_compile(model->program, NULL, &model->engine, diag);
    } else {
        status = insitu_engine_load(path, NULL, &model->engine, diag);
    }
    if (status == INSITU_OK) status = check_model(path, model, diag);
    if (status == INSITU_OK) status = insitu_context_create(model->engine, &model->context, diag);
    return status;
}

static void close_model(model_t *model) {
    insitu_context_destroy(model->context);
    insitu_engine_destroy(model->engine);
    insitu_program_destroy(model->program);
}

/* One call: length samples of input become as many of output. */
static insitu_status call(const model_t *model, insitu_state *state, float *input, float *output, int64_t length,
                          insitu_diag *diag) {
    int64_t shape[3] = {1, 1, length};
    insitu_tensor from = {
        .data = input, .device = {INSITU_DEVICE_CPU, 0}, .ndim = 3, .dtype = INSITU_DTYPE_F32, .shape = shape};
    insitu_tensor to = from;
    to.data = output;
    insitu_status status = insitu_context_set_input(model->context, 0, &from, diag);
    if (status == INSITU_OK) status = insitu_context_set_output(model->context, 0, &to, diag);
    if (status == INSITU_OK) status = insitu_context_run(model->context, state, NULL, diag);
    return status;
}

/* Chunks first to last - 1 of the sound. */
static insitu_status process(const model_t *model, insitu_state *state, const sound_t *sound, int64_t first,
                             int64_t last, float *output, cost_t *cost, insitu_diag *diag) {
    for (int64_t i = first; i < last; i++) {
        int64_t place = i * model->chunk;
        int64_t length = sound->count - place < model->chunk ? sound->count - place : model->chunk;
        if (length < model->shortest) length = model->shortest;
        insitu_run_stats stats = {.struct_size = sizeof(stats)};
        insitu_status status = call(model, state, sound->input + place, output + place, length, diag);
        if (status == INSITU_OK) status = insitu_context_stats(model->context, &stats, diag);
        if (status != INSITU_OK) return status;
        cost->seconds += stats.seconds;
        if (stats.seconds > cost->slowest) cost->slowest = stats.seconds;
        cost->written += stats.state_bytes_written;
        cost->moved += stats.state_bytes_moved;
        cost->copied += stats.state_bytes_copied;
    }
    return INSITU_OK;
}

static insitu_status count_state_bytes(const insitu_state *state, int64_t *out_bytes, insitu_diag *diag) {
    *out_bytes = 0;
    for (int32_t i = 0; i < insitu_state_count(state); i++) {
        insitu_tensor tensor;
        insitu_status status = insitu_state_tensor(state, i, &tensor, diag);
        if (status != INSITU_OK) return status;
        int64_t bytes = tensor.dtype.bits / 8;
        for (int32_t dim = 0; dim < tensor.ndim; dim++) bytes *= tensor.shape[dim];
        *out_bytes += bytes;
    }
    return INSITU_OK;
}

/* The first call with some sizes prepares kernels for them: it is made on a state that is thrown away, so that the
 * sound does not wait for it. */
static insitu_status prepare(const model_t *model, const insitu_state *state, const sound_t *sound, cost_t *cost,
                             insitu_diag *diag) {
    insitu_state *other = NULL;
    insitu_status status = insitu_state_fork(state, NULL, &other, diag);
    if (status == INSITU_OK) status = process(model, other, sound, 0, 1, sound->again, cost, diag);
    insitu_state_destroy(other);
    return status;
}

/* Whether both outputs are one from chunk first on, bit for bit. */
static bool is_again(const char *what, const model_t *model, const sound_t *sound, int64_t first) {
    int64_t place = first * model->chunk;
    bool same =
        memcmp(sound->output + place, sound->again + place, (size_t)(sound->count - place) * sizeof(float)) == 0;
    printf("%s: %s\n", what, same ? "the same samples" : "OTHER SAMPLES");
    return same;
}

static insitu_status stream(const model_t *model, const sound_t *sound, uint32_t rate, insitu_state **state,
                            insitu_state **fork, insitu_diag *diag) {
    int64_t half = sound->chunks / 2, state_bytes;
    cost_t warm_up = {0}, cost = {0}, other = {0};
    insitu_status status = insitu_state_create(model->engine, state, diag);
    if (status == INSITU_OK) status = count_state_bytes(*state, &state_bytes, diag);
    if (status == INSITU_OK) status = prepare(model, *state, sound, &warm_up, diag);
    if (status == INSITU_OK) status = process(model, *state, sound, 0, half, sound->output, &cost, diag);
    if (status == INSITU_OK) status = insitu_state_fork(*state, NULL, fork, diag);
    if (status == INSITU_OK) status = process(model, *state, sound, half, sound->chunks, sound->output, &cost, diag);
    if (status != INSITU_OK) return status;
    double seconds = (double)sound->count / rate;
    printf("%lld chunks of %lld samples: %.3f s at %u Hz\n", (long long)sound->chunks, (long long)model->chunk, seconds,
           (unsigned)rate);
    printf("prepared in %.3f ms; real-time factor %.5f, slowest chunk %.3f ms\n", 1e3 * warm_up.seconds,
           cost.seconds / seconds, 1e3 * cost.slowest);
    printf("state of %lld bytes; per chunk %lld written, %lld moved, %lld copied\n", (long long)state_bytes,
           (long long)(cost.written / sound->chunks), (long long)(cost.moved / sound->chunks),
           (long long)(cost.copied / sound->chunks));

    status = process(model, *fork, sound, half, sound->chunks, sound->again, &other, diag);
    if (status != INSITU_OK) return status;
    bool is_same = is_again("fork", model, sound, half);
    status = insitu_state_reset(*state, NULL, diag);
    if (status == INSITU_OK) status = process(model, *state, sound, 0, sound->chunks, sound->again, &other, diag);
    if (status != INSITU_OK) return status;
    is_same &= is_again("reset", model, sound, 0);
    if (is_same) return INSITU_OK;
    snprintf(diag->message, sizeof(diag->message), "equal states gave different samples");
    return INSITU_INTERNAL;
}

static insitu_status convert(const model_t *model, const char *input_path, const char *output_path, insitu_diag *diag) {
    wav_t file;
    insitu_status status = wav_read(input_path, &file, diag);
    if (status != INSITU_OK) return status;
    sound_t sound = {.count = file.count, .chunks = (file.count - 1) / model->chunk + 1};
    size_t room = (size_t)(sound.chunks * model->chunk);
    float *samples = calloc(3 * room, sizeof(float));
    insitu_state *state = NULL, *fork = NULL;
    if (samples) {
        sound.input = samples;
        sound.output = samples + room;
        sound.again = samples + 2 * room;
        memcpy(sound.input, file.samples, (size_t)file.count * sizeof(float));
        status = stream(model, &sound, file.rate, &state, &fork, diag);
        wav_t result = {.samples = sound.output, .count = sound.count, .rate = file.rate, .is_float = file.is_float};
        if (status == INSITU_OK) status = wav_write(output_path, &result, diag);
    } else {
        snprintf(diag->message, sizeof(diag->message), "%s is too long", input_path);
        status = INSITU_NOMEM;
    }
    insitu_state_destroy(fork);
    insitu_state_destroy(state);
    free(samples);
    wav_release(&file);
    return status;
}

int main(int argc, char **argv) {
    char *end = NULL;
    errno = 0;
    long long chunk = argc == 5 ? strtoll(argv[4], &end, 10) : 0;
    if (chunk < 1 || chunk > 1 << 20 || *end || errno || strspn(argv[4], "0123456789") != strlen(argv[4])) {
        fprintf(stderr, "usage: streaming PROGRAM INPUT.wav OUTPUT.wav CHUNK\n");
        return 2;
    }
    insitu_diag diag;
    insitu_diag_init(&diag);
    model_t model = {.chunk = chunk};
    insitu_status status = open_model(argv[1], &model, &diag);
    if (status == INSITU_OK) status = convert(&model, argv[2], argv[3], &diag);
    if (status != INSITU_OK) fprintf(stderr, "%s: %s\n", insitu_status_name(status), diag.message);
    close_model(&model);
    insitu_diag_release(&diag);
    return status == INSITU_OK ? 0 : 1;
}
