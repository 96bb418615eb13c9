// SPDX-License-Identifier: Apache-2.0
// sq_core: SQ weights on dual-precision PEs.
#include "sim/block/core/sq_core_block.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "models/core/sq_format.h"
#include "models/core/sq_gather.h"
#include "models/number/sq_fp.h"

#include "sim/block/core/sq_core.block.h"

// ---- values ---------------------------------------------------------------------------------

// One bank of all rows and columns added to the sums; a bit per column without k mask codes.
static uint64_t add_bank(const struct sq_core_config *g, const int8_t *act, const int8_t *lo,
                         const int8_t *hi, int32_t *p_lo, int32_t *p_hi)
{
    const unsigned b = g->bank, k = g->high_per_bank;
    uint64_t illegal = 0;
    for (unsigned r = 0; r < g->rows; r++)
        for (unsigned c = 0; c < g->cols; c++) {
            const int8_t *const x = act + r * b;
            int8_t clean[SQ_BANK_MAX], gathered[SQ_BANK_MAX];
            if (!sq_gather_bank(lo + c * b, x, b, k, g->low_bits, clean, gathered))
                illegal |= UINT64_C(1) << c;
            for (unsigned i = 0; i < b; i++)
                p_lo[r * g->cols + c] += clean[i] * x[i];
            for (unsigned t = 0; t < k; t++)
                p_hi[r * g->cols + c] += hi[c * k + t] * gathered[t];
        }
    return illegal;
}

uint64_t sq_core_golden_tile(const struct sq_core_config *g, const struct sq_core_operands *o,
                             uint64_t first, uint32_t n, int32_t *p_lo, int32_t *p_hi)
{
    const size_t tile = (size_t)g->rows * g->cols;
    uint64_t illegal = 0;
    memset(p_lo, 0, tile * sizeof *p_lo);
    memset(p_hi, 0, tile * sizeof *p_hi);
    for (uint64_t j = first; j < first + n; j++) {
        const uint64_t at = j % o->n_banks;
        illegal |= add_bank(g, o->act + at * g->rows * g->bank, o->lo + at * g->cols * g->bank,
                            o->hi + at * g->cols * g->high_per_bank, p_lo, p_hi);
    }
    return illegal;
}

// ---- beats ----------------------------------------------------------------------------------

// A record: group_banks, groups | activations of a low step | low codes of it | high codes of a
// high step.
struct layout {
    struct sq_core_config g;
    unsigned low_steps, high_steps;
    size_t lo, hi, len; // where they begin
};

static struct layout layout_of(const unsigned *v)
{
    struct layout l;
    sq_core_get(v, &l.g);
    l.low_steps = sq_core_low_steps(&l.g);
    l.high_steps = sq_core_high_steps(&l.g);
    l.lo = at_lo_data(v);
    l.hi = at_hi_data(v);
    l.len = record_len(v);
    return l;
}

// A bank [line][len] between its steps of `lanes` elements, `at` in the records. Lanes beyond the
// end of the bank carry noise, which the RTL must ignore.
static void put_bank(const struct layout *l, int32_t *record, size_t at, unsigned lines,
                     unsigned lanes, unsigned len, const int8_t *bank, struct sq_rng *noise)
{
    for (unsigned line = 0; line < lines; line++)
        for (unsigned i = 0; i < (len + lanes - 1) / lanes * lanes; i++)
            record[i / lanes * l->len + at + line * lanes + i % lanes] =
                i < len ? bank[line * len + i] : (int8_t)sq_rng_next(noise);
}

static void get_bank(const struct layout *l, const int32_t *record, size_t at, unsigned lines,
                     unsigned lanes, unsigned len, int8_t *bank)
{
    for (unsigned line = 0; line < lines; line++)
        for (unsigned i = 0; i < len; i++)
            bank[line * len + i] =
                (int8_t)record[i / lanes * l->len + at + line * lanes + i % lanes];
}

// Records of n banks.
static size_t records_of(const struct layout *l, uint64_t n_banks)
{
    return n_banks * (l->low_steps > l->high_steps ? l->low_steps : l->high_steps);
}

// A job over banks [first, first + n) of the operands, modulo them, as a group.
static void put_job(const struct layout *l, const struct sq_job *job,
                    const struct sq_core_operands *o, uint64_t first, uint64_t n, int32_t *record,
                    struct sq_rng *noise)
{
    const struct sq_core_config *g = &l->g;
    record[0] = (int32_t)job->group_banks;
    record[1] = (int32_t)job->groups;
    for (uint64_t j = 0; j < n; j++) {
        const uint64_t at = (first + j) % o->n_banks;
        int32_t *const low = record + j * l->low_steps * l->len;
        put_bank(l, low, 2, g->rows, g->low_lanes, g->bank, o->act + at * g->rows * g->bank, noise);
        put_bank(l, low, l->lo, g->cols, g->low_lanes, g->bank, o->lo + at * g->cols * g->bank,
                 noise);
        put_bank(l, record + j * l->high_steps * l->len, l->hi, g->cols, g->high_lanes,
                 g->high_per_bank, o->hi + at * g->cols * g->high_per_bank, noise);
    }
}

// Beats of each stream; of a job that is never run to its end, as many as a count holds.
static void set_len(const struct layout *l, const struct sq_job *job, uint32_t *len)
{
    const uint64_t banks = (uint64_t)job->groups * job->group_banks;
    const uint64_t low = banks * l->low_steps, high = banks * l->high_steps;
    len[JOB] = 1;
    len[ACT] = len[LO] = low < UINT32_MAX ? (uint32_t)low : UINT32_MAX;
    len[HI] = high < UINT32_MAX ? (uint32_t)high : UINT32_MAX;
}

// Jobs one after the other as the groups of *c, over the banks of the operands in order; with
// wrap > 0 each job over `wrap` of them, again and again. SQ_ERR_MEMORY.
static enum sq_status put_jobs(struct sq_case *c, const struct sq_job *job, size_t n_jobs,
                               const struct sq_core_operands *o, uint64_t wrap,
                               struct sq_error *err)
{
    const struct layout l = layout_of(c->point->value);
    struct sq_rng noise = {c->seed};
    uint64_t first = 0;
    c->n_groups = n_jobs;
    c->n_beats = 0;
    for (size_t i = 0; i < n_jobs; i++) {
        const uint64_t banks = (uint64_t)job[i].groups * job[i].group_banks;
        c->n_beats += records_of(&l, wrap > 0 && wrap < banks ? wrap : banks);
    }
    c->wrap[ACT] = c->wrap[LO] = (uint32_t)wrap * l.low_steps;
    c->wrap[HI] = (uint32_t)wrap * l.high_steps;
    SQ_TRY(sq_case_alloc(c, err));
    int32_t *record = c->beats;
    for (size_t i = 0; i < n_jobs; i++) {
        const uint64_t banks = (uint64_t)job[i].groups * job[i].group_banks;
        const uint64_t stored = wrap > 0 && wrap < banks ? wrap : banks;
        set_len(&l, &job[i], c->len[i]);
        put_job(&l, &job[i], o, wrap > 0 ? i * wrap : first, stored, record, &noise);
        record += records_of(&l, stored) * l.len;
        first += banks;
    }
    return SQ_OK;
}

enum sq_status sq_core_take(struct sq_case *c, const struct sq_job *job, size_t n_jobs,
                            struct sq_core_stimulus *s, uint64_t wrap, struct sq_error *err)
{
    const struct sq_core_operands o = {s->n_banks, s->act, s->lo, s->hi};
    const enum sq_status status = put_jobs(c, job, n_jobs, &o, wrap, err);
    sq_core_stimulus_free(s);
    return status;
}

struct sq_point sq_core_point(const struct sq_core_config *config)
{
    struct sq_point p = {.name = "custom"};
    sq_core_set(p.value, config);
    return p;
}

enum sq_status sq_core_case(struct sq_case *c, const struct sq_job *job,
                            const struct sq_core_operands *operands, uint64_t seed,
                            struct sq_error *err)
{
    const struct sq_point *const point = c->point;
    *c = (struct sq_case){.block = &sq_core_block, .point = point, .seed = seed};
    return put_jobs(c, job, 1, operands, 0, err);
}

static enum sq_status draw_case(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)
{
    struct sq_core_config config;
    struct sq_core_stimulus s;
    sq_core_get(c->point->value, &config);
    SQ_TRY(sq_core_draw(&config, rng, &s, err));
    c->stall[JOB] = (struct sq_stall){SQ_STALL_IDLE, s.job_gap};
    for (unsigned i = 0; i < 4; i++) {
        const unsigned side = i < 3 ? ACT + i : SQ_SINK;
        c->stall[side] = s.stall[i];
        c->stall_seed[side] = c->seed * 4 + i;
    }
    c->max_cycles = s.max_cycles;
    return sq_core_take(c, s.job, s.n_jobs, &s, s.max_cycles > 0 ? s.n_banks : 0, err);
}

enum { UNIFORM_BANKS = 8 }; // of a job

static enum sq_status draw_uniform(struct sq_case *c, size_t n_groups, struct sq_rng *rng,
                                   struct sq_error *err)
{
    struct sq_core_config config;
    struct sq_core_stimulus s;
    sq_core_get(c->point->value, &config);
    SQ_FREED struct sq_job *job = calloc(n_groups, sizeof *job);
    SQ_TRY(job ? sq_core_draw_banks(&config, n_groups * UNIFORM_BANKS, rng, &s, err)
               : SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for %zu jobs", n_groups));
    for (size_t i = 0; i < n_groups; i++)
        job[i] = (struct sq_job){UNIFORM_BANKS, 1};
    return sq_core_take(c, job, n_groups, &s, 0, err);
}

// ---- a job ----------------------------------------------------------------------------------

// Bank j of a group, modulo those that are stored.
static void get_banks(const struct layout *l, const struct sq_group *in, uint64_t j, int8_t *act,
                      int8_t *lo, int8_t *hi)
{
    const struct sq_core_config *g = &l->g;
    if (in->wrap[ACT] > 0)
        j %= in->wrap[ACT] / l->low_steps;
    const int32_t *const low = in->record + j * l->low_steps * l->len;
    get_bank(l, low, 2, g->rows, g->low_lanes, g->bank, act);
    get_bank(l, low, l->lo, g->cols, g->low_lanes, g->bank, lo);
    get_bank(l, in->record + j * l->high_steps * l->len, l->hi, g->cols, g->high_lanes,
             g->high_per_bank, hi);
}

enum { LINES_MAX = 64 }; // rows and columns (sq_config.h)

// Adds banks [first, first + n) of a group to a tile.
static uint64_t add_banks(const struct layout *l, const struct sq_group *in, uint64_t first,
                          uint64_t n, int32_t *p_lo, int32_t *p_hi)
{
    int8_t act[LINES_MAX * SQ_BANK_MAX], lo[LINES_MAX * SQ_BANK_MAX], hi[LINES_MAX * SQ_BANK_MAX];
    uint64_t illegal = 0;
    assert(l->g.rows <= LINES_MAX && l->g.cols <= LINES_MAX);
    for (uint64_t j = first; j < first + n; j++) {
        get_banks(l, in, j, act, lo, hi);
        illegal |= add_bank(&l->g, act, lo, hi, p_lo, p_hi);
    }
    return illegal;
}

// Values of all codes.
struct values {
    double e2m1[16], e4m3[256];
};

static struct values values_of(void)
{
    struct values v;
    for (unsigned i = 0; i < 16; i++)
        v.e2m1[i] = (double)sq_e2m1_decode((uint8_t)i);
    for (unsigned i = 0; i < 256; i++)
        v.e4m3[i] =
            sq_fp_is_number(SQ_FP_E4M3, (uint8_t)i) ? (double)sq_e4m3_decode((uint8_t)i) : 0.0;
    return v;
}

// add_bank of codes of floating point.
static uint64_t add_bank_fp(const struct sq_core_config *g, const struct values *v,
                            const int8_t *act, const int8_t *lo, const int8_t *hi, double *p_lo,
                            double *p_hi)
{
    const unsigned b = g->bank, k = g->high_per_bank;
    uint64_t illegal = 0;
    for (unsigned pe = 0; pe < g->rows * g->cols; pe++) {
        const unsigned c = pe % g->cols;
        const int8_t *const x = act + pe / g->cols * b;
        int8_t clean[SQ_BANK_MAX], gathered[SQ_BANK_MAX];
        if (!sq_gather_bank(lo + c * b, x, b, k, g->low_bits, clean, gathered))
            illegal |= UINT64_C(1) << c;
        for (unsigned i = 0; i < b; i++)
            p_lo[pe] += v->e2m1[clean[i] & 15] * v->e4m3[(uint8_t)x[i]];
        for (unsigned t = 0; t < k; t++)
            p_hi[pe] += v->e4m3[(uint8_t)hi[c * k + t]] * v->e4m3[(uint8_t)gathered[t]];
    }
    return illegal;
}

uint64_t sq_core_golden_fp(const unsigned *value, const struct sq_group *in, uint64_t scale_group,
                           double *p_lo, double *p_hi)
{
    const struct layout l = layout_of(value);
    const struct values v = values_of();
    const uint64_t banks = (uint32_t)in->record[0];
    int8_t act[LINES_MAX * SQ_BANK_MAX], lo[LINES_MAX * SQ_BANK_MAX], hi[LINES_MAX * SQ_BANK_MAX];
    uint64_t illegal = 0;
    memset(p_lo, 0, (size_t)l.g.rows * l.g.cols * sizeof *p_lo);
    memset(p_hi, 0, (size_t)l.g.rows * l.g.cols * sizeof *p_hi);
    for (uint64_t j = scale_group * banks; j < (scale_group + 1) * banks; j++) {
        get_banks(&l, in, j, act, lo, hi);
        illegal |= add_bank_fp(&l.g, &v, act, lo, hi, p_lo, p_hi);
    }
    return illegal;
}

static struct sq_job job_of(const struct sq_group *in)
{
    return (struct sq_job){(uint32_t)in->record[0], (uint32_t)in->record[1]};
}

// A tile at a time: a job may have 2^32 of them.
static uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)
{
    const struct layout l = layout_of(v);
    const struct sq_job job = job_of(in);
    const size_t tile = (size_t)l.g.rows * l.g.cols;
    out[2 * tile] =
        add_banks(&l, in, in->from * job.group_banks, job.group_banks, out, out + tile) != 0;
    return job.groups;
}

// Exactly k mask codes in a bank of a column.
static bool is_legal(const struct layout *l, const int32_t *record, unsigned col)
{
    const int32_t mask = sq_mask_code(l->g.low_bits);
    const unsigned lanes = l->g.low_lanes;
    unsigned n = 0;
    for (unsigned i = 0; i < l->g.bank; i++)
        n += record[i / lanes * l->len + l->lo + col * lanes + i % lanes] == mask;
    return n == l->g.high_per_bank;
}

// The bank of the job that the low path completed last, modulo those that are stored.
static uint64_t last_bank(const struct layout *l, const struct sq_core_state *s,
                          const struct sq_group *in)
{
    const struct sq_job job = job_of(in);
    const uint64_t done =
        (uint64_t)(job.groups - s->low_groups) * job.group_banks + s->low_bank - 1;
    return in->wrap[ACT] > 0 ? done % (in->wrap[ACT] / l->low_steps) : done;
}

// A job is done before the next one begins, so the bank is one of the job that is due.
static void status(const unsigned *v, const void *state, const struct sq_group *due,
                   int32_t *status)
{
    const struct sq_core_sim *sim = state;
    for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
        status[i] = (int32_t)(v[SQ_CORE_COUNT_START] + sim->stats.low[i]);
        status[SQ_N_CAUSES + i] = (int32_t)(v[SQ_CORE_COUNT_START] + sim->stats.high[i]);
    }
    if (!sim->has_bank)
        return;
    const struct layout l = layout_of(v);
    const int32_t *const bank = due->record + last_bank(&l, &sim->state, due) * l.low_steps * l.len;
    for (unsigned c = 0; c < l.g.cols; c++)
        if (!is_legal(&l, bank, c))
            status[2 * SQ_N_CAUSES + c] = 1; // sticky
}

struct sq_core_stats sq_core_stats_of(const int32_t *status)
{
    struct sq_core_stats s = {0};
    for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
        s.low[i] = (uint32_t)status[i];
        s.high[i] = (uint32_t)status[SQ_N_CAUSES + i];
        s.cycles += s.low[i]; // one cause per cycle
    }
    return s;
}

// ---- smaller jobs ---------------------------------------------------------------------------

// Keeps groups [first, first + job.groups), the first job.group_banks banks of each.
static void keep(const struct layout *l, struct sq_job job, uint32_t first, int32_t *record,
                 uint32_t *len)
{
    const uint32_t banks = (uint32_t)record[0];
    uint64_t to = 0;
    for (uint32_t g = first; g < first + job.groups; g++)
        for (uint32_t b = 0; b < job.group_banks; b++, to++) {
            const uint64_t from = (uint64_t)g * banks + b;
            for (size_t s = 0; s < l->low_steps; s++)
                memmove(record + (to * l->low_steps + s) * l->len + 2,
                        record + (from * l->low_steps + s) * l->len + 2,
                        (l->hi - 2) * sizeof *record);
            for (size_t s = 0; s < l->high_steps; s++)
                memmove(record + (to * l->high_steps + s) * l->len + l->hi,
                        record + (from * l->high_steps + s) * l->len + l->hi,
                        (l->len - l->hi) * sizeof *record);
        }
    record[0] = (int32_t)job.group_banks;
    record[1] = (int32_t)job.groups;
    set_len(l, &job, len);
}

// Zeroes fields [from, to) of the beats, but for mask codes; false if there is nothing to do.
static bool clear(const struct layout *l, size_t from, size_t to, uint32_t n, bool has_mask,
                  int32_t *record)
{
    const int32_t mask = sq_mask_code(l->g.low_bits);
    bool is_changed = false;
    for (uint32_t i = 0; i < n; i++)
        for (size_t e = from; e < to; e++) {
            int32_t *const x = record + i * l->len + e;
            if (*x == 0 || (has_mask && *x == mask))
                continue;
            *x = 0;
            is_changed = true;
        }
    return is_changed;
}

// Fewer tiles, from *first on, or fewer banks of each; false where `way` is none of these.
static bool cut_job(unsigned way, struct sq_job *job, uint32_t *first)
{
    const struct sq_job old = *job;
    *first = 0;
    switch (way) {
    case 0: // first half of the tiles
        job->groups /= 2;
        break;
    case 1: // half the banks of each
        job->group_banks /= 2;
        break;
    case 2: // an eighth of them less, of few one
        job->group_banks -= job->group_banks > 16 ? job->group_banks / 8 : 1;
        break;
    case 3: // second half
        *first = job->groups / 2;
        job->groups -= *first;
        break;
    case 4: // all but the first
        *first = 1;
        job->groups--;
        break;
    default:
        return false;
    }
    return job->groups > 0 && job->group_banks > 0 &&
           (job->groups != old.groups || job->group_banks != old.group_banks);
}

static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    const struct layout l = layout_of(v);
    struct sq_job job = {(uint32_t)record[0], (uint32_t)record[1]};
    uint32_t first;
    if (way == 5)
        return clear(&l, l.lo, l.hi, len[LO], true, record);
    if (way == 6)
        return clear(&l, l.hi, l.len, len[HI], false, record);
    if (!cut_job(way, &job, &first))
        return false;
    keep(&l, job, first, record, len);
    return true;
}

// Which tiles they are makes no difference where banks come over and over.
static bool cut_wrapped(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)
{
    const struct layout l = layout_of(v);
    struct sq_job job = {(uint32_t)record[0], (uint32_t)record[1]};
    uint32_t first;
    if (!cut_job(way, &job, &first))
        return false;
    record[0] = (int32_t)job.group_banks;
    record[1] = (int32_t)job.groups;
    set_len(&l, &job, len);
    return true;
}

// ---- time -----------------------------------------------------------------------------------

static void init(const unsigned *v, void *state)
{
    struct sq_core_config config;
    sq_core_get(v, &config);
    sq_core_reset(state, &config);
}

static struct sq_core_in core_in(const struct sq_offer *in, bool out_ready)
{
    return (struct sq_core_in){.job_valid = in[JOB].valid,
                               .job = in[JOB].job,
                               .act_valid = in[ACT].valid,
                               .lo_valid = in[LO].valid,
                               .hi_valid = in[HI].valid,
                               .out_ready = out_ready};
}

static void comb(const void *state, const struct sq_offer *in, bool out_ready,
                 struct sq_handshake *out)
{
    const struct sq_core_in core = core_in(in, out_ready);
    struct sq_core_out o;
    sq_core_comb(state, &core, &o);
    *out = (struct sq_handshake){{o.job_ready, o.act_ready, o.lo_ready, o.hi_ready}, o.out_valid};
}

static void clock(void *state, const struct sq_offer *in, bool out_ready)
{
    const struct sq_core_in core = core_in(in, out_ready);
    sq_core_clock(state, &core);
}

static const struct sq_timing timing = {sizeof(struct sq_core_sim), comb, clock};
