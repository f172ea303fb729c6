/* A program as text: what both forms share. */
#include "archive/archive_int.h"

const char *archive_input_kind_name(archive_input_kind kind) {
    switch (kind) {
    case ARCHIVE_INPUT_USER: return "user";
    case ARCHIVE_INPUT_CONSTANT: return "constant";
    case ARCHIVE_INPUT_PARAMETER: return "parameter";
    case ARCHIVE_INPUT_BUFFER: return "buffer";
    case ARCHIVE_INPUT_TENSOR_CONSTANT: return "tensor_constant";
    }
    return "unknown";
}

const char *archive_output_kind_name(archive_output_kind kind) {
    switch (kind) {
    case OUTPUT_USER: return "user";
    case OUTPUT_BUFFER_MUTATION: return "buffer_mutation";
    case OUTPUT_PARAMETER_MUTATION: return "parameter_mutation";
    case OUTPUT_INPUT_MUTATION: return "input_mutation";
    }
    return "unknown";
}

const char *archive_memory_format_name(archive_memory_format format) {
    static const char *const names[] = {"unknown", "contiguous", "channels_last", "channels_last_3d", "preserve"};
    return names[format];
}

const char *archive_layout_name(archive_layout layout) {
    static const char *const names[] = {"unknown",    "sparse_coo", "sparse_csr", "sparse_csc",
                                        "sparse_bsr", "sparse_bsc", "mkldnn",     "strided"};
    return names[layout];
}

insitu_status archive_print(const archive_program *program, const archive_print_options *options, text *out,
                            insitu_diag *diag) {
    insitu_status status =
        options->json ? print_program_json(program, options, out) : print_program_text(program, options, out);
    if (status == INSITU_OK) return text_status(out, diag);
    return diag_complete(diag, status);
}
