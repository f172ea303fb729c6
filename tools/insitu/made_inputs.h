/* Inputs that are made, for trying a program out. */
#ifndef MADE_INPUTS_H
#define MADE_INPUTS_H

#include "options.h"
#include "session.h"

typedef struct made_inputs {
    bool is_random;        /* else zeros */
    uint64_t random_state; /* goes on from call to call */
    const given_size_t *sizes;
    size_t size_count;
} made_inputs_t;

/* One call's inputs: fixed sizes as they are, open ones as given by name, else the least. Random floats lie between -1 and 1,
 * all else is 0 or 1; numbers keep to their limits. Returns an exit code, having said why; tensors_release frees them. */
int make_inputs(made_inputs_t *made, const insitu_engine *engine, tensor_list_t *out_tensors);

#endif
