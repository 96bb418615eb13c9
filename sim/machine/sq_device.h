// SPDX-License-Identifier: Apache-2.0
// The chip sq_top as a device: registers that a driver (lib/sq_driver.h) reads and writes, and a memory that the
// chip reads and writes, by one of three bodies that agree in every word and, at the end of a layer, in every
// counter.
#pragma once

#include "sim/block/top/sq_axi_memory.h"
#include "sim/block/top/sq_top_image.h"

enum sq_device_body {
    SQ_DEVICE_FAST, // a layer at once, of a ring, too: values by models/, cycles by sq_chip_run_fast. What is no plain layer (an
                    // illegal descriptor, a fault of the bus, regions that overlap) is stepped.
    SQ_DEVICE_STEPPING, // the chip's cycle model, sim/block/top/sq_top_sim.h
    SQ_DEVICE_RTL,      // rtl/top/sq_top.sv through Verilator
};

// A memory whose time is the caller's: the chip's bus, cycle by cycle. Both see the streams of the memory in the pins
// (sq_axi_memory.h) and leave the others alone.
struct sq_device_bus {
    void (*drive)(void *ctx, struct sq_pins *pins);       // the memory's side, from its state alone
    void (*clock)(void *ctx, const struct sq_pins *pins); // the edge
};

struct sq_device_setup {
    enum sq_device_body body;
    const unsigned *value;       // [SQ_POINT_VALUES], a point of sq_top: parameters, table
    struct sq_env_choice memory; // its time: of kind 1 (sq_axi_memory.h)
    // What is in memory, and ctx of its functions: the caller's, as long as the device lives. A complaint of
    // `write` is kept for sq_device_complaint.
    const struct sq_axi_content *content;
    void *ctx;
    // In place of memory and content, with the same ctx; NULL: none. Not of FAST.
    const struct sq_device_bus *bus;
    const char *home; // RTL: the folder with rtl/ (sq_rtl_build.h)
    uint64_t seed;    // RTL: of registers without a reset
};

struct sq_device;
// Behind a reset. SQ_ERR_MEMORY; RTL: what sq_rtl_load says.
enum sq_status sq_device_open(struct sq_device **device, const struct sq_device_setup *setup,
                              struct sq_error *err);
void sq_device_close(struct sq_device *d); // may be NULL

// Accesses of the register port; `device` is a struct sq_device, as struct sq_driver has it. An access takes as many
// cycles as the chip takes for it. *response, where not NULL: that of AXI4-Lite, 0 or 2 (SLVERR).
uint32_t sq_device_read_at(struct sq_device *d, uint32_t offset, unsigned *response);
void sq_device_write_at(struct sq_device *d, uint32_t offset, uint32_t value, unsigned *response);
uint32_t sq_device_read(void *device, uint32_t offset);
void sq_device_write(void *device, uint32_t offset, uint32_t value);
// The same in parts, where the caller lets each cycle pass: begin, cycles, and end, which is true once the access is over.
// No access begins before the last is over.
void sq_device_begin(struct sq_device *d, bool is_write, uint32_t offset, uint32_t value);
void sq_device_cycle(struct sq_device *d);
bool sq_device_end(struct sq_device *d, uint32_t *value, unsigned *response);
// Lets cycles pass until the interrupt; 0: no beat moved on the bus of memory for longer than any layer waits.
int sq_device_wait(void *device);

// Lets that many cycles pass, fewer where the interrupt comes; how many have passed.
uint64_t sq_device_step(struct sq_device *d, uint64_t cycles);

bool sq_device_irq(const struct sq_device *d);
bool sq_device_is_running(
    const struct sq_device
        *d); // started, and STATUS has not said the end, of a layer nor the interrupt
uint64_t sq_device_cycles(const struct sq_device *d); // since the reset, accesses among them
// A digest of all that has moved on the bus of memory since the last write of CONTROL: streams, beats, and cycles since
// the first. FAST moves nothing.
uint64_t sq_device_moves(const struct sq_device *d);
const char *sq_device_complaint(const struct sq_device *d); // the first of `write`, or NULL
