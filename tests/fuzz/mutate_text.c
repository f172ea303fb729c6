/* Mutates text in words and lines: a word takes another's place, a number becomes an odd one, lines move. */
#include "mutate.h"

#include <ctype.h>
#include <string.h>

enum { MAX_WORDS = 4096, MAX_LINES = 1024 };

typedef struct span {
    size_t begin, size;
} span_t;

static bool is_word(uint8_t c) { return isalnum(c) || c == '_' || c == '.' || c == '%'; }

static uint32_t find_words(const uint8_t *data, size_t size, span_t *words) {
    uint32_t count = 0;
    for (size_t at = 0; at < size && count < MAX_WORDS;) {
        size_t begin = at;
        while (at < size && is_word(data[at])) at++;
        if (at > begin) words[count++] = (span_t){begin, at - begin};
        at += at == begin;
    }
    return count;
}

static uint32_t find_lines(const uint8_t *data, size_t size, span_t *lines) {
    uint32_t count = 0;
    for (size_t at = 0; at < size && count < MAX_LINES;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t length = end ? (size_t)(end - (data + at)) + 1 : size - at;
        lines[count++] = (span_t){at, length};
        at += length;
    }
    return count;
}

/* The bytes of a span become others, which lie outside data. */
static size_t replace(uint8_t *data, size_t size, size_t limit, span_t old, const void *bytes, size_t count) {
    if (size - old.size + count > limit) return 0;
    memmove(data + old.begin + count, data + old.begin + old.size, size - old.begin - old.size);
    if (count) memcpy(data + old.begin, bytes, count);
    return size - old.size + count;
}

static size_t change_word(uint8_t *data, size_t size, size_t limit, uint32_t *random) {
    static span_t words[MAX_WORDS];
    static const char *const odd[] = {"0",
                                      "1",
                                      "-1",
                                      "2",
                                      "3",
                                      "12",
                                      "13",
                                      "64",
                                      "9223372036854775807",
                                      "-9223372036854775808",
                                      "4294967296",
                                      "1048576",
                                      "1.5",
                                      "nan",
                                      "inf",
                                      "true",
                                      "none",
                                      "[]",
                                      "f32",
                                      "i64",
                                      "bool",
                                      "f16",
                                      "s77",
                                      "u0",
                                      ""};
    uint32_t count = find_words(data, size, words);
    if (!count) return 0;
    span_t old = words[mutate_random(random, count)];
    if (mutate_random(random, 3) == 0) {
        const char *word = odd[mutate_random(random, COUNT_OF(odd))];
        return replace(data, size, limit, old, word, strlen(word));
    }
    span_t other = words[mutate_random(random, count)];
    bool wants_number = isdigit(data[old.begin]), wants_value = data[old.begin] == '%';
    for (int trial = 0; trial < 16; trial++) { /* mostly one of the same kind */
        bool fits = wants_number == (isdigit(data[other.begin]) != 0) && wants_value == (data[other.begin] == '%');
        if (fits) break;
        other = words[mutate_random(random, count)];
    }
    uint8_t copy[256];
    if (other.size > sizeof(copy)) return 0;
    memcpy(copy, data + other.begin, other.size);
    return replace(data, size, limit, old, copy, other.size);
}

/* A line is doubled at another place, moved there, or removed. */
static size_t change_line(uint8_t *data, size_t size, size_t limit, uint32_t *random) {
    static span_t lines[MAX_LINES];
    uint32_t count = find_lines(data, size, lines), choice = mutate_random(random, 3);
    if (!count) return 0;
    span_t line = lines[mutate_random(random, count)];
    uint8_t copy[1024];
    if (line.size > sizeof(copy)) return 0;
    memcpy(copy, data + line.begin, line.size);
    if (choice == 0) return replace(data, size, limit, line, NULL, 0);
    if (choice == 1) {
        size = replace(data, size, limit, line, NULL, 0);
        count = find_lines(data, size, lines);
    }
    size_t to = count ? lines[mutate_random(random, count)].begin : 0;
    return replace(data, size, limit, (span_t){to, 0}, copy, line.size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t limit, unsigned seed) {
    uint32_t random = seed;
    if (size == 0 || mutate_random(&random, 4) == 0) return LLVMFuzzerMutate(data, size, limit);
    for (uint32_t edits = 1 + mutate_random(&random, 3); edits > 0; edits--) {
        size_t changed = mutate_random(&random, 4) ? change_word(data, size, limit, &random)
                                                   : change_line(data, size, limit, &random);
        if (changed) size = changed;
    }
    return size;
}
