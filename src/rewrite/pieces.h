/* What a value is made of where layers only move elements: pieces of other tensors, each one strided box. */
#ifndef PIECES_H
#define PIECES_H

#include "rewrite/rewrite.h"

enum { MAX_LOOPS = 12, MAX_PIECES = 32 };

/* Elements by loop variables i[0] .. i[loops-1], all from 0: the value's element to_offset + sum of to[j] i[j], counted in
 * row-major order, is the source's element at index base[k] + sum of steps[k][j] i[j] in each dimension k. */
typedef struct piece {
    tensor_id source; /* an input, a state, a constant, or what some layer computes */
    uint32_t loops, rank;
    int64_t counts[MAX_LOOPS];
    int64_t to_offset, to[MAX_LOOPS];
    int64_t base[MAX_RANK], steps[MAX_RANK][MAX_LOOPS];
    bool is_stored; /* an update of the program's stores it */
} piece;

typedef struct piece_list {
    piece items[MAX_PIECES];
    uint32_t count;
} piece_list;

/* Follows the value back through views, copies, concats, slice and shift updates. False: a size is no constant, or there
 * are too many pieces. */
bool pieces_find(const network *network, tensor_id value, piece_list *out);
int64_t piece_elements(const piece *piece);
/* Elements of a tensor with constant sizes; false if one isn't, or the product is out of proportion. */
bool pieces_sizes(const network *network, tensor_id tensor, int64_t *out_sizes, int64_t *out_elements);
/* The source's element, counted in row-major order: of i = 0, and what each loop adds. */
void piece_from(const network *network, const piece *piece, int64_t *out_offset, int64_t *out_from);

#endif
