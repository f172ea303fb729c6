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
} zip_entry;
typedef struct zip_index {
    const zip_entry *entries; /* in the directory's order */
    uint32_t count;
    map names;      /* -> index in entries */
    bool has_zip64; /* the directory has a zip64 end record */
} zip_index;
/* record: the name of the record that the zip file is, NULL for the .pt2 file itself. The entries don't point to map.
 * Errors: FORMAT (not a zip file, broken, a name twice), UNSUPPORTED (compressed or encrypted records), NOMEM. */
MUST_CHECK insitu_status zip_read(arena *arena, const file_map *map, const char *record, zip_index *out_index,
                                  insitu_diag *diag);
const zip_entry *zip_find(const zip_index *index, const char *name); /* NULL if absent */
/* Compares the record's bytes with its checksum. Errors: FORMAT. */
MUST_CHECK insitu_status zip_verify(const zip_entry *entry, insitu_diag *diag);

/* ---- json_cursor.c: places in a JSON document that know their path, for errors that name it ----
 * A cursor points at its parent, which must outlive it. Every reader fails with FORMAT and the path. */
typedef struct json_cursor {
    const struct json_cursor *parent;
    const char *key; /* of a member of an object; NULL: item index of an array, or the root */
    size_t index;
    json_t *value;
    const char *document; /* what errors call the document */
    insitu_diag *diag;
} json_cursor;
/* Parses text; the root's value is freed by json_decref. Bare NaN and Infinity tokens are read as strings. */
MUST_CHECK insitu_status json_read(const char *document, const void *text, size_t size, json_cursor *out_root,
                                   insitu_diag *diag);
/* Fails with code and a sentence that begins with the place. */
insitu_status json_fail(const json_cursor *at, insitu_status code, const char *format, ...) PRINTF_LIKE(3, 4);
/* A member of an object; json_optional is false if it is absent or null (or if object is not an object). */
bool json_optional(const json_cursor *object, const char *key, json_cursor *out_member);
MUST_CHECK insitu_status json_member(const json_cursor *object, const char *key, json_cursor *out_member);
MUST_CHECK insitu_status json_count(const json_cursor *array, uint32_t *out_count);
void json_item(const json_cursor *array, uint32_t index, json_cursor *out_item); /* index < count */
/* Members in the order of the document: starts with *iterator NULL, false at the end. */
MUST_CHECK insitu_status json_members(const json_cursor *object, uint32_t *out_count);
bool json_next(const json_cursor *object, void **iterator, json_cursor *out_member);
/* An object with exactly one member: its key and its value. */
MUST_CHECK insitu_status json_union(const json_cursor *object, json_cursor *out_member);
MUST_CHECK insitu_status json_int(const json_cursor *at, int64_t *out);
MUST_CHECK insitu_status json_bool(const json_cursor *at, bool *out);
MUST_CHECK insitu_status json_float(const json_cursor *at, double *out);     /* integers and "Infinity", "NaN" too */
MUST_CHECK insitu_status json_text(const json_cursor *at, const char **out); /* owned by the document */

/* ---- the reader ---- */
typedef struct reader {
    archive_program *program;
    arena *arena; /* the program's */
    arena scratch;
    map interned; /* text -> index in texts */
    const char **texts;
    uint32_t text_count, text_capacity;
    zip_index zip;
    const char *root; /* the archive's root folder with a slash; "" for none */
    json_cursor document;
    uint32_t depth; /* of subgraphs and other nesting */
    insitu_diag *diag;
} reader;
/* The text in the program's arena, one copy of equal texts. */
MUST_CHECK insitu_status reader_intern(reader *reader, const char *text, const char **out);
MUST_CHECK insitu_status reader_text(reader *reader, const json_cursor *at, const char **out); /* json_text, interned */
MUST_CHECK insitu_status reader_texts(reader *reader, const json_cursor *at, const char *const **out,
                                      uint32_t *out_count);
MUST_CHECK insitu_status reader_enter(reader *reader, const json_cursor *at); /* fails beyond MAX_NESTING */
static inline void reader_leave(reader *reader) { reader->depth--; }

/* saved_values.c */
const char *literal_key(sym_kind kind); /* "as_int" */
MUST_CHECK insitu_status read_literal(const json_cursor *at, sym_kind kind, sym_value *out);
MUST_CHECK insitu_status read_sym(reader *reader, const json_cursor *at, sym_kind kind, archive_sym *out);
MUST_CHECK insitu_status read_dtype(const json_cursor *at, dtype *out);
MUST_CHECK insitu_status read_device(reader *reader, const json_cursor *at, archive_device *out);
MUST_CHECK insitu_status read_tensor_meta(reader *reader, const json_cursor *at, archive_tensor_meta *out);
MUST_CHECK insitu_status read_value_tables(reader *reader, const json_cursor *at, archive_graph *graph);

/* saved_arguments.c: graph resolves names; defined: ids that may be used, NULL: any */
MUST_CHECK insitu_status read_argument(reader *reader, const archive_graph *graph, const bitset *defined,
                                       const json_cursor *at, archive_argument *out);
/* {"name": NAME} of a value of the graph. */
MUST_CHECK insitu_status read_reference(const archive_graph *graph, const bitset *defined, const json_cursor *at,
                                        uint32_t *out_value);

/* saved_graph.c */
MUST_CHECK insitu_status read_graph(reader *reader, const json_cursor *at, const archive_graph **out);
/* node_source.c: from a node's metadata */
MUST_CHECK insitu_status read_node_source(reader *reader, const json_cursor *metadata, archive_node *node);
/* saved_signature.c: inputs and outputs; needs program->graph */
MUST_CHECK insitu_status read_signature(reader *reader, const json_cursor *at);
/* pytree_spec.c: in_spec, out_spec, forward_arg_names; needs the signature */
MUST_CHECK insitu_status read_call_specs(reader *reader, const json_cursor *graph_module);

/* ---- what only archive_print tells (file_info.c) ---- */

typedef struct archive_record { /* of the zip file, in the directory's order */
    const char *name;
    size_t position, size;
    uint32_t crc;
} archive_record;
typedef struct archive_fact { /* a name and what the file says of it */
    const char *name, *text;
} archive_fact;
typedef struct archive_unused { /* a stored tensor that no input names */
    archive_payload payload;    /* its storage is NONE: the record is below */
    archive_storage storage;
    const char *problem; /* why it can't be read: then only the payload's name and table hold; else NULL */
} archive_unused;
typedef struct archive_about {
    const char *container; /* "raw", "pickled", "flat" */
    const char *root;      /* with a slash; "" for none */
    bool has_zip64;
    const archive_record *records;
    uint32_t record_count;
    const archive_fact *versions; /* small records: archive_version, byteorder, ... */
    uint32_t version_count;
    const archive_fact *opsets; /* "aten": "10" */
    uint32_t opset_count;
    const char *const *verifiers;
    uint32_t verifier_count;
    const char *const *modules;    /* FQNs of the modules called, the whole model left out */
    const bool *module_signatures; /* whether their signatures are kept */
    uint32_t module_count;
    const char *const *metadata; /* keys of the graph module's metadata */
    uint32_t metadata_count;
    uint32_t example_inputs; /* index in records; NONE */
    const archive_unused *unused;
    uint32_t unused_count;
} archive_about;
/* model: NULL for a flat file. Needs the document. */
MUST_CHECK insitu_status read_about(reader *reader, const char *model, archive_about *about);

/* ---- stored tensors ---- */

typedef struct torch_save { /* a record that torch.save wrote */
    const char *name;
    const char *root; /* with a slash */
    zip_index zip;
    const pickled *value; /* NULL: the record is empty */
    map names;            /* of a dict: key -> index of its value in value->items */
} torch_save;
typedef enum folder_kind { FOLDER_ABSENT, FOLDER_RAW, FOLDER_PICKLED } folder_kind;
typedef struct stored_folder {
    const char *name; /* "weights" or "constants" */
    const char *pickle_path;
    const char *config_path; /* NULL in a flat file */
    folder_kind kind;
    json_cursor document, config; /* RAW */
    torch_save save;              /* PICKLED */
    map payloads;                 /* FQN -> index in the program's payloads */
} stored_folder;
typedef struct stored_bytes { /* the storage of a payload */
    const char *record;       /* "weights/weight_0", "data/weights/model.pt/data/0" */
    const zip_entry *entry;
    bool keeps_aliases; /* whatever shares memory is a view of this record */
} stored_bytes;

/* stored_weights.c: the payloads and storages of the inputs, and what else is stored. model: NULL for a flat file */
MUST_CHECK insitu_status read_stored_weights(reader *reader, const char *model, archive_about *about);
/* What the folder stores under the payload's name; *out_found is false if nothing. */
MUST_CHECK insitu_status folder_find(reader *reader, const stored_folder *folder, archive_payload *payload,
                                     stored_bytes *out, bool *out_found);
/* That the view lies in its record; *out_extent is 0 for a view of no elements. */
MUST_CHECK insitu_status check_view(const reader *reader, const stored_bytes *bytes, const archive_payload *payload,
                                    int64_t *out_extent);
/* unused_weights.c: the stored tensors whose names are not in folder->payloads */
MUST_CHECK insitu_status read_unused_weights(reader *reader, const stored_folder *folders, uint32_t count,
                                             archive_about *about);
/* A record by its name inside the root folder; NULL if absent. */
MUST_CHECK insitu_status reader_find(reader *reader, const char *name, const zip_entry **out);

/* raw_weights.c: fill in all of the payload but its storage, which *out tells */
MUST_CHECK insitu_status raw_folder_open(reader *reader, stored_folder *folder);
MUST_CHECK insitu_status raw_payload(reader *reader, const stored_folder *folder, archive_payload *payload,
                                     stored_bytes *out, bool *out_found);

/* torch_save.c: the same of a torch.save file */
MUST_CHECK insitu_status torch_save_read(reader *reader, const char *path, const zip_entry *record, torch_save *out);
MUST_CHECK insitu_status torch_save_check_dict(const reader *reader, const torch_save *save);
const pickled *torch_save_find(const torch_save *save, const char *name); /* of a dict; NULL if absent */
MUST_CHECK insitu_status torch_save_payload(reader *reader, const torch_save *save, const pickled *value,
                                            archive_payload *payload, stored_bytes *out);

/* ---- printing ---- */

/* A stored tensor as both forms print it. */
typedef struct stored_tensor {
    const archive_payload *payload;
    const archive_storage *storage; /* NULL: no elements */
    const char *problem;            /* NULL, or why it can't be read */
} stored_tensor;
/* The i-th of all stored tensors, those that no input names last. */
uint32_t stored_tensor_count(const archive_program *program);
stored_tensor stored_tensor_of(const archive_program *program, uint32_t index);
/* xxh64 of the elements, row-major and dense (elements.c). */
MUST_CHECK insitu_status stored_tensor_hash(const stored_tensor *tensor, uint64_t *out_hash);
/* The elements in row-major order as a flat JSON list; a complex one is a pair. */
void stored_tensor_print(const stored_tensor *tensor, text *out);
/* Words of the file's enums (archive_print.c). */
const char *archive_input_kind_name(archive_input_kind kind);
const char *archive_output_kind_name(archive_output_kind kind);
const char *archive_memory_format_name(archive_memory_format format);
const char *archive_layout_name(archive_layout layout);
/* Parts of the text for people (value_text.c). */
MUST_CHECK insitu_status program_pool_init(sym_pool *pool, const archive_program *program); /* its symbols' ranges */
void print_plain(text *out, const char *name); /* what a terminal would take for a command is escaped */
void print_number_text(const sym_value *value, text *out);
void print_sym_text(sym_pool *pool, const archive_sym *sym, text *out);
void print_tensor_text(sym_pool *pool, const archive_tensor_meta *meta, text *out); /* "f32[2,s77]" */
void print_payload_text(sym_pool *pool, const archive_payload *payload, text *out);
/* A pytree on one line (spec_text.c). */
void print_spec_text(const char *spec, text *out);
/* program_json.c, program_text.c */
MUST_CHECK insitu_status print_program_json(const archive_program *program, const archive_print_options *options,
                                            text *out);
MUST_CHECK insitu_status print_program_text(const archive_program *program, const archive_print_options *options,
                                            text *out);

#endif
