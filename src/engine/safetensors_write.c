/* safetensors files: the header of a list of tensors, and the list of the file's parts. */
#include "engine/engine.h"

#include <inttypes.h>

#define METADATA "__metadata__"
enum { LENGTH_SIZE = 8, HEADER_ALIGNMENT = 64 };

static const uint8_t zeros[4096];

typedef struct layout_writer {
    text_t *header;
    file_part_t *parts;
    size_t part_count, offset;
    uint32_t pad_count;
    const char *before; /* the next entry: "" or a comma */
} layout_writer_t;

static void add_tensor(layout_writer_t *writer, const safetensor_source_t *tensor) {
    text_t *header = writer->header;
    text_printf(header, "%s", writer->before);
    json_print_string(header, tensor->name);
    text_printf(header, ":{\"dtype\":\"%s\",\"shape\":[", tensor->dtype);
    for (uint32_t i = 0; i < tensor->rank; i++) text_printf(header, "%s%" PRId64, i ? "," : "", tensor->sizes[i]);
    text_printf(header, "],\"data_offsets\":[%zu,%zu]}", writer->offset, writer->offset + tensor->size);
    writer->offset += tensor->size;
    writer->before = ",";
    if (tensor->size) writer->parts[writer->part_count++] = (file_part_t){tensor->data, tensor->size};
}

static insitu_status add_pad(layout_writer_t *writer, size_t alignment, arena_t *arena) {
    size_t missing = (alignment - writer->offset % alignment) % alignment;
    if (missing == 0) return INSITU_OK;
    safetensor_source_t pad = {.dtype = "U8", .rank = 1, .sizes = {(int64_t)missing}, .data = zeros, .size = missing};
    TRY(arena_printf(arena, &pad.name, PAD_PREFIX "%u", writer->pad_count++));
    add_tensor(writer, &pad);
    return INSITU_OK;
}

static void add_metadata(layout_writer_t *writer, const char *const (*metadata)[2], uint32_t count) {
    if (count == 0) return;
    text_printf(writer->header, "\"" METADATA "\":{");
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_printf(writer->header, ",");
        json_print_string(writer->header, metadata[i][0]);
        text_printf(writer->header, ":");
        json_print_string(writer->header, metadata[i][1]);
    }
    text_printf(writer->header, "}");
    writer->before = ",";
}

/* Spaces to the next multiple of 64, then the length in front. */
static void finish_header(text_t *header) {
    while (!header->failed && header->size % HEADER_ALIGNMENT) text_add(header, " ", 1);
    if (header->failed) return;
    uint64_t length = header->size - LENGTH_SIZE;
    for (uint32_t i = 0; i < LENGTH_SIZE; i++) header->data[i] = (char)(length >> (8 * i) & 0xFF);
}

insitu_status safetensors_layout(const safetensor_source_t *tensors, uint32_t count, const char *const (*metadata)[2],
                                 uint32_t metadata_count, size_t alignment, arena_t *arena, text_t *out_header,
                                 file_part_t **out_parts, size_t *out_part_count, insitu_diag *diag) {
    layout_writer_t writer = {.header = out_header, .part_count = 1, .before = ""};
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!checked_size_add(total, tensors[i].size, &total) || !checked_size_add(total, alignment, &total))
            FAIL(diag, INSITU_NOMEM, "the file would be too large");
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(tensors[i].name, METADATA) == 0)
            FAIL(diag, INSITU_UNSUPPORTED, "a safetensors file can't hold a tensor called '%s'", METADATA);
    if (alignment > sizeof(zeros)) FAIL(diag, INSITU_INTERNAL, "tensors can't be aligned to %zu bytes", alignment);
    TRY(arena_array(arena, (size_t)count * 2 + 1, sizeof(file_part_t), &writer.parts));
    text_add(out_header, "\0\0\0\0\0\0\0\0", LENGTH_SIZE);
    text_printf(out_header, "{");
    add_metadata(&writer, metadata, metadata_count);
    for (uint32_t i = 0; i < count; i++) {
        TRY(add_pad(&writer, alignment, arena));
        add_tensor(&writer, &tensors[i]);
    }
    text_printf(out_header, "}");
    finish_header(out_header);
    TRY(text_status(out_header, diag));
    writer.parts[0] = (file_part_t){out_header->data, out_header->size};
    *out_parts = writer.parts;
    *out_part_count = writer.part_count;
    return INSITU_OK;
}
