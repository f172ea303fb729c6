/* The in-place report: one row a state tensor, in columns as wide as their widest text. */
#include "plan/plan.h"

#include <inttypes.h>

enum { COLUMNS = 5, GAP = 3 };

static void print_amount(int64_t bytes, text_t *out) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    if (bytes < 1024) {
        text_printf(out, "%" PRId64 " bytes", bytes);
        return;
    }
    double amount = (double)bytes / 1024;
    size_t unit = 0;
    while (amount >= 1024 && unit + 1 < COUNT_OF(units)) {
        amount /= 1024;
        unit++;
    }
    bool is_whole = amount == (double)(int64_t)amount;
    text_printf(out, "%.*f %s", is_whole ? 0 : 1, amount, units[unit]);
}

static bool is_zero(const plan_t *plan, sym_t bytes) {
    int64_t constant;
    return sym_constant(&plan->symbols, bytes, &constant) && constant == 0;
}

/* " (moves 384, saves 16)" */
static void print_extra(const plan_t *plan, const report_row_t *row, text_t *out) {
    const struct {
        const char *verb;
        sym_t bytes;
    } parts[] = {{"moves", row->moved}, {"saves", row->saved}};
    const char *before = " (";
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (is_zero(plan, parts[i].bytes)) continue;
        text_printf(out, "%s%s ", before, parts[i].verb);
        sym_print(&plan->symbols, parts[i].bytes, out);
        before = ", ";
    }
    if (before[0] == ',') text_printf(out, ")");
}

void plan_print_verdict(const plan_t *plan, const report_row_t *row, text_t *out) {
    int64_t bytes;
    if (row->in_place) {
        text_printf(out, "in place");
        print_extra(plan, row, out);
        return;
    }
    text_printf(out, "COPIED ");
    if (sym_constant(&plan->symbols, row->copied, &bytes)) {
        print_amount(bytes, out);
    } else {
        sym_print(&plan->symbols, row->copied, out);
        text_printf(out, " bytes");
    }
    if (row->reason[0]) text_printf(out, ": %s", row->reason);
}

static void print_cell(const plan_t *plan, const report_row_t *row, uint32_t column, text_t *out) {
    switch (column) {
    case 0: text_printf(out, "%s", row->name); break;
    case 1:
        text_printf(out, "%s", dtype_name(row->type.dtype));
        shape_print(&plan->symbols, &row->type.shape, out);
        break;
    case 2: text_printf(out, "%s", row->update); break;
    case 3: sym_print(&plan->symbols, row->written, out); break;
    default: plan_print_verdict(plan, row, out); break;
    }
}

static size_t cell_width(const plan_t *plan, const report_row_t *row, uint32_t column) {
    text_t cell;
    text_init(&cell);
    print_cell(plan, row, column, &cell);
    size_t width = cell.size;
    text_release(&cell);
    return width;
}

/* What would avoid each copy, below the table. */
static void print_advice(const plan_t *plan, text_t *out) {
    for (uint32_t i = 0; i < plan->report_count; i++) {
        const report_row_t *row = &plan->report[i];
        if (!row->advice[0]) continue;
        text_printf(out, "%s", row->name);
        if (row->source[0]) text_printf(out, " (%s)", row->source);
        text_printf(out, ": to avoid the copy, %s\n", row->advice);
    }
}

void plan_print_report(const plan_t *plan, text_t *out) {
    static const char *const titles[COLUMNS] = {"state", "shape", "update", "bytes written/call", "verdict"};
    size_t widths[COLUMNS];
    for (uint32_t column = 0; column < COLUMNS; column++) {
        widths[column] = strlen(titles[column]);
        for (uint32_t i = 0; i < plan->report_count; i++) {
            size_t width = cell_width(plan, &plan->report[i], column);
            if (width > widths[column]) widths[column] = width;
        }
    }
    for (uint32_t line = 0; line <= plan->report_count; line++) {
        for (uint32_t column = 0; column < COLUMNS; column++) {
            size_t start = out->size;
            if (line == 0)
                text_printf(out, "%s", titles[column]);
            else
                print_cell(plan, &plan->report[line - 1], column, out);
            size_t width = out->size - start;
            if (column + 1 < COLUMNS && !out->failed) text_printf(out, "%*s", (int)(widths[column] - width + GAP), "");
        }
        text_printf(out, "\n");
    }
    print_advice(plan, out);
}
