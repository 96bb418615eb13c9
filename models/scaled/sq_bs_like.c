// SPDX-License-Identifier: Apache-2.0
// The encoders of other programs (sq_bs_like.h). Every line that computes is one rounding to binary32.
#include "models/scaled/sq_bs_like.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "models/number/sq_fp.h"
#include "models/output/sq_combine.h"
#include "models/scaled/sq_bs_kind.h"
#include "models/scaled/sq_bs_tile.h"

const char *const sq_bs_like_choice[] = {"spec",     "te",    "ct",   "ct-bf16",
                                         "modelopt", "quark", "ggml", NULL};

enum { E4M3_ONE = 0x38, E4M3_EIGHTH = 0x20, E4M3_LEAST = 0x01, E4M3_LAST = 0x7e };

enum sq_status sq_bs_like_check(const struct sq_bs_format *f, enum sq_bs_like like,
                                struct sq_error *err)
{
    static const unsigned of_nv = 1u << SQ_BS_LIKE_TE | 1u << SQ_BS_LIKE_CT |
                                  1u << SQ_BS_LIKE_CT_BF16 | 1u << SQ_BS_LIKE_MODELOPT |
                                  1u << SQ_BS_LIKE_GGML,
                          of_mx = 1u << SQ_BS_LIKE_CT | 1u << SQ_BS_LIKE_CT_BF16 |
                                  1u << SQ_BS_LIKE_QUARK | 1u << SQ_BS_LIKE_GGML;
    const unsigned of = f->element != SQ_ELEMENT_E2M1 ? 0
                        : f->kind == SQ_BS_NV         ? of_nv
                        : f->kind == SQ_BS_MX         ? of_mx
                        : f->kind == SQ_BS_FOUR_SIX   ? 1u << SQ_BS_LIKE_TE
                                                      : 0;
    if (like == SQ_BS_LIKE_SPEC || (like < SQ_BS_LIKES && of >> like & 1u))
        return SQ_OK;
    return SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "like = %s: it has no such blocks, need %s",
                   like < SQ_BS_LIKES ? sq_bs_like_choice[like] : "?",
                   f->element != SQ_ELEMENT_E2M1 || of == 0 ? "nvfp4, nvfp4_46 or mxfp4"
                   : f->kind == SQ_BS_NV                    ? "te, ct, ct-bf16, modelopt or ggml"
                   : f->kind == SQ_BS_MX                    ? "ct, ct-bf16, quark or ggml"
                                                            : "te");
}

// ---- numbers ------------------------------------------------------------------------------------

// E2M1, ties to even; the sign of what is below 0, not that of -0.
static uint8_t code_of(float q)
{
    return (uint8_t)(sq_element_encode(SQ_ELEMENT_E2M1, fabsf(q)) | (q < 0 ? 8 : 0));
}

// The first of ggml's 16 values that is as near as any: of 2 v * d - x in binary32.
static uint8_t nearest_of_ggml(float x, float d)
{
    static const float twice[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    uint8_t best = 0;
    for (uint8_t i = 1; i < 16; i++) {
        const float at = twice[i] * d, of_best = twice[best] * d;
        best = fabsf(at - x) < fabsf(of_best - x) ? i : best;
    }
    return best;
}

// E4M3 of x >= 0, ties up; subnormals from x * 512 + 0.5, held to 7 of them.
static uint8_t scale_of_ggml(float x)
{
    const float most = x > SQ_E4M3_MAX ? SQ_E4M3_MAX : x, steps = most * 512, up = steps + 0.5f;
    const uint32_t bits = sq_bits_of(most), code = (bits >> 20) + (bits >> 19 & 1);
    const uint32_t first = (127 - 7) << 3; // code of exponent 0
    if (bits >> 23 <= 127 - 7)
        return (uint8_t)(up >= 8 ? 7 : (int)up);
    // Above exponent 7 all is the largest scale.
    return (uint8_t)(bits >> 23 >= 127 + 8 || code - first >= 15 << 3 ? E4M3_LAST : code - first);
}

// ---- blocks -------------------------------------------------------------------------------------

// x[n] of a block into *scale and code[n].
typedef void block_encoder(const struct sq_bs_like_tensor *t, const float *x, size_t n,
                           uint8_t *scale, uint8_t *code);

static float held(float x, float most)
{
    return x > most ? most : x < -most ? -most : x;
}

static void codes_times(const float *x, size_t n, float by, uint8_t *code)
{
    for (size_t i = 0; i < n; i++)
        code[i] = code_of(held(x[i] * by, 6));
}

static void codes_by(const float *x, size_t n, float step, uint8_t *code)
{
    for (size_t i = 0; i < n; i++)
        code[i] = code_of(x[i] / step);
}

// What TransformerEngine multiplies elements with.
static float te_by(const struct sq_bs_like_tensor *t, uint8_t scale)
{
    const float step = sq_e4m3_decode(scale) * t->down;
    return step > 0 ? fminf(1 / step, FLT_MAX) : FLT_MAX;
}

static void te_nv(const struct sq_bs_like_tensor *t, const float *x, size_t n, uint8_t *scale,
                  uint8_t *code)
{
    *scale = sq_e4m3_encode(held(sq_bs_amax(x, n) * t->sixth, SQ_E4M3_MAX));
    codes_times(x, n, te_by(t, *scale), code);
}

// The sum of the errors' magnitudes.
static float te_error(const struct sq_bs_like_tensor *t, const float *x, size_t n, uint8_t scale,
                      const uint8_t *code)
{
    const float limit = 6 * SQ_E4M3_MAX;
    float sum = 0;
    for (size_t i = 0; i < n; i++) {
        const float product = sq_element_decode(SQ_ELEMENT_E2M1, code[i]) * sq_e4m3_decode(scale);
        const float of_all = product * t->amax, value = of_all / limit, error = value - x[i];
        sum += fabsf(error);
    }
    return sum;
}

static void te_four_six(const struct sq_bs_like_tensor *t, const float *x, size_t n, uint8_t *scale,
                        uint8_t *code)
{
    uint8_t four[SQ_BS_BLOCK_MAX];
    const float sixth = sq_bs_amax(x, n) / 6, by_six = sixth * t->up, by_four = by_six * 1.5f;
    const uint8_t scale_of_four = sq_e4m3_encode(held(by_four, SQ_E4M3_MAX));
    *scale = sq_e4m3_encode(held(by_six, SQ_E4M3_MAX));
    codes_times(x, n, te_by(t, *scale), code);
    codes_times(x, n, te_by(t, scale_of_four), four);
    if (te_error(t, x, n, scale_of_four, four) < te_error(t, x, n, *scale, code)) {
        *scale = scale_of_four;
        memcpy(code, four, n);
    }
}

static void ct_nv(const struct sq_bs_like_tensor *t, const float *x, size_t n, uint8_t *scale,
                  uint8_t *code)
{
    const float sixth = sq_bs_amax(x, n) / 6;
    const float local = t->like == SQ_BS_LIKE_CT_BF16 ? sq_combine_round_bf16(sixth) : sixth;
    *scale = sq_e4m3_encode(held(t->up * local, SQ_E4M3_MAX));
    if (*scale == 0)
        *scale = E4M3_EIGHTH;
    codes_by(x, n, sq_e4m3_decode(*scale) / t->up, code);
}

static void modelopt_nv(const struct sq_bs_like_tensor *t, const float *x, size_t n, uint8_t *scale,
                        uint8_t *code)
{
    const float six = 6 * t->global, s = sq_bs_amax(x, n) / six;
    const uint8_t c = s > 0 ? sq_e4m3_encode(held(s, SQ_E4M3_MAX)) : E4M3_ONE;
    *scale = c > 0 ? c : E4M3_LEAST;
    codes_by(x, n, sq_e4m3_decode(*scale) * t->global, code);
}

static void ggml_nv(const struct sq_bs_like_tensor *t, const float *x, size_t n, uint8_t *scale,
                    uint8_t *code)
{
    (void)t;
    *scale = scale_of_ggml(sq_bs_amax(x, n) / 6);
    const float half = sq_e4m3_decode(*scale) * 0.5f;
    for (size_t i = 0; i < n; i++)
        code[i] = nearest_of_ggml(x[i], half);
}

// Rule EVEN: the exponent of amax with half a unit of E2M1's fraction added.
static void even_mx(const struct sq_bs_like_tensor *t, const float *x, size_t n, uint8_t *scale,
                    uint8_t *code)
{
    const int exponent = (int)((sq_bits_of(sq_bs_amax(x, n)) + (UINT32_C(1) << 21)) >> 23) - 2;
    (void)t;
    *scale = (uint8_t)(exponent < 0 ? 0 : exponent);
    codes_by(x, n, sq_e8m0_decode(*scale), code);
}

// The logarithm is rounded to binary32 before the floor, so that amax just below a power of two has that.
static void ggml_mx(const struct sq_bs_like_tensor *t, const float *x, size_t n, uint8_t *scale,
                    uint8_t *code)
{
    const float amax = sq_bs_amax(x, n), log = (float)log2((double)amax);
    const int exponent = amax > 0 ? (int)floorf(log) - 2 + SQ_E8M0_BIAS : 0;
    (void)t;
    *scale = (uint8_t)(exponent < 0 ? 0 : exponent);
    const float half = sq_e8m0_decode(*scale) * 0.5f;
    for (size_t i = 0; i < n; i++)
        code[i] = nearest_of_ggml(x[i], half);
}

static block_encoder *encoder_of(const struct sq_bs_format *f, enum sq_bs_like like)
{
    const bool is_mx = f->kind == SQ_BS_MX;
    return like == SQ_BS_LIKE_TE         ? f->kind == SQ_BS_FOUR_SIX ? te_four_six : te_nv
           : like == SQ_BS_LIKE_GGML     ? is_mx ? ggml_mx : ggml_nv
           : like == SQ_BS_LIKE_MODELOPT ? modelopt_nv
           : is_mx                       ? even_mx
                                         : ct_nv;
}

// ---- a tensor -----------------------------------------------------------------------------------

struct sq_bs_like_tensor sq_bs_like_begin(struct sq_bs *c, enum sq_bs_like like, const float *x)
{
    const float limit = 6 * SQ_E4M3_MAX;
    struct sq_bs_like_tensor t = {.like = like, .global = 1, .up = 1, .down = 1};
    t.amax = sq_bs_amax(x, c->n * c->k_orig);
    const bool is_scaled = c->f.kind != SQ_BS_MX && like != SQ_BS_LIKE_GGML && t.amax > 0;
    if (is_scaled) {
        const float up = fminf(limit / t.amax, FLT_MAX);
        t.up = like == SQ_BS_LIKE_CT_BF16 ? sq_combine_round_bf16(up) : up;
        t.down = 1 / t.up;
        t.global = like == SQ_BS_LIKE_CT || like == SQ_BS_LIKE_CT_BF16
                       ? t.down
                       : sq_bs_positive(t.amax / limit);
    }
    t.sixth = t.up * (1.0f / 6);
    for (size_t row = 0; row < c->n; row++)
        c->global[0][row] = t.global;
    return t;
}

void sq_bs_like_row(const struct sq_bs_like_tensor *t, struct sq_bs *c, size_t row, const float *x)
{
    const size_t b = c->f.block, blocks = c->k / b;
    block_encoder *encode = encoder_of(&c->f, t->like);
    for (size_t j = 0; j < blocks; j++) {
        float v[SQ_BS_BLOCK_MAX] = {0};
        const size_t first = j * b, left = first < c->k_orig ? c->k_orig - first : 0;
        memcpy(v, x + first, (left < b ? left : b) * sizeof *v);
        encode(t, v, b, &c->scale[0][row * blocks + j], c->code + row * c->k + first);
    }
}
