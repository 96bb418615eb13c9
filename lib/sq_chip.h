// SPDX-License-Identifier: Apache-2.0
// The chip sq_top as a SystemC component: a register socket, a memory socket, an interrupt, and three bodies behind
// them that leave the same memory and the same counters (sqsim.h). With what installs sqsim:
//
//     c++ -std=c++17 platform.cpp $(pkg-config --cflags --libs sqsim-sysc)
//
//     body                  time of a layer, or of a ring of them
//     SQSIM_CHIP_FAST       loosely timed: at once; the interrupt comes after its cycles, STATUS says BUSY until then, and what
//                           is written meanwhile, an abort among it, comes behind it
//     SQSIM_CHIP_STEPPING   cycle by cycle, by the chip's cycle model
//     SQSIM_CHIP_RTL        cycle by cycle, by rtl/top/sq_top.sv through Verilator
//
// registers: 4 aligned bytes an access (docs/registers.md); others get a byte-enable, burst or address error, and
// SLVERR of the chip is a command error.
//
// memory: who says how long it takes is a parameter of the constructor (Time).
//   MACHINE   the machine of the image. An access is a beat of the bus, by b_transport, or by DMI where the target grants
//             it; what a target adds to the delay of an access is left out.
//   TARGET    the target, by nb_transport: a burst of the bus is a transaction of four phases. Several reads and writes are
//             outstanding. The chip waits with the next address until END_REQ has come; its read beats come from
//             BEGIN_RESP on, one in a cycle, or when the extension Beats says; END_RESP follows at once, or, where
//             `answers` bursts wait for the chip already, once it has taken the first of them.
//             A burst that an abort or the watchdog cuts short has byte enables: what is off writes nothing.
// An error of the target is what the chip sees on its bus, with zeros as data.
//
// Time runs in cycles of `period`; a cycle begins at a multiple of it, and its signals are those in its middle.
#ifndef SQ_CHIP_H
#define SQ_CHIP_H

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include "lib/sq_regs.h"
#include "lib/sqsim.h"

namespace sq_sc
{

// What one answer to a burst cannot say, beat by beat; a target that knows it fills it before BEGIN_RESP.
struct Beats : tlm::tlm_extension<Beats> {
    std::vector<sc_core::sc_time> after; // since BEGIN_RESP
    std::vector<tlm::tlm_response_status> status;

    tlm::tlm_extension_base *clone() const override
    {
        return new Beats(*this);
    }
    void copy_from(const tlm::tlm_extension_base &other) override
    {
        *this = static_cast<const Beats &>(other);
    }
};

enum class Time { MACHINE, TARGET };

template <unsigned BusWidth = 64> struct Chip : sc_core::sc_module, private tlm::tlm_mm_interface {
    tlm_utils::simple_target_socket<Chip, 32> registers{"registers"};
    tlm_utils::simple_initiator_socket<Chip, BusWidth> memory{"memory"};
    sc_core::sc_out<bool> irq{"irq"};
    size_t answers =
        32; // bursts that wait for the chip before a target waits for END_RESP; at least 1

    // Makes the device (sqsim_device_new); one of memory and bus is NULL.
    using Maker = std::function<sqsim_status(const sqsim_memory *memory, const sqsim_bus *bus,
                                             sqsim_device **device, sqsim_error *err)>;

    SC_HAS_PROCESS(Chip);

    // The chip that the image is for, whose bus has BusWidth bits. Reports an error where it cannot be made.
    Chip(sc_core::sc_module_name name, const sqsim_image *image, sqsim_chip_body body,
         sc_core::sc_time period, Time time = Time::MACHINE)
        : Chip(name, body, period, time,
               [=](const sqsim_memory *m, const sqsim_bus *b, sqsim_device **d, sqsim_error *e) {
                   return sqsim_device_new(image, body, m, b, d, e);
               })
    {
    }

    Chip(sc_core::sc_module_name name, sqsim_chip_body body, sc_core::sc_time period, Time time,
         const Maker &maker)
        : sc_module(name), body_(body), period_(period), time_(time)
    {
        const sqsim_memory by_beat = {this, read_beat, write_beat};
        const sqsim_bus by_cycle = {this, drive, clock};
        sqsim_error err{};
        const bool has_bus = time == Time::TARGET;
        if (maker(has_bus ? nullptr : &by_beat, has_bus ? &by_cycle : nullptr, &device_, &err))
            SC_REPORT_ERROR(this->name(), err.text);
        else if (sqsim_device_beat(device_) != BusWidth / 8)
            SC_REPORT_ERROR(this->name(), "BusWidth is not that of the chip");
        registers.register_b_transport(this, &Chip::b_transport);
        registers.register_transport_dbg(this, &Chip::transport_dbg);
        memory.register_invalidate_direct_mem_ptr(this, &Chip::invalidate);
        memory.register_nb_transport_bw(this, &Chip::nb_transport_bw);
        if (has_bus) {
            SC_THREAD(run_bus);
        } else {
            SC_THREAD(run);
        }
        // What the models need; a SystemC thread has 64 KiB of its own.
        this->set_stack_size(1 << 20);
        SC_METHOD(show_irq);
        this->dont_initialize();
        this->sensitive << changed_;
    }

    ~Chip() override
    {
        for (Burst *b : reads_)
            b->release();
        for (Burst *b : writes_)
            b->release();
        sqsim_device_free(device_);
    }

    uint64_t cycles() const // since the reset
    {
        return sqsim_device_cycles(device_);
    }
    uint64_t moves() const // sqsim_device_moves
    {
        return sqsim_device_moves(device_);
    }
    uint64_t dmi_accesses() const
    {
        return dmi_accesses_;
    }

  private:
    sqsim_chip_body body_;
    sc_core::sc_time period_;
    sc_core::sc_time done_at_; // FAST: the end of the layer
    sc_core::sc_time reached_; // MACHINE: the device has been brought to here, by whole cycles
    Time time_;
    sqsim_device *device_ = nullptr;
    sc_core::sc_event started_, changed_, ended_;
    bool irq_ = false;
    bool has_access_ = false; // TARGET: on its way
    // memory, MACHINE
    tlm::tlm_dmi dmi_;
    bool has_dmi_ = false, dmi_refused_ = false;
    uint64_t dmi_accesses_ = 0;

    // ---- memory, beat by beat ---------------------------------------------------------------------

    void invalidate(sc_dt::uint64, sc_dt::uint64)
    {
        has_dmi_ = dmi_refused_ = false;
    }

    bool reach_directly(tlm::tlm_command command, uint64_t at, unsigned char *bytes, size_t n)
    {
        const bool writes = command == tlm::TLM_WRITE_COMMAND;
        if (!has_dmi_ || at < dmi_.get_start_address() || at + n - 1 > dmi_.get_end_address() ||
            !(writes ? dmi_.is_write_allowed() : dmi_.is_read_allowed()))
            return false;
        unsigned char *const place = dmi_.get_dmi_ptr() + (at - dmi_.get_start_address());
        std::memcpy(writes ? place : bytes, writes ? bytes : place, n);
        dmi_accesses_++;
        return true;
    }

    static sqsim_answer answer_of(tlm::tlm_response_status status)
    {
        return status > tlm::TLM_INCOMPLETE_RESPONSE       ? SQSIM_OKAY
               : status == tlm::TLM_ADDRESS_ERROR_RESPONSE ? SQSIM_DECERR
                                                           : SQSIM_SLVERR;
    }

    static void set(tlm::tlm_generic_payload &t, tlm::tlm_command command, uint64_t at,
                    unsigned char *bytes, size_t n)
    {
        t.set_command(command);
        t.set_address(at);
        t.set_data_ptr(bytes);
        t.set_data_length(unsigned(n));
        t.set_streaming_width(unsigned(n));
        t.set_byte_enable_ptr(nullptr);
        t.set_dmi_allowed(false);
        t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    }

    sqsim_answer access(tlm::tlm_command command, uint64_t at, unsigned char *bytes, size_t n)
    {
        if (reach_directly(command, at, bytes, n))
            return SQSIM_OKAY;
        tlm::tlm_generic_payload t;
        sc_core::sc_time ignored;
        set(t, command, at, bytes, n);
        memory->b_transport(t, ignored);
        if (t.is_response_ok() && t.is_dmi_allowed() && !has_dmi_ && !dmi_refused_) {
            has_dmi_ = memory->get_direct_mem_ptr(t, dmi_);
            dmi_refused_ = !has_dmi_;
        }
        return answer_of(t.get_response_status());
    }

    static sqsim_answer read_beat(void *ctx, uint64_t at, void *bytes, size_t n)
    {
        return static_cast<Chip *>(ctx)->access(tlm::TLM_READ_COMMAND, at,
                                                static_cast<unsigned char *>(bytes), n);
    }

    static sqsim_answer write_beat(void *ctx, uint64_t at, const void *bytes, size_t n)
    {
        unsigned char copy[SQSIM_BEAT_MAX];
        std::memcpy(copy, bytes, n);
        return static_cast<Chip *>(ctx)->access(tlm::TLM_WRITE_COMMAND, at, copy, n);
    }

    // ---- memory, by four phases -------------------------------------------------------------------

    struct Burst : tlm::tlm_generic_payload {
        std::vector<unsigned char> bytes, enables; // enables: of a write, where not all bytes count
        Beats *const beats;                        // the payload frees it
        sc_core::sc_time answered;
        bool is_answered = false;
        bool owes_end = false; // END_RESP

        explicit Burst(tlm::tlm_mm_interface *mm) : tlm_generic_payload(mm), beats(new Beats)
        {
            set_extension(beats);
            acquire();
        }
    };

    std::deque<Burst *> reads_;       // in the order of their addresses
    std::deque<Burst *> to_ask_;      // behind `asked_`
    Burst *asked_ = nullptr;          // its END_REQ has not come
    sc_core::sc_time accepts_at_;     // END_REQ came with this delay
    size_t beat_ = 0, n_waiting_ = 0; // of the first read; bursts answered, and not taken
    std::deque<Burst *> writes_;      // without their responses
    std::deque<uint64_t> aw_;         // addresses of bursts that have not been asked for
    size_t n_w_ = 0;                  // bursts whose beats have all come

    void free(tlm::tlm_generic_payload *t) override
    {
        delete static_cast<Burst *>(t);
    }

    static bool has_come(const Burst *b, size_t beat, sc_core::sc_time period)
    {
        const auto &after = b->beats->after;
        return b->is_answered &&
               sc_core::sc_time_stamp() >=
                   b->answered + (beat < after.size() ? after[beat] : period * double(beat));
    }

    static uint8_t answer_of(const Burst *b, size_t beat)
    {
        const auto &status = b->beats->status;
        return uint8_t(answer_of(beat < status.size() ? status[beat] : b->get_response_status()));
    }

    void ask(Burst *b)
    {
        to_ask_.push_back(b);
        ask_next();
    }

    void ask_next()
    {
        while (!asked_ && !to_ask_.empty() && sc_core::sc_time_stamp() >= accepts_at_) {
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_time delay;
            asked_ = to_ask_.front();
            to_ask_.pop_front();
            Burst *const b = asked_;
            const tlm::tlm_sync_enum done = memory->nb_transport_fw(*b, phase, delay);
            if (done == tlm::TLM_COMPLETED)
                accept(b, delay), answer(b, delay);
            else if (done == tlm::TLM_UPDATED)
                (void)nb_transport_bw(*b, phase, delay);
        }
    }

    void accept(const Burst *b, sc_core::sc_time delay)
    {
        if (asked_ != b)
            return;
        asked_ = nullptr;
        accepts_at_ = sc_core::sc_time_stamp() + delay;
    }

    void answer(Burst *b, sc_core::sc_time delay)
    {
        b->answered = sc_core::sc_time_stamp() + delay;
        b->is_answered = true;
        n_waiting_ += b->is_read();
    }

    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &t, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay)
    {
        Burst *const b = static_cast<Burst *>(&t);
        accept(b, delay);
        if (phase != tlm::BEGIN_RESP)
            return tlm::TLM_ACCEPTED;
        answer(b, delay);
        if (b->is_read() && n_waiting_ > answers) {
            b->owes_end = true;
            return tlm::TLM_ACCEPTED;
        }
        phase = tlm::END_RESP;
        return tlm::TLM_COMPLETED;
    }

    // Room for a burst that was answered: the target may give the next.
    void end_one()
    {
        n_waiting_--;
        for (Burst *b : reads_)
            if (b->owes_end && n_waiting_ <= answers) {
                tlm::tlm_phase phase = tlm::END_RESP;
                sc_core::sc_time delay;
                b->owes_end = false;
                (void)memory->nb_transport_fw(*b, phase, delay);
                return;
            }
    }

    static void drive(void *ctx, sqsim_bus_cycle *c)
    {
        Chip *const chip = static_cast<Chip *>(ctx);
        const Burst *const read = chip->reads_.empty() ? nullptr : chip->reads_.front();
        const Burst *const write = chip->writes_.empty() ? nullptr : chip->writes_.front();
        chip->ask_next();
        c->ar_ready = !chip->asked_ && chip->to_ask_.empty() && chip->reads_.size() < 32 &&
                      sc_core::sc_time_stamp() >= chip->accepts_at_;
        c->aw_ready = c->w_ready = 1;
        if (read && has_come(read, chip->beat_, chip->period_)) {
            c->r_valid = 1;
            c->r_last = (chip->beat_ + 1) * (BusWidth / 8) == read->bytes.size();
            c->r_resp = answer_of(read, chip->beat_);
            if (c->r_resp == SQSIM_OKAY)
                std::memcpy(c->r_data, &read->bytes[chip->beat_ * (BusWidth / 8)], BusWidth / 8);
        }
        if (write && write->is_answered && sc_core::sc_time_stamp() >= write->answered) {
            c->b_valid = 1;
            c->b_resp = uint8_t(answer_of(write->get_response_status()));
        }
    }

    static void clock(void *ctx, const sqsim_bus_cycle *c)
    {
        Chip *const chip = static_cast<Chip *>(ctx);
        chip->clock_reads(*c);
        chip->clock_writes(*c);
    }

    void clock_reads(const sqsim_bus_cycle &c)
    {
        if (c.r_valid && c.r_ready) {
            beat_++;
            if (c.r_last) {
                Burst *const taken = reads_.front();
                end_one();
                reads_.pop_front();
                beat_ = 0;
                taken->release();
            }
        }
        if (c.ar_valid && c.ar_ready) {
            Burst *const b = new Burst(this);
            b->bytes.resize((c.ar_len + 1u) * (BusWidth / 8));
            set(*b, tlm::TLM_READ_COMMAND, c.ar_address, b->bytes.data(), b->bytes.size());
            reads_.push_back(b);
            ask(b);
        }
    }

    void clock_writes(const sqsim_bus_cycle &c)
    {
        if (c.b_valid && c.b_ready) {
            writes_.front()->release();
            writes_.pop_front();
            n_w_--;
        }
        if (c.w_valid && c.w_ready) {
            if (n_w_ == writes_.size())
                writes_.push_back(new Burst(this));
            Burst *const b = writes_.back();
            b->bytes.insert(b->bytes.end(), c.w_data, c.w_data + BusWidth / 8);
            b->enables.insert(b->enables.end(), BusWidth / 8,
                              c.w_strobe ? TLM_BYTE_ENABLED : TLM_BYTE_DISABLED);
            n_w_ += c.w_last;
        }
        if (c.aw_valid && c.aw_ready)
            aw_.push_back(c.aw_address);
        // The chip shows an address when the beats of all bursts before it have gone.
        if (!aw_.empty() && n_w_ == writes_.size() && n_w_ > 0 && !writes_.back()->is_write()) {
            Burst *const b = writes_.back();
            set(*b, tlm::TLM_WRITE_COMMAND, aw_.front(), b->bytes.data(), b->bytes.size());
            aw_.pop_front();
            if (std::count(b->enables.begin(), b->enables.end(), TLM_BYTE_DISABLED)) {
                b->set_byte_enable_ptr(b->enables.data());
                b->set_byte_enable_length(unsigned(b->enables.size()));
            }
            ask(b);
        }
    }

    // In the middle of each cycle, as long as there is something to do.
    void run_bus()
    {
        const sc_core::sc_time half = period_ / 2;
        for (;;) {
            if (!has_access_ && !is_running() && reads_.empty() && writes_.empty())
                wait(started_);
            const sc_core::sc_time now = sc_core::sc_time_stamp(), in = now % period_;
            wait(in < half ? half - in : period_ + half - in);
            sqsim_device_cycle(device_);
            follow_irq();
            if (has_access_ && sqsim_device_end(device_, &data_, &answer_)) {
                has_access_ = false;
                ended_.notify();
            }
        }
    }

    // ---- registers --------------------------------------------------------------------------------

    uint32_t data_ = 0; // of the access on its way
    sqsim_answer answer_ = SQSIM_OKAY;

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
        return body_ == SQSIM_CHIP_FAST && sc_core::sc_time_stamp() + delay < done_at_;
    }

    tlm::tlm_response_status reach(tlm::tlm_generic_payload &t, sc_core::sc_time &delay)
    {
        uint32_t data = 0;
        if (t.get_byte_enable_ptr())
            return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
        if (t.get_data_length() != sizeof data || t.get_streaming_width() < sizeof data)
            return tlm::TLM_BURST_ERROR_RESPONSE;
        if (t.get_address() > UINT32_MAX)
            return tlm::TLM_ADDRESS_ERROR_RESPONSE;
        if (t.get_command() == tlm::TLM_IGNORE_COMMAND)
            return tlm::TLM_OK_RESPONSE;
        if (t.is_write())
            std::memcpy(&data, t.get_data_ptr(), sizeof data);
        const sqsim_answer answer =
            time_ == Time::TARGET ? wait_for(t.is_write(), uint32_t(t.get_address()), &data, delay)
                                  : take(t.is_write(), uint32_t(t.get_address()), &data, delay);
        if (t.is_read())
            std::memcpy(t.get_data_ptr(), &data, sizeof data);
        return answer ? tlm::TLM_COMMAND_ERROR_RESPONSE : tlm::TLM_OK_RESPONSE;
    }

    // The device goes on to the time of the access, and as far as it takes, ahead of time.
    sqsim_answer take(bool is_write, uint32_t at, uint32_t *data, sc_core::sc_time &delay)
    {
        const bool starts =
            is_write && (at == SQ_REG_TAIL_OFFSET ||
                         (at == SQ_REG_CONTROL_OFFSET && (*data & SQ_REG_CONTROL_START_MASK)));
        if (is_busy(delay) && (is_write || at != SQ_REG_STATUS_OFFSET))
            delay = done_at_ - sc_core::sc_time_stamp();
        catch_up(sc_core::sc_time_stamp() + delay);
        delay = reached_ - sc_core::sc_time_stamp();
        const uint64_t before = sqsim_device_cycles(device_);
        const sqsim_answer answer = sqsim_device_access(device_, is_write, at, data);
        if (!is_write && is_busy(delay))
            *data |= 1u << SQ_REG_STATUS_BUSY_SHIFT;
        const sc_core::sc_time passed = period_ * double(sqsim_device_cycles(device_) - before);
        if (body_ == SQSIM_CHIP_FAST && starts && !is_running()) { // else it is stepped from there
            done_at_ = reached_ + passed;
        } else {
            reached_ += passed;
            delay += passed;
        }
        started_.notify(delay);
        return answer;
    }

    void catch_up(sc_core::sc_time until)
    {
        for (; is_running() && reached_ < until; reached_ += period_)
            sqsim_device_cycle(device_);
        const sc_core::sc_time in = until % period_;
        if (reached_ < until)
            reached_ = in == sc_core::SC_ZERO_TIME ? until : until - in + period_;
    }

    // The device runs in time, and the caller with it.
    sqsim_answer wait_for(bool is_write, uint32_t at, uint32_t *data, sc_core::sc_time &delay)
    {
        wait(delay);
        delay = sc_core::SC_ZERO_TIME;
        while (has_access_)
            wait(ended_);
        has_access_ = true;
        sqsim_device_begin(device_, is_write, at, *data);
        started_.notify();
        wait(ended_);
        *data = data_;
        return answer_;
    }

    // Behind an access: a layer or a ring goes on until its end, and the interrupt follows the device.
    void run()
    {
        for (;; wait(started_)) {
            if (is_busy(sc_core::SC_ZERO_TIME))
                wait(done_at_ - sc_core::sc_time_stamp());
            for (follow_irq(); is_running(); follow_irq()) {
                wait(reached_ + period_ - sc_core::sc_time_stamp());
                catch_up(sc_core::sc_time_stamp());
            }
        }
    }

    void follow_irq()
    {
        if (irq_ == (sqsim_device_irq(device_) != 0))
            return;
        irq_ = !irq_;
        changed_.notify(sc_core::SC_ZERO_TIME);
    }

    bool is_running() const
    {
        return sqsim_device_is_running(device_);
    }

    void show_irq()
    {
        irq.write(irq_);
    }
};

} // namespace sq_sc

#endif
