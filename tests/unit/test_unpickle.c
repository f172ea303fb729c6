/* The unpickler: what each opcode gives, and that everything else is refused by its place and its name. */
#include "unit_test.h"

#include "archive/unpickle.h"
#include "pickle_writer.h"

#include <stdlib.h>

/* A pickle from a string literal with escapes. */
#define BYTES(literal) literal, sizeof(literal) - 1

/* The status; data is in a block of its own, so that a read beyond it is found. */
static insitu_status read_pickle(arena_t *arena, const void *data, size_t size, const pickled_t **out,
                                 insitu_diag *diag) {
    insitu_diag_init(diag);
    uint8_t *own = malloc(size ? size : 1);
    if (size) memcpy(own, data, size);
    insitu_status status = unpickle(arena, "p", own, size, out, diag);
    free(own);
    if (status != INSITU_OK) {
        assert_null(*out);
        assert_int_equal(diag->status, status);
        assert_ptr_equal(strstr(diag->message, "p, byte "), diag->message);
    }
    return status;
}

static const pickled_t *good(arena_t *arena, const char *data, size_t size) {
    const pickled_t *value;
    insitu_diag diag;
    if (read_pickle(arena, data, size, &value, &diag) != INSITU_OK) fail_msg("%s", diag.message);
    return value;
}

static void numbers_are_read(void **state) {
    (void)state;
    static const struct {
        const char *data;
        size_t size;
        int64_t number;
    } cases[] = {{BYTES("\x80\x02K\x05."), 5},
                 {BYTES("K\xff."), 255},
                 {BYTES("M\x34\x12."), 0x1234},
                 {BYTES("J\xfe\xff\xff\xff."), -2},
                 {BYTES("J\xff\xff\xff\x7f."), INT32_MAX},
                 {BYTES("\x8a\x00."), 0},
                 {BYTES("\x8a\x01\xff."), -1},
                 {BYTES("\x8a\x02\xff\x00."), 255},
                 {BYTES("\x8b\x03\0\0\0\x00\x00\x01."), 65536},
                 {BYTES("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."), INT64_MAX},
                 {BYTES("\x8a\x08\0\0\0\0\0\0\0\x80."), INT64_MIN}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        arena_t arena;
        arena_init(&arena);
        const pickled_t *value = good(&arena, cases[i].data, cases[i].size);
        assert_int_equal(value->kind, PICKLED_INT);
        assert_true(value->number == cases[i].number);
        arena_release(&arena);
    }
}

static void plain_values_are_read(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    assert_int_equal(good(&arena, BYTES("N."))->kind, PICKLED_NONE);
    assert_int_equal(good(&arena, BYTES("\x88."))->number, 1);
    assert_int_equal(good(&arena, BYTES("\x89."))->number, 0);
    assert_true(good(&arena, BYTES("G\xbf\xf8\0\0\0\0\0\0."))->real == -1.5);
    static const char *const text_forms[] = {"X\3\0\0\0abc.", "\x8c\3abc."};
    static const size_t text_sizes[] = {9, 6};
    for (size_t i = 0; i < COUNT_OF(text_forms); i++) {
        const pickled_t *text = good(&arena, text_forms[i], text_sizes[i]);
        assert_int_equal(text->kind, PICKLED_TEXT);
        assert_string_equal(text->text, "abc");
        assert_int_equal(text->size, 3);
    }
    assert_string_equal(good(&arena, BYTES("\x8d\2\0\0\0\0\0\0\0hi."))->text, "hi");
    arena_release(&arena);
}

static void containers_are_read(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    assert_int_equal(good(&arena, BYTES(")."))->count, 0);
    const pickled_t *tuple = good(&arena, BYTES("K\1K\2K\3\x87."));
    assert_int_equal(tuple->kind, PICKLED_TUPLE);
    assert_int_equal(tuple->count, 3);
    assert_int_equal(tuple->items[0]->number, 1);
    assert_int_equal(tuple->items[2]->number, 3);
    tuple = good(&arena, BYTES("(K\1(K\2tNt."));
    assert_int_equal(tuple->count, 3);
    assert_int_equal(tuple->items[1]->kind, PICKLED_TUPLE);
    assert_int_equal(tuple->items[1]->items[0]->number, 2);
    const pickled_t *list = good(&arena, BYTES("]K\1a(K\2K\3e."));
    assert_int_equal(list->kind, PICKLED_LIST);
    assert_int_equal(list->count, 3);
    assert_int_equal(list->items[2]->number, 3);
    const pickled_t *dict = good(&arena, BYTES("}X\1\0\0\0aK\1s(X\1\0\0\0bK\2X\1\0\0\0cK\3u."));
    assert_int_equal(dict->kind, PICKLED_DICT);
    assert_int_equal(dict->count, 6);
    assert_string_equal(dict->items[4]->text, "c");
    assert_int_equal(dict->items[5]->number, 3);
    dict = good(&arena, BYTES("ccollections\nOrderedDict\n)R}X\1\0\0\0mK\1sb."));
    assert_int_equal(dict->kind, PICKLED_DICT);
    assert_int_equal(dict->count, 0);
    arena_release(&arena);
}

static void memo_and_frames_are_read(void **state) {
    (void)state;
    arena_t arena;
    arena_init(&arena);
    const pickled_t *tuple = good(&arena, BYTES("\x80\x04\x95\x08\0\0\0\0\0\0\0K\7\x94h\0\x86\x94."));
    assert_int_equal(tuple->count, 2);
    assert_ptr_equal(tuple->items[0], tuple->items[1]);
    tuple = good(&arena, BYTES("K\7r\0\0\0\0N\x94j\0\0\0\0h\1\x87K\1\x87."));
    assert_int_equal(tuple->items[1]->items[1]->number, 7);
    assert_int_equal(tuple->items[1]->items[2]->kind, PICKLED_NONE);
    tuple = good(&arena, BYTES("]q\0h\0a.")); /* a list of itself */
    assert_ptr_equal(tuple->items[0], tuple);
    const pickled_t *global = good(&arena, BYTES("\x8c\5torch\x8c\7float32\x93."));
    assert_int_equal(global->kind, PICKLED_GLOBAL);
    assert_int_equal(good(&arena, BYTES("ctorch\nSize\nK\2\x85\x85R."))->count, 1);
    arena_release(&arena);
}

static void tensors_are_read(void **state) {
    (void)state;
    static const pickle_view_t typed = {.storage = "HalfStorage",
                                        .key = "12",
                                        .count = 70000,
                                        .offset = 300,
                                        .rank = 2,
                                        .sizes = {3, 4},
                                        .strides = {1, 3}},
                               untyped = {.storage = "UntypedStorage",
                                          .key = "0",
                                          .count = 8,
                                          .rank = 1,
                                          .sizes = {4},
                                          .strides = {1},
                                          .dtype = "uint16",
                                          .bits = "neg"};
    pickle_writer_t pickle;
    arena_t arena;
    arena_init(&arena);
    pickle_begin(&pickle);
    pickle_parameter(&pickle, &typed);
    pickle_buffer(&pickle, "Tensor", &untyped);
    pickle_put(&pickle, "\x86.", 2);
    const pickled_t *both = good(&arena, (const char *)pickle.bytes, pickle.size);
    const pickled_tensor_t *first = both->items[0]->tensor, *second = both->items[1]->tensor;
    assert_int_equal(both->items[0]->kind, PICKLED_TENSOR);
    assert_string_equal(first->storage->key, "12");
    assert_true(first->storage->count == 70000 && first->offset == 300);
    assert_int_equal(first->dtype, DTYPE_F16);
    assert_int_equal(first->sizes->items[1]->number, 4);
    assert_int_equal(first->strides->items[1]->number, 3);
    assert_true(first->is_param && !first->has_lazy_bits);
    assert_int_equal(second->dtype, DTYPE_U16);
    assert_int_equal(second->storage->dtype, DTYPE_U8);
    assert_true(second->storage->count == 8);
    assert_true(!second->is_param && second->has_lazy_bits);
    arena_release(&arena);
}

/* ---- what is refused ---- */

#define STORAGE_ID(tag, class, key, count) "(X\7\0\0\0" tag class key "X\3\0\0\0cpu" count "tQ"
#define FLOATS                                                                                                         \
    STORAGE_ID("storage", "ctorch\nFloatStorage\n",                                                                    \
               "X\1\0\0\0"                                                                                             \
               "0",                                                                                                    \
               "K\4")
#define V2 "ctorch._utils\n_rebuild_tensor_v2\n"
#define HOOKS "ccollections\nOrderedDict\n)R"
#define UNSUPPORTED INSITU_UNSUPPORTED
#define FORMAT INSITU_FORMAT

static const struct refusal {
    const char *data;
    size_t size;
    insitu_status status;
    const char *part;
} refusals[] = {
    {BYTES(""), FORMAT, "byte 0, end: the record ends before the opcode STOP"},
    {BYTES("N"), FORMAT, "byte 1, end: the record ends"},
    {BYTES("NN."), FORMAT, "byte 2, STOP: it leaves 0 marks and 2 values"},
    {BYTES("N(."), FORMAT, "it leaves 1 marks and 1 values"},
    {BYTES("."), FORMAT, "it leaves 0 marks and 0 values"},
    {BYTES("N.N"), FORMAT, "1 bytes follow it"},
    {BYTES("\x80\x06."), UNSUPPORTED, "byte 0, PROTO: pickle protocol 6"},
    {BYTES("\x80"), FORMAT, "PROTO: it needs 1 bytes where the record has 0 left"},
    {BYTES("\x95\x09\0\0\0\0\0\0\0."), FORMAT, "FRAME: a frame of 9 bytes"},
    {BYTES("\x01."), FORMAT, "byte 0, opcode: 0x01 is not an opcode"},
    {BYTES("\xff."), FORMAT, "0xff is not an opcode"},
    {BYTES("I5\n."), UNSUPPORTED, "INT: this opcode is not read"},
    {BYTES("(ios\nsystem\n."), UNSUPPORTED, "byte 1, INST: this opcode is not read"},
    {BYTES("ctorch\nSize\n)\x81."), UNSUPPORTED, "byte 13, NEWOBJ"},
    {BYTES("\x82\x01."), UNSUPPORTED, "EXT1"},
    {BYTES("(NNd."), UNSUPPORTED, "DICT"},
    {BYTES("N2."), UNSUPPORTED, "DUP"},
    {BYTES("J\1\2"), FORMAT, "BININT: it needs 4 bytes where the record has 2 left"},
    {BYTES("\x8a\x09\0\0\0\0\0\0\0\0\1."), UNSUPPORTED, "LONG1: an integer of 9 bytes"},
    {BYTES("\x8b\xff\xff\xff\xff."), UNSUPPORTED, "LONG4: an integer of 4294967295 bytes"},
    {BYTES("X\xff\xff\xff\xff"
           "a."),
     FORMAT, "BINUNICODE: it needs 4294967295 bytes where the record has 2 left"},
    {BYTES("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
           "a."),
     FORMAT, "BINUNICODE8: it needs 18446744073709551615 bytes"},
    {BYTES("t."), FORMAT, "TUPLE: there is no mark"},
    {BYTES("N\x86."), FORMAT, "TUPLE2: it needs 2 values where the stack has 1"},
    {BYTES("N(\x85."), FORMAT, "TUPLE1: it needs 1 values where the stack has 0"},
    {BYTES("NNNs."), FORMAT, "SETITEM: None where a dict was expected"},
    {BYTES("}(Nu."), FORMAT, "SETITEMS: the last of 1 keys and values has no value"},
    {BYTES("(NNu."), FORMAT, "SETITEMS: it needs 1 values where the stack has 0"},
    {BYTES(")Na."), FORMAT, "APPEND: a tuple where a list was expected"},
    {BYTES("N)b."), UNSUPPORTED, "BUILD: attributes of None"},
    {BYTES("h\0."), FORMAT, "BINGET: memo place 0 is empty"},
    {BYTES("Nq\0h\1."), FORMAT, "BINGET: memo place 1 is empty"},
    {BYTES("Nq\1."), FORMAT, "BINPUT: memo place 1 where 0 would be next"},
    {BYTES("Nr\xff\xff\xff\xff."), FORMAT, "LONG_BINPUT: memo place 4294967295"},
    {BYTES("q\0."), FORMAT, "BINPUT: it needs 1 values"},
    {BYTES("cos\nsystem\nX\2\0\0\0ls\x85R."), UNSUPPORTED, "byte 0, GLOBAL: the global 'os.system' is not read"},
    {BYTES("cposix\nsystem\n."), UNSUPPORTED, "'posix.system'"},
    {BYTES("cbuiltins\neval\n."), UNSUPPORTED, "'builtins.eval'"},
    {BYTES("c__builtin__\ngetattr\n."), UNSUPPORTED, "'__builtin__.getattr'"},
    {BYTES("\x8c\2os\x8c\6system\x93."), UNSUPPORTED, "byte 12, STACK_GLOBAL: the global 'os.system'"},
    {BYTES("N\x8c\6system\x93."), FORMAT, "STACK_GLOBAL: None where a string was expected"},
    {BYTES("ctorch\nQUInt8Storage\n."), UNSUPPORTED, "'torch.QUInt8Storage'"},
    {BYTES("ctorch\nSize\x01\n."), UNSUPPORTED, "'torch.Size?'"},
    {BYTES("ctorch\nSize"), FORMAT, "the record ends inside a name"},
    {BYTES("ctorch._export.serde.serialize\n_reconstruct_fake_tensor\n."), FORMAT, "the file has no weights"},
    {BYTES("ctorch._utils\n_rebuild_qtensor\n."), UNSUPPORTED, "builds a quantized tensor"},
    {BYTES("N)R."), FORMAT, "REDUCE: None is called"},
    {BYTES("ctorch\nSize\nNR."), FORMAT, "None where the arguments of a call"},
    {BYTES("ctorch\nfloat32\n)R."), FORMAT, "'torch.float32' is called"},
    {BYTES("ctorch\nSize\n)R."), FORMAT, "'torch.Size' is given 0 arguments"},
    {BYTES("ccollections\nOrderedDict\nN\x85R."), FORMAT, "is given 1 arguments where 0 to 0"},
    {BYTES("NQ."), FORMAT, "BINPERSID: the id is not of the form"},
    {BYTES(STORAGE_ID("storagf", "ctorch\nFloatStorage\n",
                      "X\1\0\0\0"
                      "0",
                      "K\4") "."),
     FORMAT, "not of the form"},
    {BYTES(STORAGE_ID("storage", "ctorch\nfloat32\n",
                      "X\1\0\0\0"
                      "0",
                      "K\4") "."),
     FORMAT, "'torch.float32' is not a class of storages"},
    {BYTES(STORAGE_ID("storage", "ctorch\nFloatStorage\n", "X\0\0\0\0", "K\4") "."), FORMAT, "the storage's key"},
    {BYTES(STORAGE_ID("storage", "ctorch\nFloatStorage\n",
                      "X\2\0\0\0"
                      "0\0",
                      "K\4") "."),
     FORMAT, "the storage's key"},
    {BYTES(STORAGE_ID("storage", "ctorch\nFloatStorage\n",
                      "X\1\0\0\0"
                      "0",
                      "\x8a\1\xff") "."),
     FORMAT, "a storage of -1 elements"},
    {BYTES(V2 "(" FLOATS "K\0K\4\x85K\1\x85\x89t"
              "R."),
     FORMAT, "is given 5 arguments where 6 to 7"},
    {BYTES(V2 "(NK\0K\4\x85K\1\x85\x89" HOOKS "tR."), FORMAT, "is given None as argument 0, where a storage"},
    {BYTES(V2 "(" FLOATS "NK\4\x85K\1\x85\x89" HOOKS "tR."), FORMAT, "None as argument 1, where an integer"},
    {BYTES(V2 "(" FLOATS "\x8a\1\xffK\4\x85K\1\x85\x89" HOOKS "tR."), FORMAT, "offset -1 is negative"},
    {BYTES(V2 "(" FLOATS "K\0K\4\x85\x8a\1\xff\x85\x89" HOOKS "tR."), FORMAT, "stride 0 is not a number >= 0"},
    {BYTES(V2 "(" FLOATS "K\0N\x85K\1\x85\x89" HOOKS "tR."), FORMAT, "size 0 is not a number >= 0"},
    {BYTES(V2 "(" FLOATS "K\0K\4K\4\x86K\1\x85\x89" HOOKS "tR."), FORMAT, "1 strides for 2 sizes"},
    {BYTES(V2 "(" FLOATS "K\0(KKKKKKKKKKKKKKKKKKKKKKKKKKtK\1\x85\x89" HOOKS "tR."), UNSUPPORTED, "a tensor of rank 13"},
    {BYTES("ctorch._utils\n_rebuild_tensor_v3\n(" FLOATS "K\0K\4\x85K\1\x85\x89" HOOKS "ctorch\nSize\ntR."), FORMAT,
     "'Size' is not a dtype"},
    {BYTES("ctorch._utils\n_rebuild_parameter\n(N\x89" HOOKS "tR."), FORMAT, "None as argument 0, where a tensor"},
    {BYTES("ctorch._tensor\n_rebuild_from_type_v2\n(ctorch\nSize\nctorch\nTensor\n)}tR."), FORMAT,
     "'torch.Size' builds no plain tensor"},
    {BYTES("ctorch._tensor\n_rebuild_from_type_v2\n(" V2 "ctorch\nSize\n)}tR."), FORMAT,
     "'torch.Size' is not a class of tensors"},
};

static void wrong_pickles_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        arena_t arena;
        const pickled_t *value;
        insitu_diag diag;
        arena_init(&arena);
        insitu_status status = read_pickle(&arena, refusals[i].data, refusals[i].size, &value, &diag);
        if (status != refusals[i].status || !strstr(diag.message, refusals[i].part))
            fail_msg("%s: '%s' where '%s' was expected", insitu_status_name(status), diag.message, refusals[i].part);
        arena_release(&arena);
    }
}

static void write_example(pickle_writer_t *pickle) {
    static const pickle_view_t view = {
        .storage = "FloatStorage", .key = "0", .count = 6, .rank = 2, .sizes = {2, 3}, .strides = {3, 1}};
    pickle_begin_dict(pickle);
    pickle_text(pickle, "w");
    pickle_parameter_with_state(pickle, &view);
    pickle_text(pickle, "b");
    pickle_buffer(pickle, "Tensor", &view);
    pickle_end_dict(pickle);
}

static void try_bytes(const uint8_t *data, size_t size, insitu_status expected) {
    arena_t arena;
    const pickled_t *value;
    insitu_diag diag;
    arena_init(&arena);
    insitu_status status = read_pickle(&arena, data, size, &value, &diag);
    if (expected != INSITU_OK) assert_int_equal(status, expected);
    arena_release(&arena);
}

static void truncated_pickles_are_refused(void **state) {
    (void)state;
    pickle_writer_t pickle;
    write_example(&pickle);
    for (size_t size = 0; size < pickle.size; size++) try_bytes(pickle.bytes, size, INSITU_FORMAT);
}

static void changed_bytes_never_crash(void **state) {
    (void)state;
    pickle_writer_t pickle;
    write_example(&pickle);
    for (size_t i = 0; i < pickle.size; i++) {
        uint8_t before = pickle.bytes[i];
        for (unsigned change = 1; change < 256; change += 7) {
            pickle.bytes[i] = (uint8_t)(before ^ change);
            try_bytes(pickle.bytes, pickle.size, INSITU_OK);
        }
        pickle.bytes[i] = before;
    }
}

/* count times one opcode after a beginning, and an end */
static insitu_status repeated(const char *begin, char opcode, size_t count, const char *end) {
    arena_t arena;
    const pickled_t *value;
    insitu_diag diag;
    size_t begin_size = strlen(begin), size = begin_size + count + strlen(end);
    char *data = malloc(size);
    memcpy(data, begin, begin_size);
    memset(data + begin_size, opcode, count);
    memcpy(data + begin_size + count, end, strlen(end));
    arena_init(&arena);
    insitu_status status = read_pickle(&arena, data, size, &value, &diag);
    arena_release(&arena);
    free(data);
    return status;
}

static void depth_is_bounded_by_the_size_alone(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    assert_int_equal(repeated("N", '\x85', DEPTH, "."), INSITU_OK);
    assert_int_equal(repeated("", '(', DEPTH, "."), INSITU_FORMAT);
    assert_int_equal(repeated("(", ')', DEPTH, "t."), INSITU_OK);
    assert_int_equal(repeated("", '}', DEPTH, "."), INSITU_FORMAT);
    assert_int_equal(repeated("N", '\x94', DEPTH, "."), INSITU_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(plain_values_are_read),
        cmocka_unit_test(containers_are_read),
        cmocka_unit_test(memo_and_frames_are_read),
        cmocka_unit_test(tensors_are_read),
        cmocka_unit_test(wrong_pickles_are_refused),
        cmocka_unit_test(truncated_pickles_are_refused),
        cmocka_unit_test(changed_bytes_never_crash),
        cmocka_unit_test(depth_is_bounded_by_the_size_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
