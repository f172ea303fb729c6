/* insitu explain: the in-place report, as a table or as one JSON object. */
#include "options.h"

#include <jansson.h>
#include <stdio.h>

static const option_t options[] = {
    {OPTION_JSON, "--json", NULL, "print one JSON object", ONCE},
    DEVICE_OPTION,
    HELP_OPTION,
};

/* One row of the report as an object; NULL if memory is short. */
static json_t *row_object(const insitu_report_row *row) {
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:b}", "name", row->name, "type",
                     row->type, "update", row->update, "written", row->written, "verdict", row->verdict, "reason",
                     row->reason, "source", row->source, "advice", row->advice, "bytes_written",
                     (json_int_t)row->bytes_written, "bytes_moved", (json_int_t)row->bytes_moved, "bytes_copied",
                     (json_int_t)row->bytes_copied, "bytes_saved", (json_int_t)row->bytes_saved, "in_place",
                     (int)row->in_place);
}

static int print_json(const insitu_engine *engine) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    json_t *rows = json_array();
    bool is_whole = rows != NULL;
    for (int32_t i = 0; is_whole && i < insitu_engine_report_count(engine); i++) {
        insitu_report_row row = {.struct_size = sizeof(row)};
        is_whole = insitu_engine_report(engine, i, &row, &diag) == INSITU_OK &&
                   json_array_append_new(rows, row_object(&row)) == 0;
    }
    json_t *report = is_whole ? json_pack("{s:O}", "report", rows) : NULL;
    is_whole = report && json_dumpf(report, stdout, JSON_COMPACT) == 0;
    if (is_whole) putchar('\n');
    json_decref(report);
    json_decref(rows);
    insitu_diag_release(&diag);
    return is_whole ? DONE : report_error("the report can't be printed: out of memory");
}

int command_explain(const command_t *command, int argc, char **argv) {
    arguments_t arguments;
    int code;
    if (!arguments_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &arguments, &code))
        return code;
    engine_source_t source;
    insitu_compile_options compile_options;
    arguments_compile_options(&arguments, &compile_options);
    code = engine_source_open(arguments.file, &compile_options, NULL, &source);
    if (code == DONE)
        code = argument_value(&arguments, OPTION_JSON) ? print_json(source.engine)
                                                       : print_engine_text(source.engine, "report");
    if (code == DONE) code = finish_output();
    engine_source_close(&source);
    arguments_release(&arguments);
    return code;
}
