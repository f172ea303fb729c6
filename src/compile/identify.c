/* Which program an engine comes from, so that a saved state finds only its own. Options, versions and machines change
 * nothing about it, and neither do comments: it is a hash of the graph as saved, without where its nodes stand in the
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

insitu_status identify_program(const graph *graph, uint64_t *out_identity, insitu_diag *diag) {
    text printed;
    text_init(&printed);
    *out_identity = 0;
    insitu_status status = graph_print(graph, &printed, diag);
    if (status == INSITU_OK && printed.data) {
        uint64_t hash = hash_lines(printed.data, 0);
        for (uint32_t i = 0; i < graph->record_count; i++) {
            const weight_record *record = &graph->records[i];
            hash = hash_bytes(&record->size, sizeof(record->size), hash);
            if (record->data)
                hash = hash_bytes(record->data, record->size < SAMPLED_BYTES ? record->size : SAMPLED_BYTES, hash);
        }
        *out_identity = hash ? hash : 1; /* 0: not known */
    }
    text_release(&printed);
    return status;
}
