/* oneDNN: f32 matrix products and convolutions. The one file that knows the library.
 *
 * The library is opened by the SONAME of the headers that this file was compiled with (2.x or 3.x, whose C interfaces
 * differ in how memory and operations are described); without it the rows decline. A primitive is made when a program is
 * prepared and keeps its library, engine and descriptors beside it, so that nothing here is global. Its scratchpad is the
 * step's workspace. A run makes the small memory handles of its addresses and drops them: a program may run in several
 * threads at once.
 *
 * A primitive divides its work by a number of threads when it is made, and leaves out the share of each that does not
 * come when it runs: then its region must have that number exactly (team.c). */
#include "backend/cpu/cpu_int.h"
#include "backend/cpu/team.h"

#if INSITU_HAVE_DNNL

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define LIBRARY_NAME "libdnnl.so." STRING(DNNL_VERSION_MAJOR)

/* ---- the library ---- */
/* clang-format off */
#define COMMON_FUNCTIONS(X)                                                                                            \
    X(engine_create) X(engine_destroy) X(stream_create) X(stream_destroy) X(stream_wait) X(memory_create)              \
    X(memory_destroy) X(primitive_create) X(primitive_destroy) X(primitive_execute) X(primitive_desc_destroy)          \
    X(primitive_desc_query) X(primitive_desc_query_md) X(primitive_attr_create) X(primitive_attr_destroy)              \
    X(primitive_attr_set_scratchpad_mode) X(memory_desc_get_size) X(version) X(set_max_cpu_isa)
#if DNNL_VERSION_MAJOR >= 3
#define VERSION_FUNCTIONS(X)                                                                                           \
    X(memory_desc_create_with_strides) X(memory_desc_destroy) X(matmul_primitive_desc_create)                          \
    X(convolution_forward_primitive_desc_create) X(deconvolution_forward_primitive_desc_create)
#else
#define VERSION_FUNCTIONS(X)                                                                                           \
    X(memory_desc_init_by_strides) X(matmul_desc_init) X(dilated_convolution_forward_desc_init)                        \
    X(dilated_deconvolution_forward_desc_init) X(primitive_desc_create)
#endif
/* clang-format on */

typedef struct library {
#define X(name) __typeof__(&dnnl_##name) name;
    COMMON_FUNCTIONS(X)
    VERSION_FUNCTIONS(X)
#undef X
    bool has_team; /* its threads are OpenMP's, of this runtime; else those of a pool that does all of the work */
    team_runtime_t team;
} library_t;

/* Takes effect before the first primitive of the process is made. */
static void limit_isa(const library_t *library) {
    static const dnnl_cpu_isa_t limits[ISA_AVX512] = {dnnl_cpu_isa_sse41, dnnl_cpu_isa_avx2};
    if (isa_limit() != ISA_AVX512) (void)library->set_max_cpu_isa(limits[isa_limit()]);
}

static bool library_open(library_t *out, reason_t *why) {
    /* Not unloaded: oneDNN and its OpenMP runtime keep threads and caches. */
    void *handle = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) return decline(why, "%s is not installed", LIBRARY_NAME);
    bool complete = true;
#define X(name)                                                                                                        \
    *(void **)(void *)&out->name = dlsym(handle, "dnnl_" #name);                                                       \
    complete &= out->name != NULL;
    COMMON_FUNCTIONS(X)
    VERSION_FUNCTIONS(X)
#undef X
    out->has_team = complete && out->version()->cpu_runtime == DNNL_RUNTIME_OMP;
    bool can_ask = !out->has_team || team_runtime_find(handle, &out->team);
    (void)dlclose(handle);
    if (complete) limit_isa(out);
    if (!can_ask) return decline(why, "the OpenMP runtime of %s is unknown", LIBRARY_NAME);
    return complete ? true : decline(why, "%s lacks a function", LIBRARY_NAME);
}

/* ---- descriptors: dimensions and strides in elements; a bias is absent if rank is 0 ---- */
typedef struct layout {
    int rank;
    dnnl_dims_t sizes, strides;
} layout_t;
typedef enum argument { SOURCE, WEIGHTS, BIAS, TARGET, ARGUMENTS } argument_t;

typedef struct convolution {
    bool transposed;
    dnnl_dims_t strides, dilation, padding;
} convolution_t;

enum { LARGEST_WARM_UP = 1 << 20, WARM_ALIGNMENT = 64 };

typedef struct onednn {
    library_t library;
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attr;
    dnnl_memory_desc_t layouts[ARGUMENTS];
    bool has[ARGUMENTS];
    dnnl_primitive_desc_t desc; /* owns the scratchpad's layout */
    dnnl_primitive_t primitive;
    uint32_t threads;
} onednn_t;

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t memory_layout;
static memory_layout layout_of(const onednn *data, argument which) {
    return data->has[which] ? data->layouts[which] : NULL;
}

static dnnl_status_t make_layout(onednn *data, argument which, const layout *layout) {
    if (!layout->rank) return dnnl_success;
    dnnl_status_t status = data->library.memory_desc_create_with_strides(&data->layouts[which], layout->rank,
                                                                         layout->sizes, dnnl_f32, layout->strides);
    data->has[which] = status == dnnl_success;
    return status;
}

static dnnl_status_t make_desc(onednn *data, const convolution *conv) {
    memory_layout source = layout_of(data, SOURCE), weights = layout_of(data, WEIGHTS);
    memory_layout bias = layout_of(data, BIAS), target = layout_of(data, TARGET);
    const library *library = &data->library;
    if (!conv)
        return library->matmul_primitive_desc_create(&data->desc, data->engine, source, weights, bias, target,
                                                     data->attr);
    if (conv->transposed)
        return library->deconvolution_forward_primitive_desc_create(
            &data->desc, data->engine, dnnl_forward_inference, dnnl_deconvolution_direct, source, weights, bias, target,
            conv->strides, conv->dilation, conv->padding, conv->padding, data->attr);
    return library->convolution_forward_primitive_desc_create(
        &data->desc, data->engine, dnnl_forward_inference, dnnl_convolution_direct, source, weights, bias, target,
        conv->strides, conv->dilation, conv->padding, conv->padding, data->attr);
}

static void drop_layouts(onednn *data) {
    for (int i = 0; i < ARGUMENTS; i++)
        if (data->has[i]) (void)data->library.memory_desc_destroy(data->layouts[i]);
}
#else
typedef const dnnl_memory_desc_t *memory_layout_t;
static memory_layout_t layout_of(const onednn_t *data, argument_t which) {
    return data->has[which] ? &data->layouts[which] : NULL;
}

static dnnl_status_t make_layout(onednn_t *data, argument_t which, const layout_t *layout) {
    if (!layout->rank) return dnnl_success;
    dnnl_status_t status = data->library.memory_desc_init_by_strides(&data->layouts[which], layout->rank, layout->sizes,
                                                                     dnnl_f32, layout->strides);
    data->has[which] = status == dnnl_success;
    return status;
}

static dnnl_status_t make_desc(onednn_t *data, const convolution_t *conv) {
    memory_layout_t source = layout_of(data, SOURCE), weights = layout_of(data, WEIGHTS);
    memory_layout_t bias = layout_of(data, BIAS), target = layout_of(data, TARGET);
    const library_t *library = &data->library;
    dnnl_matmul_desc_t matmul;
    dnnl_convolution_desc_t convolution; /* of a deconvolution too: one type */
    const void *operation = &convolution;
    dnnl_status_t status;
    if (!conv) {
        operation = &matmul;
        status = library->matmul_desc_init(&matmul, source, weights, bias, target);
    } else if (conv->transposed) {
        status = library->dilated_deconvolution_forward_desc_init(
            &convolution, dnnl_forward_inference, dnnl_deconvolution_direct, source, weights, bias, target,
            conv->strides, conv->dilation, conv->padding, conv->padding);
    } else {
        status = library->dilated_convolution_forward_desc_init(
            &convolution, dnnl_forward_inference, dnnl_convolution_direct, source, weights, bias, target, conv->strides,
            conv->dilation, conv->padding, conv->padding);
    }
    if (status != dnnl_success) return status;
    return library->primitive_desc_create(&data->desc, operation, data->attr, data->engine, NULL);
}

static void drop_layouts(onednn_t *data) { (void)data; }
#endif

static void add_dimension(layout_t *layout, int64_t size, int64_t stride) {
    layout->sizes[layout->rank] = size;
    layout->strides[layout->rank++] = stride;
}

/* Strides of dimensions of size 1 mean nothing to us, but oneDNN takes them for leading dimensions. */
static void settle_strides(layout_t *layout) {
    for (int i = layout->rank; i-- > 0;) {
        if (layout->sizes[i] != 1) continue;
        bool last = i + 1 == layout->rank;
        layout->strides[i] = last ? 1 : layout->sizes[i + 1] * layout->strides[i + 1];
    }
}

/* ---- primitives ---- */
static void onednn_release(void *made) {
    onednn_t *data = made;
    const library_t *library = &data->library;
    if (data->primitive) (void)library->primitive_destroy(data->primitive);
    if (data->desc) (void)library->primitive_desc_destroy(data->desc);
    drop_layouts(data);
    if (data->attr) (void)library->primitive_attr_destroy(data->attr);
    if (data->engine) (void)library->engine_destroy(data->engine);
}

static bool is_plain_loop(const onednn_t *data) {
    const char *name = NULL;
    return data->library.primitive_desc_query(data->desc, dnnl_query_impl_info_str, 0, (void *)&name) == dnnl_success &&
           name && strncmp(name, "ref", 3) == 0;
}

/* Memory that is short is no reason to decline: it may be there again when the next context is made. */
static insitu_status declined(dnnl_status_t status, const char *what, reason_t *why) {
    if (status == dnnl_out_of_memory) return INSITU_NOMEM;
    (void)decline(why, "%s", what);
    return INSITU_UNSUPPORTED;
}

static insitu_status build(onednn_t *data, const layout_t layouts[ARGUMENTS], const convolution_t *conv,
                           reason_t *why) {
    const library_t *library = &data->library;
    dnnl_status_t status = library->engine_create(&data->engine, dnnl_cpu, 0);
    if (status == dnnl_success) status = library->primitive_attr_create(&data->attr);
    if (status == dnnl_success)
        status = library->primitive_attr_set_scratchpad_mode(data->attr, dnnl_scratchpad_mode_user);
    if (status != dnnl_success) return declined(status, "oneDNN did not start", why);
    for (argument_t i = SOURCE; i < ARGUMENTS && status == dnnl_success; i++)
        status = make_layout(data, i, &layouts[i]);
    if (status != dnnl_success) return declined(status, "oneDNN does not take a layout", why);
    status = make_desc(data, conv);
    if (status != dnnl_success) return declined(status, "oneDNN does not implement it", why);
    if (!conv && is_plain_loop(data)) return declined(status, "oneDNN has only its reference for it", why);
    status = library->primitive_create(&data->primitive, data->desc);
    return status == dnnl_success ? INSITU_OK : declined(status, "oneDNN did not make the primitive", why);
}

static void enter(const onednn_t *data, team_settings_t *out_before) {
    if (data->library.has_team) team_enter(&data->library.team, data->threads, out_before);
}
static void leave(const onednn_t *data, const team_settings_t *before) {
    if (data->library.has_team) team_leave(&data->library.team, before);
}

static bool execute(const onednn_t *data, void *const addresses[ARGUMENTS], void *scratchpad) {
    static const int names[ARGUMENTS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST};
    const library_t *library = &data->library;
    dnnl_exec_arg_t arguments[ARGUMENTS + 1];
    dnnl_stream_t stream = NULL;
    int count = 0;
    bool good = library->stream_create(&stream, data->engine, dnnl_stream_default_flags) == dnnl_success;
    for (int i = 0; i <= ARGUMENTS && good; i++) {
        bool last = i == ARGUMENTS;
        if (!last && !data->has[i]) continue;
        memory_layout_t layout = last ? data->library.primitive_desc_query_md(data->desc, dnnl_query_scratchpad_md, 0)
                                      : layout_of(data, (argument_t)i);
        dnnl_exec_arg_t *argument = &arguments[count];
        argument->arg = last ? DNNL_ARG_SCRATCHPAD : names[i];
        good = library->memory_create(&argument->memory, layout, data->engine, last ? scratchpad : addresses[i]) ==
               dnnl_success;
        if (good) count++;
    }
    good = good && library->primitive_execute(data->primitive, stream, count, arguments) == dnnl_success &&
           library->stream_wait(stream) == dnnl_success;
    for (int i = 0; i < count; i++) (void)library->memory_destroy(arguments[i].memory);
    if (stream) (void)library->stream_destroy(stream);
    return good;
}

/* Runs the primitive once on zeros: oneDNN makes the code of some when they first run, which takes as long as thousands
 * of calls. Large ones take long themselves, and are left alone, as is everything where memory is short. */
static void warm_up(const onednn_t *data, size_t scratchpad) {
    size_t offsets[ARGUMENTS], total = scratchpad;
    for (argument_t i = SOURCE; i < ARGUMENTS; i++) {
        offsets[i] = total = (total + WARM_ALIGNMENT - 1) / WARM_ALIGNMENT * WARM_ALIGNMENT;
        if (data->has[i]) total += data->library.memory_desc_get_size(layout_of(data, i));
        if (total > LARGEST_WARM_UP) return;
    }
    char *memory = memory_alloc_aligned(total, WARM_ALIGNMENT);
    if (!memory) return;
    memset(memory, 0, total);
    void *addresses[ARGUMENTS];
    for (argument_t i = SOURCE; i < ARGUMENTS; i++) addresses[i] = memory + offsets[i];
    (void)execute(data, addresses, memory);
    memory_free(memory);
}

static insitu_status make(layout_t layouts[ARGUMENTS], const convolution_t *conv, arena_t *arena, uint32_t threads,
                          void **out_data, size_t *out_workspace, reason_t *why) {
    onednn_t *data;
    for (int i = 0; i < ARGUMENTS; i++) settle_strides(&layouts[i]);
    TRY(arena_array(arena, 1, sizeof(*data), &data));
    if (!library_open(&data->library, why)) return INSITU_UNSUPPORTED;
    data->threads = threads;
    team_settings_t before;
    enter(data, &before);
    insitu_status status = build(data, layouts, conv, why);
    if (status == INSITU_OK) {
        *out_workspace = data->library.memory_desc_get_size(
            data->library.primitive_desc_query_md(data->desc, dnnl_query_scratchpad_md, 0));
        warm_up(data, *out_workspace);
    }
    leave(data, &before);
    if (status == INSITU_OK)
        *out_data = data;
    else
        onednn_release(data);
    return status;
}

void onednn_run(const kernel_call_t *call) {
    const onednn_t *data = call->data;
    const bound_step_t *step = call->step;
    void *addresses[ARGUMENTS] = {operand_data(call, &step->operands[0]), operand_data(call, &step->operands[1]), NULL,
                                  operand_data(call, &step->results[0])};
    if (step->operand_count == 3) addresses[BIAS] = operand_data(call, &step->operands[2]);
    team_settings_t before;
    enter(data, &before);
    if (!execute(data, addresses, call->workspace)) *call->failed = true;
    leave(data, &before);
}

static bool onednn_has_threads(const void *made) {
    const onednn_t *data = made;
    return data->threads == 1 || !data->library.has_team || team_is_whole(&data->library.team, data->threads);
}

/* ---- matmul ---- */
static insitu_status matmul_make(const bound_step_t *step, arena_t *arena, uint32_t threads, void **out_data,
                                 size_t *out_workspace, reason_t *why) {
    product_t product;
    product_of(step, &product);
    layout_t layouts[ARGUMENTS] = {{0}, {0}, {0}, {0}};
    for (uint32_t i = 0; i < product.batch_rank; i++) {
        int64_t size = product.batch_sizes[i];
        add_dimension(&layouts[SOURCE], product.a_batch[i] ? size : 1, product.a_batch[i]);
        add_dimension(&layouts[WEIGHTS], product.b_batch[i] ? size : 1, product.b_batch[i]);
        add_dimension(&layouts[TARGET], size, product.r_batch[i]);
    }
    add_dimension(&layouts[SOURCE], product.rows, product.a_row);
    add_dimension(&layouts[SOURCE], product.depth, product.a_column);
    add_dimension(&layouts[WEIGHTS], product.depth, product.b_row);
    add_dimension(&layouts[WEIGHTS], product.columns, product.b_column);
    add_dimension(&layouts[TARGET], product.rows, product.r_row);
    add_dimension(&layouts[TARGET], product.columns, product.r_column);
    if (step->operand_count == 3) {
        for (int i = 0; i + 1 < layouts[TARGET].rank; i++) add_dimension(&layouts[BIAS], 1, product.columns);
        add_dimension(&layouts[BIAS], product.columns, product.bias_column);
    }
    return make(layouts, NULL, arena, threads, out_data, out_workspace, why);
}

/* ---- conv: grouped weights get a dimension of groups in front ---- */
static void conv_layouts(const bound_step_t *step, bool transposed, layout_t layouts[ARGUMENTS]) {
    const bound_operand_t *x = &step->operands[0], *w = &step->operands[1], *r = &step->results[0];
    int64_t groups = attr_int(step, ATTR_GROUPS, 1);
    for (uint32_t i = 0; i < x->rank; i++) {
        add_dimension(&layouts[SOURCE], x->sizes[i], x->strides[i]);
        add_dimension(&layouts[TARGET], r->sizes[i], r->strides[i]);
    }
    /* torch's transposed weights are (in, out/groups, ...); oneDNN's are (groups, out/groups, in/groups, ...). */
    if (groups > 1) add_dimension(&layouts[WEIGHTS], groups, w->sizes[0] / groups * w->strides[0]);
    int64_t first = w->sizes[0] / groups;
    if (transposed) {
        add_dimension(&layouts[WEIGHTS], w->sizes[1], w->strides[1]);
        add_dimension(&layouts[WEIGHTS], first, w->strides[0]);
    } else {
        add_dimension(&layouts[WEIGHTS], first, w->strides[0]);
        add_dimension(&layouts[WEIGHTS], w->sizes[1], w->strides[1]);
    }
    for (uint32_t i = 2; i < w->rank; i++) add_dimension(&layouts[WEIGHTS], w->sizes[i], w->strides[i]);
    if (step->operand_count == 3) add_dimension(&layouts[BIAS], r->sizes[1], step->operands[2].strides[0]);
}

static insitu_status conv_make(const bound_step_t *step, arena_t *arena, uint32_t threads, void **out_data,
                               size_t *out_workspace, reason_t *why) {
    convolution_t conv = {.transposed = attr_int(step, ATTR_TRANSPOSED, 0) != 0};
    for (uint32_t i = 0; i + 2 < step->operands[0].rank; i++) {
        conv.strides[i] = attr_item(step, ATTR_STRIDE, i, 1);
        conv.dilation[i] = attr_item(step, ATTR_DILATION, i, 1) - 1;
        conv.padding[i] = attr_item(step, ATTR_PADDING, i, 0);
    }
    layout_t layouts[ARGUMENTS] = {{0}, {0}, {0}, {0}};
    conv_layouts(step, conv.transposed, layouts);
    return make(layouts, &conv, arena, threads, out_data, out_workspace, why);
}

const kernel_maker_t onednn_matmul_maker = {matmul_make, onednn_release, onednn_has_threads};
const kernel_maker_t onednn_conv_maker = {conv_make, onednn_release, onednn_has_threads};

#else

static insitu_status absent_make(const bound_step_t *step, arena_t *arena, uint32_t threads, void **out_data,
                                 size_t *out_workspace, reason_t *why) {
    (void)step, (void)arena, (void)threads, (void)out_data, (void)out_workspace;
    (void)decline(why, "this build has no oneDNN");
    return INSITU_UNSUPPORTED;
}
void onednn_run(const kernel_call_t *call) { *call->failed = true; }
const kernel_maker_t onednn_matmul_maker = {absent_make, NULL, NULL};
const kernel_maker_t onednn_conv_maker = {absent_make, NULL, NULL};

#endif

static bool is_empty(const bound_step_t *step) {
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (operand_numel(&step->operands[i]) == 0) return true;
    return operand_numel(&step->results[0]) == 0;
}

bool onednn_matmul_can_run(const bound_step_t *step, reason_t *why) {
    if (!matmul_shapes_fit(step, why)) return false;
    return is_empty(step) ? decline(why, "the product is empty") : true;
}

bool onednn_conv_can_run(const bound_step_t *step, reason_t *why) {
    if (!conv_fits(step, why)) return false;
    return is_empty(step) ? decline(why, "the convolution is empty") : true;
}
