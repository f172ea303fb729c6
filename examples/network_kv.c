/* Builds an attention step over a key-value cache without PyTorch, layer by layer, and decodes with it: the caches are state,
 * two sequences of a batch stand at different positions, and a call writes one row of each cache. usage: network_kv */
#include <insitu/insitu.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, HEADS = 2, ROWS = 64, WIDTH = 8 };

static void must(insitu_status status, const insitu_diag *diag) {
    if (status == INSITU_OK) return;
    fprintf(stderr, "%s: %s\n", insitu_status_name(status), diag->message);
    exit(1);
}

/* A cache [BATCH, HEADS, ROWS, WIDTH] that begins with zeros; the new rows go to the positions. Gives out its new value. */
static insitu_value add_cache(insitu_network *network, const char *name, insitu_value rows, insitu_value positions,
                              insitu_diag *diag) {
    const insitu_number sizes[4] = {insitu_int(BATCH), insitu_int(HEADS), insitu_int(ROWS), insitu_int(WIDTH)};
    insitu_value cache, updated;
    must(insitu_network_add_state(network, name, INSITU_DTYPE_F32, 4, sizes, NULL, 0, &cache, diag), diag);
    must(insitu_network_add_kv_cache_update(network, cache, rows, positions, INSITU_CACHE_BHSD, &updated, diag), diag);
    must(insitu_network_assign(network, cache, updated, diag), diag);
    return updated;
}

/* mask[b,h,0,s] = s <= positions[b] */
static insitu_value add_mask(insitu_network *network, insitu_value positions, insitu_diag *diag) {
    const insitu_number one = insitu_int(1), full[4] = {insitu_int(BATCH), insitu_int(HEADS), one, insitu_int(ROWS)};
    const insitu_number by_row[4] = {insitu_int(BATCH), one, one, one},
                        by_column[4] = {one, one, one, insitu_int(ROWS)};
    insitu_value columns, mask;
    must(insitu_network_add_iota(network, INSITU_DTYPE_I64, insitu_int(ROWS), insitu_int(0), one, &columns, diag),
         diag);
    must(insitu_network_add_reshape(network, columns, 4, by_column, &columns, diag), diag);
    must(insitu_network_add_expand(network, columns, 4, full, &columns, diag), diag);
    must(insitu_network_add_reshape(network, positions, 4, by_row, &positions, diag), diag);
    must(insitu_network_add_expand(network, positions, 4, full, &positions, diag), diag);
    must(insitu_network_add_binary(network, "le", columns, positions, &mask, diag), diag);
    return mask;
}

static insitu_engine *build(insitu_diag *diag) {
    const insitu_number row[4] = {insitu_int(BATCH), insitu_int(HEADS), insitu_int(1), insitu_int(WIDTH)};
    const insitu_number batch[1] = {insitu_int(BATCH)};
    insitu_network *network;
    insitu_engine *engine;
    insitu_value q, k, v, positions, keys, values, attended;
    must(insitu_network_create(&network, diag), diag);
    must(insitu_network_add_input(network, "q", INSITU_DTYPE_F32, 4, row, &q, diag), diag);
    must(insitu_network_add_input(network, "k", INSITU_DTYPE_F32, 4, row, &k, diag), diag);
    must(insitu_network_add_input(network, "v", INSITU_DTYPE_F32, 4, row, &v, diag), diag);
    must(insitu_network_add_input(network, "positions", INSITU_DTYPE_I64, 1, batch, &positions, diag), diag);
    keys = add_cache(network, "keys", k, positions, diag);
    values = add_cache(network, "values", v, positions, diag);
    must(insitu_network_add_attention(network, q, keys, values, add_mask(network, positions, diag), 1.0, false,
                                      &attended, diag),
         diag);
    must(insitu_network_mark_output(network, attended, "attended", diag), diag);

    insitu_compile_options options;
    insitu_compile_options_init(&options);
    options.strict = true; /* a copied byte of a cache would be an error */
    must(insitu_network_compile(network, &options, &engine, diag), diag);
    insitu_network_destroy(network);
    return engine;
}

static void bind(insitu_context *context, const insitu_engine *engine, const char *name, insitu_dtype dtype, void *data,
                 int32_t ndim, int64_t *shape, insitu_diag *diag) {
    insitu_tensor tensor = {
        .data = data, .device = {INSITU_DEVICE_CPU, 0}, .ndim = ndim, .dtype = dtype, .shape = shape};
    must(insitu_context_set_input(context, insitu_engine_find_input(engine, name), &tensor, diag), diag);
}

/* One token of each sequence: its query, key and value are all `value`. */
static insitu_status step(insitu_context *context, insitu_state *state, int64_t positions[BATCH], float value,
                          insitu_diag *diag) {
    const insitu_engine *engine = insitu_state_engine(state);
    float row[BATCH * HEADS * WIDTH];
    int64_t sizes[4] = {BATCH, HEADS, 1, WIDTH}, batch[1] = {BATCH};
    for (size_t i = 0; i < BATCH * HEADS * WIDTH; i++) row[i] = value;
    bind(context, engine, "q", INSITU_DTYPE_F32, row, 4, sizes, diag);
    bind(context, engine, "k", INSITU_DTYPE_F32, row, 4, sizes, diag);
    bind(context, engine, "v", INSITU_DTYPE_F32, row, 4, sizes, diag);
    bind(context, engine, "positions", INSITU_DTYPE_I64, positions, 1, batch, diag);
    return insitu_context_run(context, state, NULL, diag);
}

int main(void) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_engine *engine = build(&diag);
    insitu_context *context;
    insitu_state *state;
    insitu_tensor output;
    char *report;
    must(insitu_engine_print(engine, "report", &report, &diag), &diag);
    fputs(report, stdout);
    insitu_text_free(report);
    must(insitu_context_create(engine, &context, &diag), &diag);
    must(insitu_state_create(engine, &state, &diag), &diag);

    int64_t positions[BATCH] = {0, 40}; /* the second sequence is longer; what it holds before is zeros here */
    for (int i = 0; i < 3; i++, positions[0]++, positions[1]++) {
        insitu_run_stats stats = {.struct_size = sizeof(stats)};
        must(step(context, state, positions, (float)(i + 1), &diag), &diag);
        must(insitu_context_output(context, 0, &output, &diag), &diag);
        must(insitu_context_stats(context, &stats, &diag), &diag);
        const float *attended = output.data;
        printf("positions %" PRId64 " and %" PRId64 ": %.4f and %.4f, %" PRId64 " bytes written, %" PRId64 " copied\n",
               positions[0], positions[1], (double)attended[0], (double)attended[HEADS * WIDTH],
               stats.state_bytes_written, stats.state_bytes_copied);
    }
    positions[1] = ROWS;
    insitu_status status = step(context, state, positions, 9, &diag);
    printf("%s: %s\n", insitu_status_name(status), diag.message);

    insitu_state_destroy(state);
    insitu_context_destroy(context);
    insitu_engine_destroy(engine);
    insitu_diag_release(&diag);
    return status == INSITU_BOUNDS ? 0 : 1;
}
