#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/ is true: every "SPEC X.n" leads to a section, links and anchors to a place, every key that
# --json prints is documented and the other way round, the files that the glossary names exist. The
# tables that the code holds itself (axes, measures, schema) are in tests/unit/io/test_docs.c.
. "$(dirname "$0")/../cli/lib.sh"
DOCS=$ROOT/docs
# A copy without a room (make without) has the documents of the whole tree, which name it: names are looked up there, and
# what the program prints is asked of the formats that are left.
WHOLE=${SQ_WHOLE:-$ROOT} WITHOUT=${SQ_WITHOUT:-}

# ---- references -------------------------------------------------------------------------------
# Headings "### A.7 ...", rows "| K3 | ...", words in bold: what can be referred to.
perl -ne 'print "$1\n" if /^#+ ([0A-R](?:\.\d+[bcd]?)?)[. ]/ or /^\| ((?:[KP]|L\.)\d+) \|/;
  print "$1\n" while /\*\*([VC]\d+b?)\*\*/g' "$DOCS"/spec/*.md | sort >"$W/sections"
ok "no section twice" [ -z "$(uniq -d "$W/sections")" ]
# FILE SECTION of every reference: lists (A.6, A.8), ranges (B.1-B.5, V1 to V3), over line ends too.
# PREFIX is "SPEC", or nothing for the documents' own "(A.8)".
references() { # PREFIX FILE...
  local prefix=$1; shift
  PREFIX=$prefix perl -0777 -ne '
    my $one = qr/(?:[0A-R]\.\d+[bcd]?|[KVP]\d+b?|[A-R])(?![\w.]*\w)/;
    my $start = $ENV{PREFIX} ? qr/(?<![\w.])SPEC[\s\/*#]+/ : qr/(?<![\w.`-])(?=[A-R]\.\d)/;
    while (/$start($one(?:(?:, (?:and )?| and | to |-)$one)*)/g) {
      my $list = $1;
      while ($list =~ s/([A-R0])\.(\d+)(?:-| to )\1\.(\d+)//) {
        print "$ARGV $1.$_\n" for $2 .. $3;
      }
      print "$ARGV $_\n" for $list =~ /$one/g;
    }' "$@"
}
sources=$(cd "$ROOT" && git ls-files models sim rtl gpu tests reports README.md docs 2>/dev/null ||
  find models sim rtl gpu tests reports README.md docs -type f)
sources=$(cd "$ROOT" && for f in $sources docs/*.md docs/*/*.md; do [ -f "$f" ] && echo "$f"; done |
  grep -v '\.\(png\|svg\|csv\|safetensors\)$' | sort -u)
(cd "$ROOT" && references SPEC $sources; references '' docs/spec/*.md) | sort -u >"$W/references"
ok "many references" [ "$(wc -l <"$W/references")" -gt 150 ]
ok "every reference has its section" [ -z "$(awk 'NR == FNR {known[$1]; next} !($2 in known) \
  {print "# " $1 " refers to SPEC " $2 > "/dev/stderr"; print}' "$W/sections" "$W/references")" ]
# Every vector has a row in section M, and every test named there says that it checks it.
for v in $(grep '^V' "$W/sections"); do
  tests=$(grep -E "^\| ([^|]*, )?$v(,[^|]*)? \|" "$DOCS/spec/readings.md" | grep -oE 'test_[a-z0-9_]+\.(c|cpp)|[a-z]+\.t')
  [ "$v" = V9b ] && tests=test_q4k.c
  ok "$v: $(echo $tests)" [ -n "$tests" -a -z "$(for t in $tests; do
    grep -qsE "\b$v\b" "$WHOLE"/tests/{,unit/}*/"$t" || echo "$t"; done)" ]
done
for t in $(grep -ohE '\b(test_[a-z0-9_]+\.(c|cpp)|(cli|rtl)/[a-z0-9_]+\.t)\b' "$DOCS"/*.md "$DOCS"/spec/*.md | sort -u); do
  ok "there is a $t" [ -n "$(ls "$WHOLE"/tests/$t "$WHOLE"/tests/*/$t "$WHOLE"/tests/unit/*/$t 2>/dev/null)" ]
done

# ---- links ------------------------------------------------------------------------------------
slugs() { # of the headings of a document
  sed -n 's/^##* //p' "$1" | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
CHIP=$ROOT/rtl/top
for doc in "$DOCS"/*.md "$DOCS"/spec/*.md "$CHIP"/*.md "$ROOT/README.md"; do
  while read -r link; do
    file=${link%%#*} anchor=${link#*#}
    [ -n "$file" ] && file=$(dirname "$doc")/$file || file=$doc
    ok "${doc#"$ROOT"/}: $link" grep -qx "$anchor" <(slugs "$file")
  done < <(grep -o '](\([^)]*#[^)]*\))' "$doc" | sed 's/^](//; s/)$//' | grep -v '^https\?:' | sort -u)
done
for doc in "$DOCS"/*.md "$DOCS"/spec/*.md; do
  ok "an index names ${doc#"$DOCS"/}" grep -qs "[(/]${doc#"$DOCS"/}[)#]" "$DOCS/README.md" "$DOCS/SPEC.md" "$ROOT/README.md"
done
# The chip has a page a part, which a reader finishes in a few minutes.
for doc in "$CHIP"/*.md; do
  ok "rtl/top/README.md names ${doc##*/}" [ "$doc" = "$CHIP/README.md" -o -n "$(grep -F "| [${doc##*/}](${doc##*/}) |" "$CHIP/README.md")" ]
  ok "${doc##*/} has at most 900 words, and says what it is for" [ "$(wc -w <"$doc")" -le 900 -a -n "$(sed -n '3s/^This page says .*\.$/&/p' "$doc")" ]
done
ok "no code is torn over lines" [ -z "$(awk '/^```/ {fence = !fence; next} !fence {n = gsub(/`/, "")
  if (n % 2) print "# " FILENAME " " FNR}' "$DOCS"/*.md "$DOCS"/spec/*.md "$CHIP"/*.md | tee >(cat >&2))" ]

# ---- names ------------------------------------------------------------------------------------
# What stands in `` in docs/ and rtl/top/: files of models/, gpu/ and rtl/, and functions of models/ and sim/.
cat "$DOCS"/*.md "$DOCS"/spec/*.md "$CHIP"/*.md | grep -o '`[^`]*`' | tr -d '`' | sort -u >"$W/words"
lost() { # of the words that match PATTERN, those that no file below FOLDER... is called
  local pattern=$1; shift
  grep -Ex "$pattern" "$W/words" | while read -r name; do
    [ -n "$(cd "$WHOLE" && find "$@" -path "*/$name" -o -path "$name" 2>/dev/null)" ] || echo "# no file $name" >&2
  done 2>&1
}
ok "headers, modules, kernels" [ -z "$(lost '(quant/)?sq_[a-z0-9_]*\.(h|c|sv|cu|cuh)' models rtl gpu | tee >(cat >&2))" ]
for folder in $(grep -oE '^(sim/)?[a-z]+/([a-z0-9]+/)?sq_[a-z0-9_]+\.[ch]$' "$W/words" | sed 's,^sim/,,; s,/.*,,' | sort -u); do
  case $folder in models) continue ;; esac
  ok "sim/$folder" [ -z "$(lost "(sim/)?$folder/([a-z0-9]+/)?sq_[a-z0-9_]+\.[ch]" models sim lib | tee >(cat >&2))" ]
done
(cd "$WHOLE" && grep -rhoE '\b(sq|SQ)_[A-Za-z0-9_]+\b' Makefile models sim rtl gpu tests/unit) | sort -u >"$W/names"
ok "functions and modules" [ -z "$(grep -Ex '(sq|SQ)_[A-Za-z0-9_]*[a-zA-Z0-9]' "$W/words" |
  grep -vxFf "$W/names" | sed 's/^/# nobody is called /' | tee >(cat >&2))" ]

# Words that name nothing stay out of pages.
ok "pages say interface, predicts, is reported, range" [ -z "$(cd "$ROOT" && { git ls-files '*.md' 2>/dev/null || find docs rtl sim -name '*.md'; } |
  xargs grep -nwiE 'foretells?|seams?|stretch(es)?|laps?|worlds?|(is|are) told' | tee >(cat >&2))" ]

# Blocks that documents name with --block: those of cosim and energy, or a row of area.
blocks=" all top $("$SQSIM" cosim --block all --list --json 2>/dev/null | grep -o '"block":"[a-z_0-9]*"' | cut -d'"' -f4 | sort -u | tr '\n' ' ')"
unknown=
for b in $(cd "$ROOT" && { git ls-files '*.md' 2>/dev/null || find . -name '*.md'; } |
  xargs grep -ohP -- '--block \K[a-z][a-z0-9_]*(?![a-zA-Z0-9_*])' | sort -u); do
  case $blocks in *" $b "*) continue ;; esac
  [ -n "$WITHOUT" ] && grep -rqs "\b$b\b" "$WHOLE/sim/block/$WITHOUT" && continue
  sq area --block "$b" --liberty /nonexistent
  grep -q "'/nonexistent'" "$W.err" || unknown="$unknown $b"
done
ok "every --block of a document is there ($unknown)" [ -z "$unknown" ]

# ---- JSON -------------------------------------------------------------------------------------
# Keys of a command: "LINE_OR_SUMMARY KEY", of the objects' first level.
printed() {
  sed ':a; s/:{[^{}]*}/:0/; ta' | awk '{kind = /"summary":true/ ? "S" : "L"
    while (match($0, /"[a-z0-9_]+":/)) {
      print kind, substr($0, RSTART + 1, RLENGTH - 3); $0 = substr($0, RSTART + RLENGTH)}}' |
    grep -v ' \(summary\|provenance\)$' | sort -u
}
documented() { # COMMAND
  awk -v want="## sqsim $1" '/^## / {here = $0 == want; on = 0} !NF {on = 0} /^\| key / {on = here}
    on && /^\| `/ {split($0, c, "|"); gsub(/[ `]/, "", c[2])
      if (c[3] ~ /L/) print "L", c[2]; if (c[3] ~ /S/) print "S", c[2]}' "$DOCS/json.md" | sort -u
}
all=$W/all.json
json() { # COMMAND ARGS...: adds what it prints to $W/COMMAND.json; a mode, as its first option, belongs to the name
  local command=$1 name=$1; shift
  case $1 in --vectors | --gemms | --share | --phase | --explain | --device | --changes) name="$command $1" ;; esac
  sq "$command" "$@" --json
  cat "$W.out" >>"$W/$name.json"
  cat "$W.out" >>"$all"
  [ "$RC" = 0 ] || [ "$1$RC" = --changes1 ] || { sed 's/^/# /' "$W.err"; ok "$command $*" false; }
}
check() { # COMMAND
  printed <"$W/$1.json" >"$W/printed"
  # Rows of a sweep have axes and measures by their names, which test_docs.c knows.
  [[ $1 != @(sweep|point) ]] || { awk '/^<!-- (axes|measures) -->/ {on = 1} !NF {on = 0} on && /^\| `/ {gsub(/[`|]/, ""); print "L " $1}' \
    "$DOCS/files.md" | grep -vxFf - "$W/printed" >"$W/rest"; mv "$W/rest" "$W/printed"; }
  documented "$1" >"$W/documented"
  comm -3 ${WITHOUT:+-2} "$W/printed" "$W/documented" >"$W/difference"
  ok "keys of $1 ($(wc -l <"$W/printed")), L of lines and S of the summary" [ ! -s "$W/difference" ]
  sed "s/^\t/# documented only: /; t; s/^/# printed only: /" "$W/difference"
}
M=$SQSIM_HOME/sim/machines
json quantize --smooth none --calib-sequences 1 -o w.safetensors
json quantize --calib-sequences 1 -o smoothed.safetensors
# Values of other bits than a format's own, and training, have keys of their own.
for f in $(left sp24 gqsa); do
  json quantize --format $f --prune magnitude --algorithm rtn -o $f.safetensors
  wide=(--weight-bits 8)
  [ $f = gqsa ] || wide=(--weight-bits 6 --group 128)
  json quantize --format $f --prune magnitude --algorithm rtn "${wide[@]}" -o $f.wide
done
json quantize --format "$(left gqsa sp24 | head -1)" --train both --train-steps 1 --calib-sequences 1 -o trained.safetensors
for f in mxfp4 mxfp8 mxplus nvint5 sq_b; do json quantize --format $f -o $f.safetensors; done
for f in $(left spqt spqr); do json quantize --format $f --calib-sequences 1 -o $f.safetensors; done
for f in dense sq_a_static sq_a_dynamic; do json quantize --format $f --smooth none --calib-sequences 1 -o $f.safetensors; done
mkdir "$W/vectors" # quantize has written files of these names here
for f in nvfp4 sq_b mxfp8; do json quantize --vectors --format $f -o vectors; done
json quantize --vectors --format nvfp4 --check vectors/nvfp4.jsonl
check quantize
check "quantize --vectors"
json inspect
json inspect w.safetensors
python3 "$ROOT/tests/llm/gguf_write.py" "$SQSIM_HOME/traces/tiny-llama" "$W/m.gguf" general.architecture=x
json inspect m.gguf
(cd "$W" && "$SQSIM" quantize --as modelopt --format nvfp4 --operand weights -o quantized >/dev/null)
json inspect quantized
for f in $(left gqsa); do json inspect $f.safetensors; done
json inspect --gemms "$SQSIM_HOME/traces/workloads/llama-2-7b.json"
check inspect
check "inspect --gemms"
json image --format dense --algorithm rtn --layer '*.0.self_attn.k_proj'
mkdir "$W/ring"
json image --ring --format dense --algorithm rtn --layer '*.0.self_attn.k_proj' -o ring
json image --token --format mxfp4 --cols 4 -o ring
check image
json eval --algorithm rtn --sequences 1
json eval --format sq_a_dynamic --algorithm rtn --sequences 1
json eval --format dense --algorithm rtn --sequences 1 --softmax 8
json eval --format dense --algorithm rtn --sequences 1 --softmax attend
for f in $(left sp24 gqsa); do json eval --weights $f.safetensors --sequences 1; done
for f in $(left spqt spqr); do json eval --format $f --sequences 1 --calib-sequences 2; done
for f in $(left gqsa sp24); do json eval --format $f --algorithm rtn --sequences 1; done
for f in mxfp6 nvint4 sq_b; do json eval --format $f --sequences 1; done
check eval
for f in $(left gqsa spqt spqr); do json run --share $f.safetensors; done
json run --phase decode --context 16
{ cat "$M/chip.yaml"; printf '  encoder: yes\n  vector: yes\n  attend: 2\n'; } >"$W/token.yaml"
json run --phase decode --context 16 --format mxfp4 --machine "$W/token.yaml"
json run --phase decode --context 16 --format dense --and nvfp4 --fair none
json run --m 8 --n 64 --k 128
for f in $(left sq_w dense sq_a_static sq_a_dynamic sp24 gqsa spqt spqr mxfp4 nvfp4 sq_b); do
  json run --m 8 --n 64 --k 128 --format $f --machine "$M/default.yaml"
done
json run --m 8 --n 64 --k 128 --format dense --machine "$M/h200.yaml"
json run --m 8 --n 64 --k 128 --format dense --machine "$M/edge4_lpddr5.yaml"
json run --m 8 --n 64 --k 128 --format dense --machine "$M/chip.yaml"
json run --device lpddr5-6400
. "$ROOT/tests/docs/energy_table.sh"
table 320000 640000 >"$W/energy.jsonl"
json run --m 8 --n 64 --k 128 --format dense --weight-bits 4 --energy energy.jsonl
for topic in cycles table10 v13 roofline; do json run --explain $topic; done
for mode in "" " --share" " --explain" " --device"; do check "run$mode"; done

cat >"$W/s.yaml" <<'END'
name: s
axes: {n: [64], k: [128], m: [1, 8]}
measures: [cycles]
END
sed 's/cycles/macs/' "$W/s.yaml" >"$W/t.yaml"
json sweep s.yaml --db s.db -o s.csv
sq sweep t.yaml --db t.db
json sweep --merge t.db --db u.db
json sweep --measures
check sweep
printf '%s\n' '{"n": 64, "k": 128, "measures": ["cycles"]}' '{"n": 64}' >"$W/designs"
(cd "$W" && "$SQSIM" point --json <designs | tee -a "$all" >point.json)
check point
ok "head of the CSV" [ "$(sed -n 1p "$W/s.csv")" = "$(awk '/^<!-- csv -->/ {hit = 1} hit && /^m,/ {print; exit}' "$DOCS/files.md")" ]
json report --changes s.db t.db
json report --db s.db -o report
ok "files of a report" [ "$(ls "$W/report" | tr '\n' ' ')" = "index.html results.json s.csv " ]
check report
check "report --changes"

echo gpu,sparsity,dtype_in,dtype_out,M,N,K,lat_us,p10_us,p90_us,kernel >"$W/a.csv"
for m in 128 256 512 1024; do for n in 1024 2048 4096; do for s in dense 2:4; do
  echo "A100,$s,INT8,INT32,$m,$n,4096,$((m / 20 + 7)),$((m / 20 + 6)),$((m / 20 + 8)),mine"
  echo "A100,$s,BF16,BF16,$m,$n,4096,$((m / 15 + 7))"
done; done; done >>"$W/a.csv"
printf '%s%s%s\n' '{"schema_version":1,"source":"measured","device":{"name":"NVIDIA H200"},"kernel":{"impl":"cublaslt"},' \
  '"problem":{"M":4096,"N":4096,"K":4096,"format":"dense","dtype_a":"bf16","dtype_w":"bf16","dtype_out":"bf16","sparsity":0},' \
  '"timing":{"median_us":600,"l2":"cold_rotated"},"ceilings":{"copy_gbps":4300}}' >"$W/r.jsonl"
json compare --gpu a.csv --machine "$M/a100_pcie_80g.yaml"
json compare --gpu a.csv --machine "$M/a100_pcie_80g.yaml" --calibrate new.yaml
json compare --cross
json compare --joined
json compare --gpu r.jsonl --machine "$M/h200.yaml" --workload "$SQSIM_HOME/traces/workloads/llama-2-7b.json"
check compare

if command -v yosys >/dev/null && command -v sta >/dev/null; then
  json area --block mul --a-bits 2 --b-bits 2
  json area --block mul --a-bits 2 --b-bits 2 --period 20
  wires=(--wires --lef /usr/share/qflow/tech/osu018/osu018_stdcells.lef)
  json area --block mul --a-bits 2 --b-bits 2 "${wires[@]}"
  printf 'module mine(input clk, d, output logic q); always_ff @(posedge clk) q <= d; endmodule\n' >"$W/mine.sv"
  json area --source mine.sv --top mine --clock clk
  json area --block array_split_a_k2 --rows 1 --cols 1 --keep-parts
  check area
  json energy --block array --point int4x4 --rows 1 --cols 1 --bank 4 --cycles 4 "${wires[@]}"
  layer=(--format sp24 --prune magnitude --algorithm rtn --block meta24) # of a few cells
  [ "$WITHOUT" != sp24 ] || layer=(--format dense --block engine_array)
  json energy "${layer[@]}" --m 1 --layer '*.0.self_attn.k_proj' --cycles 4
  check energy
else
  skip "keys of area" "no yosys or sta"
fi
if command -v verilator >/dev/null; then
  (cd "$W" && timeout $HANG "$SQSIM" cosim --block gather --point p01 --cases 2 --json >cosim.json 2>/dev/null)
  cat "$W/cosim.json" >>"$all"
  check cosim
else
  skip "keys of cosim" "no verilator"
fi
ok "keys of provenance" [ "$(grep -o '"provenance":{[^}]*}' "$all" | sed 's/"provenance"://' | grep -o '"[a-z]*":' |
  tr -d '":' | sort -u | tr '\n' ' ')" = "$(awk '/^`provenance`:/ {on = 1} on && /^\| `/ {gsub(/[`|]/, ""); print $1} on && /^## / {exit}' \
  "$DOCS/json.md" | sort -u | tr '\n' ' ')" ]
ok "a section for every command" [ -z "$("$SQSIM" --help | sed -n 's/^  \([a-z-]*\)  .*/\1/p' | while read -r c; do
  grep -qx "## sqsim $c" "$DOCS/json.md" || echo "$c"; done)" ]

# ---- files ------------------------------------------------------------------------------------
# "TENSOR DTYPE" of a weight file by the table under "### Weights": a system's rows follow its name.
table_of() { # SYSTEM
  awk -v want="$1" -F'|' '/^### / {on = $0 == "### Weights"} on && /^\|/ && NF > 5 {
    name = $2; gsub(/[ `]/, "", name); if (name != "") here = index("," name ",", "," want ",") > 0
    if (here) {n = split($3, part, ","); gsub(/ /, "", $4)
      for (i = 1; i <= n; i++) {gsub(/[ `]/, "", part[i]); print part[i], $4}}}' "$DOCS/files.md" | sort -u
}
keys_of() { # SYSTEM: metadata, layers without their names
  awk -v want="$1" -F'|' '/^\| metadata \| in / {on = 1} !NF {on = 0} on && /^\| `/ && $3 ~ "all|" want {
    n = split($2, key, ","); for (i = 1; i <= n; i++) {gsub(/[ `]|<layer>./, "", key[i]); print key[i]}}' "$DOCS/files.md" | sort -u
}
for f in $(left w dense sq_a_static sq_a_dynamic sp24 gqsa spqt spqr mxfp4 mxfp8 mxplus nvint5 sq_b); do
  system=$f
  [ $f = w ] && system=sq_w
  sq inspect $f.safetensors --json
  ok "tensors of $system" cmp <(table_of $system) <(sed -n 's/^{"tensor":"[^"]*\.\([^".]*\)","dtype":"\([^"]*\)".*/\1 \2/p' "$W.out" | sort -u)
  [ ! -f "$W/$f.wide" ] || sq inspect $f.wide --json
  ok "metadata of $system" cmp <(keys_of $system) <(tail -1 "$W.out" | grep -o '"metadata":{[^}]*}' | sed 's/"metadata"://' |
    grep -o '"[^"]*":"' | tr -d '":' | sed 's/.*\.//' | sort -u)
done
# Keys of a machine: those of the files that the program reads, which refuses any other.
yaml_keys() { awk '!/^ *#/ && /:/ {k = $1; sub(":.*", "", k); if ($0 ~ /^[a-z]/) {top = k; if (NF > 1 && $2 !~ /^#/) print k}
  else if ($0 ~ /^  [a-z]/) print top "." k; else if ($0 ~ /- \{/) print top}' "$1" | sort -u; }
machine_keys() { # HEADING
  awk -v want="### $1" '/^##/ {on = $0 == want} on && /^\| `/ {split($0, c, "|"); gsub(/[ `]/, "", c[2]); gsub(",", "\n", c[2]); print c[2]}' "$DOCS/files.md" | sort -u
}
# Keys that no shipped file has stand in one that the program takes.
sed -e 's/^vector: .*/&\n  clock: 500 MHz/' -e 's/^dram:.*/&\n  placement: banks/' "$M/edge4_lpddr5.yaml" >"$W/rare.yaml"
sq run --m 8 --n 64 --k 128 --format dense --machine "$W/rare.yaml"
ok "a machine with rare keys" [ "$RC" = 0 ]
sed 's/^core:.*/&\n  sum: exact\n  cut: 2\n  carry: 16/' "$M/chip.yaml" >"$W/exact.yaml"
sq run --m 8 --n 64 --k 128 --format nvfp4 --machine "$W/exact.yaml"
ok "a chip with exact sums" [ "$RC" = 0 ]
sed 's/^core:.*/&\n  sum: aligned\n  aligned: 13/' "$M/chip.yaml" >"$W/aligned.yaml"
sq run --m 8 --n 64 --k 128 --format mxfp4 --machine "$W/aligned.yaml"
ok "a chip with aligned sums" [ "$RC" = 0 ]
ok "keys of an accelerator" cmp <(machine_keys Accelerators) <(sort -u <(yaml_keys "$M/default.yaml") <(yaml_keys "$W/exact.yaml") <(yaml_keys "$W/aligned.yaml") <(yaml_keys "$W/rare.yaml"))
ok "keys of a GPU" cmp <(machine_keys GPUs) <(yaml_keys "$M/template_gpu.yaml")
ok "all tables are there" [ "$(for s in sq_w dense sq_a_static sq_a_dynamic sp24 gqsa spqt spqr mxfp4 mxplus nvfp4 sq_b; do table_of $s; done | wc -l),$(machine_keys GPUs | wc -l)" = 40,8 ]
# Fields of GPU records, of which the writer has every one.
awk '/^\| object \| fields/ {on = 1} !NF {on = 0} on' "$DOCS/files.md" | grep -o '`[a-zA-Z0-9_]*`' | tr -d '`' | sort -u >"$W/fields"
sed -n '/^static json_t \*device_json/,/^\/\/ ---- checking/p' "$ROOT/gpu/measure/sq_record.c" | grep -o '"[a-zA-Z][a-zA-Z0-9_]*"' | tr -d '"' | sort -u >"$W/written"
ok "fields of GPU records" [ -z "$(comm -23 "$W/fields" "$W/written" | tee >(cat >&2))" ]
ok "all of them" [ "$(comm -13 "$W/fields" "$W/written" | tr '\n' ' ')" = \
  "cold_rotated float64 golden_traces graph_replay_events int64 measured pass warm " ]

# ---- the formula of SPEC R.2 --------------------------------------------------------------------
for s in 0.5 0.75 0.875; do
  for lanes in "16 4" "1 1" "5 3" "32 2"; do
    set -- $lanes
    k=$(awk "BEGIN {print 32 * (1 - $s)}")
    sq run --m 40 --n 70 --k 256 --timing-only --json --sparsity $s --low-lanes "$1" --high-lanes "$2"
    low=$(((32 + $1 - 1) / $1)) high=$(((k + $2 - 1) / $2)) n=$((2 * 3 * 256 / 32))
    ok "R.2: s = $s, L = $1, H = $2" [ "$(tail -1 "$W.out" | grep -o '"cycles":[0-9]*' | cut -d: -f2)" = \
      $((low + (n - 1) * (low > high ? low : high) + high + 3)) ]
  done
done
finish
