// SPDX-License-Identifier: Apache-2.0
#include "sim/format/sq_scheme.h"

#include <math.h>
#include <string.h>

const char *const sq_scheme_names[SQ_N_SCHEMES + 1] = {
    "sq_w", "dense", "sq_a_static", "sq_a_dynamic", "sp24", "gqsa", "spqt", "spqr"};

const char *sq_stream_name(enum sq_stream_id id)
{
    static const char *const names[SQ_N_STREAMS] = {"act",   "act_scale", "lo",  "hi",
                                                    "index", "scale",     "out", "partial"};
    return names[id];
}

// ---- refusals -------------------------------------------------------------------------------

static bool is_sq_a(const struct sq_scheme *s)
{
    return s->kind == SQ_SCHEME_SQ_A_STATIC || s->kind == SQ_SCHEME_SQ_A_DYNAMIC;
}

static enum sq_status check_bits(const struct sq_scheme *s, struct sq_error *err)
{
    const bool may_be_16 = s->kind == SQ_SCHEME_DENSE || s->kind >= SQ_SCHEME_GQSA;
    if (s->act_bits != 4 && s->act_bits != 8 && !(may_be_16 && s->act_bits == 16))
        return SQ_FAIL(err, SQ_ERR_RANGE, "act-bits = %u, need 4%s for %s", s->act_bits,
                       may_be_16 ? ", 8 or 16" : " or 8", sq_scheme_names[s->kind]);
    if (s->kind == SQ_SCHEME_DENSE && (s->weight_bits < 2 || s->weight_bits > 16))
        return SQ_FAIL(err, SQ_ERR_RANGE, "weight-bits = %u, need 2..16", s->weight_bits);
    if (is_sq_a(s) && (s->weight_bits < 2 || s->weight_bits > 8))
        return SQ_FAIL(err, SQ_ERR_RANGE, "weight-bits = %u, need 2..8 for %s", s->weight_bits,
                       sq_scheme_names[s->kind]);
    return SQ_OK;
}

enum sq_status sq_scheme_check(const struct sq_scheme *s, struct sq_error *err)
{
    SQ_TRY(check_bits(s, err));
    if (s->kind == SQ_SCHEME_SQ_W || is_sq_a(s))
        SQ_TRY(sq_format_check(&s->sq, err));
    if (s->kind == SQ_SCHEME_GQSA && (s->group < 4 || s->group > 128))
        return SQ_FAIL(err, SQ_ERR_RANGE, "group = %u, need 4..128 for gqsa", s->group);
    if ((s->kind == SQ_SCHEME_GQSA || s->kind == SQ_SCHEME_SPQT) &&
        !(s->sparsity >= 0 && s->sparsity < 1))
        return SQ_FAIL(err, SQ_ERR_RANGE, "sparsity = %g, need 0 <= sparsity < 1 for %s",
                       s->sparsity, sq_scheme_names[s->kind]);
    if (s->kind == SQ_SCHEME_SPQR && !(s->outliers >= 0 && s->outliers <= 0.25))
        return SQ_FAIL(err, SQ_ERR_RANGE, "outliers = %g, need 0..0.25", s->outliers);
    return SQ_OK;
}

// ---- cycles ---------------------------------------------------------------------------------

static double lanes(const struct sq_core_config *core, unsigned a, unsigned b)
{
    const unsigned cells =
        (core->low_lanes * core->low_bits + core->high_lanes * core->high_bits) * core->act_bits;
    return cells / (a * b) > 0 ? cells / (a * b) : 1;
}

// Share of the columns that at least one of m tokens has.
static double active(const struct sq_scheme *s, uint64_t m)
{
    return 1 - pow(s->sparsity, (double)m);
}

// SpQt: of a tile of up to `rows` tokens.
static double spqt_cycles(const struct sq_scheme *s, const struct sq_core_config *core, uint64_t m,
                          uint64_t k)
{
    const double n = lanes(core, 4, s->act_bits);
    const double share = active(s, m < core->rows ? m : core->rows);
    return s->schedule == SQ_SPQT_STATIC ? sq_spqt_busiest(k, (uint64_t)n, share) / (double)k
                                         : share / n;
}

static double cycles_per_element(const struct sq_scheme *s, const struct sq_core_config *core,
                                 uint64_t m, uint64_t k)
{
    const double high = (double)s->sq.high_per_bank / s->sq.bank; // sq_a: share of high elements
    switch (s->kind) {
    case SQ_SCHEME_SQ_A_STATIC:
    case SQ_SCHEME_SQ_A_DYNAMIC:
        return (1 - high) / lanes(core, s->weight_bits, s->sq.low_bits) +
               high / lanes(core, s->weight_bits, s->sq.high_bits);
    case SQ_SCHEME_SP24:
        return 0.5 / lanes(core, 8, s->act_bits);
    case SQ_SCHEME_GQSA:
        return (1 - s->sparsity) / lanes(core, 4, s->act_bits);
    case SQ_SCHEME_SPQT:
        return spqt_cycles(s, core, m, k);
    case SQ_SCHEME_SPQR:
        return 1 / lanes(core, 3, s->act_bits) + s->outliers / lanes(core, 16, s->act_bits);
    default:
        return 1 / lanes(core, s->weight_bits, s->act_bits);
    }
}

unsigned sq_scheme_lanes(const struct sq_scheme *s, const struct sq_core_config *core, uint64_t m,
                         uint64_t k)
{
    const double n = floor(1 / cycles_per_element(s, core, m, k) + 1e-9);
    return n < 1 ? 1 : n > 65536 ? 65536 : (unsigned)n;
}

uint64_t sq_scheme_index_cycles(const struct sq_scheme *s, uint64_t k)
{
    return s->kind == SQ_SCHEME_SPQT ? sq_spqt_index_cycles(k, active(s, 1)) : 0;
}

// ---- bytes ----------------------------------------------------------------------------------

static uint64_t bytes(double nbits)
{
    return (uint64_t)ceil(nbits / 8 - 1e-6);
}

static double act_nbits(const struct sq_scheme *s)
{
    const double high = (double)s->sq.high_per_bank / s->sq.bank;
    if (!is_sq_a(s))
        return s->act_bits;
    return (1 - high) * s->sq.low_bits + high * s->sq.high_bits +
           (s->kind == SQ_SCHEME_SQ_A_DYNAMIC ? 1 : 0);
}

// SpQt: whole superblocks, G.3; zigzag has 256 output channels in one, and rounds them up.
static double spqt_weights(const struct sq_scheme *s, uint64_t n, const struct sq_stretch *t,
                           double active_share)
{
    const uint64_t rows = s->layout == SQ_SPQT_ZIGZAG ? (n + 255) / 256 * 256 : n;
    return sq_spqt_fetched(s->layout, t->burst_nbytes, active_share) * (double)t->elements *
           (double)rows;
}

// Rows start on a byte.
static void weight_nbytes(const struct sq_scheme *s, uint64_t n, uint64_t m_all,
                          const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS])
{
    const double e = (double)t->elements;
    const uint64_t row_end = t->at_end ? 4 : 0; // row_index, row_offsets: 32 bits a row
    double kept = 0;
    switch (s->kind) {
    case SQ_SCHEME_SQ_W:
        nbytes[SQ_STREAM_LO] = bytes(e * s->sq.low_bits);
        nbytes[SQ_STREAM_HI] = bytes((double)t->banks * s->sq.high_per_bank * s->sq.high_bits);
        nbytes[SQ_STREAM_SCALE] = 8 * t->groups;
        break;
    case SQ_SCHEME_SP24: // 8 bits for each second element, 4 bits of metadata for four
        nbytes[SQ_STREAM_LO] = bytes(4 * e);
        nbytes[SQ_STREAM_INDEX] = bytes(e);
        nbytes[SQ_STREAM_SCALE] = 4 * t->groups;
        break;
    case SQ_SCHEME_GQSA: // F.6: 4 bits, and per kept group 16 of index, 16 + 4 of scale and zero
        kept = (1 - s->sparsity) * e;
        nbytes[SQ_STREAM_LO] = bytes(4 * kept);
        nbytes[SQ_STREAM_INDEX] = bytes(16 * kept / s->group) + row_end;
        nbytes[SQ_STREAM_SCALE] = bytes(20 * kept / s->group);
        break;
    case SQ_SCHEME_SPQT: // 4 + 0.5 bits a weight, of the columns any token has
        kept = spqt_weights(s, n, t, active(s, m_all));
        nbytes[SQ_STREAM_LO] = bytes(4 * kept);
        nbytes[SQ_STREAM_SCALE] = bytes(0.5 * kept);
        return;
    case SQ_SCHEME_SPQR: // H.6: 64 bits per 16, and 32 an outlier
        nbytes[SQ_STREAM_LO] = bytes(4 * e);
        nbytes[SQ_STREAM_INDEX] = bytes(32 * s->outliers * e) + row_end;
        break;
    default:
        nbytes[SQ_STREAM_LO] = bytes(e * s->weight_bits);
        nbytes[SQ_STREAM_SCALE] = 4 * t->groups;
    }
    for (unsigned id = SQ_STREAM_LO; id <= SQ_STREAM_SCALE; id++)
        nbytes[id] *= n;
}

void sq_scheme_nbytes(const struct sq_scheme *s, uint64_t m, uint64_t n, uint64_t m_all,
                      const struct sq_stretch *t, uint64_t nbytes[SQ_N_STREAMS])
{
    for (unsigned id = SQ_STREAM_LO; id <= SQ_STREAM_SCALE; id++)
        nbytes[id] = 0;
    weight_nbytes(s, n, m_all, t, nbytes);
    nbytes[SQ_STREAM_ACT] = m * bytes((double)t->elements * act_nbits(s));
    nbytes[SQ_STREAM_ACT_SCALE] = (is_sq_a(s) ? 8 : 4) * m;
}
