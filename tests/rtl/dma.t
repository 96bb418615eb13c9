#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sq_dma against its models, with a memory behind AXI4 as environment: one that answers at once, an ideal
# DRAM, one with random wait states on every channel. Sampled: transfers of up to two pages at the end of
# pages, reads and writes mixed, stalls of transfers, words and sink, resets. Exhausted: six bus faults
# (SLVERR, DECERR, both, LAST too early, too late, not at all, every other one of these three with one of the former) in every beat of a short transfer that reads and
# of one that writes, with three memories, each followed by work that must be right.
# One error among four writes of a beat in a row. Every AXI signal of
# every cycle is compared; the memory holds written words to their addresses. Then faults, each of which
# must be found.
. "$(dirname "$0")/lib.sh"
T="1'b1" F="1'b0" D=rtl/top/sq_dma.sv

campaign dma 60 50000
netlist dma w32 8 15000

# ---- bursts -----------------------------------------------------------------------------------------
mutate page_crossed_by_a_beat dma w32 any rtl/sq_pkg.sv "s/room = (13'd4096 - 13'(addr)) >> size;/room = ((13'd4096 - 13'(addr)) >> size) + 13'(addr >> size != '0);/"
mutate page_of_2_kib dma w32 any rtl/sq_pkg.sv "s/13'd4096 - 13'(addr)/13'd2048 - 13'(addr[10:0])/"
mutate burst_too_long dma w32 any rtl/sq_pkg.sv "s/room\[8:0\] : 9'(most)/room[8:0] : 9'(most + 1)/"
mutate last_beat_of_a_transfer_lost dma w32 any rtl/top/sq_dma_burst.sv "s/assign last_o = .*/assign last_o = LeftW'(left_i) <= LeftW'(limit_i) + LeftW'(1);/"
mutate address_withdrawn dma w32 any $D "s/else if (axi_ar_ready_i) axi_ar_valid_o <= $F;/else axi_ar_valid_o <= $F;/"
mutate one_more_outstanding dma w32 any $D "s/\.Depth(Outstanding)/.Depth(Outstanding + 1)/"

# ---- beats that come --------------------------------------------------------------------------------
mutate last_ignored dma w32 any $D "s/assign wrong = .*/assign wrong = $F \&\& axi_r_last_i;/"
mutate last_too_late_ignored dma w32 any $D "s/assign wrong = .*/assign wrong = !broken_q \&\& axi_r_last_i \&\& !slot_end;/"
mutate decerr_is_slverr dma w32 value $D "s/axi_r_resp_i\[1\] ? {1'b0, axi_r_resp_i}/axi_r_resp_i[1] ? {2'b01, axi_r_resp_i[0] \&\& $F}/"
mutate exokay_is_an_error dma w32 value $D "s/axi_r_resp_i\[1\] ? {1'b0, axi_r_resp_i}/axi_r_resp_i != 2'b00 ? {1'b0, axi_r_resp_i}/"
mutate response_hides_last dma w32 value $D "s/ wrong ? (axi_r_last_i/ wrong \&\& !axi_r_resp_i[1] ? (axi_r_last_i/"
mutate lost_work_has_the_error_before dma w32 value $D "s/broken_status_q <= error;/broken_status_q <= status;/"
mutate silence_while_an_address_waits dma w32 any $D "s/!broken_q || axi_ar_valid_o || axi_r_valid_i/!broken_q || axi_r_valid_i/"
mutate last_page_lost dma w32 any $D "s/axi_ar_addr_o <= addr_q;/axi_ar_addr_o <= {addr_q[AddrW-1] \&\& !(\&addr_q[AddrW-2:12]), addr_q[AddrW-2:0]};/"
mutate poison_of_one_beat_only dma w32 value $D "s/poison = error != 3'd0/poison = error != 3'd0 \&\& !(broken_q \&\& slot_last)/"
mutate status_of_the_transfer_before dma w32 value $D "s/status_q <= (slot_last \&\& slot_end) ? 3'd0 : status/status_q <= status/"
mutate last_error_wins dma w32 value $D "s/(status_q != 3'd0) ? status_q : error/(error != 3'd0) ? error : status_q/"
mutate no_silence_awaited dma w32 any $D "s/quiet_q == QuietW'(Quiet)/quiet_q == QuietW'(1)/"
mutate lost_work_is_read_on dma w32 any $D "s/assign broken = .*/assign broken = $F;/"
mutate stays_lost dma w32 any $D "s/else if (cur_q && first_q && (issue || hand_over)) broken_q <= $F;//"
mutate first_does_not_wait dma w32 any $D "s/(!slot_valid && (!broken_q/(!broken_q || (slot_valid \&\& $F) || (!slot_valid \&\& (!broken_q/; s/== QuietW'(Quiet)));/== QuietW'(Quiet))));/"

# ---- writes -----------------------------------------------------------------------------------------
mutate response_lost dma w32 any $D "s/assign b_fire = .*/assign b_fire = axi_b_valid_i \&\& axi_b_ready_o \&\& !(out_valid_o \&\& !out_ready_i);/"
mutate one_more_write dma w32 any $D "s/open_q != OpenW'(Writes)/open_q != OpenW'(Writes) + OpenW'(!data_q)/"
mutate write_before_the_end_of_the_one_before dma w32 any $D "s/(!data_q || w_ends) \&\& //"
mutate ends_of_transfers_mixed_up dma w32 any $D "s/ << (open_q - OpenW'(b_fire))/ << open_q/"
mutate done_with_each_burst dma w32 any $D "s/write_done_o <= b_fire && ends_q\[0\];/write_done_o <= b_fire;/"
mutate error_of_the_transfer_before dma w32 any $D "s/(write_status_q != 3'd0 && !write_done_o)/(write_status_q != 3'd0)/"
mutate word_sent_twice dma w32 any $D "s/assign data_ready = .*/assign data_ready = data_q \&\& axi_w_ready_i \&\& !axi_aw_valid_o;/"
mutate error_of_a_write_forgotten dma w32 any $D "s/if (b_fire) write_status_q <= write_status;/if (b_fire \&\& ends_q[0]) write_status_q <= write_status;/"
mutate exokay_of_a_write_is_an_error dma w32 any $D "s/axi_b_resp_i\[1\] ? {1'b0, axi_b_resp_i}/axi_b_resp_i != 2'b00 ? {1'b0, axi_b_resp_i}/"
mutate done_a_cycle_early dma w32 any $D "s/write_done_o <= b_fire && ends_q\[0\];/write_done_o <= axi_b_ready_o \&\& ends_q[0] \&\& !b_fire;/"
mutate state_that_a_reset_forgets dma w32 any $D "s/^      open_q <= '0;/      open_q <= open_q;/"
finish
