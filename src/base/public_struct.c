/* Structs of the public headers, which begin with their size so that they may grow. */
#include "base/base.h"
#include <string.h>

void public_copy(void *target, size_t struct_size, const void *source, size_t size) {
    if (struct_size < size) size = struct_size;
    memcpy((char *)target + sizeof(size_t), (const char *)source + sizeof(size_t), size - sizeof(size_t));
}
