/* Prepares a bound plan: a kernel for each step, then regions, barriers and workspace.
 *
 * A region is a run of steps that the threads of one parallel region walk together; it is cut only around a library's
 * steps, which have threads of their own, and around item and control steps, where the runtime acts. A step too small to share is thread 0's alone. A barrier comes before a step
 * only where its bytes meet those of steps since the last barrier on another thread (hazards.c).
 *
 * The first step after checks of index values that reads through an index, or writes a state or an input, waits and ends
 * the run if one has failed. */
#include "backend/cpu/hazards.h"
#include "backend/cpu/program.h"

enum {
    SHARE_WORK = 4000, /* nanoseconds: a smaller step is not shared */
    REGION_WORK =
        30000, /* a region with less shared work is not opened, a library's step with less not shared: two threads
                          * halve it where cores are idle (measured: break-even at 8000), and wait long where they are not */
    CACHE_LINE = 64
};

static insitu_status check_operands(const bound_plan_t *bound, const bound_step_t *step, insitu_diag *diag) {
    for (uint32_t i = 0; i < step->operand_count + step->result_count; i++) {
        const bound_operand_t *operand =
            i < step->operand_count ? &step->operands[i] : &step->results[i - step->operand_count];
        int64_t begin = 0, end = 0;
        bool is_inside = operand->rank <= MAX_RANK && operand->storage < bound->plan->storage_count &&
                         operand_interval(operand, &begin, &end) && begin >= 0 &&
                         (uint64_t)end <= bound->storage_bytes[operand->storage];
        if (!is_inside)
            FAIL(diag, INSITU_FORMAT, "an operand of node '%s' lies outside its storage",
                 step->step->name ? step->step->name : "");
    }
    return INSITU_OK;
}

static insitu_status choose_kernel(program_t *program, const bound_step_t *step, program_step_t *out, arena_t *arena,
                                   size_t *whole_workspace, insitu_diag *diag) {
    out->step = step;
    if (step_is_host(step->step)) {
        out->alone = true;
        return INSITU_OK;
    }
    if (step->step->kind == STEP_CHECK_INDEX) {
        if (step->operand_count != 1 || !dtype_is_integral(step->operands[0].dtype))
            FAIL(diag, INSITU_FORMAT, "the index check of node '%s' has no integer operand",
                 step->step->name ? step->step->name : "");
        out->alone = operand_numel(&step->operands[0]) < SHARE_WORK;
        return INSITU_OK;
    }
    size_t workspace = 0;
    uint32_t threads = step_cost(step) < REGION_WORK ? 1 : program->threads;
    TRY(kernel_choose(step, arena, threads, &out->row, &out->data, &workspace, diag));
    bool whole = out->row->maker->make != NULL;
    size_t *largest = whole ? whole_workspace : &program->thread_workspace;
    if (workspace > *largest) *largest = workspace;
    out->alone = whole || step_cost(step) < SHARE_WORK;
    if (whole && threads > 1 && program->team_step == NONE) program->team_step = (uint32_t)(out - program->steps);
    return INSITU_OK;
}

static bool is_whole(const program_step_t *step) { return step->row && step->row->maker->make; }
static bool is_host(const program_step_t *step) { return step_is_host(step->step->step); }
static bool is_region_alone(const program_step_t *step) { return is_whole(step) || is_host(step); }

/* True if a result lies in memory that outlives the call. */
static bool writes_state(const bound_plan_t *bound, const bound_step_t *step) {
    for (uint32_t i = 0; i < step->result_count; i++) {
        storage_kind_t kind = bound->plan->storages[step->results[i].storage].kind;
        if (kind == STORAGE_STATE || kind == STORAGE_INPUT) return true;
    }
    return false;
}

static bool reads_index(const program_step_t *step) {
    return step->row && layer_info_of(step->row->layer)->traits & TRAIT_INDEXED;
}

static insitu_status place_barriers(program_t *program, const program_region_t *region, const bound_plan_t *bound,
                                    bool *unchecked, hazards_t *hazards) {
    hazards_clear(hazards);
    for (uint32_t i = region->first; i < region->end; i++) {
        program_step_t *step = &program->steps[i];
        if (!step->row && !region->item) *unchecked = true;
        step->test = *unchecked && step->row && (reads_index(step) || writes_state(bound, step->step));
        if (step->test) *unchecked = false;
        step->wait = step->test;
        TRY(hazards_add_step(hazards, step->step, step->alone, &step->wait));
    }
    return INSITU_OK;
}

static insitu_status make_regions(program_t *program, const bound_plan_t *bound, arena_t *arena) {
    TRY(arena_array(arena, program->step_count ? program->step_count : 1, sizeof(program_region_t), &program->regions));
    hazards_t hazards = {.bound = bound, .arena = arena};
    bool unchecked = false;
    for (uint32_t at = 0; at < program->step_count;) {
        program_region_t *region = &program->regions[program->region_count++];
        region->first = at;
        region->whole = is_whole(&program->steps[at]);
        region->item = is_host(&program->steps[at]);
        bool cut = region->whole || region->item;
        int64_t shared = 0;
        do {
            if (!program->steps[at].alone) shared += step_cost(program->steps[at].step) / 8;
            at++;
        } while (!cut && at < program->step_count && !is_region_alone(&program->steps[at]));
        region->end = at;
        region->threads = cut || shared * 8 < REGION_WORK ? 1 : program->threads;
        TRY(place_barriers(program, region, bound, &unchecked, &hazards));
    }
    return INSITU_OK;
}

static insitu_status lay_out_workspace(program_t *program, size_t whole_workspace, size_t *out_bytes,
                                       insitu_diag *diag) {
    size_t each, bytes;
    program->workspace_offset = sizeof(call_state_t) + program->threads * sizeof(check_failure_t);
    if (!checked_size_add(program->thread_workspace, CACHE_LINE - 1, &each)) goto overflow;
    each -= each % CACHE_LINE;
    program->thread_workspace = each;
    if (!checked_size_mul(each, program->threads, &bytes)) goto overflow;
    if (whole_workspace > bytes) bytes = whole_workspace;
    if (!checked_size_add(bytes, program->workspace_offset, out_bytes)) goto overflow;
    return INSITU_OK;
overflow:
    FAIL(diag, INSITU_NOMEM, "the workspace of the program's kernels exceeds the address space");
}

static insitu_status prepare_steps(program_t *program, const bound_plan_t *bound, arena_t *arena, size_t *out_bytes,
                                   insitu_diag *diag) {
    size_t whole_workspace = 0;
    TRY(arena_array(arena, bound->step_count ? bound->step_count : 1, sizeof(program_step_t), &program->steps));
    for (uint32_t i = 0; i < bound->step_count; i++) {
        TRY(check_operands(bound, &bound->steps[i], diag));
        program->step_count = i + 1; /* so that release finds what this step makes */
        TRY(choose_kernel(program, &bound->steps[i], &program->steps[i], arena, &whole_workspace, diag));
    }
    TRY(make_regions(program, bound, arena));
    return lay_out_workspace(program, whole_workspace, out_bytes, diag);
}

insitu_status cpu_prepare(const device_t *device, const bound_plan_t *bound, uint32_t threads, arena_t *arena,
                          void **out_prepared, size_t *out_workspace_bytes, insitu_diag *diag) {
    *out_prepared = NULL;
    *out_workspace_bytes = 0;
    program_t *program;
    TRY(arena_array(arena, 1, sizeof(*program), &program));
    program->threads = threads;
    program->team_step = NONE;
    program->first_step = bound->first_step;
    program->trace = switch_on(SWITCH_TRACE);
    insitu_status status = prepare_steps(program, bound, arena, out_workspace_bytes, diag);
    if (status == INSITU_OK)
        *out_prepared = program;
    else
        cpu_release(device, program);
    return status;
}

bool cpu_has_threads(const device_t *device, const void *prepared) {
    (void)device;
    const program_t *program = prepared;
    if (program->team_step == NONE) return true;
    const program_step_t *step = &program->steps[program->team_step];
    return step->row->maker->has_threads(step->data);
}

void cpu_release(const device_t *device, void *prepared) {
    (void)device;
    program_t *program = prepared;
    if (!program) return;
    for (uint32_t i = 0; i < program->step_count; i++) {
        program_step_t *step = &program->steps[i];
        if (step->row && step->row->maker->release && step->data) step->row->maker->release(step->data);
        step->data = NULL;
    }
}
