/* Limits on what a file may ask for; each keeps a malformed file from using unbounded memory or stack. */
#ifndef LIMITS_H
#define LIMITS_H

enum {
    MAX_RANK = 12,            /* dimensions of a tensor */
    MAX_NESTING = 256,        /* JSON, subgraphs, expressions, pytrees */
    MAX_EXPRESSION = 1 << 16, /* parts of an expression over symbols, repeated parts counted each time */
    MAX_ZIP_ENTRIES = 1 << 22,
    MAX_NODES = 1 << 22, /* nodes of a graph, layers of a network, steps of a plan */
    MAX_VALUES = 1 << 24,
    MAX_SYMBOL_BINDINGS = 16, /* evaluated tables kept by a context */
    MAX_NAME = 4096           /* bytes of a name in a file */
};

#endif
