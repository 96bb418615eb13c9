// SPDX-License-Identifier: Apache-2.0
// PTX instructions that touch memory, need several lanes at once, or move the program counter.
#include "tests/gpu/emulate_ptx.h"
#include "tests/gpu/ptx.h"

#include <initializer_list>
#include <map>
#include <set>

namespace
{

using Table = std::map<std::string, PtxOpcode>;

// ---- memory -------------------------------------------------------------------------------------

uint8_t *address(PtxWarp &w, const PtxInstruction &i, unsigned operand, unsigned nbytes,
                 unsigned lane)
{
    const uint64_t at = w.get_any(i.at[operand], i.nbytes[operand], lane) +
                        static_cast<uint64_t>(i.displacement[operand]);
    if (at % nbytes != 0)
        w.die("a misaligned address", lane);
    if (i.op.space == PtxSpace::Global)
        return reinterpret_cast<uint8_t *>(at);
    if (i.op.space == PtxSpace::Shared)
        return w.shared(static_cast<uint32_t>(at), nbytes, lane);
    if (at + nbytes > w.block->kernel->param_nbytes)
        w.die("an address behind the parameters", lane);
    return const_cast<uint8_t *>(w.block->params) + at;
}

template <class T> void load(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    const unsigned count = i.op.count;
    PTX_EACH_LANE(lane, lanes)
    {
        const uint8_t *from = address(w, i, count, sizeof(T) * count, lane);
        for (unsigned j = 0; j < count; j++) {
            const T v = ptx_lane<T>(from, j);
            w.put_any(i.at[j], i.nbytes[j], lane, static_cast<uint64_t>(static_cast<int64_t>(v)));
        }
    }
}

template <class T> void store(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    const unsigned count = i.op.count;
    PTX_EACH_LANE(lane, lanes)
    {
        uint8_t *to = address(w, i, 0, sizeof(T) * count, lane);
        for (unsigned j = 0; j < count; j++) {
            const T v = static_cast<T>(w.get_any(i.at[1 + j], i.nbytes[1 + j], lane));
            memcpy(to + j * sizeof v, &v, sizeof v);
        }
    }
}

// By type: signed ones are widened by their sign; a store's do not matter.
PtxRun load_of(char kind, unsigned nbytes)
{
    static const std::map<std::pair<bool, unsigned>, PtxRun> all = {
        {{false, 1}, load<uint8_t>},  {{false, 2}, load<uint16_t>}, {{false, 4}, load<uint32_t>},
        {{false, 8}, load<uint64_t>}, {{true, 1}, load<int8_t>},    {{true, 2}, load<int16_t>},
        {{true, 4}, load<int32_t>},   {{true, 8}, load<int64_t>}};
    return all.at({kind == 's', nbytes});
}
PtxRun store_of(unsigned nbytes)
{
    return nbytes == 8   ? store<uint64_t>
           : nbytes == 4 ? store<uint32_t>
           : nbytes == 2 ? store<uint16_t>
                         : store<uint8_t>;
}

// ld.global.nc.L1::no_allocate.v4.u32 and its like, as far as hints and orders change nothing here.
bool find_access(const std::string &name, PtxOpcode *op)
{
    static const std::set<std::string> hints = {"nc", "L1::no_allocate", "relaxed", "gpu"};
    static const std::map<std::string, PtxSpace> spaces = {
        {"global", PtxSpace::Global}, {"shared", PtxSpace::Shared}, {"param", PtxSpace::Param}};
    static const std::map<std::string, unsigned> sizes = {
        {"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
    const bool is_load = name.rfind("ld.", 0) == 0;
    if (!is_load && name.rfind("st.", 0) != 0)
        return false;
    op->count = 1;
    unsigned nbytes = 0;
    char kind = 0;
    for (size_t at = 3; at < name.size();) {
        const size_t end = std::min(name.find('.', at), name.size());
        const std::string part = name.substr(at, end - at);
        at = end + 1;
        if (spaces.count(part)) {
            op->space = spaces.at(part);
        } else if (part == "v2" || part == "v4") {
            op->count = part == "v2" ? 2 : 4;
        } else if (sizes.count(part.substr(1)) && strchr("busf", part[0])) {
            kind = part[0];
            nbytes = sizes.at(part.substr(1));
        } else if (!hints.count(part)) {
            return false;
        }
    }
    if (op->space == PtxSpace::None || nbytes == 0)
        return false;
    op->n_operands = static_cast<uint8_t>(op->count + 1);
    op->run = is_load ? load_of(kind, nbytes) : store_of(nbytes);
    if (!is_load) // a constant is as wide as the element
        for (unsigned j = 1; j <= op->count; j++)
            op->nbytes[j] = nbytes >= 4 ? static_cast<uint8_t>(nbytes) : 0;
    return true;
}

template <class T, bool is_max> void atomic(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    PTX_EACH_LANE(lane, lanes)
    {
        uint8_t *to = address(w, i, 1, sizeof(T), lane);
        const T v = w.get<T>(i.at[2], lane);
        T old;
        memcpy(&old, to, sizeof old);
        const T sum = is_max ? (old < v ? v : old) : static_cast<T>(old + v);
        memcpy(to, &sum, sizeof sum);
        w.put<T>(i.at[0], lane, old);
    }
}
template <class T, bool is_max> PtxOpcode atomic_opcode()
{
    PtxOpcode o;
    o.run = atomic<T, is_max>;
    o.n_operands = 3;
    o.nbytes = {sizeof(T), 8, sizeof(T)};
    o.space = PtxSpace::Global;
    return o;
}

// ---- asynchronous copies: done when they must have been -----------------------------------------

void cp_async(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    PTX_EACH_LANE(lane, lanes)
    {
        const uint32_t to =
            w.get<uint32_t>(i.at[0], lane) + static_cast<uint32_t>(i.displacement[0]);
        const uint64_t from =
            w.get<uint64_t>(i.at[1], lane) + static_cast<uint64_t>(i.displacement[1]);
        const uint32_t nbytes = w.get<uint32_t>(i.at[3], lane);
        if (w.get<uint32_t>(i.at[2], lane) != 16 || nbytes > 16)
            w.die("cp.async.cg copies 16 bytes", lane);
        if (to % 16 != 0 || from % 16 != 0)
            w.die("a misaligned address", lane);
        w.shared(to, 16, lane);
        w.copies[lane].push_back(
            {to, nbytes, reinterpret_cast<const void *>(from), w.n_groups[lane]});
    }
}
void cp_async_commit(PtxWarp &w, const PtxInstruction &, uint32_t lanes)
{
    PTX_EACH_LANE(lane, lanes)
    {
        w.n_groups[lane]++;
    }
}
void cp_async_wait(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    PTX_EACH_LANE(lane, lanes)
    {
        std::vector<PtxCopy> &copies = w.copies[lane];
        size_t n = 0;
        while (n < copies.size() &&
               copies[n].group + w.get<uint32_t>(i.at[0], lane) < w.n_groups[lane]) {
            uint8_t *to = w.shared(copies[n].to, 16, lane);
            memset(to, 0, 16);
            if (copies[n].nbytes > 0)
                memcpy(to, copies[n].from, copies[n].nbytes);
            n++;
        }
        copies.erase(copies.begin(), copies.begin() + static_cast<ptrdiff_t>(n));
    }
}

// ---- warp-wide ----------------------------------------------------------------------------------

// All that the member mask names and that live must be here.
void need_members(const PtxWarp &w, uint32_t members, uint32_t lanes)
{
    if (lanes != (members & w.live))
        w.die("a warp-wide instruction that not all its lanes have reached", 0);
}
void need_all(const PtxWarp &w, uint32_t lanes)
{
    need_members(w, UINT32_MAX, lanes);
    if (lanes != UINT32_MAX)
        w.die("a matrix instruction in a warp of fewer than 32 lanes", 0);
}
unsigned first_of(uint32_t lanes)
{
    return static_cast<unsigned>(__builtin_ctz(lanes));
}

// d|p, a, b, c, members: PTX ISA, the pseudocode of shfl.sync.
template <bool is_xor> void shuffle(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    need_members(w, w.get<uint32_t>(i.at[5], first_of(lanes)), lanes);
    uint32_t value[32], result[32];
    bool is_inside[32];
    for (unsigned lane = 0; lane < 32; lane++)
        value[lane] = w.get<uint32_t>(i.at[2], lane);
    PTX_EACH_LANE(lane, lanes)
    {
        const uint32_t b = w.get<uint32_t>(i.at[3], lane) & 31, c = w.get<uint32_t>(i.at[4], lane);
        const uint32_t segment = c >> 8 & 31, clamp = c & 31;
        const uint32_t last = (lane & segment) | (clamp & ~segment);
        const uint32_t from = is_xor ? lane ^ b : (lane & segment) | (b & ~segment);
        is_inside[lane] = from <= last;
        if (is_inside[lane] && !(lanes >> from & 1))
            w.die("a shuffle from a lane that does not take part", lane);
        result[lane] = value[is_inside[lane] ? from : lane];
    }
    PTX_EACH_LANE(lane, lanes)
    {
        w.put(i.at[0], lane, result[lane]);
        w.put<uint8_t>(i.at[1], lane, is_inside[lane]);
    }
}
void ballot(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    need_members(w, w.get<uint32_t>(i.at[2], first_of(lanes)), lanes);
    uint32_t all = 0;
    PTX_EACH_LANE(lane, lanes)
    {
        all |= static_cast<uint32_t>(w.get<uint8_t>(i.at[1], lane)) << lane;
    }
    PTX_EACH_LANE(lane, lanes)
    {
        w.put(i.at[0], lane, all);
    }
}
void reduce_add(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    need_members(w, w.get<uint32_t>(i.at[2], first_of(lanes)), lanes);
    uint32_t sum = 0;
    PTX_EACH_LANE(lane, lanes)
    {
        sum += w.get<uint32_t>(i.at[1], lane);
    }
    PTX_EACH_LANE(lane, lanes)
    {
        w.put(i.at[0], lane, sum);
    }
}

// Lane 8j + r gives the address of row r of matrix j; lane T receives bytes 4(T % 4).. of row T / 4
// or, transposed, cells T / 4 of rows 2(T % 4) and 2(T % 4) + 1.
template <bool is_transposed> void ldmatrix(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    need_all(w, lanes);
    const uint8_t *row[32];
    for (unsigned lane = 0; lane < 32; lane++)
        row[lane] = address(w, i, 4, 16, lane);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned j = 0; j < 4; j++) {
            uint16_t cell[2];
            for (unsigned half = 0; half < 2; half++) {
                const unsigned t = 2 * (lane % 4) + half, q = lane / 4;
                memcpy(&cell[half],
                       row[8 * j + (is_transposed ? t : q)] + 2 * (is_transposed ? q : t), 2);
            }
            w.put(i.at[j], lane, static_cast<uint32_t>(cell[0] | cell[1] << 16));
        }
}

// d4, a4, b (2 or 4), c4, and of sparse products metadata and selector.
template <int bits, bool is_sparse> void mma(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    constexpr unsigned n_b = is_sparse ? 4 : 2;
    need_all(w, lanes);
    int32_t d[32][4];
    uint32_t a[32][4], b[32][4];
    EmulateMma m[32];
    void *args[32];
    for (unsigned lane = 0; lane < 32; lane++) {
        for (unsigned j = 0; j < 4; j++) {
            a[lane][j] = w.get<uint32_t>(i.at[4 + j], lane);
            d[lane][j] = w.get<int32_t>(i.at[8 + n_b + j], lane);
        }
        for (unsigned j = 0; j < n_b; j++)
            b[lane][j] = w.get<uint32_t>(i.at[8 + j], lane);
        m[lane] = {d[lane], a[lane], b[lane], 0};
        if (is_sparse) {
            m[lane].e = w.get<uint32_t>(i.at[16], lane);
            if (w.get<uint32_t>(i.at[17], lane) != 0)
                w.die("m16n8k64 of 8 bits takes the selector 0 alone", lane);
        }
        args[lane] = &m[lane];
    }
    is_sparse ? emulate_mma_sp_warp(args) : emulate_mma_warp(args, bits);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned j = 0; j < 4; j++)
            w.put(i.at[j], lane, d[lane][j]);
}

// The same bytes as seen by generic addresses: those of the host.
void shared_to_generic(PtxWarp &w, const PtxInstruction &i, uint32_t lanes)
{
    PTX_EACH_LANE(lane, lanes)
    {
        w.put(i.at[0], lane,
              reinterpret_cast<uint64_t>(w.block->shared.data()) + w.get<uint64_t>(i.at[1], lane));
    }
}

void nothing(PtxWarp &, const PtxInstruction &, uint32_t)
{
}

// ---- the table ----------------------------------------------------------------------------------

PtxOpcode opcode(PtxRun run, std::initializer_list<uint8_t> nbytes, PtxSpace space = PtxSpace::None)
{
    PtxOpcode o;
    o.run = run;
    o.space = space;
    for (uint8_t n : nbytes)
        o.nbytes[o.n_operands++] = n;
    return o;
}
PtxOpcode opcode(PtxKind kind, uint8_t n_operands)
{
    PtxOpcode o;
    o.kind = kind;
    o.n_operands = n_operands;
    o.nbytes[0] = 4;
    return o;
}

Table make_table()
{
    Table t;
    const std::initializer_list<uint8_t> dense = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};
    t["bra"] = t["bra.uni"] = opcode(PtxKind::Branch, 1);
    t["ret"] = opcode(PtxKind::Exit, 0);
    t["bar.sync"] = opcode(PtxKind::Barrier, 1);
    t["bar.warp.sync"] = opcode(nothing, {4});
    t["membar.gl"] = opcode(nothing, {});
    t["cvta.shared.u64"] = opcode(shared_to_generic, {8, 8});
    t["atom.global.add.u32"] = atomic_opcode<uint32_t, false>();
    t["atom.global.add.u64"] = atomic_opcode<uint64_t, false>();
    t["atom.global.add.f64"] = atomic_opcode<double, false>();
    t["atom.global.max.u32"] = atomic_opcode<uint32_t, true>();
    t["atom.global.max.u64"] = atomic_opcode<uint64_t, true>();
    t["cp.async.cg.shared.global"] = opcode(cp_async, {4, 8, 4, 4});
    t["cp.async.commit_group"] = opcode(cp_async_commit, {});
    t["cp.async.wait_group"] = opcode(cp_async_wait, {4});
    t["shfl.sync.bfly.b32"] = opcode(shuffle<true>, {4, 1, 4, 4, 4, 4});
    t["shfl.sync.idx.b32"] = opcode(shuffle<false>, {4, 1, 4, 4, 4, 4});
    t["vote.sync.ballot.b32"] = opcode(ballot, {4, 1, 4});
    t["redux.sync.add.s32"] = opcode(reduce_add, {4, 4, 4});
    t["ldmatrix.sync.aligned.m8n8.x4.shared.b16"] =
        opcode(ldmatrix<false>, {4, 4, 4, 4, 4}, PtxSpace::Shared);
    t["ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"] =
        opcode(ldmatrix<true>, {4, 4, 4, 4, 4}, PtxSpace::Shared);
    t["mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"] = opcode(mma<8, false>, dense);
    t["mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"] = opcode(mma<4, false>, dense);
    t["mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32"] =
        opcode(mma<8, true>, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
    return t;
}

} // namespace

bool ptx_find_warp(const std::string &name, PtxOpcode *op)
{
    static const Table table = make_table();
    const auto known = table.find(name);
    if (known == table.end())
        return find_access(name, op);
    *op = known->second;
    return true;
}
