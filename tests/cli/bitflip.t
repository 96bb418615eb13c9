#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One flipped bit in what sqsim stores and reads again: exit 2 with one line, or the same output;
# never another number, never a crash. Sampled: FLIPS places of a database (60; `make bitflip-test`
# takes 500), a third as many of each encoded file; every text of a database is altered in
# tests/unit/machine/test_sweep_db.c, every bit of a file in tests/unit/io/test_safetensors.c.
. "$(dirname "$0")/lib.sh"
FLIPS=${FLIPS:-60}
SEED=${SQ_SEED:-1}

# flipped FILE I: FILE with bit number I of its pseudo-random sequence flipped, into $W/flipped.
flipped() {
  perl -e '
    my ($from, $to, $seed, $i) = @ARGV;
    open(my $f, "<:raw", $from) or die; local $/; my $s = <$f>;
    srand($seed * 100003 + $i);
    my $bit = int(rand(8 * length $s));
    vec($s, $bit, 1) ^= 1;
    open(my $o, ">:raw", $to) or die; print $o $s; close $o or die;
    print $bit' "$W/$1" "$W/flipped" "$SEED" "$2"
}

# judge WANT GOT: counts a run that ended with $RC; false where it is neither refused nor the same.
judge() {
  if [ "$RC" = 2 ] && [ "$(wc -l <"$W.err")" = 1 ]; then
    refused=$((refused + 1))
  elif [ "$RC" = 0 ] && diff -rq "$1" "$2" >/dev/null; then
    same=$((same + 1))
  else
    echo "# bit $bit of $file: exit $RC"; head -3 "$W.err" | sed 's/^/# /'
    return 1
  fi
}

# ---- a database ---------------------------------------------------------------------------------
cat >"$W/s.yaml" <<'EOT'
name: small
title: what is kept
axes: {n: [256, 1000], k: [256..1024*2], m: [1..16*2], bank: [8, 32], sparsity: [0.5, 0.875]}
measures: [cycles, stored_bits, causes]
EOT
accept "a sweep" sweep s.yaml --db s.db -o s.csv
accept "a report of it" report --db s.db -o report
cp "$W.out" "$W/report/text"

report_of() { # DB: page, CSV, JSON and text into $W/again
  rm -rf "$W/again"
  sq report --db "$1" -o again
  [ "$RC" = 2 ] && [ -e "$W/again" ] && { echo "# a refused report left files"; RC=9; }
  [ "$RC" = 0 ] || return
  sed 's/again/report/g' "$W.out" >"$W/again/text"
  sed -i "s/$1/s.db/g" "$W"/again/*
}
reports() { # $W/flipped as `report` sees it
  rm -f "$W/flipped.db"*
  cp "$W/flipped" "$W/flipped.db"
  report_of flipped.db
  judge "$W/report" "$W/again"
}
resumes() { # and as the sweep itself does: what it exports, and what then is reported
  rm -f "$W/resumed.csv" "$W/flipped.db"*
  cp "$W/flipped" "$W/flipped.db"
  sq sweep s.yaml --db flipped.db -o resumed.csv
  judge "$W/s.csv" "$W/resumed.csv"
}
merges() {
  rm -f "$W/merged.db"* "$W/flipped.db"*
  cp "$W/flipped" "$W/flipped.db"
  sq sweep --merge flipped.db --db merged.db
  [ "$RC" = 0 ] && report_of merged.db
  judge "$W/report" "$W/again"
}
survives() { # HOW FILE FLIPS
  local how=$1 n=$3 i bad=0
  file=$2 same=0 refused=0
  for ((i = 0; i < n; i++)); do
    bit=$(flipped "$file" "$i")
    $how || bad=$((bad + 1))
  done
  echo "# $how, $file: $n flips, $refused refused, $same the same, $bad wrong"
  [ $bad = 0 ] && [ $((refused + same)) = "$n" ]
}
ok "report of a flipped database" survives reports s.db "$FLIPS"
ok "is refused somewhere" [ "$refused" -gt 0 ]
ok "sweep on a flipped database" survives resumes s.db "$FLIPS"
ok "merge of a flipped database" survives merges s.db "$FLIPS"

# ---- encoded files ------------------------------------------------------------------------------
header='{"w.weight":{"dtype":"F16","shape":[16,256],"data_offsets":[0,8192]}}'
tensor "$W/w.safetensors" "$header" 0
perl -e 'srand(7); print pack("v", 0x2c00 + int(rand(4096)) + 0x8000 * int(rand(2))) for 1 .. 4096' \
  >>"$W/w.safetensors"
inspects() {
  cp "$W/flipped" "$W/enc"
  sq inspect enc
  cp "$W.out" "$W/enc.out"
  # A flip in the key itself makes it a file of another writer: the line of metadata, no number.
  grep -v '^  .q_d\|^  s.*_d\|^  sq_.*t = \|xxh3-128:' "$W/enc.out" >"$W/enc.cut"
  judge "$W/want.cut" "$W/enc.cut"
}
for format in sq_w sp24 gqsa; do
  accept "quantize --format $format" quantize w.safetensors --format "$format" --algorithm rtn -o "$format.st"
  cp "$W/$format.st" "$W/enc"
  accept "inspect $format" inspect enc
  grep -v 'xxh3-128:' "$W.out" >"$W/want.cut"
  ok "$format, a flipped file" survives inspects "$format.st" $(((FLIPS + 2) / 3))
done
sed 's/"sq_digest"/"no_digest"/' "$W/sq_w.st" >"$W/foreign"
accept "a file without a digest" inspect foreign
finish
