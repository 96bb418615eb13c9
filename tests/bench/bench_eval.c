// SPDX-License-Identifier: Apache-2.0
// Tokens a second of an evaluation, on all threads: every format rounded to nearest, and the model
// as it is in binary32 beside it, over the same sequences. The pass of the format alone, and its
// calibration where it has one; `sqsim eval` adds the reference pass. Default: traces/tiny-llama;
// build/smollm2/model.gguf of `make smollm2` shows larger layers.
//
//   bench_eval [--quick] [MODEL [SEQUENCES]]
#include "sim/llm/sq_eval.h"
#include "tests/bench/bench_recipe.h"

struct model {
    struct sq_checkpoint ck;
    struct sq_tokens calib, tokens;
};

static void read_tokens(const struct model *m, const char *path, const char *name,
                        struct sq_tokens *t)
{
    const struct sq_model_config *c = &m->ck.config;
    char file[512];
    struct sq_error err;
    sq_tokens_beside(path, name, file, sizeof file);
    bench_need(sq_tokens_read(t, file, c->vocab_size, c->max_position, &err), &err);
}

static double tokens_a_second(const struct model *m, const struct sq_recipe *r)
{
    struct sq_eval_result result;
    struct sq_error err;
    const double start = bench_now();
    bench_need(sq_eval(&m->ck, &m->calib, &m->tokens, r, NULL, NULL, &result, &err), &err);
    return (double)result.n_tokens / (bench_now() - start);
}

int main(int argc, char **argv)
{
    const bool is_quick = bench_is_quick(&argc, argv);
    const char *path = argc > 1 ? argv[1] : "traces/tiny-llama";
    const size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : is_quick ? 1 : 16;
    struct model m;
    struct sq_error err;
    bench_need(sq_checkpoint_open(&m.ck, path, &err), &err);
    read_tokens(&m, path, "tokens_calib.safetensors", &m.calib);
    read_tokens(&m, path, "tokens_eval.safetensors", &m.tokens);
    if (n < 1 || n > m.tokens.n_sequences)
        bench_die("SEQUENCES is 1 up to those of the token file");
    m.tokens.n_sequences = n;
    m.calib.n_sequences = is_quick ? 1 : m.calib.n_sequences;
    (void)tokens_a_second(&m, NULL); // pages of the model
    const double reference = tokens_a_second(&m, NULL);
    BENCH_ROW("evaluation, all threads", "as it is, binary32", {"tokens_s", reference},
              {"of_reference", 1});
    for (size_t f = 0; f < sq_n_formats(); f++) {
        if (!sq_formats[f]->values)
            continue;
        const struct sq_recipe r = bench_recipe(sq_formats[f], true);
        const double rate = tokens_a_second(&m, &r);
        BENCH_ROW("evaluation, all threads", sq_formats[f]->name, {"tokens_s", rate},
                  {"of_reference", rate / reference});
    }
    sq_tokens_free(&m.calib);
    sq_tokens_free(&m.tokens);
    sq_checkpoint_close(&m.ck);
    return 0;
}
