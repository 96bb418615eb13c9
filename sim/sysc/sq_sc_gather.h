// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_gather as an SC_MODULE with the ports of the verilated RTL.
#pragma once

#include <deque>

#include "sim/sysc/sq_sc_ports.h"

namespace sq_sc
{

struct Gather : sc_core::sc_module {
    using Code = port_t<Bank * LowW>;
    using Act = port_t<Bank * ActW>;
    using Out = port_t<High * ActW>;

    sc_in<bool> clk_i{"clk_i"}, rst_ni{"rst_ni"};
    sc_in<bool> in_valid_i{"in_valid_i"};
    sc_out<bool> in_ready_o{"in_ready_o"};
    sc_in<Code> in_code_i{"in_code_i"};
    sc_in<Act> in_act_i{"in_act_i"};
    sc_out<bool> out_valid_o{"out_valid_o"};
    sc_in<bool> out_ready_i{"out_ready_i"};
    sc_out<Code> out_clean_o{"out_clean_o"};
    sc_out<Out> out_act_o{"out_act_o"};
    sc_out<bool> out_error_o{"out_error_o"};

    SC_HAS_PROCESS(Gather);
    explicit Gather(sc_core::sc_module_name name) : sc_module(name)
    {
        sq_pipeline_init(&sim_, SQ_TIMING_PIPE, 3);
        SC_METHOD(edge);
        sensitive << clk_i.pos() << rst_ni.neg();
        dont_initialize();
        SC_METHOD(drive); // in_ready follows out_ready within the cycle
        sensitive << out_ready_i << changed_;
    }

  private:
    struct Beat {
        Code clean{};
        Out act{};
        bool error = false;
    };
    sq_pipeline sim_{}; // three stages (sim/block/core/sq_gather_block.c)
    std::deque<Beat> beats_;
    sc_core::sc_event changed_;

    void edge()
    {
        if (!rst_ni.read()) {
            sq_pipeline_init(&sim_, SQ_TIMING_PIPE, 3);
            beats_.clear();
        } else {
            sq_pipeline_out out{};
            sq_pipeline_comb(&sim_, out_ready_i.read(), &out);
            if (in_valid_i.read() && out.in_ready)
                beats_.push_back(beat());
            if (out.out_valid && out_ready_i.read())
                beats_.pop_front();
            sq_pipeline_clock(&sim_, in_valid_i.read(), false, out_ready_i.read());
        }
        changed_.notify(sc_core::SC_ZERO_TIME);
    }

    Beat beat() const
    {
        int8_t code[Bank], act[Bank], clean[Bank], gathered[Bank];
        Beat b;
        for (unsigned i = 0; i < Bank; i++) {
            code[i] = int8_t(field(in_code_i.read(), i, LowW));
            act[i] = int8_t(field(in_act_i.read(), i, ActW));
        }
        b.error = !sq_gather_bank(code, act, Bank, High, LowW, clean, gathered);
        for (unsigned i = 0; i < Bank; i++)
            set_field(b.clean, i, LowW, clean[i]);
        for (unsigned t = 0; t < High; t++)
            set_field(b.act, t, ActW, gathered[t]);
        return b;
    }

    void drive()
    {
        sq_pipeline_out out{};
        sq_pipeline_comb(&sim_, out_ready_i.read(), &out);
        in_ready_o.write(out.in_ready);
        out_valid_o.write(out.out_valid);
        const Beat b = out.out_valid ? beats_.front() : Beat{};
        out_clean_o.write(b.clean);
        out_act_o.write(b.act);
        out_error_o.write(b.error);
    }
};

} // namespace sq_sc
