/* Calls of the network builder, in any order and with any arguments. A call that fails says why and changes nothing; what
 * calls have made is printed and read back as it was, and compiles, save for what only a whole network shows; then it is
 * run, if it is small. */
#include "builder_script.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { COMPILE_MEMORY = 256 << 20 };

static char *print(const insitu_network *network, insitu_diag *diag) {
    char *text;
    fuzz_expect(insitu_network_print(network, &text, diag) == INSITU_OK, "not printed: %s", diag->message);
    return text;
}

static bool is_refusal(insitu_status status) {
    return status == INSITU_ARG || status == INSITU_SHAPE || status == INSITU_UNSUPPORTED || status == INSITU_FORMAT;
}

static void make_calls(script_t *script, const uint8_t *data, size_t size) {
    char *before = print(script->network, script->diag);
    for (int call = 0; call < SCRIPT_CALLS && size; call++) {
        size_t length = size < SCRIPT_RECORD ? size : SCRIPT_RECORD;
        script_record_t record = {.bytes = data, .size = length};
        insitu_status status = script_call(script, &record);
        bool is_ok = fuzz_is_ok(status, script->diag);
        fuzz_expect(is_ok || is_refusal(status), "a call fails with %s '%s'", insitu_status_name(status),
                    script->diag->message);
        char *after = print(script->network, script->diag);
        if (!is_ok) {
            fuzz_expect(strcmp(before, after) == 0, "a call that failed made\n%s\nof\n%s", after, before);
            insitu_text_free(after);
        } else {
            insitu_text_free(before);
            before = after;
        }
        data += length;
        size -= length;
    }
    insitu_text_free(before);
}

/* The network as text and back, with the same records. */
static insitu_network *read_back(script_t *script) {
    insitu_network *again;
    char *first = print(script->network, script->diag);
    fuzz_expect(insitu_network_parse(first, &again, script->diag) == INSITU_OK, "%s, in what was printed:\n%s",
                script->diag->message, first);
    char *second = print(again, script->diag);
    fuzz_expect(strcmp(first, second) == 0, "printed\n%s\nthen\n%s", first, second);
    insitu_text_free(first);
    insitu_text_free(second);
    for (int32_t i = 0; i < insitu_network_record_count(script->network); i++) {
        insitu_network_record record = {.struct_size = sizeof(record)};
        fuzz_expect(insitu_network_record_at(script->network, i, &record, script->diag) == INSITU_OK &&
                        insitu_network_set_record(again, i, record.data, record.size, script->diag) == INSITU_OK,
                    "record %d: %s", (int)i, script->diag->message);
    }
    return again;
}

/* What a network of known sizes may still fail with: what its inputs hold, and what no kernel computes. */
static void check_run(const script_t *script, insitu_status status) {
    bool is_deferred = status == INSITU_SHAPE || status == INSITU_FORMAT || status == INSITU_ARG;
    fuzz_expect(script->has_symbols || !is_deferred, "a run fails with %s", insitu_status_name(status));
}

static void compile_and_run(const script_t *script, const insitu_network *network, bool no_inplace) {
    const insitu_compile_options options = {.struct_size = sizeof(options), .no_inplace = no_inplace};
    insitu_engine *engine;
    insitu_status status = insitu_network_compile(network, &options, &engine, script->diag);
    if (!fuzz_is_ok(status, script->diag)) {
        fuzz_expect(status == INSITU_ARG || status == INSITU_UNSUPPORTED || status == INSITU_BOUNDS ||
                        status == INSITU_NOMEM,
                    "what was built is not compiled: %s '%s'", insitu_status_name(status), script->diag->message);
        fuzz_expect(script->has_symbols || status != INSITU_ARG, "a network of known sizes is not compiled: %s",
                    script->diag->message);
        return;
    }
    check_run(script, fuzz_run_engine(engine));
    insitu_engine_destroy(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    insitu_diag diag;
    script_t script = {.diag = &diag};
    uint8_t options = size ? data[0] : 0;
    insitu_diag_init(&diag);
    fuzz_begin(size);
    script_begin(&script, options);
    if (size) make_calls(&script, data + 1, size - 1);
    script_finish(&script);
    insitu_network *again = read_back(&script);
    fuzz_allow(COMPILE_MEMORY);
    compile_and_run(&script, options & 128 ? again : script.network, size % 5 == 4);
    insitu_network_destroy(again);
    insitu_network_destroy(script.network);
    insitu_diag_release(&diag);
    fuzz_end();
    return 0;
}
