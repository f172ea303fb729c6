// A user's program in C++: it prints the sentence of a failed load.
#include <insitu/insitu.h>

#include <cstdio>

int main() {
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_engine *engine = nullptr;
    insitu_status status = insitu_engine_load("/absent/engine", nullptr, &engine, &diag);
    insitu_engine_destroy(engine);
    std::printf("%s: %s\n", insitu_status_name(status), diag.message);
    insitu_diag_release(&diag);
    return status == INSITU_IO ? 0 : 1;
}
