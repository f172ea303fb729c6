/* Of programs built with the address sanitizer. The leak checker of GCC 12 crashes on thread-local storage of libraries
 * opened at run time (oneDNN, with threads) where it tracks that storage by itself. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) { return "intercept_tls_get_addr=0"; }

/* Of programs built with the thread sanitizer: the OpenMP runtime isn't, so its own locks look like races. What happens
 * in the threads that it starts is seen: its Archer tool tells the sanitizer where they begin, meet and end. */
const char *__tsan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void) {
    return "ignore_noninstrumented_modules=1";
}
