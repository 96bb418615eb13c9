#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the program keeps of its tools' work, in a home of the test's own whose path has every
# character that a shell or make would mind: one flipped bit or a cut file is never used (FLIPS per
# cache, `make flip-test FLIPS=500`), a complete entry needs no permission to write, nothing else is
# left. tests/unit/synth/test_synth has the digests of inputs.
. "$(dirname "$0")/lib.sh"
SEED=${SQ_SEED:-1}
FLIPS=${FLIPS:-5}
RANDOM=$SEED
LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
export SQSIM_HOME="$W/a b&c|d'e\"f\$g;h#"
mkdir "$SQSIM_HOME"
for part in rtl sim traces; do ln -s "$ROOT/$part" "$SQSIM_HOME/$part"; done

# flip FILE: one random bit of it.
flip() {
  local at byte
  at=$(((RANDOM * 32768 + RANDOM) % $(stat -c %s "$1")))
  byte=$(od -An -tu1 -j$at -N1 "$1")
  printf "\\x$(printf %02x $((byte ^ 1 << RANDOM % 8)))" | dd of="$1" bs=1 seek=$at conv=notrunc status=none
}

same() { # the run says what the first one said
  [ "$RC" = 0 ] && [ ! -s "$W.err" ] && cmp -s "$W/want" "$W.out" && return
  echo "# exit $RC"; sed 's/^/# /' "$W.err"; diff "$W/want" "$W.out" | head -5 | sed 's/^/# /'
  return 1
}

# Tools that say their version and make nothing: an entry that is not used as it is fails the run.
mkdir "$W/idle"
for tool in verilator yosys; do
  printf '%s\n' '#!/bin/sh' "[ \$# = 1 ] && exec $(command -v $tool || echo false) \"\$@\"; exit 1" >"$W/idle/$tool"
  chmod +x "$W/idle/$tool"
done
refused() { [ "$RC" != 0 ] && [ "$(wc -l <"$W.err")" = 1 ] && [ ! -s "$W.out" ]; }

# flips ARGS... -- FILES...: each flip is in one of the files. Five times the run repairs it; beyond
# that it finds idle tools, and fails, or says the same where the bit does not matter.
flips() {
  local args=() i file entry
  while [ "$1" != -- ]; do args+=("$1"); shift; done
  shift
  entry=$(dirname "$1")
  for ((i = 0; i < FLIPS; i++)); do
    [ $i = 5 ] && cp -a "$entry" "$W/sound"
    file=${!#}
    [ $((RANDOM % 4)) = 0 ] || file=$1
    cp "$file" "$W/before"
    flip "$file"
    cmp -s "$file" "$W/before" && { echo "# $file did not change"; return 1; }
    if [ $i -lt 5 ]; then
      sq "${args[@]}"
      same || { echo "# a bit of $file"; return 1; }
    else
      VERILATOR=$W/idle/verilator YOSYS=$W/idle/yosys sq "${args[@]}"
      refused || same || { echo "# a bit of $file"; return 1; }
      find "$(dirname "$entry")" -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf {} + # logs as well
      cp -a "$W/sound" "$entry"
    fi
  done
  rm -rf "$W/sound"
}

# ---- verilated objects ----------------------------------------------------------------------
cosim=(cosim --block topk --point b8 --cases 20)
object() { echo "$SQSIM_HOME"/build/rtl/topk_b8-*/"$1"; }
if command -v verilator >/dev/null; then
  export TMPDIR="$W/t m&p"
  mkdir "$TMPDIR"
  accept "cosim below a path with blank, &, |, quotes, \$, ; and #" "${cosim[@]}"
  cp "$W.out" "$W/want"
  unset TMPDIR
  if command -v yosys >/dev/null; then
    accept "its netlist" "${cosim[@]}" --netlist
    accept "its mutants" "${cosim[@]}" --mutants 2
  else
    skip "its netlist" "no yosys"
  fi
  built=$(stat -c %y "$(object model.so)")
  sq "${cosim[@]}"
  ok "again: nothing is built" [ "$(stat -c %y "$(object model.so)")" = "$built" ]
  for size in 0 1 4096 100000; do
    truncate -s $size "$(object model.so)"
    sq "${cosim[@]}"
    ok "an object cut to $size bytes is built again" same
  done
  rm "$(object model.so)"
  sq "${cosim[@]}"
  ok "... and one that is gone" same
  rm "$(object digests)"
  sq "${cosim[@]}"
  ok "... and one without digests" same
  ok "$FLIPS flipped bits: never used (seed $SEED)" flips "${cosim[@]}" -- "$(object model.so)" "$(object digests)"
  ok "nothing is left but entries and the lock" \
    [ -z "$(find "$SQSIM_HOME/build/rtl" -mindepth 1 -maxdepth 1 ! -name lock ! -regex '.*/\(topk_b8.*\|headers\)-[0-9a-f]*')" ]

  VERILATOR="$W/no such" sq "${cosim[@]}"
  ok "VERILATOR that does not run: exit 3" [ "$RC" = 3 -a "$(wc -l <"$W.err")" = 1 ]
  mkdir "$W/my tools"
  printf '#!/bin/sh\nexec verilator "$@"\n' >"$W/my tools/veri&lator"
  chmod +x "$W/my tools/veri&lator"
  rm -rf "$(object)"
  VERILATOR="$W/my tools/veri&lator" sq "${cosim[@]}"
  ok "VERILATOR with a blank in its path" same

  # A disk that is full, or a limit of file sizes: not the RTL's fault.
  rm -rf "$(object)"
  (ulimit -f 40; cd "$W" && exec "$SQSIM" "${cosim[@]}" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
  sed -i '/^sqsim: bubblewrap/d' "$W.err"
  ok "no room for a build: exit 3, one line with the folder" \
    [ "$RC" = 3 -a "$(wc -l <"$W.err")" = 1 -a "$(grep -c "a tool could not write in '.*/rtl/[a-z0-9_]*-.*File too large" "$W.err")" = 1 ]

  # A failing build leaves its log, named, and no entry.
  mkdir -p "$W/bad/sim/cosim"
  cp -r "$ROOT/rtl" "$W/bad/rtl"
  cp "$ROOT"/sim/cosim/sq_{bridge,rtl}.h "$W/bad/sim/cosim"
  echo 'module sq_topk; typo' >"$W/bad/rtl/core/sq_topk.sv"
  SQSIM_HOME=$W/bad sq "${cosim[@]}"
  ok "RTL that does not build: exit 1" [ "$RC" = 1 -a "$(wc -l <"$W.err")" = 1 ]
  log=$(sed 's/.*, see //' "$W.err")
  ok "... its log is named" grep -q 'sq_topk.sv' "$W/bad/build/rtl/${log##*/}"
  ok "... and nothing else is left" [ "$(ls "$W/bad/build/rtl" | wc -l)" = 2 ]
else
  skip "verilated objects" "no verilator"
fi

# ---- synthesis --------------------------------------------------------------------------------
headers=("$SQSIM_HOME"/build/rtl/headers-*) # which a third of the time of this test would compile once more
export SQSIM_HOME=$W/home # area.t has an odd one
mkdir -p "$SQSIM_HOME/build/rtl"
[ ! -d "$headers" ] || cp -a "${headers[@]}" "$SQSIM_HOME/build/rtl/"
for part in rtl sim traces; do ln -s "$ROOT/$part" "$SQSIM_HOME/$part"; done
area=(area --json --block mul --a-bits 2 --b-bits 2)
entry() { echo "$SQSIM_HOME"/build/synth/sq_mul-*/"$1"; }
if command -v yosys >/dev/null && [ -r $LIB ]; then
  accept "area" "${area[@]}"
  cp "$W.out" "$W/want"
  ok "no library is left" [ -z "$(find "$SQSIM_HOME/build/synth" -name '*.lib')" ]
  ok "$FLIPS flipped bits: never used (seed $SEED)" \
    flips "${area[@]}" -- "$(entry result.json)" "$(entry digests)"
  : >"$(entry result.json)"
  sq "${area[@]}"
  ok "an empty result is made again" same
  sed 's/^area : 24/area : 12/' $LIB >"$W/half.lib"
  accept "another library" "${area[@]}" --liberty "$W/half.lib"
  ok "only entries and the lock are left" \
    [ "$(ls "$SQSIM_HOME/build/synth" | sed 's/sq_mul-.*/sq_mul/' | xargs)" = "lock sq_mul sq_mul" ]
else
  skip "synthesis" "no yosys, or no $LIB (package qflow-tech-osu018)"
fi

# ---- a cache that cannot be written -----------------------------------------------------------
# Root may write anywhere: then as nobody.
reader() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent "$@"
  else
    "$@"
  fi
}
chmod 755 "$W"
sq "${cosim[@]}"
cp "$W.out" "$W/want"
if [ "$RC" = 0 ] && reader test -x "$SQSIM" -a -r "$SQSIM_HOME/rtl/files.f" 2>/dev/null; then
  chmod -R a-w,a+rX "$SQSIM_HOME/build" # made for its user alone; opened by hand to others that trust root
  (cd "$W" && reader "$SQSIM" "${cosim[@]}" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
  ok "what is cached needs no permission to write" same
  (cd "$W" && reader "$SQSIM" cosim --block topk --point b16 --cases 20 >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
  ok "what is not is refused in one line" refused_well "cannot.*build/rtl/.*: Permission denied" "" ""
  chmod -R u+w "$SQSIM_HOME/build"
else
  skip "a cache that cannot be written" "no verilator, or nobody else may read it"
fi
finish
