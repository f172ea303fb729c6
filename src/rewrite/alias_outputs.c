/* The caller's mutated inputs: each names an input and the output that is its new value.
 *
 * - The program writes the input, and returns what it writes: that output is the input already.
 * - The program writes the input, and does not return it: its new value becomes one more output, named by the caller.
 *   These come first, in the order given.
 * - The program does not write the input: the output is written into it.
 *
 * An index counts the outputs as they are in the end, the new ones included. */
#include "rewrite/rewrite.h"

#include <insitu/program.h>

typedef struct request {
    const insitu_mutated_input *given;
    uint32_t input;
    uint32_t mutation; /* of the input; NONE */
    bool is_added;     /* its output is a new one */
} request_t;

typedef struct aliaser {
    network_t *network;
    request_t *requests;
    uint32_t count, added;
    insitu_diag *diag;
} aliaser_t;

/* ---- names for sentences ---- */

/* What the request calls its output: a name, or "output 3". */
static const char *output_text(const request_t *request, char *space, size_t size) {
    if (request->given->output)
        snprintf(space, size, "output '%.200s'", request->given->output);
    else
        snprintf(space, size, "output %d", (int)request->given->output_index);
    return space;
}

static void input_text(const insitu_mutated_input *given, char *space, size_t size) {
    if (given->input)
        snprintf(space, size, "'%.200s'", given->input);
    else
        snprintf(space, size, "%d", (int)given->input_index);
}

static insitu_status refuse(const aliaser_t *aliaser, const request_t *request, insitu_status code, const char *why) {
    char space[256];
    FAIL(aliaser->diag, code, "mutated inputs: input '%s' can't be %s: %s",
         aliaser->network->inputs[request->input].name, output_text(request, space, sizeof(space)), why);
}

/* ---- inputs ---- */

static uint32_t find_input(const network_t *network, const insitu_mutated_input *given) {
    if (!given->input)
        return given->input_index >= 0 && (uint32_t)given->input_index < network->input_count
                   ? (uint32_t)given->input_index
                   : NONE;
    for (uint32_t i = 0; i < network->input_count; i++)
        if (strcmp(network->inputs[i].name, given->input) == 0) return i;
    return NONE;
}

/* ": 'x', 'cache'", as many as fit, of names that lie a stride of bytes apart. */
static void list_names(const char *const *first, size_t stride, uint32_t count, char *out, size_t size) {
    size_t used = 0;
    *out = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = *(const char *const *)((const char *)first + i * stride);
        if (strlen(name) + 12 > size - used) {
            snprintf(out + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s'%s'", i ? ", " : ": ", name);
    }
}

static insitu_status resolve_input(aliaser_t *aliaser, uint32_t index) {
    const network_t *network = aliaser->network;
    request_t *request = &aliaser->requests[index];
    char input[256], output[256];
    request->input = find_input(network, request->given);
    input_text(request->given, input, sizeof(input));
    if (request->input == NONE) {
        char names[512];
        list_names(network->inputs ? &network->inputs[0].name : NULL, sizeof(network->inputs[0]), network->input_count,
                   names, sizeof(names));
        FAIL(aliaser->diag, INSITU_ARG,
             "mutated inputs: there is no input %s, which %s was to be: the program has %u%s", input,
             output_text(request, output, sizeof(output)), network->input_count, names);
    }
    if (network->inputs[request->input].tensor.index == NONE)
        return refuse(aliaser, request, INSITU_ARG, "the input is no tensor");
    for (uint32_t i = 0; i < index; i++)
        if (aliaser->requests[i].input == request->input)
            return refuse(aliaser, request, INSITU_ARG, "the input is named twice");
    request->mutation = NONE;
    for (uint32_t i = 0; i < network->mutation_count; i++)
        if (network->mutations[i].input == request->input) request->mutation = i;
    return INSITU_OK;
}

/* ---- outputs ---- */

static uint32_t find_output(const network_t *network, const char *name) {
    for (uint32_t i = 0; i < network->output_count; i++)
        if (strcmp(network->outputs[i].name, name) == 0) return i;
    return NONE;
}

static bool returns(const aliaser_t *aliaser, uint32_t output, const request_t *request) {
    const network_t *network = aliaser->network;
    return output < network->output_count && network->outputs[output].kind == OUTPUT_TENSOR &&
           network->outputs[output].tensor.index == network->mutations[request->mutation].next.index;
}

/* A new output's name is none that something else has, and does not look like one. */
static insitu_status check_new_name(const aliaser_t *aliaser, uint32_t index) {
    const request_t *request = &aliaser->requests[index];
    const char *name = request->given->output;
    static const char own[] = "mutated.";
    if (!name) return INSITU_OK;
    if (!name[0]) return refuse(aliaser, request, INSITU_ARG, "the name is empty");
    if (!is_utf8(name)) return refuse(aliaser, request, INSITU_ARG, "the name is not UTF-8");
    if (strncmp(name, "output.", 7) == 0 || strncmp(name, "node.", 5) == 0)
        return refuse(aliaser, request, INSITU_ARG, "the program has no output of this name");
    if (strncmp(name, own, strlen(own)) == 0 &&
        strcmp(name + strlen(own), aliaser->network->inputs[request->input].name) != 0)
        return refuse(aliaser, request, INSITU_ARG, "the name is another input's");
    for (uint32_t i = 0; i < index; i++)
        if (aliaser->requests[i].given->output && strcmp(aliaser->requests[i].given->output, name) == 0)
            return refuse(aliaser, request, INSITU_ARG, "it is another input's new value already");
    return INSITU_OK;
}

/* Is the output of an input that the program writes a new one? */
static insitu_status decide_added(aliaser_t *aliaser, uint32_t index) {
    request_t *request = &aliaser->requests[index];
    const insitu_mutated_input *given = request->given;
    if (request->mutation == NONE) return INSITU_OK;
    if (given->output) {
        request->is_added = find_output(aliaser->network, given->output) == NONE;
    } else {
        bool is_returned = given->output_index >= (int32_t)aliaser->added &&
                           returns(aliaser, (uint32_t)given->output_index - aliaser->added, request);
        request->is_added = !is_returned && given->output_index == (int32_t)aliaser->added;
    }
    if (!request->is_added) return INSITU_OK;
    aliaser->added++;
    return check_new_name(aliaser, index);
}

static insitu_status resolve_output(const aliaser_t *aliaser, const request_t *request, uint32_t *out_output) {
    const network_t *network = aliaser->network;
    const insitu_mutated_input *given = request->given;
    *out_output = NONE;
    if (given->output) {
        *out_output = find_output(network, given->output);
    } else if (given->output_index >= (int32_t)aliaser->added) {
        uint32_t output = (uint32_t)given->output_index - aliaser->added;
        if (output < network->output_count) *out_output = output;
    } else if (given->output_index >= 0) {
        return refuse(aliaser, request, INSITU_ARG, "it is another input's new value already");
    }
    if (*out_output == NONE) {
        char why[600] = "the program has no such output", *names = why + strlen(why);
        list_names(network->outputs ? &network->outputs[0].name : NULL, sizeof(network->outputs[0]),
                   network->output_count, names, sizeof(why) - strlen(why));
        return refuse(aliaser, request, INSITU_ARG, why);
    }
    if (network->outputs[*out_output].kind != OUTPUT_TENSOR)
        return refuse(aliaser, request, INSITU_ARG, "the output is no tensor");
    for (uint32_t i = 0; i < network->mutation_count; i++)
        if (i != request->mutation && returns(aliaser, *out_output, &(request_t){.mutation = i}))
            return refuse(aliaser, request, INSITU_ARG, "it is another input's new value already");
    return INSITU_OK;
}

/* "f32[2,s0] where f32[2,4] is needed" */
static insitu_status refuse_type(const aliaser_t *aliaser, const request_t *request, insitu_status code,
                                 const network_tensor_t *output, const network_tensor_t *input) {
    text_t why;
    text_init(&why);
    text_printf(&why, "it is %s", dtype_name(output->dtype));
    shape_print(&aliaser->network->symbols, &output->shape, &why);
    text_printf(&why, " and the input is %s", dtype_name(input->dtype));
    shape_print(&aliaser->network->symbols, &input->shape, &why);
    insitu_status status = text_status(&why, aliaser->diag);
    if (status == INSITU_OK) status = refuse(aliaser, request, code, why.data);
    text_release(&why);
    return status;
}

static insitu_status write_output(aliaser_t *aliaser, const request_t *request, uint32_t output) {
    network_t *network = aliaser->network;
    const network_tensor_t *from = network_tensor_of(network, network->outputs[output].tensor);
    const network_tensor_t *to = network_tensor_of(network, network->inputs[request->input].tensor);
    if (from->dtype != to->dtype) return refuse_type(aliaser, request, INSITU_ARG, from, to);
    if (shape_equal(&network->symbols, &from->shape, &to->shape) != TRUTH_TRUE)
        return refuse_type(aliaser, request, INSITU_SHAPE, from, to);
    network_mutation_t *mutation;
    TRY(network_add_mutation(network, &mutation));
    *mutation = (network_mutation_t){.input = request->input, .next = network->outputs[output].tensor};
    return INSITU_OK;
}

static insitu_status pair_output(aliaser_t *aliaser, const request_t *request) {
    uint32_t output;
    if (request->is_added) return INSITU_OK;
    TRY(resolve_output(aliaser, request, &output));
    if (request->mutation == NONE)
        TRY(write_output(aliaser, request, output));
    else if (!returns(aliaser, output, request))
        return refuse(aliaser, request, INSITU_ARG, "the program gives the input another new value");
    aliaser->network->outputs[output].is_input = true;
    aliaser->network->outputs[output].input = request->input;
    return INSITU_OK;
}

/* The new outputs move to the front. */
static insitu_status add_outputs(aliaser_t *aliaser) {
    network_t *network = aliaser->network;
    network_output_t *row;
    for (uint32_t i = 0; i < aliaser->added; i++) TRY(network_add_output(network, &row));
    for (uint32_t i = network->output_count; i-- > aliaser->added;)
        network->outputs[i] = network->outputs[i - aliaser->added];
    uint32_t next = 0;
    for (uint32_t i = 0; i < aliaser->count; i++) {
        const request_t *request = &aliaser->requests[i];
        if (!request->is_added) continue;
        row = &network->outputs[next++];
        *row = (network_output_t){.kind = OUTPUT_TENSOR,
                                  .tensor = network->mutations[request->mutation].next,
                                  .is_input = true,
                                  .input = request->input};
        const char *name = request->given->output;
        if (name)
            TRY(arena_string(&network->arena, name, strlen(name), &row->name));
        else
            TRY(arena_printf(&network->arena, &row->name, "mutated.%s", network->inputs[request->input].name));
    }
    return INSITU_OK;
}

insitu_status network_alias_outputs(network_t *network, const insitu_mutated_input *given, uint32_t count,
                                    insitu_diag *diag) {
    aliaser_t aliaser = {.network = network, .count = count, .diag = diag};
    TRY(arena_array(&network->arena, count, sizeof(*aliaser.requests), &aliaser.requests));
    for (uint32_t i = 0; i < count; i++) {
        aliaser.requests[i].given = &given[i];
        TRY(resolve_input(&aliaser, i));
    }
    for (uint32_t i = 0; i < count; i++) TRY(decide_added(&aliaser, i));
    for (uint32_t i = 0; i < count; i++) TRY(pair_output(&aliaser, &aliaser.requests[i]));
    return add_outputs(&aliaser);
}
