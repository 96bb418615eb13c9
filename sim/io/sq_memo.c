// SPDX-License-Identifier: Apache-2.0
// Finds keys by hash, and chains their entries (sq_memo.h).
#include "sim/io/sq_memo.h"

#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_digest.h"

// The heads that precede the bytes of a key and of an entry.
struct key {
    uint32_t hash, nbytes, first, unused;
};
struct entry {
    uint32_t next, unused;
};

static struct key *key_at(const struct sq_memo *m, uint32_t place)
{
    return (void *)&m->word[place];
}

// Place of n bytes at the end; 0: no memory.
static uint32_t take(struct sq_memo *m, size_t n)
{
    const size_t at = m->n ? m->n : 1, end = at + (n + 7) / 8;
    if (end > m->room) {
        const size_t room = end < 512 ? 1024 : 2 * end;
        uint64_t *const word = room <= UINT32_MAX ? realloc(m->word, room * sizeof *word) : NULL;
        if (!word)
            return 0;
        m->word = word;
        m->room = (uint32_t)room;
    }
    m->n = (uint32_t)end;
    return (uint32_t)at;
}

static uint32_t slot_of(const struct sq_memo *m, uint32_t hash, const void *bytes, size_t n)
{
    uint32_t i = hash & (m->n_slots - 1);
    for (; m->slot[i]; i = (i + 1) & (m->n_slots - 1)) {
        const struct key *const k = key_at(m, m->slot[i]);
        if (k->hash == hash && k->nbytes == n && memcmp(k + 1, bytes, n) == 0)
            break;
    }
    return i;
}

static bool grow(struct sq_memo *m)
{
    const uint32_t n = m->n_slots ? 2 * m->n_slots : 256;
    uint32_t *const slot = calloc(n, sizeof *slot);
    if (!slot)
        return false;
    for (uint32_t i = 0; i < m->n_slots; i++) {
        if (!m->slot[i])
            continue;
        uint32_t at = key_at(m, m->slot[i])->hash & (n - 1);
        while (slot[at])
            at = (at + 1) & (n - 1);
        slot[at] = m->slot[i];
    }
    free(m->slot);
    m->slot = slot;
    m->n_slots = n;
    return true;
}

static uint32_t hash_of(const void *bytes, size_t n)
{
    return (uint32_t)sq_digest_of(bytes, n).low;
}

uint32_t sq_memo_find(const struct sq_memo *m, const void *bytes, size_t n)
{
    return m->n_keys ? m->slot[slot_of(m, hash_of(bytes, n), bytes, n)] : 0;
}

uint32_t sq_memo_add_key(struct sq_memo *m, const void *bytes, size_t n)
{
    if (2 * m->n_keys >= m->n_slots && !grow(m))
        return 0;
    const uint32_t hash = hash_of(bytes, n), slot = slot_of(m, hash, bytes, n);
    if (m->slot[slot])
        return m->slot[slot];
    const uint32_t place = take(m, sizeof(struct key) + n);
    if (!place)
        return 0;
    *key_at(m, place) = (struct key){.hash = hash, .nbytes = (uint32_t)n};
    memcpy(key_at(m, place) + 1, bytes, n);
    m->slot[slot] = place;
    m->n_keys++;
    return place;
}

const void *sq_memo_key(const struct sq_memo *m, uint32_t key, size_t *n)
{
    *n = key_at(m, key)->nbytes;
    return key_at(m, key) + 1;
}

void *sq_memo_add(struct sq_memo *m, uint32_t key, size_t n)
{
    const uint32_t place = key ? take(m, sizeof(struct entry) + n) : 0;
    if (!place)
        return NULL;
    struct entry *const e = (void *)&m->word[place];
    *e = (struct entry){.next = key_at(m, key)->first};
    key_at(m, key)->first = place;
    return e + 1;
}

bool sq_memo_put(struct sq_memo *m, uint32_t key, const void *entry, size_t n)
{
    void *const new = sq_memo_add(m, key, n);
    if (new)
        memcpy(new, entry, n);
    return new;
}

const void *sq_memo_entry(const struct sq_memo *m, uint32_t entry)
{
    return entry ? (const struct entry *)(const void *)&m->word[entry] + 1 : NULL;
}

uint32_t sq_memo_first(const struct sq_memo *m, uint32_t key)
{
    return key ? key_at(m, key)->first : 0;
}

uint32_t sq_memo_next(const struct sq_memo *m, uint32_t entry)
{
    return ((const struct entry *)(const void *)&m->word[entry])->next;
}

size_t sq_memo_nbytes(const struct sq_memo *m)
{
    return m->n * sizeof *m->word;
}

void sq_memo_forget(struct sq_memo *m)
{
    m->n = m->n_keys = 0;
    if (m->slot)
        memset(m->slot, 0, m->n_slots * sizeof *m->slot);
}

void sq_memo_free(struct sq_memo *m)
{
    free(m->word);
    free(m->slot);
}
