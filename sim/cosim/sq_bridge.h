// SPDX-License-Identifier: Apache-2.0
// What all bridges share: ports of any width as arrays of 32-bit words, reset, clock, trace.
#ifndef SQ_BRIDGE_H
#define SQ_BRIDGE_H

#include <verilated.h>
#if VM_TRACE_FST
#include <verilated_fst_c.h>
#endif
#if VM_COVERAGE
#include <verilated_cov.h>
#define SQ_BRIDGE_QUOTE(x) #x
#define SQ_BRIDGE_QUOTED(x) SQ_BRIDGE_QUOTE(x)
#include SQ_BRIDGE_QUOTED(SQ_BRIDGE_SYMS)
#endif

#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "sq_rtl.h"

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

// The fault that new models get. Only netlists with faults have the input mutsel.
inline thread_local uint32_t mutant;

template <class Top> auto set_mutant(Top &top, int) -> decltype(static_cast<void>(top.mutsel))
{
    top.mutsel = static_cast<std::remove_reference_t<decltype(top.mutsel)>>(mutant);
}

template <class Top> void set_mutant(Top &, long)
{
}

inline void select_mutant(uint32_t number)
{
    mutant = number;
}

#if VM_COVERAGE
// The counters of a model: an array, the same for each, that starts from zero.
template <class Top> auto &counters(Top &top)
{
    return top.rootp->vlSymsp->__Vcoverage;
}

#endif

// A verilated top with its context, its clock and, where compiled in, its trace.
template <class Top> struct Model {
    static constexpr unsigned reset_cycles = SQ_RTL_RESET_CYCLES;
    VerilatedContext context;
    std::unique_ptr<Top> top;
#if VM_TRACE_FST
    std::unique_ptr<VerilatedFstC> fst;
    uint64_t first_dump = 0; // simulation time, two units per cycle
#endif
#if VM_COVERAGE
    std::vector<uint32_t> in_reset; // counters when reset was released
#endif

    bool open(uint64_t seed, const char *fst_path, uint64_t fst_from)
    {
        context.randReset(2);
        context.randSeed(static_cast<int>(seed & 0x7fffffff) | 1);
        top = std::make_unique<Top>(&context);
        set_mutant(*top, 0);
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
#if VM_COVERAGE
        in_reset.assign(std::begin(counters(*top)), std::end(counters(*top)));
#endif
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

#if VM_COVERAGE
// What the models that are gone have seen, per counter.
template <class Top> std::vector<uint32_t> &seen()
{
    static std::vector<uint32_t> all;
    return all;
}

template <class Top> void keep_counters(Model<Top> &model)
{
    const auto &count = counters(*model.top);
    std::vector<uint32_t> &all = seen<Top>();
    all.resize(model.in_reset.size());
    for (size_t i = 0; i < all.size(); i++)
        all[i] |= (count[i] > 0 ? SQ_RTL_ONCE : 0) |
                  (count[i] > model.in_reset[i] + 1 ? SQ_RTL_TWICE : 0);
}
#endif

template <class Top> int write_coverage(const char *path)
{
#if VM_COVERAGE
    VerilatedContext context;
    Top top(&context);
    for (size_t i = 0; i < seen<Top>().size(); i++)
        counters(top)[i] = seen<Top>()[i];
    context.coveragep()->write(path);
    return 0;
#else
    (void)path;
    return -1;
#endif
}

template <class Top> void destroy(void *opaque)
{
    auto *model = static_cast<Model<Top> *>(opaque);
    model->top->final();
#if VM_COVERAGE
    keep_counters(*model);
#endif
#if VM_TRACE_FST
    if (model->fst)
        model->fst->close();
#endif
    delete model;
}

template <class Top> void no_assertions(void *opaque)
{
    static_cast<Model<Top> *>(opaque)->context.assertOn(false);
}

template <class Top> void clock(void *opaque)
{
    static_cast<Model<Top> *>(opaque)->clock();
}

} // namespace sq_bridge

#endif
