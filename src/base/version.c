/* The library's version, which is that of the headers it was built with. */
#include <insitu/version.h>

#define TEXT_OF(number) #number
#define DOTTED(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *insitu_version(void) { return DOTTED(INSITU_VERSION_MAJOR, INSITU_VERSION_MINOR, INSITU_VERSION_PATCH); }
