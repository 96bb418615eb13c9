// SPDX-License-Identifier: Apache-2.0
// A DRAM that keeps time: transfers in, times of their bursts out. One object for whoever asks when memory answers:
// the environment of the RTL, the cycle model of the chip, the machine model. It holds no data.
//
//   front       transfers wait in the order in which they came; their bursts go into the queues in order, one a clock
//               and channel. A bank whose queue is full holds up all behind it
//   queues      of each bank, at most `queue` bursts. First is a burst whose row is open, then the oldest
//   commands    of those that may go in this clock: those of a refresh, then the shortest, then that of the oldest burst;
//               one a clock and bus
//   age         a burst that has waited longer goes before all others of its pseudo-channel
//   pages       open: a row stays open until a burst needs another; closed: until no burst of the queue needs it
//   refresh     all: every REFI clocks the banks of a rank are closed and refreshed together; bank: every REFIpb
//               clocks one bank, while the others go on, each once in a round, first those with an empty queue; none
#pragma once

#include "sim/dram/sq_dram_rules.h"

enum sq_dram_page { SQ_DRAM_OPEN, SQ_DRAM_CLOSED };
enum sq_dram_placement { SQ_DRAM_PACKED, SQ_DRAM_APART };
enum sq_dram_refresh { SQ_DRAM_REFRESH_ALL, SQ_DRAM_REFRESH_BANK, SQ_DRAM_REFRESH_NONE };

extern const char *const sq_dram_page_names[];      // "open", "closed", NULL
extern const char *const sq_dram_refresh_names[];   // "all", "bank", "none", NULL
extern const char *const sq_dram_placement_names[]; // "packed", "banks", NULL

enum { SQ_DRAM_QUEUE_MAX = 16, SQ_DRAM_WAITING_MAX = 256, SQ_DRAM_TRANSFERS_MAX = 64 };

// Called for every command that goes; NULL: for none. The bank is numbered as in sq_dram_rules.h; the row is that of the
// bank, or the one that is opened.
struct sq_dram_note {
    void (*call)(void *ctx, uint32_t channel, uint64_t clock, enum sq_dram_command command,
                 uint32_t bank, uint32_t row);
    void *ctx;
};

struct sq_dram_setup {
    struct sq_dram_rules rules;
    struct sq_dram_map map;
    uint32_t channels, queue, age; // age in clocks
    enum sq_dram_page page;
    enum sq_dram_refresh refresh;
    enum sq_dram_placement
        placement; // for who lays out operands: one behind the other, or in different banks
    struct sq_dram_note note; // sq_dram_setup_init: none
};

// With a map as text (sq_dram_map.h), queue 1..SQ_DRAM_QUEUE_MAX, channels 1..SQ_DRAM_CHANNELS_MAX, a power of two.
// SQ_ERR_RANGE, SQ_ERR_ARG: a refresh of banks, which the device has not; a map that is none.
struct sq_dram_options {
    unsigned channels, queue, age; // 0: 1, SQ_DRAM_QUEUE_USUAL, SQ_DRAM_AGE_USUAL
    const char *map;               // NULL: "groups"
    enum sq_dram_page page;
    enum sq_dram_refresh refresh;
    enum sq_dram_placement placement;
};
enum { SQ_DRAM_QUEUE_USUAL = 8, SQ_DRAM_AGE_USUAL = 4096 };
enum sq_status sq_dram_setup_init(const struct sq_dram_device *device,
                                  const struct sq_dram_options *options,
                                  struct sq_dram_setup *setup, struct sq_error *err);

// Where the clocks of the data buses went; they add up to clocks times pseudo-channels.
enum sq_dram_cause {
    SQ_DRAM_BUSY,      // beats
    SQ_DRAM_OPENED,    // a row was opened, or another closed before
    SQ_DRAM_REFRESHED, // a refresh was due or under way
    SQ_DRAM_TURN,      // from reads to writes, from writes to reads
    SQ_DRAM_HELD,      // bank groups, ranks, the command bus
    SQ_DRAM_IDLE,      // no burst was in the queue
    SQ_DRAM_CAUSES
};
const char *sq_dram_cause_name(enum sq_dram_cause cause);

struct sq_dram_stats {
    uint64_t command[SQ_DRAM_COMMANDS]; // that went
    uint64_t hits; // bursts whose row was open when their turn came, for no other burst of late
    uint64_t clocks[SQ_DRAM_CAUSES];
};

// A burst that went: its transfer, which of its bursts, the clock in which it came into its queue, and that in which its last beat
// is over.
struct sq_dram_done {
    uint32_t tag, burst;
    uint64_t came, time;
};

struct sq_dram_channel {
    struct sq_dram_times times;
    struct sq_dram_bank {
        uint32_t row, is_open, used, first, last,
            n;           // used: since its activate; of the queue; n bursts
        uint64_t opened; // the clock from which reads may go
    } bank[SQ_DRAM_BANKS_MAX];
    struct sq_dram_waiting {
        uint64_t came, number;
        uint32_t row, tag, burst, next;
        uint32_t is_write, bank;
    } waiting[SQ_DRAM_WAITING_MAX];
    uint32_t unused; // the first free place; places are numbered from 1 on, 0: none
    uint32_t active[SQ_DRAM_BANKS_MAX], n_active; // banks with bursts
    uint64_t wake;                                // nothing happens before that clock
    struct {
        uint64_t due, from,
            until;          // of a refresh: the next; the last of all banks kept them from .. until
        uint64_t refreshed; // banks that were refreshed one by one, a bit each, since all were
        uint32_t chosen, n_open; // 1 + the bank that is refreshed next, of the rank; 0: none yet
    } rank[SQ_DRAM_RANKS_MAX];
    struct {
        uint64_t
            free; // the first clock in which the next read or write could have gone, had nothing held it
        uint32_t was_write;
    } pseudo[2];
    struct sq_dram_stats stats;
};

// Clocks between refreshes of a rank, of all of its banks or of one after the other.
uint64_t sq_dram_interval(const struct sq_dram_setup *setup);

// Zeroed before sq_dram_init. Plain data, but for the pointer to the setup.
struct sq_dram {
    const struct sq_dram_setup *setup;
    uint64_t now, number;
    struct sq_dram_transfer {
        uint64_t addr;        // of the next burst
        uint32_t left, burst; // bursts that are not in a queue; which is next
        uint32_t tag, is_write;
    } front[SQ_DRAM_TRANSFERS_MAX];
    uint32_t first, n_front;
    struct sq_dram_done done[2 * SQ_DRAM_CHANNELS_MAX];
    uint32_t n_done;
    struct sq_dram_channel channel[SQ_DRAM_CHANNELS_MAX];
};

void sq_dram_init(struct sq_dram *d, const struct sq_dram_setup *setup);
// Whether there is room for a transfer at the front.
static inline bool sq_dram_has_room(const struct sq_dram *d)
{
    return d->n_front < SQ_DRAM_TRANSFERS_MAX;
}
// A transfer of nbytes >= 1: all bursts that hold them. What comes now is worked on in the clock d->now.
void sq_dram_ask(struct sq_dram *d, uint64_t addr, uint64_t nbytes, bool is_write, uint32_t tag);
// Runs the clocks before `until`, or fewer: it stops behind a clock in which bursts went, which d->done then has,
// and behind one in which the front became empty. True: d->now is `until`.
bool sq_dram_run(struct sq_dram *d, uint64_t until);
// The two halves of the clock d->now. Bursts of the front go into the queues, of channels that `fed` has not yet (a bit
// each); false: none can before a burst has gone. Then the channels' commands go, and d->done grows; returns the next
// clock in which some may.
bool sq_dram_feed(struct sq_dram *d, uint32_t *fed);
uint64_t sq_dram_go(struct sq_dram *d);
// Where the operand `number` of several goes that may begin at `end` or later: a multiple of `page`, by the placement.
static inline uint64_t sq_dram_begin_of(const struct sq_dram_setup *setup, uint64_t end,
                                        uint64_t page, uint32_t number)
{
    const uint64_t at = (end + page - 1) / page * page;
    return setup->placement == SQ_DRAM_PACKED ? at
                                              : sq_dram_map_apart(&setup->map, at, page, number);
}
// Bursts of a transfer.
uint32_t sq_dram_n_bursts(const struct sq_dram_setup *setup, uint64_t addr, uint64_t nbytes);
// The sum of all channels, up to now.
struct sq_dram_stats sq_dram_stats_of(const struct sq_dram *d);

// Picojoules of what `s` counts in so many seconds on so many channels: commands, and standby with all banks closed (low) or open
// (high). The device has energies.
void sq_dram_picojoules(const struct sq_dram_setup *setup, const struct sq_dram_stats *s,
                        double seconds, double pj[2]);

// Another clock's cycles: a chip of `hz` has its cycle n, from 0 on, at the clock n * num / den of the DRAM.
struct sq_dram_clock {
    uint64_t num, den;
};
struct sq_dram_clock sq_dram_clock_of(const struct sq_dram_device *device, double hz);
// The first clock of the DRAM that begins when cycle n does, or later; the first cycle that begins when the clock does, or
// later.
uint64_t sq_dram_clock_at(const struct sq_dram_clock *c, uint64_t cycle);
uint64_t sq_dram_cycle_at(const struct sq_dram_clock *c, uint64_t clock);
