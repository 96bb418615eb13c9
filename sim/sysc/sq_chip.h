// SPDX-License-Identifier: Apache-2.0
// The chip sq_top as a SystemC component: a register socket, a memory socket, an interrupt, and three bodies behind
// them that leave the same memory and the same counters.
//
//     body                time of a layer
//     SQ_DEVICE_FAST      loosely timed: at once; the interrupt comes after its cycles, STATUS says BUSY until then
//     SQ_DEVICE_STEPPING  cycle by cycle, by the chip's cycle model
//     SQ_DEVICE_RTL       cycle by cycle, by rtl/top/sq_top.sv through Verilator (`home`: the folder with rtl/)
//
// registers: 4 aligned bytes an access (docs/registers.md); others get a byte-enable, burst or address error, and
// SLVERR of the chip is a command error. memory: an access is a beat of the bus, by b_transport, or by DMI where the
// target grants it; an error of the target is what the chip sees on its bus. How long memory takes is `time` (sq_axi_memory.h,
// kind 1), for all bodies alike: what a target adds to the delay of an access is left out.
#ifndef SQ_SYSC_CHIP_H
#define SQ_SYSC_CHIP_H

#include <cstring>
#include <map>
#include <string>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

extern "C" {
#include "sim/block/top/sq_regs.h"
#include "sim/machine/sq_device.h"
}

namespace sq_sc
{

template <unsigned BusWidth = 64> struct Chip : sc_core::sc_module {
    tlm_utils::simple_target_socket<Chip, 32> registers{"registers"};
    tlm_utils::simple_initiator_socket<Chip, BusWidth> memory{"memory"};
    sc_core::sc_out<bool> irq{"irq"};

    SC_HAS_PROCESS(Chip);

    // value: the parameters of sq_top, whose bus has BusWidth bits. Reports an error where it cannot be made.
    Chip(sc_core::sc_module_name name, sq_device_body body, const unsigned *value,
         const sq_env_choice &time, sc_core::sc_time period, const char *home = nullptr)
        : sc_module(name), body_(body), period_(period)
    {
        static const sq_axi_content content = {read_word, write_words, fault_at};
        sq_device_setup setup{};
        sq_error err{};
        setup.body = body;
        setup.value = value;
        setup.memory = time;
        setup.content = &content;
        setup.ctx = this;
        setup.home = home;
        if (value[SQ_TOP_DATA_W] != BusWidth)
            SC_REPORT_ERROR(this->name(), "BusWidth is not that of the chip");
        if (sq_device_open(&device_, &setup, &err) != SQ_OK)
            SC_REPORT_ERROR(this->name(), err.text);
        registers.register_b_transport(this, &Chip::b_transport);
        registers.register_transport_dbg(this, &Chip::transport_dbg);
        memory.register_invalidate_direct_mem_ptr(this, &Chip::invalidate);
        SC_THREAD(run);
        SC_METHOD(show_irq);
        this->sensitive << changed_;
    }

    ~Chip() override
    {
        sq_device_close(device_);
    }

    uint64_t cycles() const // since the reset
    {
        return sq_device_cycles(device_);
    }
    uint64_t dmi_accesses() const
    {
        return dmi_accesses_;
    }

  private:
    sq_device_body body_;
    sc_core::sc_time period_, done_at_; // FAST: the end of the layer
    sq_device *device_ = nullptr;
    sc_core::sc_event started_, changed_;
    bool irq_ = false;
    // memory
    std::map<uint32_t, sq_axi_fault> faults_; // of beats whose last access failed
    uint8_t beat_[BusWidth / 8] = {};
    tlm::tlm_dmi dmi_;
    bool has_dmi_ = false, dmi_refused_ = false;
    uint64_t dmi_accesses_ = 0;

    // ---- memory -----------------------------------------------------------------------------------

    void invalidate(sc_dt::uint64, sc_dt::uint64)
    {
        has_dmi_ = dmi_refused_ = false;
    }

    bool reach_directly(tlm::tlm_command command, uint32_t at)
    {
        const bool writes = command == tlm::TLM_WRITE_COMMAND;
        if (!has_dmi_ || at < dmi_.get_start_address() ||
            uint64_t(at) + sizeof beat_ - 1 > dmi_.get_end_address() ||
            !(writes ? dmi_.is_write_allowed() : dmi_.is_read_allowed()))
            return false;
        unsigned char *const place = dmi_.get_dmi_ptr() + (at - dmi_.get_start_address());
        std::memcpy(writes ? place : beat_, writes ? beat_ : place, sizeof beat_);
        dmi_accesses_++;
        return true;
    }

    // The beat at that address from memory or to it; its fault is kept.
    void access(tlm::tlm_command command, uint32_t at)
    {
        faults_.erase(at);
        if (reach_directly(command, at))
            return;
        tlm::tlm_generic_payload t;
        sc_core::sc_time ignored;
        t.set_command(command);
        t.set_address(at);
        t.set_data_ptr(beat_);
        t.set_data_length(sizeof beat_);
        t.set_streaming_width(sizeof beat_);
        t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        memory->b_transport(t, ignored);
        if (!t.is_response_ok())
            faults_[at] = t.get_response_status() == tlm::TLM_ADDRESS_ERROR_RESPONSE
                              ? SQ_AXI_DECERR
                              : SQ_AXI_SLVERR;
        if (t.is_response_ok() && t.is_dmi_allowed() && !has_dmi_ && !dmi_refused_) {
            has_dmi_ = memory->get_direct_mem_ptr(t, dmi_);
            dmi_refused_ = !has_dmi_;
        }
    }

    static int32_t read_word(void *ctx, uint32_t at, unsigned i)
    {
        Chip *const c = static_cast<Chip *>(ctx);
        int32_t word;
        if (i == 0)
            c->access(tlm::TLM_READ_COMMAND, at);
        std::memcpy(&word, c->beat_ + 4 * i, sizeof word);
        return word;
    }

    static const char *write_words(void *ctx, uint32_t at, const int32_t *word, unsigned n)
    {
        Chip *const c = static_cast<Chip *>(ctx);
        std::memcpy(c->beat_, word, 4 * n);
        c->access(tlm::TLM_WRITE_COMMAND, at);
        return nullptr;
    }

    static sq_axi_fault fault_at(void *ctx, uint32_t at, unsigned)
    {
        const Chip *const c = static_cast<Chip *>(ctx);
        const auto found = c->faults_.find(at);
        return found == c->faults_.end() ? SQ_AXI_GOOD : found->second;
    }

    // ---- registers --------------------------------------------------------------------------------

    void b_transport(tlm::tlm_generic_payload &t, sc_core::sc_time &delay)
    {
        t.set_response_status(reach(t, delay));
    }

    // Registers have no value without an access, which takes time.
    unsigned transport_dbg(tlm::tlm_generic_payload &)
    {
        return 0;
    }

    bool is_busy(const sc_core::sc_time &delay) const
    {
        return body_ == SQ_DEVICE_FAST && sc_core::sc_time_stamp() + delay < done_at_;
    }

    tlm::tlm_response_status reach(tlm::tlm_generic_payload &t, sc_core::sc_time &delay)
    {
        uint32_t data = 0;
        unsigned response = 0;
        if (t.get_byte_enable_ptr())
            return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
        if (t.get_data_length() != sizeof data || t.get_streaming_width() < sizeof data)
            return tlm::TLM_BURST_ERROR_RESPONSE;
        if (t.get_address() > UINT32_MAX)
            return tlm::TLM_ADDRESS_ERROR_RESPONSE;
        const uint32_t at = uint32_t(t.get_address());
        if (is_busy(delay) && !(t.is_read() && at == SQ_REG_STATUS))
            delay = done_at_ - sc_core::sc_time_stamp();
        const uint64_t before = sq_device_cycles(device_);
        if (t.is_read()) {
            data = sq_device_read_at(device_, at, &response);
            if (is_busy(delay))
                data |= 1u << SQ_STATUS_BUSY;
            std::memcpy(t.get_data_ptr(), &data, sizeof data);
        } else if (t.is_write()) {
            std::memcpy(&data, t.get_data_ptr(), sizeof data);
            sq_device_write_at(device_, at, data, &response);
        }
        const sc_core::sc_time passed = period_ * double(sq_device_cycles(device_) - before);
        if (body_ == SQ_DEVICE_FAST && at == SQ_REG_CONTROL && t.is_write())
            done_at_ = sc_core::sc_time_stamp() + delay + passed;
        else
            delay += passed;
        started_.notify(delay);
        return response ? tlm::TLM_COMMAND_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE;
    }

    // Behind an access: a layer goes on until its end, and the interrupt follows the device.
    void run()
    {
        for (;; wait(started_)) {
            if (is_busy(sc_core::SC_ZERO_TIME))
                wait(done_at_ - sc_core::sc_time_stamp());
            while (!sq_device_irq(device_) && is_running())
                wait(period_ * double(sq_device_step(device_, 1)));
            irq_ = sq_device_irq(device_);
            changed_.notify(sc_core::SC_ZERO_TIME);
        }
    }

    bool is_running() const
    {
        return sq_device_is_running(device_);
    }

    void show_irq()
    {
        irq.write(irq_);
    }
};

} // namespace sq_sc

#endif
