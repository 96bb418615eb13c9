// SPDX-License-Identifier: Apache-2.0
// A virtual platform: an initiator, a memory and the core behind an address map. The initiator
// fills the memory with operands, copies them into the core, runs a job, copies the tiles back and
// checks them against its own sums; and that the time that passed is the cycle model's.
//
//   sq_tlm_platform [SEED]
#include <cstdio>
#include <cstdlib>
#include <tlm_utils/simple_initiator_socket.h>

#include "sim/sysc/sq_tlm_core.h"

extern "C" {
#include "models/sq_rng.h"
}

using sc_core::sc_time;

namespace
{

struct Memory : sc_core::sc_module {
    tlm_utils::simple_target_socket<Memory> socket{"socket"};
    std::vector<uint8_t> bytes = std::vector<uint8_t>(1 << 20);

    explicit Memory(sc_core::sc_module_name name) : sc_module(name)
    {
        socket.register_b_transport(this, &Memory::b_transport);
    }

    void b_transport(tlm::tlm_generic_payload &t, sc_time &delay)
    {
        if (t.get_address() > bytes.size() || t.get_data_length() > bytes.size() - t.get_address())
            return t.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
        uint8_t *at = &bytes[t.get_address()];
        if (t.is_read())
            std::memcpy(t.get_data_ptr(), at, t.get_data_length());
        else if (t.is_write())
            std::memcpy(at, t.get_data_ptr(), t.get_data_length());
        delay += sc_time(100, sc_core::SC_NS);
        t.set_response_status(tlm::TLM_OK_RESPONSE);
    }
};

struct Initiator : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<Initiator> memory{"memory"}, core{"core"};
    unsigned failures = 0, checked = 0;
    uint64_t total_cycles = 0;

    SC_HAS_PROCESS(Initiator);
    Initiator(sc_core::sc_module_name name, const sq_core_config &config, sc_time period,
              uint64_t seed)
        : sc_module(name), config_(config), period_(period), rng_{seed}
    {
        SC_THREAD(run);
    }

  private:
    sq_core_config config_;
    sc_time period_, delay_;
    sq_rng rng_;

    template <class Socket>
    tlm::tlm_response_status transport(Socket &to, tlm::tlm_command command, uint64_t at,
                                       void *data, size_t n)
    {
        tlm::tlm_generic_payload t;
        t.set_command(command);
        t.set_address(at);
        t.set_data_ptr(static_cast<unsigned char *>(data));
        t.set_data_length(unsigned(n));
        t.set_streaming_width(unsigned(n));
        t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        to->b_transport(t, delay_);
        return t.get_response_status();
    }

    void need(bool condition, const char *what)
    {
        checked++;
        if (condition)
            return;
        failures++;
        std::printf("MISMATCH: %s\n", what);
    }

    // Memory to core.
    void copy_in(uint64_t from, uint64_t to, size_t n)
    {
        std::vector<uint8_t> buffer(n);
        need(transport(memory, tlm::TLM_READ_COMMAND, from, buffer.data(), n) ==
                 tlm::TLM_OK_RESPONSE,
             "memory read");
        need(transport(core, tlm::TLM_WRITE_COMMAND, to, buffer.data(), n) == tlm::TLM_OK_RESPONSE,
             "core write");
    }

    void job(uint32_t group_banks, uint32_t groups)
    {
        using Core = sq_sc::TlmCore;
        const size_t banks = size_t(group_banks) * groups, b = config_.bank,
                     k = config_.high_per_bank, tile = size_t(config_.rows) * config_.cols;
        std::vector<int8_t> act(banks * config_.rows * b), lo(banks * config_.cols * b),
            hi(banks * config_.cols * k);
        for (auto &v : act)
            v = int8_t(int(sq_rng_below(&rng_, 255)) - 127);
        for (auto &v : hi)
            v = int8_t(int(sq_rng_below(&rng_, 255)) - 127);
        for (size_t i = 0; i < lo.size(); i++) // the first k of a bank, rotated by its number
            lo[i] = (i + i / b) % b < k ? -8 : int8_t(int(sq_rng_below(&rng_, 15)) - 7);
        need(transport(memory, tlm::TLM_WRITE_COMMAND, 0, act.data(), act.size()) ==
                     tlm::TLM_OK_RESPONSE &&
                 transport(memory, tlm::TLM_WRITE_COMMAND, 0x10000, lo.data(), lo.size()) ==
                     tlm::TLM_OK_RESPONSE &&
                 transport(memory, tlm::TLM_WRITE_COMMAND, 0x20000, hi.data(), hi.size()) ==
                     tlm::TLM_OK_RESPONSE,
             "memory write");
        copy_in(0, Core::Act, act.size());
        copy_in(0x10000, Core::Lo, lo.size());
        copy_in(0x20000, Core::Hi, hi.size());
        uint32_t one = 1;
        need(transport(core, tlm::TLM_WRITE_COMMAND, Core::GroupBanks, &group_banks, 4) ==
                     tlm::TLM_OK_RESPONSE &&
                 transport(core, tlm::TLM_WRITE_COMMAND, Core::Groups, &groups, 4) ==
                     tlm::TLM_OK_RESPONSE,
             "job registers");
        const sc_time before = delay_;
        need(transport(core, tlm::TLM_WRITE_COMMAND, Core::Start, &one, 4) == tlm::TLM_OK_RESPONSE,
             "start");
        check_time(delay_ - before, {group_banks, groups});
        std::vector<int32_t> out(groups * tile * 2);
        need(transport(core, tlm::TLM_READ_COMMAND, Core::Out, out.data(), out.size() * 4) ==
                 tlm::TLM_OK_RESPONSE,
             "core read");
        check_values(act, lo, hi, out, group_banks);
        wait(delay_);
        delay_ = sc_core::SC_ZERO_TIME;
    }

    // By the stepping engine, which is the definition of time.
    void check_time(sc_time passed, sq_job j)
    {
        static const sq_rates free_streams = {1, 1, 1, 1};
        const uint64_t cycles = sq_core_run_step(&config_, &j, &free_streams).cycles;
        uint64_t got = 0;
        transport(core, tlm::TLM_READ_COMMAND, sq_sc::TlmCore::Cycles, &got, 8);
        need(got == cycles && passed == period_ * double(cycles + 1), "latency of the job");
        total_cycles += cycles;
    }

    // P_lo and P_hi in plain loops.
    void check_values(const std::vector<int8_t> &act, const std::vector<int8_t> &lo,
                      const std::vector<int8_t> &hi, const std::vector<int32_t> &out,
                      uint32_t group_banks)
    {
        const size_t b = config_.bank, k = config_.high_per_bank, tile = out.size() / 2;
        for (size_t i = 0; i < tile; i++) {
            const size_t g = i / (config_.rows * config_.cols), r = i / config_.cols % config_.rows,
                         c = i % config_.cols;
            int32_t low = 0, high = 0;
            for (size_t j = g * group_banks; j < (g + 1) * group_banks; j++)
                for (size_t e = 0, slot = 0; e < b; e++) {
                    const int a = act[(j * config_.rows + r) * b + e];
                    const int code = lo[(j * config_.cols + c) * b + e];
                    if (code == -8)
                        high += hi[(j * config_.cols + c) * k + slot++] * a;
                    else
                        low += code * a;
                }
            need(out[2 * i] == low && out[2 * i + 1] == high, "a sum");
        }
    }

    void run()
    {
        for (uint32_t group_banks = 1; group_banks <= 8; group_banks *= 2)
            for (uint32_t groups = 1; groups <= 4; groups++)
                job(group_banks, groups);
        uint32_t zero = 0, one = 1;
        transport(core, tlm::TLM_WRITE_COMMAND, sq_sc::TlmCore::Groups, &zero, 4);
        need(transport(core, tlm::TLM_WRITE_COMMAND, sq_sc::TlmCore::Start, &one, 4) ==
                 tlm::TLM_COMMAND_ERROR_RESPONSE,
             "a job of no groups must be refused");
        char why[sq_sc::TlmCore::ReasonLen] = "";
        transport(core, tlm::TLM_READ_COMMAND, sq_sc::TlmCore::Reason, why, sizeof why);
        need(std::strcmp(why, "groups = 0, need 1 or more") == 0, "with its reason");
        int8_t bad = -128;
        transport(core, tlm::TLM_WRITE_COMMAND, sq_sc::TlmCore::Groups, &one, 4);
        transport(core, tlm::TLM_WRITE_COMMAND, sq_sc::TlmCore::Hi, &bad, 1);
        need(transport(core, tlm::TLM_WRITE_COMMAND, sq_sc::TlmCore::Start, &one, 4) ==
                 tlm::TLM_COMMAND_ERROR_RESPONSE,
             "a code that the core does not have must be refused");
        transport(core, tlm::TLM_READ_COMMAND, sq_sc::TlmCore::Reason, why, sizeof why);
        need(std::strcmp(why, "hi[0] = -128, need -127..127") == 0, "with its place");
        uint32_t kept = 0;
        for (const uint64_t at :
             {uint64_t(sq_sc::TlmCore::GroupBanks), uint64_t(sq_sc::TlmCore::Lo)}) {
            uint32_t before = 0, ignored = 0xffffffff;
            transport(core, tlm::TLM_READ_COMMAND, at, &before, 4);
            need(transport(core, tlm::TLM_IGNORE_COMMAND, at, &ignored, 4) == tlm::TLM_OK_RESPONSE,
                 "a command to ignore is taken");
            transport(core, tlm::TLM_READ_COMMAND, at, &kept, 4);
            need(kept == before && ignored == 0xffffffff, "and moves nothing");
        }
        need(transport(core, tlm::TLM_READ_COMMAND, 0x50000, &one, 4) ==
                 tlm::TLM_ADDRESS_ERROR_RESPONSE,
             "an address beyond the map must be refused");
    }
};

} // namespace

int sc_main(int argc, char **argv)
{
    sq_core_config config = sq_core_config_default();
    config.rows = config.cols = 4;
    const sc_time period(1, sc_core::SC_NS);
    Initiator initiator("initiator", config, period,
                        argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
    Memory memory("memory");
    sq_sc::TlmCore core("core", config, period);
    initiator.memory.bind(memory.socket);
    initiator.core.bind(core.socket);
    sc_core::sc_start();
    std::printf("%s platform: %u checks, %llu core cycles, simulated time %s\n",
                initiator.failures ? "FAIL" : "PASS", initiator.checked,
                (unsigned long long)initiator.total_cycles,
                sc_core::sc_time_stamp().to_string().c_str());
    return initiator.failures || initiator.checked < 100 ? 1 : 0;
}
