/* Element by element: floats as doubles, all else by its bytes. */
#include "tensor_difference.h"

#include "safetensors.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

tolerance_t tolerance_of(insitu_dtype dtype) {
    int bits = dtype.code == INSITU_CODE_COMPLEX ? dtype.bits / 2 : dtype.bits;
    if (dtype.code == INSITU_CODE_BFLOAT) return (tolerance_t){2e-2, 2e-2};
    if (dtype.code != INSITU_CODE_FLOAT && dtype.code != INSITU_CODE_COMPLEX) return (tolerance_t){0, 0};
    if (bits == 64) return (tolerance_t){1e-10, 1e-12};
    return bits == 32 ? (tolerance_t){1e-4, 1e-4} : (tolerance_t){4e-3, 4e-3};
}

/* ---- elements ---- */

static double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    if (exponent == 31) value = mantissa ? (double)NAN : (double)INFINITY;
    return bits >> 15 ? -value : value;
}

static double float_value(const unsigned char *at, int bits, bool is_bfloat) {
    uint32_t word;
    uint16_t half;
    float single;
    double number;
    switch (bits) {
    case 64: memcpy(&number, at, sizeof(number)); return number;
    case 32: memcpy(&single, at, sizeof(single)); return (double)single;
    default: break;
    }
    memcpy(&half, at, sizeof(half));
    if (!is_bfloat) return half_value(half);
    word = (uint32_t)half << 16;
    memcpy(&single, &word, sizeof(single));
    return (double)single;
}

static uint64_t integer_bits(const unsigned char *at, int bits) {
    uint64_t value = 0;
    for (int i = 0; i < bits / 8; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static bool is_floating(insitu_dtype dtype) {
    return dtype.code == INSITU_CODE_FLOAT || dtype.code == INSITU_CODE_COMPLEX || dtype.code == INSITU_CODE_BFLOAT;
}

/* Of a complex element: one half of it. Floats of 8 bits are taken for their bits. */
static double element_value(const unsigned char *at, insitu_dtype dtype) {
    int bits = dtype.code == INSITU_CODE_COMPLEX ? dtype.bits / 2 : dtype.bits;
    if (is_floating(dtype)) return float_value(at, bits, dtype.code == INSITU_CODE_BFLOAT);
    uint64_t value = integer_bits(at, bits);
    if (dtype.code != INSITU_CODE_INT) return (double)value;
    if (bits < 64 && value >> (bits - 1)) value |= ~UINT64_C(0) << bits;
    return (double)(int64_t)value;
}

static bool is_close(double got, double wanted, tolerance_t tolerance) {
    if (isnan(wanted)) return isnan(got);
    if (isinf(wanted) || isinf(got)) return got == wanted;
    return fabs(got - wanted) <= tolerance.absolute + tolerance.relative * fabs(wanted);
}

static void compare_element(const unsigned char *got, const unsigned char *wanted, insitu_dtype dtype,
                            tolerance_t tolerance, int64_t position, tensor_difference_t *difference) {
    size_t size = dtype.bits / 8, part = dtype.code == INSITU_CODE_COMPLEX ? size / 2 : size;
    if (memcmp(got, wanted, size) == 0) return;
    for (size_t at = 0; at < size; at += part) {
        double a = element_value(got + at, dtype), b = element_value(wanted + at, dtype);
        if (is_floating(dtype) && is_close(a, b, tolerance)) continue;
        if (!difference->count++) {
            difference->first = position;
            difference->got = a;
            difference->wanted = b;
        }
        double distance = fabs(a - b);
        if (distance > difference->largest && isfinite(distance)) difference->largest = distance;
    }
}

/* ---- tensors ---- */

static bool same_type(const insitu_tensor *a, const insitu_tensor *b) {
    bool same = a->dtype.code == b->dtype.code && a->dtype.bits == b->dtype.bits && a->ndim == b->ndim;
    for (int32_t i = 0; same && i < a->ndim; i++) same = a->shape[i] == b->shape[i];
    return same;
}

/* Where the element at a row-major position lies. */
static int64_t element_offset(const insitu_tensor *tensor, int64_t position) {
    int64_t offset = 0;
    if (!tensor->strides) return position;
    for (int32_t i = tensor->ndim; i-- > 0;) {
        offset += position % tensor->shape[i] * tensor->strides[i];
        position /= tensor->shape[i];
    }
    return offset;
}

tensor_difference_t tensor_compare(const insitu_tensor *got, const insitu_tensor *wanted, tolerance_t tolerance) {
    tensor_difference_t difference = {.is_other_type = !same_type(got, wanted), .total = 1};
    if (difference.is_other_type) return difference;
    for (int32_t i = 0; i < wanted->ndim; i++) difference.total *= wanted->shape[i];
    int64_t size = wanted->dtype.bits / 8;
    const unsigned char *a = (const unsigned char *)got->data + got->byte_offset;
    const unsigned char *b = (const unsigned char *)wanted->data + wanted->byte_offset;
    for (int64_t i = 0; i < difference.total; i++)
        compare_element(a + element_offset(got, i) * size, b + i * size, wanted->dtype, tolerance, i, &difference);
    if (wanted->dtype.code == INSITU_CODE_COMPLEX) difference.total *= 2;
    return difference;
}

void tensor_type_text(const insitu_tensor *tensor, char *out, size_t size) {
    const char *name = safetensors_dtype_name(tensor->dtype);
    size_t used = (size_t)snprintf(out, size, "%s[", name ? name : "?");
    for (char *c = out; *c; c++) *c = (char)tolower((unsigned char)*c);
    for (int32_t i = 0; i < tensor->ndim && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, i ? ",%" PRId64 : "%" PRId64, tensor->shape[i]);
    if (used < size) snprintf(out + used, size - used, "]");
}
