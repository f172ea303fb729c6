/* Numbers, expressions and types as text. Expressions are written in infix, simplified under the ranges that the file gives
 * its symbols; one that can't be read is written as it is. */
#include "archive/archive_int.h"

#include <inttypes.h>

/* A name of the file: what a terminal would take for a command is escaped. */
void print_plain(text_t *out, const char *name) {
    bool is_plain = true;
    for (const char *c = name; *c; c++) is_plain &= (unsigned char)*c >= 0x20 && *c != 0x7f;
    if (is_plain)
        text_printf(out, "%s", name);
    else
        text_quoted(out, name);
}

void print_number_text(const sym_value_t *value, text_t *out) {
    switch (value->kind) {
    case SYM_KIND_INT: text_printf(out, "%" PRId64, value->i); break;
    case SYM_KIND_FLOAT: text_double(out, value->f); break;
    case SYM_KIND_BOOL: text_printf(out, value->i ? "true" : "false"); break;
    }
}

/* ---- expressions ---- */

static bool is_identifier(const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return name[0] && !strchr("0123456789", name[0]) && strspn(name, letters) == strlen(name);
}

/* "2*s77" bounds a derived size; floats (zf0, zuf0) have no range. */
insitu_status program_pool_init(sym_pool_t *pool, const archive_program_t *program) {
    TRY(sym_pool_init(pool));
    for (uint32_t i = 0; i < program->range_count; i++) {
        const archive_range_t *range = &program->ranges[i];
        if (is_identifier(range->expression) && range->expression[0] != 'z')
            sym_add_symbol(pool, range->expression, SYM_KIND_INT, range->min, range->max);
    }
    return INSITU_OK;
}

/* False: it can't be read, or an expression before it was too large for the pool, which is of no use any more. */
static bool parse_sym(sym_pool_t *pool, const archive_sym_t *sym, sym_t *out) {
    if (pool->failed) return false;
    if (sym->expression) return sym_parse_srepr(pool, sym->expression, out, NULL) == INSITU_OK;
    *out = sym_int(pool, sym->value.i);
    return !pool->failed;
}

void print_sym_text(sym_pool_t *pool, const archive_sym_t *sym, text_t *out) {
    sym_t parsed;
    if (!sym->expression)
        print_number_text(&sym->value, out);
    else if (parse_sym(pool, sym, &parsed))
        sym_print(pool, parsed, out);
    else
        print_plain(out, sym->expression);
}

/* ---- types ---- */

static bool parse_type(sym_pool_t *pool, const archive_tensor_meta_t *meta, tensor_type_t *type) {
    type->dtype = meta->dtype;
    type->shape.rank = meta->rank;
    for (uint32_t i = 0; i < meta->rank; i++)
        if (!parse_sym(pool, &meta->sizes[i], &type->shape.sizes[i]) ||
            !parse_sym(pool, &meta->strides[i], &type->strides[i]))
            return false;
    return parse_sym(pool, &meta->offset, &type->offset);
}

static void print_syms(sym_pool_t *pool, const archive_sym_t *syms, uint32_t count, text_t *out) {
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_add(out, ",", 1);
        print_sym_text(pool, &syms[i], out);
    }
}

/* With all its parts, for one of which an expression can't be read. */
static void print_whole_type(sym_pool_t *pool, const archive_tensor_meta_t *meta, text_t *out) {
    text_printf(out, "%s[", dtype_name(meta->dtype));
    print_syms(pool, meta->sizes, meta->rank, out);
    text_printf(out, "]{");
    print_syms(pool, meta->strides, meta->rank, out);
    text_printf(out, "}+");
    print_sym_text(pool, &meta->offset, out);
}

void print_tensor_text(sym_pool_t *pool, const archive_tensor_meta_t *meta, text_t *out) {
    tensor_type_t type;
    if (parse_type(pool, meta, &type))
        type_print(pool, &type, out);
    else
        print_whole_type(pool, meta, out);
    if (strcmp(meta->device.type, "cpu") == 0) return;
    text_printf(out, " on ");
    print_plain(out, meta->device.type);
    if (meta->device.index >= 0) text_printf(out, ":%d", (int)meta->device.index);
}

void print_payload_text(sym_pool_t *pool, const archive_payload_t *payload, text_t *out) {
    archive_sym_t dims[2 * MAX_RANK] = {{0}};
    const archive_tensor_meta_t meta = {.dtype = payload->dtype,
                                        .rank = payload->rank,
                                        .sizes = dims,
                                        .strides = dims + MAX_RANK,
                                        .offset.value.i = payload->offset,
                                        .device.type = "cpu"};
    for (uint32_t i = 0; i < payload->rank; i++) {
        dims[i].value.i = payload->sizes[i];
        dims[MAX_RANK + i].value.i = payload->strides[i];
    }
    print_tensor_text(pool, &meta, out);
}
