# SPDX-License-Identifier: Apache-2.0
# A file of joules a MAC as sqsim energy --layer --json prints it, of figures that are easy to follow.
# A table with one layer: 2 beats of 16 MACs in 4 cycles. PE: changes of 320 fJ, with delays 640; clock pins
# 128 fJ; leakage 40 fJ in 40 ns. Output: changes 32 fJ. Lines: changes 64 fJ, clock pins 64 fJ.
table() { # PE_CHANGE PE_CHANGE_WITH_DELAYS
  local mode
  printf '{"block":"engine_array","parameters":{"Rows":1,"Cols":1},"liberty_digest":"%032d","is_golden":true,' 7
  printf '"recipe":{"format":"dense","weight_bits":4,"group":128,"act_bits":8},"macs":32,"beats":2,"cycles":4,"clock_ns":10'
  for mode in "zero_delay $1" "with_delays $2"; do
    set -- $mode
    printf ',"%s":{"pes_aj":{"switching":%d,"internal":0,"clock":128000,"leakage":40000},"parts_aj":[' "$1" "$2"
    printf '{"part":"products","switching":%d,"internal":0,"clock":128000,"leakage":40000},' "$2"
    printf '{"part":"operand registers","switching":24000,"internal":40000,"clock":64000,"leakage":0},'
    printf '{"part":"output","switching":0,"internal":32000,"clock":0,"leakage":0}]}'
  done
  printf '}\n{"summary":true}\n'
}
