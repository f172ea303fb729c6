/* unary, binary and where in f32, along runs that are dense or one repeated element; unary along any: through a tile, so
 * that an element's bits do not depend on where it lies. */
#ifndef VEC_ELEMENTWISE_TMPL_H
#define VEC_ELEMENTWISE_TMPL_H

#include "backend/cpu/simd/vec.h"

/* ---- unary ---- */
#define UNARY_RUN(id, expression)                                                                                      \
    static void unary_##id(const float *from, float *to, int64_t count) {                                              \
        int64_t i = 0;                                                                                                 \
        for (; i + VEC_WIDTH <= count; i += VEC_WIDTH) {                                                               \
            vf x = vec_load(from + i);                                                                                 \
            vec_store(to + i, (expression));                                                                           \
        }                                                                                                              \
        if (i < count) {                                                                                               \
            vf x = vec_load_part(from + i, count - i);                                                                 \
            vec_store_part(to + i, (expression), count - i);                                                           \
        }                                                                                                              \
    }
#define UNARY_TABLE(X)                                                                                                 \
    X(ABS, (vf)((vi)x & 0x7fffffff))                                                                                   \
    X(NEG, -x)                                                                                                         \
    X(EXP, vec_exp(x))                                                                                                 \
    X(SQRT, vec_sqrt(x))                                                                                               \
    X(RSQRT, 1 / vec_sqrt(x))                                                                                          \
    X(RECIPROCAL, 1 / x)                                                                                               \
    X(TANH, vec_tanh(x))                                                                                               \
    X(SIGMOID, 1 / (1 + vec_exp(-x)))                                                                                  \
    X(RELU, vec_select(x < 0, (vf){0}, x))                                                                             \
    X(SILU, x / (1 + vec_exp(-x)))                                                                                     \
    X(GELU_TANH, 0.5F * x * (1 + vec_tanh(0.79788456F * (x + 0.044715F * x * x * x))))
UNARY_TABLE(UNARY_RUN)

typedef void (*unary_run_t)(const float *from, float *to, int64_t count);
static const unary_run_t unary_runs[OP_COUNT] = {
#define UNARY_ENTRY(id, expression) [OP_##id] = unary_##id,
    UNARY_TABLE(UNARY_ENTRY)
#undef UNARY_ENTRY
};

static void unary_strided(unary_run_t run, const walk_t *walk) {
    tile_t in, out;
    for (int64_t done = 0; done < walk->run; done += TILE) {
        int64_t count = walk->run - done < TILE ? walk->run - done : TILE;
        tile_load(DTYPE_F32, walk->data[1] + done * walk->step[1], walk->step[1], count, &in);
        run(in.f, out.f, count);
        tile_store(DTYPE_F32, walk->data[0] + done * walk->step[0], walk->step[0], count, COMPUTE_F32, &out);
    }
}

void VEC(vec_unary)(const kernel_call_t *call) {
    const bound_operand_t *to = &call->step->results[0];
    unary_run_t run = unary_runs[attr_op(call->step)];
    walk_t walk;
    walk_init(&walk, to->rank, to->sizes);
    walk_add_operand(&walk, call, to);
    walk_add_operand(&walk, call, &call->step->operands[0]);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    const int64_t size = (int64_t)sizeof(float);
    do {
        if (walk.run == 1 || (walk.step[0] == size && walk.step[1] == size))
            run((const float *)(const void *)walk.data[1], (float *)(void *)walk.data[0], walk.run);
        else
            unary_strided(run, &walk);
    } while (walk_next(&walk));
}

/* ---- binary ---- */
/* A side is dense (each 1) or one repeated number (each 0). */
typedef struct side {
    const float *data;
    int64_t each;
} side_t;

static inline vf side_load(side_t side, int64_t i, vf repeated) {
    return side.each ? vec_load(side.data + i) : repeated;
}
static inline vf side_load_part(side_t side, int64_t i, int64_t count, vf repeated) {
    return side.each ? vec_load_part(side.data + i, count) : repeated;
}

#define BINARY_RUN(id, expression)                                                                                     \
    static void binary_##id(side_t left, side_t right, float *to, int64_t count) {                                     \
        vf first = vec_set(left.data[0]), second = vec_set(right.data[0]);                                             \
        int64_t i = 0;                                                                                                 \
        for (; i + VEC_WIDTH <= count; i += VEC_WIDTH) {                                                               \
            vf a = side_load(left, i, first), b = side_load(right, i, second);                                         \
            vec_store(to + i, (expression));                                                                           \
        }                                                                                                              \
        if (i < count) {                                                                                               \
            vf a = side_load_part(left, i, count - i, first), b = side_load_part(right, i, count - i, second);         \
            vec_store_part(to + i, (expression), count - i);                                                           \
        }                                                                                                              \
    }
/* pow: can_run lets the exponent 2 alone through. */
#define BINARY_TABLE(X)                                                                                                \
    X(ADD, a + b)                                                                                                      \
    X(SUB, a - b)                                                                                                      \
    X(MUL, (a) * b)                                                                                                    \
    X(DIV, a / b)                                                                                                      \
    X(MAXIMUM, vec_select((a != a) | (a > b), a, b))                                                                   \
    X(MINIMUM, vec_select((a != a) | (a < b), a, b))                                                                   \
    X(POW, vec_select(b == 2, (a) * a, a))
BINARY_TABLE(BINARY_RUN)

typedef void (*binary_run_t)(side_t left, side_t right, float *to, int64_t count);
static const binary_run_t binary_runs[OP_COUNT] = {
#define BINARY_ENTRY(id, expression) [OP_##id] = binary_##id,
    BINARY_TABLE(BINARY_ENTRY)
#undef BINARY_ENTRY
};

void VEC(vec_binary)(const kernel_call_t *call) {
    const bound_step_t *step = call->step;
    const bound_operand_t *to = &step->results[0];
    binary_run_t run = binary_runs[attr_op(step)];
    walk_t walk;
    walk_init(&walk, to->rank, to->sizes);
    walk_add_operand(&walk, call, to);
    for (uint32_t i = 0; i < step->operand_count; i++) walk_add_operand(&walk, call, &step->operands[i]);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    float scalar = (float)attr_real(step, ATTR_SCALAR, 0);
    bool scalar_first = step->operand_count == 1 && attr_int(step, ATTR_SCALAR_FIRST, 0) != 0;
    if (!walk_start(&walk, begin, end)) return;
    do {
        side_t sides[2] = {{&scalar, 0}, {&scalar, 0}};
        for (uint32_t i = 0; i < step->operand_count; i++)
            sides[scalar_first ? 1 : i] =
                (side_t){(const float *)(const void *)walk.data[i + 1], walk.step[i + 1] != 0};
        run(sides[0], sides[1], (float *)(void *)walk.data[0], walk.run);
    } while (walk_next(&walk));
}

/* ---- where ---- */
void VEC(vec_where)(const kernel_call_t *call) {
    const bound_operand_t *to = &call->step->results[0];
    walk_t walk;
    walk_init(&walk, to->rank, to->sizes);
    walk_add_operand(&walk, call, to);
    for (uint32_t i = 0; i < 3; i++) walk_add_operand(&walk, call, &call->step->operands[i]);
    walk_merge(&walk);
    int64_t begin, end;
    call_share(call, walk_total(&walk), 64, &begin, &end);
    if (!walk_start(&walk, begin, end)) return;
    do {
        float *target = (float *)(void *)walk.data[0];
        const float *yes = (const float *)(const void *)walk.data[2], *no = (const float *)(const void *)walk.data[3];
        int64_t each_yes = walk.step[2] != 0, each_no = walk.step[3] != 0;
        for (int64_t i = 0; i < walk.run; i++)
            target[i] = walk.data[1][i * walk.step[1]] ? yes[i * each_yes] : no[i * each_no];
    } while (walk_next(&walk));
}

#endif
