/* Which program an engine comes from, so that a saved state finds only its own. Options, versions and machines change
 * nothing about it, and neither do comments: it is a hash of the graph as saved (of a network that was built, of the network), without where its nodes stand in the
 * source, and of the first bytes of each stored tensor, which differ wherever weights were trained otherwise. */
#include "compile/compile_int.h"

enum { SAMPLED_BYTES = 4096 };

/* A line of graph text ends with "  # model.py:41" where that is known. */
static size_t length_without_source(const char *line, size_t length) {
    for (size_t i = length; i >= 4; i--)
        if (memcmp(line + i - 4, "  # ", 4) == 0) return i - 4;
    return length;
}

static uint64_t hash_lines(const char *text, uint64_t hash) {
    while (*text) {
        size_t length = strcspn(text, "\n");
        hash = hash_bytes(text, length_without_source(text, length), hash);
        text += length + (text[length] == '\n');
    }
    return hash;
}

/* 0 would mean that it is not known. */
static uint64_t fingerprint(const char *text, const weight_record_t *records, uint32_t count) {
    uint64_t hash = hash_lines(text, 0);
    for (uint32_t i = 0; i < count; i++) {
        const weight_record_t *record = &records[i];
        hash = hash_bytes(&record->size, sizeof(record->size), hash);
        if (record->data)
            hash = hash_bytes(record->data, record->size < SAMPLED_BYTES ? record->size : SAMPLED_BYTES, hash);
    }
    return hash ? hash : 1;
}

insitu_status fingerprint_program(const graph_t *graph, uint64_t *out_fingerprint, insitu_diag *diag) {
    text_t printed;
    text_init(&printed);
    *out_fingerprint = 0;
    insitu_status status = graph_print(graph, &printed, diag);
    if (status == INSITU_OK && printed.data)
        *out_fingerprint = fingerprint(printed.data, graph->records, graph->record_count);
    text_release(&printed);
    return status;
}

insitu_status fingerprint_network(const network_t *network, uint64_t *out_fingerprint, insitu_diag *diag) {
    text_t printed;
    text_init(&printed);
    *out_fingerprint = 0;
    insitu_status status = network_print(network, &printed, diag);
    if (status == INSITU_OK) *out_fingerprint = fingerprint(printed.data, network->records, network->record_count);
    text_release(&printed);
    return status;
}
