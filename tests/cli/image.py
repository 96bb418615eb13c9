# SPDX-License-Identifier: Apache-2.0
# What a chip would do with an image, without anything of ours: LAYER.json LAYER.bin -> the memory after
# the run. Sums of two binary32 in binary64, rounded to binary32, are rounded once (53 >= 2 * 24 + 2).
import json
import struct
import sys

d = json.load(open(sys.argv[1]))
memory = bytearray(open(sys.argv[2], "rb").read())
rows, cols, bank, bus = d["Rows"], d["Cols"], d["BankLen"], d["DataW"] // 8
tiles, groups, beats = d["tiles"], d["groups"], d["beats"] * d["groups"]


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def region(name, n, bits):  # n beats as numbers, without their padding
    address, nbytes = d["regions"][name]
    stride = -(-bits // (8 * bus)) * bus
    assert nbytes == n * stride
    at = [address + i * stride for i in range(n)]
    return [int.from_bytes(memory[a:a + stride], "little") & ((1 << bits) - 1) for a in at]


def fields(beat, n, width):
    return [beat >> i * width & ((1 << width) - 1) for i in range(n)]


def codes(name, n_tiles, lines, width):  # [lines of all tiles][k]
    out = [[] for _ in range(n_tiles * lines)]
    for i, beat in enumerate(region(name, n_tiles * beats, lines * bank * width)):
        x = [v - ((v >> (width - 1)) << width) for v in fields(beat, lines * bank, width)]
        for line in range(lines):
            out[i // beats * lines + line] += x[line * bank:(line + 1) * bank]
    return out


def scales(name, n, lines):
    return [[struct.unpack("<f", struct.pack("<I", v))[0] for v in fields(b, lines, 32)]
            for b in region(name, n, lines * 32)]


act = codes("act", tiles[0], rows, d["ActW"])
weight = codes("weight", tiles[1], cols, d["WeightW"])
row = scales("row_scale", tiles[0], rows)
col = scales("col_scale", tiles[1] * groups, cols)
step = d["beats"] * bank


def output(r, c):
    y = 0.0
    for g in range(groups):
        a, w = act[r][g * step:(g + 1) * step], weight[c][g * step:(g + 1) * step]
        p = single(sum(i * j for i, j in zip(a, w)))
        y = single(y + single(p * col[c // cols * groups + g][c % cols]))
    return single(y * row[r // rows][r % rows]) + 0.0


def blocks(n, size):
    return [range(i, min(i + size, n)) for i in range(0, n, size)]


r_blocks, c_blocks = blocks(tiles[0], d["block"][0]), blocks(tiles[1], d["block"][1])
order = [(r, c) for c in c_blocks for r in r_blocks] if d["cols_outer"] else \
    [(r, c) for r in r_blocks for c in c_blocks]
out = b"".join(struct.pack("<f", output(r * rows + i, c * cols + j)) for r_block, c_block in order
               for r in r_block for c in c_block for i in range(rows) for j in range(cols))
address, nbytes = d["regions"]["out"]
assert len(out) == nbytes
memory[address:address + nbytes] = out
sys.stdout.buffer.write(memory)
