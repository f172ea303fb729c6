/* Regions: strided bytes of a block, in as few runs as their layout allows. */
#ifndef BYTE_REGION_H
#define BYTE_REGION_H

#include "plan/device.h"

/* Runs of run bytes, at offset and at every combination of count steps. */
typedef struct byte_region {
    size_t offset, run;
    uint32_t rank;
    int64_t counts[MAX_RANK], steps[MAX_RANK]; /* steps in bytes */
} byte_region_t;

/* The bytes of a strided tensor whose first element lies at offset. */
byte_region_t region_of(dtype_t type, uint32_t rank, const int64_t *sizes, const int64_t *strides, size_t offset);
size_t region_bytes(const byte_region_t *region); /* 0 if it has no elements */
/* Between the region's bytes in a block of the device's memory, and as many dense ones there. Errors: DEVICE. */
MUST_CHECK insitu_status region_gather(const byte_region_t *region, const device_t *device, void *stream,
                                       const void *block, void *dense, insitu_diag *diag);
MUST_CHECK insitu_status region_scatter(const byte_region_t *region, const device_t *device, void *stream, void *block,
                                        const void *dense, insitu_diag *diag);
/* The region's bytes become those of a block of host memory at the same places; NULL: zeros. */
MUST_CHECK insitu_status region_set(const byte_region_t *region, const device_t *device, void *stream, void *block,
                                    const void *host, insitu_diag *diag);

#endif
