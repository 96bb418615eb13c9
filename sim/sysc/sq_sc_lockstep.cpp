// SPDX-License-Identifier: Apache-2.0
// C model and verilated RTL as SC_MODULEs in lock step, for sq_core and sq_gather: one driver with
// random stalls on every stream feeds both, a scoreboard compares every output in every cycle.
//
//   sq_sc_lockstep [JOBS [SEED]]      exit 0 = no difference, 1 = the first one is printed
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "Vsq_core.h"
#include "Vsq_gather.h"
#include "sim/sysc/sq_sc_core.h"
#include "sim/sysc/sq_sc_gather.h"

using namespace sq_sc;

namespace
{

enum { MAX_BANKS = 6, MAX_GROUPS = 5 };

// Counts comparisons; stops the simulation at the first difference.
struct Score {
    uint64_t cycles = 0, beats = 0, differences = 0;

    template <class T>
    void same(const char *what, const sc_signal<T> &model, const sc_signal<T> &rtl)
    {
        if (model.read() == rtl.read() || differences)
            return;
        std::cout << "MISMATCH at " << sc_time_stamp() << ": " << what << " model=" << model.read()
                  << " rtl=" << rtl.read() << std::endl;
        differences++;
        sc_stop();
    }
};

// One bank of one column: k mask codes at random places.
void random_bank(sq_rng &rng, int8_t *lo)
{
    for (unsigned i = 0; i < Bank; i++)
        lo[i] = int8_t(int(sq_rng_below(&rng, 15)) - 7);
    for (unsigned k = 0; k < High;) {
        const unsigned at = sq_rng_below(&rng, Bank);
        k += lo[at] != -8;
        lo[at] = -8;
    }
}

int8_t random_code(sq_rng &rng)
{
    return int8_t(int(sq_rng_below(&rng, 255)) - 127);
}

sq_stall random_stall(sq_rng &rng)
{
    return {sq_stall_kind(sq_rng_below(&rng, SQ_N_STALL_KINDS)), 1 + sq_rng_below(&rng, 6)};
}

// ---- core -----------------------------------------------------------------------------------

struct CoreBench : sc_core::sc_module {
    sc_in<bool> clk{"clk"};
    sc_signal<bool> rst_n, job_valid, act_valid, lo_valid, hi_valid, out_ready;
    sc_signal<uint32_t> group_banks, groups;
    sc_signal<Core::Act> act;
    sc_signal<Core::Lo> lo;
    sc_signal<Core::Hi> hi;
    // Outputs of the model [0] and of the RTL [1].
    sc_signal<bool> job_ready[2], act_ready[2], lo_ready[2], hi_ready[2], out_valid[2];
    sc_signal<Core::Sums> p_lo[2], p_hi[2];
    sc_signal<Core::Counts> low_counts[2], high_counts[2];
    sc_signal<uint32_t> mask_error;
    sc_signal<bool> error, code_error;

    Core model{"model"};
    Vsq_core rtl{"rtl"};
    Score score;
    unsigned jobs_left;
    bool finished = false;

    SC_HAS_PROCESS(CoreBench);
    CoreBench(sc_core::sc_module_name name, unsigned jobs, uint64_t seed)
        : sc_module(name), jobs_left(jobs), rng_{seed}
    {
        bind(model, 0);
        bind(rtl, 1);
        rtl.mask_error_o(mask_error);
        rtl.out_error_o(error);
        rtl.out_code_error_o(code_error);
        SC_METHOD(drive);
        sensitive << clk.pos();
        dont_initialize();
        SC_METHOD(check);
        sensitive << clk.neg();
        dont_initialize();
    }

  private:
    sq_rng rng_;
    sq_streams streams_{};
    std::vector<Core::Act> act_beats_;
    std::vector<Core::Lo> lo_beats_;
    std::vector<Core::Hi> hi_beats_;
    size_t act_at_ = 0, lo_at_ = 0, hi_at_ = 0;
    unsigned cycle_ = 0;
    bool loaded_ = false;
    sq_job job_{};

    template <class Dut> void bind(Dut &dut, unsigned i)
    {
        dut.clk_i(clk);
        dut.rst_ni(rst_n);
        dut.job_valid_i(job_valid);
        dut.job_ready_o(job_ready[i]);
        dut.job_group_banks_i(group_banks);
        dut.job_groups_i(groups);
        dut.act_valid_i(act_valid);
        dut.act_ready_o(act_ready[i]);
        dut.act_data_i(act);
        dut.lo_valid_i(lo_valid);
        dut.lo_ready_o(lo_ready[i]);
        dut.lo_data_i(lo);
        dut.hi_valid_i(hi_valid);
        dut.hi_ready_o(hi_ready[i]);
        dut.hi_data_i(hi);
        dut.out_valid_o(out_valid[i]);
        dut.out_ready_i(out_ready);
        dut.out_p_lo_o(p_lo[i]);
        dut.out_p_hi_o(p_hi[i]);
        dut.low_counts_o(low_counts[i]);
        dut.high_counts_o(high_counts[i]);
    }

    // The beats of a new job, in stream order.
    void load_job()
    {
        const sq_core_config c = config();
        sq_stall stall[4];
        job_ = {1 + sq_rng_below(&rng_, MAX_BANKS), 1 + sq_rng_below(&rng_, MAX_GROUPS)};
        act_beats_.clear();
        lo_beats_.clear();
        hi_beats_.clear();
        act_at_ = lo_at_ = hi_at_ = 0;
        for (unsigned b = 0; b < job_.groups * job_.group_banks; b++)
            add_bank();
        for (auto &s : stall)
            s = random_stall(rng_);
        sq_streams_init(&streams_, stall, sq_rng_next(&rng_));
        sq_streams_add(&streams_, &c, &job_);
        loaded_ = true;
    }

    void add_bank()
    {
        int8_t low[Cols][Bank];
        for (auto &column : low)
            random_bank(rng_, column);
        for (unsigned s = 0; s * L < Bank; s++) {
            Core::Act a{};
            Core::Lo l{};
            for (unsigned i = 0; i < L && s * L + i < Bank; i++) {
                for (unsigned r = 0; r < Rows; r++)
                    set_field(a, r * L + i, ActW, random_code(rng_));
                for (unsigned c = 0; c < Cols; c++)
                    set_field(l, c * L + i, LowW, low[c][s * L + i]);
            }
            act_beats_.push_back(a);
            lo_beats_.push_back(l);
        }
        for (unsigned s = 0; s * H < High; s++) {
            Core::Hi h{};
            for (unsigned i = 0; i < Cols * H; i++)
                set_field(h, i, HighW, random_code(rng_));
            hi_beats_.push_back(h);
        }
    }

    // After a rising edge: what fired moves on, the inputs of the next cycle are set.
    void drive()
    {
        if (cycle_++ < 4) {
            rst_n.write(cycle_ == 1 || cycle_ > 3); // down, up
            return;
        }
        sq_core_in in{};
        sq_core_out out{};
        in.act_valid = act_valid.read();
        in.lo_valid = lo_valid.read();
        in.hi_valid = hi_valid.read();
        in.out_ready = out_ready.read();
        // Signals still hold their values of the cycle that ends here.
        out.act_ready = act_ready[1].read();
        out.lo_ready = lo_ready[1].read();
        out.hi_ready = hi_ready[1].read();
        out.out_valid = out_valid[1].read();
        if (loaded_)
            sq_streams_clock(&streams_, &in, &out);
        act_at_ += in.act_valid && out.act_ready;
        lo_at_ += in.lo_valid && out.lo_ready;
        hi_at_ += in.hi_valid && out.hi_ready;
        score.beats += (in.act_valid && out.act_ready) + (in.lo_valid && out.lo_ready) +
                       (in.hi_valid && out.hi_ready) + (in.out_ready && out.out_valid);
        const bool taken = job_valid.read() && job_ready[1].read();
        if (!taken && job_ready[1].read() && !job_valid.read())
            next_job();
        else if (taken)
            job_valid.write(false);
        sq_streams_drive(&streams_, &in);
        offer(in);
    }

    void next_job()
    {
        if (jobs_left == 0) {
            finished = true;
            sc_stop();
            return;
        }
        jobs_left--;
        load_job();
        job_valid.write(true);
        group_banks.write(job_.group_banks);
        groups.write(job_.groups);
    }

    void offer(const sq_core_in &in)
    {
        act_valid.write(in.act_valid && act_at_ < act_beats_.size());
        lo_valid.write(in.lo_valid && lo_at_ < lo_beats_.size());
        hi_valid.write(in.hi_valid && hi_at_ < hi_beats_.size());
        out_ready.write(in.out_ready);
        if (act_at_ < act_beats_.size())
            act.write(act_beats_[act_at_]);
        if (lo_at_ < lo_beats_.size())
            lo.write(lo_beats_[lo_at_]);
        if (hi_at_ < hi_beats_.size())
            hi.write(hi_beats_[hi_at_]);
    }

    void check()
    {
        if (cycle_ < 4)
            return;
        score.cycles++;
        score.same("job_ready", job_ready[0], job_ready[1]);
        score.same("act_ready", act_ready[0], act_ready[1]);
        score.same("lo_ready", lo_ready[0], lo_ready[1]);
        score.same("hi_ready", hi_ready[0], hi_ready[1]);
        score.same("out_valid", out_valid[0], out_valid[1]);
        score.same("low_counts", low_counts[0], low_counts[1]);
        score.same("high_counts", high_counts[0], high_counts[1]);
        if (out_valid[1].read()) {
            score.same("out_p_lo", p_lo[0], p_lo[1]);
            score.same("out_p_hi", p_hi[0], p_hi[1]);
        }
        if ((mask_error.read() || (out_valid[1].read() && (error.read() || code_error.read()))) &&
            !score.differences++)
            std::cout << "MISMATCH at " << sc_time_stamp() << ": error" << std::endl;
    }
};

// ---- gather ---------------------------------------------------------------------------------

struct GatherBench : sc_core::sc_module {
    sc_in<bool> clk{"clk"};
    sc_signal<bool> rst_n, in_valid, out_ready;
    sc_signal<Gather::Code> code;
    sc_signal<Gather::Act> act;
    sc_signal<bool> in_ready[2], out_valid[2], error[2];
    sc_signal<Gather::Code> clean[2];
    sc_signal<Gather::Out> gathered[2];

    Gather model{"model"};
    Vsq_gather rtl{"rtl"};
    Score score;

    SC_HAS_PROCESS(GatherBench);
    GatherBench(sc_core::sc_module_name name, uint64_t seed) : sc_module(name), rng_{seed}
    {
        bind(model, 0);
        bind(rtl, 1);
        SC_METHOD(drive);
        sensitive << clk.pos();
        dont_initialize();
        SC_METHOD(check);
        sensitive << clk.neg();
        dont_initialize();
    }

  private:
    sq_rng rng_;
    unsigned cycle_ = 0;

    template <class Dut> void bind(Dut &dut, unsigned i)
    {
        dut.clk_i(clk);
        dut.rst_ni(rst_n);
        dut.in_valid_i(in_valid);
        dut.in_ready_o(in_ready[i]);
        dut.in_code_i(code);
        dut.in_act_i(act);
        dut.out_valid_o(out_valid[i]);
        dut.out_ready_i(out_ready);
        dut.out_clean_o(clean[i]);
        dut.out_act_o(gathered[i]);
        dut.out_error_o(error[i]);
    }

    void drive()
    {
        if (cycle_++ < 4) {
            rst_n.write(cycle_ == 1 || cycle_ > 3);
            return;
        }
        const bool taken = in_valid.read() && in_ready[1].read();
        score.beats += taken + (out_valid[1].read() && out_ready.read());
        out_ready.write(sq_rng_below(&rng_, 4) != 0);
        if (in_valid.read() && !taken)
            return; // held until taken
        in_valid.write(sq_rng_below(&rng_, 3) != 0);
        int8_t lo[Bank];
        Gather::Code c{};
        Gather::Act a{};
        random_bank(rng_, lo);
        if (sq_rng_below(&rng_, 8) == 0)
            lo[sq_rng_below(&rng_, Bank)] = sq_rng_below(&rng_, 2) ? -8 : 3; // maybe illegal
        for (unsigned i = 0; i < Bank; i++) {
            set_field(c, i, LowW, lo[i]);
            set_field(a, i, ActW, random_code(rng_));
        }
        code.write(c);
        act.write(a);
    }

    void check()
    {
        if (cycle_ < 4)
            return;
        score.cycles++;
        score.same("gather in_ready", in_ready[0], in_ready[1]);
        score.same("gather out_valid", out_valid[0], out_valid[1]);
        if (out_valid[1].read()) {
            score.same("gather out_clean", clean[0], clean[1]);
            score.same("gather out_act", gathered[0], gathered[1]);
            score.same("gather out_error", error[0], error[1]);
        }
    }
};

} // namespace

int sc_main(int argc, char **argv)
{
    const unsigned jobs = argc > 1 ? unsigned(std::strtoul(argv[1], nullptr, 10)) : 2000;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    sc_core::sc_report_handler::set_actions("/IEEE_Std_1666/deprecated", sc_core::SC_DO_NOTHING);
    sc_core::sc_report_handler::set_actions(sc_core::SC_INFO, sc_core::SC_DO_NOTHING);
    Verilated::randReset(2);
    Verilated::randSeed(int(seed & 0x7fffffff) | 1);
    sc_clock clk("clk", 10, SC_NS);
    CoreBench core("core", jobs, seed);
    GatherBench gather("gather", seed + 1);
    core.clk(clk);
    gather.clk(clk);
    sc_start();
    const uint64_t differences = core.score.differences + gather.score.differences;
    const bool pass = differences == 0 && core.finished && gather.score.beats > 0;
    std::printf("%s sysc: core %u jobs, %llu cycles, %llu beats; gather %llu cycles, %llu beats; "
                "seed %llu\n",
                pass ? "PASS" : "FAIL", jobs, (unsigned long long)core.score.cycles,
                (unsigned long long)core.score.beats, (unsigned long long)gather.score.cycles,
                (unsigned long long)gather.score.beats, (unsigned long long)seed);
    return pass ? 0 : 1;
}
