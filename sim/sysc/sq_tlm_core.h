// SPDX-License-Identifier: Apache-2.0
// The core as a TLM-2.0 target for virtual platforms, loosely timed: values from models/, the delay
// of a job from the cycle model (sq_core_run_fast, equal to the RTL with free streams).
//
//   0x0000  group_banks   u32   banks per scale group, 1..65535
//   0x0004  groups        u32   scale groups, 1..MAX_BANKS / group_banks
//   0x0008  start         u32   writing 1 runs the job; the write returns when it is done
//   0x0010  cycles        u64   of the last job
//   0x0100  reason        char[256]  why the last access that failed did, in one sentence; ""
//   0x10000 act           i8    [bank][row][b]
//   0x20000 lo            i8    [bank][col][b], mask codes included
//   0x30000 hi            i8    [bank][col][k]
//   0x40000 out           i32   [group][row][col][2]: P_lo, P_hi
// TLM_IGNORE_COMMAND moves nothing. Accesses outside or across windows, and jobs that do not fit or hold illegal codes, answer with
// an address or command error, and reason() says why. A configuration that is no core is an
// SC_ERROR.
#pragma once

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_target_socket.h>

#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "sim/block/core/sq_core_block.h"
#include "sim/block/core/sq_core_run.h"
}

namespace sq_sc
{

struct TlmCore : sc_core::sc_module {
    static constexpr uint64_t GroupBanks = 0, Groups = 4, Start = 8, Cycles = 16;
    static constexpr uint64_t Reason = 0x100, ReasonLen = 256;
    static constexpr uint64_t Act = 0x10000, Lo = 0x20000, Hi = 0x30000, Out = 0x40000;
    static constexpr uint64_t WindowLen = 0x10000;

    tlm_utils::simple_target_socket<TlmCore> socket{"socket"};

    TlmCore(sc_core::sc_module_name name, const sq_core_config &config, sc_core::sc_time period)
        : sc_module(name), config_(config), period_(period), act_(WindowLen), lo_(WindowLen),
          hi_(WindowLen), out_(WindowLen)
    {
        sq_error err;
        if (sq_core_config_check(&config, &err) != SQ_OK)
            SC_REPORT_ERROR("sqsim", err.text);
        socket.register_b_transport(this, &TlmCore::b_transport);
        socket.register_transport_dbg(this, &TlmCore::transport_dbg);
    }

    const std::string &reason() const
    {
        return reason_;
    }

  private:
    std::string reason_;
    sq_core_config config_;
    sc_core::sc_time period_;
    std::vector<uint8_t> act_, lo_, hi_, out_;
    uint32_t group_banks_ = 1, groups_ = 1;
    uint64_t cycles_ = 0;

    void b_transport(tlm::tlm_generic_payload &trans, sc_core::sc_time &delay)
    {
        trans.set_response_status(access(trans, &delay));
    }

    unsigned transport_dbg(tlm::tlm_generic_payload &trans)
    {
        const bool done = access(trans, nullptr) == tlm::TLM_OK_RESPONSE;
        return done ? trans.get_data_length() : 0;
    }

    tlm::tlm_response_status refuse(tlm::tlm_response_status status, const std::string &why)
    {
        reason_ = why.substr(0, ReasonLen - 1);
        return status;
    }

    tlm::tlm_response_status refuse_address(uint64_t at, uint64_t n, const char *why)
    {
        return refuse(tlm::TLM_ADDRESS_ERROR_RESPONSE, "address " + std::to_string(at) + ", " +
                                                           std::to_string(n) + " bytes: " + why);
    }

    tlm::tlm_response_status access(tlm::tlm_generic_payload &trans, sc_core::sc_time *delay)
    {
        const uint64_t at = trans.get_address(), n = trans.get_data_length();
        if (trans.get_byte_enable_ptr() || trans.get_streaming_width() < n)
            return refuse(tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE,
                          "byte enables and streaming are not supported");
        if (trans.get_command() == tlm::TLM_IGNORE_COMMAND)
            return tlm::TLM_OK_RESPONSE;
        if (at >= Out + WindowLen || n > Out + WindowLen - at)
            return refuse_address(at, n, "outside of the map");
        if (at < Act)
            return access_register(trans, at, n, delay);
        std::vector<uint8_t> *const windows[] = {&act_, &lo_, &hi_, &out_};
        std::vector<uint8_t> &window = *windows[at / WindowLen - 1];
        const uint64_t offset = at % WindowLen;
        if (offset + n > WindowLen)
            return refuse_address(at, n, "goes across windows");
        if (trans.is_read())
            std::memcpy(trans.get_data_ptr(), &window[offset], n);
        else if (&window == &out_)
            return refuse(tlm::TLM_COMMAND_ERROR_RESPONSE, "out is only read");
        else
            std::memcpy(&window[offset], trans.get_data_ptr(), n);
        if (delay) // one cycle per 32-byte beat
            *delay += period_ * double((n + 31) / 32);
        return tlm::TLM_OK_RESPONSE;
    }

    tlm::tlm_response_status access_register(tlm::tlm_generic_payload &trans, uint64_t at,
                                             uint64_t n, sc_core::sc_time *delay)
    {
        uint32_t value = 0;
        if (trans.is_read() && at == Cycles && n == sizeof cycles_) {
            std::memcpy(trans.get_data_ptr(), &cycles_, n);
            return tlm::TLM_OK_RESPONSE;
        }
        if (trans.is_read() && at == Reason && n == ReasonLen) {
            std::memset(trans.get_data_ptr(), 0, n);
            std::memcpy(trans.get_data_ptr(), reason_.data(), reason_.size());
            return tlm::TLM_OK_RESPONSE;
        }
        if (n != sizeof value || at > Start || at % 4)
            return refuse_address(at, n, "no register");
        uint32_t *const registers[] = {&group_banks_, &groups_};
        if (trans.is_read()) {
            value = at == Start ? 0 : *registers[at / 4];
            std::memcpy(trans.get_data_ptr(), &value, n);
            return tlm::TLM_OK_RESPONSE;
        }
        std::memcpy(&value, trans.get_data_ptr(), n);
        if (at == Start)
            return value == 1 ? run(delay)
                              : refuse(tlm::TLM_COMMAND_ERROR_RESPONSE,
                                       "start = " + std::to_string(value) + ", need 1");
        *registers[at / 4] = value;
        return tlm::TLM_OK_RESPONSE;
    }

    // "" or why the job cannot run: its registers, its size, a code that the core does not have.
    std::string check_job(uint64_t banks) const
    {
        const size_t tile = size_t(config_.rows) * config_.cols;
        if (group_banks_ < 1 || group_banks_ > SQ_JOB_GROUP_BANKS_MAX)
            return "group_banks = " + std::to_string(group_banks_) + ", need 1.." +
                   std::to_string(SQ_JOB_GROUP_BANKS_MAX);
        if (groups_ < 1)
            return "groups = 0, need 1 or more";
        if (banks * config_.rows * config_.bank > WindowLen ||
            banks * config_.cols * config_.bank > WindowLen || groups_ * tile * 8 > WindowLen)
            return std::to_string(banks) + " banks in " + std::to_string(groups_) +
                   " groups do not fit windows of " + std::to_string(WindowLen) + " bytes";
        const std::string what[] = {
            check_codes("act", act_, banks * config_.rows * config_.bank, config_.act_bits, false),
            check_codes("lo", lo_, banks * config_.cols * config_.bank, config_.low_bits, true),
            check_codes("hi", hi_, banks * config_.cols * config_.high_per_bank, config_.high_bits,
                        false)};
        for (const std::string &text : what)
            if (!text.empty())
                return text;
        return "";
    }

    static std::string check_codes(const char *name, const std::vector<uint8_t> &window, uint64_t n,
                                   unsigned bits, bool has_mask)
    {
        const int most = (1 << (bits - 1)) - 1, least = has_mask ? -most - 1 : -most;
        for (uint64_t i = 0; i < n; i++) {
            const int code = static_cast<int8_t>(window[i]);
            if (code < least || code > most)
                return std::string(name) + "[" + std::to_string(i) + "] = " + std::to_string(code) +
                       ", need " + std::to_string(least) + ".." + std::to_string(most);
        }
        return "";
    }

    tlm::tlm_response_status run(sc_core::sc_time *delay)
    {
        static const sq_rates free_streams = {1, 1, 1, 1};
        const uint64_t banks = uint64_t(group_banks_) * groups_;
        const size_t tile = size_t(config_.rows) * config_.cols;
        const std::string why = delay ? check_job(banks) : "start is no debug access";
        if (!why.empty())
            return refuse(tlm::TLM_COMMAND_ERROR_RESPONSE, why);
        const sq_core_operands operands = {banks, reinterpret_cast<int8_t *>(act_.data()),
                                           reinterpret_cast<int8_t *>(lo_.data()),
                                           reinterpret_cast<int8_t *>(hi_.data())};
        std::vector<int32_t> p_lo(tile), p_hi(tile);
        for (uint32_t g = 0; g < groups_; g++) {
            if (sq_core_golden_tile(&config_, &operands, uint64_t(g) * group_banks_, group_banks_,
                                    p_lo.data(), p_hi.data()) != 0)
                return refuse(tlm::TLM_COMMAND_ERROR_RESPONSE,
                              "lo: a bank of group " + std::to_string(g) + " has not exactly " +
                                  std::to_string(config_.high_per_bank) + " mask codes");
            for (size_t i = 0; i < tile; i++) {
                const int32_t pair[2] = {p_lo[i], p_hi[i]};
                std::memcpy(&out_[(g * tile + i) * sizeof pair], pair, sizeof pair);
            }
        }
        const sq_job job = {group_banks_, groups_};
        cycles_ = sq_core_run_fast(&config_, &job, &free_streams).cycles;
        *delay += period_ * double(cycles_ + 1); // and the cycle in which the job is taken
        return tlm::TLM_OK_RESPONSE;
    }
};

} // namespace sq_sc
