// SPDX-License-Identifier: Apache-2.0
// sqsim run --device: what a DRAM gives, without and with refresh, at both ends of its ranges.
#include <math.h>
#include <string.h>

#include "sim/cli/run/sq_cmd_run.h"
#include "sim/cli/sq_cli_table.h"
#include "sim/dram/sq_dram_measure.h"

enum { BURSTS = 20000 };

struct ended { // a device at one end of its ranges
    const char *end;
    struct sq_dram_setup setup;
};

static enum sq_status read_device(const struct sq_run_request *in, enum sq_dram_end end,
                                  struct ended *e, struct sq_error *err)
{
    const char *const name = in->device;
    const size_t n = strlen(name);
    struct sq_dram_device device;
    if (strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".yaml") == 0))
        SQ_TRY(sq_dram_device_load(name, end, &device, err));
    else
        SQ_TRY(sq_dram_device_named(name, end, &device, err));
    e->end = !device.is_range ? "" : end == SQ_DRAM_FAST ? "fast" : "slow";
    return sq_dram_setup_init(&device, &in->timed, &e->setup, err);
}

// A latency, of which `rate` is NULL, or a bandwidth.
static void put(struct sq_cli_table *table, const struct ended *e, const char *what,
                enum sq_dram_refresh refresh, uint64_t clocks, const struct sq_dram_rate *rate)
{
    const double ns = 1e-3 * (double)clocks * e->setup.rules.device.clock_ps;
    double sum = 0, share[SQ_DRAM_CAUSES] = {0};
    for (unsigned i = 0; rate && i < SQ_DRAM_CAUSES; i++)
        sum += (double)rate->s.clocks[i];
    for (unsigned i = 0; i < SQ_DRAM_CAUSES; i++)
        share[i] = rate ? (double)rate->s.clocks[i] / sum : NAN;
#define CAUSE(i)                                                                                   \
    SQ_COLUMN(sq_dram_cause_name(i), share[i], sq_dram_cause_name(i), 7, .as = "%.2f%%",           \
              .scale = 100)
    const struct sq_cli_column columns[] = {
        SQ_KEYS("device", e->setup.rules.device.name),
        SQ_COLUMN("end", e->end, "end", -4, .is_absent = e->end[0] == '\0'),
        SQ_COLUMN("measure", what, "", -24),
        SQ_COLUMN("refresh_policy", rate ? sq_dram_refresh_names[refresh] : NULL, "refresh", -7),
        SQ_COLUMN("clocks", clocks, "clocks", 9),
        SQ_COLUMN("ns", ns, "ns", 10, .as = "%.2f"),
        SQ_COLUMN("bytes_per_second", rate ? rate->nbytes_per_s : NAN, "GB/s", 9, .as = "%.3f",
                  .scale = 1e-9),
        SQ_COLUMN("share", rate ? rate->share : NAN, "of peak", 8, .as = "%.2f%%", .scale = 100),
        CAUSE(SQ_DRAM_OPENED),
        CAUSE(SQ_DRAM_REFRESHED),
        CAUSE(SQ_DRAM_TURN),
        CAUSE(SQ_DRAM_HELD),
        CAUSE(SQ_DRAM_IDLE),
        SQ_COLUMNS_END};
#undef CAUSE
    sq_cli_put(table, columns);
}

static enum sq_status measure(const struct sq_run_request *in, struct sq_cli_table *table,
                              struct ended *e, struct sq_error *err)
{
    static const char *const name[SQ_DRAM_CASES] = {"row hit", "closed bank", "row conflict"};
    for (unsigned i = 0; i < SQ_DRAM_CASES; i++) {
        uint64_t clocks;
        SQ_TRY(sq_dram_latency(&e->setup, i, &clocks, err));
        put(table, e, name[i], 0, clocks, NULL);
    }
    const enum sq_dram_refresh kind[] = {SQ_DRAM_REFRESH_NONE, in->timed.refresh};
    for (unsigned r = 0; r < (kind[1] == SQ_DRAM_REFRESH_NONE ? 1u : 2u); r++)
        for (unsigned i = 0; i < SQ_DRAM_PATTERNS; i++) {
            struct sq_dram_rate rate;
            e->setup.refresh = kind[r];
            SQ_TRY(sq_dram_measure(&e->setup, i, BURSTS, 1, &rate, err));
            put(table, e, sq_dram_pattern_name(i), kind[r], rate.clocks, &rate);
        }
    return SQ_OK;
}

enum sq_status sq_run_dram(const struct sq_run_request *in, struct sq_error *err)
{
    struct sq_cli_table table = {.is_json = in->is_json};
    struct ended e;
    SQ_TRY(read_device(in, SQ_DRAM_FAST, &e, err));
    const struct sq_dram_device *const d = &e.setup.rules.device;
    const bool has_two = d->is_range;
    const double peak = e.setup.channels * sq_dram_peak(d);
    if (!in->is_json)
        printf("%s, %s: %u channel%s of %u bits, %u banks, clock %u ps, peak %.4g GB/s%s\n",
               sq_cli_text(d->name), sq_cli_text(d->standard), e.setup.channels,
               e.setup.channels > 1 ? "s" : "", d->pseudo * d->width, sq_dram_n_banks(d),
               d->clock_ps, 1e-9 * peak, has_two ? "; some values are ranges: both ends" : "");
    SQ_TRY(measure(in, &table, &e, err));
    if (has_two) {
        SQ_TRY(read_device(in, SQ_DRAM_SLOW, &e, err));
        SQ_TRY(measure(in, &table, &e, err));
    }
    const struct sq_cli_column row[] = {
        SQ_KEYS("device", e.setup.rules.device.name, "channels", e.setup.channels),
        SQ_KEYS("peak_bytes_per_second", peak, "is_range", json_boolean(has_two)), SQ_COLUMNS_END};
    if (in->is_json)
        sq_cli_put_summary(row, sq_cli_provenance("synthetic", "modelled (DRAM timing)", 1));
    return SQ_OK;
}
