/* What the files of archive/ share: the zip index, cursors over JSON, and the reader that makes records of them. */
#ifndef ARCHIVE_INT_H
#define ARCHIVE_INT_H

#include "archive/archive.h"
#include "archive/unpickle.h"
#include <jansson.h>

/* ---- zip_index.c: where each record of a zip file lies ---- */
typedef struct zip_entry {
    const char *name;
    const char *file;    /* what errors call the zip file */
    const uint8_t *data; /* in the mapped file */
    size_t size;
    uint32_t crc;
} zip_entry_t;
typedef struct zip_index {
    const zip_entry_t *entries; /* in the directory's order */
    uint32_t count;
    map_t names;    /* -> index in entries */
    bool has_zip64; /* the directory has a zip64 end record */
} zip_index_t;
/* record: the name of the record that the zip file is, NULL for the .pt2 file itself. The entries don't point to map.
 * Errors: FORMAT (not a zip file, broken, a name twice), UNSUPPORTED (compressed or encrypted records), NOMEM. */
MUST_CHECK insitu_status zip_read(arena_t *arena, const file_map_t *map, const char *record, zip_index_t *out_index,
                                  insitu_diag *diag);
const zip_entry_t *zip_find(const zip_index_t *index, const char *name); /* NULL if absent */
/* Compares the record's bytes with its checksum. Errors: FORMAT. */
MUST_CHECK insitu_status zip_verify(const zip_entry_t *entry, insitu_diag *diag);

/* ---- json_cursor.c: places in a JSON document that know their path, for errors that name it ----
 * A cursor points at its parent, which must outlive it. Every reader fails with FORMAT and the path. */
typedef struct json_cursor {
    const struct json_cursor *parent;
    const char *key; /* of a member of an object; NULL: item index of an array, or the root */
    size_t index;
    json_t *value;
    const char *document; /* what errors call the document */
    insitu_diag *diag;
} json_cursor_t;
/* Parses text; the root's value is freed by json_decref. Bare NaN and Infinity tokens are read as strings. */
MUST_CHECK insitu_status json_read(const char *document, const void *text, size_t size, json_cursor_t *out_root,
                                   insitu_diag *diag);
/* Fails with code and a sentence that begins with the place. */
insitu_status json_fail(const json_cursor_t *at, insitu_status code, const char *format, ...) PRINTF_LIKE(3, 4);
/* A member of an object; json_optional is false if it is absent or null (or if object is not an object). */
bool json_optional(const json_cursor_t *object, const char *key, json_cursor_t *out_member);
MUST_CHECK insitu_status json_member(const json_cursor_t *object, const char *key, json_cursor_t *out_member);
MUST_CHECK insitu_status json_count(const json_cursor_t *array, uint32_t *out_count);
void json_item(const json_cursor_t *array, uint32_t index, json_cursor_t *out_item); /* index < count */
/* Members in the order of the document: starts with *iterator NULL, false at the end. */
MUST_CHECK insitu_status json_members(const json_cursor_t *object, uint32_t *out_count);
bool json_next(const json_cursor_t *object, void **iterator, json_cursor_t *out_member);
/* An object with exactly one member: its key and its value. */
MUST_CHECK insitu_status json_union(const json_cursor_t *object, json_cursor_t *out_member);
MUST_CHECK insitu_status json_int(const json_cursor_t *at, int64_t *out);
MUST_CHECK insitu_status json_bool(const json_cursor_t *at, bool *out);
MUST_CHECK insitu_status json_float(const json_cursor_t *at, double *out);     /* integers and "Infinity", "NaN" too */
MUST_CHECK insitu_status json_text(const json_cursor_t *at, const char **out); /* owned by the document */

/* ---- the reader ---- */
typedef struct reader {
    archive_program_t *program;
    arena_t *arena; /* the program's */
    arena_t scratch;
    map_t interned; /* text -> index in texts */
    const char **texts;
    uint32_t text_count, text_capacity;
    zip_index_t zip;
    const char *root; /* the archive's root folder with a slash; "" for none */
    json_cursor_t document;
    uint32_t depth; /* of subgraphs and other nesting */
    insitu_diag *diag;
} reader_t;
/* The text in the program's arena, one copy of equal texts. */
MUST_CHECK insitu_status reader_intern(reader_t *reader, const char *text, const char **out);
MUST_CHECK insitu_status reader_text(reader_t *reader, const json_cursor_t *at,
                                     const char **out); /* json_text, interned */
MUST_CHECK insitu_status reader_texts(reader_t *reader, const json_cursor_t *at, const char *const **out,
                                      uint32_t *out_count);
MUST_CHECK insitu_status reader_enter(reader_t *reader, const json_cursor_t *at); /* fails beyond MAX_NESTING */
static inline void reader_leave(reader_t *reader) { reader->depth--; }

/* saved_values.c */
const char *literal_key(sym_kind_t kind); /* "as_int" */
MUST_CHECK insitu_status read_literal(const json_cursor_t *at, sym_kind_t kind, sym_value_t *out);
MUST_CHECK insitu_status read_sym(reader_t *reader, const json_cursor_t *at, sym_kind_t kind, archive_sym_t *out);
MUST_CHECK insitu_status read_dtype(const json_cursor_t *at, dtype_t *out);
MUST_CHECK insitu_status read_device(reader_t *reader, const json_cursor_t *at, archive_device_t *out);
MUST_CHECK insitu_status read_tensor_meta(reader_t *reader, const json_cursor_t *at, archive_tensor_meta_t *out);
MUST_CHECK insitu_status read_value_tables(reader_t *reader, const json_cursor_t *at, archive_graph_t *graph);

/* saved_arguments.c: graph resolves names; defined: ids that may be used, NULL: any */
MUST_CHECK insitu_status read_argument(reader_t *reader, const archive_graph_t *graph, const bitset_t *defined,
                                       const json_cursor_t *at, archive_argument_t *out);
/* {"name": NAME} of a value of the graph. */
MUST_CHECK insitu_status read_reference(const archive_graph_t *graph, const bitset_t *defined, const json_cursor_t *at,
                                        uint32_t *out_value);

/* saved_graph.c */
MUST_CHECK insitu_status read_graph(reader_t *reader, const json_cursor_t *at, const archive_graph_t **out);
/* node_source.c: from a node's metadata */
MUST_CHECK insitu_status read_node_source(reader_t *reader, const json_cursor_t *metadata, archive_node_t *node);
/* saved_signature.c: inputs and outputs; needs program->graph */
MUST_CHECK insitu_status read_signature(reader_t *reader, const json_cursor_t *at);
/* pytree_spec.c: in_spec, out_spec, forward_arg_names; needs the signature */
MUST_CHECK insitu_status read_call_specs(reader_t *reader, const json_cursor_t *graph_module);

/* ---- what only archive_print tells (file_info.c) ---- */

typedef struct archive_record { /* of the zip file, in the directory's order */
    const char *name;
    size_t position, size;
    uint32_t crc;
} archive_record_t;
typedef struct archive_fact { /* a name and what the file says of it */
    const char *name, *text;
} archive_fact_t;
typedef struct archive_unused { /* a stored tensor that no input names */
    archive_payload_t payload;  /* its storage is NONE: the record is below */
    archive_storage_t storage;
    const char *problem; /* why it can't be read: then only the payload's name and table hold; else NULL */
} archive_unused_t;
typedef struct archive_about {
    const char *container; /* "raw", "pickled", "flat" */
    const char *root;      /* with a slash; "" for none */
    bool has_zip64;
    const archive_record_t *records;
    uint32_t record_count;
    const archive_fact_t *versions; /* small records: archive_version, byteorder, ... */
    uint32_t version_count;
    const archive_fact_t *opsets; /* "aten": "10" */
    uint32_t opset_count;
    const char *const *verifiers;
    uint32_t verifier_count;
    const char *const *modules;    /* FQNs of the modules called, the whole model left out */
    const bool *module_signatures; /* whether their signatures are kept */
    uint32_t module_count;
    const char *const *metadata; /* keys of the graph module's metadata */
    uint32_t metadata_count;
    uint32_t example_inputs; /* index in records; NONE */
    const archive_unused_t *unused;
    uint32_t unused_count;
} archive_about_t;
/* model: NULL for a flat file. Needs the document. */
MUST_CHECK insitu_status read_about(reader_t *reader, const char *model, archive_about_t *about);

/* ---- stored tensors ---- */

typedef struct torch_save { /* a record that torch.save wrote */
    const char *name;
    const char *root; /* with a slash */
    zip_index_t zip;
    const pickled_t *value; /* NULL: the record is empty */
    map_t names;            /* of a dict: key -> index of its value in value->items */
} torch_save_t;
typedef enum folder_kind { FOLDER_ABSENT, FOLDER_RAW, FOLDER_PICKLED } folder_kind_t;
typedef struct stored_folder {
    const char *name; /* "weights" or "constants" */
    const char *pickle_path;
    const char *config_path; /* NULL in a flat file */
    folder_kind_t kind;
    json_cursor_t document, config; /* RAW */
    torch_save_t save;              /* PICKLED */
    map_t payloads;                 /* FQN -> index in the program's payloads */
} stored_folder_t;
typedef struct stored_bytes { /* the storage of a payload */
    const char *record;       /* "weights/weight_0", "data/weights/model.pt/data/0" */
    const zip_entry_t *entry;
    bool keeps_aliases; /* whatever shares memory is a view of this record */
} stored_bytes_t;

/* stored_weights.c: the payloads and storages of the inputs, and what else is stored. model: NULL for a flat file */
MUST_CHECK insitu_status read_stored_weights(reader_t *reader, const char *model, archive_about_t *about);
/* What the folder stores under the payload's name; *out_found is false if nothing. */
MUST_CHECK insitu_status folder_find(reader_t *reader, const stored_folder_t *folder, archive_payload_t *payload,
                                     stored_bytes_t *out, bool *out_found);
/* That the view lies in its record; *out_extent is 0 for a view of no elements. */
MUST_CHECK insitu_status check_view(const reader_t *reader, const stored_bytes_t *bytes,
                                    const archive_payload_t *payload, int64_t *out_extent);
/* unused_weights.c: the stored tensors whose names are not in folder->payloads */
MUST_CHECK insitu_status read_unused_weights(reader_t *reader, const stored_folder_t *folders, uint32_t count,
                                             archive_about_t *about);
/* A record by its name inside the root folder; NULL if absent. */
MUST_CHECK insitu_status reader_find(reader_t *reader, const char *name, const zip_entry_t **out);

/* raw_weights.c: fill in all of the payload but its storage, which *out tells */
MUST_CHECK insitu_status raw_folder_open(reader_t *reader, stored_folder_t *folder);
MUST_CHECK insitu_status raw_payload(reader_t *reader, const stored_folder_t *folder, archive_payload_t *payload,
                                     stored_bytes_t *out, bool *out_found);

/* torch_save.c: the same of a torch.save file */
MUST_CHECK insitu_status torch_save_read(reader_t *reader, const char *path, const zip_entry_t *record,
                                         torch_save_t *out);
MUST_CHECK insitu_status torch_save_check_dict(const reader_t *reader, const torch_save_t *save);
const pickled_t *torch_save_find(const torch_save_t *save, const char *name); /* of a dict; NULL if absent */
MUST_CHECK insitu_status torch_save_payload(reader_t *reader, const torch_save_t *save, const pickled_t *value,
                                            archive_payload_t *payload, stored_bytes_t *out);

/* ---- printing ---- */

/* A stored tensor as both forms print it. */
typedef struct stored_tensor {
    const archive_payload_t *payload;
    const archive_storage_t *storage; /* NULL: no elements */
    const char *problem;              /* NULL, or why it can't be read */
} stored_tensor_t;
/* The i-th of all stored tensors, those that no input names last. */
uint32_t stored_tensor_count(const archive_program_t *program);
stored_tensor_t stored_tensor_of(const archive_program_t *program, uint32_t index);
/* xxh64 of the elements, row-major and dense (elements.c). */
MUST_CHECK insitu_status stored_tensor_hash(const stored_tensor_t *tensor, uint64_t *out_hash);
/* The elements in row-major order as a flat JSON list; a complex one is a pair. */
void stored_tensor_print(const stored_tensor_t *tensor, text_t *out);
/* Words of the file's enums (archive_print.c). */
const char *archive_input_kind_name(archive_input_kind_t kind);
const char *archive_output_kind_name(archive_output_kind_t kind);
const char *archive_memory_format_name(archive_memory_format_t format);
const char *archive_layout_name(archive_layout_t layout);
/* Parts of the text for people (value_text.c). */
MUST_CHECK insitu_status program_pool_init(sym_pool_t *pool,
                                           const archive_program_t *program); /* its symbols' ranges */
void print_plain(text_t *out, const char *name); /* what a terminal would take for a command is escaped */
void print_number_text(const sym_value_t *value, text_t *out);
void print_sym_text(sym_pool_t *pool, const archive_sym_t *sym, text_t *out);
void print_tensor_text(sym_pool_t *pool, const archive_tensor_meta_t *meta, text_t *out); /* "f32[2,s77]" */
void print_payload_text(sym_pool_t *pool, const archive_payload_t *payload, text_t *out);
/* A pytree on one line (spec_text.c). */
void print_spec_text(const char *spec, text_t *out);
/* program_json.c, program_text.c */
MUST_CHECK insitu_status print_program_json(const archive_program_t *program, const archive_print_options_t *options,
                                            text_t *out);
MUST_CHECK insitu_status print_program_text(const archive_program_t *program, const archive_print_options_t *options,
                                            text_t *out);

#endif
