#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make install, as others meet it: the tree, a program of ten lines by pkg-config, everything that
# sqsim.h promises from outside (api_check.c) against what the program says, manual pages and
# completion against the options, the installed program away from the sources.
. "$(dirname "$0")/../cli/lib.sh"
unset SQSIM_HOME MAKEFLAGS MAKELEVEL MFLAGS
R=$W/root PREFIX=/opt/sq
# What is built is installed as it is: other tests use it meanwhile.
MAKE=(make --no-print-directory -o build/sqsim -o build/libsqsim.so)
for tool in help2man pkg-config gcc; do
  command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool"; exit 0; }
done
ok "make install" "${MAKE[@]}" install DESTDIR="$R" PREFIX=$PREFIX
BIN=$R$PREFIX/bin LIB=$R$PREFIX/lib

# Where the loader does not look, make install says what to do; nothing for a package (DESTDIR).
ok "nothing is said of a DESTDIR" [ -z "$("${MAKE[@]}" install DESTDIR="$W/quiet" PREFIX=$PREFIX)" ]
ok "a prefix of one's own: says how libsqsim is found" grep -qF "LD_LIBRARY_PATH=$W/own/lib" \
  <("${MAKE[@]}" install PREFIX="$W/own")
rm -rf "$W/quiet" "$W/own"
"${MAKE[@]}" build/sqsim.pc build/sqsim-sysc.pc build/sqsim-config.cmake build/sqsim-config-version.cmake PREFIX=$PREFIX >/dev/null

# ---- library ----------------------------------------------------------------------------------
ok "every symbol begins with sqsim_" [ -z "$(nm -D --defined-only "$LIB/libsqsim.so" | awk '{print $3}' |
  grep -vE '^(sqsim_[a-z_]+@@SQSIM_0|SQSIM_0)$')" ]
declared=$(grep -oE '\bsqsim_[a-z_]+\(' "$R$PREFIX/include/sqsim.h" | tr -d '(' | sort -u)
ok "all of the header, and no others" [ "$declared" = "$(nm -D --defined-only "$LIB/libsqsim.so" |
  sed -n 's/.* \(sqsim_[a-z_]*\)@@.*/\1/p' | sort)" ]
ok "soname has the version" [ "$(objdump -p "$LIB/libsqsim.so" | awk '/SONAME/ {print $2}')" = libsqsim.so.0 ]
ok "which leads to a file" [ -f "$LIB/libsqsim.so.0" ]
ok "the header is C99" gcc -std=c99 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c "$R$PREFIX/include/sqsim.h"
ok "and C++" g++ -std=c++11 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c++ "$R$PREFIX/include/sqsim.h"

ok "the header for drivers" gcc -std=c99 -Wall -Werror -fsyntax-only -x c "$R$PREFIX/include/sq_regs.h"
ok "the driver is C99 that needs no library" gcc -std=c99 -ffreestanding -Wall -Wextra -pedantic -Werror \
  -I "$R$PREFIX/share/sqsim" -c "$R$PREFIX/share/sqsim/lib/sq_driver.c" -o "$W/driver.o"
ok "... and calls none" [ -z "$(nm -u "$W/driver.o")" ]
bare() { # for a processor without a system; memset is what compilers ask of every program
  clang --target="$1" -std=c99 -ffreestanding -O2 -Wall -Wextra -pedantic -Werror -I "$R$PREFIX/share/sqsim" \
    -c "$R$PREFIX/share/sqsim/lib/sq_driver.c" -o "$W/bare.o" && ! nm -u "$W/bare.o" | grep -vE ' (memset|__aeabi_memclr[48]?)$'
}
if ! clang --print-targets 2>/dev/null | grep -q riscv64; then skip "the driver for riscv64 and armv7m" "no clang for them"
else for target in riscv64-unknown-elf armv7m-none-eabi; do ok "the driver for $target" bare $target; done; fi

export PKG_CONFIG_LIBDIR=$LIB/pkgconfig PKG_CONFIG_SYSROOT_DIR=$R LD_LIBRARY_PATH=$LIB
ok "version of pkg-config" [ "sqsim $(pkg-config --modversion sqsim)" = "$("$SQSIM" --version | head -1)" ]
compile() { gcc -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror "tests/package/$1.c" -o "$W/$1" $(pkg-config --cflags --libs sqsim) -lm; }
ok "main() of ten lines" [ "$(sed -n '/^int main/,$p' tests/package/mine.c | wc -l)" -le 11 ]
ok "compiles" compile mine
ok "encodes and multiplies" [ "$("$W/mine")" = "6.5000 bits a weight, y = 3.99614 ... 86.8086" ]

# ---- a layer on the chip, in ten lines of C, SystemC and Python ---------------------------------
PYTHON=$(command -v "${PYTHON:-python3}")
lines() { # with the first and the last; lib/README.md shows them
  sed -n "/$2/,\$p" "tests/package/$1" >"$W/ten"
  [ "$(wc -l <"$W/ten")" -le 12 ] && ! grep -vxFf lib/README.md "$W/ten"
}
ok "the chip from C, in ten lines" lines mine_chip.c '^int main'
ok "compiles" compile mine_chip
want=$("$W/mine_chip")
ok "runs: $want" grep -qE '^[0-9]{3,} cycles, y = -?[0-9.]+ ... ' <<<"$want"
if ! "$PYTHON" -c 'import numpy' 2>/dev/null; then skip "the same from Python" "no numpy"
else
  ok "the same from Python" [ "$(SQSIM_LIBRARY=$LIB/libsqsim.so.0 PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 "$PYTHON" tests/package/mine_chip.py)" = "$want" ]
  ok "in ten lines" lines mine_chip.py '^n = '
fi
export SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1
on_chip() { [ "$(HOME=$W/user XDG_CACHE_HOME= "$W/mine_chip_sc" "$1")" = "$want" ]; }
if [ ! -e /usr/include/systemc.h ]; then skip "the same from SystemC" "no libsystemc-dev"
else
  ok "the chip in SystemC, in ten lines" lines mine_chip.cpp '^int sc_main'
  ok "compiles" g++ -std=c++17 -O1 -Wall -Wextra tests/package/mine_chip.cpp -o "$W/mine_chip_sc" $(pkg-config --cflags --libs sqsim-sysc)
  ok "the same, loosely timed" on_chip 0
  if [ ! -e "${SYSTEMC3:=/none}/systemc" ]; then skip "the headers with SystemC 3" "SYSTEMC3 names no folder with its headers"
  else
    ok "SYSTEMC3 is SystemC 3" grep -q 'define SC_VERSION_MAJOR *3' "$SYSTEMC3/sysc/kernel/sc_ver.h"
    ok "the headers with SystemC 3" g++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -isystem "$SYSTEMC3" tests/package/mine_chip.cpp $(pkg-config --cflags sqsim-sysc)
  fi
  ok "the same, approximately timed" on_chip 1
  ok "two chips on one memory, with a program in C" gcc -std=c99 -Wall -Wextra -pedantic -Werror -c tests/package/two_chips_program.c \
    -o "$W/two_chips_program.o" $(pkg-config --cflags sqsim)
  ok "compile" g++ -std=c++17 -O1 -Wall -Wextra tests/package/two_chips.cpp "$W/two_chips_program.o" -o "$W/two_chips" $(pkg-config --cflags --libs sqsim-sysc)
  ok "and share its time: $("$W/two_chips")" grep -q '^PASS' <("$W/two_chips")
  if ! command -v verilator >/dev/null; then skip "the same by RTL" "no verilator"
  elif daily "the same by RTL"; then ok "the same by RTL" on_chip 2; fi
fi
if ! command -v cmake >/dev/null; then skip "find_package(sqsim)" "no cmake"
else
  mkdir "$W/cmake"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(mine C CXX)' 'find_package(sqsim 0.2 REQUIRED)' \
    "add_executable(mine $PWD/tests/package/mine_chip.c)" 'target_link_libraries(mine sqsim::sqsim sqsim::driver)' \
    'if(TARGET sqsim::systemc)' "add_executable(mine_sc $PWD/tests/package/mine_chip.cpp)" \
    'target_link_libraries(mine_sc sqsim::systemc)' 'endif()' >"$W/cmake/CMakeLists.txt"
  quietly() { "$@" >"$W.out" 2>&1; }
  ok "find_package(sqsim) in CMake" quietly cmake -S "$W/cmake" -B "$W/cmake/b" -DCMAKE_PREFIX_PATH="$R$PREFIX" -DCMAKE_BUILD_TYPE=Debug
  ok "builds" quietly cmake --build "$W/cmake/b"
  ok "and the program says the same" [ "$("$W/cmake/b/mine")" = "$want" ]
  [ ! -e "$W/cmake/b/mine_sc" ] || ok "and the platform" [ "$("$W/cmake/b/mine_sc" 0)" = "$want" ]
fi

sq quantize --algorithm rtn -o w.st
mkdir "$W/s"
ok "a check of everything compiles" compile api_check
model=tiny-llama machine=edge4 # by short names, which the library finds around itself
if "$W/api_check" "$model" "$machine" "$W/s" "$W/w.st" >"$W/api"; then ok "and runs" true; else
  ok "and runs" false; grep '^# ' "$W/api"; fi
# Callers may have small stacks, and a locale with a decimal comma.
if localedef -i de_DE -f UTF-8 "$W/comma" 2>/dev/null; then
  mkdir "$W/s2"
  LOCPATH=$W LC_ALL=comma API_CHECK_SMALL=1 "$W/api_check" "$model" "$machine" "$W/s2" "$W/w.st" >"$W/api2"
  ok "a decimal comma and a stack of 512 KiB" [ $? = 0 ]
  ok "... which printf has" grep -q '[0-9],[0-9]' "$W/api2"
  ok "... change no value" cmp <(tr , . <"$W/api2") <(tr , . <"$W/api")
else
  skip "a decimal comma" "no localedef with de_DE"
fi
says() { awk -v w="$1" -v k="$2" '$1 == w && $2 == k {print $3}' "$W/api"; }
same() { awk -v a="$1" -v b="$2" 'BEGIN {exit !(a != "" && b != "" && (a - b) ^ 2 <= 1e-20 * (a * a))}'; }
sq run --m 40 --n 300 --k 1000 --timing-only --json
ok "cycles of the core" same "$(says core cycles)" "$(number cycles)"
ok "bound of the core" same "$(says core bound_cycles)" "$(number bound_cycles)"
for f in $("$SQSIM" run --complete | awk -F '\t' '$1 == "--format" {print $3}'); do
  sq run --m 40 --n 300 --k 1000 --format "$f" --machine "$machine" --json
  ok "cycles of $f" same "$(says "$f" cycles)" "$(grep -o '"cycles":[0-9]*' "$W.out" | tail -1 | cut -d: -f2)"
  ok "bytes of $f" same "$(says "$f" bytes)" "$(number bytes)"
done
sq eval --algorithm rtn --sequences 4 --summary --json
ok "loss of an evaluation" same "$(says rtn loss)" "$(number loss)"
ok "and of a file" [ "$(says file loss)" = "$(says rtn loss)" ]
sq eval --format dense --weight-bits 16 --act-bits 16 --sequences 4 --summary --json
ok "loss of the model as it is" same "$(says reference loss)" "$(number loss)"
for f in sq_w sp24 gqsa spqt spqr; do sq inspect "s/$f.sq.safetensors"; [ "$RC" = 2 ]; done
ok "a damaged file is one for the program too" grep -q "digest\|damaged" "$W.err"

# ---- SystemC ------------------------------------------------------------------------------------
if [ -e /usr/include/systemc.h ]; then
  ok "sc_main() of ten lines" [ "$(sed -n '/^int sc_main/,$p' tests/package/mine_platform.cpp | wc -l)" -le 11 ]
  ok "a platform of one's own by pkg-config" g++ -std=c++17 -O1 -Wall -Wextra tests/package/mine_platform.cpp \
    -o "$W/platform" $(pkg-config --cflags --libs sqsim-sysc)
  ok "runs a job: 24 x 3 x 1 and 8 x 3 x 100" grep -qx "done: 72 and 2400, [0-9]* ns, " \
    <(SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 "$W/platform")
  sed 's/lo\[i\] = -8/lo[i] = 1/' tests/package/mine_platform.cpp >"$W/maskless.cpp"
  g++ -std=c++17 -O0 "$W/maskless.cpp" -o "$W/maskless" $(pkg-config --cflags --libs sqsim-sysc)
  ok "a job that is none is answered with its reason" grep -q \
    "^refused: 0 and 0, .* ns, lo: a bank of group 0 has not exactly 8 mask codes$" \
    <(SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 "$W/maskless")
  sed 's/sq_core_config_default()/sq_core_config{}/' tests/package/mine_platform.cpp >"$W/unset.cpp"
  ok "an unset configuration compiles" g++ -std=c++17 -O0 "$W/unset.cpp" -o "$W/unset" $(pkg-config --cflags --libs sqsim-sysc)
  SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1 "$W/unset" >"$W.out" 2>&1
  RC=$?
  ok "and is refused in a sentence" [ "$RC" = 1 -a "$(grep -c 'sqsim: .* = 0, need' "$W.out")" = 1 ]
else
  skip "SystemC" "no libsystemc-dev"
fi

# ---- program ------------------------------------------------------------------------------------
mv "$R" "$W/moved"
R=$W/moved BIN=$W/moved$PREFIX/bin
installed() { (cd "$W" && HOME=$W/user XDG_CACHE_HOME= "$BIN/sqsim" "$@"); }
ok "the embedded model is found" [ "$(installed inspect --json | tail -1 | grep -c tiny-llama)" = 1 ]
ok "and the machines" [ -n "$(installed run --m 8 --n 64 --k 64 --format dense --json)" ]
before=$(cd "$R" && find . | sort)

# What comes with it goes by its path in the sources, as --help writes it, and by a short name; a file of the current folder first.
missing=$(for c in $("$SQSIM" --complete | cut -f1); do
  installed "$c" --help | tr -s ' \n' ' ' | grep -oE '\b(sim|traces|reports|rtl)/[a-z0-9_./-]+' | sed 's/[.,/]*$//'
done | sort -u | while read -r name; do [ -e "$R$PREFIX/share/sqsim/$name" ] || echo "$name"; done)
ok "all that --help names is there $missing" [ -z "$missing" ]
alike() { # NAME NAME COMMAND...: the command says the same with either name of the file
  local long=$1 short=$2; shift 2
  # but for what the host took
  installed "$@" "$long" >"$W.out" && [ "$(sed 's/"[a-z_]*host".*//' "$W.out")" = "$(installed "$@" "$short" | sed 's/"[a-z_]*host".*//')" ]
}
ok "a machine" alike sim/machines/server64.yaml server64 run --m 8 --n 64 --k 64 --format dense --json --machine
ok "a GPU" alike sim/machines/h200.yaml h200 run --m 8 --n 64 --k 64 --format dense --json --machine
ok "a chip" alike sim/machines/chip.yaml chip run --m 8 --n 64 --k 64 --format dense --json --machine
ok "a workload" alike traces/workloads/llama-3-8b_decode_1.csv llama-3-8b_decode_1 run --json --workload
ok "a configuration" alike traces/workloads/llama-3-70b.json llama-3-70b inspect --gemms
ok "a specification" alike sim/sweeps/paper_grid.yaml paper_grid sweep --dry-run --json
ok "a model" alike traces/tiny-llama tiny-llama eval --sequences 1 --json
ok "records" alike traces/gpu_measured/A100.csv A100 compare --machine a100_pcie_80g --json --gpu
printf 'name: own\naxes: {format: [nvfp4], workload: [llama-3-8b_decode_1], machine: [edge4]}\nmeasures: [cycles]\n' >"$W/own.yaml"
ok "in a specification" grep -q edge4 <(installed sweep own.yaml --db own.db --json)
cp sim/machines/edge4.yaml "$W/server64"
ok "the current folder's file first" alike edge4 server64 run --m 8 --n 64 --k 64 --format dense --json --machine
ok "another name stays as it is" grep -q "nowhere5" <(installed run --m 8 --n 64 --k 64 --machine nowhere5 2>&1)
if command -v yosys >/dev/null && command -v sta >/dev/null; then
  ok "an area" [ -n "$(installed area --block mul --a-bits 2 --b-bits 2)" ]
  ok "whose cache is the user's" [ -d "$W/user/.cache/sqsim/synth" ]
else
  skip "an area" "no yosys or sta"
fi
if command -v verilator >/dev/null; then
  ok "a co-simulation" grep -q '^PASS' <(installed cosim --block gather --point p01 --cases 2 2>&1)
  ok "whose builds are the user's" [ -d "$W/user/.cache/sqsim/rtl" ]
else
  skip "a co-simulation" "no verilator"
fi
ok "nothing was written into the installation" [ "$before" = "$(cd "$R" && find . | sort)" ]

# ---- manual pages and completion -----------------------------------------------------------------
MAN=$R$PREFIX/share/man/man1
for c in $("$SQSIM" --complete | cut -f1); do
  missing=$("$SQSIM" "$c" --complete | cut -f1 | grep -vx -- --help | while read -r o; do
    tr -d '\\' <"$MAN/sqsim-$c.1" | grep -qF -- "$o" || echo "$o"; done)
  ok "manual page of $c" [ -s "$MAN/sqsim-$c.1" -a -z "$missing" ]
  ok "$c: usage under SYNOPSIS, a sentence under DESCRIPTION" awk '
    /^\.SH/ { section = $2; next } /^\.(IP|PP|B)/ { next }
    section == "DESCRIPTION" && !first { first = $0 }
    section == "SYNOPSIS" { synopsis = synopsis $0 }
    END { exit !(first ~ /^[A-Z]/ && synopsis ~ /json/) }' "$MAN/sqsim-$c.1"
done
ok "manual page of sqsim" grep -q '^.TH SQSIM "1"' "$MAN/sqsim.1"
complete_to() { # WANT WORD...
  local want=$1; shift
  local got
  got=$(PATH=$BIN:$PATH bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sqsim
    echo "${COMPREPLY[*]}"' bash "$R$PREFIX/share/bash-completion/completions/sqsim" "$@")
  [ "$got" = "$want" ] && return
  echo "# got: $got"
  return 1
}
ok "bash: commands" complete_to quantize sqsim qu
ok "bash: options" complete_to --thresholds sqsim eval --thr
ok "bash: words" complete_to "gptq" sqsim eval --algorithm g
ok "bash: words after =" complete_to "sp24 spqt spqr" sqsim run --format = sp
cd "$W/moved" && ok "bash: files" complete_to opt sqsim inspect o; cd "$ROOT" || exit
if command -v zsh >/dev/null; then ok "zsh reads its completion" zsh -n "$R$PREFIX/share/zsh/site-functions/_sqsim"
else skip "zsh reads its completion" "no zsh"; fi

mv "$W/moved" "$W/root"
ok "make uninstall" "${MAKE[@]}" uninstall DESTDIR="$W/root" PREFIX=$PREFIX
ok "leaves no file" [ -z "$(find "$W/root" -type f -o -type l)" ]
finish
