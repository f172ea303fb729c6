/* The version: of these headers as numbers, and of the library that the program runs with. */
#ifndef INSITU_VERSION_H
#define INSITU_VERSION_H

#include <insitu/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INSITU_VERSION_MAJOR 0
#define INSITU_VERSION_MINOR 1
#define INSITU_VERSION_PATCH 0

/* "MAJOR.MINOR.PATCH" of the library. Before version 1, headers and library must have the same MAJOR and MINOR. */
INSITU_API const char *insitu_version(void);

#ifdef __cplusplus
}
#endif
#endif
