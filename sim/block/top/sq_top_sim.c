// SPDX-License-Identifier: Apache-2.0
// Connects the models of the parts of sq_top and moves data between them (sq_top_sim.h).
#include "sim/block/top/sq_top_sim.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "models/array/sq_array.h"
#include "sim/block/flow/sq_engine.h"

enum { AR, AW, W };               // asks
enum { R, B };                    // replies
enum { JOB, ACT, WEIGHT, SCALE }; // of the engine
enum { ROW, COL, BEAT };          // counters of a buffer
enum { RESET_CYCLES = 3 };        // of sq_reset_sync, and one

// ---- an operand -------------------------------------------------------------------------------------

static bool operand_takes(const struct sq_operand_sim *o)
{
    return sq_gear_takes(&o->gear, sq_operand_buffer_has_room(&o->buffer));
}

// The place that is read goes into a queue, before the half may be filled again.
static void read_place(struct sq_operand_sim *o, bool leaves)
{
    const uint32_t place =
        o->at[ROW] * o->stride[ROW] + o->at[COL] * o->stride[COL] + o->at[BEAT] * o->stride[BEAT];
    const unsigned left = o->buffer.ahead - leaves;
    if (leaves)
        memcpy(o->out[0], o->out[1], sizeof o->out[0]);
    o->was_poisoned[1] = o->was_poisoned[0];
    o->was_poisoned[0] = false;
    if (!sq_operand_buffer_reads(&o->buffer))
        return;
    assert(place < SQ_TOP_DEPTH_MAX && left < 2);
    memcpy(o->out[left], o->half[o->buffer.read].data + place * o->gear.out, o->gear.out);
    o->was_poisoned[0] = o->half[o->buffer.read].poison[place];
    for (int i = BEAT; i >= ROW; i--) {
        if (++o->at[i] < o->n[i])
            return;
        o->at[i] = 0;
    }
}

static void fill_place(struct sq_operand_sim *o)
{
    if (!sq_gear_offers(&o->gear) || !sq_operand_buffer_has_room(&o->buffer))
        return;
    assert(o->fill < SQ_TOP_DEPTH_MAX && (o->fill + 1) * o->gear.out <= SQ_TOP_HALF_NBYTES);
    memcpy(o->half[o->buffer.fill].data + o->fill * o->gear.out, o->gear.data, o->gear.out);
    o->half[o->buffer.fill].poison[o->fill] = o->gear.poison;
    o->fill = sq_gear_ends(&o->gear) ? 0 : o->fill + 1;
}

// What a buffer is told: the job of `s`, as sq_top.sv wires it.
static void operand_clock(struct sq_operand_sim *o, const struct sq_sequencer_sim *s, unsigned part,
                          const struct sq_dma_beat *in, bool out_ready)
{
    const bool is_row = part <= SQ_TOP_ROW_SCALE, is_scale = part & 1;
    const bool is_indexed = s->room.is_indexed;
    const uint32_t scales = s->room.scale_once ? 1 : s->of.groups;
    const uint32_t beats = is_scale                           ? scales
                           : is_indexed && part == SQ_TOP_ACT ? s->layer.beats
                           : is_indexed                       ? s->of.groups
                                                              : s->of.beats;
    const bool is_once = is_indexed && part != SQ_TOP_COL_SCALE; // not for each tile of columns
    const uint32_t n[3] = {s->of.tiles[0], is_once ? 1 : s->of.tiles[1], beats};
    const uint32_t step = part == SQ_TOP_ROW_SCALE ? 1 : beats;
    const uint32_t stride[3] = {is_row ? step : 0, is_row ? 0 : step, part != SQ_TOP_ROW_SCALE};
    const bool has_room = sq_operand_buffer_has_room(&o->buffer);
    const bool offers_last = sq_gear_ends(&o->gear);
    const uint32_t tail = in && in->last ? (uint32_t)in->dest >> SQ_TOP_DEST_BITS : 0;
    const struct sq_gear_in word = {in ? in->word : NULL, tail > 0 ? tail : o->gear.in, 1,
                                    in && in->poison, in && in->last};
    const bool takes = s->pending[part] && sq_operand_buffer_takes_job(&o->buffer);
    read_place(o, o->buffer.ahead > 0 && out_ready);
    fill_place(o);
    sq_operand_buffer_clock(&o->buffer, s->pending[part] ? n[0] * n[1] * n[2] : 0, s->of.keep[part],
                            offers_last, out_ready);
    sq_gear_clock(&o->gear, in ? &word : NULL, has_room);
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
    sq_top_unpack(&s->engine.shape.part[part], s->operand[part].out[0], beat);
    return beat;
}

// The job that the sequencer offers, as the engine's values have it.
static struct sq_top_engine_job job_of(const struct sq_top_sim *s)
{
    const struct sq_top_job *const of = &s->sequencer.of;
    const uint32_t tiles = of->tiles[0] * of->tiles[1];
    const uint32_t groups = s->engine.shape.is_scaled ? 1 : of->groups; // 1: the whole tile
    return (struct sq_top_engine_job){.beats = groups > 0 ? of->beats / groups : 0,
                                      .groups = groups,
                                      .part = {of->part[0], of->part[1]},
                                      .tiles = tiles,
                                      .carries = !of->is_first,
                                      .keeps = !of->is_last};
}

// ---- the whole --------------------------------------------------------------------------------------

static void clear_core(struct sq_top_sim *s)
{
    const unsigned *const v = s->value;
    const bool has_no_values = s->has_no_values;
    memset(&s->sequencer, 0, sizeof s->sequencer);
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        memset(&s->operand[i], 0, offsetof(struct sq_operand_sim, half));
    memset(&s->engine, 0, offsetof(struct sq_top_engine, sums));
    memset(&s->sums, 0, sizeof *s - offsetof(struct sq_top_sim, sums));
    s->has_no_values = has_no_values;
    s->sequencer.room = sq_top_room(v);
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++) {
        struct sq_gear_sim *const g = &s->operand[i].gear;
        *g = (struct sq_gear_sim){.in = v[SQ_TOP_DATA_W] / 8,
                                  .out = s->sequencer.room.beat_nbytes[i]};
        assert(g->out <= 4 * SQ_TOP_WORDS_MAX && v[SQ_TOP_DEPTH + i] <= SQ_TOP_DEPTH_MAX);
    }
    assert(v[SQ_TOP_SUM_TILES] <= SQ_TOP_SUMS_MAX && v[SQ_TOP_MAX_BURST] <= SQ_TOP_STORE_MAX);
    s->wide.in = v[SQ_TOP_PORT_LEN] * sq_top_out_bits(v) / 8;
    s->wide.out = v[SQ_TOP_DATA_W] / 8;
    sq_top_engine_init(&s->engine, v);
    sq_encode_init(&s->encode, v);
    sq_tv_init(&s->vector, v[SQ_TOP_DATA_W] / 8, v[SQ_TOP_VECTOR] > 0);
    sq_ta_init(&s->attend, v[SQ_TOP_DATA_W] / 8, v[SQ_TOP_ATTEND]);
    s->carry.in = 1; // a beat of sums
    s->carry.out = sq_top_engine_slots(&s->engine);
}

void sq_top_init(const unsigned *v, void *state)
{
    struct sq_top_sim *const s = state;
    memcpy(s->value, v, sizeof s->value);
    s->was_waiting = true;
    s->asleep = RESET_CYCLES;
    clear_core(s);
    sq_dma_init(&s->dma, v[SQ_TOP_DATA_W] / 8, v[SQ_TOP_MAX_BURST], v[SQ_TOP_OUTSTANDING],
                v[SQ_TOP_WRITES], v[SQ_TOP_QUIET]);
    sq_top_regs_init_counts(&s->regs, v[SQ_TOP_COUNT_START]);
    uint32_t *const reg = s->regs.value;
    reg[SQ_REG_ID / 4] = SQ_REG_ID_VALUE;
    reg[SQ_REG_VERSION / 4] = SQ_REG_VERSION_VALUE;
    reg[SQ_REG_ARRAY / 4] = v[SQ_TOP_BANK_LEN] << 16 | v[SQ_TOP_COLS] << 8 | v[SQ_TOP_ROWS];
    reg[SQ_REG_CODES / 4] = (uint32_t)(v[SQ_TOP_VECTOR] > 0) << 25 |
                            (uint32_t)(v[SQ_TOP_ENCODE] > 0) << 24 | v[SQ_TOP_OUT_KIND] << 16 |
                            v[SQ_TOP_WEIGHT_W] << 8 | v[SQ_TOP_ACT_W];
    reg[SQ_REG_ENGINE / 4] = v[SQ_TOP_HIGH] << 16 | v[SQ_TOP_HIGH_W] << 8 | v[SQ_TOP_FORM] << 6 |
                             v[SQ_TOP_ONE_ACC] << 5 | v[SQ_TOP_ON_ACTS] << 4 | v[SQ_TOP_LAYOUT];
    reg[SQ_REG_SCALED / 4] =
        v[SQ_TOP_HIGH_KIND] << 16 | v[SQ_TOP_SCALE] << 8 | v[SQ_TOP_ELEMENT] % 32;
    const unsigned *const depth = v + SQ_TOP_DEPTH;
    reg[SQ_REG_BUFFER / 4] = depth[SQ_TOP_WEIGHT] << 16 | depth[SQ_TOP_ACT];
    reg[SQ_REG_SCALES / 4] = depth[SQ_TOP_COL_SCALE] << 16 | depth[SQ_TOP_ROW_SCALE];
    reg[SQ_REG_SUMS / 4] = v[SQ_TOP_PARTS] << 16 | v[SQ_TOP_SUM_TILES];
    reg[SQ_REG_BUS / 4] = v[SQ_TOP_DATA_W] / 8;
    reg[SQ_REG_ATTEND / 4] = v[SQ_TOP_ATTEND];
}

// Where the fields of AXI4-Lite begin among those of the pins.
void sq_top_ask(const void *state, struct sq_pins *pins)
{
    const struct sq_top_sim *const s = state;
    sq_dma_ask(&s->dma, pins);
    int32_t *const lite = pins->ask + sq_lite_ask(s->value[SQ_TOP_DATA_W]);
    pins->ask_valid[SQ_LITE_B] = s->regs.b_valid;
    pins->ask_valid[SQ_LITE_R] = s->regs.r_valid;
    pins->reply_ready[SQ_LITE_AW] = s->asleep == 0 && !s->regs.has_aw;
    pins->reply_ready[SQ_LITE_W] = s->asleep == 0 && !s->regs.has_w;
    pins->reply_ready[SQ_LITE_AR] = s->asleep == 0 && !s->regs.r_valid;
    lite[0] = (int32_t)s->regs.b_resp;
    lite[1] = (int32_t)s->regs.r_data;
    lite[2] = (int32_t)s->regs.r_resp;
}

// What stands between the parts in a cycle.
struct wires {
    const struct sq_dma_beat *load; // NULL: none
    uint32_t dest;                  // of it, without the tail
    bool load_ready, valid[SQ_TOP_OPERANDS], ready[SQ_TOP_OPERANDS];
    struct sq_offer engine[SQ_STREAMS_MAX];
    struct sq_handshake shake;
    struct sq_indexed_in feed; // of an indexed chip
    struct sq_indexed_out fed;
    bool job_ready; // of the engine
    bool scale_fires, y_ready, wide_ready, keeps;
    bool sums_ready; // a beat of sums is taken
};

// The streams of the engine of an indexed chip, and who of the buffers may go.
static void find_indexed(const struct sq_top_sim *s, struct wires *w)
{
    const struct sq_sequencer_sim *const q = &s->sequencer;
    const uint32_t offset = (uint32_t)s->operand[SQ_TOP_COL_SCALE].out[0][0] & 0xffff;
    w->feed = (struct sq_indexed_in){.job = q->pending[SQ_TOP_ENGINE],
                                     .row = w->valid[SQ_TOP_ROW_SCALE],
                                     .act = w->valid[SQ_TOP_ACT],
                                     .kept = w->valid[SQ_TOP_WEIGHT],
                                     .offset = w->valid[SQ_TOP_COL_SCALE],
                                     .groups = q->layer.beats,
                                     .rows = q->of.tiles[1],
                                     .n_kept = q->layer.groups,
                                     .at = offset};
    sq_indexed_offer(&s->engine.feed, &w->feed, w->engine);
    const bool waits = sq_top_indexed_waits(&s->engine);
    w->y_ready = w->y_ready && !waits;
    s->engine.block->timing->comb(s->engine.time, w->engine, w->y_ready, &w->shake);
    w->shake.out_valid = w->shake.out_valid && !waits;
    sq_indexed_take(&s->engine.feed, &w->feed, w->shake.in_ready, &w->fed);
    w->ready[SQ_TOP_ACT] = w->fed.act_ready;
    w->ready[SQ_TOP_ROW_SCALE] = w->fed.row_ready;
    w->ready[SQ_TOP_WEIGHT] = w->fed.kept_ready;
    w->ready[SQ_TOP_COL_SCALE] = w->fed.offset_ready;
    w->job_ready = w->fed.job_ready;
}

static void find_engine(const struct sq_top_sim *s, struct wires *w)
{
    w->engine[JOB].valid = s->sequencer.pending[SQ_TOP_ENGINE];
    const struct sq_top_engine_job job = job_of(s);
    const bool is_scaled = s->engine.shape.is_scaled;
    w->engine[JOB].n = job.beats;
    w->engine[JOB].job.group_banks = job.groups;
    w->engine[JOB].job.groups = job.tiles;
    w->engine[JOB].carry = job.carries;
    w->engine[JOB].keep = job.keeps;
    w->engine[SQ_ENGINE_CARRY].valid =
        is_scaled ? sq_gear_offers(&s->carry) : sq_operand_buffer_offers(&s->sums);
    w->engine[ACT].valid = w->valid[SQ_TOP_ACT];
    w->engine[WEIGHT].valid = w->valid[SQ_TOP_WEIGHT];
    w->engine[SCALE].valid = w->valid[SQ_TOP_ROW_SCALE] && w->valid[SQ_TOP_COL_SCALE];
    s->engine.block->timing->comb(s->engine.time, w->engine, w->y_ready, &w->shake);
    w->keeps = sq_top_engine_keeps(&s->engine);
    const bool carry_ready = w->shake.in_ready[SQ_ENGINE_CARRY];
    w->sums_ready = is_scaled ? sq_gear_takes(&s->carry, carry_ready) : carry_ready;
    w->scale_fires = w->engine[SCALE].valid && w->shake.in_ready[SCALE];
    w->ready[SQ_TOP_ACT] = w->shake.in_ready[ACT];
    w->ready[SQ_TOP_WEIGHT] = w->shake.in_ready[WEIGHT];
    w->ready[SQ_TOP_ROW_SCALE] = w->ready[SQ_TOP_COL_SCALE] = w->scale_fires;
    w->job_ready = w->shake.in_ready[JOB];
}

static void find_wires(const struct sq_top_sim *s, struct wires *w)
{
    const uint32_t room = s->value[SQ_TOP_MAX_BURST] < 2 ? 2 : s->value[SQ_TOP_MAX_BURST];
    *w = (struct wires){.load = s->dma.out > 0 ? &s->dma.beat[0] : NULL};
    w->dest = w->load ? (uint32_t)w->load->dest % (1u << SQ_TOP_DEST_BITS) : 0;
    w->load_ready =
        w->load &&
        (s->dma.abort || (w->dest == SQ_TOP_ENCODER    ? sq_encode_takes(&s->encode)
                          : w->dest >= SQ_TOP_OPERANDS ? true
                                                       : operand_takes(&s->operand[w->dest])));
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        w->valid[i] = sq_operand_buffer_offers(&s->operand[i].buffer);
    w->wide_ready = s->n_store < room;
    w->y_ready = sq_gear_takes(&s->wide, w->wide_ready);
    if (s->engine.shape.is_indexed)
        find_indexed(s, w);
    else
        find_engine(s, w);
}

static void find_events(const struct sq_top_sim *s, const struct wires *w,
                        struct sq_top_regs_in *in)
{
    const struct sq_pins *const p = &s->pins;
    const int32_t *const lite = p->reply + sq_lite_reply(s->value[SQ_TOP_DATA_W]);
    int32_t written[2];
    sq_dma_status(&s->dma, written);
    *in = (struct sq_top_regs_in){
        .aw_valid = p->reply_valid[SQ_LITE_AW],
        .w_valid = p->reply_valid[SQ_LITE_W],
        .ar_valid = p->reply_valid[SQ_LITE_AR],
        .b_ready = p->ask_ready[SQ_LITE_B],
        .r_ready = p->ask_ready[SQ_LITE_R],
        .aw_addr = (uint32_t)lite[0],
        .w_data = (uint32_t)lite[1],
        .w_strb = (uint32_t)lite[2],
        .ar_addr = (uint32_t)lite[3],
        .run = s->ring.state == SQ_RING_LAYER,
        .refused = sq_sequencer_refuses(&s->sequencer) || sq_task_refuses(&s->encode.task) ||
                   sq_task_refuses(&s->vector.task) || sq_task_refuses(&s->attend.task),
        .busy = s->was_busy,
        .wait = s->was_waiting,
        .read = p->reply_valid[R] && p->reply_ready[R],
        .write = p->ask_valid[W] && p->ask_ready[W],
        .read_wait = p->reply_ready[R] && !p->reply_valid[R],
        .read_full = p->reply_valid[R] && !p->reply_ready[R],
        .write_wait =
            (p->ask_valid[AW] && !p->ask_ready[AW]) || (p->ask_valid[W] && !p->ask_ready[W]),
        .read_status = w->load && w->load_ready && w->load->poison ? (uint32_t)w->load->status : 0,
        .write_status = (uint32_t)written[1],
    };
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        in->operand |= s->operand[i].was_poisoned[1];
    if (w->shake.out_valid && w->y_ready)
        in->engine = sq_top_engine_word(&s->engine)->errors;
    if (w->keeps)
        in->engine |= s->engine.keep[0].errors;
    in->engine |= (uint32_t)sq_encode_has_error(&s->encode) << SQ_SCALED_ERROR_CODE;
}

// Values through the engine of an indexed chip, and its edge.
static void clock_indexed(struct sq_top_sim *s, const struct wires *w)
{
    int32_t beat[SQ_TOP_OPERANDS][SQ_TOP_BEAT_MAX];
    struct sq_top_indexed_in in = {
        .in = &w->feed, .out = &w->fed, .word_leaves = w->shake.out_valid && w->y_ready};
    if (w->fed.job_fires)
        in.s_a = unpacked(s, SQ_TOP_ROW_SCALE, beat[SQ_TOP_ROW_SCALE]);
    if (w->valid[SQ_TOP_WEIGHT])
        in.kept = unpacked(s, SQ_TOP_WEIGHT, beat[SQ_TOP_WEIGHT]);
    if (w->valid[SQ_TOP_ACT] && w->ready[SQ_TOP_ACT])
        in.act = unpacked(s, SQ_TOP_ACT, beat[SQ_TOP_ACT]);
    sq_top_indexed_clock(&s->engine, &in);
    s->engine.block->timing->clock(s->engine.time, w->engine, w->y_ready);
}

// The same of the other engines.
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
    const struct sq_gear_in sum = {.nbytes = 1, .pad = 1};
    sq_gear_clock(&s->carry, offers ? &sum : NULL, w->shake.in_ready[SQ_ENGINE_CARRY]);
    if (w->keeps)
        memmove(e->keep, e->keep + 1, --e->n_keeps * sizeof *e->keep);
}

// A word of outputs as the port has it.
static void pack_word(const struct sq_top_sim *s, int32_t word[SQ_DMA_WORDS_MAX])
{
    const unsigned bits = sq_top_out_bits(s->value);
    memset(word, 0, SQ_DMA_WORDS_MAX * sizeof *word);
    for (unsigned i = 0; i < s->value[SQ_TOP_PORT_LEN]; i++)
        sq_top_put_bits(word, i * bits, bits, sq_top_engine_word(&s->engine)->y[i]);
}

static void clock_outputs(struct sq_top_sim *s, const struct wires *w, bool store_taken)
{
    struct sq_top_engine *const e = &s->engine;
    int32_t word[SQ_DMA_WORDS_MAX];
    const bool fires = w->shake.out_valid && w->y_ready;
    if (sq_gear_offers(&s->wide) && w->wide_ready)
        memcpy(s->store[s->n_store++], s->wide.data, s->wide.out);
    if (store_taken) {
        s->n_store--;
        memmove(s->store, s->store + 1, s->n_store * sizeof *s->store);
    }
    if (fires)
        pack_word(s, word);
    const bool last = fires && sq_top_engine_word(e)->ends_job;
    const struct sq_gear_in in = {word, s->wide.in, last ? s->wide.out : 1, false, last};
    sq_gear_clock(&s->wide, fires ? &in : NULL, w->wide_ready);
    if (fires)
        sq_top_engine_word_leaves(e);
}

// The registers and the parts that the ring looks at.
static struct sq_ring_in ring_inputs(const struct sq_top_sim *s)
{
    const struct sq_top_regs_sim *const r = &s->regs;
    return (struct sq_ring_in){
        .start = sq_top_regs_starts(r),
        .has_ring = sq_top_regs_has_ring(r),
        .abort = sq_top_regs_aborts(r),
        .rewind = sq_top_regs_rewinds(r),
        .descriptor = sq_top_regs_address(r, SQ_REG_DESCRIPTOR, SQ_REG_DESCRIPTOR_HIGH),
        .base = sq_top_regs_address(r, SQ_REG_RING_BASE, SQ_REG_RING_BASE_HIGH),
        .size = r->value[SQ_REG_RING_SIZE / 4],
        .tail = sq_top_regs_tail(r),
        .watchdog = r->value[SQ_REG_WATCHDOG / 4],
        .layer_done = sq_sequencer_is_done(&s->sequencer) || sq_encode_is_done(&s->encode) ||
                      sq_tv_is_done(&s->vector) || sq_ta_is_done(&s->attend),
        .wants_notice = sq_sequencer_wants_notice(&s->sequencer),
        .dma_ready = !s->dma.next.is_there,
        .word_ready = s->dma.n_in < 2,
        .write_done = s->dma.done,
        .dma_idle = sq_dma_is_idle(&s->dma),
        .beats = 4 * SQ_RECORD_WORDS / s->dma.nbytes,
    };
}

// The kind of the descriptor that another unit than the engine has, or 0.
static uint32_t kind_away(const struct sq_top_sim *s)
{
    return s->sequencer.state == SQ_SEQ_AWAY ? s->sequencer.word[SQ_DESC_KIND] & 0xffff : 0;
}

// What the unit that has descriptors of this kind, and beats with this destination, sees.
static struct sq_task_in task_of(const struct sq_top_sim *s, const struct wires *w,
                                 const struct sq_ring_in *at, uint32_t kind, uint32_t dest)
{
    const bool runs = s->ring.state == SQ_RING_LAYER, has = kind_away(s) == kind;
    return (struct sq_task_in){
        .start = sq_sequencer_starts(&s->sequencer, kind),
        .sound = s->sequencer.sound,
        .word = s->sequencer.word,
        .dma_ready = runs && at->dma_ready,
        .write_done = runs && at->write_done && has,
        .out_ready = runs && at->word_ready && has,
        .beat = w->load && w->dest == dest ? w->load : NULL,
        .part = w->load ? (uint32_t)w->load->dest >> SQ_TOP_DEST_BITS : 0,
    };
}

// The core in a cycle in which a layer runs, or none. Whoever reads the state of another one goes first.
static void clock_core(struct sq_top_sim *s, const struct wires *w, const struct sq_ring_in *at,
                       const struct sq_ring_out *ring)
{
    const bool runs = s->ring.state == SQ_RING_LAYER;
    const uint32_t away = kind_away(s);
    const struct sq_task_in encode = task_of(s, w, at, SQ_DESC_KIND_ENCODE, SQ_TOP_ENCODER);
    const struct sq_task_in vector = task_of(s, w, at, SQ_DESC_KIND_VECTOR, SQ_TOP_VECTOR_UNIT);
    const struct sq_task_in attend = task_of(s, w, at, SQ_DESC_KIND_ATTEND, SQ_TOP_ATTENTION);
    struct sq_sequencer_in in = {
        .start = ring->begin,
        .descriptor = ring->descriptor,
        .dma_ready = runs && at->dma_ready,
        .write_done = runs && at->write_done && away == 0,
        .away_done =
            sq_encode_is_done(&s->encode) || sq_tv_is_done(&s->vector) || sq_ta_is_done(&s->attend),
        .beat = w->load && w->dest == SQ_TOP_DESCRIPTOR ? w->load : NULL,
    };
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        in.job_ready[i] = sq_operand_buffer_takes_job(&s->operand[i].buffer);
    in.job_ready[SQ_TOP_ENGINE] = w->job_ready;
    in.job_ready[SQ_TOP_SUMS] = sq_operand_buffer_takes_job(&s->sums);
    clock_sums(s, w);
    if (s->engine.shape.is_indexed)
        clock_indexed(s, w);
    else
        clock_engine(s, w);
    for (unsigned i = 0; i < SQ_TOP_OPERANDS; i++)
        operand_clock(&s->operand[i], &s->sequencer, i, w->load && w->dest == i ? w->load : NULL,
                      w->ready[i]);
    sq_encode_clock(&s->encode, &encode);
    sq_tv_clock(&s->vector, &vector);
    sq_ta_clock(&s->attend, &attend);
    sq_sequencer_clock(&s->sequencer, &in);
    clock_outputs(s, w, runs && s->n_store > 0 && at->word_ready);
}

// Transfer and word that the DMA is offered: of the layer that runs, or of its record.
static void clock_dma(struct sq_top_sim *s, const struct wires *w, const struct sq_ring_in *at)
{
    int32_t transfer[SQ_DMA_JOB_LEN], record[SQ_RECORD_WORDS], codes[SQ_DMA_WORDS_MAX];
    const bool runs = s->ring.state == SQ_RING_LAYER;
    struct sq_offer dma[2] = {{.beat = transfer}, {.beat = s->store[0]}};
    const bool has_codes = sq_encode_word(&s->encode, codes) || sq_tv_word(&s->vector, codes) ||
                           sq_ta_word(&s->attend, codes);
    dma[0].valid = (sq_sequencer_transfer(&s->sequencer, transfer) ||
                    sq_encode_transfer(&s->encode, transfer) ||
                    sq_tv_transfer(&s->vector, transfer, SQ_TOP_VECTOR_UNIT, SQ_TOP_DEST_BITS) ||
                    sq_ta_transfer(&s->attend, transfer, SQ_TOP_ATTENTION)) &&
                   runs;
    dma[1].valid = (s->n_store > 0 || has_codes) && runs;
    if (has_codes)
        dma[1].beat = codes;
    if (s->ring.state == SQ_RING_RECORD) {
        dma[0].valid = true;
        sq_dma_put_transfer(transfer, false, true, sq_ring_record_at(&s->ring, at->base),
                            4 * SQ_RECORD_WORDS / s->dma.nbytes, 0);
    }
    if (s->ring.state == SQ_RING_WRITE) {
        sq_top_regs_record(&s->regs, (uint32_t *)record);
        dma[1] =
            (struct sq_offer){.valid = true, .beat = record + s->ring.beat * s->dma.nbytes / 4};
    }
    s->dma.pins = s->pins;
    sq_dma_clock(&s->dma, dma, w->load_ready);
}

void sq_top_clock(void *state, const struct sq_offer *unused, bool out_ready)
{
    struct sq_top_sim *const s = state;
    struct wires w;
    struct sq_top_regs_in events;
    (void)unused;
    (void)out_ready;
    if (s->asleep > 0) {
        s->asleep--;
        return;
    }
    find_wires(s, &w);
    find_events(s, &w, &events);
    const struct sq_ring_in in = ring_inputs(s);
    const struct sq_ring_out ring = sq_ring_out(&s->ring, &in);
    events.begin = ring.begin;
    events.end = ring.end;
    events.done = ring.done;
    events.notice = ring.notice;
    events.aborted = ring.aborted;
    events.expired = ring.expired;

    const uint32_t away = kind_away(s);
    const bool word_ready = s->ring.state == SQ_RING_LAYER && in.word_ready;
    const bool is_unit = away == SQ_DESC_KIND_VECTOR || away == SQ_DESC_KIND_ATTEND;
    const bool takes_beat = away == SQ_DESC_KIND_VECTOR ? sq_tv_takes(&s->vector, word_ready)
                                                        : is_unit && sq_ta_takes(&s->attend);
    const bool has_operands =
        away == SQ_DESC_KIND_VECTOR ? sq_tv_has_operands(&s->vector) : sq_ta_has_beat(&s->attend);
    const struct sq_dma_beat load = w.load ? *w.load : (struct sq_dma_beat){.last = false};
    w.load = w.load ? &load : NULL;
    clock_dma(s, &w, &in);
    if (s->ring.state != SQ_RING_DRAIN && s->ring.state != SQ_RING_CLEAR)
        clock_core(s, &w, &in, &ring);
    sq_top_regs_clock(&s->regs, &events);
    const bool is_indexed = s->engine.shape.is_indexed;
    const unsigned takes = is_indexed ? SQ_TOP_WEIGHT : SQ_TOP_ACT;
    s->was_busy = is_unit ? takes_beat : w.valid[takes] && w.ready[takes];
    s->was_waiting = is_unit ? !has_operands : !(w.valid[takes] && w.valid[SQ_TOP_WEIGHT]);
    sq_ring_clock(&s->ring, &in);
    s->regs.value[SQ_REG_HEAD / 4] = s->ring.head;
    s->regs.is_aborting = s->ring.abort;
    s->dma.abort = s->ring.state == SQ_RING_DRAIN;
    if (s->ring.state == SQ_RING_CLEAR)
        clear_core(s);
}
