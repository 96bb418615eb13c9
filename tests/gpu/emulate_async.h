// SPDX-License-Identifier: Apache-2.0
// Work that the GPU does on the side, for the emulator: cp.async copies, and warpgroup products.
// When each is done lies anywhere between its issue and the wait for it, so SQ_SEED draws: now, or
// as late as it may be. What is read or written in between, or without the wait, comes out wrong.
//
// Accumulators of a product belong to the tensor core from its issue to the wait that covers it:
// until then the thread's own registers hold a poison. Registers of the operand A and of metadata
// are read as late as the product is done.
#pragma once

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "tests/gpu/emulate.h"

inline uint32_t ptx_shared_address(const void *p)
{
    const ptrdiff_t offset = static_cast<const uint8_t *>(p) - emulate_dynamic_shared();
    return static_cast<uint32_t>(offset);
}

// ---- copies of a thread -------------------------------------------------------------------------

struct EmulateCopy {
    void *shared;
    const void *global;
    uint32_t nbytes; // 16, or 0: zeros
};
inline void emulate_copy_now(const EmulateCopy &c)
{
    memset(c.shared, 0, 16);
    if (c.nbytes)
        memcpy(c.shared, c.global, c.nbytes);
}
// Groups of copies of each thread; the last one is open.
struct EmulateQueue {
    std::deque<std::deque<EmulateCopy>> groups{1};
};
inline EmulateQueue &emulate_queue()
{
    static EmulateQueue queue[2048];
    return queue[emulate_fiber()];
}
inline void emulate_copy_later(const EmulateCopy &c)
{
    if (emulate_draw(3) == 0)
        emulate_copy_now(c);
    else
        emulate_queue().groups.back().push_back(c);
}
inline void cp_async_commit()
{
    emulate_queue().groups.emplace_back();
}
template <int kPending> inline void cp_async_wait()
{
    auto &groups = emulate_queue().groups;
    while (groups.size() > kPending + 1) { // the last, open group is not committed
        for (const EmulateCopy &c : groups.front())
            emulate_copy_now(c);
        groups.pop_front();
    }
}

// ---- products of a warpgroup --------------------------------------------------------------------

// The accumulators of all threads, as 32-bit words, while they are the tensor core's, and the group
// that used them last.
struct EmulateSums {
    std::vector<uint32_t> sum[128];
    void *registers[128];
    int k_len = 0;
    uint64_t last_group = 0;
};
struct EmulateGroup {
    std::vector<std::function<void()>> products;
    void finish()
    {
        for (const auto &p : products)
            p();
        products.clear();
    }
};
struct EmulateWarpgroup {
    std::deque<EmulateGroup> groups{1}; // the last one is open
    uint64_t n_retired = 0;
    std::map<void *, EmulateSums> sums; // by the registers of thread 0
    bool is_fenced = false;
};
inline EmulateWarpgroup &emulate_warpgroup()
{
    static std::map<std::pair<unsigned, unsigned>, EmulateWarpgroup> all;
    return all[{emulate_rank(), emulate_thread() / 128}];
}

// One thread's part of a product: D[64][256] (+)= A B^T, operands by descriptors. A and the
// metadata may be in registers instead, which are read when the product is done: they are its own
// until the wait for it.
struct EmulateWgmma {
    void *d;
    uint64_t a, b;
    const uint32_t *a_regs, *e;
    int is_sum;
};
struct EmulateProduct {
    EmulateWgmma part[128];
    std::vector<uint32_t> *sum[128];
};
using emulate_product = void (*)(const EmulateProduct &p);

constexpr uint32_t kEmulatePoison = 0x7fc0a5a5; // NaN, and no sum of a test

inline void emulate_take_registers(EmulateSums *s, void *const *args)
{
    for (unsigned t = 0; t < 128; t++) {
        s->registers[t] = static_cast<EmulateWgmma *>(args[t])->d;
        s->sum[t].resize(128);
        memcpy(s->sum[t].data(), s->registers[t], 128 * sizeof(uint32_t));
        for (size_t i = 0; i < 128; i++)
            memcpy(static_cast<uint32_t *>(s->registers[t]) + i, &kEmulatePoison, 4);
    }
}
// Products of one shape may follow one another on the same accumulators; of another shape only
// after a wait.
inline void emulate_issue_wgmma(void *const *args, int k_len, emulate_product product)
{
    EmulateWarpgroup &g = emulate_warpgroup();
    const EmulateWgmma w = *static_cast<EmulateWgmma *>(args[0]);
    if (!g.is_fenced)
        emulate_die("wgmma on registers without wgmma.fence");
    if (g.sums.find(w.d) == g.sums.end())
        emulate_take_registers(&g.sums[w.d], args);
    EmulateSums *const s = &g.sums[w.d];
    if (s->k_len != 0 && s->k_len != k_len)
        emulate_die("wgmma of another shape on accumulators that are in use");
    s->k_len = k_len;
    s->last_group = g.n_retired + g.groups.size() - 1;
    EmulateProduct p;
    for (unsigned t = 0; t < 128; t++) {
        p.part[t] = *static_cast<EmulateWgmma *>(args[t]);
        p.sum[t] = &s->sum[t];
        if (p.part[t].a != w.a || p.part[t].b != w.b || p.part[t].is_sum != w.is_sum)
            emulate_die("threads of a warpgroup differ in a descriptor");
    }
    emulate_in_flight(1);
    g.groups.back().products.push_back([=] {
        product(p);
        emulate_in_flight(-1);
    });
}
inline void wgmma_fence()
{
    emulate_collective(128, nullptr,
                       [](void *const *, unsigned) { emulate_warpgroup().is_fenced = true; });
}
inline void wgmma_commit()
{
    emulate_collective(128, nullptr, [](void *const *, unsigned) {
        EmulateWarpgroup &g = emulate_warpgroup();
        if (emulate_draw(3) == 0) // products of a warpgroup are done in order
            for (EmulateGroup &group : g.groups)
                group.finish();
        g.groups.emplace_back();
    });
}
inline void emulate_return_registers(EmulateWarpgroup *g)
{
    for (auto s = g->sums.begin(); s != g->sums.end();) {
        const bool is_free = s->second.last_group < g->n_retired;
        for (unsigned t = 0; is_free && t < 128; t++)
            memcpy(s->second.registers[t], s->second.sum[t].data(), 128 * sizeof(uint32_t));
        s = is_free ? g->sums.erase(s) : std::next(s);
    }
}
template <int kPending> inline void wgmma_wait()
{
    emulate_collective(128, nullptr, [](void *const *, unsigned) {
        EmulateWarpgroup &g = emulate_warpgroup();
        for (; g.groups.size() > kPending + 1; g.groups.pop_front(), g.n_retired++)
            g.groups.front().finish();
        emulate_return_registers(&g);
        g.is_fenced = g.groups.size() > 1;
    });
}
