// SPDX-License-Identifier: Apache-2.0
// Constants and width functions shared by all modules. models/sq_config.h and sim/sq_cause.h hold
// the C side of the enumerations; tests/rtl/test_pkg checks that both say the same.
package sq_pkg;

  // Gather architectures: enum sq_gather_arch.
  localparam int unsigned GATHER_CROSSBAR = 0;  // one-hot AND-OR select per slot
  localparam int unsigned GATHER_LOG = 1;  // log2(b) compaction stages

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

endpackage
