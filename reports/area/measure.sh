#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# measure.sh SQSIM JOBS DIR [LIBERTY...]: what reports/area/README.md quotes. Synthesizes (or takes
# from the cache) the PEs and arrays in every library, and what only one library is asked for;
# figures.awk then makes tables of DIR/*.txt. The first library is that of Debian, always there.
#   DIR/LIBRARY.txt        PEs; arrays of 8 x 8
#   DIR/LIBRARY.more.txt   more PEs, parts, arrays of 32 x 32: the first LIBERTY given, if any
#   DIR/LIBRARY.large.txt  some arrays of 32 x 32: two more libraries
#   DIR/LIBRARY.period.txt the PEs at clock periods, where periods are chosen for the library
#   DIR/osu018.table.txt   the default table: products, gathers, TopK
set -e -o pipefail
sqsim=$(realpath "$1") jobs=$2 out=$3
shift 3
mkdir -p "$out"
rm -f "$out"/*.txt

blocks() { local b; for b; do printf -- '--block %s ' "$b"; done; }
pes=$(blocks pe_int4x6 pe_int4x8 pe_int6x6 pe_int6x8 pe_sentinel pe_split_w pe_split_a pe_split_a_k2)
arrays=$(blocks array_int4x8 array_int4x6 array_split_a_k2)
large=$(blocks array_int4x8 array_int4x6 array_split_a_k2)
more=$(blocks pe_int4x4 pe_int8x8 pe_tied pe_split_w_2b8)
parts=$(blocks mul dot mac_high gather_rank gather_select gather_mux)

area() { # FILE OPTION...
  local file=$1; shift
  "$sqsim" area --jobs "$jobs" "${library[@]}" "$@" >>"$out/$file.new"
}

measure() { # NAME
  area "$1" $pes
  area "$1" $arrays --rows 8 --cols 8 --keep-parts
  mv "$out/$1.new" "$out/$1.txt"
}

library=()
measure osu018
area osu018.table
mv "$out/osu018.table.new" "$out/osu018.table.txt"
is_first=1
for file; do
  name=$(basename "$file") library=(--liberty "$file")
  name=${name%%[_.]*}
  measure "$name"
  case $name in sg13g2 | sky130hd)
    area "$name.large" $large --rows 32 --cols 32 --keep-parts
    mv "$out/$name.large.new" "$out/$name.large.txt" ;;
  esac
  [ -n "$is_first" ] || continue
  is_first=
  area "$name.more" $more
  area "$name.more" $parts --bank 16 --gather crossbar
  area "$name.more" $arrays --rows 32 --cols 32 --keep-parts
  mv "$out/$name.more.new" "$out/$name.more.txt"
done
