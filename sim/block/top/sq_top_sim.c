// SPDX-License-Identifier: Apache-2.0
// Connects the models of the parts of sq_top and moves data between them (sq_top_sim.h).
#include "sim/block/top/sq_top_sim.h"

#include <assert.h>
#include <string.h>

#include "models/array/sq_array.h"
#include "sim/block/flow/sq_engine.h"

enum { AR, AW, W, LITE_B, LITE_R };      // asks
enum { R, B, LITE_AW, LITE_W, LITE_AR }; // replies
enum { JOB, ACT, WEIGHT, SCALE };        // of the engine
enum { ROW, COL, BEAT };                 // counters of a buffer

// ---- words put together -----------------------------------------------------------------------------

static bool widen_takes(const struct sq_widen_sim *w, bool out_ready)
{
    return !w->full || out_ready;
}

static void widen_clock(struct sq_widen_sim *w, const int32_t *in, bool poison, bool last,
                        bool out_ready)
{
    if (!widen_takes(w, out_ready))
        return;
    w->full = false;
    if (!in)
        return;
    w->poison = poison || (w->count > 0 && w->poison);
    w->last = last;
    for (uint32_t i = 0; i < w->bits; i += 8)
        sq_top_put_bits(w->word, w->count * w->bits + i, 8, sq_top_get_bits(in, i, 8));
    w->count++;
    w->full = w->count == w->ratio;
    w->count = w->full ? 0 : w->count;
}

// ---- an operand -------------------------------------------------------------------------------------

static bool operand_takes(const struct sq_operand_sim *o)
{
    return widen_takes(&o->widen, sq_operand_buffer_has_room(&o->buffer));
}

// The place that is read goes into a queue, before the half may be filled again.
static void read_place(struct sq_operand_sim *o, bool leaves)
{
    const uint32_t place =
        o->at[ROW] * o->stride[ROW] + o->at[COL] * o->stride[COL] + o->at[BEAT] * o->stride[BEAT];
    const unsigned left = o->buffer.ahead - leaves;
    if (leaves)
        o->out[0] = o->out[1];
    if (!sq_operand_buffer_reads(&o->buffer))
        return;
    assert(place < SQ_TOP_DEPTH_MAX && left < 2);
    o->out[left] = o->half[o->buffer.read][place];
    for (int i = BEAT; i >= ROW; i--) {
        if (++o->at[i] < o->n[i])
            return;
        o->at[i] = 0;
    }
}

static void fill_place(struct sq_operand_sim *o)
{
    if (!o->widen.full || !sq_operand_buffer_has_room(&o->buffer))
        return;
    assert(o->fill < SQ_TOP_DEPTH_MAX);
    struct sq_top_beat *const beat = &o->half[o->buffer.fill][o->fill];
    memcpy(beat->word, o->widen.word, sizeof beat->word);
    beat->poison = o->widen.poison;
    o->fill = o->widen.last ? 0 : o->fill + 1;
}

// What a buffer is told: the job of `s`, as sq_top.sv wires it.
static void operand_clock(struct sq_operand_sim *o, const struct sq_sequencer_sim *s, unsigned part,
                          const struct sq_dma_beat *in, bool out_ready)
{
    const bool is_row = part <= SQ_TOP_ROW_SCALE, is_scale = part & 1;
    const uint32_t scales = s->room.scale_once ? 1 : s->of.groups;
    const uint32_t beats = is_scale ? scales : s->of.groups * s->layer.beats;
    const uint32_t n[3] = {s->of.tiles[0], s->of.tiles[1], beats};
    const uint32_t step = part == SQ_TOP_ROW_SCALE ? 1 : beats;
    const uint32_t stride[3] = {is_row ? step : 0, is_row ? 0 : step, part != SQ_TOP_ROW_SCALE};
    const bool has_room = sq_operand_buffer_has_room(&o->buffer);
    const bool offers_last = o->widen.full && o->widen.last;
    const bool takes = s->pending[part] && sq_operand_buffer_takes_job(&o->buffer);
    read_place(o, o->buffer.ahead > 0 && out_ready);
    fill_place(o);
    sq_operand_buffer_clock(&o->buffer, s->pending[part] ? n[0] * n[1] * n[2] : 0, s->of.keep[part],
                            offers_last, out_ready);
    widen_clock(&o->widen, in ? in->word : NULL, in && in->poison, in && in->last, has_room);
    if (!takes)
        return;
    memcpy(o->n, n, sizeof n);
    memcpy(o->stride, stride, sizeof stride);
    memset(o->at, 0, sizeof o->at);
}

// ---- the engine -------------------------------------------------------------------------------------

static const int32_t *unpacked(const struct sq_top_sim *s, enum sq_top_part part,
                               int32_t beat[SQ_TOP_BEAT_MAX])
{
    assert(s->engine.shape.part[part].len <= SQ_TOP_BEAT_MAX);
    sq_top_unpack(&s->engine.shape.part[part], s->operand[part].out[0].word, beat);
    return beat;
}

// The job that the sequencer offers, as the engine's values have it.
static struct sq_top_engine_job job_of(const struct sq_top_sim *s)
{
    const struct sq_top_job *const of = &s->sequencer.of;
    const uint32_t beats = s->sequencer.layer.beats, tiles = of->tiles[0] * of->tiles[1];
    const bool is_scaled = s->engine.shape.is_scaled; // a group is the whole tile
    return (struct sq_top_engine_job){.beats = is_scaled ? of->groups * beats : beats,
                                      .groups = is_scaled ? 1 : of->groups,
                                      .tiles = tiles,
                                      .carries = !of->is_first,
                                      .keeps = !of->is_last};
}

// ---- the whole --------------------------------------------------------------------------------------

static void widen_init(struct sq_widen_sim *w, uint32_t bits, uint32_t ratio)
{
    w->bits = bits;
    w->ratio = ratio;
}

void sq_top_init(const unsigned *v, void *state)
{
    struct sq_top_sim *const s = state;
    const uint32_t word_w = v[SQ_TOP_PORT_LEN] * sq_top_out_bits(v);
    memcpy(s->value, v, sizeof s->value);
    s->sequencer.room = sq_top_room(v);
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++) {
        const uint32_t bus_beats = s->sequencer.room.bus_beats[i];
        assert(bus_beats * v[SQ_TOP_DATA_W] <= 32 * SQ_TOP_WORDS_MAX);
        widen_init(&s->operand[i].widen, v[SQ_TOP_DATA_W], bus_beats);
    }
    assert(v[SQ_TOP_SUM_TILES] <= SQ_TOP_SUMS_MAX);
    assert(v[SQ_TOP_DEPTH] <= SQ_TOP_DEPTH_MAX && v[SQ_TOP_MAX_BURST] <= SQ_TOP_STORE_MAX);
    widen_init(&s->widen, word_w, v[SQ_TOP_DATA_W] / word_w);
    sq_dma_init(&s->dma, v[SQ_TOP_DATA_W] / 8, v[SQ_TOP_MAX_BURST], v[SQ_TOP_OUTSTANDING],
                v[SQ_TOP_QUIET]);
    sq_top_regs_init_counts(&s->regs, v[SQ_TOP_COUNT_START]);
    sq_top_engine_init(&s->engine, v);
    widen_init(&s->carry, 0, sq_top_engine_slots(&s->engine));
    uint32_t *const reg = s->regs.value;
    reg[SQ_REG_ID / 4] = SQ_REG_ID_VALUE;
    reg[SQ_REG_VERSION / 4] = SQ_REG_VERSION_VALUE;
    reg[SQ_REG_ARRAY / 4] = v[SQ_TOP_BANK_LEN] << 16 | v[SQ_TOP_COLS] << 8 | v[SQ_TOP_ROWS];
    reg[SQ_REG_CODES / 4] = v[SQ_TOP_OUT_KIND] << 16 | v[SQ_TOP_WEIGHT_W] << 8 | v[SQ_TOP_ACT_W];
    reg[SQ_REG_ENGINE / 4] = v[SQ_TOP_HIGH] << 16 | v[SQ_TOP_HIGH_W] << 8 | v[SQ_TOP_FORM] << 6 |
                             v[SQ_TOP_ONE_ACC] << 5 | v[SQ_TOP_ON_ACTS] << 4 | v[SQ_TOP_LAYOUT];
    reg[SQ_REG_SCALED / 4] = v[SQ_TOP_HIGH_KIND] << 16 | v[SQ_TOP_SCALE] << 8 | v[SQ_TOP_ELEMENT];
    reg[SQ_REG_BUFFER / 4] = v[SQ_TOP_SUM_TILES] << 16 | v[SQ_TOP_DEPTH];
    reg[SQ_REG_BUS / 4] = v[SQ_TOP_DATA_W] / 8;
}

// Where the fields of AXI4-Lite begin among those of the pins.
static size_t lite_ask(const struct sq_top_sim *s)
{
    return 8 + 2 * s->value[SQ_TOP_DATA_W] / 32 + 1;
}

static size_t lite_reply(const struct sq_top_sim *s)
{
    return s->value[SQ_TOP_DATA_W] / 32 + 3;
}

void sq_top_ask(const void *state, struct sq_pins *pins)
{
    const struct sq_top_sim *const s = state;
    sq_dma_ask(&s->dma, pins);
    int32_t *const lite = pins->ask + lite_ask(s);
    pins->ask_valid[LITE_B] = s->regs.b_valid;
    pins->ask_valid[LITE_R] = s->regs.r_valid;
    pins->reply_ready[LITE_AW] = !s->regs.has_aw;
    pins->reply_ready[LITE_W] = !s->regs.has_w;
    pins->reply_ready[LITE_AR] = !s->regs.r_valid;
    lite[0] = (int32_t)s->regs.b_resp;
    lite[1] = (int32_t)s->regs.r_data;
    lite[2] = (int32_t)s->regs.r_resp;
}

// What stands between the parts in a cycle.
struct wires {
    const struct sq_dma_beat *load; // NULL: none
    bool load_ready, valid[SQ_TOP_OPERANDS], ready[SQ_TOP_OPERANDS];
    struct sq_offer engine[SQ_STREAMS_MAX];
    struct sq_handshake shake;
    bool scale_fires, y_ready, wide_ready, keeps;
    bool sums_ready; // a beat of sums is taken
};

static void find_wires(const struct sq_top_sim *s, struct wires *w)
{
    const struct sq_sequencer_sim *const q = &s->sequencer;
    const uint32_t room = s->value[SQ_TOP_MAX_BURST] < 2 ? 2 : s->value[SQ_TOP_MAX_BURST];
    *w = (struct wires){.load = s->dma.out > 0 ? &s->dma.beat[0] : NULL};
    w->load_ready =
        w->load && (w->load->dest >= SQ_TOP_OPERANDS || operand_takes(&s->operand[w->load->dest]));
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        w->valid[i] = sq_operand_buffer_offers(&s->operand[i].buffer);
    w->engine[JOB].valid = q->pending[SQ_TOP_ENGINE];
    const struct sq_top_engine_job job = job_of(s);
    const bool is_scaled = s->engine.shape.is_scaled;
    w->engine[JOB].n = job.beats;
    w->engine[JOB].job.group_banks = job.groups;
    w->engine[JOB].job.groups = job.tiles;
    w->engine[JOB].carry = job.carries;
    w->engine[JOB].keep = job.keeps;
    w->engine[SQ_ENGINE_CARRY].valid =
        is_scaled ? s->carry.full : sq_operand_buffer_offers(&s->sums);
    w->engine[ACT].valid = w->valid[SQ_TOP_ACT];
    w->engine[WEIGHT].valid = w->valid[SQ_TOP_WEIGHT];
    w->engine[SCALE].valid = w->valid[SQ_TOP_ROW_SCALE] && w->valid[SQ_TOP_COL_SCALE];
    w->wide_ready = s->n_store < room;
    w->y_ready = widen_takes(&s->widen, w->wide_ready);
    s->engine.block->timing->comb(s->engine.time, w->engine, w->y_ready, &w->shake);
    w->keeps = sq_top_engine_keeps(&s->engine);
    const bool carry_ready = w->shake.in_ready[SQ_ENGINE_CARRY];
    w->sums_ready = is_scaled ? widen_takes(&s->carry, carry_ready) : carry_ready;
    w->scale_fires = w->engine[SCALE].valid && w->shake.in_ready[SCALE];
    w->ready[SQ_TOP_ACT] = w->shake.in_ready[ACT];
    w->ready[SQ_TOP_WEIGHT] = w->shake.in_ready[WEIGHT];
    w->ready[SQ_TOP_ROW_SCALE] = w->ready[SQ_TOP_COL_SCALE] = w->scale_fires;
}

static void find_events(const struct sq_top_sim *s, const struct wires *w,
                        struct sq_top_regs_in *in)
{
    const struct sq_pins *const p = &s->pins;
    const int32_t *const lite = p->reply + lite_reply(s);
    int32_t written[2];
    sq_dma_status(&s->dma, written);
    *in = (struct sq_top_regs_in){
        .aw_valid = p->reply_valid[LITE_AW],
        .w_valid = p->reply_valid[LITE_W],
        .ar_valid = p->reply_valid[LITE_AR],
        .b_ready = p->ask_ready[LITE_B],
        .r_ready = p->ask_ready[LITE_R],
        .aw_addr = (uint32_t)lite[0],
        .w_data = (uint32_t)lite[1],
        .w_strb = (uint32_t)lite[2],
        .ar_addr = (uint32_t)lite[3],
        .done = sq_sequencer_is_done(&s->sequencer),
        .refused = sq_sequencer_refuses(&s->sequencer),
        .busy = w->valid[SQ_TOP_ACT] && w->ready[SQ_TOP_ACT],
        .wait = !(w->valid[SQ_TOP_ACT] && w->valid[SQ_TOP_WEIGHT]),
        .read = p->reply_valid[R] && p->reply_ready[R],
        .write = p->ask_valid[W] && p->ask_ready[W],
        .read_status = w->load && w->load_ready && w->load->poison ? (uint32_t)w->load->status : 0,
        .write_status = (uint32_t)written[1],
    };
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        in->operand |= w->valid[i] && w->ready[i] && s->operand[i].out[0].poison;
    if (w->shake.out_valid && w->y_ready)
        in->engine = s->engine.word[0].errors;
    if (w->keeps)
        in->engine |= s->engine.keep[0].errors;
}

// Values through the engine, and its edge.
static void clock_engine(struct sq_top_sim *s, const struct wires *w)
{
    int32_t beat[SQ_TOP_OPERANDS][SQ_TOP_BEAT_MAX];
    const struct sq_top_engine_job job = job_of(s);
    struct sq_top_engine_in in = {
        .job = w->engine[JOB].valid && w->shake.in_ready[JOB] ? &job : NULL,
        .has_operands = w->valid[SQ_TOP_ACT] && w->ready[SQ_TOP_ACT],
        .offers_scales = w->engine[SCALE].valid,
        .takes_scales = w->scale_fires,
    };
    if (in.has_operands && !s->has_no_values) {
        in.act = unpacked(s, SQ_TOP_ACT, beat[SQ_TOP_ACT]);
        in.weight = unpacked(s, SQ_TOP_WEIGHT, beat[SQ_TOP_WEIGHT]);
    }
    if (in.offers_scales) {
        in.row = unpacked(s, SQ_TOP_ROW_SCALE, beat[SQ_TOP_ROW_SCALE]);
        in.col = unpacked(s, SQ_TOP_COL_SCALE, beat[SQ_TOP_COL_SCALE]);
    }
    sq_top_engine_clock(&s->engine, &in);
    s->engine.block->timing->clock(s->engine.time, w->engine, w->y_ready);
}

// Sums between chunks: the buffer's time; the values go along in engine.kept.
static void clock_sums(struct sq_top_sim *s, const struct wires *w)
{
    struct sq_top_engine *const e = &s->engine;
    const struct sq_top_job *const of = &s->sequencer.of;
    const uint32_t places = of->tiles[0] * of->tiles[1] * sq_top_engine_slots(e);
    const bool offers = sq_operand_buffer_offers(&s->sums);
    assert(!w->keeps || (e->n_keeps > 0 && sq_operand_buffer_has_room(&s->sums)));
    sq_operand_buffer_clock(&s->sums, s->sequencer.pending[SQ_TOP_SUMS] ? places : 0, false,
                            w->keeps && e->keep[0].last, w->sums_ready);
    widen_clock(&s->carry, offers ? s->carry.word : NULL, false, false,
                w->shake.in_ready[SQ_ENGINE_CARRY]);
    if (w->keeps)
        memmove(e->keep, e->keep + 1, --e->n_keeps * sizeof *e->keep);
}

// A word of outputs as the port has it.
static void pack_word(const struct sq_top_sim *s, int32_t word[SQ_TOP_WORDS_MAX])
{
    const unsigned bits = sq_top_out_bits(s->value);
    memset(word, 0, SQ_TOP_WORDS_MAX * sizeof *word);
    for (unsigned i = 0; i < s->value[SQ_TOP_PORT_LEN]; i++)
        sq_top_put_bits(word, i * bits, bits, s->engine.word[0].y[i]);
}

static void clock_outputs(struct sq_top_sim *s, const struct wires *w, bool store_taken)
{
    struct sq_top_engine *const e = &s->engine;
    int32_t word[SQ_TOP_WORDS_MAX];
    const bool fires = w->shake.out_valid && w->y_ready;
    if (s->widen.full && w->wide_ready)
        memcpy(s->store[s->n_store++], s->widen.word, sizeof *s->store);
    if (store_taken) {
        s->n_store--;
        memmove(s->store, s->store + 1, s->n_store * sizeof *s->store);
    }
    if (fires)
        pack_word(s, word);
    widen_clock(&s->widen, fires ? word : NULL, false, false, w->wide_ready);
    if (fires) {
        assert(e->n_words > 0);
        e->n_words--;
        memmove(e->word, e->word + 1, e->n_words * sizeof *e->word);
    }
}

void sq_top_clock(void *state, const struct sq_offer *unused, bool out_ready)
{
    struct sq_top_sim *const s = state;
    struct wires w;
    struct sq_top_regs_in events;
    int32_t transfer[SQ_DMA_JOB_LEN];
    (void)unused;
    (void)out_ready;
    find_wires(s, &w);
    find_events(s, &w, &events);

    const bool store_taken = s->n_store > 0 && s->dma.n_in < 2;
    const struct sq_offer dma[2] = {
        {.valid = sq_sequencer_transfer(&s->sequencer, transfer), .beat = transfer},
        {.valid = s->n_store > 0, .beat = s->store[0]}};
    struct sq_sequencer_in in = {
        .start = sq_top_regs_starts(&s->regs),
        .descriptor = s->regs.value[SQ_REG_DESCRIPTOR / 4],
        .dma_ready = !s->dma.next.is_there,
        .write_done = s->dma.done,
        .beat = w.load && w.load->dest == SQ_TOP_DESCRIPTOR ? w.load : NULL,
    };
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        in.job_ready[i] = sq_operand_buffer_takes_job(&s->operand[i].buffer);
    in.job_ready[SQ_TOP_ENGINE] = w.shake.in_ready[JOB];
    in.job_ready[SQ_TOP_SUMS] = sq_operand_buffer_takes_job(&s->sums);

    // Whoever reads the state of another one goes first.
    const struct sq_dma_beat load = w.load ? *w.load : (struct sq_dma_beat){.last = false};
    clock_sums(s, &w);
    clock_engine(s, &w);
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        operand_clock(&s->operand[i], &s->sequencer, i,
                      w.load && w.load->dest == (int32_t)i ? &load : NULL, w.ready[i]);
    sq_sequencer_clock(&s->sequencer, &in);
    s->dma.pins = s->pins;
    sq_dma_clock(&s->dma, dma, w.load_ready);
    clock_outputs(s, &w, store_taken);
    sq_top_regs_clock(&s->regs, &events);
}
