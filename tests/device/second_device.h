/* A device of the tests, which keeps what plan/device.h asks of the runtime honest:
 *
 * - Its memory is readable by its own functions alone: its addresses are no addresses of the host's, and the pages behind them
 *   are protected while no work of it runs.
 * - It is asynchronous: work is queued, and done by one thread, which takes its time.
 * - It groups: runs of elementwise steps are one group, whose inner values lie in the workspace.
 * - It checks its caller: memory that is not its own, runs that cut a group, and what is freed twice end the process. */
#ifndef SECOND_DEVICE_H
#define SECOND_DEVICE_H

#include "plan/device.h"

enum { SECOND_DEVICE_TYPE = 12 };                /* of DLPack: an extension */
extern const device_entry_t second_device_entry; /* "second" */
/* Groups of two steps or more that were prepared so far. */
uint32_t second_device_groups(void);
/* Work waits until this is called with false. */
void second_device_hold(bool is_held);

#endif
