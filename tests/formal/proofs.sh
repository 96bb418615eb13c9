# SPDX-License-Identifier: Apache-2.0
# All proofs: what is claimed, at which parameters, and for each property a wrong copy that breaks
# it. `quick` ones run in `make test`, all in `make formal`.
#
# proof quick|daily|full BLOCK TOP "PARAMETERS" SENTENCE [METHOD ...] (formal.t), then the wrong copies for the properties of TOP:
# fault PROPERTY FILE SED, one line of rtl/FILE changed; tight PROPERTY "PARAMETERS", the claim one
# cycle or one beat sharper.
CTL="LowSteps 2 HighSteps 1"
[ "$SQ_TIER" != test ] || CTL="LowSteps 1 HighSteps 2" # 8 s in place of 19; wrong copies are of the other
proof quick core_ctl sq_core_ctl_check "$CTL" \
  "no deadlock; every step used once, in its group; no total overwritten"
fault Live core/sq_core_ctl.sv 's/if (high_fire_o \&\& high_bank_last) bank_full_q/if (low_bank_last_o \&\& high_fire_o \&\& high_bank_last) bank_full_q/; s/if (low_fire_o \&\& low_bank_last_o) bank_full_q <= 1.b1/if (low_fire_o \&\& low_bank_last_o \&\& !high_fire_o) bank_full_q <= 1'"'b1/"
fault BeatsOfJob core/sq_core_ctl.sv 's/low_groups_q <= job_groups_i;/low_groups_q <= job_groups_i + 1;/'
fault BeatsTogether core/sq_core_ctl.sv 's/assign lo_ready_o = low_fire_o;/assign lo_ready_o = low_left \&\& low_en_o \&\& !low_blocked;/'
fault StepNumber core/sq_core_ctl.sv 's/if (low_fire_o) begin/if (low_fire_o \&\& act_valid_i \&\& !job_valid_i) begin/'
fault BankHandedOver core/sq_core_ctl.sv 's/low_bank_last_o \&\& bank_full_q \&\& !(high_fire_o \&\& high_bank_last)/1'"'b0/"
fault LowSum core/sq_core_ctl.sv 's/ls_last_q <= l2_last_q/ls_last_q <= l1_last_q/'
fault HighSum core/sq_core_ctl.sv 's/hs_first_q <= h1_first_q/hs_first_q <= high_bank_q == 0/'
fault LowTotalKept core/sq_core_ctl.sv "s/assign low_en_o = .*/assign low_en_o = 1'b1;/"
fault HighTotalKept core/sq_core_ctl.sv "s/assign high_en_o = .*/assign high_en_o = 1'b1;/"
fault TileComplete core/sq_core_ctl.sv 's/assign out_valid_o = low_result_q \&\& high_result_q/assign out_valid_o = high_result_q/'
proof full core_ctl sq_core_ctl_check "LowSteps 1 HighSteps 1" "the same"
proof full core_ctl sq_core_ctl_check "LowSteps 1 HighSteps 2" "the same"
proof full core_ctl sq_core_ctl_check "LowSteps 2 HighSteps 2" "the same"
proof full core_ctl sq_core_ctl_check "LowSteps 3 HighSteps 2" "the same"

proof full core sq_core_check "LowLanes 2 HighLanes 1" "control and stream registers: all tiles of a job, no others"
tight u_rules.NothingHoarded "LowLanes 2 HighLanes 1 Inside 1"
fault u_rules.NothingInvented core/sq_core_ctl.sv "s/assign out_valid_o = .*/assign out_valid_o = 1'b1;/"
fault u_rules.NothingLost core/sq_core_ctl.sv 's/else if (out_fire) low_result_q/else if (out_ready_i) low_result_q/'
fault u_rules.Live core/sq_core_ctl.sv "s/bank_full_q <= 1'b1;/bank_full_q <= 1'b0;/"
fault u_rules.OfferHeld core/sq_core_ctl.sv 's/assign out_valid_o = \(.*\);/assign out_valid_o = \1 \&\& hi_valid_i;/'

# One beat for each, or one tile for each group: a beat too many at the ports of FILE, too few, none.
unit() { # quick|full BLOCK FILE NUMBER LATENCY INSIDE EVERY [MORE]
  local more=${8:+ $8}
  proof "$1" "$2" sq_units_check "Unit $4 Latency $5 Inside $6 Every $7$more" \
    "latency $5, a beat every $7, at most $6 inside; none lost, invented or stuck"
  tight u_rules.NothingLost "Unit $4 Latency $(($5 - 1)) Inside $6 Every $7$more"
  tight u_rules.NothingHoarded "Unit $4 Latency $5 Inside $(($6 - 1)) Every $7$more"
  if [ "$7" = 1 ]; then
    fault u_rules.Live "$3" 's/assign in_ready_o = \(.*\);/assign in_ready_o = \1 \&\& out_valid_o;/'
  else
    tight u_rules.Live "Unit $4 Latency $5 Inside $6 Every $(($7 - 1))$more"
  fi
  fault u_rules.NothingInvented "$3" "s/assign out_valid_o = .*;/assign out_valid_o = 1'b1;/"
  fault u_rules.NothingLost "$3" 's/assign out_valid_o = \(.*\);/assign out_valid_o = \1 \&\& in_valid_i;/'
  if [ "$2" = act_quant ]; then
    fault u_rules.OfferHeld core/sq_act_quant.sv 's/\.out_valid_o, \.out_ready_i, \.out_code_o(low)/.out_valid_o(offer), .out_ready_i, .out_code_o(low)/; s/^  sq_requant #(/  logic offer; assign out_valid_o = offer \&\& in_valid_i;\n  sq_requant #(/'
  else
    fault u_rules.OfferHeld "$3" 's/assign out_valid_o = \(.*\);/assign out_valid_o = \1 \&\& in_valid_i;/'
  fi
}
unit quick topk core/sq_topk_rank.sv 0 2 2 1
unit quick topk core/sq_topk_radix.sv 1 8 1 8
unit quick meta24 sp24/sq_meta24.sv 2 2 2 1
unit quick gather core/sq_gather.sv 3 3 3 1
unit quick requant output/sq_requant.sv 7 3 3 1
unit quick array array/sq_array.sv 4 3 3 1
unit full array array/sq_array.sv 4 4 4 1 "Layout 1"
unit full array array/sq_array.sv 4 4 4 1 "Layout 2"
unit full array array/sq_array.sv 4 4 4 1 "Layout 3"
unit full act_quant core/sq_topk_rank.sv 5 5 5 1
unit full act_quant core/sq_topk_radix.sv 5 7 2 4

proof quick act_buffer sq_act_buffer_check "Depth 2" \
  "two tiles at most; each whole, in order, as often as asked"
fault TwoTiles array/sq_act_buffer.sv "s/assign in_ready_o = .*;/assign in_ready_o = 1'b1;/"
fault OfferedWhenComplete array/sq_act_buffer.sv 's/assign out_valid_o = .*;/assign out_valid_o = full_q[write_bank_q];/'
fault TakesWhenRoom array/sq_act_buffer.sv 's/assign in_ready_o = .*;/assign in_ready_o = full_q == 0;/'
fault BeatsInOrder array/sq_act_buffer.sv 's/(read_bank_q ? AddressW/(write_bank_q ? AddressW/'
fault LastOfPass array/sq_act_buffer.sv 's/read_q == end_q\[read_bank_q\]/read_q == end_q[write_bank_q]/'
proof full act_buffer sq_act_buffer_check "Depth 1" "the same"
proof full act_buffer sq_act_buffer_check "Depth 3" "the same"

proof full spqr_dec sq_spqr_dec_check "Words 4" \
  "a tile leaves whole, from the cycle after its last word; one tile inside"
tight u_rules.NothingHoarded "Words 4 Inside 3"
fault u_rules.NothingInvented spqr/sq_spqr_dec.sv "s/assign out_valid_o = .*;/assign out_valid_o = 1'b1;/"
fault u_rules.NothingLost spqr/sq_spqr_dec.sv 's/assign out_valid_o = \(.*\);/assign out_valid_o = \1 \&\& in_valid_i;/'
fault u_rules.OfferHeld spqr/sq_spqr_dec.sv 's/assign out_valid_o = \(.*\);/assign out_valid_o = \1 \&\& in_valid_i;/'
fault u_rules.Live spqr/sq_spqr_dec.sv 's/write_q < read_q || (write_q == read_q \&\& out_ready_i)/0/; s/assign out_valid_o = .*/assign out_valid_o = reading_q \&\& !in_valid_i;/'
fault LastOfTile spqr/sq_spqr_dec.sv 's/assign out_last_o = \(.*\);/assign out_last_o = \1 || in_valid_i;/'
proof full spqr_dec sq_spqr_dec_check "Words 16" "the same"
proof full spqr_dec sq_spqr_dec_check "Words 1" "the same"

proof quick gqsa_walk sq_gqsa_walk_check "Rows 2" \
  "a step per group or empty row, no other; two rows inside at most; flags of rows"
tight RowsInside "Rows 1"
fault GroupsOfRows gqsa/sq_gqsa_walk.sv "s/assign group_ready_o = .*;/assign group_ready_o = 1'b1;/"
fault FlagsOfRow gqsa/sq_gqsa_walk.sv 's/out_first_q <= first_q;/out_first_q <= 1;/'
fault u_rules.NothingInvented gqsa/sq_gqsa_walk.sv 's/start_q <= !in_last_i;/start_q <= 1;/' # after a matrix without rows
fault u_rules.NothingLost gqsa/sq_gqsa_walk.sv 's/assign out_valid_o = \(.*\);/assign out_valid_o = \1 \&\& !in_valid_i;/'
fault u_rules.OfferHeld gqsa/sq_gqsa_walk.sv 's/assign out_valid_o = \(.*\);/assign out_valid_o = \1 \&\& in_valid_i;/'
fault u_rules.Live gqsa/sq_gqsa_walk.sv "s/assign in_ready_o = .*;/assign in_ready_o = 1'b0;/"
fault u_rules.NothingHoarded gqsa/sq_gqsa_walk.sv "s/assign in_ready_o = .*;/assign in_ready_o = 1'b1;/"

proof quick spqt_idx sq_spqt_idx_check "Lanes 2" \
  "full beats but for the last, one last beat for each vector; buffer bound; never stuck"
fault FullBeats spqt/sq_spqt_idx.sv "s/assign out_valid_o = .*;/assign out_valid_o = 1'b1;/"
fault EndOnce spqt/sq_spqt_idx.sv "s/assign out_valid_o = .*;/assign out_valid_o = 1'b1;/; s/assign out_last_o = .*;/assign out_last_o = 1'b1;/"
fault EndComes spqt/sq_spqt_idx.sv 's/assign out_valid_o = \(.*\);/assign out_valid_o = (\1) \&\& in_valid_i;/'
fault Live spqt/sq_spqt_idx.sv "s/assign in_ready_o = .*;/assign in_ready_o = 1'b0;/"

proof quick bank_steps sq_bank_steps_check "BankLen 5 Lanes 2" \
  "the steps of a bank in order, the bank taken with the last"
fault StepPerOffer core/sq_bank_steps.sv "s/assign out_valid_o = .*;/assign out_valid_o = in_valid_i \&\& !last;/"
fault TakenWithLast core/sq_bank_steps.sv "s/assign in_ready_o = .*;/assign in_ready_o = out_ready_i;/"
fault ElementsInOrder core/sq_bank_steps.sv 's/if (step_q == StepW.(s))/if (step_q == StepW'"'"'(s) || s == 0)/; s/+: LineW\] = bank/+: LineW] = out_data_o[l*LineW +: LineW] | bank/'
proof full bank_steps sq_bank_steps_check "BankLen 4 Lanes 2" "the same"

proof quick gather sq_gather_spec_check "BankLen 8" \
  "rank, select and mux = a walk of the bank (SPEC A.6, D.8); crossbar" sat
fault Cleaned core/sq_gather_rank.sv 's/(lane_i\[i\] \&\& !masked\[i\])/(lane_i[i])/'
fault Counted core/sq_gather_rank.sv 's/assign count_o = count/assign count_o = count | count_i/; s/count = count_i;/count = 0;/; s/+ CountW.(masked\[i\])/+ CountW'"'"'(masked[i] \&\& i != 1)/'
fault Gathered core/sq_gather_sel.sv 's/slot_i\[i\] \&\& ((RankW/((RankW/'
proof daily gather sq_gather_spec_check "BankLen 8 Gather 1" "the same; log network" sat
fault Gathered core/sq_gather_sel.sv 's/held\[j\] = take ||/held[j] =/'
proof full gather sq_gather_spec_check "BankLen 16 HighPerBank 4 Lanes 4 LowLanes 4" "the same; crossbar, ranks in four parts" sat
proof full gather sq_gather_spec_check "BankLen 16 HighPerBank 4 Lanes 4 Gather 1" "the same; log network" sat

# Data as wide as it is: by induction, the second entry joined to the harness.
proof quick pipe_reg sq_pipe_reg_check "Width 64" "a queue of two beats, order and data kept" induction \
  "skid=dut.skid_q skid_valid=dut.skid_valid_q"
fault CountBound flow/sq_pipe_reg.sv 's/assign in_ready_o = .*/assign in_ready_o = 1;/'
fault ValidWhenHeld flow/sq_pipe_reg.sv 's/assign out_valid_o = .*/assign out_valid_o = head_valid_q \&\& in_valid_i;/'
fault ReadyWhenRoom flow/sq_pipe_reg.sv 's/assign in_ready_o = .*/assign in_ready_o = !head_valid_q;/'
fault OldestFirst flow/sq_pipe_reg.sv 's/if (push) skid_q <= in_data_i;/skid_q <= in_data_i;/'
proof full pipe_reg sq_pipe_reg_check "Width 1024" "the same; the widest stream of any co-simulated core" \
  induction "skid=dut.skid_q skid_valid=dut.skid_valid_q"

# Largest legal sums: K = 28672. The accumulators of sq_core are 32 bits wide; SPEC A.6b says what
# they need, and with one bit less the proof fails.
SUMS="low_sum=dut.low_sum high_sum=dut.high_sum low_sum_q=dut.low_sum_q high_sum_q=dut.high_sum_q \
  low_acc_q=dut.low_acc_q"
proof quick pe sq_pe_check "AccW 32" "both sums exact for every group up to K = 28672" induction "$SUMS" \
  "u_mac_low u_mac_high u_gather_mux"
tight LowExact "AccW 25"
tight HighExact "AccW 29"
proof full pe sq_pe_check "AccW 30" "the same with the 30 bits of SPEC A.6b" induction "$SUMS" \
  "u_mac_low u_mac_high u_gather_mux"

# Any memory, legal or not; its own rules are in sq_axi_check.
proof quick dma sq_dma_check "MaxBurst 2" "what it asks keeps the rules of AXI4; a transfer ends with its beats"
fault ArInPage sq_pkg.sv "s/room = .*/room = ((13'd4096 - 13'(addr)) >> size) + 13'(addr != '0);/"
fault LastInTime top/sq_dma.sv "s/slot_last \&\& slot_end, status/slot_last \&\& slot_end \&\& !pad, status/"
fault ArHeld top/sq_dma.sv "s/else if (axi_ar_ready_i) axi_ar_valid_o <= 1'b0;/else axi_ar_valid_o <= 1'b0;/"
fault ArShort sq_pkg.sv "s/: 9'(most);/: 9'(most + 1);/"
fault FewWrites top/sq_dma.sv "s/open_q != OpenW'(Writes)/1'b1/"
fault WritesInOrder top/sq_dma.sv "s/(!data_q || w_ends) \&\& //"
fault LastOfWrite top/sq_dma.sv "s/axi_w_last_o = data_left_q == '0/axi_w_last_o = data_left_q == 8'd1/"
fault ResponseOfWrite top/sq_dma.sv "s/assign axi_b_ready_o = .*/assign axi_b_ready_o = open_q != '0;/"
fault AwInPage sq_pkg.sv "s/room = .*/room = ((13'd4096 - 13'(addr)) >> size) + 13'(addr != '0);/"
fault WHeld top/sq_dma.sv "s/assign axi_w_valid_o = .*/assign axi_w_valid_o = data_q \&\& data_valid \&\& !in_valid_i;/"
fault AwHeld top/sq_dma.sv "s/else if (axi_aw_ready_i) axi_aw_valid_o <= 1'b0;/else axi_aw_valid_o <= 1'b0;/"
fault ErrorOfItsOwn top/sq_dma.sv "s/(write_done_o || idle_o) write_status_q/(write_done_o) write_status_q/"
fault NothingOffered top/sq_dma.sv "s/!cur_q \&\& !axi_ar_valid_o \&\& /!cur_q \&\& /"
fault DataOfWrite top/sq_dma.sv "s/assign axi_w_valid_o = .*/assign axi_w_valid_o = data_valid;/"
proof full dma sq_dma_check "MaxBurst 1" "the same; bursts of one beat"
proof full dma sq_dma_check "MaxBurst 2 Writes 1" "the same; one burst is written at a time"
proof full dma sq_dma_check "MaxBurst 4 CountW 3" "the same; transfers of up to seven"

# At the widths of the chip.
proof quick dma_burst sq_dma_burst_check "DataW 64 MaxBurst 256" \
  "a burst keeps to its page, its beats and its transfer, and is as long as it can be" sat
fault InPage sq_pkg.sv "s/room = .*/room = ((13'd4096 - 13'(addr)) >> size) + 13'(addr != '0);/"
fault Short top/sq_dma_burst.sv "s/assign len_o = .*/assign len_o = 8'(limit_i) - 1'b1;/"
fault Longest sq_pkg.sv "s/: 9'(most);/: 9'(most - 1);/"
fault Follows top/sq_dma_burst.sv "s/addr_i + (AddrW'(limit_i) << SizeW)/addr_i + AddrW'(limit_i)/"
fault Last top/sq_dma_burst.sv "s/assign last_o = .*/assign last_o = LeftW'(left_i) < LeftW'(limit_i);/"
fault Limit top/sq_dma_burst.sv "s/burst_limit(next_addr_o/burst_limit(addr_i/"
proof full dma_burst sq_dma_burst_check "DataW 64 MaxBurst 16" "the same; bursts of at most 16 beats" sat
proof full dma_burst sq_dma_burst_check "DataW 1024 MaxBurst 256" "the same; the widest bus, whose page holds fewer beats than a burst" sat

proof quick sram sq_sram_check "Width 24" "a lost bit of any byte is told, and a poisoned word"
fault LossTold top/sq_sram.sv 's/wrong_q\[b\] <= \(.*\);/wrong_q[b] <= b == 0 \&\& (\1);/'
fault PoisonTold top/sq_sram.sv 's/ ^ poison_i;/ ^ (poison_i \&\& 1'"'b0);/"

# Any host, one that keeps the rules or not.
proof quick top_regs sq_top_regs_check "Depth 16" \
  "AXI4-Lite: one response for each address, and for each pair of address and data; OKAY or SLVERR, the same until it is taken; no interrupt is lost"
tight AddressKept "Depth 16 Ahead 0"
tight u_writes.NothingHoarded "Depth 16 WriteInside 1"
tight u_writes.NothingLost "Depth 16 WriteWait 1"
tight u_writes.Live "Depth 16 WriteLive 1"
fault u_writes.NothingInvented top/sq_top_regs.sv "s/assign write = .*/assign write = aw_q \&\& !lite_b_valid_o;/"
fault u_writes.OfferHeld top/sq_top_regs.sv "s/else if (lite_b_ready_i) lite_b_valid_o <= 1'b0;/else lite_b_valid_o <= 1'b0;/"
fault u_reads.NothingHoarded top/sq_top_regs.sv "s/assign lite_ar_ready_o = .*/assign lite_ar_ready_o = 1'b1;/"
fault u_reads.NothingLost top/sq_top_regs.sv "s/else if (lite_ar_ready_o) lite_r_valid_o <= lite_ar_valid_i;/else if (lite_ar_ready_o) lite_r_valid_o <= lite_ar_valid_i \&\& read_ok;/"
fault u_reads.NothingInvented top/sq_top_regs.sv "s/else if (lite_ar_ready_o) lite_r_valid_o <= lite_ar_valid_i;/else if (lite_ar_ready_o) lite_r_valid_o <= lite_ar_valid_i || done_i;/"
fault u_reads.OfferHeld top/sq_top_regs.sv "s/else if (lite_r_ready_i) lite_r_valid_o <= 1'b0;/else lite_r_valid_o <= 1'b0;/"
fault u_reads.Live top/sq_top_regs.sv "s/assign lite_ar_ready_o = .*/assign lite_ar_ready_o = !lite_r_valid_o \&\& !busy_q;/"
fault Answered top/sq_top_regs.sv "s/lite_b_resp_o <= write_ok ? 2'b00 : Slverr/lite_b_resp_o <= write_ok ? 2'b00 : 2'b11/"
fault PartsRefused top/sq_top_regs.sv "s/if (w_strb_q != 4'hf) write_ok = 1'b0;/if (w_strb_q == 4'h0) write_ok = 1'b0;/"
fault CrookedRefused top/sq_top_regs.sv "s/read_ok = lite_ar_addr_i\[1:0\] == 2'b00;/read_ok = !lite_ar_addr_i[0];/"
fault InterruptKept top/sq_top_regs.sv "s/if (notice_i) irq_state_q\[0\] <= 1'b1;/if (notice_i \&\& !(write \&\& write_ok \&\& aw_word == sq_regs_pkg::REG_IRQ_STATE)) irq_state_q[0] <= 1'b1;/"
fault RingBegins top/sq_top_regs.sv "s/w_data_q\[15:0\] != head_i/w_data_q[7:0] != head_i[7:0]/"
fault IdRead top/sq_top_regs.sv "s/if (ar_fire) begin/if (lite_ar_valid_i) begin/"
fault RHeld top/sq_top_regs.sv "s/if (ar_fire) begin/if (lite_ar_valid_i) begin/"
fault BHeld top/sq_top_regs.sv "s/if (write) lite_b_resp_o/if (aw_q) lite_b_resp_o/"

# A memory that keeps the rules but takes its time.
M="MaxBurst 2"
proof daily dma sq_dma_memory_check "$M" \
  "as many beats move as transfers have, each within 12 cycles; none is taken without a request; beats and responses are taken in time"
tight OpenBound "$M Open 1"
tight WritesBound "$M WritesOpen 1"
fault u_reads.NothingHoarded top/sq_dma.sv "s/assign job_ready_o = .*/assign job_ready_o = 1'b1;/"
fault u_writes.NothingHoarded top/sq_dma.sv "s/assign job_ready_o = .*/assign job_ready_o = 1'b1;/"
fault u_reads.NothingLost top/sq_dma.sv "s/(issue \&\& last_burst) || abort_i) cur_q/issue || abort_i) cur_q/"
fault u_writes.NothingLost top/sq_dma.sv "s/((begins \&\& to_last) || abort_i) busy_q/(begins || abort_i) busy_q/"
fault u_reads.Live top/sq_dma.sv "s/assign axi_b_ready_o = .*/assign axi_b_ready_o = 1'b0;/"
fault u_writes.Live top/sq_dma.sv "s/assign axi_b_ready_o = .*/assign axi_b_ready_o = 1'b0;/"
fault ReadOfRequest top/sq_dma.sv "s/assign axi_r_ready_o = .*/assign axi_r_ready_o = broken_q || beat_ready;/"
fault ReadTaken top/sq_dma.sv "s/assign axi_r_ready_o = .*/assign axi_r_ready_o = broken_q || (slot_valid \&\& beat_ready \&\& !job_valid_i);/"
fault AnswerTaken top/sq_dma.sv "s/assign axi_b_ready_o = .*/assign axi_b_ready_o = open_q > OpenW'(data_q || axi_aw_valid_o || in_valid_i);/"
fault LastUnderstood top/sq_dma.sv "s/axi_ar_len_o <= len;/axi_ar_len_o <= last_burst ? len : 8'd0;/"
fault u_reads.NothingInvented top/sq_dma_burst.sv "s/assign next_left_o = .*/assign next_left_o = left_i;/"
fault u_reads.OfferHeld flow/sq_pipe_reg.sv "s/assign out_valid_o = .*/assign out_valid_o = head_valid_q \&\& in_valid_i;/"
fault u_writes.NothingInvented top/sq_dma.sv "s/assign axi_w_valid_o = .*/assign axi_w_valid_o = data_valid;/"
fault u_writes.OfferHeld top/sq_dma.sv "s/assign axi_w_valid_o = .*/assign axi_w_valid_o = data_q \&\& data_valid \&\& !job_valid_i;/"
