/* base: what every room uses. Allocation, arenas, strings, arrays, maps, bit sets, diagnostics, log, checked
 * arithmetic, mapped files, switches. No global state but the once-read switch table and the test allocator. */
#ifndef BASE_H
#define BASE_H

#include <fenv.h>
#include <insitu/status.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first) __attribute__((format(printf, format_index, first)))
#define NONE UINT32_MAX /* an absent 32-bit id */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#include "base/banned.h"
#include "base/limits.h"
#include "base/whole_file.h"

/* ---- errors: the only two macros ---- */
#define TRY(expression)                                                                                                \
    do {                                                                                                               \
        insitu_status try_status = (expression);                                                                       \
        if (try_status != INSITU_OK) return try_status;                                                                \
    } while (0)
/* FAIL(diag, INSITU_SHAPE, "input '%s' has rank %d where %d was expected", ...) */
#define FAIL(diag, code, ...) return diag_set((diag), (code), __VA_ARGS__)

/* Writes the sentence (if it is too long, without the middle of its longest quoted part) and returns code. diag may be NULL. Rows of an earlier failure are dropped, so
 * rows are added after the sentence. */
insitu_status diag_set(insitu_diag *diag, insitu_status code, const char *format, ...) PRINTF_LIKE(3, 4);
/* Gives a failure that brought no sentence (NOMEM of an arena) a general one, and returns status. For API functions. */
insitu_status diag_complete(insitu_diag *diag, insitu_status status);
/* Appends a row to the diagnostic's list (copied). Silently drops it if memory is short. */
void diag_add_row(insitu_diag *diag, const char *op, uint32_t count, const char *source);

/* ---- memory: the only callers of malloc. Tests replace the hooks to count and to fail. ---- */
typedef struct memory_hooks {
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *data);
    void *user;
    void *(*alloc_zeros)(void *user, size_t size); /* NULL: alloc, then the bytes are set */
} memory_hooks_t;
void memory_set_hooks(const memory_hooks_t *hooks); /* NULL restores malloc and free; not thread-safe */
void *memory_alloc(size_t size);                    /* aligned for any type; NULL if it fails; size 0 gives non-NULL */
void *memory_alloc_aligned(size_t size, size_t alignment); /* alignment: a power of two <= 4096 */
/* The same of zeros. Of a large block no page takes memory until it is written. */
void *memory_alloc_zeros(size_t size, size_t alignment);
/* Sets bytes that lie in a block of the above to zeros; the pages of many of them are given back. */
void memory_set_zeros(void *data, size_t size);
void memory_free(void *data); /* of any; NULL allowed */

/* ---- arena: bump allocation, freed as a whole ---- */
typedef struct arena_block arena_block_t;
typedef struct arena {
    arena_block_t *blocks;
    size_t block_size; /* of the next block */
} arena_t;
void arena_init(arena_t *arena);    /* allocates nothing */
void arena_release(arena_t *arena); /* frees all; the arena may be used again */
/* Zeroed memory for count items of item_size bytes; stores its address in *(T **)out_pointer. Errors: NOMEM. */
MUST_CHECK insitu_status arena_array(arena_t *arena, size_t count, size_t item_size, void *out_pointer);
/* Makes *(T **)items_pointer hold at least needed items (capacity doubles, old items are copied, new ones zeroed). */
MUST_CHECK insitu_status arena_grow(arena_t *arena, void *items_pointer, uint32_t *capacity, size_t needed,
                                    size_t item_size);
MUST_CHECK insitu_status arena_copy(arena_t *arena, const void *data, size_t size, void *out_pointer);
MUST_CHECK insitu_status arena_string(arena_t *arena, const char *text, size_t size,
                                      const char **out_text); /* NUL added */
MUST_CHECK insitu_status arena_printf(arena_t *arena, const char **out_text, const char *format, ...) PRINTF_LIKE(3, 4);

/* ---- text: a growing NUL-terminated string. Sticky failure: printing after NOMEM does nothing; text_status tells. ---- */
typedef struct text {
    char *data; /* NULL until the first print */
    size_t size, capacity;
    bool failed;
} text_t;
void text_init(text_t *text);
void text_release(text_t *text);
void text_add(text_t *text, const char *data, size_t size);
void text_add_number(text_t *text, uint64_t number);
void text_printf(text_t *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_vprintf(text_t *text, const char *format, va_list arguments);
MUST_CHECK insitu_status text_status(const text_t *text, insitu_diag *diag);
/* Forms of strings and numbers (text_forms.c). */
void text_quoted(text_t *out, const char *string); /* "..." with \" \\ \n \t \xNN */
void text_double(text_t *out, double number);      /* shortest text that reads back the same; inf, -inf, nan */
bool is_utf8(const char *string);
/* JSON's: a string with its quotes and escapes, what is not UTF-8 replaced; a number of so many digits, or "NaN",
 * "Infinity", "-Infinity" in quotes. */
void json_print_string(text_t *out, const char *string);
void json_print_double(text_t *out, double number, int precision);

/* ---- map: string -> uint32_t, in an arena. Keys are not copied. ---- */
typedef struct map_entry {
    const char *key;
    uint32_t value;
    uint32_t hash;
} map_entry_t;
typedef struct map {
    map_entry_t *entries;
    uint32_t count, capacity;
} map_t;
uint32_t map_find(const map_t *map, const char *key); /* NONE if absent */
/* Inserts or replaces. */
MUST_CHECK insitu_status map_set(map_t *map, arena_t *arena, const char *key, uint32_t value);
uint64_t hash_bytes(const void *data, size_t size, uint64_t seed); /* xxh64 */

/* ---- bit sets ---- */
typedef struct bitset {
    uint64_t *words;
    uint32_t bits;
} bitset_t;
MUST_CHECK insitu_status bitset_create(arena_t *arena, uint32_t bits, bitset_t *out_set);
static inline bool bitset_has(const bitset_t *set, uint32_t bit) { return (set->words[bit >> 6] >> (bit & 63)) & 1; }
static inline void bitset_add(bitset_t *set, uint32_t bit) { set->words[bit >> 6] |= UINT64_C(1) << (bit & 63); }
static inline void bitset_remove(bitset_t *set, uint32_t bit) { set->words[bit >> 6] &= ~(UINT64_C(1) << (bit & 63)); }

/* ---- checked arithmetic: false on overflow ---- */
static inline bool checked_add(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool checked_sub(int64_t a, int64_t b, int64_t *out) { return !__builtin_sub_overflow(a, b, out); }
static inline bool checked_mul(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool checked_size_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool checked_size_mul(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
int64_t gcd(int64_t a, int64_t b);       /* neither negative; of 0 and b, b */
int64_t floor_div(int64_t a, int64_t b); /* b != 0 and not (INT64_MIN, -1); rounds to minus infinity */
int64_t floor_mod(int64_t a, int64_t b); /* sign of b, as Python */

/* Copies what the caller's version of a public struct has room for, its struct_size excepted. */
void public_copy(void *target, size_t struct_size, const void *source, size_t size);

/* ---- files ---- */
/* A read-only view of a file or of the caller's memory, shared by reference count (atomic). */
typedef struct file_map {
    const uint8_t *data;
    size_t size;
    uint32_t references; /* touched only by retain and release */
    bool owns_mapping;
} file_map_t;
MUST_CHECK insitu_status file_map_open(const char *path, file_map_t **out_map, insitu_diag *diag);
MUST_CHECK insitu_status file_map_wrap(const void *data, size_t size, file_map_t **out_map, insitu_diag *diag);
/* So many zeros, at least one: addresses without memory, as long as they are only read here and there. Errors: NOMEM. */
MUST_CHECK insitu_status file_map_zeros(size_t size, file_map_t **out_map, insitu_diag *diag);
file_map_t *file_map_retain(file_map_t *map);
void file_map_release(file_map_t *map); /* NULL allowed */
/* whole_file_replace and whole_file_write, with a sentence. */
MUST_CHECK insitu_status file_replace(const char *path, const file_part_t *parts, size_t count, insitu_diag *diag);
MUST_CHECK insitu_status file_write(const char *path, const file_part_t *parts, size_t count, insitu_diag *diag);

/* ---- the floating-point environment: a function that computes enters the default one and leaves it again ---- */
typedef struct float_mode {
    bool is_changed;
    fenv_t saved;
} float_mode_t;
void float_mode_enter(float_mode_t *out_mode);
void float_mode_leave(const float_mode_t *mode);

/* ---- switches: environment variables, read once; the one table is switches.def ---- */
typedef enum switch_id {
#define SWITCH(id, name, values, help) SWITCH_##id,
#include "base/switches.def"
#undef SWITCH
    SWITCH_COUNT
} switch_id_t;
/* NULL if unset. The first call reads all of them, and tells the log of values that are not known. */
const char *switch_value(switch_id_t id);
/* True if word is one of a list of words, separated by commas. */
bool list_has(const char *list, const char *word, size_t size);
bool switch_on(switch_id_t id); /* set and neither "" nor "0" */

/* ---- log: text to the installed sink (none by default), which gets a last "\n" if it has none ---- */
void log_printf(int level, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
