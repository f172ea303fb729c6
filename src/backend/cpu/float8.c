/* The five 8-bit floats: decoded exactly, encoded to the nearest (ties to even), as PyTorch does. What is too large
 * becomes infinity in e5m2, the largest number in e4m3fn and NaN in the others. */
#include "backend/cpu/cpu_int.h"

#include <math.h>

float float8_to_float(dtype_t type, uint8_t bits) {
    sym_value_t value = {0};
    if (element_value(type, &bits, &value) && !isnan(value.f)) return (float)value.f;
    return bits & 0x80 ? -NAN : NAN; /* a NaN keeps its sign when it is cast on */
}

typedef struct format {
    int mantissa_bits, bias;
    uint32_t largest, overflow; /* codes without sign */
    bool has_minus_zero;        /* else that code is NaN */
} format_t;

static format_t format_of(dtype_t type) {
    if (type == DTYPE_E5M2) return (format_t){2, 15, 0x7b, 0x7c, true};
    if (type == DTYPE_E4M3FNUZ) return (format_t){3, 8, 0x7f, 0x80, false};
    if (type == DTYPE_E5M2FNUZ) return (format_t){2, 16, 0x7f, 0x80, false};
    return (format_t){3, 7, 0x7e, 0x7e, true};
}

/* A power of two: the nearer exponent, the next one where the mantissa is a half; no sign. */
static uint8_t encode_power(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof(word));
    uint32_t exponent = word >> 23 & 0xff, mantissa = word & 0x7fffff;
    if (exponent == 0xff) return 0xff;
    bool up = mantissa > 0x400000 || (mantissa == 0x400000 && exponent > 0);
    return (uint8_t)(exponent + up);
}

uint8_t float_to_float8(dtype_t type, float value) {
    if (type == DTYPE_E8M0) return encode_power(value);
    format_t format = format_of(type);
    uint32_t sign = signbit(value) ? 0x80 : 0, code;
    if (isnan(value)) return (uint8_t)(format.has_minus_zero ? sign | 0x7f : 0x80);
    double magnitude = fabs((double)value);
    if (isinf(value)) {
        code = format.overflow;
    } else if (magnitude == 0) {
        code = 0;
    } else {
        int exponent = ilogb(magnitude), lowest = 1 - format.bias;
        if (exponent < lowest) exponent = lowest;
        double quanta = nearbyint(ldexp(magnitude, format.mantissa_bits - exponent)); /* 1.mantissa as a whole number */
        code = exponent > 127 ? format.overflow
                              : (uint32_t)quanta + ((uint32_t)(exponent - lowest) << format.mantissa_bits);
        if (code > format.largest) code = format.overflow;
    }
    return (uint8_t)(code == 0 && !format.has_minus_zero ? 0 : sign | code);
}
