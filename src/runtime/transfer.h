/* Strided tensors between places: the device's memory, and the host's. */
#ifndef TRANSFER_H
#define TRANSFER_H

#include "plan/device.h"

#include <insitu/tensor.h>

/* Where the elements of a strided tensor lie. */
typedef struct place {
    void *address;          /* of the first element */
    const int64_t *strides; /* in elements */
    bool is_host;           /* in the host's memory, which may be the device's */
} place_t;

/* The elements go from source to target, which do not overlap. Host memory has been read or written when it returns.
 * Allocates only if one place is the device's alone, the other the host's, and one of them not dense. Errors: NOMEM,
 * DEVICE. */
MUST_CHECK insitu_status transfer(const device_t *device, void *stream, dtype_t type, uint32_t rank,
                                  const int64_t *sizes, place_t target, place_t source, insitu_diag *diag);
/* The elements of a tensor in the device's memory, in row-major order, to host memory and back. */
MUST_CHECK insitu_status tensor_gather(const device_t *device, const insitu_tensor *tensor, void *dense,
                                       insitu_diag *diag);
MUST_CHECK insitu_status tensor_scatter(const device_t *device, const insitu_tensor *tensor, const void *dense,
                                        insitu_diag *diag);
/* The number that an element is. False in *out_is_number: a complex one, or an integer beyond int64. Errors: DEVICE. */
MUST_CHECK insitu_status read_element(const device_t *device, void *stream, dtype_t type, const void *address,
                                      sym_value_t *out_value, bool *out_is_number, insitu_diag *diag);

#endif
