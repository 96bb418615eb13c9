#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every target that `make help` and `make report` list, in a copy of the sources and of what is built:
#
#   elsewhere  another test runs it: that test still does
#   small      has variables that make it small: run with these
#   long       hours, other people's computers, or all tests: make -n, and the programs that it
#              needs are built
#   the rest   is run, and ends well
#
# A target that nobody put into a table is run, so that a new one is tested from its first day.
. tests/cli/lib.sh
declare -A elsewhere=([sysc]=tests/rtl/sysc.t [install]=tests/package/install.t [uninstall]=tests/package/install.t
  [deb]=tests/package/deb.t [wheel]=tests/package/python.t [dist]=tests/rtl/packages.t [without]=tests/docs/without.t
  [firmware]=tests/rtl/firmware.t)
one=build/tests/unit/core/test_gemm
declare -A small=([t]=T=unit/core/test_gemm [quick]="QUICK_BIN=$one QUICK_TEST=tests/docs/structure.t" [test-unit]=UNIT_BIN=$one
  [test-cli]=CLI_TEST=tests/docs/structure.t [test-rtl]=RTL_TEST=tests/rtl/waves.t [setup]= [demo]= [kill-test]=KILLS=1 [flip-test]=FLIPS=1
  [bitflip-test]=FLIPS=20 [element-check]= [fuzz]="SECONDS=1 TARGET=options" [fuzz-afl]="SECONDS=1 TARGET=options" [fuzz-corpus]=TARGET=options
  [bench]=BENCH=gemm [analyze]= [area-clock]=LIBERTIES= [area-scaled]=LIBERTIES= [area-chip]=LIBERTIES= [area-wires]=LIBERTIES= [area-route]=BLOCKS=meta24
  [fpga]=DESIGNS=meta24:Groups=1 [doc-pictures]= [sweep]= [verdict]="FORMATS=nvfp4 SEQ=1" [papers]="R=sq SECONDS=0")
long=" clean lint test test-daily test-all test-san test-gpu cosim cosim-all survivors banks-rtl coverage formal mutation mutants bench-check bench-peers \
 gpu gpu-measure area area-engines area-flow energy accuracy smollm2 gemma3 formats row verification verification-coverage verification-mutants verification-cosim "
# What is built by the compilers of libFuzzer, AFL++ and GPUs, whole, takes minutes: tests/fuzz and test-gpu have it.
OTHERS='^build/(fuzz|gpu|emu|ptx|tests/gpu)'

for t in "${!elsewhere[@]}"; do
  ok "$t: run by ${elsewhere[$t]}" grep -Eq "make|MAKE" "${elsewhere[$t]}"
  ok "$t: named there" grep -Eq "(^|[ (])$t( |\$)" "${elsewhere[$t]}"
done
daily "every target, in a copy" || finish
C=$W/copy
mkdir "$C"
git ls-files -z 2>/dev/null | xargs -0 sh -c 'for f; do [ ! -e "$f" ] || echo "$f"; done' sh |
  tr '\n' '\0' | xargs -0 cp -a --parents -t "$C"
[ -f "$C/Makefile" ] || { skip "targets of make help" "no git checkout"; finish; }
mkdir "$C/build"
(cd build && tar c --exclude=./san --exclude=./fuzz* --exclude=./smollm2 --exclude=./gemma3 --exclude=./peers --exclude=./emu --exclude=./ptx \
  --exclude=./gpu --exclude=*.db --exclude=*.db-* .) 2>/dev/null | tar x -C "$C/build"
# Targets ask git for the revision.
git -C "$C" init -q && git -C "$C" add -A &&
  git -C "$C" -c user.name=test -c user.email=test -c commit.gpgsign=false commit -qm copy >/dev/null
unset MAKEFLAGS MFLAGS MAKELEVEL
export BUILD=build
in_copy() { (cd "$C" && timeout $HANG "$@" >"$W.out" 2>"$W.err" </dev/null); }
in_copy make help
ok "make help lists targets" grep -q '^  all ' "$W.out"
targets=$(sed -n 's/^  \([a-z0-9-]*\)  *.*/\1/p' "$W.out")
in_copy make report
ok "make report lists targets" grep -q '^make report .* one of: ' "$W.out"
targets="$targets"$'\n'$(sed -n 's/^make report .* one of: //p' "$W.out" | tr ' ' '\n')
in_copy make -pq help # the database: targets and what they need
sed -n '/^# Files/,$p' "$W.out" | grep -E '^[A-Za-z0-9_/.-]+:' >"$W/rules"

# What a shell would read, and a blank in a path, is refused before a recipe begins.
while IFS='|' read -r target given; do
  in_copy make -n "$target" "$given"; rc=$?
  ok "refused: make $target $given" [ "$rc" = 2 -a "$(grep -c 'Makefile:.*, need a name, a number or a path' "$W.err")" = 1 ]
done <<'END'
without|R=../../rtl
without|R=x;touch here
without|SHORT="; touch here; "
install|PREFIX=/tmp/a b
uninstall|PREFIX=/tmp/a b
uninstall|DESTDIR=/tmp/a*
verdict|FORMATS=nvfp4;touch here
verdict|MODEL=$(touch here)
verdict|MODEL=`touch here`
report|R=*
cosim|CASES=1&touch here
cosim|JOBS=1<x
t|T=area' touch
fuzz|TARGET=a|b
bench|JSON=a'b
dist|DIST=$$(touch here)
END
in_copy make -n verdict FORMATS=$'nvfp4\ntouch here'; rc=$?
ok "refused: a line of its own" [ "$rc" = 2 ]
(cd "$C" && R='x y' make -n without) >"$W.out" 2>"$W.err"; rc=$?
ok "refused: of the environment" [ "$rc" = 2 ]
in_copy make -n verdict FORMATS="nvfp4 my.yaml" MODEL="a model" SEED=1,2 T="unit/core/test_gemm every_*" CFLAGS="-O2 -DX='1'"; rc=$?
ok "names, lists of them and flags are not" [ "$rc" = 0 ]
ok "a path stays one word" grep -q '"a model"' "$W.out"
mkdir -p "$W/room/"{tests,rtl,sim/format/gqsa} && cp tests/without.sh "$W/room/tests" && touch "$W/room/"{Makefile,rtl/sq_top.sv} && git -C "$W/room" init -q && git -C "$W/room" add Makefile
"$W/room/tests/without.sh" ../../rtl >"$W.out" 2>"$W.err"; rc=$?
ok "no room, and rtl/ stays" [ "$rc" = 2 -a -e "$W/room/rtl/sq_top.sv" ]

# Chromium is there and ImageMagick is not, but for a program of that name: a skip that names it.
mkdir "$W/tools"
printf '#!/bin/sh\nexit 0\n' >"$W/tools/chromium"
printf '#!/bin/sh\nexit 1\n' >"$W/tools/convert"
chmod +x "$W/tools/"*
PATH=$W/tools:$PATH in_copy make page-pictures
ok "page-pictures without ImageMagick" grep -q "skipped .*: no ImageMagick" "$W.out"

done_well() { "$@" && return; sed 's/^/# /' "$W.err" | tail -5; return 1; }
programs=
for t in $targets; do
  if [ -n "${elsewhere[$t]-}" ]; then
    :
  elif [ -n "${small[$t]+x}" ]; then
    ok "make $t ${small[$t]}" done_well in_copy make "$t" ${small[$t]}
  elif [[ $long == *" $t "* ]]; then
    ok "make -n $t" done_well in_copy make -n "$t"
    needs=$(sed -n "s/^$t: *//p" "$W/rules" | tr ' ' '\n' | grep '^build/' | grep -Ev "$OTHERS" | tr '\n' ' ')
    programs="$programs $needs"
  else
    ok "make $t" done_well in_copy make "$t"
  fi
done
ok "what the long ones need is built" done_well in_copy make -j2 $(tr ' ' '\n' <<<"$programs" | sort -u)
for t in "${!elsewhere[@]}"; do
  ok "$t, of the table, is a target" grep -qx "$t" <<<"$targets"
done
finish
