// SPDX-License-Identifier: Apache-2.0
// The registers of sq_top and the words of a descriptor and of a record of the ring, in one table. From it are written
// rtl/top/sq_regs_pkg.sv, lib/sq_regs.h for drivers, docs/registers.md, and rtl/top/sq_top.rdl and sq_top.xml for the tools of
// others; tests/unit/top/test_regs.c compares all of them with the table (UPDATE=1 writes them anew).
#pragma once

#include <stdint.h>
#include <stdio.h>

enum sq_reg_access {
    SQ_REG_READ,  // a write is answered with SLVERR and changes nothing
    SQ_REG_WRITE, // reads as 0
    SQ_REG_BOTH,
    SQ_REG_CLEAR, // reads as it stands; a 1 that is written clears its bit
};

struct sq_reg_field {
    const char *name; // "BUSY"; NULL: the register has no more
    unsigned low, width;
    const char *text;
};

enum { SQ_REG_FIELDS_MAX = 11 };

struct sq_reg {
    const char *name; // "STATUS"
    uint32_t offset;  // bytes, a multiple of 4
    enum sq_reg_access access;
    const char *text;
    struct sq_reg_field field[SQ_REG_FIELDS_MAX];
};

// The numbers that model, RTL and drivers say by name.
enum sq_reg_offset {
    SQ_REG_ID = 0x00,
    SQ_REG_VERSION = 0x04,
    SQ_REG_ARRAY = 0x08,
    SQ_REG_CODES = 0x0c,
    SQ_REG_BUFFER = 0x10,
    SQ_REG_BUS = 0x14,
    SQ_REG_ENGINE = 0x18,
    SQ_REG_SCALED = 0x1c,
    SQ_REG_CONTROL = 0x20,
    SQ_REG_STATUS = 0x24,
    SQ_REG_IRQ_ENABLE = 0x28,
    SQ_REG_IRQ_STATE = 0x2c,
    SQ_REG_DESCRIPTOR = 0x30,
    SQ_REG_CYCLES = 0x40,
    SQ_REG_BUSY_CYCLES = 0x44,
    SQ_REG_WAIT_CYCLES = 0x48,
    SQ_REG_BLOCKED_CYCLES = 0x4c,
    SQ_REG_READ_BEATS = 0x50,
    SQ_REG_WRITE_BEATS = 0x54,
    SQ_REG_COUNTER_HIGH = 0x58,
    SQ_REG_SCALES = 0x5c,
    SQ_REG_SUMS = 0x60,
    SQ_REG_RING_BASE = 0x64,
    SQ_REG_RING_SIZE = 0x68,
    SQ_REG_HEAD = 0x6c,
    SQ_REG_TAIL = 0x70,
    SQ_REG_WATCHDOG = 0x74,
    SQ_REG_READ_WAIT = 0x78,
    SQ_REG_READ_FULL = 0x7c,
    SQ_REG_WRITE_WAIT = 0x80,
    SQ_REG_DESCRIPTOR_HIGH = 0x84,
    SQ_REG_RING_BASE_HIGH = 0x88,
    SQ_REG_ATTEND = 0x8c,
    SQ_REG_END = 0x90,
};
enum { SQ_REG_ID_VALUE = 0x504f5453, SQ_REG_VERSION_VALUE = 11 }; // "STOP", little-endian

// Counters of 64 bits, in the order of their registers from CYCLES on, and from READ_WAIT on.
enum sq_reg_counter {
    SQ_COUNT_CYCLES,
    SQ_COUNT_BUSY,
    SQ_COUNT_WAIT,
    SQ_COUNT_BLOCKED,
    SQ_COUNT_READ,
    SQ_COUNT_WRITE,
    SQ_COUNT_READ_WAIT,
    SQ_COUNT_READ_FULL,
    SQ_COUNT_WRITE_WAIT,
    SQ_COUNTERS
};

// Where the fields of STATUS begin.
enum {
    SQ_STATUS_BUSY = 0,
    SQ_STATUS_REFUSED = 1,
    SQ_STATUS_OPERAND = 2,
    SQ_STATUS_ABORTED = 3,
    SQ_STATUS_READ = 4,
    SQ_STATUS_EXPIRED = 7,
    SQ_STATUS_WRITTEN = 8,
    SQ_STATUS_ENGINE = 12,
};
// Bits of CONTROL; of IRQ_ENABLE and IRQ_STATE.
enum { SQ_CONTROL_START = 0, SQ_CONTROL_ABORT = 1 };
enum { SQ_IRQ_DONE = 0, SQ_IRQ_ERROR = 1 };

// Words of a descriptor, 32 bits each.
enum sq_desc_word {
    SQ_DESC_KIND,
    SQ_DESC_ACT,
    SQ_DESC_WEIGHT,
    SQ_DESC_ROW_SCALE,
    SQ_DESC_COL_SCALE,
    SQ_DESC_OUT,
    SQ_DESC_TILES,
    SQ_DESC_BLOCK,
    SQ_DESC_BEATS,
    SQ_DESC_CHUNK,
    SQ_DESC_OPERANDS_HIGH, // the high halves of addresses, in the order of ACT .. OUT, 16 bits each
    SQ_DESC_SCALES_HIGH,
    SQ_DESC_OUT_HIGH,
    SQ_DESC_VECTOR,     // of kind vector alone
    SQ_DESC_WORDS = 16, // the others are 0
};
enum {
    SQ_DESC_KIND_VALUE = 0x5351,
    SQ_DESC_KIND_ENCODE = 0x4551,
    SQ_DESC_KIND_VECTOR = 0x5651,
    SQ_DESC_KIND_ATTEND = 0x4151
}; // low half of KIND: a layer, an encoder, a pass of the vector unit, attention
enum { SQ_DESC_COLS_OUTER = 16, SQ_DESC_NOTICE = 17, SQ_DESC_CODES = 18 }; // bits of KIND
enum { SQ_DESC_JOB_TILES = 65535 };                                        // of a block, at most

// A slot of the ring: a descriptor, and behind it the record that the chip writes, with the counters up to WRITE as its
// words from CYCLES on, low half first.
enum sq_record_word {
    SQ_RECORD_STATUS, // as the register, without BUSY; DONE is set
    SQ_RECORD_SLOT,
    SQ_RECORD_CYCLES,
    SQ_RECORD_WORDS = 16 // those behind the counters are 0
};
enum { SQ_RECORD_DONE = 31, SQ_SLOT_NBYTES = 4 * (SQ_DESC_WORDS + SQ_RECORD_WORDS) };

extern const struct sq_reg sq_regs[];
extern const unsigned sq_n_regs;
extern const struct sq_reg sq_desc[]; // offsets in a descriptor
extern const unsigned sq_n_desc;
extern const struct sq_reg sq_record[]; // offsets in a slot
// The bits of a word of a descriptor that have a name; the others are 0.
uint32_t sq_desc_named(unsigned word);
uint32_t sq_desc_encode_named(unsigned word); // of kind encode
uint32_t sq_desc_vector_named(unsigned word); // of kind vector
uint32_t sq_desc_attend_named(unsigned word); // of kind attend

// Addresses have so many bits; memory ends behind the last of them.
enum { SQ_ADDR_BITS = 48 };
#define SQ_ADDR_END (UINT64_C(1) << SQ_ADDR_BITS)
// An address of a descriptor, whose low half is that word (SQ_DESC_ACT .. SQ_DESC_OUT).
uint64_t sq_desc_address(const uint32_t word[SQ_DESC_WORDS], unsigned low);
void sq_desc_set_address(uint32_t word[SQ_DESC_WORDS], unsigned low, uint64_t address);

// What the written files say of themselves.
#define SQ_REGS_WRITTEN                                                                            \
    "Written from sim/block/top/sq_regs.c by tests/unit/top/test_regs.c (UPDATE=1)."
void sq_regs_write_package(FILE *out);
void sq_regs_write_header(FILE *out);
void sq_regs_write_page(FILE *out);
void sq_regs_write_rdl(FILE *out);
void sq_regs_write_ipxact(FILE *out);
