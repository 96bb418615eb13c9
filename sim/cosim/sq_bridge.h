// SPDX-License-Identifier: Apache-2.0
// What all bridges between C and a class of Verilator share: ports of any width as arrays of 32-bit
// words, reset, clock, trace, and failed assertions. By itself Verilator prints such an assertion
// and stops the program; the bridge reports it to the caller instead (sq_rtl.h).
#pragma once

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

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "sq_rtl.h"

// Verilator's mark of what runs once, before cycle 0: a third of a model, and not worth the time of
// an optimiser. The bridge comes first in the file of a model (sq_rtl_build.c).
#ifdef __GNUC__
#undef VL_ATTR_COLD
#define VL_ATTR_COLD __attribute__((cold, optimize("O0")))
#endif

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

// The assertion that failed first since the last edge; empty: none.
inline thread_local char failed[128];

// Keeps only the path in "... Assertion failed in TOP.path" of what the RTL prints.
inline void take_message(const char *text)
{
    const char *at = std::strstr(text, "failed in ");
    if (!at || *failed)
        return;
    at += std::strlen("failed in ");
    if (const char *below = std::strchr(at, '.')) // below TOP
        at = below + 1;
    std::snprintf(failed, sizeof failed, "%.*s", static_cast<int>(std::strcspn(at, ": \n")), at);
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
    bool has_edges = false; // in the next reset
#if VM_TRACE_FST
    std::unique_ptr<VerilatedFstC> fst;
    uint64_t cycle = 0, first_dump = 0, last_dump = 0; // since the first reset
#endif
#if VM_COVERAGE
    std::vector<uint32_t> in_reset; // counters when reset was released
#endif

    bool open(uint64_t seed, const char *fst_path, uint64_t from, uint64_t to)
    {
        context.randReset(2);
        context.randSeed(static_cast<int>(seed & 0x7fffffff) | 1);
        top = std::make_unique<Top>(&context);
        set_mutant(*top, 0);
        has_edges = seed & 1;
        if (fst_path) {
#if VM_TRACE_FST
            context.traceEverOn(true);
            fst = std::make_unique<VerilatedFstC>();
            top->trace(fst.get(), 99);
            fst->open(fst_path);
            if (!fst->isOpen())
                return false;
#else
            return false;
#endif
        }
        (void)from, (void)to;
        top->clk_i = 0;
        top->rst_ni = 1;
        top->eval();
        reset();
#if VM_TRACE_FST
        cycle = 0;
        first_dump = from;
        last_dump = fst_path ? to : 0;
#endif
#if VM_COVERAGE
        in_reset.assign(std::begin(counters(*top)), std::end(counters(*top)));
#endif
        return true;
    }

    // With edges of the clock and, every other time, without: a reset is asynchronous.
    void reset()
    {
        top->rst_ni = 0;
        for (unsigned i = 0; i < reset_cycles; i++)
            if (has_edges)
                clock();
            else
                pass();
        top->rst_ni = 1;
        has_edges = !has_edges;
    }

#if VM_TRACE_FST
    // The clock of a dump rises when a cycle begins: it is high while inputs settle, and falls in
    // the middle (a cycle is 1 ns, 1000 units).
    void dump(unsigned ps)
    {
        if (fst && cycle >= first_dump && cycle < last_dump)
            fst->dump(1000 * cycle + ps);
    }

    void comb()
    {
        top->eval();
        dump(0);
    }

    void clock()
    {
        top->clk_i = 0;
        top->eval();
        dump(500);
        top->clk_i = 1;
        top->eval();
        cycle++;
    }

    // A cycle without an edge.
    void pass()
    {
        top->eval();
        dump(500);
        cycle++;
    }
#else
    // Inputs of this cycle have been driven: settle with the clock low.
    void comb()
    {
        top->clk_i = 0;
        top->eval();
    }

    void clock()
    {
        top->clk_i = 1;
        top->eval();
        top->clk_i = 0;
    }

    void pass()
    {
        top->eval();
    }
#endif
};

template <class Top> void *create(uint64_t seed, const char *fst_path, uint64_t from, uint64_t to)
{
    auto model = std::make_unique<Model<Top>>();
    return model->open(seed, fst_path, from, to) ? model.release() : nullptr;
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
    counters(top)[0] = 0; // the clock's, and of what Verilator left none (sq_rtl.h)
    for (size_t i = 1; i < seen<Top>().size(); i++)
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

template <class Top> const char *clock(void *opaque)
{
    *failed = '\0';
    static_cast<Model<Top> *>(opaque)->clock();
    return *failed ? failed : nullptr;
}

template <class Top> void reset(void *opaque)
{
    static_cast<Model<Top> *>(opaque)->reset();
}

} // namespace sq_bridge

// In place of Verilator's own (sq_rtl.h); a bridge is one file.
int sq_bridge_printf(const char *format, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, format);
    std::vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    sq_bridge::take_message(text);
    return 0;
}

void vl_stop(const char *file, int line, const char *) VL_MT_UNSAFE
{
    if (!*sq_bridge::failed) // a $stop without a message
        std::snprintf(sq_bridge::failed, sizeof sq_bridge::failed, "%.90s:%d", file, line);
}
