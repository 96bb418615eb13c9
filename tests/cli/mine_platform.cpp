// SPDX-License-Identifier: Apache-2.0
// A platform of one's own: a core as a TLM-2.0 target, a job of one bank.
#include <cstdio>
#include <sim/sysc/sq_tlm_core.h>
#include <sim/sysc/sq_tlm_port.h>

int sc_main(int, char **)
{
    sq_sc::TlmCore core("core", sq_core_config_default(), sc_core::sc_time(1, sc_core::SC_NS));
    sq_sc::TlmPort cpu("cpu");
    cpu.socket.bind(core.socket);
    const uint32_t one = 1;
    const bool started = cpu.write(core.Start, &one, sizeof one) == tlm::TLM_OK_RESPONSE;
    std::printf("%s: %s, %s\n", started ? "done" : "refused", core.reason().c_str(),
                cpu.passed.to_string().c_str());
    return 0;
}
