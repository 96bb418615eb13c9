# SPDX-License-Identifier: Apache-2.0
"""A second account of a whole block of the program of a token, from docs/SPEC.md and rtl/top/*.md alone: block.py SQSIM DIR SEED N.

N models of one block are drawn, with prompts of 1 to 300 tokens. Norms, encoders, products in NVFP4 or INT8, biases, rotary
embedding, cache, attention, SiLU and residual sums are computed here in plain Python, one number at a time and each rounded to
binary32; so are the logits, whose digest must be that of `generate --vector`. Coefficients of the vector unit's functions are
those of models/vector/sq_vector_table.c, as SPEC R.4 has them. Prints TAP."""
import ctypes, json, math, os, random, re, shutil, struct, subprocess, sys

F, I, H = struct.Struct("<f"), struct.Struct("<I"), struct.Struct("<e")
LANES = 2  # of a bus of 8 bytes


def f32(x):
    try:
        return F.unpack(F.pack(x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def bits(x):
    return I.unpack(F.pack(x))[0]


def word(b):
    return F.unpack(I.pack(b))[0]


def bf16(x):
    b = bits(x)
    return word((b + 0x7fff + (b >> 16 & 1)) & 0xffff0000)


def half(x):
    return H.unpack(H.pack(x))[0]


# ---- functions of the vector unit (R.4) -----------------------------------------------------------------------
def tables():
    text = open(os.path.join(os.path.dirname(__file__), "../../models/vector/sq_vector_table.c")).read()
    return {n: [tuple(map(int, t)) for t in re.findall(r"\{(-?\d+), (-?\d+), (-?\d+)\}", body)]
            for n, body in re.findall(r"sq_vector_(\w+)_table\[.*?\] = \{(.*?)\n\};", text, re.S)}


TABLE = tables()


def segment(name, place, u):
    c0, c1, c2 = TABLE[name][place]
    return c0 + ((c1 + (c2 * (u >> 8) >> 14)) * u >> 22)


def scaled(p, exponent):
    """p units of 2^-28 times a power of two, rounded once."""
    return f32(math.ldexp(p, exponent - 28))


def exp(x):
    b = bits(x)
    exponent, fraction = b >> 23 & 255, b & 0x7fffff
    if exponent >= 134:  # |x| is 128 or more
        return 0.0 if b >> 31 else math.inf
    significand = fraction | (0x800000 if exponent else 0)
    shift = (exponent or 1) - 150 - 31 + 28
    z = significand * 0xb8aa3b29
    z = z << shift if shift >= 0 else z >> -shift
    z = -z if b >> 31 else z
    return scaled(segment("exp", z >> 22 & 63, z & 0x3fffff), z >> 28)


def reciprocal(x):
    b = bits(x)
    exponent, fraction = b >> 23 & 255, b & 0x7fffff
    if exponent == 0:
        return word(b & 0x80000000 | 0x7f800000)
    return math.copysign(scaled(segment("reciprocal", fraction >> 16, (fraction & 0xffff) << 6), 127 - exponent), x)


def rsqrt(x):
    b = bits(x)
    exponent, fraction = b >> 23 & 255, b & 0x7fffff
    if exponent == 0:
        return word(b & 0x80000000 | 0x7f800000)
    k, odd = (exponent - 127) // 2, (exponent - 127) % 2
    return scaled(segment("rsqrt", odd << 6 | fraction >> 17, (fraction & 0x1ffff) << 5), -k)


# ---- passes (R.4) ---------------------------------------------------------------------------------------------
def mul(a, b):
    return f32(a * b)


def fma(a, b, c):
    """fl(fl(a b) + c)."""
    return f32(f32(a * b) + c)


def total(y):
    """The sum of a row in the order of the lanes."""
    y, red = y + [0.0] * (-len(y) % LANES), None
    for i in range(0, len(y), LANES):
        beat = y[i:i + LANES]
        while len(beat) > 1:
            beat = [f32(a + b) for a, b in zip(beat[::2], beat[1::2])]
        red = beat[0] if red is None else f32(red + beat[0])
    return red


def norm(x, gain, eps):
    mean = fma(total([mul(v, v) for v in x]), f32(1 / len(x)), f32(eps))
    inverse = rsqrt(mean)
    return [mul(mul(v, inverse), g) for v, g in zip(x, gain)]


def silu(gate, up):
    out = []
    for g, u in zip(gate, up):
        s = reciprocal(f32(exp(-g + 0.0) + 1.0))
        out.append(mul(mul(g, s), u))
    return out


# ---- numbers of a layer ---------------------------------------------------------------------------------------
def integers(row):
    """Qs of 8 bits with one scale (0.3)."""
    amax = max(map(abs, row))
    s = f32(amax / 127) or 1.0
    return [max(-127, min(127, round(f32(v / s)))) for v in row], s


E2M1 = [0, .5, 1, 1.5, 2, 3, 4, 6]
E4M3 = [m * 2.0 ** -9 if e == 0 else (8 + m) * 2.0 ** (e - 10) for e in range(16) for m in range(8)][:127]


def nearest(grid, x):
    """RNE to a grid by its codes, held to the last."""
    for i, (low, high) in enumerate(zip(grid, grid[1:])):
        if x < high:
            return i + (x - low > high - x or (x - low == high - x and i % 2))
    return len(grid) - 1


def blocks(row, g):
    """Blocks of 16 (Q.3): scale and elements of each."""
    out = []
    for i in range(0, len(row), 16):
        b = row[i:i + 16]
        s = E4M3[nearest(E4M3, f32(f32(max(map(abs, b)) / 6) / g))]
        step = f32(s * g)
        quotients = [f32(v / step) if step else 0.0 for v in b]
        out.append((s, [math.copysign(E2M1[nearest(E2M1, abs(q))], q) for q in quotients]))
    return out


class Dense:
    options = ["--format", "dense", "--weight-bits", "8", "--group", "row", "--algorithm", "rtn"]

    def __init__(self, w):
        self.rows = [integers(row) for row in w]

    def __call__(self, x):
        codes, sa = integers(x)
        return [bf16(mul(f32(f32(sum(a * b for a, b in zip(codes, row))) * s), sa)) for row, s in self.rows]


class Nvfp4:
    options = ["--format", "nvfp4", "--act-scale", "token2", "--algorithm", "rtn"]

    def __init__(self, w):
        self.g = f32(max(abs(v) for row in w for v in row) / 2688) or 1.0
        self.rows = [blocks(row, self.g) for row in w]

    def __call__(self, x):
        amax, g = max(map(abs, x)), 1.0
        if amax >= 2.0 ** -126:
            g = math.ldexp(1, math.ceil(math.log2(amax / 2688)))
            g = g / 2 if g / 2 * 2688 >= amax else g * 2 if g * 2688 < amax else g
        act = blocks(x, g)
        out = []
        for row in self.rows:
            a = 0.0
            for (sw, w), (sa, e) in zip(row, act):
                a = f32(a + f32(sum(p * q for p, q in zip(w, e)) * f32(sw * sa)))
            out.append(bf16(f32(a * f32(self.g * g))))
        return out


# ---- attention (R.5) ------------------------------------------------------------------------------------------
def cached(row, is_int8):
    if not is_int8:
        return [half(v) for v in row]
    largest = max(mul(v, v) for v in row)
    i = rsqrt(fma(largest, f32(1 / 127 ** 2), 2.0 ** -48))
    scale = half(reciprocal(i))
    codes = [bits(fma(v, i, 12582912.0)) & 255 for v in row]
    return [(c - 256 if c > 127 else c) * scale for c in codes]


def rotary(x, cos, sin):
    n = len(x) // 2
    low = [f32(mul(x[n + i], -sin[i]) + mul(x[i], cos[i])) for i in range(n)]
    return low + [f32(mul(x[i], sin[i]) + mul(x[n + i], cos[i])) for i in range(n)]


def score(q, k):
    p = [mul(a, b) for a, b in zip(q, k)]
    while len(p) > 1:
        p = [f32(a + b) for a, b in zip(p[::2], p[1::2])] + p[len(p) // 2 * 2:]
    return p[0]


def attend(q, keys, values):
    m = None
    for k, v in zip(keys, values):
        s = score(q, k)
        if m is None:
            m, z, acc = s, 1.0, list(v)
        elif s > m:
            e, m = exp(f32(m - s)), s
            z, acc = fma(z, e, 1.0), [fma(a, e, x) for a, x in zip(acc, v)]
        else:
            e = exp(f32(s - m))
            z, acc = f32(z + e), [f32(a + mul(e, x)) for a, x in zip(acc, v)]
    r = reciprocal(z)
    return [mul(a, r) for a in acc]


# ---- a token of a model of one block --------------------------------------------------------------------------
class Model:
    def __init__(self, c, tensors, linear, is_int8):
        self.c, self.is_int8 = c, is_int8
        at = "model.layers.0."
        self.t = {k.replace(at, "").replace(".weight", ""): v for k, v in tensors.items()}
        self.linear = {k: linear(v) for k, v in self.t.items() if k.endswith("_proj")}

    def heads(self, name, x, n):
        """A layer's outputs in rows of binary32 by head: with its bias, over its own norm."""
        y = self.linear[f"self_attn.{name}_proj"](x)
        bias = self.t.get(f"self_attn.{name}_proj.bias") or [0.0] * len(y)
        y = [f32(v + b) for v, b in zip(y, bias)]
        y = [y[i:i + self.c["head_dim"]] for i in range(0, len(y), len(y) // n)]
        gain = self.t.get(f"self_attn.{name}_norm")
        return [norm(row, gain, self.c["rms_norm_eps"]) for row in y] if gain else y

    def turned(self, rows, position):
        d, theta = self.c["head_dim"], self.c["rope_theta"]
        angle = [position * theta ** (-2 * i / d) for i in range(d // 2)]
        cos, sin = [f32(math.cos(a)) for a in angle], [f32(math.sin(a)) for a in angle]
        return [rotary(row, cos, sin) for row in rows]

    def logits(self, ids):
        c, t, caches = self.c, self.t, [[], []]
        for position, i in enumerate(ids):
            h = t["model.embed_tokens"][i]
            x = [bf16(v) for v in norm(h, t["input_layernorm"], c["rms_norm_eps"])]
            n = c["num_key_value_heads"]
            caches[0].append([cached(r, self.is_int8) for r in self.turned(self.heads("k", x, n), position)])
            caches[1].append([cached(r, self.is_int8) for r in self.heads("v", x, n)])
        q = self.turned(self.heads("q", x, c["num_attention_heads"]), len(ids) - 1)
        group, by, y = c["num_attention_heads"] // n, f32(1 / math.sqrt(c["head_dim"])), []
        for i, row in enumerate(q):
            y += attend([mul(v, by) for v in row], *([token[i // group] for token in cache] for cache in caches))
        h = [f32(a + b) for a, b in zip(self.linear["self_attn.o_proj"]([bf16(v) for v in y]), h)]
        x = [bf16(v) for v in norm(h, t["post_attention_layernorm"], c["rms_norm_eps"])]
        y = [bf16(v) for v in silu(self.linear["mlp.gate_proj"](x), self.linear["mlp.up_proj"](x))]
        h = [f32(a + b) for a, b in zip(self.linear["mlp.down_proj"](y), h)]
        x = norm(h, t["model.norm"], c["rms_norm_eps"])
        return [total([mul(a, b) for a, b in zip(x, row)]) for row in t["lm_head"]]


# ---- what is drawn --------------------------------------------------------------------------------------------
def shapes(c):
    hidden, inner, d = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    q, k = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
    at = "model.layers.0."
    out = {"model.embed_tokens": (256, hidden), "lm_head": (256, hidden), "model.norm": (hidden,), at + "input_layernorm": (hidden,), at + "post_attention_layernorm": (hidden,)}
    out |= {at + f"self_attn.{n}_proj": s for n, s in (("q", (q, hidden)), ("k", (k, hidden)), ("v", (k, hidden)), ("o", (hidden, q)))}
    out |= {at + f"mlp.{n}_proj": s for n, s in (("gate", (inner, hidden)), ("up", (inner, hidden)), ("down", (hidden, inner)))}
    if c["model_type"] == "qwen3":
        out |= {at + f"self_attn.{n}_norm": (d,) for n in "qk"}
    out = {n + ".weight": s for n, s in out.items()}
    if c["model_type"] == "qwen2":
        out |= {at + f"self_attn.{n}_proj.bias": (w,) for n, w in (("q", q), ("k", k), ("v", k))}
    return out


def drawn(r, folder):
    """A model in a folder: its config and tensors of binary32."""
    kv = r.randint(1, 2)
    c = dict(model_type=r.choice(("llama", "qwen2", "qwen3")), hidden_size=r.choice((32, 64, 96)), intermediate_size=32 * r.randint(1, 4), num_hidden_layers=1,
             num_attention_heads=kv * r.randint(1, 3), num_key_value_heads=kv, head_dim=8 * r.randint(1, 4), vocab_size=256, max_position_embeddings=512,
             rms_norm_eps=r.choice((1e-5, 1e-6)), rope_theta=r.choice((1e4, 5e5)), tie_word_embeddings=False, bos_token_id=0, eos_token_id=1)
    c["num_attention_heads"] *= 1 + (c["num_attention_heads"] * c["head_dim"] % 16 > 0)  # whole blocks of o
    tensors, header, data, wild = {}, {}, b"", r.choice((0, 0, 3))
    for name, shape in shapes(c).items():
        spread, mean = (.3, 1) if "norm" in name else (1, 0) if "embed" in name else (1.5 / math.sqrt(shape[-1]), 0)
        rows = [[f32(r.gauss(mean, spread) * 2.0 ** r.randint(-wild, wild)) for _ in range(shape[-1])] for _ in range(shape[0] if len(shape) > 1 else 1)]
        raw = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        tensors[name], data = rows if len(shape) > 1 else rows[0], data + raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/config.json", "w") as f:
        json.dump(c, f)
    with open(f"{folder}/model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
    return c, tensors


def digest(logits):
    class Hash(ctypes.Structure):
        _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]
    of = ctypes.CDLL("libxxhash.so.0").XXH3_128bits
    of.restype, of.argtypes = Hash, (ctypes.c_char_p, ctypes.c_size_t)
    raw = struct.pack(f"<{len(logits)}f", *logits)
    h = of(raw, len(raw))
    return f"xxh3-128:{h.high:016x}{h.low:016x}"


# Copies that must differ in some model: sums in another order, a cache as it comes, bfloat16 cut off, heads that do not turn. The last
# bits of a gate and of a score are not among them, since bfloat16 follows; tests/unit/vector judges those.
FAULTS = {"total": lambda y: f32(sum(y)), "half": lambda x: x, "bf16": lambda x: word(bits(x) & 0xffff0000), "rotary": lambda x, cos, sin: x}


def find(model, ids, want, lost):
    """Takes those faults out of `lost` with which the account of this model says something else."""
    for name in sorted(lost):
        kept, globals()[name] = globals()[name], FAULTS[name]
        if digest(model.logits(ids)) != want:
            lost.remove(name)
        globals()[name] = kept


def main(sqsim, folder, seed, n):
    wrong, lost = 0, set(FAULTS) if n > 4 else set()
    for i in range(n):
        r = random.Random(f"block.{seed}.{i}")
        c, tensors = drawn(r, f"{folder}/m")
        shutil.copy(f"{os.environ['SQSIM_HOME']}/traces/tiny-llama/tokens_eval.safetensors", f"{folder}/m")
        linear, is_int8 = (Dense, False) if i in (2, 3, 4) else (r.choice((Dense, Nvfp4)), r.random() < .4)
        length = 300 if i == 0 else 1 if i == 1 else 7 * i if i < 5 else r.choice((r.randint(2, 20), 2 * r.randint(1, 149) + 1))
        prompt = "".join(r.choice("abcdefghijklmnopqrstuvwxyz ABC.,") for _ in range(length - 1))
        words = ["generate", "m", "--prompt", prompt, "--vector", "--tokens", "1", "--json", *linear.options, *(["--kv-format", "int8"] if is_int8 else [])]
        about = f"{c['model_type']}, {length} tokens, {c['num_attention_heads']} heads of {c['head_dim']} over {c['num_key_value_heads']}, {linear.options[1]}, cache of {'INT8' if is_int8 else 'binary16'}"
        done = subprocess.run([sqsim, *words], cwd=folder, capture_output=True, text=True)
        want = json.loads(done.stdout.split("\n")[0])["logits"] if done.returncode == 0 else done.stderr
        model = Model(c, tensors, linear, is_int8)
        ids = [0, *prompt.encode()]
        got = digest(model.logits(ids))
        wrong += got != want
        print(f"{'ok' if got == want else 'not ok'} {i + 1} - {about}" + ("" if got == want else f"\n# model {i} of seed {seed}: {got}, want {want}"), flush=True)
        if 1 < length < 100:
            find(model, ids, want, lost)
    print(f"{'not ok' if lost else 'ok'} {n + 1} - faults in the account are found" + (f"\n# not found: {lost}" if lost else "") + f"\n1..{n + 1}")
    return wrong > 0 or bool(lost)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
