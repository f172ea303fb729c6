/* Regions: which runs of bytes a strided tensor is, and copies of them. */
#include "runtime/byte_region.h"

/* Steps fall; what has no step, or goes on where the dimension inside it ends, is no dimension of its own. */
static void add_dimension(byte_region_t *region, int64_t count, int64_t step) {
    uint32_t at = region->rank++;
    for (; at > 0 && region->steps[at - 1] < step; at--) {
        region->counts[at] = region->counts[at - 1];
        region->steps[at] = region->steps[at - 1];
    }
    region->counts[at] = count;
    region->steps[at] = step;
}

static void join_dimensions(byte_region_t *region) {
    while (region->rank && region->steps[region->rank - 1] == (int64_t)region->run)
        region->run *= (size_t)region->counts[--region->rank];
    uint32_t kept = 0;
    for (uint32_t i = 1; i < region->rank; i++) {
        if (region->steps[kept] == region->steps[i] * region->counts[i]) {
            region->counts[kept] *= region->counts[i];
            region->steps[kept] = region->steps[i];
            continue;
        }
        kept++;
        region->counts[kept] = region->counts[i];
        region->steps[kept] = region->steps[i];
    }
    if (region->rank) region->rank = kept + 1;
}

byte_region_t region_of(dtype_t type, uint32_t rank, const int64_t *sizes, const int64_t *strides, size_t offset) {
    byte_region_t region = {.offset = offset, .run = dtype_size(type)};
    for (uint32_t i = 0; i < rank; i++) {
        if (sizes[i] == 0) return (byte_region_t){.offset = offset};
        if (sizes[i] > 1 && strides[i] > 0) add_dimension(&region, sizes[i], strides[i] * (int64_t)region.run);
    }
    join_dimensions(&region);
    return region;
}

size_t region_bytes(const byte_region_t *region) {
    size_t bytes = region->run;
    for (uint32_t i = 0; i < region->rank; i++) bytes *= (size_t)region->counts[i];
    return bytes;
}

/* ---- copies ---- */

/* Steps of as many dense runs. */
static void dense_steps(const byte_region_t *region, int64_t *out_steps) {
    int64_t step = (int64_t)region->run;
    for (uint32_t i = region->rank; i-- > 0;) {
        out_steps[i] = step;
        step *= region->counts[i];
    }
}

/* Of the region's runs, from place to place. */
static device_copy_t copy_of(const byte_region_t *region, void *target, const int64_t *target_steps, const void *source,
                             const int64_t *source_steps) {
    return (device_copy_t){.item = region->run,
                           .rank = region->rank,
                           .sizes = region->counts,
                           .target = target,
                           .target_steps = target_steps,
                           .source = source,
                           .source_steps = source_steps};
}

insitu_status region_gather(const byte_region_t *region, const device_t *device, void *stream, const void *block,
                            void *dense, insitu_diag *diag) {
    int64_t steps[MAX_RANK];
    if (region->run == 0) return INSITU_OK;
    dense_steps(region, steps);
    const device_copy_t copy = copy_of(region, dense, steps, (const uint8_t *)block + region->offset, region->steps);
    return device->copy_strided(device, stream, &copy, diag);
}

insitu_status region_scatter(const byte_region_t *region, const device_t *device, void *stream, void *block,
                             const void *dense, insitu_diag *diag) {
    int64_t steps[MAX_RANK];
    if (region->run == 0) return INSITU_OK;
    dense_steps(region, steps);
    const device_copy_t copy = copy_of(region, (uint8_t *)block + region->offset, region->steps, dense, steps);
    return device->copy_strided(device, stream, &copy, diag);
}

typedef struct run_walk {
    const byte_region_t *region;
    int64_t at[MAX_RANK];
    size_t offset; /* of the present run */
} run_walk_t;

static run_walk_t walk_start(const byte_region_t *region) {
    return (run_walk_t){.region = region, .offset = region->offset};
}

/* False: that was the last run. */
static bool walk_next(run_walk_t *walk) {
    const byte_region_t *region = walk->region;
    for (uint32_t dim = region->rank; dim-- > 0;) {
        walk->offset += (size_t)region->steps[dim];
        if (++walk->at[dim] < region->counts[dim]) return true;
        walk->offset -= (size_t)(region->steps[dim] * region->counts[dim]);
        walk->at[dim] = 0;
    }
    return false;
}

insitu_status region_set(const byte_region_t *region, const device_t *device, void *stream, void *block,
                         const void *host, insitu_diag *diag) {
    run_walk_t walk = walk_start(region);
    if (region->run == 0) return INSITU_OK;
    do {
        uint8_t *target = (uint8_t *)block + walk.offset;
        if (host)
            TRY(device->copy_to(device, stream, target, (const uint8_t *)host + walk.offset, region->run, diag));
        else
            TRY(device->fill(device, stream, target, 0, region->run, diag));
    } while (walk_next(&walk));
    return INSITU_OK;
}
