// SPDX-License-Identifier: Apache-2.0
// Constants and width functions shared by all modules. models/sq_config.h and sim/block/sq_cause.h hold
// the C side of the enumerations; tests/rtl/pkg.t checks that both say the same.
package sq_pkg;

  // Gather architectures: enum sq_gather_arch.
  localparam int unsigned GATHER_CROSSBAR = 0;  // one-hot AND-OR select per slot
  localparam int unsigned GATHER_LOG = 1;  // log2(b) compaction stages

  // TopK architectures (SPEC C.3): enum sq_topk_arch.
  localparam int unsigned TOPK_RANK = 0;  // all pairs at once, one bank per cycle
  localparam int unsigned TOPK_RADIX = 1;  // one magnitude bit per cycle

  // What the coded operand of sq_array looks like: enum sq_array_format.
  localparam int unsigned FORMAT_DENSE = 0;  // one code per element
  localparam int unsigned FORMAT_SENTINEL = 1;  // low codes with mask codes, compact high codes
  localparam int unsigned FORMAT_SPLIT = 2;  // low nibbles, mask bits, compact upper nibbles
  localparam int unsigned FORMAT_COMPACT = 3;  // mask bits, compact low codes, compact high codes
  localparam int unsigned FORMAT_SP24 = 4;  // 2:4: compact values, metadata nibbles

  // What a path did in one cycle: enum sq_cause. Exactly one applies in every cycle of a job.
  localparam int unsigned CAUSE_BUSY = 0;  // a step was accepted
  localparam int unsigned CAUSE_FILLING = 1;  // no bank has been completed yet
  localparam int unsigned CAUSE_WAIT_ACT = 2;  // no activation beat
  localparam int unsigned CAUSE_WAIT_WEIGHT = 3;  // no code beat
  localparam int unsigned CAUSE_WAIT_HIGH = 4;  // the bank buffer is held by the high path
  localparam int unsigned CAUSE_WAIT_MASK = 5;  // no complete bank, hence no mask
  localparam int unsigned CAUSE_BLOCKED_OUTPUT = 6;  // results not taken
  localparam int unsigned CAUSE_DRAINING = 7;  // all steps of the job were accepted
  localparam int unsigned N_CAUSES = 8;
  localparam int unsigned CAUSE_W = 3;

  localparam int unsigned COUNT_W = 32;  // a cause counter
  localparam int unsigned GROUP_BANKS_W = 16;  // banks per scale group of a job
  localparam int unsigned GROUPS_W = 32;  // scale groups (accumulator tiles) of a job

  function automatic int unsigned ceil_div(int unsigned a, int unsigned b);
    ceil_div = (a + b - 1) / b;
  endfunction

  // Bits of an index 0..n-1, at least 1.
  function automatic int unsigned index_w(int unsigned n);
    index_w = (n > 1) ? $clog2(n) : 1;
  endfunction

  // sq_array: elements of the dense plane of one bank, bits of its mask (explicit mask bits or 2:4
  // nibbles; 1 unused bit where there is none), and register stages before the PEs.
  function automatic int unsigned low_lanes(int unsigned fmt, int unsigned b, int unsigned k);
    case (fmt)
      sq_pkg::FORMAT_COMPACT: low_lanes = b - k;
      sq_pkg::FORMAT_SP24: low_lanes = b / 2;
      default: low_lanes = b;
    endcase
  endfunction

  function automatic int unsigned mask_w(int unsigned fmt, int unsigned b);
    case (fmt)
      sq_pkg::FORMAT_DENSE, sq_pkg::FORMAT_SENTINEL: mask_w = 1;
      default: mask_w = b;
    endcase
  endfunction

  function automatic int unsigned operand_stages(int unsigned fmt);
    case (fmt)
      sq_pkg::FORMAT_DENSE, sq_pkg::FORMAT_SP24: operand_stages = 1;
      default: operand_stages = 2;
    endcase
  endfunction

  // Controls of sq_gather_mux.
  function automatic int unsigned gather_ctl_w(int unsigned arch, int unsigned b, int unsigned lanes);
    gather_ctl_w = (arch == sq_pkg::GATHER_LOG) ? $clog2(b) * b + lanes : lanes * b;
  endfunction

endpackage
