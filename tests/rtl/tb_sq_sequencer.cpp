// SPDX-License-Identifier: Apache-2.0
// sq_sequencer with beats of operands far longer than one of the bus, of 4 bytes: a layer of two blocks of rows. Each
// transfer must have as many bytes as its operand, packed, and lie behind the one before it. top.t sets the parameters:
// `nbytes` of a beat, by destination.
#include <cstdint>
#include <cstdio>

#include "Vsq_sequencer.h"

static const uint32_t nbytes[5] = {1023, 1026, 65535, 512, 301},
                      start[5] = {0x1000, 0x200000, 0x400000, 0x40000000, 0x80000000};
enum { TILE = 3, ROWS = 2 }; // beats of a tile; blocks of a tile each

static Vsq_sequencer top;
static unsigned mismatches, transfers;

static void tick()
{
    top.clk_i = 1;
    top.eval();
    top.clk_i = 0;
    top.eval();
}

static void check(unsigned row, unsigned dest)
{
    const uint32_t all = (dest == 0 || dest == 2 ? TILE : 1) * nbytes[dest];
    const uint32_t beats = (all + 3) / 4, addr = start[dest] + row * beats * 4;
    if (top.dma_beats_o == beats && top.dma_addr_o == addr && top.dma_tail_o == all % 4)
        return;
    mismatches++;
    std::printf("# row %u, destination %u: %u beats at 0x%x, want %u at 0x%x\n", row, dest,
                top.dma_beats_o, top.dma_addr_o, beats, addr);
}

int main()
{
    const uint32_t word[16] = {0x5351,   start[0],       start[2], start[1],       start[3],
                               start[4], 0x10000 | ROWS, 0x10001,  0x10000 | TILE, 1};
    unsigned seen[5] = {0};
    top.rst_ni = 0;
    tick();
    top.rst_ni = 1;
    top.start_i = 1;
    tick();
    top.start_i = 0;
    top.dma_ready_i = 1; // the transfer of the descriptor
    tick();
    for (unsigned i = 0; i < 16; i++) {
        top.in_valid_i = 1;
        top.in_data_i = word[i];
        top.in_last_i = i == 15;
        tick();
    }
    top.in_valid_i = 0;
    top.job_ready_i = 63;
    for (unsigned i = 0; i < 200 && !top.done_o; i++) {
        top.write_done_i = 0;
        if (top.dma_valid_o) {
            const unsigned dest = top.dma_write_o ? 4 : top.dma_dest_o;
            check(seen[dest]++, dest);
            transfers++;
            top.write_done_i = top.dma_write_o;
        }
        tick();
    }
    const bool is_right =
        mismatches == 0 && transfers == 8 && seen[2] == 1 && top.done_o && !top.refused_o;
    std::printf("%s tb_sq_sequencer transfers=%u mismatches=%u refused=%u\n",
                is_right ? "PASS" : "FAIL", transfers, mismatches, top.refused_o);
    return !is_right;
}
