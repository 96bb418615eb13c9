// SPDX-License-Identifier: Apache-2.0
// An interpreter of the PTX that nvcc makes of gpu/*.cu, for tests: the emulator (emulate.h) runs
// the kernels' C++ text and has its own functions for the instructions of sq_ptx.cuh, so a wrong
// word in an asm string is nothing to it. Here the very strings are executed.
//
// A warp runs in step. Where its lanes part, those with the smallest program counter go first, so
// they meet again at the join; a warp-wide instruction or a barrier that some living lane has not
// reached is an error. Warps run one after the other, each until it must wait; blocks as well.
// Copies by cp.async are done at the wait that must have them done, no sooner. Lane-wise
// instructions: ptx_lanes.cpp, memory and warp-wide ones: ptx_warp.cpp, with the fragment tables of
// emulate_ptx.h. Only what nvcc makes of our kernels for sm_80 is known; anything else ends the
// program with a line that names it. What shared memory is read or written beyond its end is an
// error, and so is a misaligned access.
#ifndef PTX_H
#define PTX_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

struct PtxWarp;
struct PtxInstruction;

// Executes an instruction for the lanes of the bit set.
using PtxRun = void (*)(PtxWarp &, const PtxInstruction &, uint32_t lanes);

enum class PtxKind : uint8_t { Lanes, Branch, Exit, Barrier };
enum class PtxSpace : uint8_t { None, Global, Shared, Param };

constexpr unsigned kPtxMaxOperands = 18;

// What is known of an opcode. nbytes[i] is the size of operand i, 0 where any register will do.
struct PtxOpcode {
    PtxRun run = nullptr;
    PtxKind kind = PtxKind::Lanes;
    uint8_t n_operands = 0;
    std::array<uint8_t, kPtxMaxOperands> nbytes = {};
    // of loads, stores and atomics: where, and of how many elements
    PtxSpace space = PtxSpace::None;
    uint8_t count = 0;
};

// Operands are offsets into the warp's register file, where a register holds its 32 lanes one after
// the other; constants and special registers lie there as well.
struct PtxInstruction {
    PtxOpcode op;
    std::array<uint32_t, kPtxMaxOperands> at = {};
    std::array<uint8_t, kPtxMaxOperands> nbytes = {};
    std::array<int64_t, kPtxMaxOperands> displacement = {}; // of [register + displacement]
    uint32_t target = 0;                                    // of a branch
    uint32_t guard = 0;                                     // offset of a predicate
    bool has_guard = false, is_guard_negated = false;
    std::string text;
};

enum class PtxSpecial : uint8_t { Tid, Ntid, Ctaid, Nctaid, Lane };

struct PtxKernel {
    struct Constant {
        uint32_t at;
        uint8_t nbytes;
        uint64_t value;
    };
    struct Special {
        uint32_t at;
        PtxSpecial what;
        uint8_t axis;
    };
    struct Param {
        uint32_t at, nbytes;
    };
    std::string name;
    std::vector<PtxInstruction> code;
    std::vector<Constant> constants;
    std::vector<Special> specials;
    std::vector<Param> params;
    uint32_t file_nbytes = 0, param_nbytes = 0;
    uint32_t static_nbytes = 0, dynamic_at = 0; // shared memory
    uint32_t max_threads = 0;
};

struct PtxBlock {
    const PtxKernel *kernel;
    const uint8_t *params;
    std::vector<uint8_t> shared;
    unsigned shape[3], index[3], grid[3];
    unsigned n_threads() const
    {
        return shape[0] * shape[1] * shape[2];
    }
};

struct PtxCopy {
    uint32_t to, nbytes;
    const void *from;
    unsigned group;
};

// Lane `lane` of a register, as it lies in the file.
template <class T> T ptx_lane(const uint8_t *lanes, unsigned lane)
{
    T v;
    memcpy(&v, lanes + lane * sizeof(T), sizeof v);
    return v;
}

struct PtxWarp {
    PtxBlock *block;
    unsigned first_thread;
    std::vector<uint8_t> file;
    std::array<uint32_t, 32> pc;
    uint32_t live;
    bool is_at_barrier;
    const PtxInstruction *now;
    std::array<std::vector<PtxCopy>, 32> copies;
    std::array<unsigned, 32> n_groups;

    template <class T> T get(uint32_t at, unsigned lane) const
    {
        return ptx_lane<T>(file.data() + at, lane);
    }
    template <class T> void put(uint32_t at, unsigned lane, T v)
    {
        memcpy(file.data() + at + lane * sizeof(T), &v, sizeof v);
    }
    // Registers of any size, as an integer of 64 bits.
    uint64_t get_any(uint32_t at, unsigned nbytes, unsigned lane) const
    {
        return nbytes == 8   ? get<uint64_t>(at, lane)
               : nbytes == 4 ? get<uint32_t>(at, lane)
               : nbytes == 2 ? get<uint16_t>(at, lane)
                             : get<uint8_t>(at, lane);
    }
    void put_any(uint32_t at, unsigned nbytes, unsigned lane, uint64_t v)
    {
        nbytes == 8   ? put<uint64_t>(at, lane, v)
        : nbytes == 4 ? put<uint32_t>(at, lane, static_cast<uint32_t>(v))
        : nbytes == 2 ? put<uint16_t>(at, lane, static_cast<uint16_t>(v))
                      : put<uint8_t>(at, lane, static_cast<uint8_t>(v));
    }
    // `nbytes` of shared memory; ends the program where there are none.
    uint8_t *shared(uint64_t address, size_t nbytes, unsigned lane);
    [[noreturn]] void die(const char *why, unsigned lane) const;
};

#define PTX_EACH_LANE(lane, lanes)                                                                 \
    for (unsigned lane = 0; lane < 32; lane++)                                                     \
        if ((lanes) >> lane & 1)

// ptx_lanes.cpp, ptx_warp.cpp: whether the opcode is known; dots and modifiers included.
bool ptx_find_lanes(const std::string &name, PtxOpcode *op);
bool ptx_find_warp(const std::string &name, PtxOpcode *op);

// ptx_parse.cpp: the kernel of that name in the text of a module; ends the program where the text
// has anything unknown.
PtxKernel ptx_parse(const std::string &text, const std::string &name);

// ptx_run.cpp: every block of the grid. args[i] points to parameter i.
void ptx_launch(const PtxKernel &kernel, const unsigned (&grid)[3], const unsigned (&shape)[3],
                size_t dynamic_nbytes, void *const *args);

#endif
