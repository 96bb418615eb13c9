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
# The same engine on sim/machines/chip.yaml, 2x4 PEs that take 16 elements in each of 2 beats, and the chip's own line: clock pins
# of 3000 fJ a cycle in the engine, 500 around it; leakage 30 and 5 uW. Its clock is PERIOD ns.
chip_table() { # PERIOD
  table 320000 640000 | sed 's/"Rows":1,"Cols":1/"Rows":2,"Cols":4,"BankLen":16/; s/"macs":32/"macs":256/'
  printf '{"block":"top","parameters":{"DataW":64,"Rows":2,"Cols":4,"BankLen":16,"ActW":8,"WeightW":4,"Layout":0,"HighPerBank":1,"HighW":4,"OnActs":0,'
  printf '"OneAcc":1,"Form":0,"OutKind":0,"PortLen":2,"ActDepth":256,"RowDepth":512,"WeightDepth":512,"ColDepth":256,"SumTiles":64,"MaxBurst":32,'
  printf '"Outstanding":4,"Writes":4,"Quiet":400,"Macro":256,"Element":0,"Scale":0,"High":0,"CountStart":0,"Parts":0},"liberty_digest":"%032d","min_period_ns":%s,' 7 "$1"
  printf '"parts":{"PEs/sq_pe_dense":{"count":8,"um2":1,"clock_fj":1100,"leak_uw":12},"decoders/sq_line":{"count":6,"um2":1,"clock_fj":650,"leak_uw":7},"engine/sq_ctl":{"count":1,"um2":1,"clock_fj":250,"leak_uw":1},"output stage/sq_output":{"count":1,"um2":1,"clock_fj":1000,"leak_uw":10},'
  printf '"DMA and ring/sq_dma":{"count":1,"um2":1,"clock_fj":300,"leak_uw":3},"queues/sq_top":{"count":1,"um2":1,"clock_fj":200,"leak_uw":2}}}\n'
}
# The same of the vector unit, with two lanes, 4 beats in 4 cycles: 8 operations of 100 fJ, with delays 200; clock pins 10 fJ a lane and cycle;
# leakage 0.1 uW a lane.
vector_line() {
  local part='"parts_aj":[{"part":"products","switching":%d,"internal":0,"clock":80000,"leakage":8000}]'
  printf '{"block":"vector","parameters":{"Lanes":2},"liberty_digest":"%032d","is_golden":true,"recipe":null,"macs":0,"beats":4,"cycles":4,"clock_ns":10' 7
  printf ",\"zero_delay\":{$part},\"with_delays\":{$part}}\n" 800000 1600000
}
# The same of an attention unit of two queries over 4 codes a beat: 200 fJ a beat of a key, with delays 400.
attend_line() {
  vector_line | sed 's/"block":"vector","parameters":{"Lanes":2}/"block":"attend","parameters":{"Lanes":4,"Heads":2,"HeadDim":32,"Ahead":8,"IsInt8":0}/'
}
# All lines of sim/machines/chip.yaml with encoder, vector unit and such an attention unit.
token_table() { # PERIOD
  chip_table "$1" | sed 's/"OutKind":0,"PortLen":2/"OutKind":1,"PortLen":4/; s/"Parts":0}/"Parts":0,"Encode":4,"Vector":1,"Attend":162}/'
  vector_line
  attend_line
}
# A memory as a Liberty file: energies of a read and of leakage, of an edge up and down of the data bus.
macro() { # READ LEAKAGE
  cat <<END
library (m) { nom_voltage : 1.2; time_unit : "1ns"; voltage_unit : "1V"; current_unit : "1uA"; leakage_power_unit : "1pW"; capacitive_load_unit (1, pf);
  cell (m) { memory () { type : ram; address_width : 6; word_width : 64; } cell_leakage_power : $2;
    bus (A_DIN) { memory_write () { address : A_ADDR; } pin (A_DIN[63:0]) { internal_power () { rise_power (scalar) { values ("${3:-2}"); } fall_power (scalar) { values ("${4:-5}"); } } } }
    pin (A_CLK) { clock : true; direction : input;
      internal_power () { when : "A_MEN & A_REN & !A_WEN"; rise_power (scalar) { values ("$1"); } fall_power (scalar) { values ("0"); } }
      internal_power () { when : "A_MEN & !A_REN & A_WEN"; rise_power (scalar) { values ("1"); } fall_power (scalar) { values ("0"); } } } } }
END
}
