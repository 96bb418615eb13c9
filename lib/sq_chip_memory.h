// SPDX-License-Identifier: Apache-2.0
// A memory for the chip's memory socket (sq_chip.h), as a TLM-2.0 target that is loosely and approximately timed.
//
// b_transport, transport_dbg: bytes, with byte enables and a streaming width; no delay. DMI where `grants_dmi`.
// nb_transport: four phases. Reads and writes are served one after the other, as by the ideal DRAM of sqsim's machines: a
// burst of n bytes occupies it for ceil(n / burst) * num / den cycles, and a beat comes `latency` cycles after its part,
// the answer to a write as long after its own. Beats says so of every beat.
#ifndef SQ_CHIP_MEMORY_H
#define SQ_CHIP_MEMORY_H

#include <algorithm>
#include <map>

#include <tlm_utils/multi_passthrough_target_socket.h>

#include "lib/sq_chip.h"

namespace sq_sc
{

struct MemoryTime {
    uint64_t latency, num, den, burst; // cycles; parts of one; bytes
};

template <unsigned BusWidth = 64> struct Memory : sc_core::sc_module {
    // Several initiators may be bound.
    tlm_utils::multi_passthrough_target_socket<Memory, BusWidth> socket{"socket"};
    uint64_t base = 0; // address of the first byte
    std::vector<unsigned char> bytes;
    bool grants_dmi = true;
    sc_core::sc_time accepts_after; // from BEGIN_REQ to END_REQ
    // What a beat at that address answers instead of its bytes; empty: TLM_OK_RESPONSE.
    std::function<tlm::tlm_response_status(uint64_t)> fault;

    SC_HAS_PROCESS(Memory);
    Memory(sc_core::sc_module_name name, sc_core::sc_time period, MemoryTime time)
        : sc_module(name), period_(period), time_(time)
    {
        socket.register_b_transport(this, &Memory::b_transport);
        socket.register_transport_dbg(this, &Memory::transport_dbg);
        socket.register_get_direct_mem_ptr(this, &Memory::get_direct_mem_ptr);
        socket.register_nb_transport_fw(this, &Memory::nb_transport_fw);
        SC_THREAD(respond);
        SC_METHOD(accept);
        this->dont_initialize();
        this->sensitive << accept_;
    }

    // DMI that was granted ends.
    void invalidate()
    {
        for (unsigned i = 0; i < socket.size(); i++)
            socket[int(i)]->invalidate_direct_mem_ptr(0, UINT64_MAX);
    }

  private:
    struct Asked {
        tlm::tlm_generic_payload *payload;
        int from;                         // of the socket
        sc_core::sc_time accepted, first; // END_REQ; BEGIN_RESP, where nothing holds it up
    };
    sc_core::sc_time period_;
    MemoryTime time_;
    uint64_t free_ = 0;                  // parts of a cycle
    std::multimap<uint64_t, Asked> due_; // by cycle: of the first beat, of the answer to a write
    std::deque<Asked> not_accepted_;
    sc_core::sc_event asked_, ended_, accept_;

    // ---- bytes ------------------------------------------------------------------------------------

    tlm::tlm_response_status fault_of(uint64_t at, uint64_t n) const
    {
        for (uint64_t a = at - at % (BusWidth / 8); fault && a < at + n; a += BusWidth / 8) {
            const tlm::tlm_response_status status = fault(a);
            if (status != tlm::TLM_OK_RESPONSE)
                return status;
        }
        return tlm::TLM_OK_RESPONSE;
    }

    bool holds(uint64_t at, uint64_t n) const
    {
        return at >= base && at - base <= bytes.size() && n <= bytes.size() - (at - base);
    }

    void copy(tlm::tlm_generic_payload &t)
    {
        const unsigned char *const enable = t.get_byte_enable_ptr();
        const unsigned width = t.get_streaming_width(), n = t.get_data_length();
        for (unsigned i = 0; i < n; i++) {
            unsigned char &place = bytes[t.get_address() - base + i % width];
            if (enable && enable[i % t.get_byte_enable_length()] != TLM_BYTE_ENABLED)
                continue;
            if (t.is_read())
                t.get_data_ptr()[i] = place;
            else
                place = t.get_data_ptr()[i];
        }
    }

    tlm::tlm_response_status serve(tlm::tlm_generic_payload &t)
    {
        const unsigned width = std::min(t.get_streaming_width(), t.get_data_length());
        if (t.get_command() == tlm::TLM_IGNORE_COMMAND)
            return tlm::TLM_OK_RESPONSE;
        if (width == 0 || t.get_data_length() % width != 0)
            return tlm::TLM_BURST_ERROR_RESPONSE;
        if (!holds(t.get_address(), width))
            return tlm::TLM_ADDRESS_ERROR_RESPONSE;
        const tlm::tlm_response_status status = fault_of(t.get_address(), width);
        if (status == tlm::TLM_OK_RESPONSE)
            copy(t);
        return status;
    }

    void b_transport(int, tlm::tlm_generic_payload &t, sc_core::sc_time &)
    {
        t.set_response_status(serve(t));
        t.set_dmi_allowed(grants_dmi && t.is_response_ok());
    }

    unsigned transport_dbg(int, tlm::tlm_generic_payload &t)
    {
        if (!holds(t.get_address(), t.get_data_length()))
            return 0;
        copy(t);
        return t.get_data_length();
    }

    bool get_direct_mem_ptr(int, tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi)
    {
        if (!grants_dmi || fault || bytes.empty())
            return false;
        dmi.set_dmi_ptr(bytes.data());
        dmi.set_start_address(base);
        dmi.set_end_address(base + bytes.size() - 1);
        dmi.allow_read_write();
        return true;
    }

    // ---- four phases ------------------------------------------------------------------------------

    uint64_t occupies(uint64_t n) const
    {
        return (n + time_.burst - 1) / time_.burst * time_.num;
    }

    uint64_t cycle_of(uint64_t parts) const
    {
        return (parts + time_.den - 1) / time_.den;
    }

    // What comes in this cycle is worked on from the next one on.
    void reserve(Asked a)
    {
        const uint64_t cycle = uint64_t(sc_core::sc_time_stamp() / period_);
        const uint64_t n = a.payload->get_data_length(), beat = BusWidth / 8;
        const uint64_t start = std::max(free_, (cycle + 1) * time_.den);
        free_ = start + occupies(n);
        const uint64_t first = std::max(
            cycle + 1, a.payload->is_read() ? cycle_of(start + occupies(beat)) + time_.latency
                                            : cycle_of(free_) + time_.latency);
        Beats *const beats = a.payload->template get_extension<Beats>();
        if (beats && a.payload->is_read()) {
            beats->after.clear();
            for (uint64_t end = beat; end <= n; end += beat)
                beats->after.push_back(
                    period_ * double(cycle_of(start + occupies(end)) + time_.latency - first));
        }
        a.first = period_ * double(first);
        due_.insert({first, a});
        asked_.notify();
    }

    tlm::tlm_sync_enum nb_transport_fw(int from, tlm::tlm_generic_payload &t, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay)
    {
        if (phase == tlm::END_RESP) {
            ended_.notify(delay);
            return tlm::TLM_COMPLETED;
        }
        const Asked a = {&t, from, sc_core::sc_time_stamp() + accepts_after, {}};
        t.acquire();
        reserve(a);
        if (accepts_after == sc_core::SC_ZERO_TIME) {
            phase = tlm::END_REQ;
            return tlm::TLM_UPDATED;
        }
        not_accepted_.push_back(a);
        accept_.notify(accepts_after);
        return tlm::TLM_ACCEPTED;
    }

    void accept()
    {
        while (!not_accepted_.empty() &&
               not_accepted_.front().accepted <= sc_core::sc_time_stamp()) {
            const Asked a = not_accepted_.front();
            tlm::tlm_phase phase = tlm::END_REQ;
            sc_core::sc_time delay;
            not_accepted_.pop_front();
            (void)socket[a.from]->nb_transport_bw(*a.payload, phase, delay);
        }
        if (!not_accepted_.empty())
            accept_.notify(not_accepted_.front().accepted - sc_core::sc_time_stamp());
    }

    // A burst of whole beats, each for itself: one that fails leaves the others as they are.
    void serve_beats(tlm::tlm_generic_payload &t)
    {
        Beats *const beats = t.get_extension<Beats>();
        const uint64_t beat = BusWidth / 8;
        tlm::tlm_response_status first = tlm::TLM_OK_RESPONSE;
        if (beats)
            beats->status.clear();
        for (uint64_t i = 0; i < t.get_data_length(); i += beat) {
            tlm::tlm_generic_payload one;
            one.set_command(t.get_command());
            one.set_address(t.get_address() + i);
            one.set_data_ptr(t.get_data_ptr() + i);
            one.set_data_length(unsigned(beat));
            one.set_streaming_width(unsigned(beat));
            const tlm::tlm_response_status status = serve(one);
            first = first == tlm::TLM_OK_RESPONSE ? status : first;
            if (beats)
                beats->status.push_back(status);
        }
        t.set_response_status(first);
    }

    void serve_burst(const Asked &a)
    {
        tlm::tlm_generic_payload &t = *a.payload;
        Beats *const beats = t.get_extension<Beats>();
        const unsigned n = t.get_data_length();
        if (!t.get_byte_enable_ptr() && n % (BusWidth / 8) == 0 && t.get_streaming_width() == n)
            serve_beats(t);
        else
            t.set_response_status(serve(t));
        const sc_core::sc_time late = sc_core::sc_time_stamp() - a.first;
        for (size_t i = 0; beats && i < beats->after.size(); i++)
            beats->after[i] =
                beats->after[i] > late ? beats->after[i] - late : sc_core::SC_ZERO_TIME;
    }

    void respond()
    {
        for (;;) {
            while (due_.empty())
                wait(asked_);
            if (due_.begin()->second.first > sc_core::sc_time_stamp()) {
                wait(due_.begin()->second.first - sc_core::sc_time_stamp(), asked_);
                continue;
            }
            const Asked a = due_.begin()->second;
            tlm::tlm_phase phase = tlm::BEGIN_RESP; // which is END_REQ, too
            sc_core::sc_time delay;
            due_.erase(due_.begin());
            not_accepted_.erase(
                std::remove_if(not_accepted_.begin(), not_accepted_.end(),
                               [&](const Asked &n) { return n.payload == a.payload; }),
                not_accepted_.end());
            serve_burst(a);
            if (socket[a.from]->nb_transport_bw(*a.payload, phase, delay) == tlm::TLM_ACCEPTED)
                wait(ended_);
            a.payload->release();
        }
    }
};

} // namespace sq_sc

#endif
