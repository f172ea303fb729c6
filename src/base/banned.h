/* Functions that write without a bound, or hide a failure: using one is a compile error. */
#ifndef BANNED_H
#define BANNED_H

/* The headers that declare them come first: a poisoned name may not even be declared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok atoi atol atoll atof

#endif
