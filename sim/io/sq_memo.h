// SPDX-License-Identifier: Apache-2.0
// A memo: what followed from a state, so that it is looked up where the state comes back. A *key* is bytes, a state or
// a state with an input, and is kept once; its place stands for it in other keys. Of each key the *entries*, what followed
// from it, are kept in a chain.
//
//   struct sq_memo m = {0};
//   const uint32_t key = sq_memo_add_key(&m, state, nbytes);
//   struct mine *const e = sq_memo_add(&m, key, sizeof *e);  // to be filled in; or sq_memo_put(&m, key, &mine, sizeof mine)
//   for (uint32_t i = sq_memo_first(&m, key); i; i = sq_memo_next(&m, i)) ... sq_memo_entry(&m, i) ...
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed: empty. It grows as memory allows.
struct sq_memo {
    uint64_t *word;           // keys and entries
    uint32_t n, room;         // words; the first is none
    uint32_t *slot;           // places of keys by hash; 0: empty
    uint32_t n_keys, n_slots; // n_slots: a power of two
};

// The place of a key of n bytes without padding, which is added where it is new; 0: no memory.
uint32_t sq_memo_add_key(struct sq_memo *m, const void *bytes, size_t n);
// The same without adding; 0: it is not there.
uint32_t sq_memo_find(const struct sq_memo *m, const void *bytes, size_t n);
// Its bytes, *n of them, until something is added.
const void *sq_memo_key(const struct sq_memo *m, uint32_t key, size_t *n);
// The bytes of a new entry of a key, until something else is added; NULL: no memory, or the key is 0.
void *sq_memo_add(struct sq_memo *m, uint32_t key, size_t n);
// Adds an entry of these bytes; false as above.
bool sq_memo_put(struct sq_memo *m, uint32_t key, const void *entry, size_t n);
// The place of the entry that was added last, of the one before an entry; 0: there is none. key 0 has none.
uint32_t sq_memo_first(const struct sq_memo *m, uint32_t key);
uint32_t sq_memo_next(const struct sq_memo *m, uint32_t entry);
// Its bytes, until something is added; NULL of 0.
const void *sq_memo_entry(const struct sq_memo *m, uint32_t entry);
// Bytes of keys and entries.
size_t sq_memo_nbytes(const struct sq_memo *m);
void sq_memo_forget(struct sq_memo *m); // all of them; the memory stays
void sq_memo_free(struct sq_memo *m);
