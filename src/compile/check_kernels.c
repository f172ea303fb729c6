/* Refuses a plan with a step that no kernel computes, such as arithmetic of complex numbers: what is compiled can be run. All
 * such steps are counted in diag's rows, by layer, op and dtype. */
#include "compile/compile_int.h"
#include "plan/device.h"

/* "binary add of c64" */
static void name_step(const plan_step_t *step, text_t *out) {
    uint32_t op = layer_attr_index(step->layer, ATTR_OP);
    const plan_operand_t *operand = step->operand_count ? &step->operands[0] : &step->results[0];
    text_printf(out, "%s%s%s of %s", layer_info_of(step->layer)->name, op == NONE ? "" : " ",
                op == NONE ? "" : op_name(step->attrs[op].op), dtype_name(operand->type.dtype));
}

typedef struct refused { /* steps of one name */
    const char *name, *source;
    uint32_t count;
} refused_t;

static insitu_status add_step(arena_t *arena, map_t *known, refused_t *rows, uint32_t *row_count,
                              const plan_step_t *step) {
    text_t name;
    const char *copy;
    text_init(&name);
    name_step(step, &name);
    insitu_status status = text_status(&name, NULL);
    if (status == INSITU_OK) status = arena_string(arena, name.data, name.size, &copy);
    text_release(&name);
    TRY(status);
    uint32_t row = map_find(known, copy);
    if (row == NONE) {
        row = (*row_count)++;
        rows[row] = (refused_t){.name = copy, .source = step->source};
        TRY(map_set(known, arena, copy, row));
    }
    rows[row].count++;
    return INSITU_OK;
}

static insitu_status find_refused(const device_t *device, const plan_t *plan, arena_t *arena, refused_t **out_rows,
                                  uint32_t *out_count) {
    map_t known = {0};
    *out_count = 0;
    TRY(arena_array(arena, plan->step_count, sizeof(**out_rows), out_rows));
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (!device->entry->takes(&plan->steps[i])) TRY(add_step(arena, &known, *out_rows, out_count, &plan->steps[i]));
    return INSITU_OK;
}

static insitu_status refuse(const refused_t *rows, uint32_t count, insitu_diag *diag) {
    if (count == 0) return INSITU_OK;
    for (uint32_t i = 0; diag && i < count; i++) diag_add_row(diag, rows[i].name, rows[i].count, rows[i].source);
    FAIL(diag, INSITU_UNSUPPORTED, "no kernel computes %s%s%s%s%s", rows[0].name, rows[0].source[0] ? " (" : "",
         rows[0].source, rows[0].source[0] ? ")" : "", count > 1 ? ", among others" : "");
}

insitu_status check_kernels(const device_t *device, const plan_t *plan, insitu_diag *diag) {
    refused_t *rows;
    uint32_t count;
    arena_t scratch;
    arena_init(&scratch);
    insitu_status status = find_refused(device, plan, &scratch, &rows, &count);
    if (status == INSITU_OK) status = refuse(rows, count, diag);
    arena_release(&scratch);
    return status;
}
