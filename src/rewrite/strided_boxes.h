/* What a value is made of where layers only move elements: boxes of other tensors, each one strided box. */
#ifndef STRIDED_BOXES_H
#define STRIDED_BOXES_H

#include "rewrite/rewrite.h"

enum { MAX_LOOPS = 12, MAX_BOXES = 32 };

/* Elements by loop variables i[0] .. i[loops-1], all from 0: the value's element to_offset + sum of to[j] i[j], counted in
 * row-major order, is the source's element at index base[k] + sum of steps[k][j] i[j] in each dimension k. */
typedef struct box {
    tensor_id_t source; /* an input, a state, a constant, or what some layer computes */
    uint32_t loops, rank;
    int64_t counts[MAX_LOOPS];
    int64_t to_offset, to[MAX_LOOPS];
    int64_t base[MAX_RANK], steps[MAX_RANK][MAX_LOOPS];
    bool is_stored; /* an update of the program's stores it */
} box_t;

typedef struct box_list {
    box_t items[MAX_BOXES];
    uint32_t count;
} box_list_t;

/* Follows the value back through views, copies, concats, slice and shift updates. False: a size is no constant, or there
 * are too many boxes. */
bool boxes_find(const network_t *network, tensor_id_t value, box_list_t *out);
int64_t box_elements(const box_t *box);
/* Elements of a tensor with constant sizes; false if one isn't, or the product is out of proportion. */
bool box_sizes(const network_t *network, tensor_id_t tensor, int64_t *out_sizes, int64_t *out_elements);
/* The source's element, counted in row-major order: of i = 0, and what each loop adds. */
void box_origin(const network_t *network, const box_t *box, int64_t *out_offset, int64_t *out_from);

#endif
