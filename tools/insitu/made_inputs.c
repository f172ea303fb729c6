/* Inputs for trying a program out: of its dtypes and sizes, all zeros, or random. */
#include "made_inputs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* ---- sizes ---- */

/* The text of an input's dimension, as `insitu inspect` prints it in "  x: f32[s0,4]"; "" if there is none. */
static void extent_text(const char *values, const char *input, int32_t dim, char *out, size_t size) {
    char head[512];
    *out = 0;
    snprintf(head, sizeof(head), "\n  %s: ", input);
    const char *at = strstr(values, head);
    at = at ? strchr(at + strlen(head), '[') : NULL;
    for (int depth = 0; at && *at && *at != '\n'; at++) {
        if (*at == '(' || *at == '[') depth++;
        if (*at == ')' || *at == ']') depth--;
        bool is_between = depth == 1 && (*at == ',' || *at == '[');
        if (!depth || (is_between && dim-- == 0)) break;
    }
    if (!at || *at == ']') return;
    size_t length = 0;
    for (int depth = 0; at[1 + length] && length + 1 < size; length++) {
        char c = at[1 + length];
        if (!depth && (c == ',' || c == ']')) break;
        depth += (c == '(') - (c == ')');
    }
    memcpy(out, at + 1, length);
    out[length] = 0;
}

/* The size that was given for it, else the least that it may have. */
static int64_t choose_size(const made_inputs_t *made, const char *values, const insitu_value_info *info, int32_t dim,
                           bool *used) {
    char text[256];
    if (info->sizes[dim] >= 0) return info->sizes[dim];
    extent_text(values, info->name, dim, text, sizeof(text));
    for (size_t i = 0; i < made->size_count; i++) {
        if (strcmp(made->sizes[i].name, text) != 0) continue;
        used[i] = true;
        return made->sizes[i].size;
    }
    return info->min_sizes[dim];
}

/* ---- elements ---- */

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A float from -1 to 1 as bits of its dtype: those of a f32, cut off, where it is bf16. */
static void random_float(insitu_dtype dtype, int bits, uint64_t random, unsigned char *to) {
    double wide = (double)(random >> 11) * 0x1p-52 - 1;
    float single = (float)wide;
    uint32_t word;
    memcpy(&word, &single, sizeof(word));
    uint32_t exponent = word >> 23 & 255, sign = word >> 31;
    uint16_t half = (uint16_t)(word >> 16);
    if (dtype.code != INSITU_CODE_BFLOAT)
        half = (uint16_t)(sign << 15 | (exponent > 112 ? (exponent - 112) << 10 | (word >> 13 & 1023) : 0));
    if (bits == 64) memcpy(to, &wide, sizeof(wide));
    if (bits == 32) memcpy(to, &single, sizeof(single));
    if (bits == 16) memcpy(to, &half, sizeof(half));
}

static void fill_random(const insitu_tensor *tensor, int64_t count, uint64_t *state) {
    unsigned char *to = tensor->data;
    size_t item = tensor->dtype.bits / 8u;
    bool is_complex = tensor->dtype.code == INSITU_CODE_COMPLEX;
    bool is_float = is_complex || tensor->dtype.code == INSITU_CODE_FLOAT || tensor->dtype.code == INSITU_CODE_BFLOAT;
    if (is_complex) {
        item /= 2;
        count *= 2;
    }
    for (int64_t i = 0; i < count; i++, to += item) {
        uint64_t random = next_random(state);
        if (is_float)
            random_float(tensor->dtype, (int)item * 8, random, to);
        else
            to[0] = (unsigned char)(random & 1); /* little-endian; 0 and 1 are an index of most tables */
    }
}

/* A Python number stays within its limits. */
static void limit_number(const insitu_value_info *info, const insitu_tensor *tensor) {
    int64_t value;
    if (!info->is_scalar || info->dtype.code != INSITU_CODE_INT || info->dtype.bits != 64) return;
    memcpy(&value, tensor->data, sizeof(value));
    if (value < info->min_value) value = info->min_value;
    if (value > info->max_value) value = info->max_value;
    memcpy(tensor->data, &value, sizeof(value));
}

/* ---- inputs ---- */

static int make_input(made_inputs_t *made, const char *values, const insitu_value_info *info, bool *used,
                      insitu_tensor *tensor) {
    int64_t count = 1;
    size_t bytes = info->dtype.bits / 8u;
    tensor->device.device_type = INSITU_DEVICE_CPU;
    tensor->dtype = info->dtype;
    tensor->ndim = info->ndim;
    tensor->shape = calloc((size_t)info->ndim + 1, sizeof(int64_t));
    for (int32_t i = 0; tensor->shape && i < info->ndim; i++) {
        tensor->shape[i] = choose_size(made, values, info, i, used);
        if (__builtin_mul_overflow(count, tensor->shape[i], &count) ||
            __builtin_mul_overflow(bytes, (size_t)tensor->shape[i], &bytes) || bytes > SIZE_MAX - ALIGNMENT)
            return report_error("input '%s' would be too large", info->name);
    }
    size_t room = (bytes / ALIGNMENT + 1) * ALIGNMENT;
    tensor->data = aligned_alloc(ALIGNMENT, room);
    if (!tensor->shape || !tensor->data) return report_error("out of memory for input '%s'", info->name);
    memset(tensor->data, 0, room);
    if (made->is_random) fill_random(tensor, count, &made->random_state);
    limit_number(info, tensor);
    return DONE;
}

/* "'--size n=3': no input has an open size n; there are s0, s27" */
static int unknown_size(const given_size_t *size, const insitu_engine *engine, const char *values) {
    char names[512] = "";
    size_t used = 0;
    for (int32_t i = 0; i < insitu_engine_input_count(engine); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        if (insitu_engine_input(engine, i, &info, NULL) != INSITU_OK) continue;
        for (int32_t dim = 0; dim < info.ndim; dim++) {
            char text[256];
            if (info.sizes[dim] >= 0) continue;
            extent_text(values, info.name, dim, text, sizeof(text));
            if (strstr(names, text) || used + strlen(text) + 3 > sizeof(names)) continue;
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "", text);
        }
    }
    return report_error("'--size %s=%" PRId64 "': no input has an open size '%s': %s%s", size->name, size->size,
                        size->name, used ? "there are " : "there is none", names);
}

static int make_all(made_inputs_t *made, const insitu_engine *engine, const char *values, bool *used,
                    tensor_list_t *tensors) {
    int code = DONE;
    for (int32_t i = 0; code == DONE && i < insitu_engine_input_count(engine); i++) {
        insitu_value_info info = {.struct_size = sizeof(info)};
        if (insitu_engine_input(engine, i, &info, NULL) != INSITU_OK || is_none(&info) || info.is_fixed) continue;
        size_t index = tensors->count;
        code = tensors_add(tensors, info.name, &(insitu_tensor){0});
        if (code == DONE) code = make_input(made, values, &info, used, &tensors->items[index].tensor);
    }
    for (size_t i = 0; code == DONE && i < made->size_count; i++)
        if (!used[i]) code = unknown_size(&made->sizes[i], engine, values);
    return code;
}

/* "\n  x: f32[s0,4]\n", the inputs' lines of the engine's description alone. */
static void keep_inputs(char *values) {
    char *end = strstr(values, "\noutputs\n");
    if (end) *end = 0;
    char *begin = strchr(values, '\n');
    if (begin) memmove(values, begin, strlen(begin) + 1); /* from the end of "inputs" on */
}

int make_inputs(made_inputs_t *made, const insitu_engine *engine, tensor_list_t *out_tensors) {
    *out_tensors = (tensor_list_t){0};
    insitu_diag diag;
    insitu_diag_init(&diag);
    char *values = NULL;
    bool *used = calloc(made->size_count + 1, sizeof(*used));
    int code = used ? DONE : report_error("out of memory");
    if (code == DONE && insitu_engine_print(engine, "values", &values, &diag) != INSITU_OK)
        code = report_failure(NULL, &diag);
    if (code == DONE) {
        keep_inputs(values);
        code = make_all(made, engine, values, used, out_tensors);
    }
    if (code != DONE) tensors_release(out_tensors);
    insitu_text_free(values);
    free(used);
    insitu_diag_release(&diag);
    return code;
}
