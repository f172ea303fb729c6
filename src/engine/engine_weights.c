/* Where an engine's weights lie for its device: in the maps, if the device's memory is the host's; else they are copied there
 * once, when the first context is made, and all contexts share them. */
#include "engine/engine.h"

#include <pthread.h>

static insitu_status copy_weights(const insitu_engine *engine, insitu_diag *diag) {
    const device_t *device = engine->device;
    for (uint32_t i = 0; i < engine->plan->weight_count; i++) {
        const weight_record_t *weight = &engine->plan->weights[i];
        if (engine->weights[i]) continue; /* a failure before this one */
        void *memory = device->allocate(device, weight->size, WEIGHT_ALIGNMENT, false);
        if (!memory) FAIL(diag, INSITU_NOMEM, "out of memory for weight '%s' on the device", weight->name);
        insitu_status status = device->copy_to(device, NULL, memory, weight->data, weight->size, diag);
        if (status != INSITU_OK) {
            device->free(device, memory);
            return status;
        }
        engine->weights[i] = memory;
    }
    return device->synchronize(device, NULL, diag);
}

insitu_status engine_place_weights(const insitu_engine *engine, insitu_diag *diag) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (engine->device->is_host) return INSITU_OK;
    (void)pthread_mutex_lock(&lock);
    insitu_status status = copy_weights(engine, diag);
    (void)pthread_mutex_unlock(&lock);
    return status;
}

insitu_status engine_find_weights(insitu_engine *engine) {
    const plan_t *plan = engine->plan;
    TRY(arena_array(&engine->arena, plan->weight_count, sizeof(*engine->weights), &engine->weights));
    if (engine->device->is_host)
        for (uint32_t i = 0; i < plan->weight_count; i++) engine->weights[i] = (void *)(uintptr_t)plan->weights[i].data;
    return INSITU_OK;
}

void engine_free_weights(const insitu_engine *engine) {
    if (engine->device->is_host || !engine->weights) return;
    for (uint32_t i = 0; i < engine->plan->weight_count; i++) engine->device->free(engine->device, engine->weights[i]);
}
