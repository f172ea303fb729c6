/* The known word that a wrong one was likely meant to be: the nearest one by letters changed, added, left out or swapped. */
#include "tool.h"

#include <string.h>

enum { LONGEST = 32 };

static int least(int a, int b) { return a < b ? a : b; }

/* Optimal string alignment distance; too much for words that are longer than any of ours. */
static int distance(const char *a, size_t a_size, const char *b) {
    int rows[LONGEST + 1][LONGEST + 1];
    size_t b_size = strlen(b);
    if (a_size > LONGEST || b_size > LONGEST) return LONGEST;
    for (size_t i = 0; i <= a_size; i++)
        for (size_t k = 0; k <= b_size; k++) {
            rows[i][k] = (int)(i ? i : k);
            if (!i || !k) continue;
            int changed = a[i - 1] != b[k - 1];
            rows[i][k] = least(rows[i - 1][k - 1] + changed, least(rows[i - 1][k], rows[i][k - 1]) + 1);
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                rows[i][k] = least(rows[i][k], rows[i - 2][k - 2] + 1);
        }
    return rows[a_size][b_size];
}

void suggestion_begin(suggestion_t *suggestion, const char *word, size_t size) {
    suggestion->word = word;
    suggestion->size = size;
    suggestion->best = NULL;
    suggestion->distance = size < 4 ? 2 : 3; /* must be less */
}

void suggestion_try(suggestion_t *suggestion, const char *known) {
    int between = distance(suggestion->word, suggestion->size, known);
    bool is_begin = suggestion->size >= 3 && strncmp(known, suggestion->word, suggestion->size) == 0;
    if (is_begin && suggestion->word[suggestion->size - 1] != '-') between = least(between, 1);
    if (between >= suggestion->distance) return;
    suggestion->distance = between;
    suggestion->best = known;
}
