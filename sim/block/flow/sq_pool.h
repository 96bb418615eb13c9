// SPDX-License-Identifier: Apache-2.0
// Things that are kept once each and have numbers, and chains of what is known of a key. They grow as memory
// allows; a pool of zeros but for `nbytes` is an empty one.
#ifndef SQ_POOL_H
#define SQ_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SQ_POOL_NONE UINT32_MAX // no number

struct sq_pool {
    size_t nbytes; // of a thing, without padding: things are equal where their bytes are
    unsigned char *thing;
    uint32_t *hash; // of each
    uint32_t n, room;
    uint32_t *slot, n_slots; // SQ_POOL_NONE: empty; a power of two
};
// The number of that thing, 0 and up in the order in which things come; SQ_POOL_NONE: no memory.
uint32_t sq_pool_number(struct sq_pool *p, const void *thing);
// The thing of a number; until the next one comes.
const void *sq_pool_at(const struct sq_pool *p, uint32_t number);
void sq_pool_forget(struct sq_pool *p); // all things; the room stays
void sq_pool_free(struct sq_pool *p);

// Room for a thing more behind n of them, of nbytes each. False: no memory.
bool sq_pool_room_for(uint32_t n, uint32_t *room, size_t nbytes, void **things);

struct sq_chain_key {
    uint32_t state, job, load, next; // next: the load behind that, or 0
};
// Things of a key (sq_chain_key, or what else key.nbytes says), each of which knows the next one.
struct sq_chains {
    struct sq_pool key;
    uint32_t *first; // [first_room]: the number of the first thing, or SQ_POOL_NONE
    uint32_t first_room;
};
// The number of the first thing of a key; SQ_POOL_NONE: there is none.
uint32_t sq_chains_find(const struct sq_chains *c, const void *key);
// Where that number is, until the next key comes. NULL: no memory.
uint32_t *sq_chains_first(struct sq_chains *c, const void *key);
void sq_chains_free(struct sq_chains *c);

#endif
