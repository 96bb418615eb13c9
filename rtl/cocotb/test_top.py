# SPDX-License-Identifier: Apache-2.0
"""sq_top between the bus models of cocotbext-axi, as run_top.py builds it: AxiLiteMaster writes the registers
(docs/registers.md), AxiRam is the memory. These models check what they see by the AXI specification: no burst
crosses 4 KiB, WLAST stands on the last beat alone. The functions below add that what is offered stays until it
is taken, that no X is offered, and that no address lies outside the layer.

A layer is a part of the image that run_top.py was given: some of its tiles, each region moved to an address
of its own, in half of the cases close to the end of a page of 4 KiB. The memory after it is compared byte for
byte with the same part of WANT, the memory that must come after the whole image."""
import json
import os
import pathlib
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiResp

IMAGE = pathlib.Path(os.environ["SQ_IMAGE"])  # LAYER.json, beside it LAYER.bin
SEED = os.environ.get("SQ_SEED", "1")
d = json.loads(IMAGE.read_text())
image, want = IMAGE.with_suffix(".bin").read_bytes(), pathlib.Path(os.environ["SQ_WANT"]).read_bytes()
BUS = d["DataW"] // 8
SIZE, SLOT = 1 << 20, 1 << 17  # of memory, which repeats up to 2^48; of the part of it for each region
OKAY, SLVERR = AxiResp.OKAY, AxiResp.SLVERR
ID, ARRAY, REG_BUS, CONTROL, STATUS, IRQ_ENABLE, IRQ_STATE, DESCRIPTOR, CYCLES, READ_BEATS, WRITE_BEATS, DESCRIPTOR_HIGH = \
    0x00, 0x08, 0x14, 0x20, 0x24, 0x28, 0x2C, 0x30, 0x40, 0x50, 0x54, 0x84
REFUSED, OPERAND, READ, WRITTEN = 1 << 1, 1 << 2, 4, 8  # bits of STATUS; where fields begin
ENGINE = 7 << 12
WORDS = {"act": 1, "weight": 2, "row_scale": 3, "col_scale": 4, "out": 5}  # of the descriptor: low halves
HIGH = {"act": (10, 0), "weight": (10, 16), "row_scale": (11, 0), "col_scale": (11, 16), "out": (12, 0)}
TILES, DESCRIPTOR_BYTES = 6, 64
assert d["chunk"] == d["groups"], "this test takes images whose K is not cut into chunks"


def blocks(rows, cols):
    """Tiles of a layer as they are computed (rtl/top/tiling.md): block after block, each row after row."""
    r_blocks, c_blocks = ([tiles[i:i + n] for i in range(0, len(tiles), n)] for tiles, n in zip((rows, cols), d["block"]))
    of = [(r, c) for c in c_blocks for r in r_blocks] if d["cols_outer"] else [(r, c) for r in r_blocks for c in c_blocks]
    return [[(r, c) for r in r_block for c in c_block] for r_block, c_block in of]


def lines(tiles, axis):
    """Tiles of an operand, in its blocks."""
    return [tiles[i:i + d["block"][axis]] for i in range(0, len(tiles), d["block"][axis])]


def parts(name, n_beats, blocked, memory):
    """{tile: its bytes}: tiles lie packed, each block of them padded to whole beats of the bus. K comes whole."""
    size, at, out = n_beats * d["beat_bytes"][name], d["regions"][name][0], {}
    for block in blocked:
        out.update((tile, memory[at + i * size:at + (i + 1) * size]) for i, tile in enumerate(block))
        at += -(-len(block) * size // BUS) * BUS
    return out


def packed(part, blocked, pad=b"\0"):
    whole = [b"".join(part[tile] for tile in block) for block in blocked]
    return b"".join(w + pad * (-len(w) % BUS) for w in whole)


class Layer:
    """Some tiles of the image: a memory before, a memory after, where what lies."""

    def __init__(self, rng, n_rows=1, n_cols=3):
        size = min(n_rows, d["tiles"][0]), min(n_cols, d["tiles"][1])
        rows, cols = (range(first, first + n) for first, n in
                      ((rng.randrange(d["tiles"][i] - n + 1), n) for i, n in enumerate(size)))
        self.region, self.before = {}, bytearray(rng.randbytes(SIZE))
        place = iter(rng.sample(range(SIZE // SLOT), 6))

        def put(name, data):  # several regions of a layer may cross pages
            at = next(place) * SLOT + rng.choice((0, 0x1000 - BUS * rng.randrange(1, 20)))
            self.before[at:at + len(data)] = data
            at += rng.randrange((1 << 48) // SIZE) * SIZE
            self.region[name] = range(at, at + len(data))

        all_rows, all_cols = (range(n) for n in d["tiles"])
        beats, groups = d["beats"] * d["groups"], d["groups"] if d["Form"] != 3 else 1
        for name, axis, n in (("act", 0, beats), ("row_scale", 0, 1), ("weight", 1, beats), ("col_scale", 1, groups)):
            part = parts(name, n, lines((all_rows, all_cols)[axis], axis), image)
            put(name, packed(part, lines((rows, cols)[axis], axis), b"\xa5"))
        outputs = parts("out", 1, blocks(all_rows, all_cols), want)
        self.out = packed(outputs, blocks(rows, cols))
        put("out", rng.randbytes(len(self.out)))
        word = [int.from_bytes(image[d["descriptor"] + 4 * i:][:4], "little") for i in range(16)]
        for name, i in WORDS.items():
            at, (high, shift) = self.region[name].start, HIGH[name]
            word[i] = at & 0xFFFFFFFF
            word[high] |= at >> 32 << shift
        word[TILES] = len(rows) | len(cols) << 16
        put("descriptor", b"".join(w.to_bytes(4, "little") for w in word))
        self.after = bytearray(self.before)
        at = self.region["out"].start % SIZE
        self.after[at:at + len(self.out)] = self.out


def channel_of(dut, name, data):
    """The signals of a channel: valid, ready, what is offered with them."""
    return (name, getattr(dut, name + "valid"), getattr(dut, name + "ready"),
            [getattr(dut, name + part) for part in data.split()])


async def watch(dut, name, valid, ready, data):
    """What is offered is known and stays, with what belongs to it, until it is taken."""
    held = None
    while True:
        await RisingEdge(dut.clk_i)
        if not int(dut.rst_ni.value):
            held = None
            continue
        offered, taken = valid.value.binstr, ready.value.binstr
        assert offered in "01" and taken in "01", f"{name}: valid is {offered}, ready is {taken}"
        now = [part.value.binstr for part in data] if offered == "1" else None
        if held is not None:
            assert now == held, f"{name}: {held} became {now} before ready came"
        if now is not None:
            assert set("".join(now)) <= {"0", "1"}, f"{name}: X is offered: {now}"
        held = now if taken == "0" else None


class Bench:
    """The chip, its host and its memory. share: of the cycles in which each channel of a model waits."""

    def __init__(self, dut, seed, share=0.0):
        self.dut, self.share, self.rng = dut, share, random.Random(f"{SEED} {seed}")
        cocotb.start_soon(Clock(dut.clk_i, 10, "ns").start())
        reset = {"reset": dut.rst_ni, "reset_active_level": False}
        dut.rst_ni.value = dut.test_en_i.value = 0
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk_i, **reset)
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.clk_i, **reset, mem=bytearray(SIZE))
        write, read = self.ram.write_if, self.ram.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel,
                        self.host.write_if.aw_channel, self.host.write_if.w_channel, self.host.write_if.b_channel,
                        self.host.read_if.ar_channel, self.host.read_if.r_channel):
            if share:
                channel.set_pause_generator(self.pauses(random.Random(self.rng.random())))
        for name, data in (("m_axi_ar", "addr len size burst id"), ("m_axi_aw", "addr len size burst id"),
                           ("m_axi_w", "data strb last"), ("s_axil_b", "resp"), ("s_axil_r", "data resp")):
            cocotb.start_soon(watch(dut, *channel_of(dut, name, data)))
        self.faults, self.kind, self.stray = (), SLVERR, []
        read_memory, write_memory = read._read, write._write

        async def checked_read(address, length):
            self.meet(address, "read")
            return await read_memory(address, length)

        async def checked_write(address, data):
            self.meet(address, "write")
            await write_memory(address, data)
        read._read, write._write = checked_read, checked_write
        self.answer(read.r_channel, "rresp")
        self.answer(write.b_channel, "bresp")

    def pauses(self, rng):
        """Cycles that wait, singly and in runs of up to thirty."""
        while True:
            waits = rng.random() < self.share
            for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 30))):
                yield waits

    def meet(self, address, access):
        """Each address of the bus: it must belong to the layer; one of self.faults is an error."""
        regions = ("out",) if access == "write" else ("act", "row_scale", "weight", "col_scale", "descriptor")
        if not any(address in self.layer.region[name] for name in regions):
            self.stray.append(f"{access} {address:#x}")
        if address in self.faults:
            raise ValueError("a planted error")  # which the models answer with SLVERR

    def answer(self, channel, field):
        """An error becomes self.kind, SLVERR or DECERR."""
        send = channel.send

        async def send_kind(obj):
            if getattr(obj, field) == SLVERR:
                setattr(obj, field, self.kind)
            await send(obj)
        channel.send = send_kind

    async def reset(self):
        self.dut.rst_ni.value = 0
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1
        await FallingEdge(self.dut.clk_i)

    async def write(self, address, value, nbytes=4):
        return (await self.host.write(address, value.to_bytes(4, "little")[:nbytes])).resp

    async def read(self, address):
        got = await self.host.read(address, 4)
        return int.from_bytes(got.data, "little"), got.resp

    async def start(self, layer, faults=(), kind=SLVERR):
        self.layer, self.faults, self.kind, self.stray = layer, faults, kind, []
        self.ram.write(0, layer.before)
        at = layer.region["descriptor"].start
        for address, value in ((DESCRIPTOR, at & 0xFFFFFFFF), (DESCRIPTOR_HIGH, at >> 32), (IRQ_ENABLE, 1), (CONTROL, 1)):
            assert await self.write(address, value) == OKAY
            assert address == CONTROL or await self.read(address) == (value, OKAY)

    async def end(self):
        """Waits for the interrupt and takes it back; returns STATUS."""
        beats = sum(len(r) for r in self.layer.region.values()) // BUS
        cycles = int((2000 + 8 * beats) * (1 + 30 * self.share))
        if not self.dut.irq_o.value:
            await with_timeout(RisingEdge(self.dut.irq_o), 10 * cycles, "ns")
        status, resp = await self.read(STATUS)
        assert resp == OKAY
        assert await self.write(IRQ_STATE, 1) == OKAY
        await ReadOnly()
        assert not self.dut.irq_o.value, "the interrupt stays after it was taken back"
        await FallingEdge(self.dut.clk_i)
        assert not self.stray, f"outside the layer: {', '.join(self.stray[:4])}"
        return status

    def memory(self, want, skip=()):
        got = self.ram.read(0, SIZE)
        if got == want:
            return
        wrong = [i for i in range(SIZE) if got[i] != want[i] and i not in skip]
        assert not wrong, f"{len(wrong)} bytes of memory differ, the first at {wrong[0]:#x}: " \
                          f"{got[wrong[0]]:#x}, want {want[wrong[0]]:#x}"

    async def run(self, layer):
        """A layer without errors: status, memory, and as many beats of outputs as there are."""
        await self.start(layer)
        status = await self.end()
        assert status == 0, f"STATUS is {status:#x}"
        self.memory(layer.after)
        assert await self.read(WRITE_BEATS) == (len(layer.out) // BUS, OKAY)


async def layers(dut, seed, share, *sizes):
    bench = Bench(dut, seed, share)
    await bench.reset()
    for size in sizes:  # each finds what the one before it left
        await bench.run(Layer(bench.rng, *size))


@cocotb.test()
async def layers_at_full_speed(dut):
    await layers(dut, "speed", 0, (3, 12), (1, 3))


@cocotb.test()
async def layers_with_few_waits(dut):
    await layers(dut, "few", 0.2, (1, 5), (2, 4))


@cocotb.test()
async def layers_with_many_waits(dut):
    await layers(dut, "many", 0.7, (2, 3), (1, 7))


@cocotb.test()
async def bus_errors(dut):
    """One beat of each region fails, with either error; behind each such layer one that must be right."""
    bench = Bench(dut, "errors", 0.2)
    await bench.reset()
    for kind in (SLVERR, AxiResp.DECERR):
        for name in (*WORDS, "descriptor"):
            layer = Layer(bench.rng)
            region = layer.region[name]
            bad = range(region.start, region.stop, BUS)
            bad = bad[bench.rng.randrange(DESCRIPTOR_BYTES // BUS if name == "descriptor" else len(bad))]
            await bench.start(layer, (bad,), kind)
            status = await bench.end()
            if name == "out":  # the other outputs are written and right
                assert status == kind << WRITTEN, f"{name}: STATUS is {status:#x}"
                bench.memory(layer.after, range(bad % SIZE, bad % SIZE + BUS))
            elif name == "descriptor":
                assert status == kind << READ | REFUSED, f"{name}: STATUS is {status:#x}"
                bench.memory(layer.before)
            else:
                assert status & ~ENGINE == kind << READ | OPERAND, f"{name}: STATUS is {status:#x}"
                out = layer.region["out"]
                bench.memory(layer.after, range(out.start % SIZE, out.start % SIZE + len(out)))
            await bench.run(Layer(bench.rng))


@cocotb.test()
async def registers(dut):
    """Answers of the registers, alone and many at a time, while a layer runs."""
    bench = Bench(dut, "registers", 0.4)
    await bench.reset()
    assert await bench.read(ID) == (int.from_bytes(b"STOP", "little"), OKAY)
    array = d["Rows"] | d["Cols"] << 8 | d["BankLen"] << 16
    assert await bench.read(ARRAY) == (array, OKAY)
    assert await bench.read(REG_BUS) == (BUS, OKAY)
    assert (await bench.read(0x34))[1] == SLVERR and (await bench.read(0xF0))[1] == SLVERR
    assert await bench.write(STATUS, 1) == SLVERR and await bench.write(0x3C, 1) == SLVERR
    assert await bench.write(DESCRIPTOR, 0x12345678) == OKAY
    assert await bench.write(DESCRIPTOR, 0, nbytes=2) == SLVERR
    assert await bench.read(DESCRIPTOR) == (0x12345678, OKAY)
    layer = Layer(bench.rng, 2, 10)  # still runs when the next lines ask
    await bench.start(layer)
    assert await bench.write(CONTROL, 1) == SLVERR
    assert (await bench.read(STATUS))[0] & 1
    for _ in range(20):
        value, reads = bench.rng.getrandbits(32), []
        wrote = bench.host.init_write(DESCRIPTOR, value.to_bytes(4, "little"))
        refused = bench.host.init_write(ID, bytes(4))
        for address, want in ((ID, b"STOP"), (ARRAY, array.to_bytes(4, "little")), (IRQ_ENABLE, bytes([1, 0, 0, 0])),
                              (REG_BUS, BUS.to_bytes(4, "little"))) * 2:
            reads.append((bench.host.init_read(address, 4), want))
        for event, want in reads:
            await event.wait()
            assert (event.data.data, event.data.resp) == (want, OKAY)
        for event, want in ((wrote, OKAY), (refused, SLVERR)):
            await event.wait()
            assert event.data.resp == want
        assert await bench.read(DESCRIPTOR) == (value, OKAY)
    assert await bench.end() == 0
    bench.memory(layer.after)


@cocotb.test()
async def reset_while_a_layer_runs(dut):
    """A reset of chip and memory at a random time; the next layer is right."""
    bench = Bench(dut, "reset", 0.3)
    await bench.reset()
    for cycles in (20, 100, 400):
        await bench.start(Layer(bench.rng))
        for _ in range(bench.rng.randrange(cycles)):
            await FallingEdge(dut.clk_i)
        await bench.reset()
        assert await bench.read(STATUS) == (0, OKAY)
        await bench.run(Layer(bench.rng))
