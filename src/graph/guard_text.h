/* The text of a guard, as an expression over a graph's symbols (guard_text.c), and how guards name the inputs
 * (guard_names.c). */
#ifndef GUARD_TEXT_H
#define GUARD_TEXT_H

#include "graph/build_int.h"

typedef struct guard_text {
    const archive_program_t *program;
    graph_t *graph;
    const char *at; /* what is left to read; where the text is not understood, that place */
    uint32_t depth;
} guard_text_t;

/* Reads the whole text. False: it is not understood at text->at. */
bool guard_parse(guard_text_t *text, sym_t *out);
/* The end of a path such as L['a'][0].mask, at its 'L'; NULL if there is none. *out_input: the user input that it leads to,
 * an index of graph->inputs, or NONE. */
const char *guard_path(const archive_program_t *program, const char *at, uint32_t *out_input);
/* The guard with the inputs called as the model calls them: x for L['x'], more[0] for L['flat_args'][1]. */
void guard_print(const archive_program_t *program, const char *guard, text_t *out);

#endif
