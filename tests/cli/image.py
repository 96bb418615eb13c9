# SPDX-License-Identifier: Apache-2.0
# What a chip would do with an image, without anything of ours: LAYER.json LAYER.bin -> the memory after
# the run. Encoders of INT8 and of sq_a_dynamic, and layers of dense, of sq_w with two scales of a channel, of sq_a_dynamic, of nvfp4, if4, razer and sq_b. Sums of two binary32 in binary64, rounded to binary32, are rounded once (53 >= 2 * 24 + 2).
import json
import struct
import sys

d = json.load(open(sys.argv[1]))
memory = bytearray(open(sys.argv[2], "rb").read())
rows, cols, bank, bus = d["Rows"], d["Cols"], d["BankLen"], d["DataW"] // 8
tiles, groups, chunk = d["tiles"], d.get("groups", 1), d.get("chunk", 1)
beats = d["beats"] * groups  # of a tile


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def quantized(x, width):  # by the largest magnitude: codes, scale
    most = (1 << width - 1) - 1
    scale = single(max(map(abs, x), default=0) / most) or 1
    return [max(-most, min(most, round(single(v / scale)))) for v in x], scale


def packed(lines, width):  # as a number, and its bits
    codes = [v for line in lines for v in line]
    return sum((v & ((1 << width) - 1)) << width * i for i, v in enumerate(codes)), width * len(codes)


def plain_rows(tokens):  # beats, scales: INT8 with a scale a row
    codes, scale = zip(*(quantized(x, d["ActW"]) for x in tokens))
    return [[packed([c[k:k + bank] for c in codes], d["ActW"])] for k in range(0, len(codes[0]), bank)], scale


def masked_rows(tokens):  # the same of sq_a_dynamic: in each bank the largest magnitudes are high, of equal ones the first
    low, high, masks = [], [], []
    for x in tokens:
        masks.append([])
        for k in range(0, len(x), bank):
            chosen = sorted(range(k, k + bank), key=lambda i: (-abs(x[i]), i))[:d["HighPerBank"]]
            masks[-1] += [int(i in chosen) for i in range(k, k + bank)]
        for part, is_high, width in ((low, 0, d["ActW"]), (high, 1, d["HighW"])):
            part.append(quantized([v for v, m in zip(x, masks[-1]) if m == is_high], width))
    n = d["HighPerBank"]
    pieces = [[packed([codes[k * size:(k + 1) * size] for codes, _ in part], width)
               for part, size, width in ((low, bank - n, d["ActW"]), (high, n, d["HighW"]))] +
              [packed([m[k * bank:(k + 1) * bank] for m in masks], 1)] for k in range(len(masks[0]) // bank)]
    return pieces, [s for part in (low, high) for _, s in part]


def as_bytes(pieces):  # of a beat, one behind the other
    value = at = 0
    for bits, n in pieces:
        value |= bits << at
        at += n
    return value.to_bytes(-(-at // 8), "little")


def encode():  # a tile of rows of bfloat16 outputs in each of tiles[0] pieces, to codes and scales
    is_codes = "row_scale" not in d["regions"]  # INT8 outputs, which move
    (out, n_out), (act, n_act), (scales, n_scales) = ((a - d["base"], n // tiles[0]) for a, n in (
        d["regions"].get(name, (0, 0)) for name in ("out", "act", "row_scale")))
    is_masked = d["OnActs"] and (d["Form"], d["Layout"]) == (SCALED, 3)
    assert is_masked or (d["ActW"] == 8 and not d["OnActs"] and d["Form"] in (ONE, TWO))
    for tile in range(tiles[0]):
        numbers = struct.unpack_from(f"<{tiles[1] * rows * cols}{'b' if is_codes else 'H'}", memory, out + tile * n_out)
        if not is_codes:
            numbers = [struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in numbers]
        tokens = [[numbers[c // cols * rows * cols + r * cols + c % cols] for c in range(tiles[1] * cols)] for r in range(rows)]
        for x in tokens:
            x += [0] * (d["beats"] * bank - len(x))
        if is_codes:
            pieces, scale = [[packed([x[k:k + bank] for x in tokens], 8)] for k in range(0, len(tokens[0]), bank)], []
        else:
            pieces, scale = (masked_rows if is_masked else plain_rows)(tokens)
        piece = b"".join(map(as_bytes, pieces))
        memory[act + tile * n_act:act + (tile + 1) * n_act] = piece + bytes(n_act - len(piece))
        piece = struct.pack(f"<{len(scale)}f", *scale)
        memory[scales + tile * n_scales:scales + (tile + 1) * n_scales] = piece + bytes(n_scales - len(piece))


# Forms of scales: one of the channel, two of the channel, two of the token, one above the blocks of both sides.
ONE, TWO, SCALED, BLOCKS = 0, 1, 2, 3
if d["layer"] == "encode":
    encode()
    sys.stdout.buffer.write(memory)
    sys.exit()


def region(name, axis, along, bits):  # {tile, place along K: a beat as a number}: packed, what one transfer moves padded
    address, nbytes = d["regions"][name]
    at, size, out = address - d["base"], -(-bits // 8), {}
    for block in blocks(tiles[axis], d["block"][axis]):
        for chunk in along:
            for i, where in enumerate((t, k) for t in block for k in chunk):
                out[where] = int.from_bytes(memory[at + i * size:at + (i + 1) * size], "little") & ((1 << bits) - 1)
            at += -(-len(block) * len(chunk) * size // bus) * bus
    assert at == address - d["base"] + nbytes
    return out


def fields(beat, n, width):
    return [beat >> i * width & ((1 << width) - 1) for i in range(n)]


def blocks(n, size):
    return [range(i, min(i + size, n)) for i in range(0, n, size)]


def chunks():  # of K, in beats
    if d["part"]:
        return [range(g * d["beats"] + c.start, g * d["beats"] + c.stop)
                for g in range(groups) for c in blocks(d["beats"], d["part"])]
    return blocks(beats, chunk * d["beats"])


def beats_of(name, axis, widths):  # {tile: its beats along K}, a beat is a list of fields, each [n] of a width
    out = {t: [None] * beats for t in range(tiles[axis])}
    for (tile, k), beat in region(name, axis, chunks(), sum(n * w for n, w in widths)).items():
        out[tile][k] = []
        for n, width in widths:
            out[tile][k].append(fields(beat, n, width))
            beat >>= n * width
    return out


def signed(x, width):
    return [v - ((v >> (width - 1)) << width) for v in x]


def plain(name, axis, lines, width):  # [lines of all tiles][k]
    out = []
    for tile in beats_of(name, axis, [(lines * bank, width)]).values():
        out += [[v for (x,) in tile for v in signed(x[i * bank:(i + 1) * bank], width)] for i in range(lines)]
    return out


def marked(name, axis, lines, width):  # the same of low codes, and of high ones: 0 where there is none
    low, high, n = [], [], d["HighPerBank"]
    for tile in beats_of(name, axis, [(lines * bank, width), (lines * n, d["HighW"])]).values():
        for i in range(lines):
            lows, highs = [], []
            for x, y in tile:
                rest = iter(signed(y[i * n:(i + 1) * n], d["HighW"]))
                for v in signed(x[i * bank:(i + 1) * bank], width):
                    is_mark = v == -1 << (width - 1)
                    lows.append(0 if is_mark else v)
                    highs.append(next(rest) if is_mark else 0)
                assert next(rest, None) is None
            low.append(lows)
            high.append(highs)
    return low, high


def masked(name, axis, lines, width):  # the same with a mask behind the high codes, low ones where it is 0
    low, high, n = [], [], d["HighPerBank"]
    for tile in beats_of(name, axis, [(lines * (bank - n), width), (lines * n, d["HighW"]), (lines * bank, 1)]).values():
        for i in range(lines):
            low.append([])
            high.append([])
            for x, y, mask in tile:
                lows, highs = (iter(signed(v[i * len(v) // lines:(i + 1) * len(v) // lines], w)) for v, w in ((x, width), (y, d["HighW"])))
                for m in mask[i * bank:(i + 1) * bank]:
                    low[-1].append(0 if m else next(lows))
                    high[-1].append(next(highs) if m else 0)
                assert next(lows, None) is next(highs, None) is None
    return low, high


IF4, RAZER = 10, 11  # numbers of Element
E2M1 = [0, .5, 1, 1.5, 2, 3, 4, 6]


def e4m3(v):
    assert v < 0x7f
    return (v & 7 | 8) * 2.0 ** ((v >> 3) - 10) if v >> 3 else (v & 7) * 2.0 ** -9


def elements(codes, sign):  # of a block; sign: of its scale, which says what codes stand for in IF4 and RaZeR
    if d["Element"] == IF4 and sign:
        assert 8 not in codes
        return signed(codes, 4)
    return [(-5 if sign else 5) if d["Element"] == RAZER and v == 8 else E2M1[v & 7] * (1 - 2 * (v >> 3)) for v in codes]


def blocks_of(name, axis, lines):  # [lines of all tiles][blocks]: a part each, low and high: scale, elements
    out, n, has_high = [], max(d["HighPerBank"], 1), d["HighPerBank"] > 0
    widths = [(lines * bank, 4)] + ([(lines * n, 8)] if has_high else []) + [(lines, 8)]
    for tile in beats_of(name, axis, widths).values():
        for i in range(lines):
            out.append([])
            for parts in tile:
                x, sign = parts[0][i * bank:(i + 1) * bank], parts[-1][i] >> 7 if d["Element"] in (IF4, RAZER) else 0
                scale = e4m3(parts[-1][i] - (sign << 7))
                if not has_high:
                    out[-1].append([(scale, elements(x, sign))])
                    continue
                rest = iter(signed(parts[1][i * n:(i + 1) * n], 8))
                high = [next(rest) if v == 8 else 0 for v in x]  # 1000b marks one
                assert next(rest, None) is None
                low = [0 if v == -8 else v for v in signed(x, 4)]
                out[-1].append([(scale, low), (1, high)])
    return out


def scales(name, axis, lines, parts=1, along=(range(1),)):  # a beat: lines, those of the second part behind those of the first
    return {where: [struct.unpack("<f", struct.pack("<I", v))[0] for v in fields(beat, parts * lines, 32)]
            for where, beat in region(name, axis, along, parts * lines * 32).items()}


step = d["beats"] * bank
if d["Form"] == BLOCKS:
    parts = 2 if d["HighPerBank"] else 1  # E2M1; INT4 with INT8 at a scale of the line: scales are E4M3
    assert (d["Element"], d["Scale"], d["High"]) in ([(e, 1, 0) for e in (2, IF4, RAZER)], [(0, 1, 1)])[parts - 1]
    act, weight = blocks_of("act", 0, rows), blocks_of("weight", 1, cols)
    col = scales("col_scale", 1, cols, parts)
else:
    assert (d["OnActs"], d["Form"], d["Layout"]) in ((0, ONE, 0), (0, TWO, 1), (1, SCALED, 3))  # plain, mask codes, masks
    act = masked("act", 0, rows, d["ActW"]) if d["OnActs"] else [plain("act", 0, rows, d["ActW"])] * 2
    weight = marked("weight", 1, cols, d["WeightW"]) if d["Form"] == TWO else [plain("weight", 1, cols, d["WeightW"])] * 2
    col = scales("col_scale", 1, cols, 2 if d["Form"] == TWO else 1, blocks(groups, chunk))
row = scales("row_scale", 0, rows, parts if d["Form"] == BLOCKS else 2 if d["Form"] == SCALED else 1)


def output_of_blocks(r, c):  # the part of the weights goes faster
    y = 0.0
    for i in range(parts):
        for j in range(parts):
            total = 0.0
            for x, w in zip(act[r], weight[c]):
                (s, a), (t, b) = x[i], w[j]
                total = single(total + single(single(sum(p * q for p, q in zip(a, b))) * (s * t)))
            above = single(row[r // rows, 0][i * rows + r % rows] * col[c // cols, 0][j * cols + c % cols])
            y = single(y + single(total * above))
    return y + 0.0


def output(r, c):
    if d["Form"] == BLOCKS:
        return output_of_blocks(r, c)
    y = 0.0
    per_token = row[r // rows, 0][r % rows::rows]
    for g in range(groups):
        per_channel = col[c // cols, g][c % cols::cols]

        def product(part, scale):
            a, w = act[part][r][g * step:(g + 1) * step], weight[part][c][g * step:(g + 1) * step]
            return single(single(sum(i * j for i, j in zip(a, w))) * scale)

        t = product(0, (per_token if d["Form"] == SCALED else per_channel)[0])
        if d["Form"] != ONE:
            t = single(t + product(1, (per_token if d["Form"] == SCALED else per_channel)[1]))
        y = single(y + (single(t * per_channel[0]) if d["Form"] == SCALED else t))
    return (y if d["Form"] == SCALED else single(y * per_token[0])) + 0.0


def stored(y):  # binary32, bfloat16, INT8
    if d["OutKind"] == 2:
        return struct.pack("<b", round(max(-127, min(127, y))))
    half = bits(y) + 0x7fff + (bits(y) >> 16 & 1) >> 16
    return struct.pack("<H", half) if d["OutKind"] else struct.pack("<f", y)


r_blocks, c_blocks = blocks(tiles[0], d["block"][0]), blocks(tiles[1], d["block"][1])
order = [(r, c) for c in c_blocks for r in r_blocks] if d["cols_outer"] else \
    [(r, c) for r in r_blocks for c in c_blocks]
out = b""
for r_block, c_block in order:
    out += b"".join(stored(output(r * rows + i, c * cols + j)) for r in r_block for c in c_block
                    for i in range(rows) for j in range(cols))
    out += bytes(-len(out) % bus)
address, nbytes = d["regions"]["out"]
assert len(out) == nbytes
memory[address - d["base"]:address - d["base"] + nbytes] = out
sys.stdout.buffer.write(memory)
