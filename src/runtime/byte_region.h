/* Regions: strided bytes of a block, in as few runs as their layout allows. */
#ifndef BYTE_REGION_H
#define BYTE_REGION_H

#include "plan/backend.h"

/* Runs of run bytes, at offset and at every combination of count steps. */
typedef struct byte_region {
    size_t offset, run;
    uint32_t rank;
    int64_t counts[MAX_RANK], steps[MAX_RANK]; /* steps in bytes */
} byte_region;

/* The bytes of a strided tensor whose first element lies at offset. */
byte_region region_of(dtype type, uint32_t rank, const int64_t *sizes, const int64_t *strides, size_t offset);
size_t region_bytes(const byte_region *region); /* 0 if it has no elements */
/* Between the region's bytes in a block, and as many dense ones. */
void region_gather(const byte_region *region, const void *block, void *dense);
void region_scatter(const byte_region *region, void *block, const void *dense);
/* The region's bytes become those of another block at the same places; NULL: zeros. */
void region_set(const byte_region *region, void *block, const void *source);

#endif
