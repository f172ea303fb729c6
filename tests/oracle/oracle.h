/* The oracle: the fewest state bytes that any schedule of a small network copies, by searching all schedules. It knows
 * networks (text, sizes, operands) and nothing of src/plan, and holds no more of the planner's rules than are written here.
 *
 * A network is taken apart into elements. Layers that only move elements (views, copy, concat, slice_update,
 * diagonal_update, as_strided_update, shift_update) make nothing: an element of their results is an element of an input, a
 * constant, a fill, a state tensor when the call begins, or the result of a layer that computes. Those are the values.
 * State tensors, and inputs that the network mutates, are rows of cells; what is at stake is which value lies in which
 * cell when.
 *
 * What a schedule may do:
 * - Run the computing layers in any order that their operands allow, each once and as a whole; those of whose elements
 *   nothing is left in a final value or a result need not run.
 * - Make a layer's result in memory of its own, or in cells, if these are one strided view of one state tensor and lie
 *   where the program puts the value: where a final value, followed back through movement, updates' operands, parts and
 *   elementwise layers, wants it, or where an update's operand lies. What is overwritten there and needed later is lost
 *   unless it is elsewhere or set aside.
 * - Read an operand where its elements lie outside all states, or as one strided view of one state tensor, wherever they
 *   lie by then. Any other operand is gathered in memory of its own first: bytes that then lie in states alone are copied.
 *   With "pieces", elementwise layers read element by element and gather nothing.
 * - Let an elementwise layer, and one that may work in its operand's place (scan, softmax, sort, flip, triangle), write
 *   element i over element i of its operands. Any other layer's result must not overlap what it reads. Updates at positions that depend on data (index_update, scatter_update) work in their operand's cells, or
 *   copy the operand; mask_update is elementwise. What an update stores is written by the layer, wherever its source lies.
 * - Move elements at any time and in any number, into cells where they end, or where an operand shall be read that is no view
 *   of a state yet: for free from inputs, constants, fills and state tensors (also within one: shifts, and permutations but for
 *   one element a cycle), and from what was set aside; as copied bytes where the program computes the value but it was built
 *   elsewhere.
 * - Set aside single elements of old values: copied bytes. What the program itself stores outside states (the operands of
 *   copy and concat layers that something reads, updates that lead to no final value or are of fresh tensors, results that
 *   are no state tensor) can be read from there for nothing; storing it into a state from there is copied.
 *
 * Sizes must be constants, or symbols with a value given. Free: views, fills (repeated at will), memory outside states.
 * Not modelled: checks before writes and the undo log (not copied bytes), host reads, bitcasts to other sizes. */
#ifndef ORACLE_H
#define ORACLE_H

#include "network/network.h"

enum {
    MAX_COMPUTES = 256,   /* layers that compute */
    MAX_PLACES = 16,      /* places in states that are tried for a tensor */
    MAX_CELLS = 4096,     /* of all states */
    MAX_ELEMENTS = 32768, /* elements */
    DEFAULT_NODES = 30000
};

typedef enum value_kind { VALUE_FIXED, VALUE_OLD, VALUE_COMPUTED, VALUE_UNDEFINED } value_kind_t;
typedef struct value {
    value_kind_t kind;
    uint32_t bytes;
    uint32_t tensor, element; /* where it is made */
    uint32_t compute, result; /* COMPUTED */
    bool kept;                /* the program itself stores it outside states */
    bool written;             /* an update stores it into a state from wherever it is */
} value_t;

typedef struct place { /* where each element of a tensor lies: cells */
    uint32_t *cells;   /* NONE: nowhere */
    bool whole;        /* no NONE, no cell twice */
    bool strided;      /* whole, and one strided view */
} place_t;

typedef struct elements { /* of one tensor */
    uint32_t count, rank, bytes;
    int64_t sizes[MAX_RANK];
    uint32_t *values;
    place_t places[MAX_PLACES];
    uint32_t place_count;
} elements_t;

typedef struct origin { /* which element of which operand an element of a moving layer's result is */
    uint32_t operand, element;
} origin_t;

typedef struct compute {
    uint32_t layer;
    bool elementwise, updates;
    bool replaces; /* it may store element i over element i of its operands */
    bool dead;     /* none of its elements reaches a final value or a result: it need not run */
} compute_t;

typedef struct cell {
    uint32_t storage;       /* state or input: number of a row of cells */
    uint32_t initial, last; /* values when the call begins and ends */
} cell_t;

typedef struct program {
    const network_t *network;
    arena_t *arena;
    const char *refusal; /* why it can't be searched; NULL */
    const sym_value_t *symbol_values;
    const bool *symbol_bound;
    elements_t *tensors;
    origin_t **origins; /* by layer; NULL: it computes, or has no operands */
    value_t *values;
    uint32_t value_count, value_capacity;
    compute_t computes[MAX_COMPUTES];
    uint32_t compute_count;
    cell_t cells[MAX_CELLS];
    uint32_t cell_count;
    const char **storage_names;
    uint32_t storage_count;
    bool capped; /* some tensor has more places than are tried */
    bool pieces;
} program_t;

/* elements.c. False: program->refusal. The network outlives the program. */
bool program_build(program_t *program, const network_t *network, arena_t *arena);
bool program_number(program_t *program, sym_t expression, int64_t *out);
bool program_output_is_state(const program_t *program, uint32_t output);
/* places.c: fills in the places of all tensors. */
bool program_find_places(program_t *program);
bool elements_are_strided(const elements_t *tensor, const uint32_t *cells);
/* movement.c: the origins of a layer's result; NULL if it computes. */
bool movement_of(program_t *program, uint32_t layer, origin_t **out_origins);

/* ---- schedules ---- */
typedef enum memory_kind {
    IN_STATE, /* index: cell */
    IN_FIXED, /* the others: index: value */
    IN_RESULT,
    IN_ASIDE,
    IN_KEPT
} memory_kind_t;
typedef struct location {
    memory_kind_t kind;
    uint32_t index;
} location_t;
typedef struct schedule_step {
    bool runs;                      /* a layer; else one element moves */
    location_t to, from;            /* move */
    uint32_t compute;               /* run */
    location_t *operands, *results; /* run: all elements of the operands one after another, of the results */
} schedule_step_t;
typedef struct schedule {
    arena_t *arena;
    schedule_step_t *steps;
    uint32_t count, capacity;
    location_t *outputs; /* all elements of the tensor outputs, one after another */
} schedule_t;

typedef struct pending { /* a value that a cell is to be given */
    uint32_t at, id;
} pending_t;

/* moves.c: a state of the search, and what may be done in it. */
typedef struct situation {
    const program_t *program;
    uint16_t *content; /* each cell's value */
    uint8_t *placed;   /* each compute's results: 0 not run, 1 in memory of its own, 2 + p in place p */
    uint8_t *flags;    /* each value: SET_ASIDE, KEPT */
    uint32_t cost;
    schedule_t *log;       /* NULL: none */
    const pending_t *rows; /* what is being stored */
    uint32_t row_count;
    uint8_t *need; /* scratch: values that something needs later */
    uint8_t *busy; /* scratch: cells that can't be stored to */
    uint32_t *owner;
} situation_t;
enum { SET_ASIDE = 1, KEPT = 2 };

bool situation_is_ready(const situation_t *now, uint32_t compute);
bool situation_has(const situation_t *now, uint32_t tensor); /* each of its values exists */
bool situation_all_outside(const situation_t *now, uint32_t tensor);
bool situation_shows(const situation_t *now, uint32_t tensor); /* it is a strided view of a state */
/* False: it can't be done. */
bool situation_run(situation_t *now, uint32_t compute, const uint8_t placed[2]);
bool situation_bring(situation_t *now, uint32_t tensor, const place_t *place);
void situation_finish(situation_t *now);
void situation_find(const situation_t *now, uint32_t value, location_t *out); /* some place where it is */

/* search.c */
typedef struct search_result {
    const char *refusal; /* NULL: cost is the minimum */
    uint32_t cost, nodes;
    schedule_t schedule;
} search_result_t;
void search(const program_t *program, uint32_t node_limit, arena_t *arena, search_result_t *out);

/* replay.c: runs the schedule on memory; NULL, or what is wrong. */
const char *replay(const program_t *program, const schedule_t *schedule, uint32_t cost, arena_t *arena);
void schedule_print(const program_t *program, const schedule_t *schedule, text_t *out);

/* Test tools stop where the memory ends. */
void *oracle_array(arena_t *arena, size_t count, size_t size);

#endif
