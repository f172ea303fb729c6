/* The floating-point environment of a thread. Kernels, folded constants and numbers that are read from text assume the
 * default one: rounding to nearest, subnormals kept, no traps. A caller's thread may have another. */
#include "base/base.h"

#if defined(__x86_64__)
/* Reading the two control words takes a few cycles, fegetenv hundreds. */
static bool is_default(void) {
    enum { CONTROL = 0xffc0, DEFAULT_CONTROL = 0x1f80, X87_CONTROL = 0x0f3f, X87_DEFAULT = 0x033f };
    unsigned short x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (__builtin_ia32_stmxcsr() & CONTROL) == DEFAULT_CONTROL && (x87 & X87_CONTROL) == X87_DEFAULT;
}
#else
static bool is_default(void) { return false; }
#endif

void float_mode_enter(float_mode_t *out_mode) {
    out_mode->is_changed = !is_default() && fegetenv(&out_mode->saved) == 0 && fesetenv(FE_DFL_ENV) == 0;
}

void float_mode_leave(const float_mode_t *mode) {
    if (mode->is_changed) (void)fesetenv(&mode->saved);
}
