/* The words and the lexical rules of the text form. */
#include "graph/graph_int.h"

static const char *const layouts[] = {"unknown_layout", "sparse_coo", "sparse_csr", "sparse_csc",
                                      "sparse_bsr",     "sparse_bsc", "mkldnn",     "strided"};
static const char *const memory_formats[] = {"unknown_format", "contiguous_format", "channels_last", "channels_last_3d",
                                             "preserve_format"};
static const char *const argument_words[] = {"none", "graph"};
static const char *const expression_words[] = {"true", "false", "inf", "nan", "oo", "and", "or", "not"};

static const char *word_at(const char *const *words, size_t count, int32_t number) {
    return number >= 0 && (size_t)number < count ? words[number] : NULL;
}

static int32_t number_of(const char *const *words, size_t count, const char *word) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0) return (int32_t)i;
    return -1;
}

const char *layout_word(int32_t number) { return word_at(layouts, COUNT_OF(layouts), number); }
const char *memory_format_word(int32_t number) { return word_at(memory_formats, COUNT_OF(memory_formats), number); }
int32_t layout_number(const char *word) { return number_of(layouts, COUNT_OF(layouts), word); }
int32_t memory_format_number(const char *word) { return number_of(memory_formats, COUNT_OF(memory_formats), word); }

bool is_argument_word(const char *word) {
    dtype_t type;
    return dtype_parse(word, &type) || layout_number(word) >= 0 || memory_format_number(word) >= 0 ||
           number_of(argument_words, COUNT_OF(argument_words), word) >= 0;
}

bool is_bare_name(const char *name) {
    if (!*name) return false;
    for (const char *c = name; *c; c++)
        if (!is_name_char(*c)) return false;
    return true;
}

bool is_symbol_name(const char *name) {
    return is_bare_name(name) && !strchr(name, '.') && !(name[0] >= '0' && name[0] <= '9') &&
           number_of(expression_words, COUNT_OF(expression_words), name) < 0;
}

const char *input_kind_word(graph_input_kind_t kind) {
    switch (kind) {
    case INPUT_USER: return "user";
    case INPUT_PARAMETER: return "parameter";
    case INPUT_BUFFER: return "buffer";
    case INPUT_CONSTANT: return "constant";
    }
    return "unknown";
}
