/* Chooses a kernel for a step: the first row of kernels.def that takes it.
 *
 * INSITU_WHY=1 logs each refusal; INSITU_FORCE_REF=1 leaves the reference rows alone; INSITU_ISA limits the instruction
 * sets, oneDNN's too. */
#include "backend/cpu/cpu_int.h"

const kernel_maker_t no_maker = {NULL, NULL, NULL};

const kernel_row_t kernel_rows[] = {
#define KERNEL(layer, dtypes, isa, name, can_run, run, workspace, maker, tolerance)                                    \
    {LAYER_##layer, (uint32_t)(dtypes), isa, name, can_run, run, workspace, &maker, tolerance},
#include "backend/cpu/kernels.def"
#undef KERNEL
};
const uint32_t kernel_row_count = COUNT_OF(kernel_rows);

bool kernel_is_reference(const kernel_row_t *row) { return strcmp(row->name, "ref") == 0; }

const char *isa_name(kernel_isa_t isa) {
    static const char *const names[] = {[ISA_ANY] = "any", [ISA_AVX2] = "AVX2", [ISA_AVX512] = "AVX-512"};
    return names[isa];
}

kernel_isa_t isa_limit(void) {
    const char *limit = switch_value(SWITCH_ISA);
    if (limit && strcmp(limit, "any") == 0) return ISA_ANY;
    if (limit && strcmp(limit, "avx2") == 0) return ISA_AVX2;
    return ISA_AVX512;
}

bool isa_present(kernel_isa_t isa) {
    if (isa > isa_limit()) return false;
#if defined(__x86_64__)
    if (isa == ISA_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (isa == ISA_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && isa_present(ISA_AVX2);
#endif
    return isa == ISA_ANY;
}

static bool takes_dtype(const kernel_row_t *row, dtype_t type, reason_t *why) {
    if (row->dtypes >> type & 1) return true;
    return decline(why, "it does not take %s", dtype_name(type));
}

bool kernel_accepts(const kernel_row_t *row, const bound_step_t *step, reason_t *why) {
    if (row->layer != step->step->layer) return decline(why, "it is for another layer");
    if (!isa_present(row->isa)) return decline(why, "this machine has no %s", isa_name(row->isa));
    const layer_info_t *info = layer_info_of(row->layer);
    if (step->operand_count < info->min_operands || step->operand_count > info->max_operands ||
        step->result_count != info->results)
        return decline(why, "the numbers of operands and results do not fit the layer");
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (!takes_dtype(row, step->operands[i].dtype, why)) return false;
    for (uint32_t i = 0; i < step->result_count; i++)
        if (!takes_dtype(row, step->results[i].dtype, why)) return false;
    return row->can_run(step, why);
}

static bool row_fits(const kernel_row_t *row, const plan_step_t *step) {
    if (row->layer != step->layer || row->isa != ISA_ANY) return false;
    uint32_t used = 0;
    for (uint32_t i = 0; i < step->operand_count; i++) used |= 1U << step->operands[i].type.dtype;
    for (uint32_t i = 0; i < step->result_count; i++) used |= 1U << step->results[i].type.dtype;
    return (used & ~row->dtypes) == 0;
}

bool kernels_take(const plan_step_t *step) {
    if (step->kind != STEP_LAYER || step_is_item(step)) return true;
    for (uint32_t i = 0; i < kernel_row_count; i++)
        if (row_fits(&kernel_rows[i], step)) return true;
    return false;
}

static void describe_operand(const bound_operand_t *operand, text_t *out) {
    text_printf(out, "%s[", dtype_name(operand->dtype));
    for (uint32_t i = 0; i < operand->rank; i++) text_printf(out, "%s%lld", i ? "," : "", (long long)operand->sizes[i]);
    text_printf(out, "]");
}

void step_describe(const bound_step_t *step, text_t *out) {
    text_printf(out, "%s", layer_info_of(step->step->layer)->name);
    const bound_attr_t *op = attr_of(step, ATTR_OP);
    if (op && op->op < OP_COUNT) text_printf(out, " %s", op_name(op->op));
    text_printf(out, "(");
    for (uint32_t i = 0; i < step->operand_count; i++) {
        text_printf(out, "%s", i ? ", " : "");
        describe_operand(&step->operands[i], out);
    }
    text_printf(out, ")");
    for (uint32_t i = 0; i < step->result_count; i++) {
        text_printf(out, "%s", i ? ", " : " -> ");
        describe_operand(&step->results[i], out);
    }
}

/* Errors: UNSUPPORTED (it declines), NOMEM. */
static insitu_status try_row(const kernel_row_t *row, const bound_step_t *step, arena_t *arena, uint32_t threads,
                             void **out_data, size_t *out_workspace, reason_t *why) {
    *out_data = NULL;
    if (!kernel_accepts(row, step, why)) return INSITU_UNSUPPORTED;
    *out_workspace = row->workspace(step);
    if (*out_workspace != SIZE_MAX)
        return row->maker->make ? row->maker->make(step, arena, threads, out_data, out_workspace, why) : INSITU_OK;
    (void)decline(why, "its workspace is too large");
    return INSITU_UNSUPPORTED;
}

/* Why rows were refused: rows[i] for reasons[i]. */
typedef struct refusals {
    uint32_t count;
    const kernel_row_t *rows[COUNT_OF(kernel_rows)];
    reason_t reasons[COUNT_OF(kernel_rows)];
} refusals_t;

static void log_refusal(const kernel_row_t *row, const bound_step_t *step, const reason_t *why) {
    text_t described;
    text_init(&described);
    step_describe(step, &described);
    log_printf(2, "kernel %s (%s) declines %s of '%s': %s", row->name, isa_name(row->isa),
               described.data ? described.data : "", step->step->name ? step->step->name : "", why->text);
    text_release(&described);
}

static insitu_status refuse(const bound_step_t *step, const refusals_t *refusals, insitu_diag *diag) {
    text_t described, list;
    text_init(&described);
    text_init(&list);
    step_describe(step, &described);
    for (uint32_t i = 0; i < refusals->count; i++)
        text_printf(&list, "; %s (%s): %s", refusals->rows[i]->name, isa_name(refusals->rows[i]->isa),
                    refusals->reasons[i].text);
    const char *source = step->step->source && step->step->source[0] ? step->step->source : "no source line";
    insitu_status status = diag_set(diag, INSITU_UNSUPPORTED, "no CPU kernel runs %s of node '%s' (%s)%s",
                                    described.data ? described.data : "a step",
                                    step->step->name ? step->step->name : "", source, list.data ? list.data : "");
    text_release(&described);
    text_release(&list);
    return status;
}

insitu_status kernel_choose(const bound_step_t *step, arena_t *arena, uint32_t threads, const kernel_row_t **out_row,
                            void **out_data, size_t *out_workspace, insitu_diag *diag) {
    refusals_t refusals;
    refusals.count = 0;
    *out_row = NULL;
    bool reference_only = switch_on(SWITCH_FORCE_REF);
    insitu_status status = INSITU_UNSUPPORTED;
    for (uint32_t i = 0; i < kernel_row_count && status == INSITU_UNSUPPORTED; i++) {
        const kernel_row_t *row = &kernel_rows[i];
        if (row->layer != step->step->layer || (reference_only && !kernel_is_reference(row))) continue;
        reason_t *why = &refusals.reasons[refusals.count];
        why->text[0] = 0;
        status = try_row(row, step, arena, threads, out_data, out_workspace, why);
        if (status == INSITU_OK) *out_row = row;
        if (status != INSITU_UNSUPPORTED) break;
        if (switch_on(SWITCH_WHY)) log_refusal(row, step, why);
        refusals.rows[refusals.count++] = row;
    }
    return status == INSITU_UNSUPPORTED ? refuse(step, &refusals, diag) : status;
}
