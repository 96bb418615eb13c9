#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Co-simulation of activation SQ with a dynamic mask on sq_core: mask units, requantisation, stores,
# steps, core, with stalls on activations, weights, jobs and sums. Sampled: rank and radix TopK,
# masks hidden and not, steps that nothing divides, both gathers. Then mutants, each of which must
# be found. When the MACs wait for masks is in tests/sim/test_core_act.c.
. "$(dirname "$0")/lib.sh"

campaign core_act 210 150000 "activation SQ on the core"
daily "seven points ran" && ok "seven points ran" [ "$(number points)" -ge 7 ]
netlist core_act small 10 500

mutate ratio_of_the_other_token core_act radix value rtl/core/sq_act_quant.sv \
  's/= mul\[l\*MulW +: MulW\]/= mul[(Lines-1-l)*MulW +: MulW]/'
mutate magnitude_one_less core_act rank value rtl/core/sq_act_quant.sv \
  's/: -value\[MagW-1:0\]/: ~value[MagW-1:0]/'
mutate last_step_first core_act few value rtl/core/sq_bank_steps.sv \
  's/= bank\[s\*LineW +: LineW\]/= bank[(Steps-1-s)*LineW +: LineW]/'
mutate bank_lost_before_the_high_path core_act rank cycle rtl/core/sq_core_act.sv \
  's/in_valid_i(high_valid), .in_ready_o(high_taken)/in_valid_i(high_valid \&\& !next_valid), .in_ready_o(high_taken)/'
finish
