/* Bytes as calls of the public network builder. A script is a byte of options, then records of SCRIPT_RECORD bytes, one call
 * each: the first byte says which, the others change its arguments, which are good where a byte is 0. */
#ifndef BUILDER_SCRIPT_H
#define BUILDER_SCRIPT_H

#include <insitu/network.h>

enum { SCRIPT_RECORD = 16, SCRIPT_CALLS = 40, SCRIPT_VALUES = 128, SCRIPT_INPUTS = 15, SCRIPT_FIRST = 16 };

typedef struct script_record {
    const uint8_t *bytes;
    size_t size, at;
} script_record_t;

typedef struct script {
    insitu_network *network;
    insitu_diag *diag;
    insitu_value first[SCRIPT_FIRST]; /* inputs or states of the types of LETTER_TYPES */
    insitu_value values[SCRIPT_VALUES];
    insitu_number numbers[SCRIPT_VALUES];
    uint32_t value_count, number_count, input_count, output_count, name_count;
    bool has_symbols; /* what is found in the run's numbers can't be known before */
} script_t;

/* A network with inputs of every type that the table of layers takes; some of them are states, as options say. */
void script_begin(script_t *script, uint8_t options);
/* One call, which may fail. */
insitu_status script_call(script_t *script, script_record_t *record);
/* The network is still of use: a layer is added. The last value is an output, if nothing is. */
void script_finish(script_t *script);

#endif
