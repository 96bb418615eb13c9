// SPDX-License-Identifier: Apache-2.0
// Traces of requests and their schedule (sim/serve/). Directed: one request, chunks, room, places. Sampled: 3000
// random traces beside a second schedule, which keeps a state for every request and looks at all of them in every
// step; every token of every prompt and every new token is made once.
#include <math.h>

#include "sim/serve/sq_serve.h"
#include "tests/unit/fixture.h"

enum { MAX_REQUESTS = 40 };

// Sums in the same order have the same bits.
#define CHECK_SAME(got, want) assert_memory_equal(&(double){got}, &(double){want}, sizeof(double))

// What steps were asked for.
struct seen {
    uint64_t budget, sequences, prompt, outputs;
};

static double cost(uint64_t tokens, double keys, uint64_t outputs)
{
    return 1 + .25 * (double)tokens + keys / 1024 + .125 * (double)outputs;
}

static enum sq_status seconds_of(void *user, const struct sq_serve_step *s, double *seconds,
                                 struct sq_error *err)
{
    struct seen *seen = user;
    uint64_t tokens = s->decoding;
    (void)err;
    for (size_t i = 0; i < s->n; i++) {
        assert_true(s->of[i].tokens > 0);
        tokens += s->of[i].tokens;
        seen->prompt += s->of[i].tokens;
    }
    assert_int_equal(tokens, s->tokens);
    assert_true(tokens > 0 && tokens <= seen->budget);
    assert_true(s->decoding + s->n <= seen->sequences);
    seen->outputs += s->outputs;
    *seconds = cost(s->tokens, s->keys, s->outputs);
    return SQ_OK;
}

static struct sq_serve_result run(const struct sq_request *r, size_t n, uint64_t budget,
                                  uint64_t sequences, double room)
{
    const struct sq_requests q = {n, (struct sq_request *)(uintptr_t)r};
    const struct sq_serve_options o = {budget, sequences, room};
    struct seen seen = {budget, sequences, 0, 0};
    struct sq_serve_result x;
    assert_ok(sq_serve(&q, &o, seconds_of, &seen, &x, NULL));
    assert_int_equal(seen.prompt, x.prompt_tokens);
    assert_int_equal(seen.outputs, x.new_tokens);
    return x;
}

SQ_TEST(one_request)
{
    const struct sq_request r = {0, 10, 3};
    struct sq_serve_result x = run(&r, 1, 4, 2, INFINITY);
    // Chunks of 4, 4, 2, then two tokens with 11 and 12 keys.
    const double chunks = cost(4, 0, 0) + cost(4, 0, 0) + cost(2, 0, 1);
    CHECK_SAME(x.served[0].first_s, chunks);
    CHECK_SAME(x.served[0].end_s, chunks + cost(1, 11, 1) + cost(1, 12, 1));
    assert_int_equal(x.steps, 5);
    assert_int_equal(x.prompt_tokens, 10);
    assert_int_equal(x.new_tokens, 3);
    sq_serve_free(&x);
}

SQ_TEST(waiting)
{
    // The second has no room while the first runs, the third no place before the second.
    const struct sq_request r[3] = {{0, 6, 2}, {1, 6, 1}, {1, 1, 1}};
    struct sq_serve_result x = run(r, 3, 8, 8, 12);
    CHECK_SAME(x.served[1].start_s, x.served[0].end_s);
    CHECK_SAME(x.served[2].start_s, x.served[0].end_s);
    CHECK_SAME(x.keys_max, 9);
    sq_serve_free(&x);
    // Nothing to do until the next one comes.
    const struct sq_request late[2] = {{0, 1, 1}, {100, 1, 1}};
    x = run(late, 2, 8, 8, INFINITY);
    CHECK_SAME(x.served[1].start_s, 100);
    CHECK_SAME(x.busy_s, 2 * cost(1, 0, 1));
    CHECK_SAME(x.end_s, 100 + cost(1, 0, 1));
    sq_serve_free(&x);
}

SQ_TEST(refusals)
{
    struct sq_request r = {0, 6, 2};
    const struct sq_requests q = {1, &r};
    struct sq_serve_options o = {8, 8, 7};
    struct sq_serve_result x;
    struct sq_error err;
    assert_int_equal(sq_serve(&q, &o, seconds_of, NULL, &x, &err), SQ_ERR_RANGE);
    o = (struct sq_serve_options){4, 5, INFINITY};
    assert_int_equal(sq_serve(&q, &o, seconds_of, NULL, &x, &err), SQ_ERR_ARG);
}

// ---- a second schedule --------------------------------------------------------------------------

struct state {
    bool is_in;
    uint64_t seen, made; // of the prompt, new
    double first, end;
};

static void judge(const struct sq_request *r, size_t n, const struct sq_serve_options *o,
                  struct state *s)
{
    double now = 0;
    for (size_t left = n; left > 0;) {
        uint64_t places = 0, tokens = 0, outputs = 0, take[MAX_REQUESTS] = {0};
        double spoken = 0, keys = 0;
        bool is_open = true;
        for (size_t i = 0; i < n; i++)
            if (s[i].is_in && s[i].made < r[i].outputs) {
                places++;
                spoken += (double)(r[i].prompt + r[i].outputs);
            }
        for (size_t i = 0; i < n; i++) {
            const double need = (double)(r[i].prompt + r[i].outputs);
            if (s[i].is_in)
                continue;
            if (places == 0 && is_open && r[i].arrived_s > now)
                now = r[i].arrived_s;
            is_open = is_open && r[i].arrived_s <= now && places < o->sequences &&
                      spoken + need <= o->room;
            if (!is_open)
                break;
            s[i].is_in = true;
            places++;
            spoken += need;
        }
        for (size_t i = 0; i < n; i++)
            if (s[i].made > 0 && s[i].made < r[i].outputs) {
                tokens++;
                outputs++;
                keys += (double)(r[i].prompt + s[i].made);
            }
        for (size_t i = 0; i < n; i++)
            while (s[i].is_in && s[i].seen + take[i] < r[i].prompt && tokens < o->budget) {
                take[i]++;
                tokens++;
                outputs += s[i].seen + take[i] == r[i].prompt;
            }
        now += cost(tokens, keys, outputs);
        for (size_t i = 0; i < n; i++) {
            const bool decodes = s[i].made > 0 && s[i].made < r[i].outputs;
            const bool ends = take[i] > 0 && s[i].seen + take[i] == r[i].prompt;
            s[i].seen += take[i];
            if (ends)
                s[i].first = now;
            if (!decodes && !ends)
                continue;
            s[i].made++;
            s[i].end = now;
            left -= s[i].made == r[i].outputs;
        }
    }
}

SQ_TEST(random_traces)
{
    struct sq_rng rng = {fixture_seed()};
    for (unsigned c = 0; c < 3000; c++) {
        const size_t n = 1 + sq_rng_below(&rng, MAX_REQUESTS);
        struct sq_request r[MAX_REQUESTS];
        struct state s[MAX_REQUESTS] = {0};
        double at = 0, most = 0;
        uint64_t prompts = 0, outputs = 0;
        for (size_t i = 0; i < n; i++) {
            at += sq_rng_below(&rng, 3) ? sq_rng_unit(&rng) * 20 : 0;
            r[i] = (struct sq_request){i ? at : 0, 1 + sq_rng_below(&rng, 30),
                                       1 + sq_rng_below(&rng, 12)};
            at = i ? at : 0;
            most = fmax(most, (double)(r[i].prompt + r[i].outputs));
            prompts += r[i].prompt;
            outputs += r[i].outputs;
        }
        struct sq_serve_options o = {.budget = 1 + sq_rng_below(&rng, 40)};
        o.sequences = 1 + sq_rng_below(&rng, (uint32_t)o.budget);
        o.room = sq_rng_below(&rng, 2) ? INFINITY : most + (double)(sq_rng_below(&rng, 100));
        struct sq_serve_result x = run(r, n, o.budget, o.sequences, o.room);
        judge(r, n, &o, s);
        assert_int_equal(x.prompt_tokens, prompts);
        assert_int_equal(x.new_tokens, outputs);
        for (size_t i = 0; i < n; i++) {
            CHECK_SAME(x.served[i].first_s, s[i].first);
            CHECK_SAME(x.served[i].end_s, s[i].end);
        }
        assert_true(x.keys_max <= o.room && x.sequences_max <= o.sequences);
        sq_serve_free(&x);
    }
}

// ---- files ----------------------------------------------------------------------------------------

static enum sq_status parse(const char *text, struct sq_requests *q, struct sq_error *err)
{
    return sq_requests_parse(text, strlen(text), "trace.csv", q, err);
}

SQ_TEST(files)
{
    struct sq_requests q;
    struct sq_error err;
    assert_ok(
        parse("arrived_at,num_prefill_tokens,num_decode_tokens\n5.5,374,44\n6,1,1\n", &q, NULL));
    assert_int_equal(q.n, 2);
    CHECK_SAME(q.request[1].arrived_s, .5);
    assert_int_equal(q.request[0].prompt, 374);
    assert_int_equal(q.request[0].outputs, 44);
    sq_requests_free(&q);
    assert_ok(parse("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                    "2023-11-16 23:59:58.5000000,4808,10\n2023-11-17 00:00:01.25,3,8\n",
                    &q, NULL));
    CHECK_SAME(q.request[1].arrived_s, 2.75);
    sq_requests_free(&q);
    assert_int_equal(parse("GeneratedTokens,TIMESTAMP,ContextTokens\n1,-5,1048576\n1048576,0,1\n",
                           &q, NULL), // the least and the most
                     SQ_OK);
    sq_requests_free(&q);
    static const char *const head = "GeneratedTokens,TIMESTAMP,ContextTokens\n";
    static const struct {
        const char *rows, *says;
    } bad[] = {{"", "has no requests"},
               {"1,0,2\n1,-1,2\n", "line 3: arrived_at = '-1', need a time that is not before"},
               {"1,0,0\n", "line 2: num_prefill_tokens = '0', need 1..1048576"},
               {"1048577,0,1\n", "line 2: num_decode_tokens = '1048577', need 1..1048576"},
               {"1.5,0,1\n", "num_decode_tokens = '1.5'"},
               {"1,now,1\n", "arrived_at = 'now', need seconds"},
               {"1,2023-13-16 00:00:00,1\n", "arrived_at = '2023-13-16 00:00:00'"},
               {"1,nan,1\n", "arrived_at = 'nan'"},
               {"1,0\n", "num_prefill_tokens = '', need a cell"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s", head, bad[i].rows);
        check_refused(parse(text, &q, &err), SQ_ERR_DAMAGED, &err, bad[i].says);
    }
    check_refused(parse("arrived_at,prompt\n0,1\n", &q, &err), SQ_ERR_DAMAGED, &err,
                  "no column num_prefill_tokens (or ContextTokens)");
}
