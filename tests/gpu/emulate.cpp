// SPDX-License-Identifier: Apache-2.0
// Runs the fibers of a block in turn; the last one at a barrier does the work for all (emulate.h).
#include "tests/gpu/emulate.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <ucontext.h>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;

static uint64_t emulate_seed()
{
    const char *text = getenv("SQ_SEED");
    return text ? strtoull(text, nullptr, 0) : 1;
}

namespace
{

constexpr size_t kStackNbytes = 256 * 1024;
constexpr size_t kGuardNbytes = 4096;
constexpr uint8_t kFill = 0xa5;

// A fiber is made once and then runs the body of one block after another. Switches are _longjmp:
// unlike swapcontext that makes no system calls.
struct Fiber {
    ucontext_t context;
    jmp_buf where;
    std::unique_ptr<char[]> stack;
    dim3 thread;
    bool is_done = false;
};

constexpr unsigned kMaxCluster = 2;

// A rendezvous point: of a group of consecutive threads, or of a numbered barrier.
struct Meeting {
    std::vector<void *> args;
    unsigned arrived = 0;
    uint64_t generation = 0;
};

struct Block {
    std::vector<uint8_t> shared;
    uint8_t *shared_base = nullptr;
    std::map<std::pair<unsigned, unsigned>, Meeting> groups; // (size, first thread / size)
    std::map<unsigned, Meeting> barriers;
    dim3 index;
    unsigned n_ended = 0; // threads
    int in_flight = 0;    // emulate_in_flight
};

// The blocks of one cluster run together; fiber i is thread i % n_threads of block i / n_threads.
struct Cluster {
    std::deque<Fiber> fibers;
    Block block[kMaxCluster];
    Meeting barrier;
    unsigned size = 1, n_threads = 0;
    size_t nbytes_shared = 0;
    const std::function<void()> *body = nullptr;
    ucontext_t first_return; // never taken: fibers do not end
    jmp_buf scheduler;
    unsigned current = 0;
    uint64_t progress = 0;                    // meetings completed and threads ended
    std::vector<unsigned> stall;              // rounds that a warp still stands still
    std::vector<std::function<void()>> later; // emulate_later
};

Cluster cluster;

Block &block()
{
    return cluster.block[cluster.current / cluster.n_threads];
}

void to_scheduler(Fiber &f)
{
    if (_setjmp(f.where) == 0)
        _longjmp(cluster.scheduler, 1);
}

void fiber_main()
{
    for (;;) {
        (*cluster.body)();
        Fiber &f = cluster.fibers[cluster.current];
        f.is_done = true;
        block().n_ended++;
        cluster.progress++;
        to_scheduler(f);
    }
}

void to_fiber(Fiber &f)
{
    if (_setjmp(cluster.scheduler) != 0)
        return;
    if (f.stack)
        _longjmp(f.where, 1);
    f.stack.reset(new char[kStackNbytes]);
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get();
    f.context.uc_stack.ss_size = kStackNbytes;
    f.context.uc_link = nullptr;
    makecontext(&f.context, fiber_main, 0);
    swapcontext(&cluster.first_return, &f.context);
}

void start_fiber(Fiber &f, unsigned index, dim3 shape)
{
    f.thread = dim3(index % shape.x, index / shape.x % shape.y, index / shape.x / shape.y);
    f.is_done = false;
}

// Odd multiples of the thread number modulo a power of two visit every thread, out of lane order.
unsigned visiting_order(unsigned i, unsigned n, unsigned seed)
{
    const unsigned stride = 2 * (seed % 64) + 1;
    unsigned at = i;
    if ((n & (n - 1)) == 0)
        at = (i * stride + seed) & (n - 1);
    return at;
}

[[noreturn]] void die(const char *why)
{
    emulate_die(why);
}

unsigned warp_of(unsigned fiber)
{
    return fiber / cluster.n_threads * ((cluster.n_threads + 31) / 32) +
           fiber % cluster.n_threads / 32;
}

// Warps do not run in step: now and then one stands still for some rounds, or a whole block does.
void draw_stalls()
{
    const unsigned n_warps = static_cast<unsigned>(cluster.stall.size());
    const unsigned of_block = n_warps / cluster.size;
    for (unsigned &s : cluster.stall)
        s = s > 0 ? s - 1 : emulate_draw(64) == 0 ? emulate_draw(60) : 0;
    if (emulate_draw(256) == 0 && of_block > 0) {
        const unsigned rounds = emulate_draw(400), first = emulate_draw(cluster.size) * of_block;
        for (unsigned w = first; w < first + of_block; w++)
            cluster.stall[w] = rounds;
    }
}

bool is_any_stalled()
{
    for (unsigned s : cluster.stall)
        if (s > 0)
            return true;
    return false;
}

// One of the things that may happen by now, in any order; all of it counts as progress.
void do_later()
{
    if (cluster.later.empty())
        return;
    const size_t i = emulate_draw(static_cast<unsigned>(cluster.later.size()));
    const std::function<void()> action = cluster.later[i];
    cluster.later.erase(cluster.later.begin() + static_cast<ptrdiff_t>(i));
    action();
    cluster.progress++;
}

void check_end()
{
    if (!cluster.later.empty())
        die("a copy is under way when the cluster ends");
    for (unsigned c = 0; c < cluster.size; c++)
        if (cluster.block[c].in_flight != 0)
            die("a product is under way when the block ends");
}

void run_cluster(dim3 shape, unsigned seed)
{
    const unsigned n = cluster.n_threads * cluster.size;
    cluster.stall.assign((cluster.n_threads + 31) / 32 * cluster.size, 0);
    if (cluster.fibers.size() < n) // fibers stay where they are: they hold references to themselves
        cluster.fibers.resize(n);
    for (unsigned i = 0; i < n; i++)
        start_fiber(cluster.fibers[i], i % cluster.n_threads, shape);
    unsigned n_done = 0, idle_rounds = 0;
    while (n_done < n) {
        const uint64_t before = cluster.progress;
        n_done = 0;
        draw_stalls();
        for (unsigned i = 0; i < n; i++) {
            cluster.current = visiting_order(i, n, seed);
            Fiber &f = cluster.fibers[cluster.current];
            if (!f.is_done && cluster.stall[warp_of(cluster.current)] == 0) {
                threadIdx = f.thread;
                blockIdx = block().index;
                to_fiber(f);
            }
            n_done += f.is_done;
        }
        if (emulate_draw(16) == 0 || (cluster.progress == before && !is_any_stalled()))
            do_later();
        idle_rounds = cluster.progress == before ? idle_rounds + 1 : 0;
        if (idle_rounds > 5000) // far more than warps stand still
            die("deadlock, every thread waits");
    }
    check_end();
}

void check_guard()
{
    for (unsigned c = 0; c < cluster.size; c++)
        for (size_t i = 0; i < kGuardNbytes; i++)
            if (cluster.block[c].shared_base[cluster.nbytes_shared + i] != kFill)
                die("write behind the end of dynamic shared memory");
}

void complete(Meeting &m)
{
    m.arrived = 0;
    m.generation++;
    cluster.progress++;
}

void wait_for(const Meeting &m, uint64_t generation)
{
    while (m.generation == generation)
        emulate_yield();
}

} // namespace

uint8_t *emulate_dynamic_shared()
{
    return block().shared_base;
}

uint8_t *emulate_shared_of(unsigned rank)
{
    if (cluster.block[rank].n_ended == cluster.n_threads)
        die("a block that has ended is written to");
    return cluster.block[rank].shared_base;
}

void emulate_die(const char *why)
{
    fprintf(stderr, "emulate: %s: block (%u,%u,%u) thread %u\n", why, blockIdx.x, blockIdx.y,
            blockIdx.z, cluster.current);
    abort();
}

unsigned emulate_draw(unsigned n)
{
    static uint64_t state = emulate_seed() * UINT64_C(0x9e3779b97f4a7c15) + 12345;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return static_cast<unsigned>((state >> 33) % n);
}

void emulate_later(std::function<void()> action)
{
    cluster.later.push_back(std::move(action));
}

void emulate_in_flight(int change)
{
    block().in_flight += change;
}

unsigned emulate_thread()
{
    return cluster.current % cluster.n_threads;
}

unsigned emulate_fiber()
{
    return cluster.current;
}

unsigned emulate_rank()
{
    return cluster.current / cluster.n_threads;
}

void emulate_progress()
{
    cluster.progress++;
}

void emulate_yield()
{
    Fiber &f = cluster.fibers[cluster.current];
    to_scheduler(f);
    threadIdx = f.thread;
    blockIdx = block().index;
}

void emulate_collective(unsigned size, void *arg, emulate_op op)
{
    const unsigned me = emulate_thread();
    Meeting &m = block().groups[{size, me / size}];
    m.args.resize(size);
    m.args[me % size] = arg;
    const uint64_t generation = m.generation;
    if (++m.arrived == size) {
        op(m.args.data(), size);
        complete(m);
    } else {
        wait_for(m, generation);
    }
}

static void meet(Meeting &m, unsigned n_threads)
{
    const uint64_t generation = m.generation;
    if (++m.arrived == n_threads)
        complete(m);
    else
        wait_for(m, generation);
}

void emulate_barrier(unsigned id, unsigned n_threads)
{
    meet(block().barriers[id], n_threads);
}

void emulate_cluster_barrier()
{
    meet(cluster.barrier, cluster.n_threads * cluster.size);
}

static void start_block(Block &b, dim3 index)
{
    b.shared.assign(cluster.nbytes_shared + kGuardNbytes + 1024, kFill);
    const uintptr_t start = reinterpret_cast<uintptr_t>(b.shared.data());
    b.shared_base = b.shared.data() + (1024 - start % 1024) % 1024;
    b.groups.clear();
    b.barriers.clear();
    b.index = index;
    b.n_ended = 0;
    b.in_flight = 0;
}

void emulate_launch(dim3 grid, dim3 shape, size_t nbytes_shared, const std::function<void()> &body,
                    unsigned cluster_size)
{
    const unsigned seed = static_cast<unsigned>(emulate_seed());
    gridDim = grid;
    blockDim = shape;
    cluster.body = &body;
    cluster.size = cluster_size;
    cluster.n_threads = shape.x * shape.y * shape.z;
    cluster.nbytes_shared = nbytes_shared;
    if (grid.x % cluster_size != 0 || cluster_size > kMaxCluster)
        die("grid is no multiple of the cluster");
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x += cluster_size) {
                for (unsigned c = 0; c < cluster_size; c++)
                    start_block(cluster.block[c], dim3(x + c, y, z));
                cluster.barrier = Meeting();
                run_cluster(shape, seed);
                check_guard();
            }
}
