// SPDX-License-Identifier: Apache-2.0
// Finds added tokens in a text, and merges the pieces between them by rank (sq_tokenizer.h).
#include "sim/llm/text/sq_tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "sim/io/sq_grow.h"

// LOOKS_A_BYTE bounds how many added tokens are compared at one byte of the text, on average.
enum { MAX_PIECE = 1 << 30, LOOKS_A_BYTE = 64 };

// ---- tables ---------------------------------------------------------------------------------

static int by_bytes(const void *a, const void *b)
{
    const struct sq_token *s = a, *t = b;
    const int order = memcmp(s->at, t->at, s->n < t->n ? s->n : t->n);
    return order ? order : (s->n > t->n) - (s->n < t->n);
}

static int by_bytes_and_id(const void *a, const void *b)
{
    const int order = by_bytes(a, b);
    const struct sq_token *s = a, *t = b;
    return order ? order : (s->id > t->id) - (s->id < t->id);
}

int32_t sq_tokenizer_find(const struct sq_tokenizer *t, const char *at, size_t n)
{
    const struct sq_token wanted = {at, n, 0}, *hit = NULL;
    if (t->n_tokens > 0)
        hit = bsearch(&wanted, t->token, t->n_tokens, sizeof *t->token, by_bytes);
    return hit ? hit->id : SQ_TOKEN_NONE;
}

static int by_pair(const void *a, const void *b)
{
    const struct sq_merge *s = a, *t = b;
    if (s->left != t->left)
        return s->left < t->left ? -1 : 1;
    return (s->right > t->right) - (s->right < t->right);
}

static const struct sq_merge *find_merge(const struct sq_tokenizer *t, int32_t left, int32_t right)
{
    const struct sq_merge wanted = {.left = left, .right = right};
    return t->n_merges ? bsearch(&wanted, t->merge, t->n_merges, sizeof *t->merge, by_pair) : NULL;
}

// The later of two ranks of one pair counts, as in a map filled in order.
static int by_pair_and_rank(const void *a, const void *b)
{
    const int order = by_pair(a, b);
    const struct sq_merge *s = a, *t = b;
    return order ? order : (s->rank < t->rank) - (s->rank > t->rank);
}

static void sort_added(struct sq_tokenizer *t, int pass)
{
    struct sq_token *a = t->added[pass];
    size_t n = 0;
    if (t->n_added[pass] > 0)
        qsort(a, t->n_added[pass], sizeof *a, by_bytes_and_id);
    for (size_t i = 0; i < t->n_added[pass]; i++)
        if (n == 0 || by_bytes(&a[n - 1], &a[i]) != 0)
            a[n++] = a[i];
    t->n_added[pass] = n;
    for (size_t byte = 0, i = 0; byte <= 256; byte++) {
        while (i < n && (unsigned char)a[i].at[0] < byte)
            i++;
        t->first[pass][byte] = i;
    }
}

void sq_tokenizer_sort(struct sq_tokenizer *t)
{
    size_t n = 0;
    if (t->n_tokens > 0)
        qsort(t->token, t->n_tokens, sizeof *t->token, by_bytes_and_id);
    for (size_t i = 0; i < t->n_tokens; i++) { // the last of two is the token, as in a map
        n -= n > 0 && by_bytes(&t->token[n - 1], &t->token[i]) == 0;
        t->token[n++] = t->token[i];
    }
    t->n_tokens = n;
    for (int i = 0; i < 2; i++)
        sort_added(t, i);
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[7];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        const int32_t id = t->rank ? sq_tokenizer_find(t, name, 6)
                                   : sq_tokenizer_find(t, &(const char){(char)byte}, 1);
        if (id != SQ_TOKEN_NONE || !t->rank)
            t->of_byte[byte] = id;
    }
}

void sq_tokenizer_sort_merges(struct sq_tokenizer *t)
{
    size_t n = 0;
    qsort(t->merge, t->n_merges, sizeof *t->merge, by_pair_and_rank);
    for (size_t i = 0; i < t->n_merges; i++)
        if (n == 0 || by_pair(&t->merge[n - 1], &t->merge[i]) != 0)
            t->merge[n++] = t->merge[i];
    t->n_merges = n;
}

void sq_tokenizer_free(struct sq_tokenizer *t)
{
    SQ_FREE(t->token, t->added[0], t->added[1], t->merge, t->rank, t->text, t->nfc_text, t->around);
    sq_pretokenizer_free(&t->pretokenizer);
    *t = (struct sq_tokenizer){.bos = SQ_TOKEN_NONE};
}

// ---- merging --------------------------------------------------------------------------------

struct symbol {
    int32_t id;            // SQ_TOKEN_NONE: no token
    int32_t before, after; // places, -1 at the ends
    int32_t at, n;         // its bytes in the piece; n = 0: joined to the one before
};

// A pair that may be joined: the heap's order is rank, then place.
struct candidate {
    uint32_t rank;
    int32_t place;
    int32_t left, right, id; // bytes of both symbols; void once one of them has other bytes
};

struct encoder {
    const struct sq_tokenizer *t;
    int32_t *id;
    size_t n, capacity;
    struct symbol *symbol;
    struct candidate *heap;
    size_t n_heap, piece_capacity; // of symbol; heap has three times as much
    struct sq_cut_time time;
    size_t n_looks, most_looks; // comparisons with added tokens so far; how many are allowed
};

static bool is_before(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->place < b->place;
}

static void push(struct encoder *e, struct candidate c)
{
    size_t i = e->n_heap++;
    for (; i > 0 && is_before(&c, &e->heap[(i - 1) / 2]); i = (i - 1) / 2)
        e->heap[i] = e->heap[(i - 1) / 2];
    e->heap[i] = c;
}

static struct candidate pop(struct encoder *e)
{
    const struct candidate top = e->heap[0], last = e->heap[--e->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < e->n_heap; i = child) {
        if (child + 1 < e->n_heap && is_before(&e->heap[child + 1], &e->heap[child]))
            child++;
        if (!is_before(&e->heap[child], &last))
            break;
        e->heap[i] = e->heap[child];
    }
    e->heap[i] = last;
    return top;
}

// Offers the pair that begins at `place`.
static void offer(struct encoder *e, const char *piece, int32_t place)
{
    if (place < 0 || e->symbol[place].after < 0)
        return;
    const struct symbol *left = &e->symbol[place], *right = &e->symbol[left->after];
    struct candidate c = {.place = place, .left = left->n, .right = right->n};
    if (e->t->rank) {
        c.id = sq_tokenizer_find(e->t, piece + left->at, (size_t)(left->n + right->n));
        if (c.id == SQ_TOKEN_NONE)
            return;
        c.rank = e->t->rank[c.id];
    } else {
        const struct sq_merge *m = find_merge(e->t, left->id, right->id);
        if (!m)
            return;
        c.id = m->id;
        c.rank = m->rank;
    }
    push(e, c);
}

static void join(struct encoder *e, const char *piece, const struct candidate *c)
{
    struct symbol *s = &e->symbol[c->place];
    if (s->n != c->left || s->after < 0 || e->symbol[s->after].n != c->right)
        return;
    struct symbol *gone = &e->symbol[s->after];
    s->id = c->id;
    s->n += gone->n;
    s->after = gone->after;
    gone->n = 0;
    if (s->after >= 0)
        e->symbol[s->after].before = c->place;
    offer(e, piece, s->before);
    offer(e, piece, c->place);
}

// Splits the piece into bytes, or into characters for SentencePiece. Returns how many.
static int32_t split(struct encoder *e, const char *piece, size_t n)
{
    int32_t length = 0;
    for (size_t at = 0, step = 1; at < n; at += step) {
        int32_t id = e->t->of_byte[(unsigned char)piece[at]];
        if (e->t->rank) {
            utf8proc_int32_t c;
            step = (size_t)utf8proc_iterate((const utf8proc_uint8_t *)piece + at,
                                            (utf8proc_ssize_t)(n - at), &c);
            id = sq_tokenizer_find(e->t, piece + at, step);
        }
        if (e->t->rank || id != SQ_TOKEN_NONE) {
            e->symbol[length] =
                (struct symbol){id, length - 1, length + 1, (int32_t)at, (int32_t)step};
            length++;
        }
    }
    if (length > 0)
        e->symbol[length - 1].after = -1;
    return length;
}

// Each join takes a symbol away and offers two pairs: 3 n candidates at most.
static enum sq_status reserve(struct encoder *e, size_t n, struct sq_error *err)
{
    SQ_FAIL_IF(n > MAX_PIECE, err, SQ_ERR_RANGE, "a piece of %zu bytes, need at most %d", n,
               MAX_PIECE);
    if (n > e->piece_capacity) {
        SQ_FREE(e->symbol, e->heap);
        e->piece_capacity = 2 * n + 64;
        e->symbol = malloc(e->piece_capacity * sizeof *e->symbol);
        e->heap = malloc(3 * e->piece_capacity * sizeof *e->heap);
    }
    if (e->n + n >= e->capacity) { // sq_tokenizer.h promises room for one more
        e->capacity = 2 * (e->n + n) + 1024;
        int32_t *more = realloc(e->id, e->capacity * sizeof *e->id);
        SQ_NEED(more, err, "%zu tokens", e->capacity);
        e->id = more;
    }
    return SQ_HAVE(e->symbol && e->heap, err, "a piece of %zu bytes", n);
}

static enum sq_status encode_piece(void *context, const char *piece, size_t n, struct sq_error *err)
{
    struct encoder *e = context;
    SQ_TRY(reserve(e, n, err));
    const int32_t whole = e->t->ignores_merges ? sq_tokenizer_find(e->t, piece, n) : SQ_TOKEN_NONE;
    if (whole != SQ_TOKEN_NONE) {
        e->id[e->n++] = whole;
        return SQ_OK;
    }
    const int32_t length = split(e, piece, n);
    if (length == 0)
        return SQ_OK;
    e->n_heap = 0;
    for (int32_t i = 0; i < length; i++)
        offer(e, piece, i);
    while (e->n_heap > 0) {
        const struct candidate c = pop(e);
        join(e, piece, &c);
    }
    for (int32_t i = 0; i >= 0; i = e->symbol[i].after) {
        const struct symbol *s = &e->symbol[i];
        if (s->id != SQ_TOKEN_NONE)
            e->id[e->n++] = s->id;
        for (int32_t b = 0; s->id == SQ_TOKEN_NONE && b < s->n; b++)
            e->id[e->n++] = e->t->of_byte[(unsigned char)piece[s->at + b]];
    }
    return SQ_OK;
}

// ---- the text -------------------------------------------------------------------------------

// SentencePiece: every space as U+2581, one more in front where the tokenizer says so.
static enum sq_status encode_spaced(struct encoder *e, const char *text, size_t n,
                                    struct sq_error *err)
{
    static const char space[] = "\xe2\x96\x81";
    SQ_FREED char *piece = malloc(3 * n + 3);
    size_t length = 0;
    SQ_NEED(piece, err, "a text of %zu bytes", n);
    for (size_t i = e->t->is_space_first ? 0 : 1; i <= n; i++)
        if (i == 0 || text[i - 1] == ' ') {
            memcpy(piece + length, space, 3);
            length += 3;
        } else {
            piece[length++] = text[i - 1];
        }
    return encode_piece(e, piece, length, err);
}

static enum sq_status encode_plain(struct encoder *e, const char *text, size_t n,
                                   struct sq_error *err)
{
    return sq_pretokenizer_cut(&e->t->pretokenizer, text, n, &e->time, encode_piece, e, err);
}

static enum sq_status encode_from(struct encoder *e, unsigned pass, const char *text, size_t n,
                                  struct sq_error *err);

static enum sq_status encode_normalized(struct encoder *e, const char *text, size_t n,
                                        struct sq_error *err)
{
    SQ_FREED utf8proc_uint8_t *nfc = NULL;
    const utf8proc_ssize_t length =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &nfc,
                     UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    SQ_FAIL_IF(length < 0, err, SQ_ERR_MEMORY, "NFC of a text of %zu bytes: %s", n,
               utf8proc_errmsg(length));
    return encode_from(e, 1, (const char *)nfc, (size_t)length, err);
}

// The first of added[from..to) whose byte number `at` is not less than `byte`.
static size_t lower_bound(const struct sq_token *added, size_t from, size_t to, size_t at,
                          unsigned byte)
{
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if ((unsigned char)added[middle].at[at] < byte)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

// An added token at a place of the text.
struct match {
    size_t at;
    const struct sq_token *token;
};

struct matches {
    struct match *match;
    size_t n;
    size_t at; // place of the text that is being compared
    bool is_out_of_memory;
};

// `all` may be NULL.
static void note_match(struct matches *all, const struct sq_token *token)
{
    if (all && sq_grow(&all->match, all->n, sizeof *all->match))
        all->match[all->n++] = (struct match){all->at, token};
    else if (all)
        all->is_out_of_memory = true;
}

// The longest added token of this pass that begins the text, or NULL; every one that does goes to
// `all`. Byte by byte, [from, to) becomes the range of tokens that begin as the text does.
static const struct sq_token *added_at(struct encoder *e, unsigned pass, const char *text, size_t n,
                                       struct matches *all)
{
    const struct sq_token *added = e->t->added[pass], *longest = NULL;
    const unsigned first = (unsigned char)text[0];
    size_t from = e->t->first[pass][first], to = e->t->first[pass][first + 1];
    for (size_t at = 1; from < to; at++) {
        if (added[from].n == at) {
            longest = &added[from++]; // the others are longer
            note_match(all, longest);
        }
        if (to - from == 1) {
            const struct sq_token *last = &added[from];
            e->n_looks += 1 + last->n / 64;
            if (last->n > n || memcmp(last->at, text, last->n) != 0)
                return longest;
            note_match(all, last);
            return last;
        }
        if (at == n)
            break;
        const unsigned byte = (unsigned char)text[at];
        from = lower_bound(added, from, to, at, byte);
        to = lower_bound(added, from, to, at, byte + 1);
        e->n_looks++;
    }
    return longest;
}

static enum sq_status check_looks(const struct encoder *e, struct sq_error *err)
{
    return e->n_looks <= e->most_looks
               ? SQ_OK
               : SQ_FAIL(err, SQ_ERR_RANGE,
                         "the added tokens of the tokenizer are too many and too alike for the "
                         "text: more than %d comparisons a byte",
                         LOOKS_A_BYTE);
}

static enum sq_status put_id(struct encoder *e, int32_t id, struct sq_error *err)
{
    SQ_TRY(reserve(e, 1, err));
    e->id[e->n++] = id;
    return SQ_OK;
}

// Pass 0: added tokens of the text as it is, then NFC; pass 1: those of the normalized text.
static enum sq_status encode_from(struct encoder *e, unsigned pass, const char *text, size_t n,
                                  struct sq_error *err)
{
    size_t done = 0;
    for (size_t at = 0; at <= n; at++) {
        const struct sq_token *a = at < n ? added_at(e, pass, text + at, n - at, NULL) : NULL;
        SQ_TRY(check_looks(e, err));
        if (!a && at < n)
            continue;
        if (pass == 0 && e->t->is_nfc && at > done)
            SQ_TRY(encode_normalized(e, text + done, at - done, err));
        else if (at > done)
            SQ_TRY(pass == 0 ? encode_from(e, 1, text + done, at - done, err)
                             : encode_plain(e, text + done, at - done, err));
        if (!a)
            break;
        SQ_TRY(put_id(e, a->id, err));
        done = at + a->n;
        at = done - 1;
    }
    return SQ_OK;
}

static int by_length(const void *a, const void *b)
{
    const struct match *s = a, *t = b;
    if (s->token->n != t->token->n)
        return s->token->n > t->token->n ? -1 : 1;
    if (s->token->id != t->token->id)
        return s->token->id < t->token->id ? -1 : 1;
    return (s->at > t->at) - (s->at < t->at);
}

static int by_place(const void *a, const void *b)
{
    const struct match *s = a, *t = b;
    return (s->at > t->at) - (s->at < t->at);
}

// Keeps what llama.cpp finds: the longest added token of the whole text, then the longest of what is
// left, and so on. Sorts them by place.
static enum sq_status choose(struct matches *all, size_t n, struct sq_error *err)
{
    size_t kept = 0;
    SQ_FREED bool *is_taken = calloc(n + 1, sizeof *is_taken);
    SQ_NEED(is_taken, err, "a text of %zu bytes", n);
    if (all->n > 0)
        qsort(all->match, all->n, sizeof *all->match, by_length);
    for (size_t i = 0; i < all->n; i++) {
        const struct match m = all->match[i];
        // Tokens taken before are no shorter: one that overlaps m covers its first or its last byte.
        if (is_taken[m.at] || is_taken[m.at + m.token->n - 1])
            continue;
        memset(is_taken + m.at, true, m.token->n);
        all->match[kept++] = m;
    }
    all->n = kept;
    if (kept > 0)
        qsort(all->match, kept, sizeof *all->match, by_place);
    return SQ_OK;
}

static enum sq_status encode_between(struct encoder *e, const struct matches *all, const char *text,
                                     size_t n, struct sq_error *err)
{
    size_t done = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct match *m = &all->match[i];
        if (m->at > done)
            SQ_TRY(encode_spaced(e, text + done, m->at - done, err));
        SQ_TRY(put_id(e, m->token->id, err));
        done = m->at + m->token->n;
    }
    return done < n ? encode_spaced(e, text + done, n - done, err) : SQ_OK;
}

// SentencePiece: first finds the added tokens in the whole text, then encodes what lies between them.
static enum sq_status encode_longest_first(struct encoder *e, const char *text, size_t n,
                                           struct sq_error *err)
{
    struct matches all = {0};
    enum sq_status status = SQ_OK;
    for (; status == SQ_OK && all.at < n; all.at++) {
        added_at(e, 0, text + all.at, n - all.at, &all);
        status = all.is_out_of_memory ? SQ_NO_MEMORY(err, "a text of %zu bytes", n)
                                      : check_looks(e, err);
    }
    SQ_THEN(status, choose(&all, n, err));
    SQ_THEN(status, encode_between(e, &all, text, n, err));
    free(all.match);
    return status;
}

static enum sq_status check_utf8(const char *text, size_t nbytes, struct sq_error *err)
{
    for (size_t at = 0; at < nbytes;) {
        utf8proc_int32_t c;
        const size_t rest = nbytes - at < 4 ? nbytes - at : 4;
        const utf8proc_ssize_t n =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)rest, &c);
        SQ_FAIL_IF(n <= 0, err, SQ_ERR_DAMAGED, "the text is no UTF-8 at byte %zu", at);
        at += (size_t)n;
    }
    return SQ_OK;
}

enum sq_status sq_tokenizer_encode(const struct sq_tokenizer *t, const char *text, size_t nbytes,
                                   int32_t **id, size_t *n, struct sq_error *err)
{
    struct encoder e = {
        .t = t, .time = sq_cut_time_of(nbytes), .most_looks = LOOKS_A_BYTE * (nbytes + 1024)};
    SQ_TRY(check_utf8(text, nbytes, err));
    enum sq_status status = reserve(&e, 1, err);
    SQ_THEN(status, t->rank ? encode_longest_first(&e, text, nbytes, err)
                            : encode_from(&e, 0, text, nbytes, err));
    SQ_FREE(e.symbol, e.heap);
    SQ_TRY(SQ_ELSE(status, free(e.id)));
    *id = e.id;
    *n = e.n;
    return SQ_OK;
}
