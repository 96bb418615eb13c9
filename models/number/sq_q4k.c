// SPDX-License-Identifier: Apache-2.0
// Packs and decodes superblocks; the encoder tries steps for each block of 32 and keeps the best
// fit (sq_q4k.h).
#include "models/number/sq_q4k.h"

#include <math.h>

#include "models/number/sq_half.h"

enum { LEN = SQ_Q4K_BLOCK_LEN, STEPS = 20 };

// ---- bytes ----------------------------------------------------------------------------------

static void put_u16(uint8_t *out, uint16_t v)
{
    out[0] = (uint8_t)v;
    out[1] = (uint8_t)(v >> 8);
}

static uint16_t get_u16(const uint8_t *in)
{
    return (uint16_t)(in[0] | in[1] << 8);
}

// Blocks 0..3 keep six bits in a byte of their own; blocks 4..7 keep four there, and two in the
// free top bits of the first eight bytes.
//
//   byte 0..3   sc_{j+4}[5:4] sc_j      byte 4..7   m_{j+4}[5:4] m_j     byte 8..11   m_j[3:0]
//   sc_j[3:0]
void sq_q4k_pack(const struct sq_q4k *s, uint8_t out[SQ_Q4K_NBYTES])
{
    uint8_t *scales = out + 4, *codes = out + 16;
    put_u16(out, s->d);
    put_u16(out + 2, s->dmin);
    for (unsigned j = 0; j < 4; j++) {
        const unsigned sc = s->scale[j + 4], m = s->min[j + 4];
        scales[j] = (uint8_t)((s->scale[j] & 63u) | (sc >> 4) << 6);
        scales[j + 4] = (uint8_t)((s->min[j] & 63u) | (m >> 4) << 6);
        scales[j + 8] = (uint8_t)((sc & 15u) | (m & 15u) << 4);
    }
    for (unsigned u = 0; u < 4; u++)
        for (unsigned l = 0; l < LEN; l++)
            codes[LEN * u + l] =
                (uint8_t)(s->code[64 * u + l] | (unsigned)s->code[64 * u + LEN + l] << 4);
}

void sq_q4k_unpack(const uint8_t in[SQ_Q4K_NBYTES], struct sq_q4k *s)
{
    const uint8_t *scales = in + 4, *codes = in + 16;
    s->d = get_u16(in);
    s->dmin = get_u16(in + 2);
    for (unsigned j = 0; j < 4; j++) {
        s->scale[j] = scales[j] & 63u;
        s->min[j] = scales[j + 4] & 63u;
        s->scale[j + 4] = (uint8_t)((scales[j + 8] & 15u) | (scales[j] >> 6) << 4);
        s->min[j + 4] = (uint8_t)(scales[j + 8] >> 4 | (scales[j + 4] >> 6) << 4);
    }
    for (unsigned u = 0; u < 4; u++)
        for (unsigned l = 0; l < LEN; l++) {
            s->code[64 * u + l] = codes[LEN * u + l] & 15u;
            s->code[64 * u + LEN + l] = codes[LEN * u + l] >> 4;
        }
}

// ---- values ---------------------------------------------------------------------------------

enum sq_status sq_q4k_check(const struct sq_q4k *s, struct sq_error *err)
{
    const float d = sq_half_to_float(s->d), dmin = sq_half_to_float(s->dmin);
    SQ_FAIL_IF(!(isfinite(d) && d >= 0), err, SQ_ERR_SCALE, "d = %g, need finite and >= 0",
               (double)d);
    SQ_FAIL_IF(!(isfinite(dmin) && dmin >= 0), err, SQ_ERR_SCALE, "dmin = %g, need finite and >= 0",
               (double)dmin);
    return SQ_OK;
}

float sq_q4k_value(float step, float min, unsigned code)
{
    const float product = step * (float)code;
    return product - min;
}

void sq_q4k_decode(const struct sq_q4k *s, float v[SQ_Q4K_LEN])
{
    const float d = sq_half_to_float(s->d), dmin = sq_half_to_float(s->dmin);
    for (unsigned j = 0; j < SQ_Q4K_BLOCKS; j++) {
        const float step = d * (float)s->scale[j], min = dmin * (float)s->min[j];
        for (unsigned i = j * LEN; i < (j + 1) * LEN; i++)
            v[i] = sq_q4k_value(step, min, s->code[i]);
    }
}

// ---- encoder (SPEC G.5) ---------------------------------------------------------------------

// clamp(rne(x), 0, top); NaN gives 0.
static uint8_t code_of(float x, float top)
{
    const float r = rintf(x);
    return r > 0 ? (uint8_t)(r < top ? r : top) : 0;
}

// One block: its values, their weights u, and what the search knows so far.
struct fit {
    const float *v;
    float u[LEN];
    float sum_u, sum_uv;
    float scale, min, error;
    uint8_t code[LEN];
};

static void weigh(struct fit *f)
{
    float sum_v2 = 0;
    for (unsigned l = 0; l < LEN; l++)
        sum_v2 += f->v[l] * f->v[l];
    const float rms = sqrtf(sum_v2 / (float)LEN);
    f->sum_u = f->sum_uv = 0;
    for (unsigned l = 0; l < LEN; l++) {
        f->u[l] = rms + fabsf(f->v[l]);
        f->sum_u += f->u[l];
        f->sum_uv += f->u[l] * f->v[l];
    }
}

static float error_of(const struct fit *f, const uint8_t *code, float scale, float min)
{
    float sum = 0;
    for (unsigned l = 0; l < LEN; l++) {
        const float difference = scale * (float)code[l] + min - f->v[l];
        sum += f->u[l] * (difference * difference);
    }
    return sum;
}

// Codes of one trial step, the weighted least squares line through them, kept if it is better.
static void try_step(struct fit *f, float iscale)
{
    uint8_t code[LEN];
    float sum_l = 0, sum_l2 = 0, sum_lv = 0;
    for (unsigned l = 0; l < LEN; l++) {
        code[l] = code_of(iscale * (f->v[l] - f->min), 15);
        const float ul = f->u[l] * (float)code[l];
        sum_l += ul;
        sum_l2 += ul * (float)code[l];
        sum_lv += ul * f->v[l];
    }
    const float det = f->sum_u * sum_l2 - sum_l * sum_l;
    if (!(det > 0))
        return;
    float scale = (f->sum_u * sum_lv - f->sum_uv * sum_l) / det;
    float min = (sum_l2 * f->sum_uv - sum_l * sum_lv) / det;
    if (min > 0) {
        min = 0;
        scale = sum_lv / sum_l2;
    }
    const float error = error_of(f, code, scale, min);
    if (!(error < f->error))
        return;
    f->scale = scale;
    f->min = min; // later steps start from the new minimum
    f->error = error;
    for (unsigned l = 0; l < LEN; l++)
        f->code[l] = code[l];
}

static void fit_block(struct fit *f, const float *v)
{
    float max = v[0];
    *f = (struct fit){.v = v, .min = v[0]};
    for (unsigned l = 1; l < LEN; l++) {
        f->min = v[l] < f->min ? v[l] : f->min;
        max = v[l] > max ? v[l] : max;
    }
    f->min = f->min > 0 ? 0 : f->min;
    if (max == f->min)
        return; // scale 0, codes 0
    weigh(f);
    const float iscale = 15 / (max - f->min);
    f->scale = 1 / iscale;
    for (unsigned l = 0; l < LEN; l++)
        f->code[l] = code_of(iscale * (v[l] - f->min), 15);
    f->error = error_of(f, f->code, f->scale, f->min);
    for (unsigned i = 0; i <= STEPS; i++)
        try_step(f, (-1.0f + 0.1f * (float)i + 15) / (max - f->min));
}

static enum sq_status set_half(const char *name, float x, uint16_t *h, struct sq_error *err)
{
    *h = sq_f32_to_f16(x);
    SQ_FAIL_IF(!sq_half_is_finite(*h), err, SQ_ERR_OVERFLOW,
               "%s = %g, need at most 65504 in binary16", name, (double)x);
    return SQ_OK;
}

enum sq_status sq_q4k_encode(const float v[SQ_Q4K_LEN], struct sq_q4k *s, struct sq_error *err)
{
    struct fit fit[SQ_Q4K_BLOCKS];
    float max_scale = 0, max_min = 0;
    for (unsigned i = 0; i < SQ_Q4K_LEN; i++)
        SQ_FAIL_IF(!isfinite(v[i]), err, SQ_ERR_NON_FINITE, "value %u = %g, need a finite number",
                   i, (double)v[i]);
    for (unsigned j = 0; j < SQ_Q4K_BLOCKS; j++) {
        fit_block(&fit[j], v + j * LEN);
        max_scale = fit[j].scale > max_scale ? fit[j].scale : max_scale;
        max_min = -fit[j].min > max_min ? -fit[j].min : max_min;
    }
    const float inv_scale = max_scale > 0 ? 63 / max_scale : 0;
    const float inv_min = max_min > 0 ? 63 / max_min : 0;
    SQ_TRY(set_half("d", max_scale / 63, &s->d, err));
    SQ_TRY(set_half("dmin", max_min / 63, &s->dmin, err));
    const float d = sq_half_to_float(s->d), dmin = sq_half_to_float(s->dmin);
    for (unsigned j = 0; j < SQ_Q4K_BLOCKS; j++) {
        s->scale[j] = code_of(inv_scale * fit[j].scale, 63);
        s->min[j] = code_of(inv_min * -fit[j].min, 63);
        const float step = d * (float)s->scale[j], min = dmin * (float)s->min[j];
        for (unsigned l = 0; l < LEN; l++)
            s->code[j * LEN + l] =
                step == 0 ? fit[j].code[l] : code_of((v[j * LEN + l] + min) / step, 15);
    }
    return SQ_OK;
}
