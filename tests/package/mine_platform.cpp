// SPDX-License-Identifier: Apache-2.0
// A platform of one's own: a core as a TLM-2.0 target, and a job of one bank for it. Of the 32 weights
// of a column 8 are high: a mask code (-8) among the low codes, their values apart.
#include <cstdio>
#include <sim/sysc/sq_tlm_core.h>
#include <sim/sysc/sq_tlm_port.h>

static bool run_job(sq_sc::TlmCore &core, sq_sc::TlmPort &cpu, int32_t sum[2])
{
    std::vector<int8_t> act(32 * 32, 3), lo(32 * 32, 1), hi(32 * 8, 100); // rows or columns x codes
    for (size_t i = 0; i < lo.size(); i += 4)
        lo[i] = -8;
    const uint32_t one = 1;
    return cpu.write(core.Act, act.data(), act.size()) == tlm::TLM_OK_RESPONSE &&
           cpu.write(core.Lo, lo.data(), lo.size()) == tlm::TLM_OK_RESPONSE &&
           cpu.write(core.Hi, hi.data(), hi.size()) == tlm::TLM_OK_RESPONSE &&
           cpu.write(core.Start, &one, sizeof one) == tlm::TLM_OK_RESPONSE &&
           cpu.read(core.Out, sum, 2 * sizeof *sum) == tlm::TLM_OK_RESPONSE;
}

int sc_main(int, char **)
{
    sq_sc::TlmCore core("core", sq_core_config_default(), sc_core::sc_time(1, sc_core::SC_NS));
    sq_sc::TlmPort cpu("cpu");
    cpu.socket.bind(core.socket);
    int32_t sum[2] = {0, 0}; // of row 0 and column 0: low products, high products
    const bool done = run_job(core, cpu, sum);
    std::printf("%s: %d and %d, %s, %s\n", done ? "done" : "refused", sum[0], sum[1],
                cpu.passed.to_string().c_str(), core.reason().c_str());
    return done ? 0 : 1;
}
