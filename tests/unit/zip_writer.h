/* Writes stored zip files in memory, for tests of the reader: right ones, and ones that are wrong on purpose. */
#ifndef ZIP_WRITER_H
#define ZIP_WRITER_H

#include "base/base.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ZIP_MAX_RECORDS = 32, ZIP_MAX_SIZE = 1 << 20 };

typedef struct zip_record {
    const char *name;
    const void *data;
    size_t size;
    uint16_t flags, method;
    uint32_t extra_size; /* what the directory claims beyond the true size */
    bool wrong_checksum;
    bool over_previous; /* the directory says that it lies where the record before it does */
} zip_record_t;

typedef struct zip_writer {
    zip_record_t records[ZIP_MAX_RECORDS];
    size_t count;
    bool packed;    /* one record right after the other, as Python's zip library writes them */
    uint8_t *bytes; /* of zip_finish; freed by zip_release */
    size_t size;
} zip_writer_t;

static inline zip_record_t *zip_add(zip_writer_t *zip, const char *name, const void *data, size_t size) {
    zip_record_t *record = &zip->records[zip->count++];
    *record = (zip_record_t){.name = name, .data = data, .size = size};
    return record;
}

static inline zip_record_t *zip_add_text(zip_writer_t *zip, const char *name, const char *content) {
    return zip_add(zip, name, content, strlen(content));
}

static inline zip_record_t *zip_record_of(zip_writer_t *zip, const char *name) {
    for (size_t i = 0; i < zip->count; i++)
        if (strcmp(zip->records[i].name, name) == 0) return &zip->records[i];
    return NULL;
}

static inline void zip_put(zip_writer_t *zip, uint32_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) zip->bytes[zip->size++] = (uint8_t)(value >> (8 * i));
}

static inline void zip_put_bytes(zip_writer_t *zip, const void *data, size_t size) {
    if (size) memcpy(zip->bytes + zip->size, data, size);
    zip->size += size;
}

/* The fields that the local header and the directory have in common, from "version needed" to the name's length. */
static inline void zip_put_common(zip_writer_t *zip, const zip_record_t *record, uint32_t checksum) {
    zip_put(zip, 0, 2);
    zip_put(zip, record->flags, 2);
    zip_put(zip, record->method, 2);
    zip_put(zip, 0, 4);
    zip_put(zip, checksum, 4);
    zip_put(zip, (uint32_t)record->size + record->extra_size, 4);
    zip_put(zip, (uint32_t)record->size + record->extra_size, 4);
    zip_put(zip, (uint32_t)strlen(record->name), 2);
}

/* Makes the file: data at multiples of 64, as PyTorch writes it, unless it is packed. */
static inline void zip_finish(zip_writer_t *zip) {
    uint32_t headers[ZIP_MAX_RECORDS], checksums[ZIP_MAX_RECORDS];
    zip->bytes = malloc(ZIP_MAX_SIZE);
    zip->size = 0;
    for (size_t i = 0; i < zip->count; i++) {
        const zip_record_t *record = &zip->records[i];
        headers[i] = (uint32_t)zip->size;
        checksums[i] = (uint32_t)crc32(0, record->data, (uInt)record->size) ^ (record->wrong_checksum ? 1 : 0);
        if (record->over_previous) {
            headers[i] = headers[i - 1];
            continue;
        }
        zip_put(zip, 0x04034b50, 4);
        zip_put_common(zip, record, checksums[i]);
        size_t padding = (64 - (zip->size + 2 + strlen(record->name) + 4) % 64) % 64;
        zip_put(zip, zip->packed ? 0 : (uint32_t)padding + 4, 2);
        zip_put_bytes(zip, record->name, strlen(record->name));
        if (!zip->packed) {
            zip_put(zip, 0x4246, 2);
            zip_put(zip, (uint32_t)padding, 2);
            memset(zip->bytes + zip->size, 'Z', padding);
            zip->size += padding;
        }
        zip_put_bytes(zip, record->data, record->size);
    }
    uint32_t directory = (uint32_t)zip->size;
    for (size_t i = 0; i < zip->count; i++) {
        const zip_record_t *record = &zip->records[i];
        zip_put(zip, 0x02014b50, 4);
        zip_put(zip, 0, 2);
        zip_put_common(zip, record, checksums[i]);
        zip_put(zip, 0, 4); /* extra, comment */
        zip_put(zip, 0, 4); /* disk, attributes */
        zip_put(zip, 0, 4);
        zip_put(zip, headers[i], 4);
        zip_put_bytes(zip, record->name, strlen(record->name));
    }
    uint32_t directory_size = (uint32_t)zip->size - directory;
    zip_put(zip, 0x06054b50, 4);
    zip_put(zip, 0, 4);
    zip_put(zip, (uint32_t)zip->count, 2);
    zip_put(zip, (uint32_t)zip->count, 2);
    zip_put(zip, directory_size, 4);
    zip_put(zip, directory, 4);
    zip_put(zip, 0, 2);
}

static inline void zip_release(zip_writer_t *zip) {
    free(zip->bytes);
    zip->bytes = NULL;
}

#endif
