/* Limits on what a file may ask for; each keeps a malformed file from using unbounded memory or stack. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdint.h>

#define MAX_TENSOR_POWER 56 /* more than any address space holds; sums of a few don't overflow */
#define MAX_TENSOR_BYTES (INT64_C(1) << MAX_TENSOR_POWER)

enum {
    MAX_RANK = 12,            /* dimensions of a tensor */
    MAX_NESTING = 256,        /* JSON, subgraphs, expressions, pytrees */
    MAX_EXPRESSION = 1 << 16, /* parts of an expression over symbols, repeated parts counted each time */
    MAX_ZIP_ENTRIES = 1 << 22,
    MAX_NODES = 1 << 22, /* nodes of a graph, layers of a network, steps of a plan */
    MAX_VALUES = 1 << 24,
    MAX_SYMBOL_BINDINGS = 16, /* evaluated tables kept by a context */
    MAX_RESULTS = 64,         /* of a layer */
    MAX_REGION_DEPTH = 16,    /* control flow inside control flow */
    MAX_NAME = 4096           /* bytes of a name in a file */
};

#endif
