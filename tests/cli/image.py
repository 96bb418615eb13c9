# SPDX-License-Identifier: Apache-2.0
# What a chip would do with an image, without anything of ours: LAYER.json LAYER.bin -> the memory after
# the run. Sums of two binary32 in binary64, rounded to binary32, are rounded once (53 >= 2 * 24 + 2).
import json
import struct
import sys

d = json.load(open(sys.argv[1]))
memory = bytearray(open(sys.argv[2], "rb").read())
rows, cols, bank, bus = d["Rows"], d["Cols"], d["BankLen"], d["DataW"] // 8
tiles, groups, beats, chunk = d["tiles"], d["groups"], d["beats"] * d["groups"], d["chunk"]


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


def blocks(n, size):
    return [range(i, min(i + size, n)) for i in range(0, n, size)]


def order_of(axis):  # (tile, group) as they lie in memory
    return [(t, g) for block in blocks(tiles[axis], d["block"][axis]) for c in blocks(groups, chunk)
            for t in block for g in c]


def codes(name, axis, lines, width):  # [lines of all tiles][k]
    out = [[0] * (beats * bank) for _ in range(tiles[axis] * lines)]
    all_beats = region(name, tiles[axis] * beats, lines * bank * width)
    for i, beat in enumerate(all_beats):
        tile, group = order_of_axis[axis][i // d["beats"]]
        k = (group * d["beats"] + i % d["beats"]) * bank
        x = [v - ((v >> (width - 1)) << width) for v in fields(beat, lines * bank, width)]
        for line in range(lines):
            out[tile * lines + line][k:k + bank] = x[line * bank:(line + 1) * bank]
    return out


def scales(name, n, lines):
    return [[struct.unpack("<f", struct.pack("<I", v))[0] for v in fields(b, lines, 32)]
            for b in region(name, n, lines * 32)]


order_of_axis = order_of(0), order_of(1)
act = codes("act", 0, rows, d["ActW"])
weight = codes("weight", 1, cols, d["WeightW"])
row = scales("row_scale", tiles[0], rows)
col = dict(zip(order_of_axis[1], scales("col_scale", tiles[1] * groups, cols)))
step = d["beats"] * bank


def output(r, c):
    y = 0.0
    for g in range(groups):
        a, w = act[r][g * step:(g + 1) * step], weight[c][g * step:(g + 1) * step]
        p = single(sum(i * j for i, j in zip(a, w)))
        y = single(y + single(p * col[c // cols, g][c % cols]))
    return single(y * row[r // rows][r % rows]) + 0.0


r_blocks, c_blocks = blocks(tiles[0], d["block"][0]), blocks(tiles[1], d["block"][1])
order = [(r, c) for c in c_blocks for r in r_blocks] if d["cols_outer"] else \
    [(r, c) for r in r_blocks for c in c_blocks]
out = b"".join(struct.pack("<f", output(r * rows + i, c * cols + j)) for r_block, c_block in order
               for r in r_block for c in c_block for i in range(rows) for j in range(cols))
address, nbytes = d["regions"]["out"]
assert len(out) == nbytes
memory[address:address + nbytes] = out
sys.stdout.buffer.write(memory)
