#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A command in every text field of every input format, names of files and directories included: none
# runs, no file appears outside its place, nothing crashes. Each field is tried with payloads
# below, one by one, in the quoting of its format; a command may accept or refuse (exit 0, 1 or 2).
# The payloads run `touch`, a spy in front of PATH, so that a command which runs in a directory that
# is removed later is seen as well.
# `make test` draws three payloads for each group of fields (SQ_SEED), CANARY=all takes all of them.
. "$(dirname "$0")/lib.sh"

LIB=/usr/share/qflow/tech/osu018/osu018_stdcells.lib
mkdir "$W/bin" "$W/home" "$W/in"
printf '%s\n' '#!/bin/sh' "echo \"\$0 \$*\" >>'$W/RAN'" >"$W/bin/touch"
chmod +x "$W/bin/touch"
ln -s "$ROOT/rtl" "$ROOT/sim" "$ROOT/traces" "$W/home" # so that the cache is ours
PATH=$W/bin:$PATH
export BWRAP=/nonexistent # so that the spy sees what bubblewrap would hide from it
export ROOT SQSIM SQSIM_HOME=$W/home REDIGEST=${REDIGEST:-$(dirname "$SQSIM")/tests/cli/redigest}

ok "the spy sees a command" eval 'touch CANARY && [ -s "$W/RAN" ]'
rm "$W/RAN"

cat >"$W/plant.py" <<'EOS'
# Prints a line per field: its name, the number of runs, and what went wrong ("" = nothing).
import csv as csv_module
import json, os, random, shutil, sqlite3, struct, subprocess, sys

W, LIB, HOME, SQSIM = sys.argv[1], sys.argv[2], os.environ["SQSIM_HOME"], os.environ["SQSIM"]
TEXT = lambda path: open(os.path.join(HOME, path)).read()
PAYLOADS = [
    "$(touch CANARY)`touch CANARY`; touch CANARY", "'; touch CANARY; '", "\"; touch CANARY; \"",
    "x'\nsystem 'touch CANARY'\n#", "' , system('touch CANARY') , '\".system(\"touch CANARY\").\"",
    "!touch CANARY\n!touch CANARY\n", "|touch CANARY", "[exec touch CANARY];exec touch CANARY;#",
    "x u0();wire [95:0]_TECHMAP_DO_=\"!touch CANARY\";x",
    "x\\ ; initial $system(\"touch CANARY\"); //\n$(shell touch CANARY)\n",
    "../../CANARY", "javascript:touch", "</script><script>\u202e\u009b31m\u001b]0;touch\u0007%s%n\\",
]
draw = random.Random(int(os.environ.get("SQ_SEED", "1")))
def payloads():
    return PAYLOADS if os.environ.get("CANARY") == "all" else draw.sample(PAYLOADS, 3)
LIBERTY_RUNS = PAYLOADS[5:9:3]  # where a library is accepted, Yosys runs
fields = {}

def run(field, *args):
    there = set(os.listdir(W)) | {"RAN"}
    p = subprocess.run([SQSIM, *args], cwd=W + "/in", stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1800) # only for a hang
    wrong = fields.setdefault(field, [0, ""])
    wrong[0] += 1
    new = set(os.listdir(W)) - there
    p.stderr = b"".join(x for x in p.stderr.splitlines(True) if not x.startswith(b"sqsim: bubblewrap"))
    seen = p.stdout + p.stderr
    if p.returncode not in (0, 1, 2) or (p.returncode == 2 and p.stderr.count(b"\n") != 1):
        wrong[1] = f"exit {p.returncode}: {args} {p.stderr[:200]}"
    elif os.path.exists(W + "/RAN") or new or any("CANARY" == f for _, d, fs in os.walk(W) for f in d + fs):
        wrong[1] = f"{new} touched by {args}"
        if os.path.exists(W + "/RAN"):
            os.unlink(W + "/RAN") # the next run is not to blame
    elif any(c < 32 and c not in b"\n\t" or c == 127 for c in seen) or "\u202e" in seen.decode():
        wrong[1] = f"steers the terminal: {args}"
    return p.returncode

def write(name, data):
    with open(W + "/in/" + name, "wb") as f:
        f.write(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
    return name

yaml = lambda text: json.dumps(text)  # a JSON string is a YAML string
def safetensors(header, data=b"\x3c" * 4096):
    text = json.dumps(header, ensure_ascii=False).encode()
    return struct.pack("<Q", len(text)) + text + data
def entry(dtype, shape, size, at=0):
    return {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
def file_name(text):
    return text.replace("/", "_")[:60]

# ---- Liberty ------------------------------------------------------------------------------------
def liberty():
    good = open(LIB).read()
    places = {
        "library": ("library(osu018_stdcells)", 'library("%s")'),
        "cell": ("cell (FAX1)", 'cell ("%s")'), "cell, bare": ("cell (FAX1)", "cell (%s)"),
        "pin": ("pin(YC)", 'pin("%s")'), "bus": ("pin(YC)", 'bus("%s") { } pin(YC)'),
        "ff": ("ff (", 'ff ("%s", Q) { } ff ('), "function": ('function : "(!(A B))"', 'function : "%s"'),
        "units": ('time_unit : "1ns"', 'time_unit : "%s"'), "cell area": ("area : 24;", 'area : "%s";'),
        "direction": ("direction : output", 'direction : "%s"'), "statement": ("time_unit", "%s"),
        "template": ("lu_table_template", 'lu_table_template("%s") { } lu_table_template'),
        "conditions": ("cell (FAX1)", 'operating_conditions("%s") { } cell (FAX1)'),
        "comment": ("cell (FAX1)", "/* %s */ cell (FAX1)"),
        "unknown attribute": ("cell (FAX1)", 'note : "%s"; cell (FAX1)'),
    }
    for field, (old, new) in places.items():
        if old not in good:
            fields["liberty " + field] = [0, f"no {old} in {LIB}"]
            continue
        accepted = 0
        for p in payloads():
            if accepted and p not in LIBERTY_RUNS:
                continue
            write("a.lib", good.replace(old, new.replace("%s", p), 1))
            accepted += run("liberty " + field, "area", "--block", "mul", "--a-bits", "4", "--b-bits",
                            "4", "--liberty", "a.lib") == 0
    for p in LIBERTY_RUNS[-1:]:
        name = write(file_name(p) + ".lib", good)
        run("liberty file name", "area", "--block", "mul", "--a-bits", "2", "--b-bits", "2",
            "--liberty", "./" + name)

# ---- YAML ---------------------------------------------------------------------------------------
def replaced(text, key, value):
    return "\n".join(l[:len(l) - len(l.lstrip())] + key + ": " + value if l.lstrip().startswith(key + ":")
                     else l for l in text.split("\n"))

def machines(p):
    csv = write("w.csv", "Layer,M,N,K,Count,\nx,1,64,64,1,\n")
    for key in ("name", "clock", "cores", "gather", "latency", "dram", "rows"):
        write("m.yaml", replaced(TEXT("sim/machines/edge4.yaml"), key, yaml(p)))
        run("machine " + key, "run", "--machine", "m.yaml", "--workload", csv)
    write("m.yaml", TEXT("sim/machines/edge4.yaml") + f"\n{yaml(p)}: 1\n")
    run("machine key", "run", "--machine", "m.yaml", "--workload", csv)
    name = write(file_name(p) + ".yaml", TEXT("sim/machines/edge4.yaml"))
    run("machine file name", "run", "--machine", "./" + name, "--workload", csv)
    good = TEXT("sim/machines/h200.yaml")
    for key in ("name", "device", "calibration", "clock", "source", "size"):
        write("g.yaml", replaced(good, key, yaml(p)))
        run("GPU " + key, "compare", "--machine", "g.yaml", "--workload", csv, "--plot", "g.svg")
    write("g.yaml", good.replace("dtype: INT8", "dtype: " + yaml(p), 1))
    run("GPU dtype", "compare", "--machine", "g.yaml", "--plot", "g.svg")
    write("g.yaml", good + f"\n{yaml(p)}: 1\n")
    run("GPU key", "compare", "--machine", "g.yaml", "--plot", "g.svg")

def sweeps(p):
    axes = {"n": "[64]", "k": "[64]"}
    def spec(name="a", title="t", measures="[cycles]", more="", **changed):
        lines = "".join(f"  {k}: {v}\n" for k, v in {**axes, **changed}.items())
        return f"name: {name}\ntitle: {title}\naxes:\n{lines}{more}measures: {measures}\n"
    q = yaml(p)
    for field, text in {
        "name": spec(name=q), "title": spec(title=q), "measure": spec(measures=f"[{q}]"),
        "axis": spec(more=f"  {q}: [1]\n"), "value": spec(format=f"[{q}]"), "number": spec(n=f"[{q}]"),
        "machine path": spec(machine=f"[{q}]"), "workload path": spec(workload=f"[{q}]"),
        "model path": spec(model=f"[{q}]"), "constraint": spec() + f"constraints: [{q}]\n",
    }.items():
        write("s.yaml", text)
        if os.path.exists(W + "/in/s.db"):
            os.unlink(W + "/in/s.db")
        if run("sweep " + field, "sweep", "s.yaml", "--db", "s.db", "-o", "s.csv") == 0:
            run("sweep " + field, "sweep", "s.yaml", "--db", "s.db", "--json")
            run("sweep " + field, "report", "--db", "s.db", "-o", "s")
    write("s.yaml", spec())
    run("database file name", "sweep", "s.yaml", "--db", "./" + file_name(p))
    run("report directory", "report", "--db", "./" + file_name(p), "-o", "./" + file_name(p) + ".d")
    run("specification file name", "sweep", "./" + write(file_name(p) + ".y", spec()), "--dry-run")

def databases(p):
    spec = "name: a\naxes:\n  n: [64]\n  k: [64]\nmeasures: [cycles]\n"
    write("d.yaml", spec)
    good = W + "/in/good.db"
    if not os.path.exists(good):
        run("database", "sweep", "d.yaml", "--db", "good.db")
    for field, sql in {
        "sweep": "UPDATE point SET sweep = ?1", "name": "UPDATE sweep SET name = ?1",
        "title": "UPDATE sweep SET title = ?1", "spec": "UPDATE sweep SET spec = ?1",
        "parameters": "UPDATE point SET parameters = ?1", "measures": "UPDATE point SET measures = ?1",
        "key": "UPDATE point SET key = ?1", "provenance": "UPDATE provenance SET text = ?1",
        "parameter": "UPDATE point SET parameters = json_object('n', 64, 'k', ?1)",
        "parameter name": "UPDATE point SET parameters = json_object(?1, 64)",
        "measure": "UPDATE point SET measures = json_object('cycles', ?1)",
        "measure name": "UPDATE point SET measures = json_object(?1, 1)",
        "provenance value": "UPDATE provenance SET text = json_object('tool', ?1)",
    }.items():
        shutil.copy(good, W + "/in/d.db")
        db = sqlite3.connect(W + "/in/d.db")
        try:
            db.execute(sql, (p,))
            db.commit()
        except sqlite3.Error:
            pass # the database itself refuses it
        db.close()
        subprocess.run([os.environ["REDIGEST"], W + "/in/d.db"], stderr=subprocess.DEVNULL)
        run("database " + field, "report", "--db", "d.db", "-o", "d")
        run("database " + field, "report", "--db", "d.db", "--json")
        run("database " + field, "report", "--changes", "good.db", "d.db")
        run("database " + field, "sweep", "d.yaml", "--db", "d.db", "--json")

# ---- tables -------------------------------------------------------------------------------------
def tables(p):
    rows = ["Layer", "M", "N", "K", "Count"], ["x", "1", "64", "64", "1"]
    for line in range(2):
        for column in range(5):
            cells = [list(r) for r in rows]
            cells[line][column] = p
            write("t.csv", "\n".join(",".join(r) + "," for r in cells) + "\n")
            field = ("workload column " if line == 0 else "workload ") + rows[0][column]
            run(field, "run", "--machine", HOME + "/sim/machines/edge4.yaml", "--workload", "t.csv")
            if column == 0:
                run(field, "compare", "--workload", "t.csv", "--plot", "t.svg")
    name = "./" + write(file_name(p) + ".csv", "Layer,M,N,K,Count,\nx,1,64,64,1,\n")
    run("workload file name", "compare", "--workload", name, "--plot", "t.svg")
    run("workload file name", "run", "--machine", HOME + "/sim/machines/edge4.yaml", "--workload", name)
    run("plot file name", "compare", "--plot", "./" + file_name(p) + ".svg")

    gpu = HOME + "/sim/machines/a100_pcie_80g.yaml"
    head = "gpu,backend,sparsity,dtype_in,dtype_out,model,M,N,K,lat_us".split(",")
    good = "A100,cublaslt,dense,INT8,INT32,m,4096,4096,4096,400".split(",")
    csv = lambda rows: "\n".join(",".join(r) for r in rows) + "\n"
    for i, column in enumerate(head):
        bad = list(good)
        bad[i] = p
        write("r.csv", csv([head, good, bad]))
        run("records " + column, "compare", "--gpu", "r.csv", "--machine", gpu, "--plot", "r.svg")
    columns = "name,m_min,m_max,format,base,kernel,base_kernel,workload,paper,source,note".split(",")
    row = ["x", "128", "4096", "--format sp24", "--format dense", "INT8 2:4", "INT8", "llama-2-7b_decode_1", "1.5", "s", "n"]
    for i, column in enumerate(columns):
        bad = list(row)
        bad[i] = p
        with open(os.path.join(W, "in", "f.csv"), "w", newline="") as f:
            csv_module.writer(f).writerows([columns, row, bad])
        run("formats " + column, "compare", "--joined", "--formats", "f.csv", "--plot", "f.svg")
    name = "./" + write(file_name(p) + ".csv", csv([head, good, good]))
    copy = "./" + write(file_name(p) + ".gpu", open(gpu).read())
    run("records file name", "compare", "--gpu", name, "--machine", copy, "--plot", "r.svg")
    if run("records file name", "compare", "--gpu", name, "--machine", copy, "--calibrate", "c.yaml") == 0:
        run("records file name", "compare", "--machine", "c.yaml", "--plot", "r.svg")
    record = {"schema_version": 1, "source": "measured", "device": {"name": "NVIDIA A100"},
              "kernel": {"impl": "cublaslt"}, "timing": {"median_us": 400, "l2": "cold_rotated"},
              "problem": {"M": 4096, "N": 4096, "K": 4096, "format": "dense", "dtype_a": "s8",
                          "dtype_w": "s8", "dtype_out": "s32", "sparsity": 0}, "ceilings": {}}
    for outer, inner in (("source", None), ("device", "name"), ("kernel", "impl"), ("timing", "l2"),
                         ("problem", "format"), ("problem", "dtype_a"), ("problem", "dtype_w"),
                         ("problem", "dtype_out"), ("problem", p), (p, None)):
        bad = json.loads(json.dumps(record))
        if inner is None:
            bad[outer] = p
        else:
            bad[outer][inner] = p
        write("r.jsonl", json.dumps(record) + "\n" + json.dumps(bad) + "\n")
        field = "record " + (outer if inner is None else inner).replace(p, "key")
        run(field, "compare", "--gpu", "r.jsonl", "--machine", gpu, "--plot", "r.svg")

# ---- tensors ------------------------------------------------------------------------------------
def tensors(p):
    for field, header in {
        "tensor": {p: entry("BF16", [2, 64], 256)}, "dtype": {"x": entry(p, [2, 64], 256)},
        "metadata key": {"__metadata__": {p: "x"}, "x": entry("BF16", [2, 64], 256)},
        "metadata value": {"__metadata__": {"x": p}, "x": entry("BF16", [2, 64], 256)},
    }.items():
        write("t", safetensors(header, b"\x3c" * 256))
        run("safetensors " + field, "inspect", "t")
        run("safetensors " + field, "inspect", "t", "--json")
        if run("safetensors " + field, "quantize", "t", "--bank", "16", "-o", "q") == 0:
            run("safetensors " + field, "inspect", "q")
            run("safetensors " + field, "run", "q")
    name = "./" + write(file_name(p), safetensors({"x": entry("BF16", [2, 64], 256)}, b"\x3c" * 256))
    run("safetensors file name", "quantize", name, "-o", name + ".q")
    run("safetensors file name", "inspect", name + ".q")
    # What quantize wrote, with another text in each of its fields.
    write("t", safetensors({"x": entry("BF16", [2, 64], 256)}, b"\x3c" * 256))
    run("encoded", "quantize", "t", "--bank", "16", "-o", "q")
    whole = open(W + "/in/q", "rb").read()
    n = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8:8 + n])
    for key in header["__metadata__"]:
        bad = json.loads(json.dumps(header))
        bad["__metadata__"][key] = p
        write("e", safetensors(bad, whole[8 + n:]))
        run("encoded " + key, "inspect", "e")
        run("encoded " + key, "run", "e")
    tokens = {"__metadata__": {"x": p}, p: entry("I32", [2, 64], 512), "tokens": entry("I32", [2, 64], 512, 512)}
    write("tokens", safetensors(tokens, bytes(1024)))
    run("token file", "eval", "--tokens", "tokens", "--algorithm", "rtn", "--summary", "--sequences", "1")
    masks = {"__metadata__": {"system": "sq_a", "version": "1", "bank": p, "k": p, "source": p},
             p + ".mask": entry("U8", [8], 8)}
    write("masks", safetensors(masks, b"\x0f" * 8))
    run("mask file", "inspect", "masks")
    run("mask file", "eval", "--weights", "masks", "--summary")

# ---- GGUF ---------------------------------------------------------------------------------------
sys.path.insert(0, os.environ["ROOT"] + "/tests/llm")
sys.dont_write_bytecode = True
import gguf_write

def gguf(p):
    good, t = {"general.architecture": "llama"}, [("t", [2, 2], 0, bytes(16))]
    for field, values, tensors in (
            ("key", {**good, p: 1}, t), ("string", {**good, "x": p}, t), ("array", {**good, "x": [p, p]}, t),
            ("architecture", {"general.architecture": p, p + ".block_count": 1}, t),
            ("tensor", good, [(p, [2, 2], 0, bytes(16))])):
        write("g", gguf_write.container(values, tensors))
        for command in (("inspect", "g"), ("inspect", "g", "--json"), ("quantize", "g"), ("eval", "g")):
            run("GGUF " + field, *command)
    name = "./" + write(file_name(p) + ".gguf", gguf_write.container(good, t))
    run("GGUF file name", "inspect", name)
    run("GGUF file name", "eval", name)

# ---- texts --------------------------------------------------------------------------------------
def texts(p):
    os.makedirs(W + "/in/tok", exist_ok=True)
    for f in ("config.json", "model.safetensors", "tokens_eval.safetensors"):
        if not os.path.exists(W + "/in/tok/" + f):
            os.symlink(HOME + "/traces/tiny-llama/" + f, W + "/in/tok/" + f)
    good = {"added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": {"a": 1, "b": 2, "ab": 3}, "merges": ["a b"]}}
    split = lambda regex: {"type": "Split", "behavior": "Isolated", "pattern": regex}
    for field, changed in {
            "normalizer": {"normalizer": {"type": p}}, "pre-tokenizer": {"pre_tokenizer": {"type": p}},
            "expression": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split({"Regex": p}), {"type": "ByteLevel"}]}},
            "literal": {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split({"String": p}), {"type": "ByteLevel"}]}},
            "behavior": {"pre_tokenizer": {**split({"Regex": "a"}), "behavior": p}},
            "added token": {"added_tokens": [{"id": 4, "content": p, "lstrip": True}]},
            "token": {"model": {**good["model"], "vocab": {**good["model"]["vocab"], p: 4}}},
            "merge": {"model": {**good["model"], "merges": [p]}}, "key": {p: 1}}.items():
        write("tok/tokenizer.json", json.dumps({**good, **changed}))
        write("text", "abab" + p)
        run("tokenizer " + field, "eval", "tok", "--text", "text", "--window", "8", "--sequences", "1", "--summary", "--algorithm", "rtn")
    run("text file name", "eval", "tok", "--text", "./" + write(file_name(p) + ".txt", p))

def models(p):
    good = json.loads(TEXT("traces/tiny-llama/config.json"))
    for key in ("architectures", "model_type", "hidden_act", "torch_dtype", "rope_scaling", p):
        bad = {**good, key: [p] if key == "architectures" else {"rope_type": p} if key == "rope_scaling" else p}
        os.makedirs(W + "/in/model", exist_ok=True)
        write("model/config.json", json.dumps(bad))
        write("model/model.safetensors", safetensors({"x": entry("BF16", [2, 64], 256)}, b"\x3c" * 256))
        field = "config " + ("key" if key == p else key)
        run(field, "inspect", "--gemms", "model")
        run(field, "inspect", "model")
    write("model/config.json", json.dumps(good))
    os.unlink(W + "/in/model/model.safetensors")
    for field, index in {"file": {"x": p}, "tensor": {p: "model-1.safetensors"}}.items():
        write("model/model-1.safetensors", safetensors({p: entry("BF16", [2, 64], 256)}, b"\x3c" * 256))
        write("model/model.safetensors.index.json", json.dumps({"metadata": {p: p}, "weight_map": index}))
        run("index " + field, "inspect", "model")
    os.unlink(W + "/in/model/model.safetensors.index.json")
    there = W + "/in/" + file_name(p) + ".model"
    os.makedirs(there)
    shutil.copy(W + "/in/model/config.json", there)
    run("model directory", "inspect", "--gemms", "./" + file_name(p) + ".model", "-o", "./" + file_name(p) + ".w")
    run("model directory", "inspect", "./" + file_name(p) + ".model")
    run("option", "run", "--format", p)
    run("option", "area", "--block", p)
    run("option", p)

for group in (machines, sweeps, databases, tables, tensors, gguf, texts, models):
    for p in payloads():
        group(p)
if os.path.exists(LIB):
    liberty()
for field, (n, wrong) in fields.items():
    print(f"{field}\t{n}\t{json.dumps(wrong) if wrong else ''}")
EOS
python3 "$W/plant.py" "$W" "$LIB" >"$W.out" 2>"$W.err"
ok "all fields were tried" [ $? = 0 ]
sed 's/^/# /' "$W.err" | tail -5
runs=0
while IFS=$'\t' read -r field n wrong; do
  runs=$((runs + n))
  [ -z "$wrong" ] || echo "# $wrong"
  ok "$field" [ "$n" -gt 0 -a -z "$wrong" ]
done < <(cat "$W.out")
fields=$(wc -l <"$W.out")
echo "# $fields fields, $runs runs"
ok "40 fields or more" [ "$fields" -ge 40 ]
[ -r $LIB ] || skip "fields of Liberty" "$LIB is not there (package qflow-tech-osu018)"
finish
