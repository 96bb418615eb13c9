// SPDX-License-Identifier: Apache-2.0
// Blocks and warps of a launch.
#include "tests/gpu/ptx.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace
{

constexpr uint8_t kFill = 0xa5;
constexpr uint32_t kNowhere = UINT32_MAX;
// A warp that waits for another one by polling must stand back; a block must end.
constexpr unsigned kTurn = 2000;
constexpr unsigned kMaxTurns = 10000;

uint32_t special_value(const PtxBlock &b, const PtxKernel::Special &s, unsigned thread)
{
    const unsigned x = b.shape[0], y = b.shape[1];
    const unsigned tid[3] = {thread % x, thread / x % y, thread / x / y};
    switch (s.what) {
    case PtxSpecial::Tid:
        return tid[s.axis];
    case PtxSpecial::Ntid:
        return b.shape[s.axis];
    case PtxSpecial::Ctaid:
        return b.index[s.axis];
    case PtxSpecial::Nctaid:
        return b.grid[s.axis];
    default:
        return thread % 32;
    }
}

void start(PtxWarp &w)
{
    const PtxKernel &k = *w.block->kernel;
    const unsigned n = w.block->n_threads() - w.first_thread;
    std::fill(w.file.begin(), w.file.end(), kFill);
    for (const PtxKernel::Constant &c : k.constants)
        for (unsigned lane = 0; lane < 32; lane++)
            w.put_any(c.at, c.nbytes, lane, c.value);
    for (const PtxKernel::Special &s : k.specials)
        for (unsigned lane = 0; lane < 32; lane++)
            w.put(s.at, lane, special_value(*w.block, s, w.first_thread + lane));
    w.pc.fill(0);
    w.live = n >= 32 ? UINT32_MAX : (UINT32_C(1) << n) - 1;
    w.is_at_barrier = false;
    w.n_groups.fill(0);
    for (auto &c : w.copies)
        c.clear();
}

uint32_t guarded(const PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    uint32_t pass = 0;
    for (unsigned lane = 0; lane < 32; lane++)
        pass |= static_cast<uint32_t>(w.get<uint8_t>(i.guard, lane) != i.is_guard_negated) << lane;
    return pass & lanes;
}

// The lanes that go first, where they are, and where the next ones wait.
struct Group {
    uint32_t at = kNowhere, lanes = 0, next = kNowhere;
};
Group choose(const PtxWarp &w)
{
    Group g;
    PTX_EACH_LANE(lane, w.live)
    {
        if (w.pc[lane] < g.at) {
            g.next = g.at;
            g.at = w.pc[lane];
            g.lanes = 0;
        }
        if (w.pc[lane] == g.at)
            g.lanes |= UINT32_C(1) << lane;
        else if (w.pc[lane] < g.next)
            g.next = w.pc[lane];
    }
    return g;
}

void move(PtxWarp &w, uint32_t lanes, uint32_t to)
{
    PTX_EACH_LANE(lane, lanes)
    {
        w.pc[lane] = to;
    }
}

// Until the warp waits, ends, or has had its turn.
void run_turn(PtxWarp &w)
{
    const std::vector<PtxInstruction> &code = w.block->kernel->code;
    Group g = choose(w);
    for (unsigned n = 0; n < kTurn; n++) {
        const PtxInstruction &i = code[g.at];
        w.now = &i;
        const uint32_t lanes = i.has_guard ? guarded(w, i, g.lanes) : g.lanes;
        uint32_t next = g.at + 1;
        bool is_parted = false;
        if (i.op.kind == PtxKind::Lanes) {
            if (lanes != 0)
                i.op.run(w, i, lanes);
        } else if (i.op.kind == PtxKind::Branch) {
            if (lanes == g.lanes) {
                next = i.target;
            } else if (lanes != 0) {
                move(w, lanes, i.target);
                move(w, g.lanes & ~lanes, next);
                is_parted = true;
            }
        } else if (i.op.kind == PtxKind::Exit) {
            move(w, g.lanes, next);
            w.live &= ~lanes;
            is_parted = true;
        } else {
            if (lanes != w.live)
                w.die("a barrier that not all lanes have reached", 0);
            move(w, g.lanes, next);
            w.is_at_barrier = true;
            return;
        }
        if (is_parted || next >= g.next || next < g.at) {
            if (!is_parted)
                move(w, g.lanes, next);
            if (w.live == 0)
                return;
            g = choose(w);
        } else {
            g.at = next;
        }
    }
    move(w, g.lanes, g.at);
}

void run_block(std::vector<PtxWarp> &warps)
{
    const unsigned n_warps = static_cast<unsigned>(warps.size());
    const char *text = getenv("SQ_SEED");
    const unsigned first = text ? static_cast<unsigned>(strtoul(text, nullptr, 0)) : 1;
    for (PtxWarp &w : warps)
        start(w);
    for (unsigned turn = 0; turn < kMaxTurns; turn++) {
        unsigned n_live = 0, n_waiting = 0;
        for (unsigned j = 0; j < n_warps; j++) {
            PtxWarp &w = warps[(first + turn * 3 + j) % n_warps];
            if (w.live != 0 && !w.is_at_barrier)
                run_turn(w);
            n_live += w.live != 0;
            n_waiting += w.live != 0 && w.is_at_barrier;
        }
        if (n_live == 0)
            return;
        if (n_waiting == n_live)
            for (PtxWarp &w : warps)
                w.is_at_barrier = false;
    }
    warps[0].die("a block that does not end", 0);
}

} // namespace

void PtxWarp::die(const char *why, unsigned lane) const
{
    fprintf(stderr, "ptx: %s: %s: block (%u,%u,%u) thread %u: %s\n", block->kernel->name.c_str(),
            why, block->index[0], block->index[1], block->index[2], first_thread + lane,
            now ? now->text.c_str() : "");
    abort();
}

uint8_t *PtxWarp::shared(uint64_t address, size_t nbytes, unsigned lane)
{
    if (address > block->shared.size() || nbytes > block->shared.size() - address)
        die("an address behind the end of shared memory", lane);
    return block->shared.data() + address;
}

void ptx_launch(const PtxKernel &kernel, const unsigned (&grid)[3], const unsigned (&shape)[3],
                size_t dynamic_nbytes, void *const *args)
{
    std::vector<uint8_t> params(kernel.param_nbytes);
    for (size_t i = 0; i < kernel.params.size(); i++)
        memcpy(&params[kernel.params[i].at], args[i], kernel.params[i].nbytes);
    PtxBlock b = {};
    b.kernel = &kernel;
    b.params = params.data();
    memcpy(b.shape, shape, sizeof b.shape);
    memcpy(b.grid, grid, sizeof b.grid);
    std::vector<PtxWarp> warps((b.n_threads() + 31) / 32);
    for (size_t i = 0; i < warps.size(); i++) {
        warps[i].block = &b;
        warps[i].first_thread = static_cast<unsigned>(32 * i);
        warps[i].file.resize(kernel.file_nbytes);
        warps[i].now = nullptr;
    }
    if (kernel.max_threads != 0 && b.n_threads() > kernel.max_threads)
        warps[0].die("more threads than the kernel takes", 0);
    const size_t nbytes_shared =
        dynamic_nbytes > 0 ? kernel.dynamic_at + dynamic_nbytes : kernel.static_nbytes;
    for (b.index[2] = 0; b.index[2] < grid[2]; b.index[2]++)
        for (b.index[1] = 0; b.index[1] < grid[1]; b.index[1]++)
            for (b.index[0] = 0; b.index[0] < grid[0]; b.index[0]++) {
                b.shared.assign(nbytes_shared, kFill);
                run_block(warps);
            }
}
