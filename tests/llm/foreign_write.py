# SPDX-License-Identifier: Apache-2.0
# foreign_write.py METHOD DIR: a small model with random codes as METHOD stores them, in DIR/q, and the same weights
# as plain F32 in DIR/f, computed here from the descriptions of docs/files.md. Standard library only.
# Without arguments: the names of the methods. foreign_write.py damaged DIR: files that must be refused.
import json, os, random, struct, sys

H, I, V, HEADS, KV, LAYERS = 128, 256, 256, 4, 2, 1
f32 = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
bf16 = lambda x: struct.unpack("<f", b"\0\0" + struct.pack("<f", x)[2:])[0]
f16 = lambda x: struct.unpack("<e", struct.pack("<e", x))[0]
E2M1 = [0.0, .5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
E2M1 += [-v for v in E2M1]

def e4m3(c):
    e, m = c >> 3 & 15, c & 7
    v = m * 2.0 ** -9 if e == 0 else (8 + m) * 2.0 ** (e - 10)
    return -v if c & 128 else v

def e5m2(c):
    e, m = c >> 2 & 31, c & 3
    v = m * 2.0 ** -16 if e == 0 else (4 + m) * 2.0 ** (e - 17)
    return -v if c & 128 else v

# ---- tensors: (dtype, shape, bytes) -------------------------------------------------------------

FORM = {"F32": "f", "F16": "e", "I32": "I", "I64": "q", "U8": "B", "I8": "B", "F8_E4M3": "B", "F8_E5M2": "B", "F8_E8M0": "B"}
def tensor(dtype, shape, values):
    if dtype == "BF16":
        return dtype, shape, b"".join(struct.pack("<f", v)[2:] for v in values)
    return dtype, shape, struct.pack(f"<{len(values)}{FORM[dtype]}", *values)

def nibbles(codes):
    return [a | b << 4 for a, b in zip(codes[::2], codes[1::2])]

def stream(codes, bits):  # dense, in words of 32 bits
    v = 0
    for i, c in enumerate(codes):
        v |= c << i * bits
    n = (len(codes) * bits + 31) // 32
    return [v >> 32 * i & 0xffffffff for i in range(n)]

def loose(codes, bits):  # 32 / bits codes a word
    a = 32 // bits
    return [sum(c << j * bits for j, c in enumerate(codes[i:i + a])) for i in range(0, len(codes), a)]

def columns(rows, bits):  # rows[n][k] -> words [k * bits / 32][n]
    words = [stream(r, bits) for r in rows]
    return [w for row in zip(*words) for w in row]

AWQ = [0, 2, 4, 6, 1, 3, 5, 7]
def awq(rows):  # rows[k][n] -> words [k][n / 8]
    return [sum(r[i + AWQ[j]] << 4 * j for j in range(8)) for r in rows for i in range(0, len(r), 8)]

# ---- methods: (config, {part: tensor}, values[n][k]) of a layer ---------------------------------

def table(r, n, k, values, scale, group, rows=1):
    """values(code) times scale(row block, group)"""
    return [f32(values[i][j] * scale[i // rows][j // group]) for i in range(n) for j in range(k)]

def draw(r, n, k, codes):
    return [[r.choice(codes) for _ in range(k)] for _ in range(n)]

def flat(rows):
    return [c for row in rows for c in row]

def ct(weights, act, fmt):
    return {"quant_method": "compressed-tensors", "format": fmt, "ignore": ["lm_head"],
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": act}}}

def fp4(r, n, k, group, scales, value):
    codes = draw(r, n, k, range(16))
    scale = draw(r, n, k // group, scales)
    return codes, scale, table(r, n, k, [[E2M1[c] for c in row] for row in codes], [[value(s) for s in row] for row in scale], group)

NVFP4_ACT = {"num_bits": 4, "type": "float", "group_size": 16, "dynamic": "local", "strategy": "tensor_group"}
def ct_nvfp4(r, n, k, act=True):
    g = f32(2688 / r.uniform(.2, .4))
    codes, scale, v = fp4(r, n, k, 16, range(32, 127), lambda s: f32(e4m3(s) / g))
    parts = {"weight_packed": tensor("U8", [n, k // 2], nibbles(flat(codes))),
             "weight_scale": tensor("F8_E4M3", [n, k // 16], flat(scale)),
             "weight_global_scale": tensor("F32", [1], [g])}
    if act:
        parts["input_global_scale"] = tensor("F32", [1], [f32(2688 / 8)])
    return ct({"num_bits": 4, "type": "float", "group_size": 16}, NVFP4_ACT if act else None, "nvfp4-pack-quantized"), parts, v

def reciprocal(r, n, k):
    config, parts, v = ct_nvfp4(r, n, k)
    parts["weight_global_scale"] = tensor("F32", [1], [f32(.0001)])
    return config, parts, [0.0] * len(v)

def ct_mxfp4(r, n, k):
    codes, scale, v = fp4(r, n, k, 32, range(117, 122), lambda s: 2.0 ** (s - 127))
    return ct({"num_bits": 4, "type": "float", "group_size": 32}, None, "mxfp4-pack-quantized"), {
        "weight_packed": tensor("U8", [n, k // 2], nibbles(flat(codes))), "weight_scale": tensor("U8", [n, k // 32], flat(scale))}, v

def e2m3(c):
    e, m = c >> 3 & 3, c & 7
    return (m / 8 if e == 0 else (1 + m / 8) * 2.0 ** (e - 1)) * (-1 if c & 32 else 1)

def ct_mxfp6(r, n, k):
    codes, scale = draw(r, n, k, range(64)), draw(r, n, k // 32, range(117, 122))
    packed = [word >> s & 255 for row in codes for j in range(0, k, 4) for word in [sum(c << 6 * i for i, c in enumerate(row[j:j + 4]))] for s in (0, 8, 16)]
    return ct({"num_bits": 6, "type": "float", "group_size": 32}, None, "mxfp6-pack-quantized"), {
        "weight_packed": tensor("U8", [n, k * 3 // 4], packed), "weight_scale": tensor("U8", [n, k // 32], flat(scale))}, table(
        r, n, k, [[e2m3(c) for c in row] for row in codes], [[2.0 ** (s - 127) for s in row] for row in scale], 32)

def quark(r, n, k):
    config, parts, v = ct_mxfp4(r, n, k)
    return {"quant_method": "quark"}, {"weight": parts["weight_packed"], "weight_scale": parts["weight_scale"]}, v

def modelopt_nvfp4(r, n, k):
    g = f32(r.uniform(.2, .4) / 2688)
    codes, scale, v = fp4(r, n, k, 16, range(32, 127), lambda s: f32(e4m3(s) * g))
    return {"quant_method": "modelopt", "quant_algo": "NVFP4"}, {
        "weight": tensor("U8", [n, k // 2], nibbles(flat(codes))), "weight_scale": tensor("F8_E4M3", [n, k // 16], flat(scale)),
        "weight_scale_2": tensor("F32", [], [g]), "input_scale": tensor("F32", [], [f32(8 / 2688)])}, v

FINE = [c for c in range(256) if c & 127 != 127 and abs(e4m3(c)) <= 32]
def fp8(config, dtype, shape, rows, cols, value, name="weight_scale", element=e4m3, kind="F8_E4M3", codes=None):
    def write(r, n, k):
        c = draw(r, n, k, codes or FINE)
        size = shape(n, k)
        a, b = (1, 1) if len(size) < 2 else size
        if len(size) == 1:
            a = size[0]
        scale = [[value(r) for _ in range(b)] for _ in range(a)]
        stored = [[s if isinstance(s, tuple) else (s, s) for s in row] for row in scale]
        v = table(r, n, k, [[element(x) for x in row] for row in c], [[s[1] for s in row] for row in stored], cols or k, rows or n)
        return config, {"weight": tensor(kind, [n, k], flat(c)),
                        name: tensor(dtype, size, [s[0] for row in stored for s in row])}, v
    return write
small = lambda r: f32(r.uniform(.001, .004))
half = lambda r: bf16(small(r))
power = lambda r: 2.0 ** r.randint(-10, -8)
byte = lambda r: (lambda e: (e + 127, 2.0 ** e))(r.choice((-127, -10, -9, -8)))
signed = lambda c: float(c - 256 if c > 127 else c)
FP8 = {"num_bits": 8, "type": "float"}
up = lambda a, b: (a + b - 1) // b

def ints(r, n, k, bits, group, order=None, zero=None, lowest=0, least=1):
    """codes, scales, zeros, values: unsigned codes less a zero point, which is `least` at least"""
    codes = draw(r, n, k, range(lowest, 1 << bits))
    scale = [[f16(r.uniform(.003, .01)) for _ in range(k // group)] for _ in range(n)]
    zeros = [[r.randint(least, (1 << bits) - 1) if zero is None else zero for _ in range(k // group)] for _ in range(n)]
    of = order or [j // group for j in range(k)]
    v = [f32((codes[i][j] - zeros[i][of[j]]) * scale[i][of[j]]) for i in range(n) for j in range(k)]
    return codes, scale, zeros, v

def ct_words(bits, group, symmetric=True, pack=stream, order=False, act=None, lowest=0, none=False):
    def write(r, n, k):
        g = group or k
        of = r.sample([j // g for j in range(k)], k) if order else None
        codes, scale, zeros, v = ints(r, n, k, bits, g, of, 1 << bits - 1 if symmetric else None, lowest)
        words = [w for row in codes for w in pack(row, bits)]
        parts = {"weight_packed": tensor("I32", [n, len(words) // n], words), "weight_scale": tensor("F16", [n, k // g], flat(scale)),
                 "weight_shape": tensor("I64", [2], [n, k])}
        if not symmetric:
            packed = [pack([zeros[i][j] for i in range(n)], bits) for j in range(k // g)]
            parts["weight_zero_point"] = tensor("I32", [len(packed[0]), k // g], [w for row in zip(*packed) for w in row])
        if order or none:
            parts["weight_g_idx"] = tensor("I32", [k], of or [0xffffffff] * k)
        return ct({"num_bits": bits, "type": "int", "group_size": group or -1, "symmetric": symmetric}, act, "pack-quantized"), parts, v
    return write

def ct_int8_zero(r, n, k, g=32):  # a zero point beside the scale of each group
    codes = draw(r, n, k, range(256))
    scale = [[f32(r.uniform(.001, .004)) for _ in range(k // g)] for _ in range(n)]
    zeros = [[r.randint(-9, 9) for _ in range(k // g)] for _ in range(n)]
    return ct({"num_bits": 8, "type": "int", "group_size": g, "symmetric": False}, INT8, "int-quantized"), {
        "weight": tensor("I8", [n, k], flat(codes)), "weight_scale": tensor("F32", [n, k // g], flat(scale)),
        "weight_zero_point": tensor("I8", [n, k // g], [z & 255 for z in flat(zeros)])}, [
        f32((signed(codes[i][j]) - zeros[i][j // g]) * scale[i][j // g]) for i in range(n) for j in range(k)]

def gptq(bits, stored, form, symmetric=True, order=False, least=1):
    def write(r, n, k, g=64):
        of = r.sample([j // g for j in range(k)], k) if order else [j // g for j in range(k)]
        codes, scale, zeros, v = ints(r, n, k, bits, g, of, 1 << bits - 1 if symmetric else None, 0, least)
        packed = [stream([(zeros[i][j] + stored) & (1 << bits) - 1 for i in range(n)], bits) for j in range(k // g)]
        return {"quant_method": "gptq", "bits": bits, "group_size": g, "sym": symmetric, "desc_act": order, **({"checkpoint_format": form} if form else {})}, {
            "qweight": tensor("I32", [k * bits // 32, n], columns(codes, bits)), "qzeros": tensor("I32", [k // g, n * bits // 32], flat(packed)),
            "scales": tensor("F16", [k // g, n], [scale[i][j] for j in range(k // g) for i in range(n)]), "g_idx": tensor("I32", [k], of),
            "bias": tensor("F16", [n], [0.0] * n)}, v
    return write

def write_awq(r, n, k, g=64):
    codes, scale, zeros, v = ints(r, n, k, 4, g)
    turn = lambda rows: [list(c) for c in zip(*rows)]
    return {"quant_method": "awq", "bits": 4, "group_size": g, "zero_point": True, "version": "gemm"}, {
        "qweight": tensor("I32", [k, n // 8], awq(turn(codes))), "qzeros": tensor("I32", [k // g, n // 8], awq(turn(zeros))),
        "scales": tensor("F16", [k // g, n], flat(turn(scale)))}, v

NF4 = [-1.0, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.09105004, 0.0,
       0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0]
def bnb(double):
    def write(r, n, k, block=64):
        codes = draw(r, n, k, range(16))
        m = n * k // block
        map8, nested = [f32(i / 255) for i in range(256)], [f32(r.uniform(.01, .02)) for _ in range(up(m, 256))]
        stored, offset = [r.randint(0, 255) for _ in range(m)], f32(.05)
        absmax = [f32(f32(map8[c] * nested[i // 256]) + offset) for i, c in enumerate(stored)] if double else [f32(r.uniform(.02, .06)) for _ in range(m)]
        values = [f32(x) for x in NF4]
        v = [f32(values[c] * absmax[i // block]) for i, c in enumerate(flat(codes))]
        state = {"quant_type": "nf4", "blocksize": block, "dtype": "float16", "shape": [n, k]}
        f = flat(codes)
        parts = {"weight": tensor("U8", [n * k // 2, 1], [a << 4 | b for a, b in zip(f[::2], f[1::2])]), "weight.quant_map": tensor("F32", [16], values)}
        if double:
            state.update(nested_blocksize=256, nested_dtype="float32", nested_offset=offset)
            parts.update({"weight.nested_absmax": tensor("F32", [len(nested)], nested), "weight.nested_quant_map": tensor("F32", [256], map8)})
        parts["weight.absmax"] = tensor("U8", [m], stored) if double else tensor("F32", [m], absmax)
        text = json.dumps(state).encode()
        parts["weight.quant_state.bitsandbytes__nf4"] = "U8", [len(text)], text
        return {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, parts, v
    return write

# Blocks of GGUF, under names that gguf_write.py takes; nibbles half a block apart.
def apart(codes):
    h = len(codes) // 2
    return bytes(a | b << 4 for a, b in zip(codes[:h], codes[h:]))

def gguf_mxfp4(r, n, k):
    codes, scale, v = fp4(r, n, k, 32, range(117, 122), lambda s: 2.0 ** (s - 127))
    return {}, {"weight": ("MXFP4", [n, k], b"".join(bytes([scale[i][j]]) + apart(codes[i][32 * j:32 * j + 32]) for i in range(n) for j in range(k // 32)))}, v

def gguf_nvfp4(r, n, k):
    g = f32(r.uniform(.2, .4) / 2688)
    codes, scale, v = fp4(r, n, k, 16, range(32, 127), e4m3)
    blocks = [bytes(scale[i][4 * j:4 * j + 4]) + b"".join(apart(codes[i][64 * j + 16 * b:][:16]) for b in range(4)) for i in range(n) for j in range(k // 64)]
    return {}, {"weight": ("NVFP4", [n, k], b"".join(blocks)), "scale": tensor("F32", [1], [g])}, [f32(x * g) for x in v]

# A binary16 scale of either sign, and a binary16 minimum, before 32 integers: bytes, or nibbles below their fifth bits.
def gguf_integers(name, bits, has_min=False):
    def write(r, n, k):
        blocks, v = [], []
        for _ in range(n * k // 32):
            d = f16(r.choice((-1, 1)) * r.uniform(.005, .03) / 2 ** (bits - 4))
            middle, least = (0, f16(r.uniform(-.2, .1))) if has_min else (1 << bits - 1, None)
            q = [r.randrange(-127 if bits == 8 else -middle, (1 << bits) - middle) for _ in range(32)]
            u = [c & 255 if bits == 8 else c + middle for c in q]
            high = sum((c >> 4) << i for i, c in enumerate(u)).to_bytes(4, "little") if bits == 5 else b""
            blocks.append(struct.pack("<e", d) + (struct.pack("<e", least) if has_min else b"") + (bytes(u) if bits == 8 else high + apart([c & 15 for c in u])))
            v += [f32(f32(c * d) + least) if has_min else f32(c * d) for c in q]
        return {}, {"weight": (name, [n, k], b"".join(blocks))}, v
    return write

# Superblocks of 256 with every bit free but the exponents of d and dmin: integers of 16 or 32 values at these, as ggml reads them.
def gguf_k(name, bits):
    def pairs(b, i):
        return b[i // 128 * 32 + i % 32] >> i % 128 // 32 * 2 & 3
    def codes(b):
        if bits == 2:
            return [pairs(b[16:], i) for i in range(256)]
        if bits == 3:
            return [pairs(b[32:], i) + (b[i % 32] >> i // 32 & 1) * 4 - 4 for i in range(256)]
        if bits == 6:
            return [(b[i // 128 * 64 + i % 64] >> i % 128 // 64 * 4 & 15) + (pairs(b[128:], i) << 4) - 32 for i in range(256)]
        q, high = b[-128:], b[16:48]
        return [(q[i // 64 * 32 + i % 32] >> i % 64 // 32 * 4 & 15) + (bits == 5 and (high[i % 32] >> i // 32 & 1) * 16) for i in range(256)]
    def integers(b):  # scales, minima
        if bits == 2:
            return [x & 15 for x in b[:16]], [x >> 4 for x in b[:16]]
        if bits == 3:
            return [(b[96 + j % 8] >> j // 8 * 4 & 15) + (b[104 + j % 4] >> j // 4 * 2 & 3) * 16 - 32 for j in range(16)], [0] * 16
        if bits == 6:
            return [x - 256 if x > 127 else x for x in b[192:208]], [0] * 16
        s = b[4:16]
        return [s[j] & 63 if j < 4 else s[j + 4] & 15 | s[j - 4] >> 6 << 4 for j in range(8)], [s[j + 4] & 63 if j < 4 else s[j + 4] >> 4 | s[j] >> 6 << 4 for j in range(8)]
    at = {2: (80, 84), 3: (108, 110), 4: (0, 144), 5: (0, 176), 6: (208, 210)}[bits]
    def write(r, n, k):
        if k % 256:
            return gguf_integers("Q8_0", 8)(r, n, k)
        blocks, v = [], []
        for _ in range(n * k // 256):
            b, d, dmin = bytearray(r.randbytes(at[1])), f16(r.choice((-1, 1)) * r.uniform(.0002, .001)), f16(r.uniform(-.001, .002))
            b[at[0]:at[0] + 2] = struct.pack("<e", d)
            if bits in (2, 4, 5):
                b[at[0] + 2:at[0] + 4] = struct.pack("<e", dmin)
            scale, least = integers(b)
            size = 256 // len(scale)
            v += [f32(f32(f32(d * scale[i // size]) * q) - (f32(dmin * least[i // size]) if bits in (2, 4, 5) else 0)) for i, q in enumerate(codes(b))]
            blocks.append(bytes(b))
        return {}, {"weight": (name, [n, k], b"".join(blocks))}, v
    return write

# Layers of two kinds: the one that `first` names, by a config that says so.
def two(a, b, config, first="down_proj"):
    def write(r, n, k, name=""):
        own, parts, v = (a if first in name else b)(r, n, k)
        return config(own), parts, v
    return write

INT8 = {"num_bits": 8, "type": "int", "strategy": "token", "dynamic": True}
METHODS = {
    "ct-nvfp4": ct_nvfp4, "ct-nvfp4-a16": lambda r, n, k: ct_nvfp4(r, n, k, False), "ct-mxfp4": ct_mxfp4,
    "ct-fp8-tensor": fp8(ct(FP8, FP8, "float-quantized"), "F32", lambda n, k: [1], None, None, small),
    "ct-fp8-channel": fp8(ct(FP8, FP8, "float-quantized"), "BF16", lambda n, k: [n, 1], 1, None, half),
    "ct-fp8-block": fp8(ct({**FP8, "block_structure": [64, 128]}, FP8, "float-quantized"), "F32", lambda n, k: [up(n, 64), up(k, 128)], 64, 128, small),
    "ct-mxfp8": fp8(ct({**FP8, "group_size": 32}, FP8, "mxfp8-quantized"), "U8", lambda n, k: [n, k // 32], 1, 32, byte),
    "ct-w8a8": fp8(ct(INT8, INT8, "int-quantized"), "F16", lambda n, k: [n, 1], 1, None, lambda r: f16(small(r)), element=signed, kind="I8", codes=[c for c in range(256) if c != 128]),
    "ct-w8a8-lowest": fp8(ct(INT8, INT8, "int-quantized"), "F16", lambda n, k: [n, 1], 1, None, lambda r: f16(small(r)), element=signed, kind="I8", codes=range(256)),
    "ct-w4a16": ct_words(4, 128, lowest=1), "ct-w4a16-lowest": ct_words(4, 64), "ct-w4a16-zero": ct_words(4, 64, False), "ct-w8a8-zero": ct_int8_zero, "ct-w4a8": ct_words(4, 0, act=INT8, lowest=1),
    "ct-w4a16-order": ct_words(4, 32, order=True), "ct-w3": ct_words(3, 0), "ct-w3-loose": ct_words(3, 32, pack=loose), "ct-w8a16": ct_words(8, 0, lowest=1),
    "ct-mxfp6": ct_mxfp6, "ct-w3-loose-zero": ct_words(3, 32, False, loose), "ct-w5-loose-zero": ct_words(5, 64, False, loose), "ct-w6-loose-zero": ct_words(6, 64, False, loose),
    "ct-w4a16-none": ct_words(4, 32, none=True), "ct-w4afp8": ct_words(4, 128, act=FP8),
    "ct-fp8-text": fp8(ct({**FP8, "block_structure": "64x32"}, None, "float-quantized"), "F32", lambda n, k: [up(n, 64), up(k, 32)], 64, 32, small),
    "ct-names": two(ct_words(4, 32), ct_words(8, 64), lambda c: {**c, "config_groups": {
        "a": {"targets": ["Linear", "re:.+mlp.*"], "weights": {"num_bits": 2, "type": "int", "group_size": 32}},
        "b": {"targets": ["re:.*_proj"], "weights": {"num_bits": 8, "type": "int", "group_size": 64}},
        "c": {"targets": ["model.layers.0.mlp.down_proj"], "weights": {"num_bits": 4, "type": "int", "group_size": 32}}}}),
    "ct-rotated": lambda r, n, k: (lambda c, *rest: ({**c, "transform_config": {"config_groups": {"R1": {"type": "hadamard", "apply": [{"targets": ["Linear"], "location": "weight_input"}]}}}}, *rest))(*ct_words(4, 128)(r, n, k)),
    "gptq-2-least": gptq(2, -1, "gptq", False, least=0), "gptq-3-least": gptq(3, -1, None, False, least=0), "gptq-4-least": gptq(4, -1, "gptq", False, least=0), "gptq-8-least": gptq(8, -1, "gptq", False, least=0),
    "gptq-v2-least": gptq(4, 0, "gptq_v2", False, least=0),
    "gptq-dynamic": two(gptq(8, -1, "gptq"), gptq(4, -1, "gptq"), lambda c: {**c, "bits": 4, "dynamic": {"-:.*lm_head": {}, r"+:model\.layers\.\d+\.mlp\.down.*": {"bits": 8}, ".*down.*": {"bits": 2}}}),
    "modelopt-nvfp4": modelopt_nvfp4,
    "modelopt-fp8": fp8({"quant_method": "modelopt", "quant_algo": "FP8"}, "F32", lambda n, k: [], None, None, small),
    "fp8-block": fp8({"quant_method": "fp8", "weight_block_size": [128, 128]}, "F32", lambda n, k: [up(n, 128), up(k, 128)], 128, 128, small, "weight_scale_inv"),
    "fp8-power": fp8({"quant_method": "fp8", "weight_block_size": [128, 128]}, "F32", lambda n, k: [up(n, 128), up(k, 128)], 128, 128, power, "weight_scale_inv"),
    "fp8-ue8m0": fp8({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}, "F8_E8M0", lambda n, k: [up(n, 128), up(k, 128)], 128, 128, byte, "scale"),
    "fp8-e5m2": fp8({"quant_method": "fp8"}, "F32", lambda n, k: [1], None, None, small, element=e5m2, kind="F8_E5M2", codes=[c for c in range(256) if abs(e5m2(c)) < 32]),
    "quark-mxfp4": quark, "gptq": gptq(4, -1, None), "gptq-zero": gptq(4, -1, "gptq", False), "gptq-v2": gptq(4, 0, "gptq_v2", False),
    "gptq-order": gptq(4, -1, "gptq", order=True), "gptq-8": gptq(8, -1, "gptq"), "gptq-3": gptq(3, -1, "gptq"), "gptq-mislabelled": gptq(4, 0, "gptq"),
    "awq": write_awq, "bnb-nf4": bnb(False), "bnb-nf4-double": bnb(True), "ct-nvfp4-reciprocal": reciprocal,
    "gguf-mxfp4": gguf_mxfp4, "gguf-nvfp4": gguf_nvfp4,
    "gguf-q4_0": gguf_integers("Q4_0", 4), "gguf-q5_0": gguf_integers("Q5_0", 5), "gguf-q8_0": gguf_integers("Q8_0", 8),
    "gguf-q4_1": gguf_integers("Q4_1", 4, True), "gguf-q5_1": gguf_integers("Q5_1", 5, True),
    **{f"gguf-q{bits}_k": gguf_k(f"Q{bits}_K", bits) for bits in range(2, 7)},
}

# ---- files --------------------------------------------------------------------------------------

def save(path, tensors, metadata=None):
    size = {"F32": 4, "I32": 4, "I64": 8, "F16": 2, "BF16": 2}
    head, at = {"__metadata__": metadata} if metadata else {}, 0
    order = sorted(tensors, key=lambda t: (-size.get(tensors[t][0], 1), t))
    for name in order:
        dtype, shape, data = tensors[name]
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(tensors[name][2] for name in order))

INNER = {"ct-w3": 264}  # 264 codes of 3 bits end at a byte that ends no word
def layers(method):
    d, I = H // HEADS, INNER.get(method, globals()["I"])
    for i in range(LAYERS):
        for name, n, k in [("self_attn.q_proj", H, H), ("self_attn.k_proj", KV * d, H), ("self_attn.v_proj", KV * d, H), ("self_attn.o_proj", H, H),
                           ("mlp.gate_proj", I, H), ("mlp.up_proj", I, H), ("mlp.down_proj", H, I)]:
            yield f"model.layers.{i}.{name}", n, k

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": H, "intermediate_size": I, "num_hidden_layers": LAYERS,
          "num_attention_heads": HEADS, "num_key_value_heads": KV, "head_dim": H // HEADS, "vocab_size": V, "max_position_embeddings": 64,
          "rms_norm_eps": 2.0 ** -17, "rope_theta": 10000.0, "tie_word_embeddings": True}  # GGUF keeps it in binary32

def common(r):
    t = {"model.embed_tokens.weight": tensor("F32", [V, H], [f32(r.gauss(0, .1)) for _ in range(V * H)]), "model.norm.weight": tensor("F32", [H], [1.0] * H)}
    for i in range(LAYERS):
        for part in "input_layernorm", "post_attention_layernorm":
            t[f"model.layers.{i}.{part}.weight"] = tensor("F32", [H], [1.0] * H)
    return t

def make(method, keep=()):
    r = random.Random(method)
    q = common(r)
    f = dict(q)
    for name, n, k in layers(method):
        write = METHODS[method]
        config, parts, v = write(r, n, k, name) if write.__qualname__.startswith("two.") else write(r, n, k)
        f[name + ".weight"] = tensor("F32", [n, k], v)
        if name in keep:
            q[name + ".weight"] = f[name + ".weight"]
            continue
        q.update({f"{name}.{part}": t for part, t in parts.items()})
    return r, config, q, f

def write(method, out, keep=()):
    r, config, q, f = make(method, keep)
    ids = [r.randrange(V) for _ in range(4 * 32)]
    for folder, tensors, more in ("q", q, {"quantization_config": config}), ("f", f, {}):
        os.makedirs(f"{out}/{folder}", exist_ok=True)
        save(f"{out}/{folder}/model.safetensors", tensors)
        with open(f"{out}/{folder}/config.json", "w") as file:
            json.dump({**CONFIG, "intermediate_size": INNER.get(method, I), **more}, file)
        for part in "calib", "eval":
            save(f"{out}/{folder}/tokens_{part}.safetensors", {"ids": tensor("I32", [len(ids)], ids), "offsets": tensor("I64", [5], range(0, 129, 32))})

# ---- damaged and contradictory files ------------------------------------------------------------

def cut(t, axis):  # one less in a dimension
    dtype, shape, data = t
    size = len(data) // (shape[0] * (shape[1] if len(shape) > 1 else 1))
    if axis == 0:
        return dtype, [shape[0] - 1] + shape[1:], data[:len(data) // shape[0] * (shape[0] - 1)]
    row = shape[1] * size
    return dtype, [shape[0], shape[1] - 1], b"".join(data[i * row:(i + 1) * row - size] for i in range(shape[0]))

def poke(t, at, data):
    return t[0], t[1], t[2][:at] + data + t[2][at + len(data):]

NAN, MINUS, INFINITE = struct.pack("<f", float("nan")), struct.pack("<f", -1), struct.pack("<f", float("inf"))
S = "model.layers.0.self_attn.k_proj."
# (method, part or key of the config, what becomes of it, what the sentence says)
DAMAGED = [
    ("ct-nvfp4", "weight_global_scale", None, "weight_global_scale' is missing beside"),
    ("ct-nvfp4", "weight_scale", None, "weight_scale' is missing beside"),
    ("ct-nvfp4", "weight_scale", lambda t: cut(t, 1), r"need \[64, 8\]: one of each 16 of 128 columns, not swizzled"),
    ("ct-nvfp4", "weight_scale", lambda t: (t[0], [128, 4], t[2]), "not swizzled"),
    ("ct-nvfp4", "weight_scale", lambda t: ("I8", t[1], t[2]), "need F8_E4M3 .NVFP4. or U8 .MXFP4."),
    ("ct-nvfp4", "weight_scale", lambda t: poke(t, 5, b"\x7f"), "element 5 of tensor .* is nan, need a finite number"),
    ("ct-nvfp4", "weight_scale", lambda t: poke(t, 5, b"\x91"), "need a finite number, not below 0"),
    ("ct-nvfp4", "weight_packed", lambda t: cut(t, 0), r"is U8 \[63, 64\], need U8 \[64, 64\]"),
    ("ct-nvfp4", "weight_packed", lambda t: ("I8", t[1], t[2]), "need U8 .FP4. or I32 .integers."),
    ("ct-nvfp4", "weight_global_scale", lambda t: poke(t, 0, NAN), "weight_global_scale' = .*nan, need a finite number > 0"),
    ("ct-nvfp4", "weight_global_scale", lambda t: poke(t, 0, MINUS), "weight_global_scale' = -1, need"),
    ("ct-nvfp4", "weight_global_scale", lambda t: ("I32", t[1], t[2]), "need one F32"),
    ("ct-nvfp4", "input_global_scale", lambda t: poke(t, 0, bytes(4)), "input_global_scale' = 0, need"),
    ("ct-nvfp4", "!weights.num_bits", 8, "holds codes of 4 bits .* the quantization_config says 8"),
    ("ct-nvfp4", "!weights.type", "int", "holds floats .* type of the quantization_config is int"),
    ("ct-nvfp4", "!weights.group_size", 32, "a scale of each 16 columns .* group_size of the quantization_config is 32"),
    ("ct-nvfp4", "!targets", ["re:(?i)k_proj"], "targets or ignore has 're:.*need a plain expression"),
    *(("ct-nvfp4", "!targets", [f"re:{e}"], "targets or ignore has 're:.*need a plain expression") for e in
      ("a" + "+" * 24, "a**", "(*UTF)a", "(?R)", "(?1)(a)", r"\pL", "[[:alpha:]]", "a{,5}", "(a", "a" * 301, "(a{999}){9999}", "\\")),
    *(("ct-nvfp4", "!targets", [f"re:{e}"], "takes too long .more than 16384 steps. at 'model.layers.0") for e in
      ("(a*)*" * 20 + "b", "(.*)*x", "(.*.*)*[0-9]x", "(.+)+#", r"(?:(\w+\.?)+)+#", "(?=(.*)*x)", r"(.*)*\1#", "(?:.?){99}x", "(.*)" * 16 + "x")),
    ("ct-nvfp4", "!targets", ["re:(.{0,9}){0,999}x"], "bytes compiled, need at most 8192"),
    ("ct-nvfp4", "!targets", [f"re:a{i}" for i in range(257)], "more than 256 different expressions"),
    ("ct-nvfp4", "!targets", [f"a{i}" for i in range(40000)], "40001 entries, need at most 32768"),
    ("modelopt-nvfp4", "exclude_modules", ["a"] * 32769, "32769 entries, need at most 32768"),
    ("ct-nvfp4", "ignore", ["re:(.*"], "'re:(.*', need a plain expression"),
    ("ct-nvfp4", "quant_method", "hqq", "quant_method of quantization_config = hqq, need compressed-tensors, modelopt"),
    ("ct-nvfp4", "quant_method", 7, "need compressed-tensors, modelopt"),
    ("ct-nvfp4", "!weights.num_bits", 1000, "num_bits = 1000, need 0..64"),
    ("modelopt-nvfp4", "weight_scale_2", None, "weight_scale_2' is missing beside"),
    ("modelopt-nvfp4", "pre_quant_scale", lambda t: tensor("F32", [128], [1.0] * 128), "pre_quant_scale' has no place"),
    ("modelopt-nvfp4", "weight", lambda t: cut(t, 1), r"need U8 \[64, 64\]"),
    ("ct-mxfp4", "weight_scale", lambda t: poke(t, 3, b"\xff"), "element 3 of tensor .* is nan"),
    ("ct-mxfp4", "weight_scale", lambda t: cut(t, 0), r"need \[64, 4\]: one of each 32"),
    ("fp8-block", "weight_scale_inv", None, "weight_scale' is missing beside"),
    ("fp8-block", "weight_scale_inv", lambda t: (t[0], [1, 2], t[2] * 2), r"or \[1, 1\] of tiles of 128 x 128"),
    ("fp8-block", "weight_scale_inv", lambda t: poke(t, 0, INFINITE), "is inf, need a finite number"),
    ("fp8-block", "weight", lambda t: poke(t, 7, b"\x7f"), "row 0, column 7 of tensor '.*k_proj.weight' is NaN"),
    ("fp8-block", "weight_block_size", [128], "rows and columns of a tile .weight_block_size"),
    ("ct-w4a16", "weight_scale", lambda t: (t[0], [64, 3], t[2] * 3), "groups a divisor of 128"),
    ("ct-w4a16", "weight_packed", lambda t: cut(t, 1), r"need I32 \[64, 16\] for codes of 4 bits .num_bits."),
    ("ct-w4a16", "!weights.num_bits", 3, "for codes of 3 bits .num_bits."),
    ("ct-w4a16", "!weights.group_size", 64, "a scale of each 128 columns, group_size of the config is 64"),
    ("ct-w4a16-zero", "weight_zero_point", lambda t: cut(t, 0), r"need I32 \[8, 2\]"),
    ("ct-w4a16", "weight_shape", lambda t: poke(t, 4, b"\1"), "weight_shape. is I64 .2., need I64 .2. with rows and columns of 1..4294967295"),
    ("ct-w4a16", "weight_shape", lambda t: poke(t, 8, b"\xff" * 8), "with rows and columns of 1..4294967295"),
    ("ct-w4a16", "weight_shape", lambda t: poke(t, 0, b"\x41"), "weight_shape. holds 65 x 128, need 64 x 128"),
    *(("ct-w8a8-zero", "weight_zero_point", lambda t, s=s: tensor("I8", s, [1] * (s[0] * (s + [1])[1])), r"is I8 .*, need I8 .64, 4., one beside each scale") for s in
      ([64], [64, 1], [256], [1, 256], [4, 64], [64, 3], [63, 4], [1])),
    ("ct-w8a8-zero", "weight_scale", lambda t: tensor("F32", [1], [1]), "zero points of rows in common are not read"),
    ("ct-w8a8-zero", "weight_scale", lambda t: tensor("F32", [64, 3], [1] * 192), r"need I8 .64, 3., one beside each scale"),
    ("awq", "quant_method", "gptq", r"need I32 .16, 128. .gptq, 4 bits. or, of quant_method awq"),
    ("ct-w8a8", "weight_zero_point", lambda t: tensor("I8", [63], [1] * 63), r"need I8 .64, 1., one beside each scale"),
    ("gptq", "qzeros", None, "qzeros' is missing beside"),
    ("gptq", "qzeros", lambda t: cut(t, 1), r"need I32 \[2, 8\]"),
    ("gptq", "g_idx", lambda t: poke(t, 4, b"\x09"), "element 1 of tensor '.*g_idx' is 9, need 0..1"),
    ("gptq", "bits", 8, r"need I32 \[32, 128\] .gptq, 8 bits. or"),
    *((m, k, v, f"quantization_config: {k.strip('!')} is set, which changes values and is not read") for m, k, v in (
        ("ct-w4a16", "transform_config", {"config_groups": {"R4": {"type": "hadamard", "apply": [{"targets": ["re:.*down"], "location": "input"}]}}}),
        ("ct-w4a16", "transform_config", {"config_groups": {"R3": {"apply": [{"location": "weight_input"}, {"location": "q_attn"}]}}}), ("ct-w4a16", "transform_config", {"x": 1}),
        ("ct-w4a16", "moe_sparsity_config", {"method": "prune"}), ("ct-w4a16", "!output_activations", INT8), ("modelopt-nvfp4", "pre_quant_scale", True),
        ("gptq", "lm_head", True), ("gptq", "rotation", "hadamard"), ("gptq", "adapter", {"path": "x"}), ("gptq", "is_marlin_format", True), ("gptq", "activation", "w4afp8"),
        ("awq", "lm_head", True), ("bnb-nf4", "_load_in_8bit", True), ("fp8-block", "modules_to_convert", ["x"]), ("quark-mxfp4", "algo_config", [{"name": "rotation", "r3": True}]))),
    ("ct-w4a16", "format", "marlin-24", "format = marlin-24, need one of dense"), ("ct-w4a16", "!format", "sparse-24-bitmask", "format = sparse-24-bitmask"),
    ("ct-w4a16", "sparsity_config", {"format": "sparse-24-bitmask"}, "sparsity_config = sparse-24-bitmask, need dense"), ("gptq", "pack_dtype", "int16", "pack_dtype = int16"),
    *((m, k, v, "is quantized .* the quantization_config says that its layer is not") for m, k, v in (
        ("ct-w4a16", "ignore", ["model.layers.0.self_attn.k_proj"]), ("ct-w4a16", "ignore", ["lm_head", "re:.*[k]_proj"]), ("modelopt-nvfp4", "exclude_modules", ["*self_attn*"]),
        ("fp8-block", "modules_to_not_convert", ["k_proj"]), ("fp8-block", "ignored_layers", ["model.layers.0"]), ("gptq", "dynamic", {"-:.*k_proj": {}}), ("awq", "modules_to_not_convert", ["self_attn.k_proj"]))),
    ("modelopt-fp8", "quant_algo", "NVFP4", "holds FP8, a scale a tensor, quant_algo of the quantization_config is NVFP4"), ("modelopt-nvfp4", "quant_algo", "FP8", "quant_algo of the quantization_config is FP8"),
    ("modelopt-nvfp4", "quant_algo", "W4A8_MXFP4_FP8", "quant_algo of the quantization_config is W4A8_MXFP4_FP8"), ("modelopt-nvfp4", "quant_algo", "W4A16_AWQ", "quant_algo of the quantization_config is W4A16_AWQ"),
    ("gptq", "@quantize_config.json", {"bits": 8, "group_size": 64}, "bits of quantization_config in config.json differs from that of quantize_config.json"),
    ("modelopt-nvfp4", "@hf_quant_config.json", {"quantization": {"quant_algo": "FP8"}}, "quant_algo of quantization_config in config.json differs from that of hf_quant_config.json"),
    ("gptq", "checkpoint_format", "marlin", "checkpoint_format = marlin, need gptq or gptq_v2"),
    ("gptq", "group_size", 32, "group_size of the config is 32"),
    ("gptq", "bias", lambda t: poke(t, 0, b"\1\1"), "k_proj.bias': biases are not supported"),
    ("awq", "version", "gemv", "version of quantization_config = gemv, need gemm"),
    ("awq", "scales", lambda t: cut(t, 1), r"need F16 \[groups, 64\]"),
    ("bnb-nf4", "weight.absmax", lambda t: cut(t, 0), r"need F32 or U8 \[128\], one of each 64 weights"),
    ("bnb-nf4", "weight.quant_map", None, "quant_map' is missing beside"),
    ("bnb-nf4", "weight.quant_state.bitsandbytes__nf4", lambda t: poke(t, 0, b"["), "quant_state.bitsandbytes__nf4"),
    ("bnb-nf4", "load_in_8bit", True, "load_in_8bit of quantization_config is true"),
]

def damage(out):
    """Prints DIR, a blank, what the sentence must say."""
    made = {}
    for i, (method, key, change, words) in enumerate(DAMAGED):
        if method not in made:
            made[method] = make(method)
        _, config, q, _ = made[method]
        config, q = json.loads(json.dumps(config)), dict(q)
        if S + key in q or callable(change):
            q[S + key] = change(q.get(S + key)) if change else None
            q = {name: t for name, t in q.items() if t}
        elif key[0] == "!":
            place = config["config_groups"]["group_0"]
            *path, last = key[1:].split(".")
            for word in path:
                place = place[word]
            place[last] = change
        elif key[0] != "@":
            config[key] = change
        os.makedirs(f"{out}/d{i}")
        if key[0] == "@":
            with open(f"{out}/d{i}/{key[1:]}", "w") as file:
                json.dump(change, file)
        save(f"{out}/d{i}/model.safetensors", q)
        with open(f"{out}/d{i}/config.json", "w") as file:
            json.dump({**CONFIG, "quantization_config": config}, file)
        print(f"{out}/d{i}", words)

if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("\n".join(METHODS))
    elif sys.argv[1] == "gpt-oss":  # a file of experts
        r, (e, n, k) = random.Random(1), (3, 32, 64)
        codes, scale, v = fp4(r, e * n, k, 32, range(117, 122), lambda s: 2.0 ** (s - 127))
        name = "model.layers.0.mlp.experts.gate_up_proj"
        save(sys.argv[2], {name + "_blocks": tensor("U8", [e, n, k // 32, 16], nibbles(flat(codes))), name + "_scales": tensor("U8", [e, n, k // 32], flat(scale))})
    elif sys.argv[1] == "damaged":
        damage(sys.argv[2])
    else:
        write(sys.argv[1], sys.argv[2], sys.argv[3:])
