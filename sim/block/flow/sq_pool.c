// SPDX-License-Identifier: Apache-2.0
// Finds things by hash, numbers them, and chains what is known of a key (sq_pool.h).
#include "sim/block/flow/sq_pool.h"

#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_digest.h"

void sq_pool_free(struct sq_pool *p)
{
    free(p->thing);
    free(p->hash);
    free(p->slot);
}

const void *sq_pool_at(const struct sq_pool *p, uint32_t number)
{
    return p->thing + number * p->nbytes;
}

static uint32_t hash_of(const void *thing, size_t nbytes)
{
    return (uint32_t)sq_digest_of(thing, nbytes).low;
}

static uint32_t find_slot(const struct sq_pool *p, const void *thing, uint32_t hash)
{
    uint32_t i = hash & (p->n_slots - 1);
    while (p->slot[i] != SQ_POOL_NONE && (p->hash[p->slot[i]] != hash ||
                                          memcmp(sq_pool_at(p, p->slot[i]), thing, p->nbytes) != 0))
        i = (i + 1) & (p->n_slots - 1);
    return i;
}

static bool grow(struct sq_pool *p)
{
    const uint32_t room = p->room ? 2 * p->room : 64;
    uint32_t *const slot = realloc(p->slot, 2 * room * sizeof *slot);
    if (!slot)
        return false;
    p->slot = slot;
    unsigned char *const thing = realloc(p->thing, room * p->nbytes);
    if (!thing)
        return false;
    p->thing = thing;
    uint32_t *const hash = realloc(p->hash, room * sizeof *hash);
    if (!hash)
        return false;
    p->hash = hash;
    p->room = room;
    p->n_slots = 2 * room;
    memset(slot, 0xff, p->n_slots * sizeof *slot);
    for (uint32_t i = 0; i < p->n; i++)
        slot[find_slot(p, sq_pool_at(p, i), hash[i])] = i;
    return true;
}

uint32_t sq_pool_number(struct sq_pool *p, const void *thing)
{
    if (p->n == p->room && !grow(p))
        return SQ_POOL_NONE;
    const uint32_t hash = hash_of(thing, p->nbytes), at = find_slot(p, thing, hash);
    if (p->slot[at] == SQ_POOL_NONE) {
        p->hash[p->n] = hash;
        memcpy(p->thing + p->n * p->nbytes, thing, p->nbytes);
        p->slot[at] = p->n++;
    }
    return p->slot[at];
}

void sq_pool_forget(struct sq_pool *p)
{
    p->n = 0;
    if (p->slot)
        memset(p->slot, 0xff, p->n_slots * sizeof *p->slot);
}

bool sq_pool_room_for(uint32_t n, uint32_t *room, size_t nbytes, void **things)
{
    if (n < *room)
        return true;
    const uint32_t want = *room ? 2 * *room : 64;
    void *const more = realloc(*things, want * nbytes);
    if (!more)
        return false;
    *things = more;
    *room = want;
    return true;
}

uint32_t sq_chains_find(const struct sq_chains *c, const void *key)
{
    const struct sq_pool *const p = &c->key;
    const uint32_t at =
        p->n > 0 ? p->slot[find_slot(p, key, hash_of(key, p->nbytes))] : SQ_POOL_NONE;
    return at == SQ_POOL_NONE ? SQ_POOL_NONE : c->first[at];
}

uint32_t *sq_chains_first(struct sq_chains *c, const void *key)
{
    const uint32_t n = c->key.n, number = sq_pool_number(&c->key, key);
    if (number == SQ_POOL_NONE ||
        !sq_pool_room_for(number, &c->first_room, sizeof *c->first, (void **)&c->first))
        return NULL;
    if (c->key.n > n)
        c->first[number] = SQ_POOL_NONE;
    return &c->first[number];
}

void sq_chains_free(struct sq_chains *c)
{
    sq_pool_free(&c->key);
    free(c->first);
}
