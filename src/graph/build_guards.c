/* guards_code: Python conditions over the inputs, all of which must hold, as assertions over symbols.
 *
 *     L['x'].size()[0] <= (L['y'].size()[0] // 2)      ->   assert s77 <= s17 // 2
 *
 * What holds already, because both sides are the same expression or by the symbols' ranges, is dropped. What isn't
 * understood (guard_text.c) is refused: the program may compute what is only right where it holds. */
#include "graph/guard_text.h"

static insitu_status refuse(const builder_t *builder, const char *guard, const char *at) {
    text_t whole, rest;
    text_init(&whole);
    text_init(&rest);
    guard_print(builder->program, guard, &whole);
    guard_print(builder->program, at, &rest);
    insitu_status status = diag_set(builder->diag, INSITU_UNSUPPORTED,
                                    "the program's guard \"%.300s\" can't be checked: it is not understood at '%.100s'",
                                    whole.data ? whole.data : guard, rest.data ? rest.data : at);
    text_release(&whole);
    text_release(&rest);
    return status;
}

/* The sentence for a call in which the guard does not hold. */
static insitu_status guard_message(const builder_t *builder, graph_t *graph, const char *guard, const char **out) {
    text_t named;
    text_init(&named);
    guard_print(builder->program, guard, &named);
    insitu_status status = text_status(&named, builder->diag);
    if (status == INSITU_OK)
        status = arena_printf(&graph->arena, out, "the program's guard %s does not hold", named.data ? named.data : "");
    text_release(&named);
    return status;
}

insitu_status build_guards(builder_t *builder, graph_t *graph) {
    const archive_program_t *program = builder->program;
    TRY(arena_array(&graph->arena, program->guard_count, sizeof(graph_assert_t), &graph->asserts));
    for (uint32_t i = 0; i < program->guard_count; i++) {
        guard_text_t text = {.program = program, .graph = graph, .at = program->guards[i]};
        sym_t condition;
        if (!guard_parse(&text, &condition)) return refuse(builder, program->guards[i], text.at);
        if (sym_truth(graph->symbols, condition) == TRUTH_TRUE) continue;
        graph_assert_t *item = &graph->asserts[graph->assert_count++];
        item->condition = condition;
        TRY(guard_message(builder, graph, program->guards[i], &item->message));
    }
    return INSITU_OK;
}
