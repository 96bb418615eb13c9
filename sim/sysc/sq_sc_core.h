// SPDX-License-Identifier: Apache-2.0
// The cycle model of sq_core as an SC_MODULE with the ports of the verilated RTL: when from
// sim/block/core/sq_core_sim.c, what from models/core/sq_gather.c.
#pragma once

#include <array>
#include <deque>

#include "sim/sysc/sq_sc_ports.h"

namespace sq_sc
{

struct Core : sc_core::sc_module {
    using Act = port_t<Rows * L * ActW>;
    using Lo = port_t<Cols * L * LowW>;
    using Hi = port_t<Cols * H * HighW>;
    using Sums = port_t<Rows * Cols * AccW>;
    using Counts = port_t<CountsW>;

    sc_in<bool> clk_i{"clk_i"}, rst_ni{"rst_ni"};
    sc_in<bool> job_valid_i{"job_valid_i"};
    sc_out<bool> job_ready_o{"job_ready_o"};
    sc_in<uint32_t> job_group_banks_i{"job_group_banks_i"}, job_groups_i{"job_groups_i"};
    sc_in<bool> act_valid_i{"act_valid_i"};
    sc_out<bool> act_ready_o{"act_ready_o"};
    sc_in<Act> act_data_i{"act_data_i"};
    sc_in<bool> lo_valid_i{"lo_valid_i"};
    sc_out<bool> lo_ready_o{"lo_ready_o"};
    sc_in<Lo> lo_data_i{"lo_data_i"};
    sc_in<bool> hi_valid_i{"hi_valid_i"};
    sc_out<bool> hi_ready_o{"hi_ready_o"};
    sc_in<Hi> hi_data_i{"hi_data_i"};
    sc_out<bool> out_valid_o{"out_valid_o"};
    sc_in<bool> out_ready_i{"out_ready_i"};
    sc_out<Sums> out_p_lo_o{"out_p_lo_o"}, out_p_hi_o{"out_p_hi_o"};
    sc_out<Counts> low_counts_o{"low_counts_o"}, high_counts_o{"high_counts_o"};

    SC_HAS_PROCESS(Core);
    explicit Core(sc_core::sc_module_name name) : sc_module(name)
    {
        SC_METHOD(edge);
        sensitive << clk_i.pos() << rst_ni.neg();
        dont_initialize();
    }

  private:
    struct Tile {
        std::array<int32_t, Rows * Cols> lo{}, hi{};
    };
    struct BankData {
        std::array<std::array<int8_t, Bank>, Rows> act{};
        std::array<std::array<int8_t, Bank>, Cols> lo{};
    };

    sq_core_sim sim_{};
    sq_job job_{};
    std::deque<Act> act_;
    std::deque<Lo> lo_;
    std::deque<Hi> hi_;
    BankData bank_;
    unsigned low_step_ = 0, low_banks_ = 0, high_banks_ = 0;
    std::deque<BankData> handed_over_; // banks the high path has still to work on
    Tile low_, high_;
    std::deque<Tile> low_done_, high_done_;

    void edge()
    {
        if (!rst_ni.read()) {
            const sq_core_config c = config();
            sq_core_reset(&sim_, &c);
            drive();
            return;
        }
        sq_core_in in{};
        sq_core_out out{};
        in.job_valid = job_valid_i.read();
        in.job = {job_group_banks_i.read(), job_groups_i.read()};
        in.act_valid = act_valid_i.read();
        in.lo_valid = lo_valid_i.read();
        in.hi_valid = hi_valid_i.read();
        in.out_ready = out_ready_i.read();
        sq_core_comb(&sim_, &in, &out);
        if (in.job_valid && out.job_ready)
            job_ = in.job;
        if (in.act_valid && out.act_ready)
            act_.push_back(act_data_i.read());
        if (in.lo_valid && out.lo_ready)
            lo_.push_back(lo_data_i.read());
        if (in.hi_valid && out.hi_ready)
            hi_.push_back(hi_data_i.read());
        if (out.out_valid && in.out_ready) {
            low_done_.pop_front();
            high_done_.pop_front();
        }
        sq_core_clock(&sim_, &in);
        // Values as early as the beats allow: a tile is complete before its time has come.
        while (!act_.empty() && !lo_.empty() && job_.groups)
            low_step();
        while (!handed_over_.empty() && hi_.size() >= sim_.high_steps)
            high_bank();
        drive();
    }

    void low_step()
    {
        const Act act = act_.front();
        const Lo lo = lo_.front();
        act_.pop_front();
        lo_.pop_front();
        for (unsigned i = 0; i < L && low_step_ * L + i < Bank; i++) {
            for (unsigned r = 0; r < Rows; r++)
                bank_.act[r][low_step_ * L + i] = int8_t(field(act, r * L + i, ActW));
            for (unsigned c = 0; c < Cols; c++)
                bank_.lo[c][low_step_ * L + i] = int8_t(field(lo, c * L + i, LowW));
        }
        if (++low_step_ < sim_.low_steps)
            return;
        low_step_ = 0;
        for (unsigned r = 0; r < Rows; r++)
            for (unsigned c = 0; c < Cols; c++) {
                int8_t clean[SQ_BANK_MAX], gathered[SQ_BANK_MAX];
                sq_gather_bank(bank_.lo[c].data(), bank_.act[r].data(), Bank, High, LowW, clean,
                               gathered);
                for (unsigned i = 0; i < Bank; i++)
                    low_.lo[r * Cols + c] += clean[i] * bank_.act[r][i];
            }
        handed_over_.push_back(bank_);
        if (++low_banks_ == job_.group_banks) {
            low_done_.push_back(low_);
            low_ = Tile{};
            low_banks_ = 0;
        }
    }

    void high_bank()
    {
        const BankData b = handed_over_.front();
        handed_over_.pop_front();
        std::array<std::array<int8_t, High>, Cols> code{};
        for (unsigned s = 0; s < sim_.high_steps; s++) {
            for (unsigned c = 0; c < Cols; c++)
                for (unsigned i = 0; i < H && s * H + i < High; i++)
                    code[c][s * H + i] = int8_t(field(hi_.front(), c * H + i, HighW));
            hi_.pop_front();
        }
        for (unsigned r = 0; r < Rows; r++)
            for (unsigned c = 0; c < Cols; c++) {
                int8_t clean[SQ_BANK_MAX], gathered[SQ_BANK_MAX];
                sq_gather_bank(b.lo[c].data(), b.act[r].data(), Bank, High, LowW, clean, gathered);
                for (unsigned t = 0; t < High; t++)
                    high_.hi[r * Cols + c] += code[c][t] * gathered[t];
            }
        if (++high_banks_ == job_.group_banks) {
            high_done_.push_back(high_);
            high_ = Tile{};
            high_banks_ = 0;
        }
    }

    void drive()
    {
        sq_core_in none{};
        sq_core_out out{};
        Sums lo{}, hi{};
        Counts low{}, high{};
        sq_core_comb(&sim_, &none, &out);
        job_ready_o.write(out.job_ready);
        act_ready_o.write(out.act_ready);
        lo_ready_o.write(out.lo_ready);
        hi_ready_o.write(out.hi_ready);
        out_valid_o.write(out.out_valid);
        if (out.out_valid)
            for (unsigned i = 0; i < Rows * Cols; i++) {
                set_field(lo, i, AccW, low_done_.front().lo[i]);
                set_field(hi, i, AccW, high_done_.front().hi[i]);
            }
        for (unsigned i = 0; i < SQ_N_CAUSES; i++) {
            set_field(low, i, 32, int32_t(sim_.stats.low[i]));
            set_field(high, i, 32, int32_t(sim_.stats.high[i]));
        }
        out_p_lo_o.write(lo);
        out_p_hi_o.write(hi);
        low_counts_o.write(low);
        high_counts_o.write(high);
    }
};

} // namespace sq_sc
