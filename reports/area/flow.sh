#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# flow.sh SQSIM [JOBS [SQSIM_OPTION...]]: what each step of rtl/synth_*.ys is worth: the same blocks
# through the scripts as they are and with one step taken out, in a copy of rtl/. Areas in um2.
set -e -o pipefail
sqsim=$(realpath "$1") jobs=${2:-1}
shift; shift || true
cd "$(dirname "$0")/../.."
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT

# variant NAME SED_FRONT SED_MAP
variant() {
  rm -rf "$home/rtl"
  cp -r rtl "$home/rtl"
  sed -i "$2" "$home/rtl/synth_front.ys"
  sed -i "$3" "$home/rtl/synth_map.ys"
  SQSIM_HOME=$home "$sqsim" area --jobs "$jobs" --bank 16 --block pe \
    --block gather_rank --block gather_select --block gather_mux --block mac_low "${options[@]}" >"$home/rest"
  SQSIM_HOME=$home "$sqsim" area --jobs "$jobs" --a-bits 8 --b-bits 8 --block mul \
    --block mul_star "${options[@]}" >"$home/mul"
  [ -n "$head" ] || { head=$(head -1 "$home/rest"); echo "# reports/area/flow.sh; each run as: ${head#\# }"
    printf '%-34s' "# area in um2"
    grep -hv '^#' "$home/mul" "$home/rest" | awk 'NF>8 && $2+0>0{a=""; if ($0~/Gather=1/) a="/log";
      n=$1; sub("gather_","",n); printf "%13s", n a}'
    printf '%10s\n' "pe ns"; }
  printf '%-34s' "$1"
  grep -hv '^#' "$home/mul" "$home/rest" | awk 'NF>8 && $2+0>0{printf "%13s", $2; if ($1=="pe" && !p) p=$6}
    END{printf "%10s\n", p}'
}

head="" options=("$@")
no_buffers='s/;topo;buffer,-N,16,-p;dnsize//'
variant "as it is" '' ''
variant "lookahead adders" '/synth_alu/d' ''
variant "no full-adder cells" '' '/@ADDERS@/d'
variant "ABC before mapping as well" 's/-noabc //' ''
variant "mapper nf only" '' '/amap,-m/{s/-script .*/-script +strash;\&get,-n;\&fraig,-x;\&put;scorr;dc2;dretime;strash;\&get,-n;\&dch,-f;\&nf;\&put;topo;buffer,-N,16,-p;dnsize/}'
variant "mapper amap only" '' '/&nf;&put/{s/-script .*/-script +strash;ifraig;scorr;dc2;resub,-K,8;rewrite;resub,-K,12;refactor;dc2;strash;dch;amap,-m;topo;buffer,-N,16,-p;dnsize/}'
variant "no buffers" '' "$no_buffers"
variant "Yosys as it comes: synth, abc" '/synth_alu/d; s/-noabc //' '/@ADDERS@/d; s/ -script.*//'
