#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make lint: every module alone, at several parameter sets, through both tools that read it; blocks
# at their quick points, which the program lists (SQSIM).
#   Verilator  -Wall; waivers with their reasons are in lint.vlt
#   Yosys      every warning is an error, as are missing drivers, loops and latches; the only
#              warning let through is the one about arrays that become registers, which is meant
#   grep       what one of them reads in silence as something else
# Prints one line per finding and fails, or one line with the number of runs. JOBS at a time (all
# processors). With SHORT=1 both tools read each module at one set of parameters alone, below a larger one where one has it, and of
# the blocks' points, which their tests build with -Wall, those of modules not listed here; of each module one parameter is refused.
cd "$(dirname "$0")" || exit 1
VERILATOR=${VERILATOR:-verilator} YOSYS=${YOSYS:-yosys} SQSIM=${SQSIM:-../build/sqsim}
LOG=$(mktemp)
trap 'rm -f "$LOG" "$LOG".*' EXIT
FAILED=0

fail() { # WHAT: shows the log
  echo "lint: $1"
  sed 's/^/  /' "$LOG"
  FAILED=1
}

# lint MODULE [NAME=VALUE...]: a line for `read_by`, which runs when all are there
: >"$LOG.list"
lint() { echo "$*" >>"$LOG.list"; }

# The folders of the modules, for Verilator. (A shell exports no arrays.)
FOLDERS=$(sed -n 's|/[^/]*$||p' files.f | sort -u | sed 's/^/-y /')

# path MODULE: its file, which may lie in a folder.
path() { grep -xE "(.*/)?$1\\.sv" files.f; }

# For each module its file and those of all modules below it, in the order of files.f: a line of $NEEDS.
# Reading all files for each run is nearly all of Yosys' time. Of those files it makes the modules, at the
# parameters, that the run needs (-defer); one run makes all, at the parameters of their own.
NEEDS=$LOG.needs
awk 'NR == FNR { file[++n] = $0; sub(".*/", ""); sub("[.]sv$", ""); name[n] = $0; number[$0] = n; next }
  FNR == 1 { at = FILENAME; sub(".*/", "", at); sub("[.]sv$", "", at); at = number[at] }
  { count = split($0, word, "[^A-Za-z0-9_]+"); for (i = 1; i <= count; i++) if (word[i] in number) uses[at, number[word[i]]] }
  function take(i, j) { if (i in taken) return; taken[i]; for (j = 1; j <= n; j++) if ((i, j) in uses) take(j) }
  END { for (i = 1; i <= n; i++) {
      split("", taken); taken[number["sq_pkg"]]; take(i); printf "%s", name[i]
      for (j = 1; j <= n; j++) if (j in taken) printf " %s", file[j]
      print "" } }' files.f $(<files.f) >"$NEEDS"

# A reset goes to asynchronous resets, and to multiplexers that test_en_i selects.
# read_by TOOL MODULE [NAME=VALUE...]; TOOL "both": unless one that was read before has it
read_by() {
  if [ "$1" = both ]; then
    ! grep -qE "[ \\\\]$2(\\\\|\$)" "$SEEN" || return 0
    (read_by yosys "${@:2}") && read_by verilator "${@:2}"
    return
  fi
  local tool=$1 top=$2 set="" g=() p; shift 2
  LOG=$(mktemp "$LOG.XXXXXX")
  for p; do g+=("-G$p"); set+=" -set ${p%=*} ${p#*=}"; done
  [ "$tool" = yosys ] || "$VERILATOR" --lint-only -Wall -y . $FOLDERS -I. lint.vlt sq_pkg.sv top/sq_regs_pkg.sv "$(path "$top")" --top-module "$top" \
    "${g[@]}" >"$LOG" 2>&1 && [ ! -s "$LOG" ] || fail "verilator: $top $*"
  [ "$tool" = verilator ] || "$YOSYS" -q -e . -w 'Replacing memory' -p "
    read_verilog -defer -nodpi -sv -I. $(sed -n "s/^$top //p" "$NEEDS")
    ${set:+chparam $set $top}
    hierarchy -check -top $top
    tee -q -a $SEEN ls
    proc
    flatten
    opt_clean
    check -assert
    select -assert-none t:\$dlatch t:\$adlatch t:\$dlatchsr
    opt_clean -purge
    select -assert-none i:rst_ni %co1:-[ARST] i:rst_ni %d i:test_en_i %co1:+[S] %d" >"$LOG" 2>&1 ||
    fail "yosys: $top $*"
  rm -f "$LOG"
  return $FAILED
}

# Netlists are made of all files at once: Yosys 0.23 reads a module again where an expression stands at a port of an
# instance that has parameters, and one whose own parameters were set has then another name.
netlist_of() { # MODULE NAME=VALUE
  "$YOSYS" -q -p "read_verilog -DSYNTHESIS -nodpi -sv -I. $(sed -n "s/^$1 //p" "$NEEDS"); chparam -set ${2%=*} ${2#*=} $1
    hierarchy -check -top $1; select -assert-any $1" >"$LOG" 2>&1 || fail "yosys: $*, as \`sqsim area\` reads it"
}

# Lanes that divide nothing, banks shorter than the lanes, and both gathers. A module that is neither here nor a block is
# read as it stands.
lint sq_pipe_reg Width=1
lint sq_pipe_reg Width=40
for w in "Len=16 Bits=10 IsBf16=1" "Len=4 Bits=9 IsBf16=0"; do lint sq_hadamard_integer $w; done
for w in "AW=8 BW=8" "AW=8 BW=4" "AW=4 BW=2" "AW=2 BW=2" "AW=5 BW=7"; do lint sq_mul $w; done
for l in 1 3 16; do
  lint sq_dot Lanes=$l AW=8 BW=4
  lint sq_mac_low Lanes=$l ActW=8 LowW=3
  lint sq_mac_high Lanes=$l ActW=4 HighW=8
  lint sq_mac_low Lanes=$l ActW=9 LowW=5 IsFp=1
  lint sq_mac_high Lanes=$l ActW=9 HighW=9 IsFp=1
done
for b in "Lanes=16 BankLen=32" "Lanes=5 BankLen=8" "Lanes=16 BankLen=4" "Lanes=1 BankLen=4"; do
  lint sq_bank_buf $b Width=8
  lint sq_gather_rank $b HighPerBank=2 LowW=4
done
for s in "LowSteps=1 HighSteps=1" "LowSteps=3 HighSteps=2" "LowSteps=4 HighSteps=5"; do
  lint sq_core_ctl $s
done
for g in 0 1; do
  lint sq_gather_sel BankLen=16 HighPerBank=4 Lanes=4 Gather=$g
  lint sq_gather_sel BankLen=8 HighPerBank=4 Lanes=3 Gather=$g
  lint sq_gather_sel BankLen=4 HighPerBank=1 Lanes=1 Gather=$g
  lint sq_gather_mux BankLen=16 Lanes=4 ActW=8 Gather=$g
  lint sq_gather_mux BankLen=4 Lanes=1 ActW=4 Gather=$g
  lint sq_gather BankLen=4 HighPerBank=1 LowW=2 ActW=4 Gather=$g
  lint sq_pe BankLen=16 LowLanes=16 HighLanes=4 Gather=$g
  lint sq_pe BankLen=8 LowLanes=3 HighLanes=1 ActW=4 LowW=2 HighW=4 AccW=24 Gather=$g
  lint sq_pe BankLen=8 LowLanes=3 HighLanes=1 ActW=9 LowW=5 HighW=9 AccW=48 IsFp=1 Gather=$g
  lint sq_core Rows=1 Cols=3 LowLanes=5 HighLanes=3 BankLen=16 HighPerBank=8 ActW=4 Gather=$g
  lint sq_core Rows=1 Cols=1 LowLanes=16 HighLanes=2 BankLen=8 HighPerBank=1 Counters=0 Gather=$g
done
for p in "" "Picked=12 Width=8"; do lint sq_gather_pick $p; done
for w in 1 2 16; do lint sq_popcount Width=$w; done
for b in "BankLen=4 HighPerBank=1 MagW=2" "BankLen=16 HighPerBank=8 MagW=15"; do
  lint sq_topk_rank $b
  lint sq_topk_radix $b
done
lint sq_topk_radix BankLen=8 HighPerBank=4 MagW=1
for k in 1 2; do lint sq_topk_tree BankLen=8 HighPerBank=$k MagW=3; done
for w in 1 16; do lint sq_topk_first BankLen=2 KeyW=$w; done
lint sq_acc SumW=12 AccW=24
lint sq_pe_dense Lanes=3 AW=6 BW=4
lint sq_pe_24 BankLen=8 PlainW=8 ValueW=8
# Formats: dense, sentinel, split, compact, 2:4.
dense="Layout=0 OnActs=0 PlainW=8"
for p in "$dense LowW=6" "Layout=1 OnActs=0 OneAcc=0 PlainW=8 HighW=8" "Layout=1 OneAcc=1 HighW=8" \
  "Layout=2" "Layout=2 OneAcc=0 Banks=2 HighLen=8" "Layout=3 OneAcc=0 HighW=8" \
  "Layout=4 OnActs=0 PlainW=8 LowW=8"; do
  lint sq_array Rows=2 Cols=1 BankLen=8 HighPerBank=2 $p
  lint sq_array Rows=1 Cols=2 BankLen=8 HighPerBank=2 Gather=1 $p
done
for f in 0 1 2 3 4; do lint sq_array_code BankLen=8 HighPerBank=2 Layout=$f; done
lint sq_array_code BankLen=8 HighPerBank=1 HighLen=8
lint sq_pe_mixed Banks=2 BankLen=8 LowLanes=8 HighLanes=1 "OneAcc=1'b1" HighShift=4
lint sq_pe_mixed BankLen=8 LowLanes=6 HighLanes=2 "LowGather=1'b1" "OneAcc=1'b0"
lint sq_requant Lanes=1 OutW=2
for w in 28 32 48; do lint sq_fp_round SigW=$w; done
lint sq_fp_from_int
lint sq_fp_from_int Width=48 Fraction=18
lint sq_delay Width=3 Stages=0
for m in sq_mul_sig sq_fp_mul sq_fp_add sq_fp_scale sq_fp_mul_wide; do for c in 0 1; do lint $m "Cut=1'b$c"; done; done
for f in 0 1 2 3; do lint sq_combine Lanes=2 Slots=4 Form=$f Sums=1 Cut=1; done
lint sq_fixed_float "Cut=1'b1"
lint sq_fixed_float Width=40 Carry=0
lint sq_combine Lanes=2 Form=3 SumW=62 Carry=16 LoFraction=20 Cut=1
lint sq_attend_lane Beats=1
lint sq_attend_pair Heads=2
lint sq_vector_join
lint sq_vector_join "Cut=1'b1"
lint sq_vector_join "Halved=1'b1"
for l in 1 2; do lint sq_vector Lanes=$l; done
lint sq_vector Lanes=4 Cut=1
for w in 32 64; do lint sq_vector_operand DataW=$w; lint sq_top_vector DataW=$w; done
lint sq_top_check Parts=4
for a in 130 145; do lint sq_top_attend Attend=$a; done
for d in 2 5; do lint sq_fifo Depth=$d; done
for f in 0 1 2 3; do lint sq_output Rows=2 Cols=3 Lanes=2 Form=$f OutKind=$((f % 3)) Hold=1 TagW=3 Sums=$((f % 2)); done
for f in 0 1 2 3; do lint sq_combine Lanes=1 Slots=3 Form=$f IsBf16=1 Sums=1; done
lint sq_output Rows=2 Cols=3 Form=0 Sums=3
for f in 0 1 2; do lint sq_output Rows=2 Cols=3 Hold=1 Form=$f Sums=2; done
lint sq_output SumW=48 LoFraction=10 HiFraction=18
for h in 0 1; do lint sq_output Rows=2 Cols=3 Lanes=3 Form=2 SumW=40 HiFraction=9 Hold=$h; done
lint sq_combine Slots=2 SumW=48 LoFraction=10 HiFraction=18
for e in "Element=0 Scale=0" "Element=1 Scale=3" "Element=2 Scale=2"; do lint sq_block_line $e; done
for e in 3 4 5 6 8 9; do lint sq_block_line BankLen=32 Element=$e Scale=2; done
# The one table whose decoder is in the tree (tests/rtl/table.t reads others).
TABLE=$(sed -nE 's/.* Element = ([0-9]+)$/\1/p' scaled/sq_element_table.sv)
lint sq_block_line Element=$TABLE
for s in 4 5 6 7 8; do lint sq_block_line Element=0 Scale=$s; done
for e in "AElement=0 BElement=4" "AElement=2 BElement=5" "AElement=6 BElement=6"; do lint sq_dot_element Lanes=3 $e; done
for e in "ActScale=1 WeightScale=0" "ActScale=0 WeightScale=0" "ActScale=2 WeightScale=1" "ActScale=6 WeightScale=6" "ActScale=6 WeightScale=1" "ActScale=2 WeightScale=6" "ActScale=6 WeightScale=0" "ActScale=7 WeightScale=7" "ActScale=8 WeightScale=8" "ActScale=8 WeightScale=0"; do lint sq_scale_pair $e; done
for s in 0 1; do lint sq_scaled_ctl Sums=$s Result=$s; done
for s in 0 1; do lint sq_acc_binary32 Sums=$s; done
lint sq_acc_binary32 SigW=1 ExpW=10 "IsWide=1'b1"
for s in 1 4; do lint sq_acc_fixed SigW=$s; lint sq_acc_fixed SigW=$s TwoBlocks=1; done
lint sq_pe_scaled HighLanes=2 ActElement=0
for s in 4 5 6 8; do lint sq_pe_scaled ActElement=$TABLE WeightElement=$TABLE ActScale=$s WeightScale=$s; done
lint sq_pe_scaled Acc=1 AccW=41
lint sq_pe_scaled Acc=1 AccW=41 TwoBlocks=1
lint sq_pe_scaled Acc=1 AccW=41 Cut=1
lint sq_pe_scaled Acc=1 AccW=41 Carry=16
lint sq_pe_scaled Acc=1 AccW=41 TwoBlocks=1 Cut=2
lint sq_pe_scaled ActElement=0 WeightScale=1 Acc=1 AccW=58 TwoBlocks=1
lint sq_pe_scaled BankLen=32 HighLanes=1 ActElement=0 Acc=1 AccW=40 OwnHigh=1 HighAccW=21
lint sq_pe_scaled ActElement=0 ActScale=0 Acc=1 AccW=22
for e in 2 3 4; do lint sq_pe_scaled BankLen=32 ActElement=$e WeightElement=$e ActScale=2 WeightScale=2 Acc=2 AccW=13; done
lint sq_pe_scaled BankLen=32 ActElement=5 WeightElement=5 ActScale=2 WeightScale=2 Acc=2 AccW=23 Sums=1
lint sq_pe_scaled BankLen=32 ActElement=6 WeightElement=6 ActScale=2 WeightScale=2 Acc=3 AccW=25 Sums=1
for t in 4 6 7 15 119; do lint sq_block_scale Top=$t; done
lint sq_block_scale Top=7 Shift=4
for t in 0 119; do lint sq_block_scale Scale=2 Top=$t; done
for e in "Element=0" "Element=1" "Element=0 HasHigh=1" "Scale=2" "Element=0 Scale=2 HasHigh=1" "Element=0 Scale=2 CodeW=8" \
  "Element=10" "Element=11"; do
  lint sq_block_code $e
done
for e in "Element=0" "Element=2" "Element=2 HasFifth=1"; do lint sq_block_error $e; done
for d in 1 5; do lint sq_act_buffer Depth=$d; done
for b in "Lanes=4 BankLen=8" "Lanes=3 BankLen=8 Lines=2" "Lanes=8 BankLen=4"; do
  lint sq_bank_steps $b
done
for t in 0 1; do
  lint sq_act_quant Lines=2 BankLen=8 HighPerBank=3 FlagW=4 Topk=$t Gather=$t
  lint sq_core_act Rows=2 Cols=1 LowLanes=3 HighLanes=2 BankLen=8 HighPerBank=3 Gather=$t Topk=$t
done
lint sq_core_act Rows=1 Cols=2 LowLanes=8 HighLanes=3 BankLen=4 HighPerBank=1 LowW=2 HighW=4 Depth=1
lint sq_array_static BankLen=4 HighPerBank=2 Rows=1
lint sq_array_static BankLen=8 HighPerBank=1 OneAcc=1 Cols=1
for d in "DataW=8 MaxBurst=1" "DataW=64" "DataW=1024 MaxBurst=16 CountW=4"; do
  lint sq_dma_burst $d
  lint sq_dma $d
done
for w in 1 16; do lint sq_dma Writes=$w; done
lint sq_axi_check DataW=8
lint sq_axi_check
for g in "InW=32 OutW=40" "InW=64 OutW=16" "InW=32 OutW=96" "InW=32 OutW=64 Flush=1'b1" "InW=48 OutW=64 Flush=1'b1" "InW=8 OutW=8"; do lint sq_gear $g; done
for d in 16 64 512; do lint sq_ring DataW=$d; done
for d in 16 64 512; do lint sq_sequencer DataW=$d; done
lint sq_sequencer ScaleOnce=1
for p in 0 1; do lint sq_sequencer PartGroups=$p; done
for b in 8 4 2; do lint sq_encode_scale Bits=$b; done
for l in "Lanes=1" "Lanes=4" "Lanes=2 Bits=4"; do lint sq_encode_code $l; done
for g in "" "Rows=3 BankLen=4 HighPerBank=1 LowW=2 HighW=4"; do lint sq_encode_dynamic $g; done
lint sq_encode_power
lint sq_encode_power Limit=127 Parts=2
lint sq_encode_power Limit=0
for g in 0 1; do lint sq_encode_over Lanes=3 "HasPower=1'b$g"; done
for g in "Element=2 Scale=1" "Element=2 Scale=2 BankLen=32 Rows=3" "Element=0 Scale=1 High=1 HighPerBank=2" "Element=0 Scale=2 HighPerBank=3 Rows=3 Cols=1" "Element=11 Scale=1 Choose=3"; do
  lint sq_encode "IsScaled=1'b1" $g
done
for g in "" "DataW=32 Cols=1 BankLen=4" "Rows=3 Cols=5 BankLen=4" "Rows=1 Cols=8 BankLen=4 Lanes=4" "CanMove=1'b1" "IsDynamic=1'b1 HighPerBank=4"; do lint sq_encode $g; done
lint sq_sequencer Encode=1 Vector=1
lint sq_top
netlist_of sq_top Rows=1
netlist_of sq_attend Lanes=2
netlist_of sq_top_vector DataW=32
netlist_of sq_top_attend Attend=145
lint sq_top IdW=4 Id=9 Gate=0 Vector=1
lint sq_top OutKind=2 Encode=2
lint sq_top BankLen=8 ActW=4 Layout=3 HighPerBank=2 HighW=8 OnActs=1 OneAcc=0 Form=2 Encode=2
for g in 0 1; do lint sq_clock_gate Gate=$g; done
lint sq_top_scaled
for h in 0 1 2; do lint sq_top_scaled Rows=1 HighPerBank=2 High=$h Element=0; done
lint sq_top_scaled Cols=1 BankLen=32 Element=9 Scale=2
lint sq_top_operand
lint sq_top_operand DataW=32 Width=40 Depth=3
lint sq_top_operand DataW=32 Width=141 Depth=3
lint sq_sram
lint sq_sram Width=8 Depth=3
lint sq_engine_tail
lint sq_engine_tail CountW=32 Words=3 Hold=1 SideW=2
for w in 1 3 4; do lint sq_engine_words Words=$w; done
for t in "TwoCols=1'b0 TwoRows=1'b1" "TwoCols=1'b1 TwoRows=1'b0" "TwoCols=1'b1 TwoRows=1'b1"; do
  lint sq_engine_scales Rows=1 Cols=3 $t
done
lint sq_engine_scales Cols=1
lint sq_core Rows=2 Cols=1 LowLanes=3 HighLanes=3 BankLen=8 HighPerBank=4 "CheckAct=1'b1" "CheckHigh=1'b1"
for c in 0 1; do lint sq_core Rows=2 Cols=1 LowLanes=3 HighLanes=3 BankLen=8 HighPerBank=4 AccW=48 IsFp=1 "CheckAct=1'b$c"; done
for p in 1 4; do lint sq_engine_ctl Pairs=$p Words=3 Hold=1 Sums=$((p % 4)); done
for h in "High=0" "High=1" "High=2 Element=2"; do
  lint sq_parts_line HighPerBank=1 $h
  lint sq_pe_parts HighLanes=1 ${h/Element/ActElement}
  lint sq_array_parts Rows=1 HighPerBank=2 WeightHigh=0 ${h/Element/ActElement}
done
lint sq_pe_parts High=0 ActScale=2 WeightScale=2
lint sq_pe_parts ActElement=2 WeightElement=2 High=2
for s in 0 2; do lint sq_parts_tail WeightScale=$s; done
for h in "HighPerBank=0" "HighPerBank=1 High=0 Element=0 Topk=2" "HighPerBank=2 High=1 Element=0"; do
  lint sq_act_blocks $h
done
# Modules of a room that no other uses.
for f in */lint.sh; do . "./$f"; done
# refused MODULE NAME=VALUE: a parameter that a narrower field or counter would cut stops elaboration in both tools.
refused() {
  local top=$1 set="${2%=*} ${2#*=}"
  [ "${SHORT:-0}" != 1 ] || [[ " $REFUSED" != *" $top "* ]] || return
  REFUSED+="$top "
  "$VERILATOR" --lint-only -y . $FOLDERS -I. lint.vlt sq_pkg.sv top/sq_regs_pkg.sv "$(path "$top")" --top-module "$top" "-G$2" \
    >"$LOG" 2>&1 && fail "verilator takes $top $2"
  grep -q USERERROR "$LOG" || fail "verilator stops for another reason: $top $2"
  "$YOSYS" -q -p "read_verilog -defer -nodpi -sv -I. $(sed -n "s/^$top //p" "$NEEDS"); chparam -set $set $top; hierarchy -top $top" \
    >"$LOG" 2>&1 && fail "yosys takes $top $2"
}
for p in Act Row Weight Col; do refused sq_sequencer ${p}Bytes=65536; refused sq_sequencer ${p}Depth=65536; refused sq_sequencer ${p}Depth=1; done
for p in OutBytes=65536 SumTiles=65536 DataW=48; do refused sq_sequencer $p; done
refused sq_gear OutW=12
for p in Rows=256 Cols=256 BankLen=65536 ActW=256 WeightW=256 OutKind=256 HighW=256 HighPerBank=65536 Layout=16 OnActs=2 \
  OneAcc=2 Form=4 Element=256 Scale=256 High=256 ActDepth=65536 RowDepth=65536 \
  WeightDepth=65536 ColDepth=65536 SumTiles=65536 Parts=2; do
  refused sq_top_regs $p
done
for p in Writes=0 Writes=17; do refused sq_dma $p; done
for p in MaxBurst=257 DataW=24; do refused sq_dma $p; refused sq_dma_burst $p; refused sq_axi_check $p; done
refused sq_top PortLen=3
refused sq_top Id=2
refused sq_top Prot=8
# A parameter that is cut to a fixed number of bits stands in a check.
for f in top/*.sv; do
  m=$(basename "$f" .sv)
  for p in $(sed 's|//.*||' "$f" | grep -oE "\b([0-9]|[12][0-9])'\([A-Z][A-Za-z]*[a-z][A-Za-z]*" | sed "s/.*(//" | sort -u); do
    grep -A6 "^ *if (.*\|gen_bad" "$f" | grep -q "\b$p >" || { : >"$LOG"; fail "$m cuts $p, without a check of its largest value"; }
  done
done
# The blocks, at their quick points.
"$SQSIM" cosim --block all --list --json >"$LOG.points" 2>"$LOG" || fail "no list of points: $SQSIM"
while read -r top parameters; do
  case $parameters in *Element=[0-9][0-9][0-9]*) [[ $parameters == *Element=$TABLE\ * ]] || continue ;; esac
  [ "${SHORT:-0}" = 1 ] && grep -q "^$top " "$LOG.list" || lint "$top" $parameters
done < <(sed -n 's/.*"top":"\([^"]*\)".*"quick":true,"parameters":{\([^}]*\)}.*/\1 \2/p' "$LOG.points" |
  tr -d '"' | tr ':,' '= ')
while read -r file; do
  module=$(basename "$file" .sv)
  grep -q "^$module\b" "$LOG.list" || grep -q "\"top\":\"$module\"" "$LOG.points" ||
    [[ $module = *_pkg ]] || lint "$module" # packages are read with every module
done <files.f

"$YOSYS" -q -e . -w 'Replacing memory' -p "read_verilog -nodpi -sv -I. $(tr '\n' ' ' <files.f)" >"$LOG" 2>&1 ||
  fail "yosys: all files"
SEEN=$LOG.seen
: >"$SEEN"
export SEEN LOG NEEDS FOLDERS VERILATOR YOSYS FAILED
export -f read_by fail path
if [ "${SHORT:-0}" = 1 ]; then # those of most files first
  awk 'NR == FNR { files[$1] = NF; next } !seen[$1]++ { print files[$1], "both", $0 }' "$NEEDS" "$LOG.list" | sort -s -k1,1nr | cut -d' ' -f2- >"$LOG.runs"
else
  sed 's/.*/verilator &\nyosys &/' "$LOG.list" >"$LOG.runs"
fi
# Parameters such as OneAcc=1'b1 are words as they stand.
xargs -r -d '\n' -P "${JOBS:-$(nproc)}" -I{} bash -c 'read_by $1' lint {} <"$LOG.runs" || FAILED=1

# Yosys shrinks arrays of a typedef to one element, without a word; the others of these words it
# refuses or reads differently (comments are not looked at). A module with an unsized '0 at a port it
# reads again, and a top then loses its name.
for f in *.sv *.svh */*.sv; do
  sed 's|//.*||' "$f" | grep -nE "_[te] +\[|\b(import|inside|unique|return)\b|parameter +type|'\{|\
assert +property|\.[a-z_]+\('[01]\)" >"$LOG" && fail "$f: leave these out, Yosys does not read them as meant"
done

# What stands before its declaration both tools take, and slang does not.
awk 'FNR == 1 { split("", used); split("", is) }
  { sub("//.*", ""); gsub(/"[^"]*"|[.$][a-z_0-9]+|[a-z_]+::[a-zA-Z_]+|\[[^][]*\]|.*\\$/, ""); own = own && !ends || /^ *(logic|wire) /; ends = /;/
    for (i = split($0, word, /[^A-Za-z0-9_]+/); i > 0; i--)
      if (word[i] !~ /^[a-z]/ || word[i] in is || word[i] ~ /^(logic|wire|signed)$/) continue
      else if (/^ *(input|output) /) is[word[i]]
      else if (!own) { if (!(word[i] in used)) used[word[i]] = FNR }
      else if (word[i] in used) print FILENAME ":" used[word[i]] ": " word[i] " is used before its declaration"
      else is[word[i]] }' *.sv */*.sv >"$LOG"
[ ! -s "$LOG" ] || fail "names before their declarations"

[ $FAILED = 0 ] && echo "lint: $((1 + 2 * $(grep -c modules: "$SEEN"))) runs of verilator and yosys, no finding"
exit $FAILED
