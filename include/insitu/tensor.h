/* Tensors at the API: the memory layout of DLPack's DLTensor, so that a DLTensor pointer may be cast. */
#ifndef INSITU_TENSOR_H
#define INSITU_TENSOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Device types, numbered as in DLPack. */
enum { INSITU_DEVICE_CPU = 1, INSITU_DEVICE_CUDA = 2 };

typedef struct insitu_device {
    int32_t device_type;
    int32_t device_id;
} insitu_device;

/* Element type codes, numbered as in DLPack. */
enum {
    INSITU_CODE_INT = 0,
    INSITU_CODE_UINT = 1,
    INSITU_CODE_FLOAT = 2,
    INSITU_CODE_BFLOAT = 4,
    INSITU_CODE_COMPLEX = 5,
    INSITU_CODE_BOOL = 6,
    INSITU_CODE_FLOAT8_E4M3FN = 10,
    INSITU_CODE_FLOAT8_E4M3FNUZ = 11,
    INSITU_CODE_FLOAT8_E5M2 = 12,
    INSITU_CODE_FLOAT8_E5M2FNUZ = 13,
    INSITU_CODE_FLOAT8_E8M0FNU = 14
};

typedef struct insitu_dtype {
    uint8_t code;   /* INSITU_CODE_... */
    uint8_t bits;   /* bits of one element; 8 for bool */
    uint16_t lanes; /* always 1 */
} insitu_dtype;

/* A strided view of memory. Sizes and strides are in elements, byte_offset is in bytes from data. strides NULL means
 * dense row-major. The tensor owns nothing: data, shape and strides belong to whoever made it. */
typedef struct insitu_tensor {
    void *data;
    insitu_device device;
    int32_t ndim;
    insitu_dtype dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} insitu_tensor;

/* In C these are no constant expressions: what is initialised at file scope is given {INSITU_CODE_FLOAT, 32, 1}. */
#ifdef __cplusplus
#define INSITU_DTYPE(code, bits) (insitu_dtype{code, bits, 1})
#else
#define INSITU_DTYPE(code, bits) ((insitu_dtype){code, bits, 1})
#endif
#define INSITU_DTYPE_F32 INSITU_DTYPE(INSITU_CODE_FLOAT, 32)
#define INSITU_DTYPE_F64 INSITU_DTYPE(INSITU_CODE_FLOAT, 64)
#define INSITU_DTYPE_F16 INSITU_DTYPE(INSITU_CODE_FLOAT, 16)
#define INSITU_DTYPE_BF16 INSITU_DTYPE(INSITU_CODE_BFLOAT, 16)
#define INSITU_DTYPE_I64 INSITU_DTYPE(INSITU_CODE_INT, 64)
#define INSITU_DTYPE_I32 INSITU_DTYPE(INSITU_CODE_INT, 32)
#define INSITU_DTYPE_I16 INSITU_DTYPE(INSITU_CODE_INT, 16)
#define INSITU_DTYPE_I8 INSITU_DTYPE(INSITU_CODE_INT, 8)
#define INSITU_DTYPE_U8 INSITU_DTYPE(INSITU_CODE_UINT, 8)
#define INSITU_DTYPE_BOOL INSITU_DTYPE(INSITU_CODE_BOOL, 8)

#ifdef __cplusplus
}
#endif
#endif
