// SPDX-License-Identifier: Apache-2.0
// The linear layers of a decoder from its config.json (sq_workload.h).
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_json.h"
#include "sim/machine/sq_workload.h"

enum { CONFIG_MAX_NBYTES = 16 << 20, MAX_EXPERTS = 4096 };

enum kind { LLAMA, MOE, DEEPSEEK, OPT };

// With the defaults of the classes in transformers; 0: as many KV heads as heads, heads that share
// hidden_size.
static const struct known {
    const char *model_type;
    enum kind kind;
    uint64_t kv_heads, head_dim;
} known[] = {
    {"llama", LLAMA, 0, 0},          {"mistral", LLAMA, 8, 0}, {"qwen2", LLAMA, 32, 0},
    {"qwen3", LLAMA, 32, 128},       {"mixtral", MOE, 8, 0},   {"qwen3_moe", MOE, 4, 0},
    {"deepseek_v3", DEEPSEEK, 0, 0}, {"opt", OPT, 0, 0},
};
enum { N_KNOWN = sizeof known / sizeof known[0] };

struct shape {
    enum kind kind;
    uint64_t hidden, layers, heads, kv_heads, head_dim, intermediate;
    uint64_t experts, top_k, expert_size, shared, dense_layers; // mixtures of experts
    uint64_t q_rank, kv_rank, nope, rope, v_dim;                // latent attention
};

struct builder {
    const struct shape *shape;
    struct sq_workload *w;
    size_t room;
    uint64_t m;
};

// ---- the file -------------------------------------------------------------------------------

struct source {
    const json_t *root;
    const char *what;
    struct sq_error *err;
};

static enum sq_status get(const struct source *s, const char *key, uint64_t min, uint64_t max,
                          uint64_t fallback, uint64_t *value)
{
    return sq_json_uint(s->root, s->what, key, min, max, fallback, value, s->err);
}

static enum sq_status read_kind(const struct source *s, const struct known **found)
{
    const char *type;
    char names[160] = "";
    SQ_TRY(sq_json_string(s->root, s->what, "model_type", &type, s->err));
    for (size_t i = 0; i < N_KNOWN; i++) {
        if (type && strcmp(type, known[i].model_type) == 0) {
            *found = &known[i];
            return SQ_OK;
        }
        const size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", known[i].model_type);
    }
    return SQ_FAIL(s->err, SQ_ERR_UNSUPPORTED, "%s: model_type = %.40s, need one of %s", s->what,
                   type ? type : "(missing)", names);
}

static enum sq_status read_experts(const struct source *s, struct shape *c)
{
    // Mixtral, Qwen3 and DeepSeek name the same thing differently.
    const char *experts = json_object_get(s->root, "num_local_experts")  ? "num_local_experts"
                          : json_object_get(s->root, "n_routed_experts") ? "n_routed_experts"
                                                                         : "num_experts";
    const json_t *dense = json_object_get(s->root, "mlp_only_layers");
    uint64_t step;
    SQ_TRY(get(s, experts, 2, MAX_EXPERTS, 0, &c->experts));
    SQ_TRY(get(s, "num_experts_per_tok", 1, c->experts, 0, &c->top_k));
    SQ_TRY(get(s, "moe_intermediate_size", 1, 1u << 20, c->intermediate, &c->expert_size));
    SQ_TRY(get(s, "n_shared_experts", 0, 64, 0, &c->shared));
    SQ_TRY(get(s, "first_k_dense_replace", 0, c->layers, 0, &c->dense_layers));
    SQ_TRY(
        get(s, c->kind == DEEPSEEK ? "moe_layer_freq" : "decoder_sparse_step", 1, 1024, 1, &step));
    if (step != 1 || json_array_size(dense) != 0)
        return SQ_FAIL(s->err, SQ_ERR_UNSUPPORTED,
                       "%s: experts in some layers only (step %llu, %zu dense layers listed)",
                       s->what, (unsigned long long)step, json_array_size(dense));
    return SQ_OK;
}

static enum sq_status read_attention(const struct source *s, const struct known *k, struct shape *c)
{
    const bool has_kv = json_object_get(s->root, "num_key_value_heads"); // null: one of each head
    SQ_TRY(get(s, "num_attention_heads", 1, 4096, 0, &c->heads));
    if (c->kind == DEEPSEEK) {
        SQ_TRY(get(s, "q_lora_rank", 1, 1u << 20, 0, &c->q_rank));
        SQ_TRY(get(s, "kv_lora_rank", 1, 1u << 20, 0, &c->kv_rank));
        SQ_TRY(get(s, "qk_nope_head_dim", 1, 4096, 0, &c->nope));
        SQ_TRY(get(s, "qk_rope_head_dim", 1, 4096, 0, &c->rope));
        return get(s, "v_head_dim", 1, 4096, 0, &c->v_dim);
    }
    SQ_TRY(get(s, "num_key_value_heads", 1, c->heads,
               has_kv || !k->kv_heads ? c->heads : k->kv_heads, &c->kv_heads));
    if (c->heads % c->kv_heads != 0)
        return SQ_FAIL(s->err, SQ_ERR_SHAPE,
                       "%s: num_key_value_heads = %llu, need a divisor of num_attention_heads = "
                       "%llu",
                       s->what, (unsigned long long)c->kv_heads, (unsigned long long)c->heads);
    return get(s, "head_dim", 1, 4096, k->head_dim ? k->head_dim : c->hidden / c->heads,
               &c->head_dim);
}

static enum sq_status read_shape(const struct source *s, struct shape *c)
{
    const struct known *k = NULL;
    memset(c, 0, sizeof *c);
    SQ_TRY(read_kind(s, &k));
    c->kind = k->kind;
    SQ_TRY(get(s, "hidden_size", 1, 1u << 20, 0, &c->hidden));
    SQ_TRY(get(s, "num_hidden_layers", 1, 1024, 0, &c->layers));
    SQ_TRY(
        get(s, c->kind == OPT ? "ffn_dim" : "intermediate_size", 1, 1u << 22, 0, &c->intermediate));
    SQ_TRY(read_attention(s, k, c));
    return c->kind == MOE || c->kind == DEEPSEEK ? read_experts(s, c) : SQ_OK;
}

// ---- rows -----------------------------------------------------------------------------------

static void add(struct builder *b, const char *name, uint64_t m, uint64_t n, uint64_t k,
                uint64_t count)
{
    struct sq_workload_row *row = &b->w->row[b->w->n];
    if (m == 0 || count == 0)
        return;
    if (b->w->n == b->room)
        abort(); // build() reserves enough
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%s", name);
    row->gemm = (struct sq_gemm){m, n, k};
    row->count = count;
    b->w->n++;
}

static void add_attention(struct builder *b)
{
    const struct shape *c = b->shape;
    if (c->kind == DEEPSEEK) {
        add(b, "q_a_proj", b->m, c->q_rank, c->hidden, c->layers);
        add(b, "q_b_proj", b->m, c->heads * (c->nope + c->rope), c->q_rank, c->layers);
        add(b, "kv_a_proj", b->m, c->kv_rank + c->rope, c->hidden, c->layers);
        add(b, "kv_b_proj", b->m, c->heads * (c->nope + c->v_dim), c->kv_rank, c->layers);
        add(b, "o_proj", b->m, c->hidden, c->heads * c->v_dim, c->layers);
        return;
    }
    add(b, "q_proj", b->m, c->heads * c->head_dim, c->hidden, c->layers);
    add(b, "k_proj", b->m, c->kv_heads * c->head_dim, c->hidden, c->layers);
    add(b, "v_proj", b->m, c->kv_heads * c->head_dim, c->hidden, c->layers);
    add(b, "o_proj", b->m, c->hidden, c->heads * c->head_dim, c->layers);
}

static void add_mlp(struct builder *b, const char *prefix, uint64_t m, uint64_t size,
                    uint64_t count)
{
    static const char *const names[] = {"gate_proj", "up_proj", "down_proj"};
    for (unsigned i = 0; i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, names[i]);
        add(b, name, m, i == 2 ? b->shape->hidden : size, i == 2 ? size : b->shape->hidden, count);
    }
}

// Tokens of every expert: `total` assignments over n experts in descending order, none more than
// m. The shares are filled from the first; what rounding leaves over goes to the first with room.
static void route(enum sq_routing routing, uint64_t m, uint64_t total, size_t n, uint64_t *tokens)
{
    double harmonic = 0;
    uint64_t left = total;
    for (size_t r = 0; r < n; r++)
        harmonic += 1.0 / (double)(r + 1);
    for (size_t r = 0; r < n; r++) {
        const double share =
            routing == SQ_ROUTING_BALANCED ? 1.0 / (double)n : 1.0 / (double)(r + 1) / harmonic;
        tokens[r] = (uint64_t)((double)total * share);
        tokens[r] = tokens[r] > m ? m : tokens[r];
        left -= tokens[r];
    }
    // One more for every expert with room, in order, round after round: all that fit at once.
    for (size_t full = 0; left > 0;) {
        while (tokens[full] == m) // the order is descending
            full++;
        const uint64_t open = n - full, room = m - tokens[full];
        const uint64_t rounds = left / open < room ? left / open : room;
        for (size_t r = full; r < n; r++)
            tokens[r] += rounds + (rounds == 0 && r - full < left);
        left = rounds ? left - rounds * open : 0;
    }
}

static void add_experts(struct builder *b, enum sq_routing routing)
{
    const struct shape *c = b->shape;
    const uint64_t layers = c->layers - c->dense_layers;
    uint64_t tokens[MAX_EXPERTS];
    add(b, "router", b->m, c->experts, c->hidden, layers);
    if (c->shared)
        add_mlp(b, "shared_expert.", b->m, c->shared * c->expert_size, layers);
    route(routing, b->m, b->m * c->top_k, c->experts, tokens);
    for (size_t r = 0, same; r < c->experts; r += same) {
        char prefix[40];
        for (same = 1; r + same < c->experts && tokens[r + same] == tokens[r]; same++)
            ;
        snprintf(prefix, sizeof prefix, "expert_%zu-%zu.", r, r + same - 1);
        add_mlp(b, prefix, tokens[r], c->expert_size, same * layers);
    }
}

// What sq_workload_parse would take: heads x head size, experts x layers can pass it.
static enum sq_status check_rows(const struct sq_workload *w, const char *what,
                                 struct sq_error *err)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct sq_workload_row *row = &w->row[i];
        const struct sq_gemm *g = &row->gemm;
        if (g->m > SQ_GEMM_MAX || g->n > SQ_GEMM_MAX || g->k > SQ_GEMM_MAX ||
            row->count > SQ_WORKLOAD_COUNT_MAX)
            return SQ_FAIL(err, SQ_ERR_RANGE,
                           "%s: %s is %llu x %llu x %llu, %llu times, need sizes of at most %llu "
                           "and a count of at most %u",
                           what, row->name, (unsigned long long)g->m, (unsigned long long)g->n,
                           (unsigned long long)g->k, (unsigned long long)row->count,
                           (unsigned long long)SQ_GEMM_MAX, SQ_WORKLOAD_COUNT_MAX);
    }
    return SQ_OK;
}

static enum sq_status build(const struct shape *c, const struct sq_workload_options *o,
                            const char *what, struct sq_workload *w, struct sq_error *err)
{
    const uint64_t tokens = o->is_decode ? 1 : o->seq;
    if (o->batch < 1 || tokens < 1 || o->batch > SQ_GEMM_MAX / tokens)
        return SQ_FAIL(err, SQ_ERR_RANGE,
                       "%s: %llu sequences of %llu tokens, need 1..%llu together", what,
                       (unsigned long long)o->batch, (unsigned long long)tokens,
                       (unsigned long long)SQ_GEMM_MAX);
    struct builder b = {.shape = c, .w = w, .room = 16 + 3 * c->experts, .m = o->batch * tokens};
    w->row = calloc(b.room, sizeof *w->row);
    SQ_NEED(w->row, err, "%zu rows", b.room);
    add_attention(&b);
    if (c->kind == OPT) {
        add(&b, "fc1", b.m, c->intermediate, c->hidden, c->layers);
        add(&b, "fc2", b.m, c->hidden, c->intermediate, c->layers);
    } else if (c->experts == 0) {
        add_mlp(&b, "", b.m, c->intermediate, c->layers);
    } else {
        add_mlp(&b, "", b.m, c->intermediate, c->dense_layers);
        add_experts(&b, o->routing);
    }
    return check_rows(w, what, err);
}

enum sq_status sq_workload_from_config(const char *path, const struct sq_workload_options *o,
                                       struct sq_workload *w, struct sq_error *err)
{
    json_t *root;
    struct shape shape;
    memset(w, 0, sizeof *w);
    SQ_TRY(sq_json_load(path, CONFIG_MAX_NBYTES, &root, err));
    const struct source s = {root, sq_path_tail(path), err};
    enum sq_status status = read_shape(&s, &shape);
    if (status == SQ_OK)
        status = build(&shape, o, s.what, w, err);
    if (status != SQ_OK)
        sq_workload_free(w);
    json_decref(root);
    return status;
}
