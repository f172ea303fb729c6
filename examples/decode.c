/* Decodes greedily with a saved decoder whose key and value caches are state.
 *
 *   decode PROGRAM STATE_FILE COUNT TOKEN...
 *
 * PROGRAM is a .pt2 program or an engine file with inputs tokens i64[1,n] and positions i64[n], and output logits
 * f32[1,n,vocabulary]. Feeds the prompt TOKEN..., then
 *   - continues with the best token, COUNT tokens in all,
 *   - continues a fork of the state with the second best token, a quarter as many,
 *   - continues from the state saved to STATE_FILE and loaded again, which must give the first tokens once more. */
#include <insitu/insitu.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct decoder {
    insitu_program *program; /* NULL if an engine file was loaded */
    insitu_engine *engine;
    insitu_context *context;
    int64_t longest; /* tokens that one call may take */
} decoder_t;

typedef struct best_tokens {
    int64_t first, second;
} best_tokens_t;

/* What decoding cost. */
typedef struct cost {
    double seconds;
    int64_t tokens, bytes_written;
} cost_t;

static insitu_status open_decoder(const char *path, decoder_t *decoder, insitu_diag *diag) {
    size_t length = strlen(path);
    insitu_status status;
    if (length > 4 && strcmp(path + length - 4, ".pt2") == 0) {
        status = insitu_program_load(path, &decoder->program, diag);
        if (status == INSITU_OK) status = insitu_program_compile(decoder->program, NULL, &decoder->engine, diag);
    } else {
        status = insitu_engine_load(path, NULL, &decoder->engine, diag);
    }
    if (status == INSITU_OK) status = insitu_context_create(decoder->engine, &decoder->context, diag);
    insitu_value_info tokens = {.struct_size = sizeof(tokens)};
    if (status == INSITU_OK) status = insitu_engine_input(decoder->engine, 0, &tokens, diag);
    if (status != INSITU_OK) return status;
    if (tokens.ndim != 2 || insitu_engine_input_count(decoder->engine) != 2) {
        snprintf(diag->message, sizeof(diag->message), "%s does not take tokens [1,n] and positions [n]", path);
        return INSITU_ARG;
    }
    bool varies = tokens.sizes[1] < 0;
    decoder->longest = !varies ? tokens.sizes[1] : tokens.max_sizes[1] < 0 ? INT64_MAX : tokens.max_sizes[1];
    return INSITU_OK;
}

static void close_decoder(decoder_t *decoder) {
    insitu_context_destroy(decoder->context);
    insitu_engine_destroy(decoder->engine);
    insitu_program_destroy(decoder->program);
}

static best_tokens_t find_best(const float *logits, int64_t count) {
    best_tokens_t best = {logits[1] > logits[0], logits[1] <= logits[0]};
    for (int64_t i = 2; i < count; i++) {
        if (logits[i] > logits[best.first])
            best = (best_tokens_t){i, best.first};
        else if (logits[i] > logits[best.second])
            best.second = i;
    }
    return best;
}

/* One call with count tokens at consecutive positions; out_best is what the last one's logits say. */
static insitu_status call(const decoder_t *decoder, insitu_state *state, const int64_t *tokens, int64_t count,
                          int64_t first_position, best_tokens_t *out_best, insitu_diag *diag) {
    int64_t *positions = malloc((size_t)count * sizeof(int64_t));
    if (!positions) return INSITU_NOMEM;
    for (int64_t i = 0; i < count; i++) positions[i] = first_position + i;
    int64_t token_shape[2] = {1, count};
    insitu_tensor logits, inputs[2] = {{.data = (void *)tokens,
                                        .device = {INSITU_DEVICE_CPU, 0},
                                        .ndim = 2,
                                        .dtype = INSITU_DTYPE_I64,
                                        .shape = token_shape},
                                       {.data = positions,
                                        .device = {INSITU_DEVICE_CPU, 0},
                                        .ndim = 1,
                                        .dtype = INSITU_DTYPE_I64,
                                        .shape = &token_shape[1]}};
    insitu_status status = INSITU_OK;
    for (int32_t i = 0; i < 2 && status == INSITU_OK; i++)
        status = insitu_context_set_input(decoder->context, i, &inputs[i], diag);
    if (status == INSITU_OK) status = insitu_context_run(decoder->context, state, NULL, diag);
    if (status == INSITU_OK) status = insitu_context_output(decoder->context, 0, &logits, diag);
    if (status == INSITU_OK) {
        int64_t vocabulary = logits.shape[2];
        const float *data = (const float *)((const char *)logits.data + logits.byte_offset);
        *out_best = find_best(data + (count - 1) * vocabulary, vocabulary);
    }
    free(positions);
    return status;
}

/* The prompt in as few calls as the program's sizes allow. */
static insitu_status feed(const decoder_t *decoder, insitu_state *state, const int64_t *prompt, int64_t count,
                          best_tokens_t *out_best, insitu_diag *diag) {
    insitu_status status = INSITU_OK;
    for (int64_t done = 0, part; done < count && status == INSITU_OK; done += part) {
        part = count - done < decoder->longest ? count - done : decoder->longest;
        status = call(decoder, state, prompt + done, part, done, out_best, diag);
    }
    return status;
}

/* Fills tokens[1] to tokens[count - 1], each the best one after those before it. */
static insitu_status continue_from(const decoder_t *decoder, insitu_state *state, int64_t position, int64_t *tokens,
                                   int64_t count, cost_t *cost, insitu_diag *diag) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    insitu_status status = INSITU_OK;
    for (int64_t i = 0; i + 1 < count && status == INSITU_OK; i++) {
        best_tokens_t best;
        insitu_run_stats stats = {.struct_size = sizeof(stats)};
        status = call(decoder, state, &tokens[i], 1, position + i, &best, diag);
        if (status == INSITU_OK) status = insitu_context_stats(decoder->context, &stats, diag);
        if (status != INSITU_OK) break;
        tokens[i + 1] = best.first;
        cost->bytes_written += stats.state_bytes_written;
        cost->tokens++;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    cost->seconds += (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    return status;
}

static void print_tokens(const char *title, const int64_t *tokens, int64_t count) {
    printf("%s:", title);
    for (int64_t i = 0; i < count; i++) printf(" %lld", (long long)tokens[i]);
    printf("\n");
}

typedef struct continuations {
    insitu_state *first, *forked, *restored;
    int64_t *tokens, *second, *again; /* count numbers each */
    int64_t count;
} continuations_t;

static insitu_status decode(const decoder_t *decoder, const int64_t *prompt, int64_t prompt_count,
                            const char *state_path, continuations_t *all, insitu_diag *diag) {
    best_tokens_t best = {0, 0};
    cost_t cost = {0}, other = {0};
    insitu_status status = insitu_state_create(decoder->engine, &all->first, diag);
    if (status == INSITU_OK) status = feed(decoder, all->first, prompt, prompt_count, &best, diag);
    if (status == INSITU_OK) status = insitu_state_fork(all->first, NULL, &all->forked, diag);
    if (status == INSITU_OK) status = insitu_state_save(all->first, state_path, diag);
    if (status == INSITU_OK) status = insitu_state_create(decoder->engine, &all->restored, diag);
    if (status == INSITU_OK) status = insitu_state_load(all->restored, state_path, diag);
    all->tokens[0] = all->again[0] = best.first;
    all->second[0] = best.second;
    int64_t second_count = (all->count + 3) / 4;
    if (status == INSITU_OK)
        status = continue_from(decoder, all->first, prompt_count, all->tokens, all->count, &cost, diag);
    if (status == INSITU_OK)
        status = continue_from(decoder, all->forked, prompt_count, all->second, second_count, &other, diag);
    if (status == INSITU_OK)
        status = continue_from(decoder, all->restored, prompt_count, all->again, all->count, &other, diag);
    if (status != INSITU_OK) return status;
    print_tokens("prompt", prompt, prompt_count);
    print_tokens("tokens", all->tokens, all->count);
    print_tokens("second", all->second, second_count);
    bool is_same = memcmp(all->tokens, all->again, (size_t)all->count * sizeof(int64_t)) == 0;
    printf("restored: %s\n", is_same ? "the same tokens" : "OTHER TOKENS");
    if (cost.tokens)
        printf("%.0f tokens/s, %lld bytes written to the state per token\n", (double)cost.tokens / cost.seconds,
               (long long)(cost.bytes_written / cost.tokens));
    return is_same ? INSITU_OK : INSITU_INTERNAL;
}

/* True if the whole text is a number from least to most. */
static bool read_number(const char *text, int64_t least, int64_t most, int64_t *out) {
    char *end = NULL;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && !errno && text[strspn(text, "-0123456789")] == 0 && *out >= least && *out <= most;
}

int main(int argc, char **argv) {
    int64_t count = 0, prompt_count = argc - 4;
    if (argc < 5 || !read_number(argv[3], 1, 1 << 20, &count)) {
        fprintf(stderr, "usage: decode PROGRAM STATE_FILE COUNT TOKEN...\n");
        return 2;
    }
    int64_t *numbers = calloc((size_t)(3 * count + prompt_count), sizeof(int64_t));
    if (!numbers) return 1;
    continuations_t all = {.tokens = numbers, .second = numbers + count, .again = numbers + 2 * count, .count = count};
    int64_t *prompt = numbers + 3 * count;
    for (int64_t i = 0; i < prompt_count; i++) {
        if (read_number(argv[4 + i], 0, INT64_MAX, &prompt[i])) continue;
        fprintf(stderr, "decode: '%s' is no token: a number from 0 is expected\n", argv[4 + i]);
        free(numbers);
        return 2;
    }

    insitu_diag diag;
    insitu_diag_init(&diag);
    decoder_t decoder = {0};
    insitu_status status = open_decoder(argv[1], &decoder, &diag);
    if (status == INSITU_OK) status = decode(&decoder, prompt, prompt_count, argv[2], &all, &diag);
    if (status != INSITU_OK) fprintf(stderr, "%s: %s\n", insitu_status_name(status), diag.message);

    insitu_state_destroy(all.restored);
    insitu_state_destroy(all.forked);
    insitu_state_destroy(all.first);
    close_decoder(&decoder);
    insitu_diag_release(&diag);
    free(numbers);
    return status == INSITU_OK ? 0 : 1;
}
