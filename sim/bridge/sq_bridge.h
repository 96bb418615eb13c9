// SPDX-License-Identifier: Apache-2.0
// What all bridges share: ports of any width as arrays of 32-bit words, reset, clock, trace.
#ifndef SQ_BRIDGE_H
#define SQ_BRIDGE_H

#include <verilated.h>
#if VM_TRACE_FST
#include <verilated_fst_c.h>
#endif

#include <cstdint>
#include <cstring>
#include <memory>

#include "../sq_rtl.h"

namespace sq_bridge
{

template <class Port> void put(Port &port, const uint32_t *words)
{
    if constexpr (sizeof(Port) <= sizeof(uint32_t)) {
        port = static_cast<Port>(words[0]);
    } else if constexpr (sizeof(Port) == sizeof(uint64_t) && std::is_integral_v<Port>) {
        port = static_cast<Port>(words[0]) | static_cast<Port>(words[1]) << 32;
    } else {
        std::memcpy(&port, words, sizeof port);
    }
}

template <class Port> void get(const Port &port, uint32_t *words)
{
    if constexpr (sizeof(Port) <= sizeof(uint32_t)) {
        words[0] = static_cast<uint32_t>(port);
    } else if constexpr (sizeof(Port) == sizeof(uint64_t) && std::is_integral_v<Port>) {
        words[0] = static_cast<uint32_t>(port);
        words[1] = static_cast<uint32_t>(port >> 32);
    } else {
        std::memcpy(words, &port, sizeof port);
    }
}

// A verilated top with its context, its clock and, where compiled in, its trace.
template <class Top> struct Model {
    static constexpr unsigned reset_cycles = SQ_RTL_RESET_CYCLES;
    VerilatedContext context;
    std::unique_ptr<Top> top;
#if VM_TRACE_FST
    std::unique_ptr<VerilatedFstC> fst;
    uint64_t first_dump = 0; // simulation time, two units per cycle
#endif

    bool open(uint64_t seed, const char *fst_path, uint64_t fst_from)
    {
        context.randReset(2);
        context.randSeed(static_cast<int>(seed & 0x7fffffff) | 1);
        top = std::make_unique<Top>(&context);
        if (fst_path) {
#if VM_TRACE_FST
            context.traceEverOn(true);
            fst = std::make_unique<VerilatedFstC>();
            top->trace(fst.get(), 99);
            fst->open(fst_path);
            if (!fst->isOpen())
                return false;
            first_dump = 2 * (fst_from + reset_cycles);
#else
            return false;
#endif
        }
        (void)fst_from;
        top->clk_i = 0;
        top->rst_ni = 1;
        eval();
        top->rst_ni = 0;
        for (unsigned i = 0; i < reset_cycles; i++)
            clock();
        top->rst_ni = 1;
        return true;
    }

    void eval()
    {
        top->eval();
#if VM_TRACE_FST
        if (fst && context.time() >= first_dump)
            fst->dump(context.time());
#endif
    }

    // Inputs of this cycle have been driven: settle with the clock low.
    void comb()
    {
        top->clk_i = 0;
        eval();
    }

    void clock()
    {
        context.timeInc(1);
        top->clk_i = 1;
        eval();
        context.timeInc(1);
        top->clk_i = 0;
    }
};

template <class Top> void *create(uint64_t seed, const char *fst_path, uint64_t fst_from)
{
    auto model = std::make_unique<Model<Top>>();
    return model->open(seed, fst_path, fst_from) ? model.release() : nullptr;
}

template <class Top> void destroy(void *opaque)
{
    auto *model = static_cast<Model<Top> *>(opaque);
    model->top->final();
#if VM_TRACE_FST
    if (model->fst)
        model->fst->close();
#endif
    delete model;
}

template <class Top> void clock(void *opaque)
{
    static_cast<Model<Top> *>(opaque)->clock();
}

} // namespace sq_bridge

#endif
