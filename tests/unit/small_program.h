/* A small program in the format of .pt2 files, for tests of the archive room: opening it, and changing it. */
#ifndef SMALL_PROGRAM_H
#define SMALL_PROGRAM_H

#include "archive/archive.h"
#include "counting_allocator.h"
#include "unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A weight (its transpose is stored), a buffer that is a view of the weight's storage, a mutated constant, two user inputs. */
#define META(dtype, sizes, strides, offset)                                                                            \
    "{\"dtype\": " dtype ", \"sizes\": [" sizes                                                                        \
    "], \"requires_grad\": false, \"device\": {\"type\": \"cpu\", \"index\": null}, "                                  \
    "\"strides\": [" strides "], \"storage_offset\": {\"as_int\": " offset "}, \"layout\": 7}"
#define N(number) "{\"as_int\": " number "}"
#define S77 "{\"as_expr\": {\"expr_str\": \"Symbol('s77', positive=True, integer=True)\", \"hint\": {\"as_int\": 4}}}"

static const char model_json[] =
    "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": {\"name\": \"p_w\"}}, {\"as_tensor\": {\"name\": "
    "\"b_v\"}}, "
    "{\"as_tensor\": {\"name\": \"c_k\"}}, {\"as_tensor\": {\"name\": \"x\"}}, {\"as_string\": \"max\"}],\n"
    "\"outputs\": [{\"as_tensor\": {\"name\": \"add\"}}, {\"as_none\": true}],\n"
    "\"nodes\": [{\"target\": \"torch.ops.aten.sym_size.int\", \"inputs\": [{\"name\": \"self\", \"arg\": "
    "{\"as_tensor\": {\"name\": "
    "\"x\"}}, \"kind\": 1}, {\"name\": \"dim\", \"arg\": {\"as_int\": 0}, \"kind\": 1}], \"outputs\": "
    "[{\"as_sym_int\": {\"as_name\": "
    "\"sym_size_int\"}}], \"metadata\": {\"stack_trace\": \"  File \\\"/home/me/model.py\\\", line 41, in forward\\n   "
    " y = "
    "x.view(-1)\\n  File \\\"/usr/lib/python3/dist-packages/torch/nn/modules/linear.py\\\", line 7, in forward\\n\", "
    "\"nn_module_stack\": \"L__self__,,m.Model;L__self___sub,layers.0.sub,m.Sub\"}, \"is_hop_single_tensor_return\": "
    "null, "
    "\"name\": \"sym_size_int\"},\n"
    "{\"target\": \"torch.ops.aten.add.Tensor\", \"inputs\": [{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": "
    "\"x\"}}, "
    "\"kind\": 1}, {\"name\": \"other\", \"arg\": {\"as_tensor\": {\"name\": \"c_k\"}}, \"kind\": 1}, {\"name\": "
    "\"alpha\", \"arg\": "
    "{\"as_float\": \"-Infinity\"}, \"kind\": 2}], \"outputs\": [{\"as_tensor\": {\"name\": \"add\"}}], \"metadata\": "
    "{}, \"name\": "
    "\"add\"}],\n"
    "\"tensor_values\": {\"p_w\": " META("7", N("2") ", " N("3"), N("1") ", " N("2"), "0") ", \"b_v\": " META(
        "7", N("2"), N("1"),
        "4") ", \"c_k\": " META("5", "", "",
                                "0") ", \"x\": " META("7", S77, N("1"),
                                                      "0") ", \"add\": " META("7", S77, N("1"),
                                                                              "0") "},\n"
                                                                                   "\"sym_int_values\": "
                                                                                   "{\"sym_size_int\": " S77
                                                                                   "}, \"sym_bool_values\": {}, "
                                                                                   "\"is_single_tensor_return\": "
                                                                                   "false, "
                                                                                   "\"custom_obj_values\": {}, "
                                                                                   "\"sym_float_values\": {}},\n"
                                                                                   "\"signature\": {\"input_specs\": "
                                                                                   "[{\"parameter\": {\"arg\": "
                                                                                   "{\"name\": \"p_w\"}, "
                                                                                   "\"parameter_name\": \"lin.w\"}}, "
                                                                                   "{\"buffer\": "
                                                                                   "{\"arg\": {\"name\": \"b_v\"}, "
                                                                                   "\"buffer_name\": \"v\", "
                                                                                   "\"persistent\": true}}, "
                                                                                   "{\"tensor_constant\": {\"arg\": "
                                                                                   "{\"name\": "
                                                                                   "\"c_k\"}, "
                                                                                   "\"tensor_constant_name\": \"k\"}}, "
                                                                                   "{\"user_input\": {\"arg\": "
                                                                                   "{\"as_tensor\": {\"name\": "
                                                                                   "\"x\"}}}}, "
                                                                                   "{\"constant_input\": {\"name\": "
                                                                                   "\"mode\", \"value\": "
                                                                                   "{\"as_string\": \"max\"}}}],\n"
                                                                                   "\"output_specs\": "
                                                                                   "[{\"user_output\": {\"arg\": "
                                                                                   "{\"as_tensor\": {\"name\": "
                                                                                   "\"add\"}}}}, {\"user_output\": "
                                                                                   "{\"arg\": {\"as_none\": "
                                                                                   "true}}}]},\n"
                                                                                   "\"module_call_graph\": [{\"fqn\": "
                                                                                   "\"\", \"signature\": {\"inputs\": "
                                                                                   "[], \"outputs\": [], \"in_spec\": "
                                                                                   "\"[1, {\\\"type\\\": "
                                                                                   "\\\"builtins.tuple\\\", "
                                                                                   "\\\"context\\\": \\\"null\\\", "
                                                                                   "\\\"children_spec\\\": "
                                                                                   "[{\\\"type\\\": "
                                                                                   "\\\"builtins.tuple\\\", "
                                                                                   "\\\"context\\\": \\\"null\\\", "
                                                                                   "\\\"children_spec\\\": "
                                                                                   "[{\\\"type\\\": "
                                                                                   "\\\"builtins.list\\\", "
                                                                                   "\\\"context\\\": \\\"null\\\", "
                                                                                   "\\\"children_spec\\\": "
                                                                                   "[{\\\"type\\\": null, "
                                                                                   "\\\"context\\\": null, "
                                                                                   "\\\"children_spec\\\": []}]}]}, "
                                                                                   "{\\\"type\\\": "
                                                                                   "\\\"builtins.dict\\\", "
                                                                                   "\\\"context\\\": "
                                                                                   "\\\"[\\\\\\\"mode\\\\\\\"]\\\", "
                                                                                   "\\\"children_spec\\\": "
                                                                                   "[{\\\"type\\\": null, "
                                                                                   "\\\"context\\\": null, "
                                                                                   "\\\"children_spec\\\": []}]}]}]\", "
                                                                                   "\"out_spec\": \"[1, {\\\"type\\\": "
                                                                                   "\\\"builtins.tuple\\\", "
                                                                                   "\\\"context\\\": \\\"null\\\", "
                                                                                   "\\\"children_spec\\\": "
                                                                                   "[{\\\"type\\\": null, "
                                                                                   "\\\"context\\\": null, "
                                                                                   "\\\"children_spec\\\": []}, "
                                                                                   "{\\\"type\\\": null, "
                                                                                   "\\\"context\\\": null, "
                                                                                   "\\\"children_spec\\\": []}]}]\", "
                                                                                   "\"forward_arg_names\": [\"a_0\", "
                                                                                   "\"mode\"]}}],\n"
                                                                                   "\"metadata\": {}, "
                                                                                   "\"treespec_namedtuple_fields\": "
                                                                                   "{}}, \"opset_version\": {\"aten\": "
                                                                                   "10}, \"range_constraints\": "
                                                                                   "{\"s77\": "
                                                                                   "{\"min_val\": 2, \"max_val\": "
                                                                                   "null}}, \"schema_version\": "
                                                                                   "{\"major\": 8, \"minor\": 20}, "
                                                                                   "\"verifiers\": [\"TRAINING\"], "
                                                                                   "\"torch_version\": \"2.13.0\", "
                                                                                   "\"guards_code\": "
                                                                                   "[\"L['a'][0][0].size()[0] != 9\"]}";

static const float weight_0[6] = {0, 1, 2, 3, 4, 5};
static const int64_t tensor_0[1] = {7};

static inline insitu_status open_bytes(const void *data, size_t size, archive_program_t **out, insitu_diag *diag) {
    file_map_t *map;
    insitu_status status = file_map_wrap(data, size, &map, diag);
    *out = NULL;
    if (status != INSITU_OK) return status;
    status = archive_open(map, out, diag);
    file_map_release(map);
    return status;
}

/* The file's status, after freeing what was opened. A failure must have said why. */
static inline insitu_status try_bytes(const void *data, size_t size, insitu_diag *diag) {
    archive_program_t *program;
    insitu_diag_init(diag);
    insitu_status status = open_bytes(data, size, &program, diag);
    if (status == INSITU_OK)
        assert_non_null(program);
    else {
        assert_null(program);
        assert_int_equal(diag->status, status);
        assert_true(strlen(diag->message) > 20);
    }
    archive_destroy(program);
    return status;
}

/* Whichever allocation fails while the file is opened, that is reported, and nothing is lost. */
static inline void expect_short_memory(const void *data, size_t size) {
    insitu_diag diag;
    insitu_status status = INSITU_NOMEM;
    for (uint64_t fail_at = 1; status != INSITU_OK; fail_at++) {
        allocation_count_t count = {.fail_at = fail_at};
        count_allocations(&count);
        status = try_bytes(data, size, &diag);
        memory_set_hooks(NULL);
        if (status != INSITU_OK) assert_int_equal(status, INSITU_NOMEM);
        assert_int_equal(count.live, 0);
        assert_true(fail_at < 10000);
    }
}

/* source with the first occurrence of from after start replaced by to; freed by the caller. */
static inline char *replace(const char *source, const char *start, const char *from, const char *to) {
    const char *begin = strstr(source, start);
    const char *at = begin ? strstr(begin, from) : NULL;
    if (!at) fail_msg("'%s' after '%s' is not in the text", from, start);
    size_t size = strlen(source) + strlen(to) + 1;
    char *result = malloc(size);
    snprintf(result, size, "%.*s%s%s", (int)(at - source), source, to, at + strlen(from));
    return result;
}

#endif
