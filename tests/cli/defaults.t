#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# eval and quantize start from the same defaults: of every format that quantize writes, whatever both
# say of its recipe is the same, and so are the stored bits. Without calibration tokens both round to
# nearest and say so. (That an option of both is one row of its table: unit/format/test_formats.c.)
. "$(dirname "$0")/lib.sh"

# Keys of the last lines of two outputs: those that both have, and of them those that differ; what
# the commands themselves add is left out.
compared() {
  python3 - "$W/quantize" "$W/eval" <<'END'
import json, sys
a, b = (json.loads(open(path).readlines()[-1]) for path in sys.argv[1:])
both = (a.keys() & b.keys()) - {"summary", "provenance"}
print(*sorted(both), ";", *sorted(key for key in both if a[key] != b[key]))
END
}
few="--calib-sequences 1 --json"
for f in $("$SQSIM" quantize --complete | awk -F '\t' '$1 == "--format" {print $3}'); do
  sq quantize --format "$f" $few
  cp "$W.out" "$W/quantize"
  sq eval --format "$f" --sequences 1 --summary $few
  cp "$W.out" "$W/eval"
  said=$(compared)
  ok "$f: what both say is the same" [ "${said#*;}" = "" ]
  ok "$f: both say format, algorithm and bits" grep -q 'algorithm .*format .*stored_bits_per_weight' <<<"$said"
done
ok "SQ Algorithm 1 is the default" [ "$(sq quantize $few; number algorithm)" = '"gptq"' ]
smooth() { # WANT OPTIONS: what both commands say, and what layers store for it
  local want=$1
  shift
  for command in "quantize" "eval --sequences 1 --summary"; do
    sq $command "$@" $few
    ok "$command $*: smooth = $want" [ "$(number smooth)" = "$want" ]
  done
}
smooth 0.5
smooth 0.5 --bank 16 --sparsity 0.5 --high-bits 4 --low-bits 2
smooth 0.5 --format sq_a_static --algorithm rtn
smooth 0.25 --smooth 0.25
smooth null --smooth none
smooth null --algorithm rtn
smooth null --format sq_a_static --smooth none
smooth null --format sq_a_dynamic
smooth null --format dense
sq quantize $few --format sq_a_static -o smoothed.st
ok "the file has it" grep -q '"smooth":"0.5"' "$W/smoothed.st"

# ---- every option of both in --help: text, range, default ----------------------------------------
paragraphs() { # COMMAND: "--option text", a line each
  "$SQSIM" "$1" --help | awk '/^ [A-Z].*:$/ {next} /^  (    |-., )--/ {if (p) print p; p = ""; on = 1} on {$1 = $1; p = p " " $0} END {print p}' |
    grep -o -- '--[a-z].*' | LC_ALL=C sort
}
paragraphs eval >"$W/eval"
paragraphs quantize >"$W/quantize"
names() { cut -d' ' -f1 "$W/$1" | cut -d= -f1 | LC_ALL=C sort; }
LC_ALL=C join <(names eval) <(names quantize) >"$W/both"
said_of() { grep -- "^$1[= ]" "$W/$2" | tr -d ' '; } # lines break in different places
ok "30 options are of both" [ "$(wc -l <"$W/both")" -ge 30 ]
for o in $("$SQSIM" quantize --complete | cut -f1); do
  case $o in --calib | --calib-text | --output | --progress) continue ;; esac # of the commands themselves
  if grep -qx -- "$o" "$W/both"; then
    ok "$o: the same help" [ "$(said_of "$o" eval)" = "$(said_of "$o" quantize)" ]
  fi
done

# ---- what --help says of a command's own default is what it takes where nobody gives the option --------------------
printf 'arrived_at,num_prefill_tokens,num_decode_tokens\n0,20,3\n' >"$W/r.csv"
cat >"$W/commands" <<'END'
run --n 40 --k 256 --format dense --json
run --device ddr4-2400 --json
run --phase prefill --json
run --phase serve --requests r.csv --json
image --format dense --algorithm rtn --layer *.0.self_attn.k_proj --m 2 -o . --json
inspect --gemms --phase decode
END
said() { # the options that a command was given by their default without another output
  cd "$W" && python3 - "$SQSIM" <<'END'
import re, subprocess, sys
def call(words):
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True)
    return done.returncode, re.sub(r'"(provenance":\{[^}]*\}|seconds_host":[^,}]*)', "", done.stdout)
for words in map(str.split, open("commands")):
    for name, about in re.findall(r"^  (?:    |-\w, )--([\w-]+)=(.*(?:\n {20}.*)*)", call([words[0], "--help"])[1].split(" Format:\n")[0], re.M):
        default = re.search(r"\(([^\s()]+?)(?:;\s[^()]*)?\)$", about)
        if default and "--" + name not in words:
            code, text = call([*words, "--" + name, default[1]])
            if code == 0:
                print(name, "" if text == call(words)[1] else f"not {default[1]}: {words}")
END
}
said >"$W/said"
ok "the defaults of --help" [ "$(cut -d' ' -f1 "$W/said" | sort -u | tr '\n' ' ')" = "base batch calib channels chips cols depth fair m machine map page positions queue refresh routing rows seq sequences token-budget utilisation " ]
ok "... are those of the commands" [ -z "$(grep ' not ' "$W/said")" ]

# ---- no calibration tokens ----------------------------------------------------------------------
mkdir "$W/bare"
cp "$ROOT"/traces/tiny-llama/{config.json,model.safetensors,tokens_eval.safetensors} "$W/bare"
for command in "eval bare --sequences 1 --summary" "quantize bare"; do
  sq $command --json
  ok "$command: no tokens" [ "$RC,$(number algorithm)" = '0,"rtn"' ]
  ok "$command: a note" grep -qx "sqsim [a-z]*: note: no calibration tokens here, weights by --algorithm rtn .*" "$W.err"
  cp "$W.out" "$W/said"
  accept "$command: rtn, asked for" $command --json --algorithm rtn
  ok "$command: the same" cmp "$W.out" "$W/said"
  refuse "tokens_calib.safetensors" $command --algorithm gptq
  refuse "tokens_calib.safetensors" $command --format spqr
done
refuse "tokens_calib.safetensors" eval bare --smooth 0.5
refuse "tokens_calib.safetensors" eval bare --sequential
refuse "no-such" eval bare --calib no-such
finish
