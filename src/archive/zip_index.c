/* Index of a zip file: minizip walks the central directory over the mapped bytes; each record's span is checked and
 * kept, so that stored records are used in place. Local headers give only the two lengths that locate the data. */
#include "archive/archive_int.h"

#include <unzip.h>

/* minizip's view of the mapped file. */
typedef struct memory_file {
    const file_map_t *map;
    uint64_t position;
    bool short_read; /* minizip takes what lies beyond the end for zeros, unless it is told of an error */
} memory_file_t;

static voidpf memory_open(voidpf opaque, const void *name, int mode) {
    (void)name, (void)mode;
    return opaque;
}

static uLong memory_read(voidpf opaque, voidpf stream, void *buffer, uLong size) {
    memory_file_t *file = stream;
    (void)opaque;
    uint64_t left = file->position < file->map->size ? file->map->size - file->position : 0;
    size_t count = size < left ? (size_t)size : (size_t)left;
    if (count) memcpy(buffer, file->map->data + file->position, count);
    file->position += count;
    file->short_read |= count < size;
    return (uLong)count;
}

static ZPOS64_T memory_tell(voidpf opaque, voidpf stream) {
    (void)opaque;
    return ((const memory_file_t *)stream)->position;
}

static long memory_seek(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin) {
    memory_file_t *file = stream;
    (void)opaque;
    uint64_t base = 0;
    if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = file->position;
    if (origin == ZLIB_FILEFUNC_SEEK_END) base = file->map->size;
    uint64_t target;
    if (__builtin_add_overflow(base, (uint64_t)offset, &target) || target > file->map->size) return -1;
    file->position = target;
    return 0;
}

static int memory_close(voidpf opaque, voidpf stream) {
    (void)opaque, (void)stream;
    return 0;
}

static int memory_error(voidpf opaque, voidpf stream) {
    (void)opaque;
    return ((const memory_file_t *)stream)->short_read;
}

/* The current entry's place in the file: its local header must lie in the file and agree with the directory. */
static insitu_status locate_data(unzFile zip, const file_map_t *map, zip_entry_t *entry, insitu_diag *diag) {
    int method, level;
    int code = unzOpenCurrentFile2(zip, &method, &level, 1);
    if (code == UNZ_INTERNALERROR) FAIL(diag, INSITU_NOMEM, "out of memory while reading the zip directory");
    if (code != UNZ_OK)
        FAIL(diag, INSITU_FORMAT, "record '%s' of %s has no local header that agrees with the directory", entry->name,
             entry->file);
    ZPOS64_T position = unzGetCurrentFileZStreamPos64(zip);
    if (unzCloseCurrentFile(zip) != UNZ_OK || position > map->size || entry->size > map->size - position)
        FAIL(diag, INSITU_FORMAT, "record '%s' of %s (%zu bytes) runs past the end of the file", entry->name,
             entry->file, entry->size);
    entry->data = map->data + position;
    return INSITU_OK;
}

static insitu_status read_entry(arena_t *arena, unzFile zip, const file_map_t *map, zip_entry_t *entry,
                                insitu_diag *diag) {
    char name[MAX_NAME + 1];
    unz_file_info64 info;
    memset(&info, 0, sizeof(info));
    if (unzGetCurrentFileInfo64(zip, &info, name, sizeof(name), NULL, 0, NULL, 0) != UNZ_OK)
        FAIL(diag, INSITU_FORMAT, "the directory of %s is damaged", entry->file);
    if (info.size_filename > MAX_NAME)
        FAIL(diag, INSITU_FORMAT, "a record's name in %s is longer than %d bytes", entry->file, MAX_NAME);
    name[info.size_filename] = 0;
    if (strlen(name) != info.size_filename)
        FAIL(diag, INSITU_FORMAT, "the name of record '%s' in %s holds a zero byte", name, entry->file);
    TRY(arena_string(arena, name, info.size_filename, &entry->name));
    if (info.flag & 1) FAIL(diag, INSITU_UNSUPPORTED, "record '%s' of %s is encrypted", name, entry->file);
    if (info.compression_method != 0)
        FAIL(diag, INSITU_UNSUPPORTED, "record '%s' of %s is compressed (method %lu); only stored records are read",
             name, entry->file, (unsigned long)info.compression_method);
    if (info.compressed_size != info.uncompressed_size || info.uncompressed_size > map->size)
        FAIL(diag, INSITU_FORMAT, "record '%s' of %s claims %llu bytes, stored as %llu, in a file of %zu", name,
             entry->file, info.uncompressed_size, info.compressed_size, map->size);
    entry->size = (size_t)info.uncompressed_size;
    entry->crc = (uint32_t)info.crc;
    return locate_data(zip, map, entry, diag);
}

static insitu_status read_entries(arena_t *arena, unzFile zip, const file_map_t *map, const char *file,
                                  zip_index_t *index, insitu_diag *diag) {
    unz_global_info64 global;
    memset(&global, 0, sizeof(global));
    if (unzGetGlobalInfo64(zip, &global) != UNZ_OK) FAIL(diag, INSITU_FORMAT, "the directory of %s is damaged", file);
    if (global.number_entry > MAX_ZIP_ENTRIES || global.number_entry > map->size / 46)
        FAIL(diag, INSITU_FORMAT, "%s claims %llu records, more than a file of %zu bytes can hold", file,
             global.number_entry, map->size);
    uint32_t count = (uint32_t)global.number_entry;
    zip_entry_t *entries;
    TRY(arena_array(arena, count, sizeof(*entries), &entries));
    for (uint32_t i = 0; i < count; i++) {
        if ((i ? unzGoToNextFile(zip) : unzGoToFirstFile(zip)) != UNZ_OK)
            FAIL(diag, INSITU_FORMAT, "the directory of %s is damaged at record %u of %u", file, i, count);
        entries[i].file = file;
        TRY(read_entry(arena, zip, map, &entries[i], diag));
        if (map_find(&index->names, entries[i].name) != NONE)
            FAIL(diag, INSITU_FORMAT, "%s has two records named '%s'", file, entries[i].name);
        TRY(map_set(&index->names, arena, entries[i].name, i));
    }
    index->entries = entries;
    index->count = count;
    return INSITU_OK;
}

/* True if the end record is there and whole. minizip also does with the zip64 record before it, and so would take a file
 * that lost its last bytes. */
static bool has_end_record(const file_map_t *map, bool *out_zip64) {
    enum { END_SIZE = 22, COMMENT_AT = 20, MAX_COMMENT = 65535, LOCATOR_SIZE = 20 };
    *out_zip64 = false;
    for (size_t comment = 0; comment <= MAX_COMMENT && comment + END_SIZE <= map->size; comment++) {
        const uint8_t *end = map->data + map->size - comment - END_SIZE;
        if (memcmp(end, "PK\5\6", 4) != 0 || (end[COMMENT_AT] | (size_t)end[COMMENT_AT + 1] << 8) != comment) continue;
        *out_zip64 = end - map->data >= LOCATOR_SIZE && memcmp(end - LOCATOR_SIZE, "PK\6\7", 4) == 0;
        return true;
    }
    return false;
}

insitu_status zip_read(arena_t *arena, const file_map_t *map, const char *record, zip_index_t *out_index,
                       insitu_diag *diag) {
    memset(out_index, 0, sizeof(*out_index));
    memory_file_t file = {.map = map};
    zlib_filefunc64_def functions = {.zopen64_file = memory_open,
                                     .zread_file = memory_read,
                                     .ztell64_file = memory_tell,
                                     .zseek64_file = memory_seek,
                                     .zclose_file = memory_close,
                                     .zerror_file = memory_error,
                                     .opaque = &file};
    unzFile zip = has_end_record(map, &out_index->has_zip64) ? unzOpen2_64("", &functions) : NULL;
    const char *title = "the zip file";
    if (!zip && record)
        FAIL(diag, INSITU_FORMAT,
             "record '%s' is not a file of torch.save: it is not a zip file, or its end is missing or damaged", record);
    if (!zip)
        FAIL(diag, INSITU_FORMAT,
             "the file is not a .pt2 program: it is not a zip file, or its end, where a zip file's directory lies, is "
             "missing or damaged");
    insitu_status status = record ? arena_printf(arena, &title, "'%s'", record) : INSITU_OK;
    if (status == INSITU_OK) status = read_entries(arena, zip, map, title, out_index, diag);
    unzClose(zip);
    return status;
}

const zip_entry_t *zip_find(const zip_index_t *index, const char *name) {
    uint32_t found = map_find(&index->names, name);
    return found == NONE ? NULL : &index->entries[found];
}

insitu_status zip_verify(const zip_entry_t *entry, insitu_diag *diag) {
    uLong crc = crc32_z(0, entry->data, entry->size);
    if (crc != entry->crc)
        FAIL(diag, INSITU_FORMAT, "record '%s' of %s is damaged: its checksum is %08lx where %08x was expected",
             entry->name, entry->file, (unsigned long)crc, entry->crc);
    return INSITU_OK;
}
