/* The devices that this library is built with: a row of the registry each. */
#ifndef DEVICES_H
#define DEVICES_H

#include "plan/device.h"

extern const device_entry_t device_entry_cpu; /* cpu/device.c */

#endif
