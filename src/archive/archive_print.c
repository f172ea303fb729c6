/* A program as text: what both forms share. */
#include "archive/archive_int.h"

enum { EXPANDED_FILES = 4, EXPANDED_BYTES = 4 << 20 }; /* of elements: a multiple of the file's bytes, and some more */

const char *archive_input_kind_name(archive_input_kind_t kind) {
    switch (kind) {
    case ARCHIVE_INPUT_USER: return "user";
    case ARCHIVE_INPUT_CONSTANT: return "constant";
    case ARCHIVE_INPUT_PARAMETER: return "parameter";
    case ARCHIVE_INPUT_BUFFER: return "buffer";
    case ARCHIVE_INPUT_TENSOR_CONSTANT: return "tensor_constant";
    }
    return "unknown";
}

const char *archive_output_kind_name(archive_output_kind_t kind) {
    switch (kind) {
    case OUTPUT_USER: return "user";
    case OUTPUT_BUFFER_MUTATION: return "buffer_mutation";
    case OUTPUT_PARAMETER_MUTATION: return "parameter_mutation";
    case OUTPUT_INPUT_MUTATION: return "input_mutation";
    }
    return "unknown";
}

const char *archive_memory_format_name(archive_memory_format_t format) {
    static const char *const names[] = {"unknown", "contiguous", "channels_last", "channels_last_3d", "preserve"};
    return names[format];
}

const char *archive_layout_name(archive_layout_t layout) {
    static const char *const names[] = {"unknown",    "sparse_coo", "sparse_csr", "sparse_csc",
                                        "sparse_bsr", "sparse_bsc", "mkldnn",     "strided"};
    return names[layout];
}

/* Expanded tensors have more elements than their storages: beyond what a program saves, a file is not believed. */
static insitu_status check_element_bytes(const archive_program_t *program, insitu_diag *diag) {
    const size_t limit = program->map->size * EXPANDED_FILES + EXPANDED_BYTES;
    size_t total = 0;
    for (uint32_t i = 0; i < stored_tensor_count(program); i++) {
        const archive_payload_t *payload = stored_tensor_of(program, i).payload;
        size_t bytes = dtype_size(payload->dtype);
        bool fits = true;
        for (uint32_t dim = 0; dim < payload->rank; dim++)
            fits = fits && checked_size_mul(bytes, (size_t)payload->sizes[dim], &bytes);
        if (!fits || !checked_size_add(total, bytes, &total) || total > limit)
            FAIL(diag, INSITU_UNSUPPORTED,
                 "the elements of the stored tensors, '%s' among them, are too many for a file of %zu bytes",
                 payload->fqn, program->map->size);
    }
    return INSITU_OK;
}

insitu_status archive_print(const archive_program_t *program, const archive_print_options_t *options, text_t *out,
                            insitu_diag *diag) {
    if (options->hashes || options->values) TRY(check_element_bytes(program, diag));
    insitu_status status =
        options->json ? print_program_json(program, options, out) : print_program_text(program, options, out);
    if (status == INSITU_OK) return text_status(out, diag);
    return diag_complete(diag, status);
}
