// SPDX-License-Identifier: Apache-2.0
// What the compiler made of the kernels, read from the cubins that `make gpu` keeps: no GPU and no
// disassembler needed. Not part of `make test`: it needs nvcc's output (GPU_BUILD).
//
// A machine instruction is 16 bytes; its lowest 12 bits are the operation: IMMA 0x237, HGMMA 0x9f0,
// IGMMA 0x9f1 (0xdf1: A in registers; sparse: bit 73), QGMMA 0x9f3, dp4a 0x226 or 0xa26,
// multiply-add of binary16 pairs 0x231 and 0x235 (all operands in registers); IMMA has 4-bit
// operands where bits 83 and 84 are set. Claims checked:
//   INT4 products are native on sm_80 and sm_89, and nowhere on sm_90, whatever the PTX said;
//   the integer warpgroup kernels hold IGMMA, dense, sparse and with A in registers;
//   the fused pair holds BF16 and FP8 warpgroup products in one kernel on sm_90a;
//   the decode kernels multiply as they say: dp4a, pairs of binary16;
//   no memory barrier stands in a loop, and loops with products move few registers;
//   no kernel touches local memory (no spills, no arrays that left the registers).
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "tests/test.h"

enum {
    DP4A = 0x026,
    HFMA2 = 0x231,
    HFMA2_MMA = 0x235,
    IMMA = 0x237,
    HGMMA = 0x9f0,
    IGMMA = 0x9f1,
    IGMMA_REGISTERS = 0xdf1,
    QGMMA = 0x9f3,
    BRA = 0x947,
    EXIT = 0x94d,
    MEMBAR = 0x992
};

struct counts {
    unsigned functions, instructions, imma, imma_s4, hgmma, qgmma, igmma, igmma_sp, igmma_registers,
        dp4a, hfma2, local;
    unsigned barriers, moves, products; // in loops; moves and products of loops that have products
};

static uint64_t field(const uint8_t *at, unsigned nbytes)
{
    uint64_t v = 0;
    memcpy(&v, at, nbytes);
    return v;
}

static bool is_product(unsigned op)
{
    return op == IMMA || op == HGMMA || op == IGMMA || op == IGMMA_REGISTERS || op == QGMMA;
}

// Bytes from the next instruction to where a branch goes. The field of a branch starts at bit 34;
// from sm_90 on, its lowest eight bits are bits 16 to 23.
static int64_t branch_offset(uint64_t low, bool is_split)
{
    const int64_t words = (int32_t)(low >> 32) / 4;
    return is_split ? words * 1024 + (int64_t)(low >> 16 & 255) * 4 : words * 4;
}

static bool is_move(uint64_t low, uint64_t high)
{
    const unsigned op = low & 0xfff;
    const bool is_mov = (op & 0x1ff) == 0x002;
    const bool is_imad = (op & 0x1ff) == 0x024 && (low >> 24 & 255) == 255; // IMAD.MOV: RZ x RZ + c
    return is_mov || (is_imad && (op == 0x224 ? low >> 32 & 255 : high & 255) == 255);
}

// Where an instruction may go on: false where nowhere but at *to (or nowhere at all: *to = -1).
static bool falls_through(const uint8_t *text, uint64_t at, bool is_split, int64_t *to)
{
    const uint64_t low = field(text + at, 8);
    const unsigned op = low & 0xfff;
    const bool is_always = (low >> 12 & 15) == 7; // no predicate
    *to = op == BRA ? (int64_t)at + 16 + branch_offset(low, is_split) : -1;
    return !(is_always && (op == EXIT || op == BRA));
}

// Whether the instruction at `from` may be reached from itself.
static bool is_repeated(const uint8_t *text, uint64_t nbytes, bool is_split, uint64_t from)
{
    const uint64_t n = nbytes / 16;
    bool *const seen = calloc(n + 1, sizeof *seen);
    uint64_t *const stack = calloc(2 * n + 2, sizeof *stack);
    bool is_found = false;
    assert_non_null(seen);
    assert_non_null(stack);
    stack[0] = from / 16;
    for (uint64_t depth = 1; depth > 0 && !is_found;) {
        const uint64_t i = stack[--depth];
        int64_t to;
        const bool next = falls_through(text, 16 * i, is_split, &to);
        const uint64_t follow[2] = {next ? i + 1 : n, to >= 0 ? (uint64_t)to / 16 : n};
        for (unsigned f = 0; f < 2; f++) {
            is_found |= follow[f] == from / 16;
            if (follow[f] < n && !seen[follow[f]]) {
                seen[follow[f]] = true;
                stack[depth++] = follow[f];
            }
        }
    }
    free(seen);
    free(stack);
    return is_found;
}

// Barriers that an instruction stream may come back to. For moves, a loop is a branch back and all
// between it and where it goes: those count whose innermost loop is that of a product as well.
static void count_loops(const uint8_t *text, uint64_t nbytes, bool is_split, struct counts *c)
{
    uint64_t *const smallest = calloc(nbytes / 16 + 1, sizeof *smallest);   // span of the innermost
    uint64_t *const innermost = calloc(nbytes / 16 + 1, sizeof *innermost); // its branch; 0: none
    bool *const has_products = calloc(nbytes / 16 + 1, sizeof *has_products); // by branch
    assert_non_null(smallest);
    assert_non_null(innermost);
    assert_non_null(has_products);
    for (uint64_t at = 0; at + 16 <= nbytes; at += 16) {
        const uint64_t low = field(text + at, 8);
        const int64_t to = (int64_t)at + 16 + branch_offset(low, is_split);
        if ((low & 0xfff) != BRA || to < 0 || to >= (int64_t)at)
            continue;
        for (uint64_t i = (uint64_t)to; i <= at; i += 16)
            if (!innermost[i / 16] || at - (uint64_t)to < smallest[i / 16]) {
                smallest[i / 16] = at - (uint64_t)to;
                innermost[i / 16] = at / 16;
            }
    }
    for (uint64_t at = 0; at + 16 <= nbytes; at += 16)
        if (innermost[at / 16] && is_product(field(text + at, 8) & 0xfff))
            has_products[innermost[at / 16]] = true;
    for (uint64_t at = 0; at + 16 <= nbytes; at += 16) {
        const uint64_t low = field(text + at, 8), high = field(text + at + 8, 8);
        const bool is_counted = has_products[innermost[at / 16]]; // [0]: of no loop, false
        c->barriers += (low & 0xfff) == MEMBAR && is_repeated(text, nbytes, is_split, at);
        c->products += is_counted && is_product(low & 0xfff);
        c->moves += is_counted && is_move(low, high);
    }
    free(smallest);
    free(innermost);
    free(has_products);
}

static void count_instructions(const uint8_t *text, uint64_t nbytes, struct counts *c)
{
    c->functions++;
    for (uint64_t at = 0; at + 16 <= nbytes; at += 16) {
        const uint64_t low = field(text + at, 8), high = field(text + at + 8, 8);
        const unsigned op = low & 0xfff;
        c->instructions++;
        c->imma += op == IMMA;
        c->imma_s4 += op == IMMA && (high >> 19 & 3) == 3;
        c->hgmma += op == HGMMA;
        c->qgmma += op == QGMMA;
        c->igmma += op == IGMMA && (high >> 9 & 1) == 0;
        c->igmma_sp += op == IGMMA && (high >> 9 & 1) == 1;
        c->igmma_registers += op == IGMMA_REGISTERS;
        c->dp4a += (op & 0x1ff) == DP4A; // with any form of operands
        c->hfma2 += op == HFMA2 || op == HFMA2_MMA;
        c->local += op == 0x387 || op == 0x983; // STL, LDL
    }
}

// The .text sections of gpu/NAME.cu for one architecture.
static struct counts read_cubin(const char *name, const char *arch, const char *function)
{
    char path[512];
    const char *build = getenv("GPU_BUILD");
    struct sq_file_view map;
    struct sq_error err = {0};
    struct counts c = {0};
    // With one architecture nvcc leaves it out of the name; of 90 there is PTX as well.
    const char *const part = strcmp(arch, "90a") == 0 ? "" : ".compute_";
    snprintf(path, sizeof path, "%s/keep/%s/%s%s%s.cubin", build ? build : "build/gpu", name, name,
             part,
             strcmp(arch, "90") == 0 ? "90.sm_90"
             : *part                 ? arch
                                     : "");
    if (sq_file_map(path, &map, &err) != SQ_OK)
        fail_msg("%s (run make gpu)", err.text);
    assert_true(map.nbytes > 64 && memcmp(map.data, "\177ELF", 4) == 0);
    const uint8_t *const elf = map.data, *const sections = elf + field(elf + 0x28, 8);
    const uint64_t size = field(elf + 0x3a, 2), n = field(elf + 0x3c, 2);
    const uint8_t *const names = sections + size * field(elf + 0x3e, 2);
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *const s = sections + size * i;
        const char *label = (const char *)elf + field(names + 24, 8) + field(s, 4);
        if (strncmp(label, ".text.", 6) == 0 && strstr(label, function)) {
            count_instructions(elf + field(s + 24, 8), field(s + 32, 8), &c);
            count_loops(elf + field(s + 24, 8), field(s + 32, 8), strncmp(arch, "9", 1) == 0, &c);
        }
    }
    sq_file_unmap(&map);
    assert_true(c.functions > 0);
    return c;
}

SQ_TEST(int4_is_native_on_8x_only)
{
    const struct counts a100 = read_cubin("sq_gemm_imma", "80", "gemm_imma_kernel");
    const struct counts ada = read_cubin("sq_gemm_imma", "89", "gemm_imma_kernel");
    const struct counts hopper = read_cubin("sq_gemm_imma", "90", "gemm_imma_kernel");
    assert_int_equal(a100.functions, 6);
    assert_true(a100.imma_s4 >= 64); // two kernels of 4 x 4 x 2 products
    assert_true(ada.imma_s4 >= 64);
    assert_true(a100.imma > a100.imma_s4);
    assert_int_equal(hopper.imma_s4, 0);
    assert_true(hopper.imma > 0);
}

SQ_TEST(sparse_products_are_there)
{
    static const char *const arch[] = {"80", "89", "90"};
    for (int i = 0; i < 3; i++) {
        const struct counts c = read_cubin("sq_gemm_sp24", arch[i], "gemm_sp24_kernel");
        assert_int_equal(c.imma, 32); // 4 x 4 x 2 slices, one instruction each: nothing emulated
    }
}

SQ_TEST(pair_is_one_kernel_of_both_types)
{
    const struct counts c = read_cubin("sq_gemm_wgmma", "90a", "PairEE");
    assert_int_equal(c.functions, 1);
    assert_true(c.hgmma >= 4 && c.hgmma % 4 == 0);
    assert_true(c.qgmma >= 4 && c.qgmma % 4 == 0);
}

SQ_TEST(integer_warpgroup_products)
{
    const struct counts dense = read_cubin("sq_gemm_wgmma_s8", "90a", "DenseEE");
    const struct counts sparse = read_cubin("sq_gemm_wgmma_s8", "90a", "SparseEE");
    const struct counts packed = read_cubin("sq_gemm_wgmma_s8", "90a", "PackedEE");
    assert_int_equal(read_cubin("sq_gemm_wgmma_s8", "90a", "_kernel").imma, 0);
    assert_true(dense.functions == 1 && dense.igmma >= 4 && dense.igmma % 4 == 0);
    assert_int_equal(dense.igmma_sp + dense.igmma_registers, 0);
    assert_true(sparse.functions == 1 && sparse.igmma_sp >= 4 && sparse.igmma_sp % 2 == 0);
    assert_int_equal(sparse.igmma + sparse.igmma_registers, 0);
    assert_true(packed.functions == 1 && packed.igmma_registers >= 4);
    assert_int_equal(packed.igmma + packed.igmma_sp, 0);
}

// At least the products of one step of one lane: a kernel that multiplies otherwise has fewer.
SQ_TEST(decode_kernels_multiply_as_they_say)
{
    static const char *const arch[] = {"80", "89", "90"};
    for (int i = 0; i < 3; i++) {
        // kernels for 1 token (8 rows of 32 codes), 2, 4 and 8 (4 rows)
        assert_true(read_cubin("sq_gemv_w4", arch[i], "gemv_w4a8_kernel").dp4a >= (8 + 14 * 4) * 8);
        assert_true(read_cubin("sq_gemv_w4", arch[i], "gemv_w4a16_kernel").hfma2 >=
                    (8 + 14 * 4) * 16);
        assert_int_equal(read_cubin("sq_gemv_w4", arch[i], "gemv_w4a16_kernel").dp4a, 0);
        // kernels for 1 and 4 tokens: batches of 4 groups, 4 products and 4 sums each
        assert_true(read_cubin("sq_gemv_gqsa", arch[i], "gemv_gqsa_kernel").dp4a >= 5 * 4 * 8);
        // 4 tiles of 8 pairs, first of them by a plain product
        assert_true(read_cubin("sq_gemv_spqr", arch[i], "gemv_spqr_repacked_kernel").hfma2 >= 28);
        assert_true(read_cubin("sq_gemv_spqr", arch[i], "gemv_spqr_repacked_kernel").instructions <=
                    800); // 64 weights a lane
    }
}

SQ_TEST(nothing_in_local_memory)
{
    static const char *const file[] = {
        "sq_gemm_imma", "sq_gemm_sp24", "sq_gemm_sqw",  "sq_encode",     "sq_gemv_w4",
        "sq_gemv_gqsa", "sq_gemv_spqt", "sq_gemv_spqr", "sq_encode_q4k", "sq_encode_gqsa"};
    static const char *const arch[] = {"80", "89", "90"};
    for (int f = 0; f < 10; f++)
        for (int a = 0; a < 3; a++) {
            const struct counts c = read_cubin(file[f], arch[a], "_kernel");
            if (c.local)
                fail_msg("%s sm_%s: %u local memory instructions", file[f], arch[a], c.local);
        }
    assert_int_equal(read_cubin("sq_gemm_wgmma", "90a", "_kernel").local, 0);
    assert_int_equal(read_cubin("sq_gemm_wgmma_s8", "90a", "_kernel").local, 0);
}

// A memory barrier in a loop waits for the whole memory system each time round; `.release.cluster`
// of an mbarrier is one. Moves: what the wgmma operands or the fragments cost beside the products.
SQ_TEST(loops_are_lean)
{
    static const struct {
        const char *file, *function;
        double moves; // at most, per product in the same loop
        unsigned barriers;
    } kernel[] = {{"sq_gemm_imma", "gemm_imma_kernel", 2.2, 0}, // sm_90: the subroutine of s4
                  {"sq_gemm_sp24", "gemm_sp24_kernel", 4, 0},
                  {"sq_gemm_sqw", "_kernel", 0, 0},
                  {"sq_gemv_w4", "_kernel", 0, 0},
                  {"sq_gemv_gqsa", "_kernel", 0, 0},
                  {"sq_gemv_spqt", "_kernel", 0, 2}, // once per superblock row: its hand-over
                  {"sq_gemv_spqr", "_kernel", 0, 0},
                  {"sq_encode", "_kernel", 0, 0},
                  {"sq_gemm_wgmma", "_kernel", 6, 0},
                  {"sq_gemm_wgmma_s8", "DenseEE", 6, 0},
                  {"sq_gemm_wgmma_s8", "SparseEE", 6, 0},
                  {"sq_gemm_wgmma_s8", "PackedEE", 6, 0}};
    static const char *const arch[] = {"80", "89", "90", "90a"};
    for (size_t k = 0; k < sizeof kernel / sizeof kernel[0]; k++)
        for (int a = 0; a < 4; a++) {
            if ((strncmp(kernel[k].file, "sq_gemm_wgmma", 13) == 0) != (a == 3))
                continue;
            const struct counts c = read_cubin(kernel[k].file, arch[a], kernel[k].function);
            print_message("# %s sm_%s: %u barriers in loops, %u moves beside %u products\n",
                          kernel[k].file, arch[a], c.barriers, c.moves, c.products);
            if (c.barriers > kernel[k].barriers)
                fail_msg("%s sm_%s: %u memory barriers in loops", kernel[k].file, arch[a],
                         c.barriers);
            if (c.moves > kernel[k].moves * c.products)
                fail_msg("%s sm_%s: %u moves beside %u products", kernel[k].file, arch[a], c.moves,
                         c.products);
        }
}
