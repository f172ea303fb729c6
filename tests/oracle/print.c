/* A schedule as people read it: runs of moves of one kind are one line. */
#include "oracle.h"
#include <string.h>

static const char *tensor_name(const program_t *program, uint32_t id) {
    uint32_t tensor = program->values[id].tensor;
    return tensor == NONE ? "nothing" : program->network->tensors[tensor].name;
}

static const char *owner_name(const program_t *program, location_t at) {
    if (at.kind == IN_STATE) return program->storage_names[program->cells[at.index].storage];
    return tensor_name(program, at.index);
}

static uint32_t first_cell(const program_t *program, uint32_t cell) {
    while (cell > 0 && program->cells[cell - 1].storage == program->cells[cell].storage) cell--;
    return cell;
}

static void print_location(const program_t *program, location_t at, text_t *out) {
    static const char *const words[] = {"", "", " in its own memory", " set aside", " in a copy of the program's"};
    text_printf(out, "%s%s", owner_name(program, at), words[at.kind]);
}

static uint32_t element_of(const program_t *program, location_t at) {
    return at.kind == IN_STATE ? at.index - first_cell(program, at.index) : program->values[at.index].element;
}

static bool alike(const program_t *program, location_t a, location_t b) {
    return a.kind == b.kind && strcmp(owner_name(program, a), owner_name(program, b)) == 0;
}

static uint32_t print_moves(const program_t *program, const schedule_t *schedule, uint32_t first, text_t *out) {
    const schedule_step_t *step = &schedule->steps[first];
    uint32_t end = first + 1, bytes = 0;
    while (end < schedule->count && !schedule->steps[end].runs && alike(program, step->to, schedule->steps[end].to) &&
           alike(program, step->from, schedule->steps[end].from))
        end++;
    bool late = step->to.kind == IN_STATE && (step->from.kind == IN_RESULT || step->from.kind == IN_KEPT) &&
                !program->values[step->from.index].written;
    for (uint32_t i = first; i < end; i++) {
        location_t to = schedule->steps[i].to;
        bytes += program->values[to.kind == IN_STATE ? program->cells[to.index].initial : to.index].bytes;
    }
    text_printf(out, step->to.kind == IN_ASIDE  ? "  set aside "
                     : step->to.kind == IN_KEPT ? "  program's own copy of "
                                                : "  store ");
    print_location(program, step->from, out);
    for (uint32_t i = first; i < end; i++)
        text_printf(out, "%s%u", i == first ? "[" : " ", element_of(program, schedule->steps[i].from));
    text_printf(out, "]");
    if (step->to.kind == IN_STATE) {
        text_printf(out, " -> %s", owner_name(program, step->to));
        for (uint32_t i = first; i < end; i++)
            text_printf(out, "%s%u", i == first ? "[" : " ", element_of(program, schedule->steps[i].to));
        text_printf(out, "]");
    }
    if (step->to.kind == IN_ASIDE || late) text_printf(out, "    # COPIED %u", bytes);
    text_printf(out, "\n");
    return end;
}

static void print_run(const program_t *program, const schedule_step_t *step, text_t *out) {
    const layer_t *layer = &program->network->layers[program->computes[step->compute].layer];
    uint32_t at = 0;
    text_printf(out, "  run %s", layer_info_of(layer->kind)->name);
    for (uint32_t r = 0; r < layer->result_count; r++) {
        const elements_t *result = &program->tensors[layer->results[r].index];
        text_printf(out, " %s", program->network->tensors[layer->results[r].index].name);
        for (uint32_t i = 0; i < result->count && step->results[at].kind == IN_STATE; i++)
            text_printf(out, i == 0 ? " in %s[%u" : "%.0s %u", owner_name(program, step->results[at + i]),
                        element_of(program, step->results[at + i]));
        if (result->count) text_printf(out, step->results[at].kind == IN_STATE ? "]" : " in its own memory");
        at += result->count;
    }
    at = 0;
    for (uint32_t k = 0; k < layer->operand_count; k++) {
        const elements_t *operand = &program->tensors[layer->operands[k].index];
        text_printf(out, k == 0 ? " from %s" : ", %s", program->network->tensors[layer->operands[k].index].name);
        for (uint32_t i = 0; i < operand->count && step->operands[at].kind == IN_STATE; i++)
            if (step->operands[at + i].kind == IN_STATE)
                text_printf(out, i == 0 ? " at %s[%u" : "%.0s %u", owner_name(program, step->operands[at + i]),
                            element_of(program, step->operands[at + i]));
        if (operand->count && step->operands[at].kind == IN_STATE) text_printf(out, "]");
        at += operand->count;
    }
    text_printf(out, "\n");
}

void schedule_print(const program_t *program, const schedule_t *schedule, text_t *out) {
    for (uint32_t i = 0; i < schedule->count;) {
        if (schedule->steps[i].runs)
            print_run(program, &schedule->steps[i++], out);
        else
            i = print_moves(program, schedule, i, out);
    }
}
