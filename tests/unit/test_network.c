/* The network's structure, inference, text, verifier and its passes. */
#include "unit_test.h"

#include "rewrite/rewrite.h"

static network_t *parsed(const char *source) {
    network_t *result;
    insitu_diag diag;
    insitu_diag_init(&diag);
    if (network_parse(source, &result, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    if (network_verify(result, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    insitu_diag_release(&diag);
    return result;
}

static void expect_text(const network_t *network, const char *expected) {
    text_t printed;
    text_init(&printed);
    assert_int_equal(network_print(network, &printed, NULL), INSITU_OK);
    assert_string_equal(printed.data, expected);
    text_release(&printed);
}

static void expect_round_trip(const char *source) {
    network_t *network = parsed(source);
    expect_text(network, source);
    network_destroy(network);
}

/* The layer, after the inputs, is refused with a sentence that holds the words. */
static void expect_refused(const char *inputs, const char *layer, insitu_status code, const char *words) {
    text_t source;
    text_init(&source);
    text_printf(&source, "network\n%s%s\n", inputs, layer);
    network_t *network;
    insitu_diag diag;
    insitu_diag_init(&diag);
    insitu_status status = network_parse(source.data, &network, &diag);
    if (status != code || !strstr(diag.message, words)) {
        fail_msg("%s: %s: '%s'", layer, insitu_status_name(status), diag.message);
    }
    insitu_diag_release(&diag);
    text_release(&source);
}

static void every_part_is_printed_and_parsed(void **state) {
    (void)state;
    expect_round_trip("network\n"
                      "symbol s7: int in 2..1024\n"
                      "symbol u0: int in 0..\n"
                      "symbol f: float\n"
                      "record \"layers.0.weight\": f32, 64 bytes\n"
                      "input \"x\" = %x: f32[s7,4]\n"
                      "input \"t\" = %t: f32[3,2]{1,3}\n"
                      "input \"n\" = number i64 s7\n"
                      "input \"k\" = constant i64 3\n"
                      "input \"none\" = none\n"
                      "state \"cache\\\"\\\\\\x0a\" = %cache: f32[2,4] of zeros\n"
                      "state \"b\" = %b: i64[] of record 0\n"
                      "constant %w: f32[2,2]{1,2}+4 of record 0\n"
                      "buffer \"inv_freq\": f32[4]{2}+1 of record 0\n"
                      "buffer \"none\": f32[0] of zeros\n"
                      "assert s7 <= 512, \"too long\", \"model.py:3\"\n"
                      "%0: f32[s7,4] = unary(%x) {op=relu} @\"relu\"  # model.py:41\n"
                      "%\"a b\": f32[2,4] = slice(%0) {dim=0, end=2, start=0, step=1} @\"s\"\n"
                      "%v: f32[2,3], %v_1: i64[2,3] = topk(%\"a b\") {count=3, descending=true, dim=1}\n"
                      "%sum: f32[2] = reduce(%v) {axes=[1], keepdim=false, op=sum}\n"
                      "next \"cache\\\"\\\\\\x0a\" = %\"a b\"\n"
                      "mutation \"x\" = %0\n"
                      "output \"output.0\" = %sum\n"
                      "output \"output.1\" = number s7 + 1\n"
                      "output \"output.2\" = none\n");
}

static void inference_of_every_layer_kind(void **state) {
    (void)state;
    network_t *network =
        parsed("network\n"
               "symbol s: int in 2..64\n"
               "symbol u0: int\n"
               "input \"x\" = %x: f32[2,3,4]\n"
               "input \"q\" = %q: f32[2,8,s,16]\n"
               "input \"k\" = %k: f32[2,2,s,16]\n"
               "input \"c\" = %c: f32[1,4,8,8]\n"
               "input \"w\" = %w: f32[6,2,3,3]\n"
               "input \"wt\" = %wt: f32[4,3,3,3]\n"
               "input \"i\" = %i: i64[5]\n"
               "input \"g\" = %g: i32[2,3,1]\n"
               "input \"m\" = %m: bool[2,3,4]\n"
               "input \"one\" = %one: i64[1]\n"
               "input \"v\" = %v: f32[4]\n"
               "%fill: i32[2,s] = fill() {dtype=i32, sizes=[2,s], value=3}\n"
               "%iota: i64[s] = iota() {dtype=i64, size=s, start=0, step=1}\n"
               "%empty: f16[] = empty() {dtype=f16, sizes=[]}\n"
               "%reshape: f32[6,4] = reshape(%x) {sizes=[6,4]}\n"
               "%flat: f32[256*s] = reshape(%q) {sizes=[256*s]}\n"
               "%permute: f32[4,2,3] = permute(%x) {axes=[2,0,1]}\n"
               "%slice: f32[2,3,2] = slice(%x) {dim=2, end=4, start=1, step=2}\n"
               "%expand: i64[5] = expand(%one) {sizes=[5]}\n"
               "%diagonal: f32[2,3] = diagonal(%x) {dim1=1, dim2=2, offset=1}\n"
               "%unfold: f32[2,3,2,3] = unfold(%x) {dim=2, size=3, step=1}\n"
               "%unary: bool[2,3,4] = unary(%x) {op=isnan}\n"
               "%scalar: f32[2,3,4] = binary(%x) {op=pow, scalar=2, scalar_first=true}\n"
               "%less: bool[2,3,4] = binary(%x, %x) {op=lt}\n"
               "%where: f32[2,3,4] = where(%m, %x, %x)\n"
               "%cast: i64[2,3,4] = cast(%x) {dtype=i64}\n"
               "%copy: f32[2,3,4] = copy(%x)\n"
               "%mean: f32[1,3,1] = reduce(%x) {axes=[0,2], keepdim=true, op=mean}\n"
               "%argmax: i64[2,3] = reduce(%x) {axes=[2], keepdim=false, op=argmax}\n"
               "%any: bool[] = reduce(%x) {axes=[0,1,2], keepdim=false, op=any}\n"
               "%max: f32[2,4], %at: i64[2,4] = reduce_index(%x) {dim=1, keepdim=false, op=amax}\n"
               "%scan: f32[2,3,4] = scan(%x) {dim=0, op=cumsum}\n"
               "%softmax: f32[2,3,4] = softmax(%x) {dim=2, log=false}\n"
               "%ln: f32[2,3,4] = layer_norm(%x, %v, %v) {count=1, eps=1e-05}\n"
               "%rms: f32[2,3,4] = rms_norm(%x) {count=2, eps=1e-05}\n"
               "%sorted: f32[2,3,4], %order: i64[2,3,4] = sort(%x) {descending=true, dim=2}\n"
               "%top: f32[2,3,2], %which: i64[2,3,2] = topk(%x) {count=2, descending=true, dim=2}\n"
               "%xt: f32[2,4,3] = permute(%x) {axes=[0,2,1]}\n"
               "%matmul: f32[2,3,3] = matmul(%x, %xt)\n"
               "%conv: f32[1,6,4,8] = conv(%c, %w) {dilation=[1,1], groups=2, output_padding=[0,0], padding=[1,1], "
               "stride=[2,1], transposed=false}\n"
               "%deconv: f32[1,3,16,8] = conv(%c, %wt) {dilation=[1,1], groups=1, output_padding=[1,0], padding=[1,1], "
               "stride=[2,1], transposed=true}\n"
               "%pool: f32[1,4,4,3] = pool(%c) {ceil_mode=true, count_pad=true, dilation=[1,1], kernel=[2,3], op=avg, "
               "padding=[0,0], stride=[2,3]}\n"
               "%attention: f32[2,8,s,16] = attention(%q, %k, %k) {causal=true, scale=0.25}\n"
               "%concat: f32[2,6,4] = concat(%x, %x) {dim=1}\n"
               "%pad: f32[2,6,4] = pad(%x) {after=[0,2,0], before=[0,1,0], op=constant, value=0}\n"
               "%flip: f32[2,3,4] = flip(%x) {dims=[0,2]}\n"
               "%triangle: f32[2,3,4] = triangle(%x) {offset=0, op=lower}\n"
               "%index: f32[2,5,4] = index(%x, %i) {dims=[1], wrap=true}\n"
               "%apart: f32[5,3] = index(%x, %i, %i) {dims=[0,2], wrap=true}\n"
               "%gather: f32[2,3,1] = gather(%x, %g) {dim=2}\n"
               "%su: f32[2,3,4] = slice_update(%x, %slice) {dim=2, end=4, start=1, step=2}\n"
               "%iu: f32[2,5,4] = index_update(%index, %index, %i) {accumulate=false, dims=[1], wrap=false}\n"
               "%scatter: f32[2,3,4] = scatter_update(%x, %x, %g) {dim=2, op=add}\n"
               "%shift: f32[2,6,4] = shift_update(%concat, %x) {dim=1}\n"
               "%mask: f32[2,3,4] = mask_update(%x, %copy, %m)\n"
               "item(%one) {symbol=u0}\n");
    assert_int_equal(network->assert_count, 0);
    network_destroy(network);
}

static void layers_that_do_not_fit_are_refused(void **state) {
    (void)state;
    const char *inputs = "symbol s: int in 2..64\n"
                         "input \"a\" = %a: f32[2,4]\n"
                         "input \"b\" = %b: f32[2,3]\n"
                         "input \"i\" = %i: i64[2,4]\n"
                         "input \"e\" = %e: f32[0]\n";
    expect_refused(inputs, "%r: f32[2,4] = binary(%a, %b) {op=add}", INSITU_SHAPE, "binary(f32[2,4], f32[2,3])");
    expect_refused(inputs, "%r: f32[2,4] = binary(%a, %i) {op=add}", INSITU_ARG, "one dtype");
    expect_refused(inputs, "%r: f32[2,4] = binary(%a) {op=add}", INSITU_ARG, "scalar");
    expect_refused(inputs, "%r: i64[2,4] = binary(%i) {op=add, scalar=0.5}", INSITU_ARG, "a float scalar for i64");
    expect_refused(inputs, "%r: f32[2,4] = unary(%i) {op=exp}", INSITU_ARG, "op exp does not take i64");
    expect_refused(inputs, "%r: f32[2,4] = unary(%a) {op=add}", INSITU_FORMAT, "an op of the layer");
    expect_refused(inputs, "%r: f32[2,4] = unary(%a)", INSITU_ARG, "attribute op is missing");
    expect_refused(inputs, "%r: f32[7] = reshape(%a) {sizes=[7]}", INSITU_SHAPE, "number of elements");
    expect_refused(inputs, "%r: f32[4,2] = permute(%a) {axes=[1,1]}", INSITU_ARG, "distinct dimensions");
    expect_refused(inputs, "%r: f32[2,5] = slice(%a) {dim=1, end=5, start=0, step=1}", INSITU_SHAPE, "end");
    expect_refused(inputs, "%r: f32[2,5] = slice(%a) {dim=2, end=5, start=0, step=1}", INSITU_ARG, "dim is 2");
    expect_refused(inputs, "%r: f32[] = reduce(%e) {axes=[0], keepdim=false, op=amax}", INSITU_SHAPE, "reduced");
    expect_refused(inputs, "%r: f32[2,3] = matmul(%a, %b)", INSITU_SHAPE, "inner size");
    expect_refused(inputs, "%r: f32[2,4] = index(%a, %a) {dims=[0], wrap=true}", INSITU_ARG, "i64 or i32");
    expect_refused(inputs, "%r: f32[2,4] = slice_update(%a, %b) {dim=1, end=2, start=0, step=1}", INSITU_SHAPE,
                   "slice_update(f32[2,4], f32[2,3]): size of the source");
    expect_refused(inputs, "%r: f32[2,4] = unary(%zzz) {op=exp}", INSITU_FORMAT, "%zzz is not defined");
    expect_refused(inputs, "%r: f32[4,2] = unary(%a) {op=exp}", INSITU_FORMAT, "the type that its layer gives");
    expect_refused(inputs, "%r: f32[2,4] = unary(%a) {op=exp} junk", INSITU_FORMAT, "the end of the line");
    expect_refused(inputs, "%r: f32[2,4] = gelu(%a)", INSITU_FORMAT, "a layer kind");
}

static void sizes_that_cannot_be_compared_become_assertions(void **state) {
    (void)state;
    network_t *network = parsed("network\n"
                                "symbol s: int in 2..64\n"
                                "symbol t: int in 2..64\n"
                                "input \"a\" = %a: f32[s]\n"
                                "input \"b\" = %b: f32[t]\n"
                                "%r: f32[s] = binary(%a, %b) {op=add}\n"
                                "%r2: f32[s] = binary(%r, %b) {op=add}\n"
                                "output \"output.0\" = %r2\n");
    assert_int_equal(network->assert_count, 1);
    network_destroy(network);
}

static void results_get_names_of_their_own(void **state) {
    (void)state;
    network_t *network;
    assert_int_equal(network_create(&network), INSITU_OK);
    tensor_id_t x, r;
    shape_t scalar = {0};
    assert_int_equal(network_add_tensor(network, "x", TENSOR_INPUT, DTYPE_F32, &scalar, 0, &x), INSITU_OK);
    layer_draft_t op = draft_of(LAYER_UNARY);
    draft_op(&op, OP_EXP);
    const char *names[] = {"x_1", "x_2", "x_3"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(network_add_layer(network, &op, &x, 1, "x", "", &r, NULL), INSITU_OK);
        assert_string_equal(network_tensor_of(network, r)->name, names[i]);
    }
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(network_add_layer(network, &op, &x, 1, "", "", &r, NULL), INSITU_OK);
    }
    assert_int_equal(network->names.count, network->tensor_count);
    network_destroy(network);
}

static void the_verifier_counts_all_faults(void **state) {
    (void)state;
    network_t *network = parsed("network\n"
                                "input \"a\" = %a: f32[2]\n"
                                "state \"s\" = %s: f32[2] of zeros\n"
                                "%b: f32[2] = unary(%a) {op=exp}\n"
                                "%c: f32[2] = unary(%b) {op=exp}\n"
                                "%d: f32[1] = slice(%c) {dim=0, end=1, start=0, step=1}\n"
                                "next \"s\" = %c\n"
                                "output \"output.0\" = %d\n");
    layer_id_t first = network->order[0];
    network->order[0] = network->order[1];
    network->order[1] = first;
    network->states[0].next = network->outputs[0].tensor;
    insitu_diag diag;
    insitu_diag_init(&diag);
    assert_int_equal(network_verify(network, &diag), INSITU_FORMAT);
    assert_non_null(strstr(diag.message, "2 faults"));
    assert_non_null(strstr(diag.message, "operand 0 is not defined before"));
    assert_non_null(strstr(diag.message, "the next value of 's' has another type"));
    insitu_diag_release(&diag);
    network_destroy(network);
}

static void memory_begins_where_it_begins(void **state) {
    (void)state;
    static const char *const rows[] = {
        "input \"a\" = %a: f32[2]{-1}\n",
        "symbol n: int in 2..8\ninput \"a\" = %a: f32[n,2]{-n,1}\n",
        "state \"a\" = %a: f32[2]+(-4) of zeros\n",
        "state \"a\" = %a: f32[2]{-2} of zeros\n",
        "record \"w\": f32, 8 bytes\nconstant %a: f32[2]+(-1) of record 0\n",
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        network_t *network = NULL;
        char text[256];
        insitu_diag diag;
        insitu_diag_init(&diag);
        snprintf(text, sizeof text,
                 "network\n%s%%b: f32[] = fill() {dtype=f32, sizes=[], value=1}\noutput \"o\" = %%b\n", rows[i]);
        insitu_status status = network_parse(text, &network, &diag);
        if (status == INSITU_OK) status = network_verify(network, &diag);
        assert_int_equal(status, INSITU_FORMAT);
        if (!strstr(diag.message, "%a has a negative stride or offset")) fail_msg("%s", diag.message);
        insitu_diag_release(&diag);
        network_destroy(network);
    }
}

static void dead_layers_constants_and_records_go(void **state) {
    (void)state;
    network_t *network = parsed("network\n"
                                "record \"dead\": f32, 8 bytes\n"
                                "record \"live\": f32, 8 bytes\n"
                                "record \"kept\": i64, 8 bytes\n"
                                "input \"a\" = %a: f32[2]\n"
                                "constant %c: f32[2] of record 0\n"
                                "constant %d: f32[2] of record 1\n"
                                "constant %k: i64[] of record 2\n"
                                "buffer \"kept\": i64[] of record 2\n"
                                "%b: f32[2] = binary(%a, %c) {op=add}\n"
                                "%e: f32[2] = binary(%a, %d) {op=add}\n"
                                "output \"output.0\" = %e\n");
    assert_int_equal(network_remove_dead(network, NULL), INSITU_OK);
    assert_int_equal(network_verify(network, NULL), INSITU_OK);
    expect_text(network, "network\n"
                         "record \"live\": f32, 8 bytes\n"
                         "record \"kept\": i64, 8 bytes\n"
                         "input \"a\" = %a: f32[2]\n"
                         "constant %d: f32[2] of record 0\n"
                         "buffer \"kept\": i64[] of record 1\n"
                         "%e: f32[2] = binary(%a, %d) {op=add}\n"
                         "output \"output.0\" = %e\n");
    network_destroy(network);
}

static const char shift_text[] = "network\n"
                                 "symbol s: int in 1..8\n"
                                 "symbol t: int in 1..9\n"
                                 "input \"a\" = %%a: f32[1,8]\n"
                                 "input \"b\" = %%b: f32[1,%s]\n"
                                 "%%c: f32[1,%s + 8] = concat(%%a, %%b) {dim=1}\n"
                                 "%%r: f32[1,8] = slice(%%c) {dim=1, end=%s + 8, start=%s, step=1}\n"
                                 "mutation \"a\" = %%r\n";

static bool becomes_a_shift(const char *size) {
    text_t source;
    text_init(&source);
    text_printf(&source, shift_text, size, size, size, size);
    network_t *network = parsed(source.data);
    text_release(&source);
    assert_int_equal(network_recognise_shifts(network, NULL), INSITU_OK);
    assert_int_equal(network_remove_dead(network, NULL), INSITU_OK);
    insitu_diag diag;
    insitu_diag_init(&diag);
    if (network_verify(network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    bool shifted = network_layer_of(network, network->order[0])->kind == LAYER_SHIFT_UPDATE;
    assert_int_equal(network->order_count, shifted ? 1 : 2);
    network_destroy(network);
    return shifted;
}

static void a_slice_of_a_concat_becomes_a_shift(void **state) {
    (void)state;
    assert_true(becomes_a_shift("s"));
    assert_true(becomes_a_shift("t")); /* also where more may be added than is kept */
}

static uint32_t evaluations;
static insitu_status fake_evaluate(void *user, const network_t *network, layer_id_t layer, void *out_bytes, size_t size,
                                   insitu_diag *diag) {
    (void)user, (void)diag;
    for (uint32_t i = 0; i < network_layer_of(network, layer)->operand_count; i++) {
        tensor_id_t operand = network_layer_of(network, layer)->operands[i];
        assert_int_equal(network_tensor_of(network, operand)->role, TENSOR_CONSTANT);
    }
    memset(out_bytes, (int)++evaluations, size);
    return INSITU_OK;
}

static void only_constants_are_folded(void **state) {
    (void)state;
    network_t *network = parsed("network\n"
                                "record \"w\": f32, 24 bytes\n"
                                "input \"a\" = %a: f32[3,2]\n"
                                "state \"s\" = %s: f32[2,3] of record 0\n"
                                "constant %w: f32[2,3] of record 0\n"
                                "%t: f32[3,2] = permute(%w) {axes=[1,0]}\n"
                                "%u: f32[3,2] = unary(%t) {op=exp}\n"
                                "%p: f32[3,2] = permute(%w) {axes=[1,0]}\n"
                                "%f: f32[3,2] = fill() {dtype=f32, sizes=[3,2], value=1}\n"
                                "%x: f32[3,2] = binary(%a, %u) {op=add}\n"
                                "%y: f32[3,2] = binary(%x, %p) {op=add}\n"
                                "%z: f32[3,2] = binary(%y, %f) {op=add}\n"
                                "%big: f32[3,3] = matmul(%t, %w)\n"
                                "%s1: f32[2,3] = unary(%s) {op=exp}\n"
                                "next \"s\" = %s1\n"
                                "output \"output.0\" = %z\n"
                                "output \"output.1\" = %big\n");
    evaluations = 0;
    const fold_limits_t limits = {.bytes = 24, .work = 1e6, .total = 1e6};
    assert_int_equal(network_fold_constants(network, fake_evaluate, NULL, &limits, NULL), INSITU_OK);
    assert_int_equal(evaluations, 2); /* t and u; p and f are views and sources, big is too large */
    insitu_diag diag;
    insitu_diag_init(&diag);
    if (network_verify(network, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    expect_text(network, "network\n"
                         "record \"w\": f32, 24 bytes\n"
                         "record \"t\": f32, 24 bytes\n"
                         "record \"u\": f32, 24 bytes\n"
                         "input \"a\" = %a: f32[3,2]\n"
                         "state \"s\" = %s: f32[2,3] of record 0\n"
                         "constant %w: f32[2,3] of record 0\n"
                         "constant %t: f32[3,2] of record 1\n"
                         "constant %u: f32[3,2] of record 2\n"
                         "%p: f32[3,2] = permute(%w) {axes=[1,0]}\n"
                         "%f: f32[3,2] = fill() {dtype=f32, sizes=[3,2], value=1}\n"
                         "%x: f32[3,2] = binary(%a, %u) {op=add}\n"
                         "%y: f32[3,2] = binary(%x, %p) {op=add}\n"
                         "%z: f32[3,2] = binary(%y, %f) {op=add}\n"
                         "%big: f32[3,3] = matmul(%t, %w)\n"
                         "%s1: f32[2,3] = unary(%s) {op=exp}\n"
                         "next \"s\" = %s1\n"
                         "output \"output.0\" = %z\n"
                         "output \"output.1\" = %big\n");
    network_destroy(network);
}

/* How many layers of a network with these lines are folded. */
static uint32_t count_folded(const char *lines, const fold_limits_t *limits) {
    char source[2048];
    snprintf(source, sizeof(source),
             "network\n"
             "record \"w\": f32, 400 bytes\n"
             "constant %%w: f32[10,10] of record 0\n"
             "constant %%wide: f32[1099511627776]{0} of record 0\n"
             "%s"
             "output \"output.0\" = %%r\n",
             lines);
    network_t *network = parsed(source);
    evaluations = 0;
    assert_int_equal(network_fold_constants(network, fake_evaluate, NULL, limits, NULL), INSITU_OK);
    network_destroy(network);
    return evaluations;
}

static void folding_takes_little_work(void **state) {
    (void)state;
    const fold_limits_t limits = {.bytes = 4096, .work = 1000, .total = 2500};
    assert_int_equal(count_folded("%r: f32[] = reduce(%w) {axes=[0,1], keepdim=false, op=sum}\n", &limits), 1);
    /* A small result of many elements, all one stored number. */
    assert_int_equal(count_folded("%r: f32[] = reduce(%wide) {axes=[0], keepdim=false, op=sum}\n", &limits), 0);
    /* A view of them is only what is looked at. */
    assert_int_equal(count_folded("%s: f32[2] = slice(%wide) {dim=0, end=2, start=0, step=1}\n"
                                  "%r: f32[2] = unary(%s) {op=exp}\n",
                                  &limits),
                     2);
    /* 10 x 10 x 10 multiplications, and the operands. */
    assert_int_equal(count_folded("%r: f32[10,10] = matmul(%w, %w)\n", &limits), 0);
    const fold_limits_t product = {.bytes = 4096, .work = 1200, .total = 2500};
    assert_int_equal(count_folded("%r: f32[10,10] = matmul(%w, %w)\n", &product), 1);
    /* 300 for each of these: eight within the total. */
    assert_int_equal(count_folded("%a: f32[10,10] = binary(%w, %w) {op=add}\n"
                                  "%b: f32[10,10] = binary(%a, %w) {op=add}\n"
                                  "%c: f32[10,10] = binary(%b, %w) {op=add}\n"
                                  "%d: f32[10,10] = binary(%c, %w) {op=add}\n"
                                  "%e: f32[10,10] = binary(%d, %w) {op=add}\n"
                                  "%f: f32[10,10] = binary(%e, %w) {op=add}\n"
                                  "%g: f32[10,10] = binary(%f, %w) {op=add}\n"
                                  "%h: f32[10,10] = binary(%g, %w) {op=add}\n"
                                  "%r: f32[10,10] = binary(%h, %w) {op=add}\n",
                                  &limits),
                     8);
}

static uint8_t *buffers[32];
static uint32_t buffer_count;

/* Fills a value with the number of its evaluation, and notes its memory. */
static insitu_status numbered_evaluate(void *user, const network_t *network, layer_id_t layer, void *data, size_t size,
                                       insitu_diag *diag) {
    (void)user, (void)network, (void)layer, (void)diag;
    uint32_t i = 0;
    while (i < buffer_count && buffers[i] != data) i++;
    if (i == buffer_count) buffers[buffer_count++] = data;
    memset(data, (int)++evaluations, size);
    return INSITU_OK;
}

/* A chain, one value of which is an output, and another of which is read at the end by what is not evaluated. */
static void memory_of_folded_values_is_used_again(void **state) {
    (void)state;
    network_t *network = parsed("network\n"
                                "record \"w\": f32, 4096 bytes\n"
                                "input \"x\" = %x: f32[32,32]\n"
                                "constant %w: f32[32,32] of record 0\n"
                                "%a: f32[32,32] = unary(%w) {op=exp}\n"
                                "%b: f32[32,32] = binary(%a, %a) {op=add}\n"
                                "%t: f32[32,32] = permute(%b) {axes=[1,0]}\n"
                                "%c: f32[32,32] = unary(%t) {op=exp}\n"
                                "%d: f32[32,32] = unary(%c) {op=exp}\n"
                                "%e: f32[32,32] = unary(%d) {op=exp}\n"
                                "%f: f32[32,32] = unary(%e) {op=exp}\n"
                                "%g: f32[32,32] = binary(%f, %x) {op=add}\n"
                                "%h: f32[32,32] = binary(%g, %t) {op=add}\n"
                                "output \"output.0\" = %c\n"
                                "output \"output.1\" = %h\n");
    evaluations = buffer_count = 0;
    const fold_limits_t limits = {.bytes = 4096, .work = 1e6, .total = 1e7};
    assert_int_equal(network_fold_constants(network, numbered_evaluate, NULL, &limits, NULL), INSITU_OK);
    assert_int_equal(evaluations, 7);
    assert_int_equal(buffer_count, 4); /* t, c, f, and one that the others take in turn */
    assert_int_equal(network->constant_count, 3);
    const uint8_t expected[] = {3, 4, 7};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(network->records[network->constants[i].record].data[4095], expected[i]);
    network_destroy(network);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_printed_and_parsed),
        cmocka_unit_test(inference_of_every_layer_kind),
        cmocka_unit_test(layers_that_do_not_fit_are_refused),
        cmocka_unit_test(sizes_that_cannot_be_compared_become_assertions),
        cmocka_unit_test(results_get_names_of_their_own),
        cmocka_unit_test(the_verifier_counts_all_faults),
        cmocka_unit_test(memory_begins_where_it_begins),
        cmocka_unit_test(dead_layers_constants_and_records_go),
        cmocka_unit_test(a_slice_of_a_concat_becomes_a_shift),
        cmocka_unit_test(only_constants_are_folded),
        cmocka_unit_test(folding_takes_little_work),
        cmocka_unit_test(memory_of_folded_values_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
