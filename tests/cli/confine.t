#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a foreign file may make the tools do: nothing but what is asked for. Sources of `area --source`
# that run commands, read files elsewhere or do not end: each is refused or ended, in one sentence, and
# none leaves a file.
. "$(dirname "$0")/lib.sh"

LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
if [ ! -r $LIB ] || ! command -v "${YOSYS:-yosys}" >/dev/null; then
  skip "sources that attack" "needs yosys and $LIB (package qflow-tech-osu018)"
  finish
fi
mkdir "$W/home" "$W/src"
ln -s "$ROOT/rtl" "$ROOT/sim" "$ROOT/traces" "$W/home" # so that the cache is ours
export SQSIM_HOME=$W/home

# src NAME: a source from standard input.
src() { cat >"$W/src/$1"; }

# ---- commands: libc by way of DPI-C, which Yosys evaluates while it elaborates
dpi() { # COMMAND: SystemVerilog text of functions whose evaluation runs it
  local text=$1 i
  echo 'import "DPI-C" function chandle mmap(chandle, integer, integer, integer, integer, integer);'
  echo 'import "DPI-C" function chandle memset(chandle, integer, integer);'
  echo 'import "DPI-C" function integer system(chandle);'
  echo "localparam [63:0] B = mmap(64'h20000000, 4096, 3, 50, -1, 0);"
  for ((i = 0; i < ${#text}; i++)); do
    printf "localparam [63:0] C%d = memset(64'h%x, %d, 1);\n" $i $((0x20000000 + i)) "'${text:i:1}"
  done
  echo "localparam integer X = system(64'h20000000);"
}
ports='(input clk_i, input [7:0] a_i, output [7:0] y_o)'
{ echo "module evil $ports;"; dpi "touch $W/RAN"; echo 'assign y_o = a_i + X[7:0]; endmodule'; } | src dpi.sv
{ echo 'package evil_pkg;'; dpi "touch $W/RAN"
  echo "endpackage module evil $ports; assign y_o = a_i + evil_pkg::X[7:0]; endmodule"; } | src package.sv
{ echo "module evil $ports;"; echo 'import "DPI-C" function integer system(chandle);'
  echo 'function automatic integer f(input integer n); f = system(n); endfunction'
  echo 'localparam integer X = f(0); assign y_o = a_i + X[7:0]; endmodule'; } | src function.sv
for f in dpi package function; do
  rm -rf "$W/home/build"
  sq area --source src/$f.sv --top evil
  ok "DPI-C in $f.sv: refused in one line" [ "$RC" = 2 -a "$(wc -l <"$W.err")" = 1 ]
done
ok "no command ran" [ ! -e "$W/RAN" ]


# ---- files: a source reads below its own folder and ours, whatever it says
good() { printf '%s\nmodule good %s; %s logic [7:0] y; always_ff @(posedge clk_i) y <= ~a_i; assign y_o = y; endmodule\n' "$1" "$ports" "$2"; }
evil() { printf '%s\nmodule evil %s; %s assign y_o = a_i; endmodule\n' "$1" "$ports" "$2"; }
EVIL=(area --json --source)
nothing() { printf '12\n34\n56\n78\n' >"$W/secret.hex"; echo 'localparam int X = 1;' >"$W/secret.svh"; }
nothing
refuse_source() { # PATTERN NAME OPTIONS...: with bubblewrap and without it
  local pattern=$1 name=$2; shift 2
  rm -rf "$W/home/build"; mkdir "$W/home/build"
  sq area --source "src/$name" --top evil "$@"
  ok "$name: $pattern" one_line "$pattern"
  BWRAP=/nonexistent sq area --source "src/$name" --top evil "$@"
  ok "... without bubblewrap" one_line "$pattern"
}
one_line() {
  [ "$RC" = 2 ] && [ "$(wc -l <"$W.err")" = 1 ] && grep -Eq -- "$1" "$W.err" && [ ! -s "$W.out" ] && return
  echo "# exit $RC, want 2 and one line that matches: $1"; sed 's/^/# stderr: /' "$W.err"
  return 1
}
evil "\`include \"$W/secret.svh\"" | src absolute.sv
refuse_source 'need a path below the folder' absolute.sv
evil '`include "../secret.svh"' | src parent.sv
refuse_source 'need a path below the folder' parent.sv
ln -s ../secret.svh "$W/src/link.svh"
evil '`include "link.svh"' | src by_link.sv
refuse_source 'leads out of the folder of the source, by a link' by_link.sv
ln -s .. "$W/src/up"
evil '`include "up/secret.svh"' | src by_folder.sv
refuse_source 'leads out of the folder of the source, by a link' by_folder.sv
evil "$(printf '`define P "%s"\n`include `P' "$W/secret.svh")" | src by_macro.sv
refuse_source "include needs a name in quotes|open include file" by_macro.sv
evil '' "reg [7:0] m [0:3]; initial \$readmemh(\"$W/secret.hex\", m);" | src rom.sv
refuse_source 'Can not open file|which needs bubblewrap' rom.sv
evil '' "integer f; initial begin f = \$fopen(\"$W/RAN\"); \$fwrite(f, \"x\"); end" | src fopen.sv
refuse_source "resolve function name" fopen.sv
# The same in pieces, behind quotes that are none, and by what says which folder a file is in. With
# bubblewrap there is no such file; without it none is opened, as the one named here would not end.
mkfifo "$W/endless"
for f in secret.hex endless; do
  load="(\"$W/$f\", m);" mem='reg [7:0] m [0:3];'
  evil '`define P(a) $re``admem``a' "$mem initial \`P(h) $load" | src paste.sv
  evil '`define P memh' "$mem initial \$read\`P $load" | src beside.sv
  evil '`define P $readm
`define Q(a) a' "$mem initial \`P\`Q(emh) $load" | src two.sv
  evil '`define Q(a) a' "$mem initial \`Q( \$read )memb $load" | src argument.sv
  evil '' "wire \\q\" ; $mem initial \$readmemh $load wire \\r\" ;" | src escaped.sv
  evil '' "wire \\q/* ; $mem initial \$readmemh $load // */" | src comment.sv
  evil '' "$mem initial \\\$readmemh $load" | src task.sv
  evil '' "$mem initial \$read$(printf '\r')memh $load" | src return.sv
  for name in paste beside two argument escaped comment task return; do
    refuse_source 'Can not open file|which needs bubblewrap|ERROR|refuses evil' $name.sv
  done
done
evil '' 'reg [7:0] m [0:3]; initial $readmemh("/dev/null", m);' | src null.sv
refuse_source "yosys read '/dev/null', which is none of its sources|which needs bubblewrap" null.sv
evil "$(printf '`define P(a) `inc\n`P(1)lude "%s"' "$W/secret.svh")" | src pieces.sv
refuse_source 'name in quotes|open include file|none of its sources' pieces.sv
evil "$(printf '`define P(a) `\n`P(1)include "%s"' "$W/secret.svh")" | src tick.sv
refuse_source 'open include file|none of its sources' tick.sv
evil "$(printf '`file_push "%s/x"\n`include "secret.svh"' "$W")" | src push.sv
refuse_source 'file_push makes|open include file|none of its sources' push.sv
good '// `include is a word, and so are $re and `inc in this line' 'localparam [0:$clog2(8)] X = 0;' | src words.sv
BWRAP=/nonexistent accept "words that name no file, without bubblewrap" "${EVIL[@]}" src/words.sv --top good --clock clk_i
mkfifo "$W/src/fifo.sv" "$W/src/fifo.svh"
refuse_source 'no regular file' fifo.sv
evil '`include "fifo.svh"' | src by_fifo.sv
refuse_source 'no regular file' by_fifo.sv
evil '' 'initial $system("touch RAN");' | src system.sv
sq area --source src/system.sv --top evil
ok "no command ran, no file was written" [ -z "$(find "$W" -name RAN)" ]

# what it may include
mkdir "$W/src/sub"
echo '`define WIDTH 3
`include "deep.svh"' >"$W/src/sub/width.svh"
echo 'localparam int Deep = 1;' >"$W/src/sub/deep.svh"
{ echo '// `include "nothing.svh" is a comment'
  printf '`include "sub/width.svh"\n`include "sq_assert.svh"\n'
  echo 'module mine (input clk_i, input [`WIDTH:0] a_i, output logic [`WIDTH:0] y_o);
    `ifdef NEVER `include "missing.svh" `endif
    always_ff @(posedge clk_i) y_o <= a_i + y_o; endmodule'; } | src mine.sv
accept "files below its own folder, and ours" "${EVIL[@]}" src/mine.sv --top mine --clock clk_i
before=$(number area_um2)
sed -i 's/3/7/' "$W/src/sub/width.svh"
sq "${EVIL[@]}" src/mine.sv --top mine --clock clk_i
ok "another content of what is included is another result" \
  [ "$RC" = 0 -a "$(grep -o '"area_um2":[0-9.]*' "$W.out")" != "$before" ]

# ---- what would give a wrong number
echo "module evil $ports; endmodule" | src empty.sv
refuse_source 'evil has no cells' empty.sv
{ echo '(* blackbox *) module DFFPOSX1 (input CLK, input D, output Q); endmodule'
  echo "module evil $ports; DFFPOSX1 u (.CLK(a_i[0]), .D(a_i[1]), .Q(y_o[0])); endmodule"; } | src cell.sv
command -v "${STA:-sta}" >/dev/null && refuse_source 'evil has cells with a clock, but no flip-flop' cell.sv
{ echo 'module NAND2X1 (input A, input B, output Y); assign Y = A; endmodule'
  echo 'module DFFPOSX1 (input CLK, input D, output Q); assign Q = 0; endmodule'
  echo "module evil $ports; logic [7:0] q; always_ff @(posedge clk_i) q <= ~(a_i & q); assign y_o = q; endmodule"; } | src names.sv
sed 1,2d "$W/src/names.sv" | src plain.sv
sq area --json --source src/names.sv --top evil
cp "$W.out" "$W/names"
sq area --json --source src/plain.sv --top evil
ok "modules called as cells are: no cell of the library is another" [ "$RC" = 0 -a \
  "$(head -1 "$W/names" | grep -o '"area_um2":[0-9.]*')" = "$(head -1 "$W.out" | grep -o '"area_um2":[0-9.]*')" ]

# ---- what does not end
evil '`include "itself.sv"' | src itself.sv
refuse_source 'itself.sv includes itself' itself.sv
echo '`include "b.svh"' >"$W/src/a.svh"
echo '`include "a.svh"' >"$W/src/b.svh"
evil '`include "a.svh"' | src ring.sv
refuse_source 'a.svh includes itself, by way of b.svh' ring.sv
# levels N GUARD: N headers, each of which includes the next one twice.
levels() {
  for ((i = 0; i < $1; i++)); do
    printf "$2"'`include "l%d.svh"\n`include "l%d.svh"\n'"$3" $((i + 1)) $((i + 1)) | sed "s/NAME/N$i/" >"$W/src/l$i.svh"
  done
  echo "// $2" >"$W/src/l$1.svh"
  evil '`include "l0.svh"' | src levels.sv
}
levels 24
SECONDS=0
refuse_source 'includes [0-9]* files of [0-9]* bytes in all, need <= 20000 files' levels.sv
ok "... at once" [ $SECONDS -lt 20 ]
levels 24 '`ifndef NAME\n`define NAME\n' '`endif\n'
good '`include "l0.svh"' | src levels.sv
accept "with guards: each of them once" "${EVIL[@]}" src/levels.sv --top good --clock clk_i
few=(--tool-seconds 1800 --tool-memory 200)
ended='yosys (needs more than 200 MiB|was ended by signal)|ERROR: |refuses evil'
evil '`define A `A `A' '`A' | src macro.sv
refuse_source "$ended" macro.sv "${few[@]}"
evil '' 'genvar i; generate for (i = 0; i >= 0; i = i + 1) begin : g wire x; end endgenerate' | src generate.sv
refuse_source "$ended" generate.sv "${few[@]}"
evil '' 'function integer f(input integer n); f = f(n + 1); endfunction localparam X = f(0);' | src calls.sv
refuse_source "$ended" calls.sv "${few[@]}"
evil '' 'function integer f(input integer n); begin f = 0; while (1) f = f + 1; end endfunction localparam X = f(0);' |
  src forever.sv
refuse_source 'yosys ran for more than 1 seconds, which is its limit' forever.sv --tool-seconds 1
echo "module evil #(parameter N = 1) $ports; evil #(N + 1) u (clk_i, a_i, y_o); endmodule" | src modules.sv
refuse_source 'yosys ran for more than 1 seconds, which is its limit' modules.sv --tool-seconds 1
refuse "tool-seconds = 0, need 1..604800" area --tool-seconds 0
refuse "tool-memory = 1, need 64.." cosim --tool-memory 1

# ---- a library is no way to other files either
sed "0,/cell (/s|cell (|include_file\\\\\n(\"$W/secret.svh\");\ncell (|" $LIB >"$W/lib.lib"
refuse "include_file is not supported" area --block mul --a-bits 2 --b-bits 2 --liberty lib.lib

# ---- what a tool sees of the machine
mkdir "$W/tools"
cat >"$W/tools/yosys" <<'EOS'
#!/bin/sh
case $1 in -V) exec /usr/bin/env yosys -V ;; esac
echo "ERROR: home $(ls "$SPY" 2>/dev/null | wc -l) passwd $(cat /etc/passwd 2>/dev/null | wc -l)" \
  "net $(grep -c : /proc/net/dev) write $(touch "$SPY/RAN" /usr/RAN /RAN 2>/dev/null && echo 1 || echo 0)" \
  "own $(touch mine && echo 1)"
exit 1
EOS
chmod +x "$W/tools/yosys"
if bwrap --unshare-all --ro-bind / / true 2>/dev/null; then
  SPY=$W/src YOSYS=$W/tools/yosys sq area --block mul --a-bits 2 --b-bits 4
  ok "a tool sees no file but its own, one network device, writes in its folder" \
    one_line 'home 0 passwd 0 net 1 write 0 own 1'
else
  skip "what a confined tool sees" "bwrap does not run here"
fi
# What it leaves in its folder is no way out of it for us: the log of the next tool is not written, nor a
# result read, through a link. The entry can be made afterwards.
for what in "ln -s $W/victim path.txt" "ln -s $W/victim nf_sta.v" "mkfifo sta.tcl" "mkfifo delay.txt" "mkdir d && ln -s / d/x"; do
  rm -rf "$W/home/build"
  echo precious >"$W/victim"
  printf '%s\n' '#!/bin/sh' 'case $1 in -V) exec yosys -V ;; esac' 'yosys "$@"; code=$?' "rm -f ${what##* }" "$what" 'exit $code' >"$W/tools/yosys"
  for bwrap in bwrap /nonexistent; do
    BWRAP=$bwrap YOSYS=$W/tools/yosys sq area --block mul --a-bits 2 --b-bits 2
    ok "a tool that leaves '${what/$W/..}' ($bwrap): refused" [ "$RC" = 3 -a "$(grep -c "left '.*', which is no regular file" "$W.err")" = 1 ]
    ok "... nothing was written" [ "$(cat "$W/victim")" = precious ]
  done
  accept "... and the next run makes the entry" area --block mul --a-bits 2 --b-bits 2
done
rm -rf "$W/home/build"
BWRAP=/nonexistent sq_all area --block mul --a-bits 2 --b-bits 2 --block mul --a-bits 3
ok "without bubblewrap: works, and says so once" [ "$RC" = 0 -a "$(grep -c bubblewrap "$W.err")" = 1 -a "$(wc -l <"$W.err")" = 1 ]

finish
