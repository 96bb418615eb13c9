// SPDX-License-Identifier: Apache-2.0
// Text from a model (sq_generate), and its layers on the chip (sq_chip_linear, sq_device, lib/sq_driver).
//
// Judges: a pass over all tokens at once with the layers as eval encodes them, for states and so for logits, to the
// bit; the golden model for the chip's outputs; the chip's cycle model for its fast body. tests/llm/generate.t has
// the RTL. Sampled: formats, prompts, wrong descriptors, faults of the bus.
#include <math.h>

#include "sim/block/top/sq_top_draw.h"
#include "sim/block/top/sq_top_host.h"
#include "sim/format/sq_format_ops.h"
#include "sim/format/sq_format_option.h"
#include "sim/llm/sq_blockwise.h"
#include "sim/llm/sq_generate.h"
#include "sim/llm/sq_logits.h"
#include "tests/unit/fixture.h"
#include "tests/unit/tmpdir.h"

static const char tiny_llama[] = "traces/tiny-llama";
enum { N_TOKENS = 3, N_PROMPT = 7, VOCABULARY = 256 };
static const int32_t prompt[N_PROMPT] = {0, 'O', 'n', 'c', 'e', ' ', 'a'};

struct written {
    size_t n;
    int32_t id[N_TOKENS];
    float logit[N_TOKENS][VOCABULARY];
    struct sq_chip_cost cost;
};

static void keep(void *context, const struct sq_generate_token *t)
{
    struct written *const w = context;
    assert_int_equal(t->number, w->n);
    assert_int_equal(t->m, w->n ? 1 : N_PROMPT);
    double sum = 0; // at a temperature of 1, whatever the token was drawn with
    for (size_t i = 0; i < VOCABULARY; i++)
        sum += exp((double)t->logit[i] - (double)t->logit[t->id]);
    assert_true(t->nll >= 0 && fabs(t->nll - log(sum)) < 1e-9);
    memcpy(w->logit[w->n], t->logit, sizeof w->logit[0]);
    w->id[w->n++] = t->id;
    sq_chip_cost_add(&w->cost, &t->cost);
}

static struct sq_recipe recipe_of(const char *format)
{
    const bool has_algorithm = strcmp(format, "dense") == 0 || strcmp(format, "sq_w") == 0 ||
                               strcmp(format, "sp24") == 0 || strcmp(format, "sq_a_dynamic") == 0;
    const struct sq_given given = {.option = {{.name = "algorithm", .text = "rtn"}},
                                   .n = has_algorithm};
    struct sq_recipe r;
    struct sq_error err = {.text = ""};
    const struct sq_format_ops *ops = NULL;
    for (size_t i = 0; sq_formats[i]; i++)
        if (strcmp(sq_formats[i]->name, format) == 0)
            ops = sq_formats[i];
    assert_non_null(ops);
    CHECK_EQ(sq_format_recipe(ops, SQ_IN_EVAL, &given, &r, &err), SQ_OK, "%s\n", err.text);
    return r;
}

static void generate(const struct sq_checkpoint *ck, const struct sq_recipe *r, double temperature,
                     struct sq_chip_linear *chip, uint32_t vector_nbytes, bool has_int8,
                     struct written *w)
{
    const struct sq_generate_options o = {.recipe = r,
                                          .prompt = prompt,
                                          .n_prompt = N_PROMPT,
                                          .n_tokens = N_TOKENS,
                                          .temperature = temperature,
                                          .seed = fixture_seed(),
                                          .chip = chip,
                                          .vector_nbytes = vector_nbytes,
                                          .has_int8 = has_int8};
    const struct sq_generate_watch watch = {NULL, keep, w};
    struct sq_error err = {.text = ""};
    memset(w, 0, sizeof *w);
    CHECK_EQ(sq_generate(ck, &o, &watch, &err), SQ_OK, "%s\n", err.text);
    assert_int_equal(w->n, N_TOKENS);
}

// The same tokens at once, as eval runs them.
static void check_at_once(const struct sq_checkpoint *ck, const struct sq_recipe *r,
                          const struct written *w)
{
    int32_t id[N_PROMPT + N_TOKENS];
    size_t offset[] = {0, N_PROMPT + N_TOKENS - 1};
    const struct sq_tokens all = {1, offset, id, 0};
    struct sq_llama l;
    float logit[VOCABULARY];
    memcpy(id, prompt, sizeof prompt);
    memcpy(id + N_PROMPT, w->id, sizeof w->id);
    assert_ok(sq_llama_init(&l, ck, &all, NULL));
    for (size_t b = 0; b < ck->config.n_layers; b++) {
        struct sq_quant_layer layer[SQ_BLOCK_LAYERS];
        assert_ok(sq_eval_encode(ck, b, r, NULL, NULL, layer, NULL));
        assert_ok(sq_eval_block(&l, b, r, layer, NULL, NULL, NULL, NULL));
        for (size_t i = 0; i < SQ_BLOCK_LAYERS; i++)
            sq_quant_layer_free(&layer[i]);
    }
    assert_ok(sq_llama_norm(&l, NULL));
    for (size_t i = 0; i < N_TOKENS; i++) {
        const float *const x = l.x + (N_PROMPT - 1 + i) * ck->config.hidden_size;
        assert_ok(sq_logits_of(ck, x, logit, NULL));
        assert_memory_equal(logit, w->logit[i], sizeof logit);
    }
    sq_llama_free(&l);
}

// Both bodies of the cycle model against the golden model, and one another in every counter.
static void check_bodies(const struct sq_checkpoint *ck, const struct sq_recipe *r,
                         double temperature, uint32_t vector_nbytes, bool has_int8,
                         uint64_t descriptors)
{
    struct written golden, chip;
    struct sq_chip_cost cost = {0};
    generate(ck, r, temperature, NULL, vector_nbytes, has_int8, &golden);
    if (vector_nbytes == 0)
        check_at_once(ck, r, &golden);
    for (int body = SQ_DEVICE_FAST; body <= SQ_DEVICE_STEPPING; body++) {
        struct sq_chip_linear c = {.body = (enum sq_device_body)body, .rows = 2, .cols = 4};
        c.chip.attend = sq_token_cache(has_int8);
        generate(ck, r, temperature, &c, vector_nbytes, has_int8, &chip);
        assert_memory_equal(chip.id, golden.id, sizeof chip.id);
        assert_memory_equal(chip.logit, golden.logit, sizeof chip.logit);
        CHECK_EQ(chip.cost.layers + chip.cost.passes, descriptors, "%s\n", r->format->name);
        assert_true(chip.cost.cycles > 0);
        if (body == SQ_DEVICE_STEPPING)
            CHECK_EQ(memcmp(&chip.cost, &cost, sizeof cost), 0, "%s: %llu cycles, %llu\n",
                     r->format->name, (unsigned long long)cost.cycles,
                     (unsigned long long)chip.cost.cycles);
        cost = chip.cost;
        sq_chip_linear_close(&c);
    }
}

SQ_TEST(every_body_has_the_logits_of_eval)
{
    static const char *const formats[] = {"nvfp4", "dense", "mxfp4"};
    struct sq_checkpoint ck;
    assert_ok(sq_checkpoint_open(&ck, tiny_llama, NULL));
    for (size_t i = 0; i < LEN(formats); i++) {
        const struct sq_recipe r = recipe_of(formats[i]);
        check_bodies(&ck, &r, i % 2 ? 0.9 : 0, 0, false, N_TOKENS * ck.n_layers);
    }
    sq_checkpoint_close(&ck);
}

// The program of a token: a pass each for the rows of token and position; of a block 8 of norms, 3 of q, k, v as rows, 8 of
// rotary embeddings, the scale of the queries, attention of 4 key heads, the inputs of o, 2 residuals, 4 of SiLU, 4 encoders,
// 7 layers; 4 of the last norm, lm_head, the largest logit. An INT8 cache takes 4 more of keys and of values.
SQ_TEST(the_program_of_a_token_has_the_logits_of_its_steps)
{
    static const char *const formats[] = {"dense", "mxfp4", "sq_a_dynamic"};
    struct sq_checkpoint ck;
    assert_ok(sq_checkpoint_open(&ck, tiny_llama, NULL));
    for (size_t i = 0; i < LEN(formats); i++) {
        const struct sq_recipe r = recipe_of(formats[i]);
        for (unsigned int8 = 0; int8 < (i == 0 ? 2 : 1); int8++)
            check_bodies(&ck, &r, 0, 8, int8,
                         (N_PROMPT + N_TOKENS - 1) *
                             (2 + (42 + 8 * int8) * ck.config.n_layers + 6));
    }
    sq_checkpoint_close(&ck);
}

SQ_TEST(refusals)
{
    struct sq_checkpoint ck;
    struct sq_error err;
    const struct sq_recipe r = recipe_of("nvfp4");
    struct written w = {0};
    const struct sq_generate_watch watch = {NULL, keep, &w};
    struct sq_generate_options o = {
        .recipe = &r, .prompt = prompt, .n_prompt = N_PROMPT, .n_tokens = 251};
    assert_ok(sq_checkpoint_open(&ck, tiny_llama, NULL));
    check_refused(sq_generate(&ck, &o, &watch, &err), SQ_ERR_RANGE, &err,
                  "a prompt of 7 tokens and 251 more, need at most 257 together");
    assert_int_equal(w.n, 0);
    sq_checkpoint_close(&ck);
}

// ---- the device -------------------------------------------------------------------------------------

// A memory from base on, with a fault of the bus in one beat.
struct memory {
    int32_t *word;
    uint64_t base, n_words, fault_at;
    enum sq_axi_fault fault;
};

static int32_t read_word(void *ctx, uint64_t addr, unsigned i)
{
    const struct memory *const m = ctx;
    const uint64_t at = (addr - m->base) / 4 + i;
    return at < m->n_words ? m->word[at] : 0;
}

static const char *write_words(void *ctx, uint64_t addr, const int32_t *word, unsigned n)
{
    struct memory *const m = ctx;
    const uint64_t at = (addr - m->base) / 4;
    if (at >= m->n_words || n > m->n_words - at)
        return "outside";
    memcpy(m->word + at, word, n * sizeof *word);
    return NULL;
}

static enum sq_axi_fault fault_at(void *ctx, uint64_t addr, unsigned nbytes)
{
    const struct memory *const m = ctx;
    return m->fault != SQ_AXI_GOOD && addr / nbytes == m->fault_at / nbytes ? m->fault
                                                                            : SQ_AXI_GOOD;
}

static const struct sq_axi_content content = {read_word, write_words, fault_at};

// A copy of an image in n_words words of memory, at address 0, or across a multiple of 4 GiB.
static struct memory memory_of(const struct sq_top_given *image, uint32_t n_words, uint64_t base)
{
    const struct memory m = {.word = calloc(n_words, 4), .n_words = n_words, .base = base};
    uint32_t *const word = (uint32_t *)m.word + image->descriptor / 4;
    memcpy(m.word, image->word, 4 * (size_t)image->n_words);
    for (unsigned i = 0; i <= SQ_TOP_OPERANDS; i++) {
        const unsigned low = sq_top_address_word[i];
        sq_desc_set_address(word, low, sq_desc_address(word, low) + base);
    }
    return m;
}

static uint64_t draw_base(struct sq_rng *r)
{
    const uint64_t high = (uint64_t)(1 + sq_rng_below(r, UINT16_MAX)) << 32;
    return sq_rng_below(r, 3) == 0 ? 0 : high - (1 + sq_rng_below(r, 4)) * SQ_AXI_PAGE;
}

// Layers one after the other on fast and stepping body: a good one, one with a fault, one with a descriptor that is
// refused; all that a driver sees is equal, and so is memory.
SQ_TEST(fast_body_equals_stepping)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned i = 0; i < 40; i++) {
        const struct sq_point *const p =
            &sq_top_block.points[sq_rng_below(&r, (uint32_t)sq_top_block.n_points)];
        struct sq_top_drawn *drawn = calloc(1, sizeof *drawn);
        struct sq_top_layer l = {0};
        sq_top_draw_shape(p->value, &r, &l);
        const struct sq_top_given image =
            sq_top_draw_image(p->value, &r, &l, SQ_DRAWN_RIGHT, drawn);
        const uint64_t base = draw_base(&r);
        struct memory m[2];
        struct sq_device *d[2];
        for (unsigned body = 0; body < 2; body++) {
            m[body] = memory_of(&image, image.n_words, base);
            const struct sq_device_setup setup = {.body = (enum sq_device_body)body,
                                                  .value = p->value,
                                                  .memory = {.kind = 1, .n = {40, 1, 1, 64}},
                                                  .content = &content,
                                                  .ctx = &m[body]};
            assert_ok(sq_device_open(&d[body], &setup, NULL));
        }
        const uint32_t fault_at_word = sq_rng_below(&r, image.n_words);
        for (unsigned job = 0; job < 4; job++) {
            struct sq_driver_done done[2];
            char text[2][200];
            for (unsigned body = 0; body < 2; body++) {
                const struct sq_driver driver = {d[body], sq_device_read, sq_device_write,
                                                 job % 2 ? NULL : sq_device_wait};
                struct sq_driver_chip chip;
                m[body].fault = job == 1 ? SQ_AXI_SLVERR : SQ_AXI_GOOD;
                m[body].fault_at = base + 4 * fault_at_word;
                assert_int_equal(sq_driver_probe(&driver, &chip), SQ_DRIVER_OK);
                assert_true(chip.rows == p->value[SQ_TOP_ROWS] &&
                            chip.cols == p->value[SQ_TOP_COLS] &&
                            chip.bank == p->value[SQ_TOP_BANK_LEN] &&
                            chip.act_bits == p->value[SQ_TOP_ACT_W] &&
                            chip.weight_bits == p->value[SQ_TOP_WEIGHT_W] &&
                            chip.act_beats == p->value[SQ_TOP_DEPTH] &&
                            chip.sum_tiles == p->value[SQ_TOP_SUM_TILES] &&
                            chip.bus_nbytes == p->value[SQ_TOP_DATA_W] / 8);
                const uint64_t at = base + image.descriptor + (job == 2);
                const enum sq_driver_result result = sq_driver_run(&driver, at, &done[body]);
                CHECK_EQ(result, done[body].result, "job %u\n", job);
                sq_driver_text(&done[body], text[body], sizeof text[body]);
                assert_false(sq_device_irq(d[body]));
            }
            // A layer that ended well says so, whatever the bodies.
            CHECK_EQ(done[0].result, done[1].result, "point %s job %u\n", p->name, job);
            assert_string_equal(text[0], text[1]);
            if (memcmp(&done[0], &done[1], sizeof done[0]) != 0)
                fail_msg(
                    "seed %llu layer %u, point %s, job %u: status %x, cycles %llu, stepped %llu",
                    (unsigned long long)fixture_seed(), i, p->name, job, done[0].status,
                    (unsigned long long)done[0].cycles, (unsigned long long)done[1].cycles);
            if (job == 0 || job == 3) {
                CHECK_EQ(done[0].status, image.status << 12, "point %s job %u at %llx\n", p->name,
                         job, (unsigned long long)(base + image.descriptor));
                assert_memory_equal(m[0].word + image.out / 4, image.want, 4 * image.n_want);
            }
            if (job == 2)
                assert_string_equal(text[0],
                                    "the descriptor cannot be run, and nothing was written");
            assert_memory_equal(m[0].word, m[1].word, 4 * (size_t)image.n_words);
        }
        for (unsigned body = 0; body < 2; body++) {
            assert_null(sq_device_complaint(d[body]));
            sq_device_close(d[body]);
            free(m[body].word);
        }
        free(drawn);
    }
}

// A ring of layers by the driver on both bodies: some refused, some that the watchdog ends, notices, around its end; then
// an abort on the stepping body, behind which the rest runs. Records, memory, cycles in them and results are equal.
SQ_TEST(rings_on_both_bodies)
{
    enum { SLOTS = 5, ROUNDS = 3 };
    struct sq_rng r = {fixture_seed() ^ 0x51};
    for (unsigned i = 0; i < 24; i++) {
        const struct sq_point *const p =
            &sq_top_block.points[sq_rng_below(&r, (uint32_t)sq_top_block.n_points)];
        struct sq_top_drawn *drawn = calloc(1, sizeof *drawn);
        struct sq_top_layer l = {0};
        sq_top_draw_shape(p->value, &r, &l);
        const struct sq_top_given image =
            sq_top_draw_image(p->value, &r, &l, SQ_DRAWN_RIGHT, drawn);
        const uint64_t base = draw_base(&r);
        const uint32_t behind =
            (4 * image.n_words + SQ_SLOT_NBYTES - 1) / SQ_SLOT_NBYTES * SQ_SLOT_NBYTES;
        const uint32_t n_words = (behind + SLOTS * SQ_SLOT_NBYTES) / 4;
        const uint32_t watchdog = i % 3 == 2 ? 1 + sq_rng_below(&r, 2000) : 0;
        struct memory m[2];
        struct sq_device *d[2];
        struct sq_driver driver[2];
        struct sq_driver_ring ring[2];
        for (unsigned body = 0; body < 2; body++) {
            m[body] = memory_of(&image, n_words, base);
            const struct sq_device_setup setup = {.body = (enum sq_device_body)body,
                                                  .value = p->value,
                                                  .memory = {.kind = 1, .n = {40, 1, 1, 64}},
                                                  .content = &content,
                                                  .ctx = &m[body]};
            assert_ok(sq_device_open(&d[body], &setup, NULL));
            driver[body] = (struct sq_driver){d[body], sq_device_read, sq_device_write,
                                              i % 4 == 3 ? NULL : sq_device_wait};
            ring[body] = (struct sq_driver_ring){.base = base + behind,
                                                 .size = SLOTS,
                                                 .word = (uint32_t *)m[body].word + behind / 4};
            assert_int_equal(sq_driver_ring_open(&driver[body], &ring[body], watchdog),
                             SQ_DRIVER_OK);
        }
        for (unsigned round = 0; round < ROUNDS; round++) {
            const uint32_t n = 1 + sq_rng_below(&r, SLOTS - 1), first = ring[0].tail;
            const uint32_t refused = sq_rng_below(&r, 2 * SLOTS);
            enum sq_driver_result result[2];
            for (unsigned body = 0; body < 2; body++) {
                uint32_t word[SQ_DESC_WORDS];
                struct sq_driver_done done;
                for (uint32_t k = 0; k < n; k++) {
                    memcpy(word, m[0].word + image.descriptor / 4, sizeof word);
                    word[SQ_DESC_WORDS - 1] = k == refused;
                    assert_int_equal(sq_driver_ring_add(&ring[body], word, k % 2),
                                     (first + k) % SLOTS);
                    assert_int_equal(sq_driver_ring_done(&ring[body], (first + k) % SLOTS, &done),
                                     SQ_DRIVER_BUSY); // whatever ran in that slot before
                }
                if (n == SLOTS - 1)
                    assert_int_equal(sq_driver_ring_add(&ring[body], word, 0), -1);
                sq_driver_ring_start(&driver[body], &ring[body]);
                result[body] = sq_driver_ring_finish(&driver[body], &ring[body]);
                assert_false(sq_device_irq(d[body]));
                assert_int_equal(ring[body].head, ring[body].tail);
            }
            assert_int_equal(result[0], result[1]);
            for (uint32_t k = 0; k < n; k++) {
                struct sq_driver_done done;
                (void)sq_driver_ring_done(&ring[1], (first + k) % SLOTS, &done);
                assert_true(done.cycles == done.busy + done.wait + done.blocked ||
                            p->value[SQ_TOP_COUNT_START] > 0);
                // Where its descriptor takes longer to come than the watchdog waits, nobody has looked at it.
                const uint32_t ended = done.status & 1u << SQ_STATUS_EXPIRED;
                if (k == refused)
                    CHECK_EQ(done.status & 1u << SQ_STATUS_REFUSED,
                             watchdog > 0 && ended ? 0 : 1u << SQ_STATUS_REFUSED, "slot %u\n", k);
                else if (watchdog == 0)
                    CHECK_EQ(done.status, image.status << SQ_STATUS_ENGINE, "slot %u\n", k);
            }
            if (watchdog == 0 && (n > 1 || refused > 0))
                assert_memory_equal(m[0].word + image.out / 4, image.want, 4 * image.n_want);
            for (uint32_t w = 0; w < n_words; w++)
                CHECK_EQ(m[0].word[w], m[1].word[w], "point %s word %u of %u, ring at %u\n",
                         p->name, w, n_words, behind / 4);
        }
        // An abort now and then: the layer says so or was done, and the rest runs behind the next doorbell.
        uint32_t word[SQ_DESC_WORDS];
        memcpy(word, m[0].word + image.descriptor / 4, sizeof word);
        assert_int_equal(sq_driver_ring_open(&driver[1], &ring[1], 0), SQ_DRIVER_OK);
        for (unsigned k = 0; k < 3; k++)
            assert_int_equal(sq_driver_ring_add(&ring[1], word, 0), k);
        sq_driver_ring_start(&driver[1], &ring[1]);
        (void)sq_device_step(d[1], sq_rng_below(&r, 3000));
        sq_driver_abort(&driver[1]);
        (void)sq_driver_ring_finish(&driver[1], &ring[1]);
        const bool is_good = image.status == 0 || ring[1].head == ring[1].tail;
        sq_driver_ring_start(&driver[1], &ring[1]);
        const enum sq_driver_result rest = sq_driver_ring_finish(&driver[1], &ring[1]);
        CHECK_EQ(rest == SQ_DRIVER_OK, is_good, "%s\n", p->name);
        assert_int_equal(ring[1].head, ring[1].tail);
        for (unsigned body = 0; body < 2; body++) {
            assert_null(sq_device_complaint(d[body]));
            sq_device_close(d[body]);
            free(m[body].word);
        }
        free(drawn);
    }
}

// A descriptor of kind attend, in whose fields what is wrong is drawn: the driver finds what the chip refuses.
static void check_attend(struct sq_rng *rng, const uint32_t *n, const uint64_t *at)
{
    const struct sq_ta_unit unit = {1 + n[0] % 8, n[0] >> 8 & 1, 64u << (n[1] & 1)};
    const struct sq_driver_chip chip = {.bus_nbytes = 4u << n[2] % 5,
                                        .attend_queries = unit.heads,
                                        .attend_size = unit.size,
                                        .attend_bits = unit.is_int8 ? 8 : 16};
    const uint32_t lanes = chip.bus_nbytes / (unit.is_int8 ? 1 : 2), bus = chip.bus_nbytes;
    struct sq_ta_layer l = {.queries = 1 + n[3] % unit.heads,
                            .size = lanes * (1 + n[4] % (unit.size / lanes)),
                            .keys = 1 + n[5],
                            .stride = {n[6], n[7], n[8], n[9]}};
    for (unsigned p = 0; p < SQ_TA_PARTS; p++)
        l.addr[p] = at[p] % (SQ_ADDR_END - ((uint64_t)1 << 40)) / bus * bus;
    const unsigned part = n[10] % SQ_TA_PARTS, attend = sq_ta_param(&unit);
    const uint64_t end = SQ_ADDR_END - sq_ta_region_beats(&l, part, bus, attend) * bus;
    switch (sq_rng_below(rng, 12)) {
    case 0:
        l.queries = n[11] % 3 ? unit.heads + n[11] % 3 - 1 : 0;
        break;
    case 1:
        l.size = n[11] % 3 ? unit.size * (n[11] % 3) : l.size + 1;
        break;
    case 2:
        l.keys = n[11] % 3 ? 65535 + n[11] % 3 : 0;
        break;
    case 3:
        l.addr[part] += bus / 2;
        break;
    case 4:
        l.addr[part] = end + bus;
        break;
    case 5:
        l.addr[part] = end;
        break;
    default:
        break;
    }
    const struct sq_driver_attend mine = {l.addr[0],   l.addr[1],   l.addr[2],  l.addr[3],
                                          l.queries,   l.size,      l.keys,     l.stride[0],
                                          l.stride[1], l.stride[2], l.stride[3]};
    uint32_t want[SQ_DESC_WORDS], got[SQ_DRIVER_DESCRIPTOR_WORDS];
    struct sq_ta_layer again;
    sq_ta_encode(&l, want);
    const char *const why = sq_driver_describe_attend(&chip, &mine, got);
    assert_memory_equal(got, want, sizeof want);
    CHECK_EQ(why == NULL, sq_ta_decode(want, bus, attend, &again), "%s\n", why ? why : "sound");
}

// A layer as fields makes the words that the model of the chip reads.
SQ_TEST(descriptors_are_those_of_the_model)
{
    struct sq_rng r = {fixture_seed()};
    for (unsigned i = 0; i < 200; i++) {
        uint32_t want[SQ_DESC_WORDS], got[SQ_DRIVER_DESCRIPTOR_WORDS], n[12];
        uint64_t at[5];
        for (unsigned j = 0; j < LEN(n); j++)
            n[j] = (uint32_t)sq_rng_next(&r) & 0xffff;
        for (unsigned j = 0; j < LEN(at); j++)
            at[j] = sq_rng_next(&r) % SQ_ADDR_END;
        const struct sq_top_layer l = {.addr = {at[0], at[1], at[2], at[3], at[4]},
                                       .tiles = {n[5], n[6]},
                                       .block = {n[7], n[8]},
                                       .beats = n[9],
                                       .groups = n[10],
                                       .chunk = n[11],
                                       .cols_outer = i % 2};
        const struct sq_driver_layer mine = {at[0], at[2], at[1], at[3], at[4], n[5],        n[6],
                                             n[7],  n[8],  n[9],  n[10], n[11], (int)(i % 2)};
        sq_top_layer_encode(&l, want);
        sq_driver_describe(&mine, got);
        assert_memory_equal(got, want, sizeof want);
        const struct sq_encode_layer encoder = {.addr = {at[0], at[1], at[2]},
                                                .rows = n[5],
                                                .cols = n[6],
                                                .beats = n[7],
                                                .is_codes = n[8] & 1};
        const struct sq_driver_encoder my_encoder = {at[0], at[1], at[2],   n[5],
                                                     n[6],  n[7],  n[8] & 1};
        sq_encode_encode(&encoder, want);
        sq_driver_describe_encoder(&my_encoder, got);
        assert_memory_equal(got, want, sizeof want);
        const struct sq_tv_layer vector = {.f = n[0] & 3,
                                           .from = {SQ_TV_ROW, n[1] & 3, n[2] & 3},
                                           .half = {n[3] & 1, n[3] & 2, n[3] & 4},
                                           .red = n[4] & 3,
                                           .y = n[5] % 5,
                                           .all = n[6] & 1,
                                           .addr = {at[0], at[1], at[2], at[3], at[4]},
                                           .stride = {n[7], n[8], n[9], n[10]},
                                           .rows = n[11],
                                           .n = n[0] << 16 | n[1]};
        const struct sq_driver_vector my_vector = {
            at[0],    at[1],    at[2],    at[3],    at[4],    n[11],    vector.n,
            n[7],     n[8],     n[9],     n[10],    n[0] & 3, n[1] & 3, n[2] & 3,
            n[4] & 3, n[5] % 5, n[6] & 1, n[3] & 1, n[3] & 2, n[3] & 4};
        sq_tv_encode(&vector, want);
        sq_driver_describe_vector(&my_vector, got);
        assert_memory_equal(got, want, sizeof want);
        check_attend(&r, n, at);
    }
}

// What each bit of STATUS says, and a text that is too long.
SQ_TEST(status_in_one_sentence)
{
    static const struct {
        enum sq_driver_result result;
        uint32_t status;
        const char *text;
    } row[] = {
        {SQ_DRIVER_OK, 0, "the layer is done"},
        {SQ_DRIVER_NO_CHIP, 0, "there is no sq_top at this address"},
        {SQ_DRIVER_VERSION, 0, "the registers are of another version than the driver"},
        {SQ_DRIVER_BUSY, 0, "a layer runs already"},
        {SQ_DRIVER_TIMEOUT, 0, "the layer has not ended in time"},
        {SQ_DRIVER_FAILED, 2 << 4 | 1 << 2,
         "a read of memory failed: slave error; an operand with wrong parity was multiplied"},
        {SQ_DRIVER_FAILED, 3 << 8, "a write of memory failed: decode error"},
        {SQ_DRIVER_FAILED, 1 << 3, "the layer was aborted"},
        {SQ_DRIVER_FAILED, 1 << 7, "the layer took longer than the watchdog lets it"},
        {SQ_DRIVER_FAILED, 5 << 12,
         "operands hold a code that stands for no value, a malformed mask"},
    };
    char text[200];
    for (size_t i = 0; i < LEN(row); i++) {
        const struct sq_driver_done done = {.result = row[i].result, .status = row[i].status};
        assert_string_equal(sq_driver_text(&done, text, sizeof text), row[i].text);
        assert_int_equal(strlen(sq_driver_text(&done, text, 8)), 7);
    }
}
