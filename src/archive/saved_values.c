/* The value tables of a graph: tensor metadata and symbolic numbers, one row a name. */
#include "archive/archive_int.h"

/* ---- symbolic numbers: {"as_int": 3} or {"as_expr": {"expr_str": ..., "hint": ...}} ---- */

const char *literal_key(sym_kind_t kind) {
    switch (kind) {
    case SYM_KIND_INT: return "as_int";
    case SYM_KIND_FLOAT: return "as_float";
    case SYM_KIND_BOOL: return "as_bool";
    }
    return "";
}

insitu_status read_literal(const json_cursor_t *at, sym_kind_t kind, sym_value_t *out) {
    bool truth;
    switch (kind) {
    case SYM_KIND_INT: return json_int(at, &out->i);
    case SYM_KIND_FLOAT: return json_float(at, &out->f);
    case SYM_KIND_BOOL:
        TRY(json_bool(at, &truth));
        out->i = truth;
        return INSITU_OK;
    }
    return INSITU_INTERNAL;
}

static insitu_status read_expression(reader_t *reader, const json_cursor_t *at, archive_sym_t *out) {
    json_cursor_t text, hint, number;
    TRY(json_member(at, "expr_str", &text));
    TRY(reader_text(reader, &text, &out->expression));
    if (!json_optional(at, "hint", &hint)) return INSITU_OK;
    TRY(json_union(&hint, &number));
    /* A hint of another kind than the value's (a bool's 0) says nothing. */
    if (strcmp(number.key, literal_key(out->value.kind)) != 0) return INSITU_OK;
    TRY(read_literal(&number, out->value.kind, &out->value));
    out->has_hint = true;
    return INSITU_OK;
}

insitu_status read_sym(reader_t *reader, const json_cursor_t *at, sym_kind_t kind, archive_sym_t *out) {
    memset(out, 0, sizeof(*out));
    out->value.kind = kind;
    json_cursor_t content;
    TRY(json_union(at, &content));
    if (strcmp(content.key, "as_expr") == 0) return read_expression(reader, &content, out);
    if (strcmp(content.key, literal_key(kind)) == 0) return read_literal(&content, kind, &out->value);
    return json_fail(at, INSITU_UNSUPPORTED, "a symbolic number of the unknown form '%s'", content.key);
}

/* ---- tensors ---- */

insitu_status read_dtype(const json_cursor_t *at, dtype_t *out) {
    *out = DTYPE_COUNT;
    int64_t number;
    TRY(json_int(at, &number));
    if (!dtype_from_pt2(number, out))
        return json_fail(at, INSITU_UNSUPPORTED, "the element type number %lld is not known", (long long)number);
    return INSITU_OK;
}

insitu_status read_device(reader_t *reader, const json_cursor_t *at, archive_device_t *out) {
    memset(out, 0, sizeof(*out));
    out->index = -1;
    json_cursor_t type, index;
    TRY(json_member(at, "type", &type));
    TRY(reader_text(reader, &type, &out->type));
    if (!json_optional(at, "index", &index)) return INSITU_OK;
    int64_t number;
    TRY(json_int(&index, &number));
    if (number < -1 || number > INT32_MAX)
        return json_fail(&index, INSITU_FORMAT, "the device index %lld is out of range", (long long)number);
    out->index = (int32_t)number;
    return INSITU_OK;
}

/* A list of symbolic ints; sizes and strides that are numbers are >= 0. */
static insitu_status read_dims(reader_t *reader, const json_cursor_t *at, const archive_sym_t **out,
                               uint32_t *out_rank) {
    TRY(json_count(at, out_rank));
    if (*out_rank > MAX_RANK)
        return json_fail(at, INSITU_UNSUPPORTED, "a tensor of rank %u; at most %d is handled", *out_rank, MAX_RANK);
    archive_sym_t *dims;
    TRY(arena_array(reader->arena, *out_rank, sizeof(*dims), &dims));
    for (uint32_t i = 0; i < *out_rank; i++) {
        json_cursor_t item;
        json_item(at, i, &item);
        TRY(read_sym(reader, &item, SYM_KIND_INT, &dims[i]));
        if (!dims[i].expression && dims[i].value.i < 0)
            return json_fail(&item, INSITU_FORMAT, "the number %lld is negative", (long long)dims[i].value.i);
    }
    *out = dims;
    return INSITU_OK;
}

static insitu_status check_layout(const json_cursor_t *at) {
    static const char *const names[] = {"unknown",    "sparse_coo", "sparse_csr", "sparse_csc",
                                        "sparse_bsr", "sparse_bsc", "mkldnn"};
    int64_t layout;
    TRY(json_int(at, &layout));
    if (layout == LAYOUT_STRIDED) return INSITU_OK;
    if (layout < 0 || layout > LAYOUT_STRIDED)
        return json_fail(at, INSITU_UNSUPPORTED, "the layout number %lld is not known", (long long)layout);
    return json_fail(at, INSITU_UNSUPPORTED, "a tensor of layout %s; only strided tensors are handled", names[layout]);
}

insitu_status read_tensor_meta(reader_t *reader, const json_cursor_t *at, archive_tensor_meta_t *out) {
    memset(out, 0, sizeof(*out));
    json_cursor_t member;
    uint32_t stride_count;
    TRY(json_member(at, "dtype", &member));
    TRY(read_dtype(&member, &out->dtype));
    TRY(json_member(at, "layout", &member));
    TRY(check_layout(&member));
    TRY(json_member(at, "sizes", &member));
    TRY(read_dims(reader, &member, &out->sizes, &out->rank));
    TRY(json_member(at, "strides", &member));
    TRY(read_dims(reader, &member, &out->strides, &stride_count));
    if (stride_count != out->rank)
        return json_fail(&member, INSITU_FORMAT, "%u strides for %u sizes", stride_count, out->rank);
    if (json_optional(at, "storage_offset", &member)) {
        TRY(read_sym(reader, &member, SYM_KIND_INT, &out->offset));
        if (!out->offset.expression && out->offset.value.i < 0)
            return json_fail(&member, INSITU_FORMAT, "the number %lld is negative", (long long)out->offset.value.i);
    }
    TRY(json_member(at, "device", &member));
    TRY(read_device(reader, &member, &out->device));
    if (json_optional(at, "requires_grad", &member)) TRY(json_bool(&member, &out->requires_grad));
    return INSITU_OK;
}

/* ---- tables ---- */

typedef struct value_table {
    const char *key;
    archive_value_kind_t value_kind;
    sym_kind_t sym_kind;
} value_table_t;
static const value_table_t tables[] = {
    {"tensor_values", ARCHIVE_TENSOR, SYM_KIND_INT},     {"sym_int_values", ARCHIVE_SYM, SYM_KIND_INT},
    {"sym_float_values", ARCHIVE_SYM, SYM_KIND_FLOAT},   {"sym_bool_values", ARCHIVE_SYM, SYM_KIND_BOOL},
    {"custom_obj_values", ARCHIVE_OBJECT, SYM_KIND_INT},
};

static insitu_status read_value(reader_t *reader, const value_table_t *table, const json_cursor_t *at,
                                archive_value_t *out) {
    json_cursor_t member;
    out->kind = table->value_kind;
    switch (table->value_kind) {
    case ARCHIVE_TENSOR: return read_tensor_meta(reader, at, &out->tensor);
    case ARCHIVE_SYM: return read_sym(reader, at, table->sym_kind, &out->sym);
    case ARCHIVE_OBJECT:
        TRY(json_member(at, "class_fqn", &member));
        return reader_text(reader, &member, &out->class_fqn);
    }
    return INSITU_INTERNAL;
}

static insitu_status read_table(reader_t *reader, const value_table_t *table, const json_cursor_t *at,
                                archive_value_t *values, archive_graph_t *graph) {
    void *iterator = NULL;
    for (json_cursor_t row; json_next(at, &iterator, &row);) {
        archive_value_t *value = &values[graph->value_count];
        TRY(reader_intern(reader, row.key, &value->name));
        if (map_find(&graph->value_ids, value->name) != NONE)
            return json_fail(&row, INSITU_FORMAT, "the value '%s' is in two tables", value->name);
        TRY(read_value(reader, table, &row, value));
        TRY(map_set(&graph->value_ids, reader->arena, value->name, graph->value_count));
        graph->value_count++;
    }
    return INSITU_OK;
}

insitu_status read_value_tables(reader_t *reader, const json_cursor_t *at, archive_graph_t *graph) {
    json_cursor_t members[COUNT_OF(tables)];
    bool present[COUNT_OF(tables)];
    size_t total = 0;
    TRY(json_member(at, tables[0].key, &members[0])); /* the others are absent from old files */
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        uint32_t count = 0;
        present[i] = json_optional(at, tables[i].key, &members[i]);
        if (present[i]) TRY(json_members(&members[i], &count));
        total += count;
    }
    if (total > MAX_VALUES) return json_fail(at, INSITU_FORMAT, "%zu values, more than %d", total, MAX_VALUES);
    archive_value_t *values;
    TRY(arena_array(reader->arena, total, sizeof(*values), &values));
    graph->values = values;
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (present[i]) TRY(read_table(reader, &tables[i], &members[i], values, graph));
    return INSITU_OK;
}
