/* The CPU backend's own header: what kernels get, how rows of kernels.def look, and the helpers that kernels share. */
#ifndef CPU_INT_H
#define CPU_INT_H

#include "plan/device.h"

/* ---- kernels ---- */

/* One thread's call of a kernel. Every thread of the region makes it; a kernel does its share of the output elements and
 * never splits a reduction, so that the number of threads does not change a bit. */
typedef struct kernel_call {
    const bound_step_t *step;
    void *const *bases;
    const void *data; /* what the row's make built at prepare, or NULL */
    char *workspace;  /* of this thread alone, as many bytes as the row asked for, aligned to 64 */
    uint32_t thread, threads;
    bool *failed; /* set by a kernel whose library refused to run */
} kernel_call_t;

typedef struct reason { /* why a kernel declined */
    char text[192];
} reason_t;
/* Writes the reason and returns false. */
bool decline(reason_t *why, const char *format, ...) PRINTF_LIKE(2, 3);

typedef enum kernel_isa { ISA_ANY, ISA_AVX2, ISA_AVX512, ISA_COUNT } kernel_isa_t;
const char *isa_name(kernel_isa_t isa);
/* AVX2 stands for AVX2 and FMA; AVX512 for F, BW, DQ and VL. False above the instruction set that INSITU_ISA names. */
bool isa_present(kernel_isa_t isa);
kernel_isa_t isa_limit(void); /* what INSITU_ISA names */

/* Classes of dtypes, as bits: a row takes a step whose every operand and result is of a dtype of its class. */
#define DTYPE_BIT(id) (UINT32_C(1) << DTYPE_##id)
enum {
    CLASS_F32 = DTYPE_BIT(F32),
    CLASS_F32_BOOL = DTYPE_BIT(F32) | DTYPE_BIT(BOOL),
    CLASS_FLOATS = DTYPE_BIT(F16) | DTYPE_BIT(BF16) | DTYPE_BIT(F32) | DTYPE_BIT(F64),
    CLASS_INTS = DTYPE_BIT(U8) | DTYPE_BIT(I8) | DTYPE_BIT(I16) | DTYPE_BIT(I32) | DTYPE_BIT(I64) | DTYPE_BIT(U16) |
                 DTYPE_BIT(U32),
    CLASS_FLOAT8 = DTYPE_BIT(E4M3FN) | DTYPE_BIT(E5M2) | DTYPE_BIT(E4M3FNUZ) | DTYPE_BIT(E5M2FNUZ) | DTYPE_BIT(E8M0),
    CLASS_REAL = CLASS_FLOATS | CLASS_INTS | DTYPE_BIT(BOOL), /* what the reference computes with */
    CLASS_WIDE = CLASS_REAL | DTYPE_BIT(U64),                 /* ... where numbers above 2^63 need no order */
    CLASS_CAST = CLASS_WIDE | CLASS_FLOAT8,                   /* ... and converts to and from */
    CLASS_ANY = (1 << DTYPE_COUNT) - 1                        /* bytes that are only moved */
};

/* A library's kernel: built at prepare, has threads of its own, is called once and outside any region. */
/* no_maker is that of our own kernels: every thread of the region calls run. */
typedef struct kernel_maker {
    /* Builds what run finds in call->data, and tells its workspace. Errors: UNSUPPORTED (declined, for a reason), NOMEM:
     * that memory is short now must not decide which kernel runs from now on, and so the bits of its results. */
    insitu_status (*make)(const bound_step_t *step, arena_t *arena, uint32_t threads, void **out_data,
                          size_t *out_workspace, reason_t *why);
    void (*release)(void *data);
    /* True if the library would have now, in the calling thread, the threads that data was built for. */
    bool (*has_threads)(const void *data);
} kernel_maker_t;

typedef struct kernel_row {
    layer_kind_t layer;
    uint32_t dtypes;
    kernel_isa_t isa;
    const char *name; /* "ref", "vec", "onednn" */
    bool (*can_run)(const bound_step_t *step, reason_t *why);
    void (*run)(const kernel_call_t *call);
    size_t (*workspace)(const bound_step_t *step); /* bytes for each thread */
    const kernel_maker_t *maker;
    double tolerance; /* largest difference from the reference, relative to the largest magnitudes that enter */
} kernel_row_t;

extern const kernel_row_t kernel_rows[];
extern const uint32_t kernel_row_count;
bool kernel_is_reference(const kernel_row_t *row);
/* True if the row's layer, ISA and dtypes fit and its can_run agrees. */
bool kernel_accepts(const kernel_row_t *row, const bound_step_t *step, reason_t *why);
/* True of a step that is no layer, or whose layer and dtypes a row fits that needs no special ISA. */
bool kernels_take(const plan_step_t *step);
/* The first row that takes the step. Errors: UNSUPPORTED with each refusal's reason, NOMEM. */
insitu_status kernel_choose(const bound_step_t *step, arena_t *arena, uint32_t threads, const kernel_row_t **out_row,
                            void **out_data, size_t *out_workspace, insitu_diag *diag);
/* "matmul(f32[1,4], f32[4,4]) -> f32[1,4]" */
void step_describe(const bound_step_t *step, text_t *out);
/* Elementary operations of a step, in units of about one nanosecond's work of a core. */
int64_t step_cost(const bound_step_t *step);

/* ---- threads ---- */
uint32_t cpu_affinity(void); /* CPUs that the calling thread may run on; at least 1 */
uint32_t cpu_quota(void);    /* threads that the cgroup's quota allows; at least 1 */
/* Threads that a region of the calling thread can have now, at most limit; at least 1 (team.c). */
uint32_t cpu_threads(uint32_t limit);

/* ---- attributes ---- */
const bound_attr_t *attr_of(const bound_step_t *step, attr_id_t id); /* NULL if absent */
int64_t attr_int(const bound_step_t *step, attr_id_t id, int64_t absent);
double attr_real(const bound_step_t *step, attr_id_t id, double absent);
op_kind_t attr_op(const bound_step_t *step);
int64_t attr_item(const bound_step_t *step, attr_id_t id, uint32_t index, int64_t absent); /* of a list */
uint32_t attr_count(const bound_step_t *step, attr_id_t id);

/* ---- operands ---- */
static inline char *operand_data(const kernel_call_t *call, const bound_operand_t *operand) {
    char *base = call->bases[operand->storage];
    return base ? base + operand->offset : NULL;
}
static inline int64_t operand_numel(const bound_operand_t *operand) {
    int64_t count = 1;
    for (uint32_t i = 0; i < operand->rank; i++) count *= operand->sizes[i];
    return count;
}
bool operand_same_sizes(const bound_operand_t *a, const bound_operand_t *b);
/* Declines unless operand `index` has the first result's sizes. */
bool require_result_sizes(const bound_step_t *step, uint32_t index, reason_t *why);
/* A dimension attribute of operand 0, counted from the front; -1 if it is out of range (a 0-d operand has dim 0). */
int64_t attr_dim(const bound_step_t *step, attr_id_t id);

/* This thread's part [begin, end) of total items; parts are multiples of grain, save the last. */
static inline void call_share(const kernel_call_t *call, int64_t total, int64_t grain, int64_t *out_begin,
                              int64_t *out_end) {
    int64_t units = total / grain + (total % grain != 0);
    int64_t each = units / call->threads, rest = units % call->threads;
    int64_t begin = each * call->thread + (call->thread < rest ? call->thread : rest);
    int64_t end = begin + each + (call->thread < rest ? 1 : 0);
    *out_begin = begin * grain < total ? begin * grain : total;
    *out_end = end * grain < total ? end * grain : total;
}

/* ---- walk: the elements [begin, end) of a shape in row-major order, as runs along the innermost dimension ---- */
enum { WALK_OPERANDS = 5 };
typedef struct walk {
    uint32_t rank, count;
    int64_t sizes[MAX_RANK];
    int64_t strides[WALK_OPERANDS][MAX_RANK]; /* in bytes */
    char *data[WALK_OPERANDS];                /* of the current run's first element */
    int64_t step[WALK_OPERANDS];              /* bytes from one element of the run to the next */
    int64_t run;                              /* elements in the current run */
    int64_t position;                         /* of the run's first element, in row-major order */
    int64_t index[MAX_RANK], end;
} walk_t;
void walk_init(walk_t *walk, uint32_t rank, const int64_t *sizes);
/* Adds an operand whose strides (in elements of size bytes) belong to the walk's dimensions. */
void walk_add(walk_t *walk, char *data, const int64_t *strides, int64_t size);
void walk_add_operand(walk_t *walk, const kernel_call_t *call, const bound_operand_t *operand);
void walk_merge(walk_t *walk); /* fuses dimensions that lie together in all operands */
int64_t walk_total(const walk_t *walk);
bool walk_start(walk_t *walk, int64_t begin, int64_t end); /* false: nothing to do */
bool walk_next(walk_t *walk);

/* ---- tiles: strided elements of any real dtype <-> contiguous numbers of one of three kinds ----
 * f16 and bf16 are computed in f32 and rounded when stored; integers and bool in i64, cut to their width when stored:
 * wrapping, as in PyTorch. */
enum { TILE = 256 };
typedef enum compute { COMPUTE_F32, COMPUTE_F64, COMPUTE_I64 } compute_t;
typedef union tile {
    float f[TILE];
    double d[TILE];
    int64_t i[TILE];
} tile_t;
compute_t compute_of(dtype_t type);
void tile_load(dtype_t type, const char *data, int64_t stride, int64_t count, tile_t *out);
void tile_load_double(dtype_t type, const char *data, int64_t stride, int64_t count, double *out);
void tile_load_int(dtype_t type, const char *data, int64_t stride, int64_t count, int64_t *out); /* integers, bool */
/* Converts as PyTorch casts. */
void tile_store(dtype_t type, char *data, int64_t stride, int64_t count, compute_t kind, const void *numbers);
void element_store_double(dtype_t type, char *data, double value);
void element_store_int(dtype_t type, char *data, int64_t value);
double element_double(dtype_t type, const char *data);
int64_t element_int(dtype_t type, const char *data);
/* False, with the reason, for u64 and an operator that orders its operands: they are computed in i64. */
bool fits_i64(dtype_t type, op_kind_t op, reason_t *why);
/* Strided bytes to strided bytes; the two may be the same. */
void element_copy(uint32_t size, char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count);
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat_to_float(uint16_t bits);
uint16_t float_to_bfloat(float value);
float float8_to_float(dtype_t type, uint8_t bits); /* float8.c */
uint8_t float_to_float8(dtype_t type, float value);

/* Integers of an index operand, by row-major position of its elements. */
int64_t index_value(const bound_operand_t *operand, const char *data, int64_t position);
/* index, wrapped if wrap and negative, and kept inside [0, extent): a guarded step never needs the last. */
static inline int64_t index_inside(int64_t index, int64_t extent, bool wrap) {
    if (wrap && index < 0) index += extent;
    if (index < 0) return 0;
    return index < extent ? index : extent - 1;
}

/* ---- products (product.c) ---- */
typedef struct product { /* strides in elements */
    int64_t rows, columns, depth, batches;
    int64_t a_row, a_column, b_row, b_column, r_row, r_column, bias_column;
    uint32_t batch_rank;
    int64_t batch_sizes[MAX_RANK], a_batch[MAX_RANK], b_batch[MAX_RANK], r_batch[MAX_RANK];
} product_t;
typedef struct product_data { /* of one batch, f32; bias NULL: none */
    const float *a, *b, *bias;
    float *r;
} product_data_t;
void product_of(const bound_step_t *step, product_t *out); /* of a matmul whose shapes fit */
product_data_t product_at(const kernel_call_t *call, const product_t *product, int64_t batch);

/* ---- what every kernel of a layer requires of shapes and dtypes ---- */
bool matmul_shapes_fit(const bound_step_t *step, reason_t *why);
bool conv_fits(const bound_step_t *step, reason_t *why);
bool attention_fits(const bound_step_t *step, reason_t *why);

/* The functions that kernels.def names. */
#define KERNEL(layer, dtypes, isa, name, can_run, run, workspace, maker, tolerance)                                    \
    bool can_run(const bound_step_t *step, reason_t *why);                                                             \
    void run(const kernel_call_t *call);                                                                               \
    size_t workspace(const bound_step_t *step);                                                                        \
    extern const kernel_maker_t maker;
#include "backend/cpu/kernels.def"
#undef KERNEL

#endif
