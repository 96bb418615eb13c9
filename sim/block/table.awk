# SPDX-License-Identifier: Apache-2.0
# sq_NAME.block, the table of a block, to the C that sq_NAME_block.c includes (sim/block/README.md says what the lines mean). A name that is
# no parameter, a line that is none of these and a value that is missing are refused with file and line.
function fail(text) { printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"; failed = 1; exit 1 }
function upper(name,   i, out) { # SumW -> SUM_W
  for (i = 1; i <= length(name); i++)
    out = out (i > 1 && substr(name, i - 1, 2) ~ /^[a-z0-9][A-Z]/ ? "_" : "") toupper(substr(name, i, 1))
  return out
}
# An expression in C, whose capitalized names are parameters, and those of `let` what stands there.
function expr(text,   out, word, before) {
  while (match(text, /[A-Za-z_][A-Za-z0-9_]*/)) {
    word = substr(text, RSTART, RLENGTH)
    before = substr(text, 1, RSTART - 1)
    text = substr(text, RSTART + RLENGTH)
    if (!(word in param) && word ~ /^[A-Z]/ && word ~ /[a-z]/) fail("no parameter " word)
    out = out before (word in param ? "v[" prefix upper(word) "]" : word in let ? "(" expr(let[word]) ")" : word)
  }
  return out text
}
# NAME[COUNT]:WIDTH, WIDTH with a u in front: unsigned; NAME>MEMBER...: the cycle model asks for it (struct sq_offer).
function field(text,   name, count, width, depth, i) {
  name = text
  sub(/[^a-z0-9_].*/, "", name)
  text = substr(text, length(name) + 1)
  offered = ""
  if (match(text, /^>[a-z_]+/)) {
    offered = substr(text, 2, RLENGTH - 1)
    text = substr(text, RLENGTH + 1)
    if (offered !~ /^(last|n|group_banks|groups)$/) fail("a beat offers no " offered)
  }
  count = 1
  if (text ~ /^\[/) {
    for (i = depth = 1; depth > 0 && i < length(text); depth += (substr(text, ++i, 1) == "[") - (substr(text, i, 1) == "]")) ;
    count = expr(substr(text, 2, i - 2))
    text = substr(text, i + 1)
  }
  if (text !~ /^:./) fail("field " name " needs NAME:WIDTH or NAME[COUNT]:WIDTH")
  width = substr(text, 2)
  sign = width ~ /^u/ ? "true" : "false"
  sub(/^u/, "", width)
  if (match(width, /^{[^}]*}/)) { # u{EXPR}WIDTH: unsigned where it is so
    sign = expr(substr(width, 2, i = RLENGTH - 2))
    width = substr(width, i + 3)
  }
  field_name = name
  field_count = count
  return "{\"" name "\", " count ", " expr(width) ", " sign "}, "
}
# NAME=VALUE; sets given[NAME].
function assign(text, known,   i, name) {
  i = index(text, "=")
  name = substr(text, 1, i - 1)
  if (i < 2 || i == length(text)) fail(text ": need NAME=VALUE")
  if (known && !(name in param)) fail("no parameter " name)
  given[name] = substr(text, i + 1)
  return name
}
# NAME, or NAME=FUNCTION.
function use(text,   i, name) {
  name = text
  sub(/=.*/, "", name)
  if (!(name in signature)) fail("no function " name " of a block")
  hooks[++n_hooks] = name
  alias[name] = substr(text, index(text, "=") + 1)
}
BEGIN {
  signature["settle"] = "enum sq_status settle(unsigned *v, const unsigned *old, uint32_t given, struct sq_error *err)"
  signature["ports"] = "void ports(const unsigned *v, struct sq_ports *p)"
  signature["draw_beat"] = "void draw_beat(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number, int32_t *beat)"
  signature["draw_group"] = "void draw_group(const unsigned *v, struct sq_rng *rng, enum sq_stimulus kind, uint64_t number, int32_t *record, uint32_t *len)"
  signature["draw_case"] = "enum sq_status draw_case(struct sq_case *c, struct sq_rng *rng, struct sq_error *err)"
  signature["draw_uniform"] = "enum sq_status draw_uniform(struct sq_case *c, size_t n_groups, struct sq_rng *rng, struct sq_error *err)"
  signature["draw_directed"] = "enum sq_status draw_directed(struct sq_case *c, unsigned number, struct sq_rng *rng, struct sq_error *err)"
  signature["limit"] = "int64_t limit(const unsigned *v, size_t f)"
  signature["cut"] = "bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)"
  signature["cut_wrapped"] = "bool cut_wrapped(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)"
  signature["golden"] = "uint64_t golden(const unsigned *v, const struct sq_group *in, int32_t *out)"
  signature["init"] = "void init(const unsigned *v, void *state)"
  signature["offer"] = "void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)"
  signature["status"] = "void status(const unsigned *v, const void *state, const struct sq_group *due, int32_t *to)"
  signature["row_len"] = "size_t row_len(const unsigned *v, size_t f)"
  signature["source"] = "const char *source(const unsigned *v, FILE *out)"
  signature["timing"] = "const struct sq_timing timing"
}
{ sub(/(^|[ ]+)#.*/, "") }
NF == 0 { next }
{ for (i = 2; i <= NF; i++) if ($i in let) { $i = let[$i]; $0 = $0 } }
$1 == "let" { name = $2; sub(/^let +[^ ]+ +/, ""); let[name] = $0; next }
$1 == "names" { header = $2; prefix = $3; next } # has the numbers of the parameters, with that in front; -: none are needed
$1 == "const" { for (i = 2; i <= NF; i++) { name = assign($i); consts = consts name " = " given[name] ", " }; next }
$1 == "param" { # NAME=DEFAULT[:MIN..MAX[^2]]
  for (i = 2; i <= NF; i++) { # -NAME: not of the RTL
    is_own = sub(/^-/, "", $i)
    split($i, half, ":")
    if (half[1] !~ /=/) half[1] = half[1] "=0"
    param[half[1]]
    name = assign(half[1])
    delete param[half[1]]
    param[name] = given[name]
    order[++n_params] = name
    rtl[name] = is_own ? "" : name
    if (half[2] == "") continue
    is_power = sub(/\^2$/, "", half[2])
    if (split(half[2], range, /\.\./) != 2) fail("range " half[2] ", need MIN..MAX or MIN..MAX^2")
    free = free sprintf("    {\"%s\", %s, %s, %s},\n", name, range[1], range[2], is_power ? "true" : "false")
  }
  next
}
$1 == "point" || $1 == "quick" {
  split("", given)
  for (i = 3; i <= NF; i++) if ($i ~ /^table=/) given["table"] = substr($i, 7); else assign($i, 1)
  points = points sprintf("    {\"%s\", %s, {", $2, $1 == "quick" ? "true" : "false")
  for (i = 1; i <= n_params; i++) points = points (order[i] in given ? given[order[i]] : param[order[i]]) ", "
  points = points ("table" in given ? "[SQ_PARAMS_MAX] = " given["table"] : "") "}},\n"
  next
}
$1 == "area" || $1 == "array" { # NAME MODULE WEIGHTS NAME=VALUE...; array: of Rows and Cols
  if (NF < 4) fail("area needs a name, a module and weights")
  area = area sprintf("    {\"%s\", \"%s\", %s, %s, {", $2, $3, $4, $1 == "array" ? "true" : "false")
  for (i = 5; i <= NF; i++) { name = assign($i); area = area sprintf("{\"%s\", %s}, ", name, given[name]) }
  area = area (NF == 4 ? "{0}" : "") "}},\n"
  next
}
$1 == "faults" { for (i = 2; i < NF; i += 3) faults = faults sprintf("    {\"%s\", %s, %s},\n", $i, $(i + 1), $(i + 2)); next }
$1 == "coverage" { coverage = $2; sub(/^coverage +[^ ]+ */, ""); coverage_points = $0; next }
$1 == "wave" { # HEADING | LABEL = PATH | ...
  sub(/^wave +/, "")
  n = split($0, part, / \| /)
  for (i = 1; i <= n; i++) {
    has_path = split(part[i], half, / = /) > 1
    waves = waves sprintf("    {\"%s\", %s},\n", half[1], has_path ? "\"" half[2] "\"" : "NULL")
  }
  next
}
$1 == "stream" {
  streams = streams sprintf("{\"%s\", %d}, ", $2, NF - 2)
  numbers = numbers (numbers ? ", " : "enum { ") upper($2)
  for (i = 3; i <= NF; i++) {
    inputs = inputs field($i)
    at_name = (field_name in seen ? $2 "_" : "") field_name
    at = at sprintf("static inline size_t at_%s(const unsigned *v)\n{\n    (void)v;\n    return 0%s;\n}\n", at_name, len)
    if (offered) offers = offers sprintf("    if (stream == %d)\n        o->%s%s = (uint32_t)record[at_%s(v)];\n", n_streams, offered ~ /^g/ ? "job." : "", offered, at_name)
    seen[field_name]
    len = len " + (size_t)(" field_count ")"
    n_in++
  }
  n_streams++
  next
}
$1 == "status" { for (i = 2; i <= NF; i++) { statuses = statuses field($i); n_status++ }; next }
# Streams between the block and its environment (sq_env.h).
$1 == "ask" || $1 == "reply" {
  ends[$1] = ends[$1] sprintf("{\"%s\", %d}, ", $2, NF - 2)
  for (i = 3; i <= NF; i++) { end_fields[$1] = end_fields[$1] field($i); n_end[$1]++ }
  next
}
$1 == "out" { for (i = 2; i <= NF; i++) { outputs = outputs field($i); n_out++ }; next }
# group NAME WORD...: what a group is, flags and sizes of struct sq_ports; cut: a group becomes its last beat.
$1 == "group" {
  group = $2
  for (i = 3; i <= NF; i++) {
    if ($i ~ /^(last|jobs)$/) members = members ", .has_" $i " = true"
    else if ($i == "cut") { has_cut = 1; use($i) }
    else if ($i ~ /^(records|outputs|all|macs|mac_stream)=./) {
      name = assign($i)
      members = members ", ." (name == "all" ? "n_all" : name) " = " (name == "macs" ? "1.0 * " : "") expr(given[name])
    } else fail("a group has no " $i)
  }
  next
}
$1 == "stages" { # KIND DEPTH, or two of them in a row; nothing: init of sq_NAME_block.c says them
  timing = "&sq_timing_chain"
  use("init")
  if (NF == 1) next
  init = "static void init(const unsigned *v, void *state)\n{\n    struct sq_chain *const c = state;\n    (void)v;\n"
  if (NF > 3) init = init "    c->has_front = true;\n" stage("front", $2, $3)
  init = init stage("back", $(NF - 1), $NF) "}\n"
  next
}
function stage(name, kind, depth) { return sprintf("    sq_pipeline_init(&c->%s, SQ_TIMING_%s, %s);\n", name, toupper(kind), expr(depth)) }
$1 == "directed" { directed = $2; use("draw_directed" (NF > 2 ? "=" $3 : "")); next }
$1 == "code" { for (i = 2; i <= NF; i++) use($i); next } # functions of sq_NAME_block.c
$1 == "also" { sub(/^also +/, ""); also = also "    " $0 ",\n"; next } # members of struct sq_block
{ fail("no line begins with " $1) }

function rows(type, name, text) {
  if (text == "") return
  printf "static const struct %s %s_%s[] = {\n%s};\n", type, block, name, text
  table = table "    ." name " = " block "_" name ",\n" (name ~ /^(free|waves)$/ ? "" : "    .n_" name " = SQ_LEN(" block "_" name "),\n")
}
END {
  if (failed) exit 1
  if (group == "" || points == "" && also !~ /\.points/) fail("a block needs a group and a point")
  block = FILENAME
  gsub(/^.*\/sq_|\.block$/, "", block)
  printf "// Made from %s.\n#include \"sim/block/flow/sq_case.h\"\n#include \"sim/block/flow/sq_engine.h\"\n", FILENAME
  if (consts) print "enum { " consts "};"
  if (header) printf header == "-" ? "" : "#include \"" header "\""
  else for (i = 1; i <= n_params; i++) printf "%s%s", i == 1 ? "enum { " : ", ", upper(order[i])
  print header ? "" : " };"
  if (numbers ~ /,/) print numbers " }; // streams"
  rows("sq_point", "points", points)
  rows("sq_area_unit", "area", area)
  rows("sq_faults", "faults", faults)
  rows("sq_free", "free", free == "" ? "" : free "    {NULL, 0, 0, false},\n")
  rows("sq_wave", "waves", waves == "" ? "" : waves "    {NULL, NULL},\n")
  if (streams != "" || "ask" in ends) {
    printf "%sstatic inline size_t record_len(const unsigned *v)\n{\n    (void)v;\n    return 0%s;\n}\n", at, len
    for (e in ends) members = members ", ." e " = {" ends[e] "}, ." e "_field = {" end_fields[e] "}, .n_" e " = " n_end[e]
    if (n_status) members = members ", .status = {" statuses "}, .n_status = " n_status
    if (n_out) members = members ", .out = {" outputs "}"
    if (n_in) members = members ", .stream = {" streams "}, .in = {" inputs "}"
    printf "static void ports(const unsigned *v, struct sq_ports *p)\n{\n    (void)v;\n    *p = (struct sq_ports){.n_in = %d, .n_out = %d%s};\n}\n", n_in, n_out, members
    table = table "    .ports = ports,\n"
  }
  if (has_cut) printf "static bool cut(const unsigned *v, unsigned way, int32_t *record, uint32_t *len)\n{\n    return way == 0 && sq_cut_to_last(record_len(v), record, len);\n}\n"
  if (offers) {
    printf "static void offer(const unsigned *v, unsigned stream, const int32_t *record, struct sq_offer *o)\n{\n%s}\n", offers
    use("offer")
  }
  printf "%s", init
  for (i = 1; i <= n_hooks; i++) {
    name = hooks[i]
    prototype = signature[name]
    sub(name "\\(", alias[name] "(", prototype)
    print "static " prototype ";"
    table = table "    ." name " = " (name == "timing" ? "&" : "") alias[name] ",\n"
  }
  if (timing) table = table "    .timing = " timing ",\n"
  if (directed) table = table "    .n_directed = " directed ",\n"
  if (coverage_points) table = table "    .coverage_points = \"" coverage_points "\",\n"
  if (coverage) table = table "    .coverage_cases = " coverage ",\n"
  printf "const struct sq_block sq_%s_block = {\n    .name = \"%s\",\n    .top = \"sq_%s\",\n    .group = \"%s\",\n    .param = {", block, block, block, group
  for (i = 1; i <= n_params; i++) printf "\"%s\", ", rtl[order[i]]
  printf "NULL},\n%s%s};\n", table, also
}
