// SPDX-License-Identifier: Apache-2.0
// Workload tables and models. Tables: both SCALE-Sim forms as they come, our own form written and
// read back, every kind of lie refused with its line; truncation of a good file at every byte never
// gives more than it holds. Models: parameter counts of SPEC I, exactly; tokens of experts close
// under both routings for many sizes (exhausted: 1..300 tokens).
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/machine/sq_model_shape.h"
#include "sim/machine/sq_workload.h"
#include "tests/data.h"
#include "tests/skip.h"
#include "tests/test.h"

static enum sq_status parse(const char *text, struct sq_workload *w, struct sq_error *err)
{
    return sq_workload_parse(text, strlen(text), "test.csv", w, err);
}

static void expect(const struct sq_workload *w, size_t i, const char *name, uint64_t m, uint64_t n,
                   uint64_t k, uint64_t count)
{
    assert_true(i < w->n);
    assert_string_equal(w->row[i].name, name);
    assert_int_equal(w->row[i].gemm.m, m);
    assert_int_equal(w->row[i].gemm.n, n);
    assert_int_equal(w->row[i].gemm.k, k);
    assert_int_equal(w->row[i].count, count);
}

SQ_TEST(test_forms)
{
    struct sq_workload w;
    assert_ok(
        parse("\xef\xbb\xbfLayer, M,\xc2\xa0N, K,\r\n\r\nQKT,1024,1024,64,\r\n,,,\nL1, 1 ,2,3", &w,
              NULL));
    assert_int_equal(w.n, 2);
    expect(&w, 0, "QKT", 1024, 1024, 64, 1);
    expect(&w, 1, "L1", 1, 2, 3, 1);
    sq_workload_free(&w);
    // Columns go by name, not by place.
    assert_ok(parse("name,K,Count,N,M\na,1,2,3,4\n", &w, NULL));
    expect(&w, 0, "a", 4, 3, 1, 2);
    sq_workload_free(&w);
    // Without a column of names they are made.
    assert_ok(parse("M,N,K\n1,2,3\n\n4,5,6\n", &w, NULL));
    assert_int_equal(w.n, 2);
    expect(&w, 0, "gemm_1", 1, 2, 3, 1);
    expect(&w, 1, "gemm_2", 4, 5, 6, 1);
    sq_workload_free(&w);
    assert_ok(parse("count,k,n,m\n2,3,4,5\n", &w, NULL));
    expect(&w, 0, "gemm_1", 5, 4, 3, 2);
    sq_workload_free(&w);
    // Names too long to be kept differ at their ends.
    assert_ok(parse("name,M,N,K\n"
                    "model.language_model.transformer.layers.0.feed_forward.experts.11.w1,1,2,3\n"
                    "model.language_model.transformer.layers.0.feed_forward.experts.11.w2,1,2,3\n",
                    &w, NULL));
    expect(&w, 0, "..anguage_model.transformer.layers.0.feed_forward.experts.11.w1", 1, 2, 3, 1);
    assert_string_not_equal(w.row[0].name, w.row[1].name);
    sq_workload_free(&w);
    // A convolution as its GEMM; a heading; a batch.
    assert_ok(parse("Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, "
                    "Num Filter, Strides, Batch Size,\nTransformer,\nc,7,9,3,3,5,11,2,4,\n",
                    &w, NULL));
    assert_int_equal(w.n, 1);
    expect(&w, 0, "c", 3 * 4 * 4, 11, 45, 1);
    sq_workload_free(&w);
}

SQ_TEST(test_lies)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "holds no rows"},
        {"\n\n,,,\n", "holds no rows"},
        {"Layer,M,N,K,\n", "a header and no rows"},
        {"a,1,2,3\nb,1,2,3\n", "column 1 is not read"},
        {"Layer,M,N\na,1,2\n", "no header with columns M, N and K"},
        {"Layer,M,N,K,M\na,1,2,3,4\n", "column M is there twice"},
        {"M,N,K,M\n1,2,3,4\n", "column M is there twice"},
        {"M,N,Layer,K\n1,2,a,3\n", "column Layer is not read"},
        {"Layer,M,N,K,Sparsity\na,1,2,3,2:4\n", "column Sparsity is not read"},
        {"Layer,M,N,K\na,0,2,3\n", "line 2: M = 0, need 1..16777216"},
        {"Layer,M,N,K\na,1,-2,3\n", "line 2: N = -2"},
        {"Layer,M,N,K\na,1,2,1099511627776\n", "line 2: K = 1099511627776"},
        {"Layer,M,N,K\na,1,2,99999999999999999999999\n", "line 2: K = 9999"},
        {"Layer,M,N,K\na,1,2,3e3\n", "K = 3e3"},
        {"Layer,M,N,K\na,1,2,0x10\n", "K = 0x10"},
        {"Layer,M,N,K\na,1,,3\n", "N = (nothing)"},
        {"Layer,M,N,K\na,1,2\n", "3 values, the header has 4 columns"},
        {"Layer,M,N,K\na,1,2,3,4\n", "5 values"},
        {"Layer,M,N,K\na\n", "1 values"},
        {"Layer,M,N,K,Count\na,1,2,3,0\n", "Count = 0, need 1..1000000"},
        {"Layer,M,N,K\n1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n", "more than 16 columns"},
        {"L,IFMAP Height,b,c,d,e,f,g\nx,3,3,5,5,1,1,1\n", "filter is larger"},
        {"L,IFMAP Height,b,c,d,e,f,g\nx,16000000,16000000,1,1,1,1,1\n", "exceed 16777216"},
        {"L,IFMAP Height,b,c,d,e,f,g\nx,4,4,1,1,1,1,0\n", "Strides = 0"},
        {"L,IFMAP Height,b,c\nx,4,4,1\n", "needs 8 columns"},
    };
    struct sq_workload w;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sq_error err = {.code = SQ_OK};
        if (parse(cases[i].text, &w, &err) == SQ_OK)
            fail_msg("accepted: %s", cases[i].text);
        if (!strstr(err.text, cases[i].want))
            fail_msg("'%s' gave '%s', want '%s'", cases[i].text, err.text, cases[i].want);
        assert_null(w.row);
    }
    char longer[1200] = "Layer,M,N,K\n";
    memset(longer + 12, 'x', 1100);
    assert_int_not_equal(parse(longer, &w, NULL), SQ_OK);
    assert_int_not_equal(sq_workload_parse("Layer,M,N,K\na,1,2,\0003\n", 22, "z", &w, NULL), SQ_OK);
}

// Names in quotes, out and in again; a filter's last step over the edge counts, as in SCALE-Sim.
SQ_TEST(test_quoted)
{
    static const char text[] = "Layer,M,N,K\n\"a,b\",1,\"2\",3\r\n\"say \"\"x\"\"\",1,2,3\n"
                               "\"two\nlines\",1,2,3\n\" c \",4,5,6\n";
    static const char *const names[] = {"a,b", "say \"x\"", "two\nlines", "c"};
    struct sq_workload w, again;
    struct sq_error err;
    char *out = NULL;
    size_t n;
    assert_ok(parse(text, &w, NULL));
    FILE *f = open_memstream(&out, &n);
    sq_workload_write(&w, f);
    fclose(f);
    assert_ok(sq_workload_parse(out, n, "again", &again, NULL));
    assert_int_equal(again.n, 4);
    for (size_t i = 0; i < 4; i++) {
        expect(&w, i, names[i], i == 3 ? 4 : 1, i == 3 ? 5 : 2, i == 3 ? 6 : 3, 1);
        expect(&again, i, names[i], w.row[i].gemm.m, w.row[i].gemm.n, w.row[i].gemm.k, 1);
    }
    sq_workload_free(&w);
    sq_workload_free(&again);
    free(out);
    assert_int_not_equal(parse("Layer,M,N,K\n\"a\n\",1,2,3\nb,1,2,x\n", &w, &err), SQ_OK);
    assert_non_null(strstr(err.text, "line 4: K = x"));
    assert_int_not_equal(parse("Layer,M,N,K\n\"a,1,2,3\n", &w, &err), SQ_OK);
    assert_non_null(strstr(err.text, "a quote does not end"));
    static const unsigned way[][4] = {
        {8, 3, 2, 4}, {7, 3, 2, 3}, {3, 3, 9, 1}, {4, 3, 9, 2}, {224, 7, 2, 110}};
    for (size_t i = 0; i < sizeof way / sizeof way[0]; i++) {
        char conv[160];
        snprintf(conv, sizeof conv, "L,IFMAP Height,b,c,d,e,f,g\nx,%u,1,%u,1,1,1,%u,\n", way[i][0],
                 way[i][1], way[i][2]);
        assert_ok(parse(conv, &w, NULL));
        expect(&w, 0, "x", way[i][3], 1, way[i][1], 1);
        sq_workload_free(&w);
    }
}

SQ_TEST(test_truncated)
{
    static const char text[] = "Layer,M,N,K,Count,\nab,12,34,56,78,\ncd,1,2,3,4,\n";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        struct sq_workload w;
        char *copy = fixture_exact(n ? n : 1); // its own block: reading beyond it is seen by ASan
        memcpy(copy, text, n);
        if (sq_workload_parse(copy, n, "t", &w, NULL) == SQ_OK) {
            assert_true(w.n >= 1 && w.n <= 2);
            expect(&w, 0, "ab", 12, 34, 56, w.row[0].count);
            sq_workload_free(&w);
        }
    }
}

// ---- models ---------------------------------------------------------------------------------

static void from(const char *model, bool is_decode, uint64_t batch, uint64_t seq,
                 enum sq_routing routing, struct sq_workload *w)
{
    const struct sq_workload_options o = {
        .is_decode = is_decode, .batch = batch, .seq = seq, .routing = routing};
    char path[128];
    struct sq_error err = {.code = SQ_OK};
    snprintf(path, sizeof path, "%s%s", strchr(model, '/') ? "" : "traces/workloads/", model);
    if (sq_workload_from_config(path, &o, w, &err) != SQ_OK)
        fail_msg("%s", err.text);
}

static uint64_t parameters(const struct sq_workload *w)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < w->n; i++)
        sum += w->row[i].gemm.n * w->row[i].gemm.k * w->row[i].count;
    return sum;
}

SQ_TEST(test_parameters)
{
    static const struct {
        const char *config;
        uint64_t parameters; // SPEC I
    } models[] = {
        {"llama-2-7b.json", 6476005376},   {"llama-2-13b.json", 12687769600},
        {"llama-2-70b.json", 68451041280}, {"llama-3-8b.json", 6979321856},
        {"llama-3-70b.json", 68451041280}, {"qwen3-30b-a3b.json", 29909581824},
    };
    struct sq_workload w;
    for (unsigned i = 0; i < sizeof models / sizeof models[0]; i++) {
        from(models[i].config, false, 1, 2048, SQ_ROUTING_BALANCED, &w);
        assert_int_equal(parameters(&w), models[i].parameters);
        for (size_t r = 0; r < w.n; r++)
            assert_int_equal(w.row[r].gemm.m, strstr(w.row[r].name, "expert") ? 128 : 2048);
        sq_workload_free(&w);
    }
    from("llama-3-70b.json", true, 8, 0, SQ_ROUTING_BALANCED, &w);
    expect(&w, 1, "k_proj", 8, 1024, 8192, 80); // grouped queries
    expect(&w, 6, "down_proj", 8, 8192, 28672, 80);
    sq_workload_free(&w);
}

SQ_TEST(test_experts)
{
    for (unsigned routing = 0; routing < 2; routing++)
        for (uint64_t m = 1; m <= 300; m++) {
            struct sq_workload w;
            uint64_t assigned = 0, experts = 0, most = 0, least = UINT64_MAX;
            from("qwen3-30b-a3b.json", true, m, 0, (enum sq_routing)routing, &w);
            for (size_t i = 0; i < w.n; i++)
                if (strstr(w.row[i].name, "gate_proj")) {
                    assert_int_equal(w.row[i].count % 48, 0);
                    const uint64_t n = w.row[i].count / 48, tokens = w.row[i].gemm.m;
                    assigned += n * tokens;
                    experts += n;
                    most = tokens > most ? tokens : most;
                    least = tokens < least ? tokens : least;
                }
            assert_int_equal(assigned, 8 * m);
            assert_true(experts <= 128 && most <= m);
            if (routing == SQ_ROUTING_BALANCED) {
                assert_int_equal(experts, 8 * m < 128 ? 8 * m : 128);
                assert_true(most - least <= 1);
            } else if (m >= 32) {
                assert_int_equal(most, m); // the first expert sees every token
            }
            sq_workload_free(&w);
        }
}

// What rounding and the limit of m tokens leave over was handed out token by token: 2^36 steps.
SQ_TEST(test_many_tokens)
{
    static const char config[] =
        "{\"model_type\":\"mixtral\",\"hidden_size\":64,\"intermediate_size\":128,"
        "\"num_hidden_layers\":1,\"num_attention_heads\":4,\"num_key_value_heads\":4,"
        "\"num_local_experts\":4096,"
        "\"num_experts_per_tok\":4000}";
    const struct sq_workload_options o = {
        .is_decode = false, .batch = 1, .seq = SQ_GEMM_MAX, .routing = SQ_ROUTING_SKEWED};
    char path[] = "/tmp/sq-config-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, config, strlen(config)) == (ssize_t)strlen(config));
    close(fd);
    struct sq_workload w;
    uint64_t assigned = 0;
    assert_ok(sq_workload_from_config(path, &o, &w, NULL));
    for (size_t i = 0; i < w.n; i++)
        if (strstr(w.row[i].name, "gate_proj"))
            assigned += w.row[i].count * w.row[i].gemm.m;
    assert_int_equal(assigned, 4000 * SQ_GEMM_MAX);
    sq_workload_free(&w);
    unlink(path);
}

SQ_TEST(test_real_configs)
{
    static const char *const names[] = {"meta-llama--Meta-Llama-3.1-70B", "Qwen--Qwen3-32B",
                                        "mistralai--Mixtral-8x7B-v0.1", "Qwen--Qwen3-30B-A3B",
                                        "deepseek-ai--DeepSeek-R1"};
    // Linear parameters: published totals less embeddings, norms and the prediction layer.
    static const double want[] = {68.451e9, 31.2e9, 46.4e9, 29.91e9, 669.2e9};
    char configs[512];
    if (access(test_data("workloads/hf_configs", configs), R_OK) != 0) {
        SQ_SKIP("real config files, no %s here", configs);
    }
    for (unsigned i = 0; i < 5; i++) {
        char path[640];
        struct sq_workload w;
        snprintf(path, sizeof path, "%s/%s_config.json", configs, names[i]);
        from(path, false, 1, 2048, SQ_ROUTING_BALANCED, &w);
        const double got = (double)parameters(&w);
        if (got < 0.995 * want[i] || got > 1.005 * want[i])
            fail_msg("%s: %.4g linear parameters, want %.4g", names[i], got, want[i]);
        sq_workload_free(&w);
    }
}

// Parameters of a model, with embedding and lm_head, in billions as its makers publish them; nested where the
// decoder is a part of a model of images and text.
SQ_TEST(test_published_sizes)
{
    static const struct {
        const char *name, *config;
        double want;
    } c[] = {
        {"gpt-oss-20b",
         "{\"model_type\":\"gpt_oss\",\"hidden_size\":2880,\"num_hidden_layers\":24,"
         "\"intermediate_size\":2880,\"num_local_experts\":32,\"num_experts_per_tok\":4,"
         "\"sliding_window\":128,\"vocab_size\":201088}",
         20.91},
        {"Qwen1.5-MoE-A2.7B",
         "{\"model_type\":\"qwen2_moe\",\"hidden_size\":2048,\"num_hidden_layers\":24,"
         "\"intermediate_size\":5632,\"num_attention_heads\":16,\"num_experts\":60,"
         "\"num_experts_per_tok\":4,\"moe_intermediate_size\":1408,"
         "\"shared_expert_intermediate_size\":5632,\"vocab_size\":151936}",
         14.3},
        {"DeepSeek-V2-Lite",
         "{\"model_type\":\"deepseek_v2\",\"hidden_size\":2048,\"num_hidden_layers\":27,"
         "\"intermediate_size\":10944,\"num_attention_heads\":16,\"q_lora_rank\":null,"
         "\"kv_lora_rank\":512,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,"
         "\"v_head_dim\":128,\"n_routed_experts\":64,\"n_shared_experts\":2,"
         "\"num_experts_per_tok\":6,\"moe_intermediate_size\":1408,"
         "\"first_k_dense_replace\":1,\"vocab_size\":102400}",
         15.7},
        {"gemma-2-2b",
         "{\"model_type\":\"gemma2\",\"hidden_size\":2304,\"num_hidden_layers\":26,"
         "\"intermediate_size\":9216,\"sliding_window\":4096,\"vocab_size\":256000}",
         2.61},
        {"gemma-3-4b",
         "{\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"gemma3_text\","
         "\"hidden_size\":2560,\"num_hidden_layers\":34,\"intermediate_size\":10240,"
         "\"sliding_window\":1024,\"vocab_size\":262208}}",
         3.88},
        {"Phi-3-mini",
         "{\"model_type\":\"phi3\",\"hidden_size\":3072,\"num_hidden_layers\":32,"
         "\"intermediate_size\":8192,\"num_attention_heads\":32,\"vocab_size\":32064}",
         3.82},
    };
    const struct sq_workload_options o = {
        .is_decode = true, .batch = 1, .is_whole = true, .context = 1024};
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        struct sq_workload w;
        struct sq_error err;
        json_t *root = json_loads(c[i].config, 0, NULL);
        if (sq_workload_of_config(root, c[i].name, &o, &w, &err) != SQ_OK)
            fail_msg("%s", err.text);
        double got = w.rest.embedding_held;
        for (size_t row = 0; row < w.n; row++)
            if (w.row[row].part == SQ_ROW_LINEAR || w.row[row].part == SQ_ROW_HEAD)
                got += (double)((w.row[row].count + w.row[row].idle) * w.row[row].gemm.n *
                                w.row[row].gemm.k);
        if (fabs(1e-9 * got / c[i].want - 1) > .005)
            fail_msg("%s: %.4f billion parameters, want %.4g", c[i].name, 1e-9 * got, c[i].want);
        sq_workload_free(&w);
        json_decref(root);
    }
}

// What a config leaves out is what the class of its model_type has in transformers.
SQ_TEST(test_defaults)
{
    static const struct {
        const char *type, *more;
        uint64_t q, kv; // outputs
    } c[] = {{"llama", "", 640, 640},
             {"mistral", "", 640, 128}, // 8 KV heads
             {"mistral", ",\"num_key_value_heads\":null", 640, 640},
             {"qwen2", ",\"num_key_value_heads\":10", 640, 160},
             {"qwen3", ",\"num_key_value_heads\":10", 5120, 1280}, // heads of 128
             {"qwen3", ",\"num_key_value_heads\":10,\"head_dim\":32", 1280, 320}};
    const struct sq_workload_options o = {
        .is_decode = false, .batch = 1, .seq = 16, .routing = SQ_ROUTING_BALANCED};
    char path[] = "/tmp/sq-config-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        struct sq_workload w;
        FILE *f = fopen(path, "w");
        fprintf(f,
                "{\"model_type\":\"%s\",\"hidden_size\":640,\"num_hidden_layers\":2,"
                "\"intermediate_size\":8,\"num_attention_heads\":40%s}",
                c[i].type, c[i].more);
        fclose(f);
        assert_ok(sq_workload_from_config(path, &o, &w, NULL));
        expect(&w, 0, "q_proj", 16, c[i].q, 640, 2);
        expect(&w, 1, "k_proj", 16, c[i].kv, 640, 2);
        sq_workload_free(&w);
    }
    close(fd);
    unlink(path);
}

// The same of whole models: classes of transformers 5.24 in order, and the fields that decide on windows. The
// numbers are those of Config() there, layer by layer.
SQ_TEST(test_classes)
{
    static const struct {
        const char *type, *more;
        uint64_t hidden, layers, heads, kv_heads, head_dim, vocab, window, window_layers, experts;
        uint64_t intermediate, position, eos, norms, top_k, expert_size, shared_size, dense,
            qk_norm;
        bool is_tied;
    } c[] = {
        // clang-format off
        {"llama", "", 4096, 32, 32, 32, 128, 32000, 0, 0, 0, 11008, 2048, 2, 2, 0, 0, 0, 0, 0, false},
        {"llama", ",\"sliding_window\":9", 4096, 32, 32, 32, 128, 32000, 0, 0, 0, 11008, 2048, 2, 2, 0, 0, 0, 0, 0, false},
        {"mistral", "", 4096, 32, 32, 8, 128, 32000, 4096, 32, 0, 14336, 131072, 2, 2, 0, 0, 0, 0, 0, false},
        {"mistral", ",\"sliding_window\":null", 4096, 32, 32, 8, 128, 32000, 0, 0, 0, 14336, 131072, 2, 2, 0, 0, 0, 0, 0, false},
        {"qwen2", "", 4096, 32, 32, 32, 128, 151936, 0, 0, 0, 22016, 32768, 0, 2, 0, 0, 0, 0, 0, false},
        {"qwen3", ",\"use_sliding_window\":true,\"num_hidden_layers\":36", 4096, 36, 32, 32, 128, 151936, 4096, 8, 0, 22016, 32768, 0, 2, 0, 0, 0, 0, 1, false},
        {"qwen3", ",\"sliding_window\":5,\"max_window_layers\":0", 4096, 32, 32, 32, 128, 151936, 0, 0, 0, 22016, 32768, 0, 2, 0, 0, 0, 0, 1, false},
        {"gemma2", "", 2304, 26, 8, 4, 256, 256000, 4096, 13, 0, 9216, 8192, 1, 4, 0, 0, 0, 0, 0, true},
        {"gemma3_text", "", 2304, 26, 8, 4, 256, 262208, 4096, 22, 0, 9216, 131072, 1, 4, 0, 0, 0, 0, 1, true},
        {"gemma3_text", ",\"sliding_window_pattern\":3", 2304, 26, 8, 4, 256, 262208, 4096, 18, 0, 9216, 131072, 1, 4, 0, 0, 0, 0, 1, true},
        {"phi3", "", 3072, 32, 32, 32, 96, 32064, 0, 0, 0, 8192, 4096, 32000, 2, 0, 0, 0, 0, 0, false},
        {"phi3", ",\"sliding_window\":2047", 3072, 32, 32, 32, 96, 32064, 2047, 32, 0, 8192, 4096, 32000, 2, 0, 0, 0, 0, 0, false},
        {"granite", "", 4096, 32, 32, 32, 128, 32000, 0, 0, 0, 11008, 2048, 2, 2, 0, 0, 0, 0, 0, false},
        {"olmo2", "", 4096, 32, 32, 32, 128, 50304, 0, 0, 0, 11008, 2048, 50279, 2, 0, 0, 0, 0, 1, false},
        {"smollm3", "", 2048, 36, 16, 4, 128, 128256, 0, 0, 0, 11008, 32768, 128001, 2, 0, 0, 0, 0, 0, true},
        {"smollm3", ",\"use_sliding_window\":true,\"sliding_window\":7", 2048, 36, 16, 4, 128, 128256, 7, 9, 0, 11008, 32768, 128001, 2, 0, 0, 0, 0, 0, true},
        {"glm4", "", 4096, 40, 32, 2, 128, 151552, 0, 0, 0, 13696, 131072, 0, 4, 0, 0, 0, 0, 0, false},
        {"mixtral", "", 4096, 32, 32, 8, 128, 32000, 0, 0, 8, 14336, 131072, 2, 2, 2, 14336, 0, 0, 0, false},
        {"qwen2_moe", ",\"use_sliding_window\":true", 2048, 24, 16, 16, 128, 151936, 4096, 12, 60, 5632, 32768, 0, 2, 4, 1408, 5632, 0, 0, false},
        {"qwen3_moe", ",\"use_sliding_window\":true,\"head_dim\":128", 2048, 24, 32, 4, 128, 151936, 4096, 24, 128, 6144, 32768, 0, 2, 8, 768, 0, 0, 1, false},
        {"gpt_oss", "", 2880, 36, 64, 8, 64, 201088, 128, 18, 128, 2880, 131072, 0, 2, 4, 2880, 0, 0, 0, false},
        {"glm4_moe", ",\"num_attention_heads\":64", 4096, 46, 64, 8, 64, 151552, 0, 0, 128, 10944, 131072, 0, 2, 8, 1408, 1408, 1, 0, false},
        {"deepseek_v2", ",\"num_experts_per_tok\":6", 4096, 32, 32, 0, 0, 102400, 0, 0, 64, 11008, 2048, 2, 2, 6, 1407, 2814, 0, 0, false},
        {"deepseek_v3", "", 7168, 61, 128, 0, 0, 129280, 0, 0, 256, 18432, 4096, 1, 2, 8, 2048, 2048, 3, 0, false},
        {"kimi_k2", "", 7168, 61, 128, 0, 0, 129280, 0, 0, 256, 18432, 4096, 1, 2, 8, 2048, 2048, 3, 0, false},
        {"opt", "", 768, 12, 12, 12, 64, 50272, 0, 0, 0, 3072, 2048, 2, 2, 0, 0, 0, 0, 0, true},
        {"gemma3", ",\"text_config\":{\"hidden_size\":2560}", 2560, 26, 8, 4, 256, 262208, 4096, 22, 0, 9216, 131072, 1, 4, 0, 0, 0, 0, 1, true},
        {"llava", ",\"text_config\":{}", 4096, 32, 32, 32, 128, 32000, 0, 0, 0, 11008, 2048, 2, 2, 0, 0, 0, 0, 0, false},
        // clang-format on
    };
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        char text[256];
        struct sq_model_shape s;
        struct sq_error err;
        snprintf(text, sizeof text, "{\"model_type\":\"%s\"%s}", c[i].type, c[i].more);
        json_t *root = json_loads(text, 0, NULL);
        if (sq_model_shape_of(root, text, &s, &err) != SQ_OK)
            fail_msg("%s", err.text);
        const uint64_t got[] = {s.hidden,       s.layers,       s.heads,        s.kv_heads,
                                s.head_dim,     s.vocab,        s.window,       s.window_layers,
                                s.experts,      s.intermediate, s.max_position, s.eos,
                                s.norms,        s.top_k,        s.expert_size,  s.shared_size,
                                s.dense_layers, s.has_qk_norm};
        for (size_t j = 0; j < sizeof got / sizeof got[0]; j++)
            if (got[j] != (&c[i].hidden)[j])
                fail_msg("%s: number %zu is %llu", text, j, (unsigned long long)got[j]);
        assert_int_equal(s.is_tied, c[i].is_tied);
        json_decref(root);
    }
}

SQ_TEST(test_bad_configs)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{}", "model_type = (missing)"},
        {"{\"model_type\":\"gpt2\"}", "model_type = gpt2, need one of llama"},
        {"{\"model_type\":\"deepseek_v2\"}", "num_experts_per_tok is missing"},
        {"{\"model_type\":\"qwen3\",\"head_dim\":null}", "head_dim = null"},
        {"{\"model_type\":\"gemma2\",\"sliding_window\":null}", "sliding_window = null"},
        {"{\"model_type\":\"gpt_oss\",\"layer_types\":[\"full_attention\"]}", "need 36"},
        {"{\"model_type\":\"llama\",\"hidden_size\":-4}", "hidden_size"},
        {"{\"model_type\":\"llama\",\"hidden_size\":1099511627776}", "hidden_size"},
        {"{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,"
         "\"intermediate_size\":8,\"num_attention_heads\":8,\"num_key_value_heads\":3}",
         "num_key_value_heads = 3, need a divisor"},
        {"{\"model_type\":\"qwen3_moe\",\"hidden_size\":64,\"num_hidden_layers\":2,"
         "\"intermediate_size\":8,\"num_attention_heads\":8,\"num_experts\":4,"
         "\"num_experts_per_tok\":5}",
         "num_experts_per_tok"},
        {"{\"model_type\":\"qwen3_moe\",\"hidden_size\":64,\"num_hidden_layers\":2,"
         "\"intermediate_size\":8,\"num_attention_heads\":8,\"num_experts\":4,"
         "\"num_experts_per_tok\":2,\"mlp_only_layers\":[0]}",
         "experts in some layers only"},
    };
    const struct sq_workload_options o = {
        .is_decode = false, .batch = 1, .seq = 16, .routing = SQ_ROUTING_BALANCED};
    char path[] = "/tmp/sq-config-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sq_workload w;
        struct sq_error err = {.code = SQ_OK};
        FILE *f = fopen(path, "w");
        fputs(cases[i].text, f);
        fclose(f);
        if (sq_workload_from_config(path, &o, &w, &err) == SQ_OK)
            fail_msg("accepted: %s", cases[i].text);
        if (!strstr(err.text, cases[i].want))
            fail_msg("'%s' gave '%s'", cases[i].text, err.text);
    }
    close(fd);
    unlink(path);
    struct sq_workload w;
    const struct sq_workload_options many = {
        .is_decode = false, .batch = 1 << 20, .seq = 1 << 20, .routing = SQ_ROUTING_BALANCED};
    assert_int_equal(sq_workload_from_config("traces/workloads/llama-3-8b.json", &many, &w, NULL),
                     SQ_ERR_RANGE);
}
