#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Second accounts of figures that people quote, and sums that must close: figures.py SQSIM DIR SEED N [tools] (figures.t).

N drawn machines of unequal sides, models and contexts go through the commands in DIR. What the documents say of bytes,
products, tokens a second and joules is computed here anew, without the program's tables; in every JSON object of every
command the parts of CLOSES are the whole. Prints TAP. figures.py said TEXT JSON: whether two outputs of a command say the same.
"""
import json, math, random, re, subprocess, sys

# ---- what a text says: every share, and every number of three digits with a point, is one of the JSON in some unit --------------
def numbers(o):
    return [x for v in (o.values() if isinstance(o, dict) else o) for x in numbers(v)] if isinstance(o, (dict, list)) else [o] if type(o) in (int, float) else []
# These stand in texts alone: a clock, shares and watts of a layer, joules of a part by products, rates and shares of a server.
TEXT_ALONE = r"^#.*|[\d.]+ GHz|busy [\d.]+ %|^  (W|EDP).*|[\d.]+%$|^  [A-Za-z ]+ [\d.]+ +\d+\.\d{3}($|(?=   .*%))|[\d.]+ prompt tokens/s"
def unsaid(text, objects):
    """The first number that no unit makes one of `objects`, with its line."""
    have = [(v, unit) for o in objects for v in numbers({**o, "provenance": 0}) for unit in (1, 100, 1e3, 1e-3, 1e-6, 1e-9, 1e-12, 1e9)]
    for line in re.sub(TEXT_ALONE, "", text, flags=re.M).split("\n"):
        for m in re.finditer(r"(?<![\w.:-])(\d+\.(\d+))(e[+-]?\d+)?(?![\w.])", line):
            x, last = float(m[0]), .501 * 10.0 ** (int((m[3] or "e0")[1:]) - len(m[2]))
            digits = len(m[1].replace(".", "").lstrip("0"))
            if (digits > 2 or line[m.end():m.end() + 2] == " %") and not any(abs(x - v * unit) <= last + 1e-5 * x for v, unit in have if digits > 2 or unit == 100):
                return f"{m[0]} in: {line}"
    return None if re.search(r"\d\.\d", text) else "no number"
if sys.argv[1] == "said":
    lost = unsaid(open(sys.argv[2]).read(), [json.loads(line) for line in open(sys.argv[3])])
    sys.exit(lost and f"# {lost}")

SQSIM, DIR, SEED, N = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
draw = random.Random(SEED)
tests, wrong = [], {}


def check(name, got, want, by=1e-9, about=""):
    """One line of TAP for all uses of a name; the first that differs is shown."""
    if name not in tests:
        tests.append(name)
    if not (got is not None and want is not None and abs(got - want) <= by * abs(want) + 1e-300) and name not in wrong:
        wrong[name] = f"{got}, want {want} {about}"


# ---- sums: (command, keys that the object has, whole, parts, relative error of rounding) ------------------------
def of(key):
    return lambda o: o[key]
def values(*path):
    return lambda o: sum(v for v in __import__("functools").reduce(lambda x, k: x[k], path, o).values())
def each(array, key):
    return lambda o: sum(p[key] for p in o[array])

CLOSES = [("run", "bytes_by_stream", of("bytes"), values("bytes_by_stream"), 0),
          ("run", "causes", of("cycles"), values("causes", "low"), 0)]
CLOSES += [("run", "energy_parts", of(f"energy_{e}_pj"), each("energy_parts", f"{e}_pj"), 0) for e in ("low", "gated", "high")]
CLOSES += [("run", "edp_low_js", of(f"edp_{e}_js"), lambda o, e=e: o[f"energy_{e}_pj"] * 1e-12 * (o["seconds"] if "seconds" in o else o["tokens"] / o["tokens_per_second"]), 1e-9) for e in ("low", "high")]
CLOSES += [("run", "idle", lambda o: 1 if o["share"] is not None else 0,
            lambda o: sum(o[k] or 0 for k in ("share", "rows", "refresh", "turns", "held", "idle")), 5e-3),
           ("run", "pe_mm2", lambda o: o["mm2"] or 0, lambda o: sum(o[f"{k}_mm2"] or 0 for k in ("pe", "line", "sram", "output", "second", "vector", "attend", "encoder", "dma", "rest")), 1e-9),
           ("run", "linear_ms", of("ms"), lambda o: sum(o[f"{k}_ms"] or 0 for k in ("linear", "head", "attention", "vector", "memory", "encode")), 1e-9),
           ("run", "tokens_per_second", lambda o: o.get("tokens", o.get("new_tokens", int("rows_used" in o))),
            lambda o: o["tokens_per_second"] * (o["ms"] / 1e3 if "ms" in o else o["seconds"]), 1e-9),
           ("generate", "wait", of("cycles"), lambda o: o["busy"] + o["wait"] + o["blocked"], 0),
           ("area", "cells", of("n_cells"), values("cells"), 0),
           ("area", "weights_per_cycle", of("area_um2"), lambda o: (o["um2_per_weight_cycle"] or o["area_um2"]) * (o["weights_per_cycle"] or 1), 1e-9),
           ("area", "parts", of("area_um2"), lambda o: sum(p["um2"] for p in o["parts"].values()), 1e-9),
           ("energy", "total_aj", of("total_aj"), lambda o: sum(v for p in o["parts_aj"] for v in p.values() if not isinstance(v, str)), 0),
           ("energy", "inside_pes_aj", of("inside_pes_aj"), values("pes_aj"), 0),
           ("energy", "watts", of("total_aj"), lambda o: o["watts"] * o["cycles"] * o["clock_ns"] * 1e9, 1e-6),
           ("energy", "fj_per_mac", of("total_aj"), lambda o: o["fj_per_mac"] * o["macs"] * 1e3, 1e-6),
           ("energy", "fj_per_beat", of("total_aj"), lambda o: o["fj_per_beat"] * o["beats"] * 1e3, 1e-6),
           ("eval", "perplexity", of("perplexity"), lambda o: math.exp(o["loss"]), 1e-9),
           ("eval", "loss_difference", of("loss"), lambda o: o["loss_reference"] + o["loss_difference"], 1e-9),
           ("sweep", "computed", of("points"), lambda o: o["computed"] + o["cached"], 0)]
def beats_of(o, nbytes):
    return -(-nbytes * 8 // o["DataW"]) * o["DataW"] // 8

# Regions of an image, in whole beats of the bus: tiles x groups x beats of an operand, scales of rows and of block-scaled columns once; the last of them ends the image.
REGIONS = {"act": (0, "beats"), "weight": (1, "beats"), "row_scale": (0, 0), "col_scale": (1, 0)}
def pieces(n, size):
    return [size] * (n // size) + [n % size] * (n % size > 0)
def region(o, name):
    side, beats = REGIONS[name]
    chunks = [c * (o["beats"] if beats else 1) for c in pieces(o["groups"], o["chunk"])] if beats or (side and o["Form"] != 3) else [1]
    return sum(beats_of(o, t * c * o["beat_bytes"][name]) for t in pieces(o["tiles"][side], o["block"][side]) for c in chunks)
CLOSES += [("image", "regions", lambda o, r=r: o["regions"][r][1], lambda o, r=r: region(o, r), 0) for r in REGIONS]
CLOSES += [("image", "regions", lambda o: o["regions"]["out"][1], lambda o: beats_of(o, o["tiles"][0] * o["tiles"][1] * o["beat_bytes"]["out"]), 0),
           ("image", "regions", lambda o: o["base"] + o["bytes"], lambda o: -(-max(map(sum, o["regions"].values())) // 4096) * 4096, 0),
           ("image", "regions", lambda o: len(o["regions"]), lambda o: 1 + sum(b[0] >= sum(a) for a, b in (lambda r: zip(r, r[1:]))(sorted(o["regions"].values()))), 0)]
# Lines of a command that add up to its summary: a weight of each line, keys.
LINES = [("run", "causes", lambda l: l["count"], ("macs", "cycles", "bytes", "seconds")),
         ("run", "energy_parts", lambda l: l["count"], ("energy_low_pj", "energy_gated_pj", "energy_high_pj")),
         ("run", "part", lambda l: 1, ("ms", "bytes")), ("run", "launch_seconds", lambda l: 1, ("seconds", "launch_seconds", "dram_seconds")), ("generate", "nll", lambda l: 1, ("nll", "cycles", "read_bytes", "write_bytes")),
         ("inspect", "tensor", lambda l: 1, ("bytes",)), ("inspect", "count", lambda l: l["count"], ()), ("image", "regions", lambda l: 1, ("bytes",)),
         ("cosim", "point", lambda l: 1, ("cases", "cycles", "beats", "tiles", "integers", "resets", "active", "value_mismatches", "cycle_mismatches"))]
# Summaries that are the number of lines, or means of them by weights or by inputs of a layer.
COUNTS = {"image": "layers", "quantize": "layers", "cosim": "points", "sweep": "points", "area": "rows", "energy": "rows"}
MEANS = [("quantize", "stored_bits_per_weight", lambda l: l["n"] * l["k"]), ("eval", "stored_bits_per_weight", lambda l: l["n"] * l["k"]), ("eval", "activation_bits", of("k"))]


def run(*words):
    """The lines of a command and its summary; their sums are checked."""
    done = subprocess.run([SQSIM, *map(str, words), "--json"], cwd=DIR, capture_output=True, text=True)
    name, told = words[0], " ".join(map(str, words))
    if done.returncode:
        sys.exit(f"Bail out! {told}: {done.stderr}")
    *lines, last = map(json.loads, done.stdout.split("\n")[:-1])
    for command, key, whole, parts, by in CLOSES:
        for o in lines + [{**l, **l[k]} for l in lines + [last] for k in ("zero_delay", "with_delays", "energy") if isinstance(l.get(k), dict)] + [last]:
            if command == name and key in o:
                check(f"{command}: parts of {key} are the whole", parts(o), whole(o), by, told)
    for command, key, weight, keys in LINES:
        mine = [l for l in lines if key in l]
        for k in keys if command == name and mine else ():
            if k in last:
                check(f"{command}: lines of {key} are the sum", sum(weight(l) * l[k] for l in mine), last[k], 1e-9, f"{k}: {told}")
    if name in COUNTS and COUNTS[name] in last:
        check(f"{name}: its {COUNTS[name]} are its lines", len(lines), last[COUNTS[name]], 0, told)
    for command, key, weight in MEANS:
        if command == name:
            check(f"{name}: {key} is the mean of its lines", sum(weight(l) * l[key] for l in lines) / sum(map(weight, lines)), last[key], 1e-9, told)
    if "causes" in last and "high" in last["causes"]:
        check("run: causes of the high path are its cycles", sum(last["causes"]["high"].values()), last["cycles"], 0, told)
    return lines, last


def said(*words):
    """The same, and its text says the same."""
    lines, last = run(*words)
    lost = unsaid(subprocess.run([SQSIM, *map(str, words)], cwd=DIR, check=True, capture_output=True, text=True).stdout, lines + [last])
    check(f"{words[0]}: the text says what JSON says", len(lost or ""), 0, 0, f"{lost}: {' '.join(map(str, words))}")
    return lines, last


def machine(name, **more):
    """A drawn machine of unequal sides, whose buffers hold whatever is drawn below; the dictionary of what was drawn."""
    d = dict(clock=draw.choice((.5, 1, 1.25)), cores=draw.choice((1, 2, 3)), rows=draw.choice((4, 8, 16)), cols=draw.choice((24, 32, 40)), low=draw.choice((4, 8, 16)),
             high=draw.choice((1, 2, 4)), act=draw.choice((1, 2)), weight=draw.choice((8, 16)), out=draw.choice((2, 4)), lanes=draw.choice((8, 32)), dram=draw.choice((64, 96)))
    d.update(more)
    with open(f"{DIR}/{name}.yaml", "w") as f:
        f.write("name: drawn\nclock: {clock} GHz\ncores: {cores}\ncore:\n  rows: {rows}\n  cols: {cols}\n  low_lanes: {low}\n  high_lanes: {high}\n  low_bits: 4\n  high_bits: 8\n"
                "  act_bits: 8\n  gather: crossbar\n  output: 64 B\nbuffers:\n  activation: {act} MiB\n  weight: {weight} MiB\n  output: {out} MiB\ndram:\n  bandwidth: {dram} GB/s\n"
                "  latency: 100 ns\n  burst: 64 B\nvector:\n  lanes: {lanes}\nlink:\n  bandwidth: 20 GB/s\n  latency: 1 us\n".format(**d))
    return d


# ---- stored bits of a row of K elements: (options, weights, activations) --------------------------------------
def up(a, b):
    return -(-a // b)
FORMATS = {"dense --weight-bits 4 --group 32": (lambda k: 4 * k + 32 * up(k, 32), lambda k: 8 * k + 32),
           "dense --weight-bits 8 --group row": (lambda k: 8 * k + 32, lambda k: 8 * k + 32),
           "nvfp4": (lambda k: 4 * k + 8 * up(k, 16), lambda k: 4 * k + 8 * up(k, 16) + 32),
           "mxfp8": (lambda k: 8 * k + 8 * up(k, 32), lambda k: 8 * k + 8 * up(k, 32)),
           "mxfp4": (lambda k: 4 * k + 8 * up(k, 32), lambda k: 4 * k + 8 * up(k, 32))}
AS_IT_IS = (lambda k: 16 * k, lambda k: 16 * k)  # 16 bits have no scales
# ... and of the cache's row of a head, and bits of an element of a query.
CACHES = {"": (lambda d: 16 * d, 16), "int8": (lambda d: 8 * d + 32, 8), "int4": (lambda d: 4 * d + 32, 8), "mxfp8": (lambda d: 8 * d + 8 * up(d, 32), 8.25)}


def decode(i):
    """A token of a drawn model: bytes, products and rates."""
    hw = machine("m")
    heads, kv = draw.choice(((4, 2), (6, 3), (6, 2), (8, 1)))
    c = dict(model_type="llama", hidden_size=32 * draw.choice((6, 9, 10)), intermediate_size=32 * draw.choice((11, 14, 21)), num_attention_heads=heads, head_dim=draw.choice((32, 64)),
             num_hidden_layers=draw.randint(2, 5), num_key_value_heads=kv, tie_word_embeddings=draw.random() < .5, vocab_size=32 * draw.randint(20, 40))
    with open(f"{DIR}/model.json", "w") as f:
        json.dump(c, f)
    h, inner, layers, dim, vocab, batch, context = c["hidden_size"], c["intermediate_size"], c["num_hidden_layers"], c["head_dim"], c["vocab_size"], draw.randint(1, 7), draw.randint(20, 300)
    options, cache = draw.choice(list(FORMATS)), draw.choice(list(CACHES))
    row, query = CACHES[cache][0](dim), CACHES[cache][1]
    head = draw.choice(("bf16", "layers", "mxfp8"))  # bf16 is the default
    of_head = {"bf16": AS_IT_IS, "layers": FORMATS[options]}.get(head) or FORMATS[head]
    tensor = 4 if options == "nvfp4" else 0  # bytes of a scale of the whole matrix
    words = ["run", "model.json", "--machine", "m.yaml", "--phase", "decode", "--context", context, "--batch", batch, "--format", *options.split(), *(["--kv-format", cache] if cache else []), *(["--head-format", head] if head != "bf16" else [])]
    lines, s = run(*words)
    part, about = {l["part"]: l for l in lines if "part" in l}, " ".join(map(str, words))
    shapes = {"q_proj": (heads * dim, h), "k_proj": (kv * dim, h), "v_proj": (kv * dim, h), "o_proj": (h, heads * dim), "gate_proj": (inner, h), "up_proj": (inner, h), "down_proj": (h, inner), "lm_head": (vocab, h)}
    held = 0
    for l in lines:
        if l.get("layer") in shapes:
            n, k = shapes[l["layer"]]
            is_head = l["layer"] == "lm_head"
            weight, act = of_head if is_head else FORMATS[options]
            check("decode: products of a layer", l["macs"], batch * n * k, 0, about)
            check("decode: bytes of a layer are its weights, activations and outputs", l["bytes"], (n * weight(k) + batch * act(k)) / 8 + 2 * batch * n, 1e-9, f"{l['layer']}: {about}")
            held += (1 if is_head else layers) * (n * weight(k) / 8 + (tensor if not is_head or head == "layers" else 0))
    check("decode: all weights that are held", s["weights_bytes"], held + (0 if c["tie_word_embeddings"] else 2 * vocab * h), 1e-9, about)
    read = 2 * layers * kv * context * batch * row / 8
    seen = 32 * up(context, 32) if cache == "mxfp8" else context  # values are read in whole blocks of keys
    check("decode: the cache that is held", s["kv_bytes"], read, 1e-9, about)
    check("decode: bytes of one more token", s["kv_token_bytes"], 2 * layers * kv * row / 8, 1e-9, about)
    check("decode: attention reads the cache and writes what it gives", part["attention"]["bytes"], read * (1 + seen / context) / 2 + 2 * layers * batch * heads * dim, 1e-9, about)
    check("decode: products of attention", part["attention"]["macs"], 2 * layers * batch * heads * dim * context, 0, about)
    written = 2 * layers * kv * batch * row / 8
    check("decode: embedding, queries, and keys and values that are written", part["memory"]["bytes"], 2 * batch * h + query / 8 * layers * batch * heads * dim + written, 1e-9, about)
    check("decode: memory takes its bytes over the bandwidth", part["memory"]["ms"], part["memory"]["bytes"] / hw["dram"] / 1e6, 1e-9, about)
    for name, mine in (("linear", [l for l in lines if l.get("layer", "").endswith("_proj")]), ("head", [l for l in lines if l.get("layer") == "lm_head"]),
                       ("attention", [l for l in lines if l.get("layer") in ("scores", "values")])):
        for key, unit in (("macs", 1), ("bytes", 1), ("cycles", hw["clock"] * 1e6)):
            check(f"decode: rows of {name} are its part", sum(l["count"] * l[key] for l in mine) / unit, part[name]["ms" if key == "cycles" else key], 1e-9, f"{key}: {about}")
    check("decode: milliseconds of the multipliers alone", s["compute_ms"], sum(l["count"] * l["compute_cycles"] for l in lines if "layer" in l) / hw["clock"] / 1e6, 1e-9, about)
    check("decode: ... of the DRAM alone", s["dram_ms"], sum(l["count"] * l["dram_cycles"] for l in lines if "layer" in l) / hw["clock"] / 1e6 + part["memory"]["ms"], 1e-9, about)
    check("decode: operations of the vector unit are its part", sum(s["vector_ms_by_op"].values()), part["vector"]["ms"], 1e-9, about)
    machine("one", **dict(hw, cores=1, lanes=hw["cores"] * hw["lanes"]))
    alone, _ = run(*["one.yaml" if w == "m.yaml" else w for w in words])
    check("decode: one core with all lanes takes the time of the vector unit", sum(l["ms"] for l in alone if l.get("part") == "vector"), part["vector"]["ms"], .3, about)
    with open(f"{DIR}/deeper.json", "w") as f:
        json.dump(dict(c, num_hidden_layers=layers + 1), f)
    _, deeper = run(*["deeper.json" if w == "model.json" else w for w in words])
    for op, last in (("norm", 1), ("rotary", 0), ("softmax", 0), ("gate", 0), ("add", 0)):  # two norms a layer, and one after the last
        check("decode: operations of the vector unit are those of its layers", deeper["vector_ms_by_op"][op] * (2 * layers + last), s["vector_ms_by_op"][op] * (2 * layers + 2 + last), 1e-9, f"{op}: {about}")
    check("decode: shares are one", sum(l["share"] for l in part.values()), 1, 1e-9, about)
    check("decode: tokens a second", s["tokens_per_second"], batch * 1e3 / sum(l["ms"] for l in part.values()), 1e-9, about)


def joules(i):
    """A GEMM on the table of energy_table.sh: 10 fJ a MAC, 20 with delays, clock pins 2 fJ a slot, leakage 1 uW of 16 slots."""
    hw = machine("m", **({"cores": 3, "cols": 32} if i % 2 else {}))
    m, n, k = draw.choice((2, 5, 9, 30)), 32 * draw.randint(1, 6), 128 * draw.randint(1, 4)
    if i % 2:
        m, n, k = 2, 32, 4096  # of which cores have a part of K each
    words = ["run", "--machine", "m.yaml", "--m", m, "--n", n, "--k", k, "--format", "dense", "--weight-bits", 4, "--energy", "t.jsonl", "--memory", "memory.yaml"]
    lines, s = run(*words)
    _, wires = run(*["wires.jsonl" if w == "t.jsonl" else w for w in words])
    check("joules: what wires change counts as what gates change", wires["energy_high_pj"], s["energy_high_pj"], 1e-9)
    pj = {p["part"]: p for p in s["energy_parts"]}
    about, macs, pes = " ".join(map(str, words)), m * n * k, hw["cores"] * hw["rows"] * hw["cols"]
    a_cycle = pes * (hw["low"] + 2 * hw["high"])  # products of 4 x 8 bits
    slots, seconds = a_cycle * s["cycles"], s["cycles"] / hw["clock"] * 1e-9
    check("joules: seconds are cycles over the clock", s["seconds"], seconds, 1e-9, about)
    waits = s["causes"]["low"]["memory"] + s["causes"]["low"]["index"]
    used, all_ = (min(m, hw["rows"]), min(n, hw["cols"])), (hw["rows"], hw["cols"])
    want = {("products", "low"): macs * .010, ("products", "high"): macs * .020, ("array_clock", "low"): macs * .002, ("array_clock", "high"): slots * .002,
            ("array_clock", "gated"): slots * .002 * (1 - waits / s["cycles"]), ("array_leakage", "low"): a_cycle / 16 * seconds * 1e6, ("array_leakage", "high"): a_cycle / 16 * seconds * 1e6,
            ("lines", "low"): macs * .003 / max(used), ("lines", "high"): macs * .002 / min(used) + slots * .001 / min(all_), ("output", "low"): macs * .001,
            ("dram", "low"): 40 * s["bytes"], ("dram", "high"): 72 * s["bytes"], ("sram_leakage", "low"): hw["cores"] * 2 ** 23 * (hw["act"] + hw["weight"] + hw["out"]) * seconds * 10,
            ("dram", "gated"): 72 * s["bytes"], ("products", "gated"): macs * .020}
    # Buffers: a tile reads its activations, its weights and what it adds to; what is loaded and all sums are written.
    parts, chunks, tall, wide = map(int, re.search(r"cores \d+x\d+x(\d+) .* blocks \d+x\d+x(\d+) of (\d+)x(\d+)", subprocess.run([SQSIM, *map(str, words), "--causes"], cwd=DIR, capture_output=True, text=True).stdout).groups())
    b, tiles = s["bytes_by_stream"], lambda size, block, lines: sum(up(p, lines) for p in pieces(size, block))
    weights, sums = 8 * sum(b[x] for x in ("lo", "hi", "index", "scale")), 32 * m * n * parts * chunks
    read, written = 8 * m * k * tiles(n, wide, hw["cols"]) + weights * tiles(m, tall, hw["rows"]) + sums, weights + 8 * (b["act"] + b["act_scale"]) + sums
    want |= {("sram_read", "low"): read, ("sram_read", "high"): 2 * read, ("sram_write", "low"): 3 * written, ("sram_write", "high"): 4 * written}
    for (part, end), value in want.items():
        got = pj[part][f"{end}_pj"]
        check(f"joules: {part}", got, value, 1e-6 + 1 / max(value, 1), f"{end}: {about}")


def others():
    """Commands that have sums and are not in the accounts above."""
    hw = machine("m", cores=draw.choice((2, 3)))
    with open(f"{DIR}/w.csv", "w") as f:
        f.write("Layer,M,N,K,Count,\n" + "".join(f"l{i},{draw.randint(1, 40)},{32 * draw.randint(1, 9)},{128 * draw.randint(1, 5)},{draw.randint(1, 4)},\n" for i in range(3)))
    for options in ("sq_w", "sq_a_static", "gqsa --sparsity 0.5 --group 16", "spqt", "spqr", "sp24", "mxplus"):
        run("run", "--machine", "m.yaml", "--workload", "w.csv", "--format", *options.split())
    n, k = 32 * draw.randint(1, 9), 128 * draw.randint(1, 5)
    _, s = run("run", "--machine", "m.yaml", "--m", 1, "--n", n, "--k", k, "--format", "dense", "--weight-bits", 16, "--act-bits", 16)
    check("16 bits: weights alone, no scales", s["bytes"] - s["bytes_by_stream"]["partial"], 2 * (n * k + n + k), 0)
    check("16 bits: stored", s["stored_bits_per_weight"], 16, 0)
    said("run", "--machine", "m.yaml", "--workload", "w.csv", "--format", "dense", "--weight-bits", 4, "--energy", "t.jsonl", "--memory", "memory.yaml")
    with open(f"{DIR}/model.json") as f:
        kv = json.load(f)["num_key_value_heads"]
    for chips in (1, max(kv, 2)):  # joules are those of all chips, bytes and milliseconds those of one
        lines, s = run("run", "model.json", "--machine", "m.yaml", "--phase", "decode", "--context", 50, "--format", "dense", "--weight-bits", 4, "--energy", "t.jsonl", "--memory", "memory.yaml", "--chips", chips)
        one = {(p["part"], end): p[f"{end}_pj"] / chips for p in s["energy"]["energy_parts"] for end in ("low", "gated", "high")}
        for end, pj in (("low", 40), ("gated", 72), ("high", 72)):
            check("joules: DRAM of a pass is that of all its bytes", one["dram", end], pj * sum(l["bytes"] for l in lines if l.get("part", "link") != "link"), 1e-5, f"{end}, {chips} chips")
        ms, lanes, low, high = sum(l["ms"] for l in lines if "part" in l), hw["cores"] * hw["lanes"], one["vector", "low"], one["vector", "high"]
        operations = (high - low - lanes * hw["clock"] * ms * 1e4) / .09  # 100 fJ each, 200 with delays; clock pins 10 fJ, in every cycle
        check("joules: vector units of all cores leak 0.1 uW a lane", low - .11 * operations, lanes * ms * 100, 5 / (lanes * ms * 100), f"{chips} chips")
    run("run", "--machine", "h200", "--workload", "w.csv", "--format", "gqsa")
    run("run", "--machine", "edge4_lpddr5", "--workload", "w.csv", "--format", "nvfp4")
    lines, s = said("run", "--device", draw.choice(("ddr4-2400", "ddr5-4800", "lpddr4-3200")), "--channels", draw.choice((2, 4)))
    for l in lines:
        if l.get("share"):
            check("device: bytes a second are their share of the peak of all channels", l["bytes_per_second"] if l["share"] <= 1 else None, l["share"] * s["peak_bytes_per_second"], 1e-9, str(s["channels"]))
    with open(f"{DIR}/requests.csv", "w") as f:
        f.write("arrived_at,num_prefill_tokens,num_decode_tokens\n" + "".join(f"{i * .01},{draw.randint(5, 200)},{draw.randint(1, 6)}\n" for i in range(9)))
    said("run", "model.json", "--machine", "m.yaml", "--phase", "serve", "--requests", "requests.csv", "--format", "nvfp4")
    # Requests far apart are alone in every step: a percentile is the latency of one of them, by its rank.
    prompts = draw.sample(range(8, 200), 11)
    def latencies(sizes):
        with open(f"{DIR}/alone.csv", "w") as f:
            f.write("arrived_at,num_prefill_tokens,num_decode_tokens\n" + "".join(f"{9 * i},{n},{1 + i % 3}\n" for i, n in enumerate(sizes)))
        lines, s = run("run", "model.json", "--machine", "m.yaml", "--phase", "serve", "--requests", "alone.csv", "--format", "nvfp4")
        check("serve: requests far apart are alone in every step", s["mean_sequences"], 1, 1e-9)
        return next(l for l in lines if l.get("measure") == "ttft")
    whole = latencies(prompts)
    for key, rank in (("p50_ms", 6), ("p90_ms", 10), ("p99_ms", 11)):
        check("serve: percentiles are those of ranks", whole[key], latencies([sorted(prompts)[rank - 1]])["max_ms"], 1e-9, f"{key}: {prompts}")
    with open(f"{DIR}/one.csv", "w") as f:
        f.write("arrived_at,num_prefill_tokens,num_decode_tokens\n0,128,1\n")
    lines, _ = run("run", "model.json", "--machine", "m.yaml", "--phase", "serve", "--requests", "one.csv", "--format", "nvfp4", "--token-budget", 64, "--sequences", 1)
    halves = [run("run", "model.json", "--machine", "m.yaml", "--phase", "prefill", "--seq", 64, "--context", before, "--format", "nvfp4")[0] for before in (0, 64)]
    check("serve: a prompt in two steps is two passes, with one lm_head", next(l["mean_ms"] for l in lines if l.get("measure") == "ttft"),
          sum(l["ms"] for half in halves for l in half if "part" in l and (half is halves[1] or l["part"] != "head")), 1e-6)
    for phase in (("prefill", "--seq", 70), ("prefill", "--seq", 30, "--context", 50)):
        said("run", "model.json", "--machine", "m.yaml", "--phase", *phase, "--format", "mxfp4", "--chips", 1)
    run("generate", "--prompt", "The ", "--tokens", 2, "--on", "chip")
    context = draw.randint(1, 99)
    token = ("run", "--machine", "token.yaml", "--phase", "decode", "--context", context, "--format", "nvfp4")
    rows, _ = said(*token, "--and", "dense", "--fair", "none")
    check("token: a row has the time of the program", rows[0]["ms"], run(*token)[1]["ms"], 1e-9, str(context))
    token = (*token[:-1], "dense", "--energy", "token.jsonl", "--memory", "memory.yaml")
    _, s = said(*token)
    pj = {p["part"]: p for p in s["energy"]["energy_parts"]}
    for part, want in (("attention", context * 8 * 8 * .2), ("dram", 40 * (s["read_bytes"] + s["write_bytes"])), ("chip_clock", .5 * s["cycles"]), ("chip_leakage", 5e3 * s["ms"])):
        check(f"token: joules of {part}", pj[part]["low_pj"], want, 1 / want, str(context))
    rows, _ = run(*token, "--and", "nvfp4", "--fair", "none")
    check("token: a row has the joules of the program", rows[0]["energy_high_j_per_token"], s["energy"]["energy_high_j_per_token"], 1e-9, str(context))
    some = draw.choice(("nvfp4", "sq_b", "sq_a_static --variant tied", "dense --weight-bits 5 --group 64", "mxplus")).split()
    run("quantize", "--algorithm", "rtn", "--calib-sequences", 1, "--format", *some, "-o", "w.st")
    run("inspect", "w.st")
    run("eval", "--algorithm", "rtn", "--calib-sequences", 1, "--sequences", 2, "--format", *some)
    for m, layer in ((draw.randint(1, 9), "q"), (draw.randint(1, 9), "[kv]")):
        run("image", "--algorithm", "rtn", "--m", m, "--layer", f"*.self_attn.{layer}_proj", "--rows", draw.choice((1, 2, 3)), "--cols", draw.choice((2, 4)),
            "--format", *draw.choice(("dense", "dense --weight-bits 8 --group row", "nvfp4", "sq_w")).split())
    axes = {"m": draw.sample(range(1, 40), 2), "n": draw.sample(range(32, 320, 32), 3), "k": [128 * draw.randint(1, 5)], "bank": [16, 32]}
    with open(f"{DIR}/s.yaml", "w") as f:
        f.write("name: s\nmeasures: [cycles, macs, stored_bits]\naxes: " + json.dumps(axes))
    for done in (0, 12):
        lines, s = run("sweep", "s.yaml", "--db", "s.db")
        check("sweep: its points are the product of its axes, computed once", s["cached"], done, 0)
        check("sweep: products of its points", sum(l["macs"] for l in lines), 2 * sum(axes["m"]) * sum(axes["n"]) * axes["k"][0], 0)


def tools():
    """Commands whose figures come from Verilator and Yosys."""
    run("cosim", "--block", "gather", "--point", "p01", "--point", "p03", "--cases", 14, "--seed", SEED)
    run("area", "--block", "mul", "--block", "mul_star", "--a-bits", 2, "--b-bits", 2)
    run("area", "--block", "array_split_a_k2", "--rows", 1, "--cols", 1, "--keep-parts")
    said("energy", "--block", "array", "--point", "int4x4", "--rows", 1, "--cols", 1, "--bank", 4, "--cycles", 4)


def experts():
    """A token of a drawn mixture of experts on one chip of several, whose channels no power of two divides."""
    chips = draw.choice((1, 2, 4))
    machine("m")
    h, layers, e, batch, inner, vocab = 32 * draw.choice((5, 6, 9)), draw.randint(2, 5), draw.randint(5, 12), draw.randint(1, 6), 32 * draw.randint(1, 4), 32 * draw.randint(9, 30) + draw.randint(1, 3)
    with open(f"{DIR}/moe.json", "w") as f:
        json.dump(dict(model_type="qwen3_moe", hidden_size=h, intermediate_size=2 * h, moe_intermediate_size=inner, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
                       num_hidden_layers=layers, num_experts=e, num_experts_per_tok=2, vocab_size=vocab), f)
    lines, s = run("run", "moe.json", "--machine", "m.yaml", "--phase", "decode", "--context", 50, "--batch", batch, "--format", "dense", "--weight-bits", 8, "--group", "row", "--chips", chips)
    part, about, mine, kv = {l["part"]: l for l in lines if "part" in l}, f"{chips} chips, seed {SEED}", inner // chips, max(2 // chips, 1)
    def held(n, k):
        return n * (k + 4)
    check("experts: weights that are held, idle ones as well", s["weights_bytes"], layers * (held(128 // chips, h) + 2 * held(32 * kv, h) + held(h, 128 // chips) + held(e, h) + e * (2 * held(mine, h) + held(h, mine)))
          + 4 * up(vocab, chips) * h, 1e-9, about)
    check("experts: assignments of tokens", sum(l["count"] * l["macs"] for l in lines if l.get("layer", "").startswith("expert")), layers * batch * 2 * 3 * h * mine, 1e-9, about)
    check("experts: the chip's share of the vocabulary", part["head"]["macs"], batch * up(vocab, chips) * h, 0, about)
    with open(f"{DIR}/more.json", "w") as f:
        json.dump(dict(json.load(open(f"{DIR}/moe.json")), num_experts_per_tok=4), f)
    _, more = run("run", "more.json", "--machine", "m.yaml", "--phase", "decode", "--context", 50, "--batch", batch, "--format", "dense", "--weight-bits", 8, "--group", "row", "--chips", chips)
    check("experts: two additions a layer, and one of each expert of a token", more["vector_ms_by_op"]["add"] * 4, s["vector_ms_by_op"]["add"] * 6, 1e-9, about)
    if chips > 1:  # a ring of reduces, two a layer and one of the embedding
        steps, piece = (2 * layers + 1) * 2 * (chips - 1), 2 * batch * h / chips
        check("link: bytes of a chip", part["link"]["bytes"], steps * piece, 1e-9, about)
        check("link: ... over its bandwidth, and a latency a step", part["link"]["ms"], steps * (piece / 20e6 + 1e-3), 1e-9, about)


def latent():
    """Attention of DeepSeek: each head multiplies latent rows that all of them share, in a prompt its own keys and values."""
    heads, rank, rope, nope, v, layers, context, batch = draw.randint(2, 5), 32 * draw.randint(2, 5), 32, 32 * draw.randint(2, 3), 32 * draw.randint(4, 5), draw.randint(2, 4), draw.randint(40, 200), draw.randint(1, 3)
    with open(f"{DIR}/latent.json", "w") as f:
        json.dump(dict(model_type="deepseek_v3", hidden_size=192, intermediate_size=64, moe_intermediate_size=32, num_attention_heads=heads, kv_lora_rank=rank, q_lora_rank=None, qk_rope_head_dim=rope,
                       qk_nope_head_dim=nope, v_head_dim=v, num_hidden_layers=layers, n_routed_experts=4, num_experts_per_tok=2, first_k_dense_replace=1, vocab_size=320), f)
    machine("m")
    for phase, scores, values_, keys in ((("decode", "--context", context), rank + rope, rank, context), (("prefill", "--seq", 1, "--context", context - 1), nope + rope, v, context)):
        lines, _ = run("run", "latent.json", "--machine", "m.yaml", "--phase", *phase, "--batch", batch, "--format", "mxfp8")
        for name, width in (("scores", scores), ("values", values_)):
            check(f"latent attention: products of {name}", sum(l["count"] * l["macs"] for l in lines if l.get("layer") == name), layers * batch * heads * width * keys, 0, phase[0])


for i in range(N):
    decode(i)
    experts()
    joules(i)
latent()
others()
if len(sys.argv) > 5:
    tools()
for number, name in enumerate(tests, 1):
    print(f"{'not ok' if name in wrong else 'ok'} {number} - {name}" + (f"\n# {wrong[name]}" if name in wrong else ""))
print(f"1..{len(tests)}")
sys.exit(bool(wrong))
