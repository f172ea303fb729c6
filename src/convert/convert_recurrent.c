/* Recurrent cells and sequences: gru, lstm, rnn_tanh, rnn_relu and one step of each.
 *
 *     GRU   r, z = sigmoid(x W + h U), n = tanh(x Wn + r (h Un)), h' = (h - n) z + n
 *     LSTM  i, f, g, o = x W + h U, c' = sigmoid(f) c + sigmoid(i) tanh(g), h' = sigmoid(o) tanh(c')
 *     RNN   h' = tanh or relu of x W + h U
 *
 * A sequence of an LSTM may have projections: h' = sigmoid(o) tanh(c') R, of fewer elements than c'.
 *
 * A sequence is unrolled: the product with the input is one layer for all steps, each step takes its row of it, and the
 * hidden states are put together by a concat, so that each may be computed in its place of the result. */
#include "convert/convert_int.h"

enum { MAX_UNROLLED_LAYERS = 4096 };

typedef struct cell {
    int32_t kind;
    tensor_id_t input_weight, hidden_weight; /* (I, G H), (H, G H): transposed */
    tensor_id_t input_bias, hidden_bias;     /* (G H) or NO_TENSOR */
    tensor_id_t projection;                  /* (H, P): transposed; or NO_TENSOR */
    sym_t size;                              /* H */
} cell_t;

static const struct {
    int64_t gates;
    int64_t layers; /* that one step adds, views aside */
} cell_facts[] = {[CELL_GRU] = {3, 9}, [CELL_LSTM] = {4, 10}, [CELL_TANH] = {1, 3}, [CELL_RELU] = {1, 3}};

static insitu_status make_cell(converter_t *c, int32_t kind, tensor_id_t input_weight, tensor_id_t hidden_weight,
                               cell_t *out) {
    *out = (cell_t){.kind = kind, .input_bias = NO_TENSOR, .hidden_bias = NO_TENSOR, .projection = NO_TENSOR};
    if (rank_of(c, input_weight) != 2 || rank_of(c, hidden_weight) != 2) {
        return convert_fail(c, INSITU_FORMAT, "weights must be matrices");
    }
    out->size = size_of(c, hidden_weight, 1);
    TRY(emit_swap(c, input_weight, 0, 1, &out->input_weight));
    return emit_swap(c, hidden_weight, 0, 1, &out->hidden_weight);
}

/* weight: (P, H). The hidden state has P elements. */
static insitu_status add_projection(converter_t *c, tensor_id_t weight, cell_t *cell) {
    if (rank_of(c, weight) != 2) return convert_fail(c, INSITU_FORMAT, "weights must be matrices");
    cell->size = size_of(c, weight, 1);
    return emit_swap(c, weight, 0, 1, &cell->projection);
}

/* Gates first to end - 1 of (B, G H). */
static insitu_status take_gates(converter_t *c, const cell_t *cell, tensor_id_t gates, int64_t first, int64_t end,
                                tensor_id_t *out) {
    return emit_slice(c, gates, 1, sym_mul(c->pool, sym_int(c->pool, first), cell->size),
                      sym_mul(c->pool, sym_int(c->pool, end), cell->size), 1, out);
}

static insitu_status gate(converter_t *c, const cell_t *cell, op_kind_t op, tensor_id_t gates, int64_t index,
                          tensor_id_t *out) {
    TRY(take_gates(c, cell, gates, index, index + 1, out));
    return emit_unary(c, op, *out, out);
}

/* given: the input's part of the gates; product: the hidden state's. */
static insitu_status step_gru(converter_t *c, const cell_t *cell, tensor_id_t given, tensor_id_t product,
                              tensor_id_t *hidden) {
    tensor_id_t gates, part, reset, update, fresh;
    TRY(take_gates(c, cell, product, 0, 2, &gates));
    TRY(take_gates(c, cell, given, 0, 2, &part));
    TRY(emit_binary(c, OP_ADD, gates, part, &gates));
    TRY(emit_unary(c, OP_SIGMOID, gates, &gates));
    TRY(take_gates(c, cell, gates, 0, 1, &reset));
    TRY(take_gates(c, cell, gates, 1, 2, &update));
    TRY(take_gates(c, cell, product, 2, 3, &fresh));
    TRY(take_gates(c, cell, given, 2, 3, &part));
    TRY(emit_binary(c, OP_MUL, fresh, reset, &fresh));
    TRY(emit_binary(c, OP_ADD, part, fresh, &fresh));
    TRY(emit_unary(c, OP_TANH, fresh, &fresh));
    TRY(emit_binary(c, OP_SUB, *hidden, fresh, hidden));
    TRY(emit_binary(c, OP_MUL, *hidden, update, hidden));
    return emit_binary(c, OP_ADD, *hidden, fresh, hidden);
}

static insitu_status step_lstm(converter_t *c, const cell_t *cell, tensor_id_t gates, tensor_id_t *hidden,
                               tensor_id_t *memory) {
    tensor_id_t in_forget, in, forget, fresh, out;
    TRY(take_gates(c, cell, gates, 0, 2, &in_forget));
    TRY(emit_unary(c, OP_SIGMOID, in_forget, &in_forget));
    TRY(take_gates(c, cell, in_forget, 0, 1, &in));
    TRY(take_gates(c, cell, in_forget, 1, 2, &forget));
    TRY(gate(c, cell, OP_TANH, gates, 2, &fresh));
    TRY(gate(c, cell, OP_SIGMOID, gates, 3, &out));
    TRY(emit_binary(c, OP_MUL, forget, *memory, memory));
    TRY(emit_binary(c, OP_MUL, in, fresh, &fresh));
    TRY(emit_binary(c, OP_ADD, *memory, fresh, memory));
    TRY(emit_unary(c, OP_TANH, *memory, hidden));
    TRY(emit_binary(c, OP_MUL, out, *hidden, hidden));
    if (cell->projection.index == NONE) return INSITU_OK;
    return emit_matmul(c, *hidden, cell->projection, NO_TENSOR, hidden);
}

/* One step: given (B, G H) is the input's part of the gates; hidden and, of an LSTM, memory (B, H) are replaced; with a
 * projection hidden is (B, P). */
static insitu_status emit_step(converter_t *c, const cell_t *cell, tensor_id_t given, tensor_id_t *hidden,
                               tensor_id_t *memory) {
    tensor_id_t product;
    TRY(emit_matmul(c, *hidden, cell->hidden_weight, cell->hidden_bias, &product));
    if (cell->kind == CELL_GRU) return step_gru(c, cell, given, product, hidden);
    TRY(emit_binary(c, OP_ADD, product, given, &product));
    if (cell->kind == CELL_LSTM) return step_lstm(c, cell, product, hidden, memory);
    return emit_unary(c, cell->kind == CELL_TANH ? OP_TANH : OP_RELU, product, hidden);
}

/* The states that an operator is given: hx, a list of two for an LSTM. */
static insitu_status take_states(converter_t *c, int32_t kind, uint32_t rank, tensor_id_t out_states[2]) {
    tensor_id_t *items;
    uint32_t count = 1;
    out_states[1] = NO_TENSOR;
    if (kind == CELL_LSTM) {
        TRY(take_tensors(c, "hx", &items, &count));
        for (uint32_t i = 0; i < count && i < 2; i++) out_states[i] = items[i];
        if (count != 2) return convert_fail(c, INSITU_FORMAT, "two states were expected");
    } else {
        TRY(take_tensor(c, "hx", &out_states[0]));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (out_states[i].index == NONE) return convert_fail(c, INSITU_FORMAT, "a state is None");
        if (rank_of(c, out_states[i]) != rank) return convert_unsupported(c, "a state of another rank than %u", rank);
    }
    return INSITU_OK;
}

/* gru_cell, lstm_cell, rnn_tanh_cell, rnn_relu_cell */
insitu_status convert_cell(converter_t *c) {
    cell_t cell;
    tensor_id_t x, states[2], input_weight, hidden_weight, given;
    TRY(take_tensor(c, "input", &x));
    TRY(take_states(c, c->param, 2, states));
    TRY(take_tensor(c, "w_ih", &input_weight));
    TRY(take_tensor(c, "w_hh", &hidden_weight));
    TRY(make_cell(c, c->param, input_weight, hidden_weight, &cell));
    TRY(take_optional_tensor(c, "b_ih", &cell.input_bias));
    TRY(take_optional_tensor(c, "b_hh", &cell.hidden_bias));
    if (rank_of(c, x) != 2) return convert_unsupported(c, "an input of rank %u", rank_of(c, x));
    TRY(emit_matmul(c, x, cell.input_weight, cell.input_bias, &given));
    TRY(emit_step(c, &cell, given, &states[0], &states[1]));
    for (uint32_t i = 0; i < c->node->result_count && i < 2; i++) set_result(c, i, states[i]);
    return INSITU_OK;
}

typedef struct sequence {
    int32_t kind;
    tensor_id_t states[2]; /* (layers directions, B, H) */
    tensor_id_t *params;  /* of each layer and direction: two weights, two biases if it has them, a projection if any */
    uint32_t param_count; /* of one layer and direction */
    bool has_biases, is_projected;
    uint32_t time; /* the dimension that is stepped along: 1 if the batch comes first */
    int64_t layers, directions, steps;
    tensor_id_t *outputs; /* room for one a step */
    tensor_id_t *last[2]; /* room for the last states of each layer and direction, (1, B, H) */
} sequence_t;

static insitu_status check_sequence(converter_t *c, const sequence_t *run, uint32_t count) {
    int64_t cells = run->layers * run->directions;
    double p;
    bool train;
    TRY(take_float(c, "dropout", 0, &p));
    TRY(take_flag(c, "train", false, &train));
    if (train && p > 0 && run->layers > 1) return convert_unsupported(c, "dropout in training mode");
    if (count != cells * run->param_count) {
        return convert_fail(c, INSITU_FORMAT, "%u weights for %lld cells", count, (long long)cells);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (run->params[i].index == NONE) return convert_fail(c, INSITU_FORMAT, "a weight is None");
    }
    if (run->steps < 1) return convert_fail(c, INSITU_FORMAT, "a sequence of no steps");
    if (run->steps > MAX_UNROLLED_LAYERS / (cells * cell_facts[run->kind].layers)) {
        return convert_unsupported(c, "a sequence of %lld steps, unrolled to over %d layers", (long long)run->steps,
                                   MAX_UNROLLED_LAYERS);
    }
    return INSITU_OK;
}

static insitu_status take_sequence(converter_t *c, int32_t kind, tensor_id_t x, sequence_t *out) {
    bool two_ways, batch_first;
    uint32_t count;
    *out = (sequence_t){.kind = kind};
    TRY(take_states(c, kind, 3, out->states));
    TRY(take_tensors(c, "params", &out->params, &count));
    TRY(take_flag(c, "has_biases", true, &out->has_biases));
    TRY(take_int(c, "num_layers", 1, &out->layers));
    TRY(take_flag(c, "bidirectional", false, &two_ways));
    TRY(take_flag(c, "batch_first", false, &batch_first));
    out->directions = two_ways ? 2 : 1;
    out->param_count = out->has_biases ? 4 : 2;
    out->is_projected = kind == CELL_LSTM && count == out->layers * out->directions * (out->param_count + 1);
    out->param_count += out->is_projected;
    out->time = batch_first ? 1 : 0;
    if (rank_of(c, x) != 3) return convert_unsupported(c, "an input of rank %u", rank_of(c, x));
    if (out->layers < 1 || out->layers > count) return convert_fail(c, INSITU_FORMAT, "weights of no layer");
    if (!sym_constant(c->pool, size_of(c, x, out->time), &out->steps)) {
        return convert_unsupported(c, "a sequence whose length is not constant");
    }
    TRY(check_sequence(c, out, count));
    size_t cells = (size_t)(out->layers * out->directions);
    TRY(arena_array(&c->scratch, (size_t)out->steps, sizeof(tensor_id_t), &out->outputs));
    for (uint32_t i = 0; i < 2; i++) TRY(arena_array(&c->scratch, cells, sizeof(tensor_id_t), &out->last[i]));
    return INSITU_OK;
}

/* Element index of dimension dim, which goes. */
static insitu_status emit_element(converter_t *c, tensor_id_t x, uint32_t dim, int64_t index, tensor_id_t *out) {
    TRY(emit_slice(c, x, dim, sym_int(c->pool, index), sym_int(c->pool, index + 1), 1, out));
    return emit_squeeze(c, *out, dim, out);
}

/* The input's part of all gates: x (T, B, I) or (B, T, I) as rows, by W. */
static insitu_status emit_given(converter_t *c, const cell_t *cell, tensor_id_t x, tensor_id_t *out) {
    shape_t whole = tensor_of(c, x)->shape;
    shape_t rows = {.rank = 2, .sizes = {sym_mul(c->pool, whole.sizes[0], whole.sizes[1]), whole.sizes[2]}};
    whole.sizes[2] = sym_mul(c->pool, sym_int(c->pool, cell_facts[cell->kind].gates), cell->size);
    TRY(emit_reshape(c, x, &rows, &x));
    TRY(emit_matmul(c, x, cell->input_weight, cell->input_bias, out));
    return emit_reshape(c, *out, &whole, out);
}

/* All steps of one layer in one direction; number counts layers and directions. */
static insitu_status unroll(converter_t *c, sequence_t *run, int64_t number, tensor_id_t x, tensor_id_t *out) {
    const tensor_id_t *params = run->params + number * run->param_count;
    bool backwards = number % run->directions == 1;
    uint32_t states = run->kind == CELL_LSTM ? 2 : 1;
    tensor_id_t given, state[2] = {NO_TENSOR, NO_TENSOR};
    cell_t cell;
    TRY(make_cell(c, run->kind, params[0], params[1], &cell));
    if (run->has_biases) {
        cell.input_bias = params[2];
        cell.hidden_bias = params[3];
    }
    if (run->is_projected) TRY(add_projection(c, params[run->param_count - 1], &cell));
    TRY(emit_given(c, &cell, x, &given));
    for (uint32_t i = 0; i < states; i++) TRY(emit_element(c, run->states[i], 0, number, &state[i]));
    for (int64_t i = 0; i < run->steps; i++) {
        int64_t at = backwards ? run->steps - 1 - i : i;
        tensor_id_t row;
        TRY(emit_element(c, given, run->time, at, &row));
        TRY(emit_step(c, &cell, row, &state[0], &state[1]));
        TRY(emit_unsqueeze(c, state[0], run->time, &run->outputs[at]));
    }
    for (uint32_t i = 0; i < states; i++) TRY(emit_unsqueeze(c, state[i], 0, &run->last[i][number]));
    return emit_concat(c, run->outputs, (uint32_t)run->steps, run->time, out);
}

/* gru.input, lstm.input, rnn_tanh.input, rnn_relu.input */
insitu_status convert_recurrent(converter_t *c) {
    tensor_id_t x;
    sequence_t run;
    TRY(take_tensor(c, "input", &x));
    TRY(take_sequence(c, c->param, x, &run));
    for (int64_t layer = 0; layer < run.layers; layer++) {
        tensor_id_t ways[2];
        for (int64_t way = 0; way < run.directions; way++) {
            TRY(unroll(c, &run, layer * run.directions + way, x, &ways[way]));
        }
        TRY(emit_concat(c, ways, (uint32_t)run.directions, 2, &x));
    }
    set_result(c, 0, x);
    for (uint32_t i = 0; i < (c->param == CELL_LSTM ? 2u : 1u); i++) {
        tensor_id_t last;
        TRY(emit_concat(c, run.last[i], (uint32_t)(run.layers * run.directions), 0, &last));
        set_result(c, i + 1, last);
    }
    return INSITU_OK;
}
