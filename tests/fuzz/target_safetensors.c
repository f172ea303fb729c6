/* A safetensors file: its header is read, it is loaded as the state of a small engine, and read by the command line as
 * inputs. A state that a file did not fit is as it was. */
#include "engine/engine.h"
#include "fuzz.h"
#include "network/network.h"
#include "rewrite/rewrite.h"
#include "tensor_file.h"

#include <insitu/state.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* States of several dtypes, a view among them; a buffer that is not written. */
static const char program[] = "network\n"
                              "record \"kept\": f32, 16 bytes\n"
                              "input \"x\" = %x: f32[2,3]\n"
                              "state \"sum\" = %sum: f32[2,3] of zeros\n"
                              "state \"count\" = %count: i64[] of zeros\n"
                              "state \"turned\" = %turned: f16[4,2]{1,4} of zeros\n"
                              "state \"flag\" = %flag: bool[5] of zeros\n"
                              "buffer \"kept\": f32[2,2] of record 0\n"
                              "%next_sum: f32[2,3] = binary(%sum, %x) {op=add}\n"
                              "%next_count: i64[] = binary(%count, %count) {op=add}\n"
                              "%next_turned: f16[4,2] = unary(%turned) {op=neg}\n"
                              "%next_flag: bool[5] = unary(%flag) {op=logical_not}\n"
                              "next \"sum\" = %next_sum\n"
                              "next \"count\" = %next_count\n"
                              "next \"turned\" = %next_turned\n"
                              "next \"flag\" = %next_flag\n"
                              "output \"output.0\" = %next_sum\n";

static insitu_engine *make_engine(void) {
    static const float kept[4] = {1, 2, 3, 4};
    insitu_diag diag;
    insitu_diag_init(&diag);
    network_t *network;
    plan_t *plan = NULL;
    insitu_engine *engine = NULL;
    insitu_status status = network_parse(program, &network, &diag);
    fuzz_expect(status == INSITU_OK, "the small engine: %s", diag.message);
    network->records[0].data = (const uint8_t *)kept;
    status = network_verify(network, &diag);
    if (status == INSITU_OK) status = plan_build(network, &(plan_options_t){0}, &plan, &diag);
    if (status == INSITU_OK) status = engine_create(plan, device_cpu(), NULL, 0, &engine, &diag);
    fuzz_expect(status == INSITU_OK, "the small engine: %s", diag.message);
    network_destroy(network);
    return engine;
}

static void read_header(const uint8_t *data, size_t size) {
    const file_map_t map = {.data = data, .size = size};
    insitu_diag diag;
    arena_t arena;
    safetensors_t file;
    insitu_diag_init(&diag);
    fuzz_begin(size);
    arena_init(&arena);
    if (fuzz_is_ok(safetensors_read(&map, "file", &arena, &file, &diag), &diag)) {
        for (uint32_t i = 0; i < file.count; i++) {
            const safetensor_t *tensor = &file.tensors[i];
            fuzz_expect(tensor->data >= data && tensor->size <= size - (size_t)(tensor->data - data), "'%s' is outside",
                        tensor->name);
        }
    }
    arena_release(&arena);
    insitu_diag_release(&diag);
    fuzz_end();
}

static void load_state(const insitu_engine *engine, const char *path, size_t size) {
    insitu_diag diag;
    insitu_state *state;
    int64_t count = 7, after;
    insitu_diag_init(&diag);
    fuzz_begin(size);
    fuzz_expect(insitu_state_create(engine, &state, &diag) == INSITU_OK, "no state: %s", diag.message);
    fuzz_expect(insitu_state_write(state, "count", &count, sizeof(count), &diag) == INSITU_OK, "%s", diag.message);
    if (!fuzz_is_ok(insitu_state_load(state, path, &diag), &diag)) {
        fuzz_expect(insitu_state_read(state, "count", &after, sizeof(after), &diag) == INSITU_OK && after == count,
                    "a state changed, although its file does not fit");
    }
    insitu_state_destroy(state);
    insitu_diag_release(&diag);
    fuzz_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static insitu_engine *engine;
    if (!engine) engine = make_engine();
    read_header(data, size);
    int file = memfd_create("tensors", 0);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    fuzz_expect(file >= 0 && (size == 0 || write(file, data, size) == (ssize_t)size), "can't write a file in memory");
    load_state(engine, path, size);
    tensor_file_read(path);
    close(file);
    return 0;
}
