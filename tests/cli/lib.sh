# SPDX-License-Identifier: Apache-2.0
# For the tests of the command line: TAP output, a scratch directory, and what a refusal is: exit 2,
# exactly one line on stderr, nothing left behind, no hang. SQSIM names the program under test.
unset PERL_TEST_HARNESS_DUMP_TAP # of tests within a test no skip is counted
SQSIM=$(realpath "${SQSIM:-build/sqsim}")
export SQSIM_HOME=${SQSIM_HOME:-$PWD}
ROOT=$PWD
# Files that others made (docs/data.md); a folder that does not exist where SQ_DATA is not set.
DATA=${SQ_DATA:-/SQ_DATA is not set}
# left NAME...: the formats that a copy without a room has (make without).
left() { for f; do [ "$f" = "${SQ_WITHOUT:-}" ] || echo "$f"; done; }
W=$(mktemp -d "${TMPDIR:-/tmp}/sq-cli-XXXXXX")
trap 'chmod -R u+w "$W"; rm -rf "$W" "$W.out" "$W.err"' EXIT
N=0
FAILED=0
# Seconds after which a command counts as hung. No verdict depends on how fast a machine is: this is
# far above what the slowest command takes on two cores that eight other processes want as well.
HANG=1800
# The same for what runs without timeout, in seconds of the processor.
ulimit -t $((4 * HANG))

[ -x "$SQSIM" ] || { echo "Bail out! $SQSIM is not built"; exit 1; }

# ok DESCRIPTION CONDITION...: one TAP line for a command that must succeed.
ok() {
  local what=${1//[^ -~]/?}; shift # one line of TAP, whatever an argument was called
  N=$((N + 1))
  if "$@"; then echo "ok $N - $what"; else echo "not ok $N - $what"; FAILED=1; fi
}

# The program is that of the sanitizers.
san() { [[ $SQSIM == */san/* ]]; }
skip() { # DESCRIPTION REASON
  N=$((N + 1))
  echo "ok $N - $1 # SKIP $2"
}

# `make test` sets SQ_TIER=test: what differs from another part of a test in parameters alone, or takes minutes and
# changes rarely, is for `make test-daily`. Some of that is done one of OF a day, by its seed; `make test-all` does all.
DAY=${SQ_DAILY:-${SQ_SEED:-1}}
daily() { # NAME: whether it is done
  [ "$SQ_TIER" != test ] || { skip "$1" "make test-daily"; return 1; }
}
todays() { # NAME NUMBER OF: whether NUMBER is the one of this day
  daily "$1" || return
  [ "$SQ_FAULTS" = 1 ] || [ $((DAY % $3)) = "$2" ] || { skip "$1" "one of $3 a day; make test-all takes all"; return 1; }
}

# sq ARGS...: runs the program in $W; $RC, $W.out, $W.err hold what came back, without the line that
# says that tools are not confined, on machines where they cannot be, and without the one that a test of
# few sequences has no good intervals. sq_all: with both.
sq_all() {
  (cd "$W" && exec timeout $HANG "$SQSIM" "$@" >"$W.out" 2>"$W.err" </dev/null)
  RC=$?
}
sq() {
  sq_all "$@"
  local said
  mapfile said <"$W.err"
  [[ ${said[*]} != *"sqsim: bubblewrap"* && ${said[*]} != *"sqsim eval: note:"* ]] || sed -i '/^sqsim: bubblewrap (bwrap) does not run here/d; /^sqsim eval: note: .*95 % intervals of /d' "$W.err"
}

# Every name below $W, with size and time of what is no directory.
files() { find "$W" \( -type d -printf '%p\n' \) -o -printf '%p %s %T@\n'; }

# refuse PATTERN ARGS...: exit 2, one line that matches, the scratch directory as it was.
refuse() {
  local pattern=$1 before after; shift
  before=$(files)
  sq "$@"
  after=$(files)
  ok "refused: $*" refused_well "$pattern" "$before" "$after"
}
refused_well() {
  local lines
  mapfile lines <"$W.err"
  [ "$RC" = 2 ] && [[ ${#lines[@]} = 1 && $lines = *$'\n' ]] && grep -q -- "$1" "$W.err" && [ "$2" = "$3" ] && return
  echo "# exit $RC, ${#lines[@]} lines on stderr, want 2 and one line that matches: $1"
  sed 's/^/# stderr: /' "$W.err"
  [ "$2" = "$3" ] || echo "# files changed"
  return 1
}

# accept DESCRIPTION ARGS...: exit 0 and nothing on stderr.
accept() {
  local what=$1; shift
  sq "$@"
  ok "$what" accepted
}
accepted() {
  [ "$RC" = 0 ] && [ ! -s "$W.err" ] && return
  echo "# exit $RC"; sed 's/^/# stderr: /' "$W.err"
  return 1
}

# says DESCRIPTION PATTERN ARGS...: accepted, and the output has a line that matches.
says() {
  local what=$1 pattern=$2; shift 2
  sq "$@"
  ok "$what" eval 'accepted && out_has "$pattern"'
}

out_has() { grep -q -- "$1" "$W.out" || { sed 's/^/# stdout: /' "$W.out" | head -5; return 1; }; }

# files_of DOCUMENT: the files that it shows, "<!-- file: NAME -->" and a fence, into $W.
files_of() {
  (cd "$W" && awk '/^<!-- file: [a-z0-9_.]+ -->$/ {name = $3; next}
    name && /^```/ {if (on) name = ""; on = !on; next} on {print >name}' "$1")
}

# number KEY: its last value in the last JSON line of the output.
number() { tail -1 "$W.out" | grep -o "\"$1\":[^,}]*" | tail -1 | cut -d: -f2-; }

finish() {
  echo "1..$N"
  exit $FAILED
}

# undigested FILE...: renames the digest of our safetensors files: what reads behind it is tested.
undigested() { LC_ALL=C sed -i 's/"sq_digest"/"no_digest"/' "$@"; }

# few_tokens N [LENGTH]: from here on the embedded model has the first N sequences of its tokens alone, cut to LENGTH tokens, and
# calibrates in a moment.
few_tokens() {
  rm -rf "$W/home"
  mkdir -p "$W/home/traces" && ln -s "$ROOT/sim" "$W/home" && cp -r "$ROOT/traces/tiny-llama" "$W/home/traces"
  export SQSIM_HOME=$W/home
  python3 - "$1" "${2:-1000000}" "$SQSIM_HOME"/traces/tiny-llama/tokens_*.safetensors <<'EOS'
import json, struct, sys
n, most = int(sys.argv[1]), int(sys.argv[2])
for path in sys.argv[3:]:
    data = open(path, "rb").read()
    begin = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:begin])
    starts = struct.unpack_from("<%dq" % (n + 1), data, begin + head["offsets"]["data_offsets"][0])
    offsets, ids = [0], b""
    for first, end in zip(starts, starts[1:]):
        ids += data[begin + head["ids"]["data_offsets"][0]:][4 * first:4 * min(end, first + most)]
        offsets.append(len(ids) // 4)
    head["ids"] = {"dtype": "I32", "shape": [offsets[-1]], "data_offsets": [0, len(ids)]}
    head["offsets"] = {"dtype": "I64", "shape": [n + 1], "data_offsets": [len(ids), len(ids) + 8 * n + 8]}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + ids + struct.pack("<%dq" % (n + 1), *offsets))
EOS
}

# place FILE TENSOR: the offset of its first byte in a safetensors file.
place() {
  local len off
  len=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
  off=$(tail -c +9 "$1" | head -c "$len" | grep -o "\"$2\": *{[^}]*}" |
    grep -o '"data_offsets": *\[[0-9]*' | grep -o '[0-9]*$')
  echo $((8 + len + off))
}

# tensor FILE HEADER DATA_BYTES: a safetensors file with this header, and data of 0x3c bytes (every
# F32, F16, BF16 value is then a small positive number).
tensor() {
  local n=${#2} i
  { for i in 0 8 16 24 32 40 48 56; do
      printf "\\x$(printf %02x $((n >> i & 255)))"
    done
    printf %s "$2"
    head -c "$3" /dev/zero | tr '\0' '\074'
  } >"$1"
}
