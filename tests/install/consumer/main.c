/* A user's program whose own names are the same as Insitu's internal ones. It prints the sentence of a failed load. */
#include <insitu/insitu.h>

#include <stdio.h>

int arena_array(void);
int memory_alloc(void);
int text_printf(void);

int arena_array(void) { return 1; }
int memory_alloc(void) { return 2; }
int text_printf(void) { return 3; }

int main(void) {
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_engine *engine = NULL;
    insitu_status status = insitu_engine_load("/absent/engine", NULL, &engine, &diag);
    insitu_engine_destroy(engine);
    printf("%s: %s\n", insitu_status_name(status), diag.message);
    insitu_diag_release(&diag);
    return status == INSITU_IO && arena_array() + memory_alloc() + text_printf() == 6 ? 0 : 1;
}
