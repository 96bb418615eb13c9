// SPDX-License-Identifier: Apache-2.0
// The files that a specification names (sq_sweep_grid.h).
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "sim/io/sq_digest.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_home.h"
#include "sim/sweep/sq_sweep_grid.h"

// DIR/NAME where there is such a file.
static bool is_below(const char *dir, const char *name, char path[SQ_SWEEP_PATH_SIZE])
{
    struct stat st;
    const int n = dir ? snprintf(path, SQ_SWEEP_PATH_SIZE, "%s/%s", dir, name) : SQ_SWEEP_PATH_SIZE;
    return n < SQ_SWEEP_PATH_SIZE && stat(path, &st) == 0;
}

void sq_sweep_path(const char *name, const char *home, const char *folder, const char *pattern,
                   char path[SQ_SWEEP_PATH_SIZE])
{
    struct stat st;
    if (name[0] != '/' &&
        (is_below(home, name, path) || (stat(name, &st) != 0 && is_below(folder, name, path))))
        return;
    sq_home_find(home ? home : ".", name, pattern, path, SQ_SWEEP_PATH_SIZE);
}

// A chip has the PEs of the format, with as many multipliers as both axes of lanes say.
static enum sq_status check_chip(const struct sq_sweep_grid *s, const struct sq_machine *m,
                                 struct sq_error *err)
{
    static const enum sq_quantity of_cores[] = {SQ_AXIS_GATHER, SQ_AXIS_OUTPUT};
    const bool has_low = s->axis[SQ_AXIS_LOW_LANES].n > 0;
    const bool has_high = s->axis[SQ_AXIS_HIGH_LANES].n > 0;
    for (size_t i = 0; m->chip.bus_nbytes && i < sizeof of_cores / sizeof of_cores[0]; i++)
        if (s->axis[of_cores[i]].n > 0)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "axis %s: the PEs of a chip (machine %.40s) are those of the format",
                           sq_quantity_name(of_cores[i]), m->name);
    if (m->chip.bus_nbytes && !m->chip.has_lanes && has_low != has_high)
        return SQ_FAIL(err, SQ_ERR_ARG,
                       "axis %s: chip %.40s states no multipliers, need low_lanes and high_lanes",
                       sq_quantity_name(has_low ? SQ_AXIS_LOW_LANES : SQ_AXIS_HIGH_LANES), m->name);
    return SQ_OK;
}

enum sq_status sq_sweep_read_machines(struct sq_sweep_grid *s, const char *home,
                                      struct sq_error *err)
{
    const size_t n = s->axis[SQ_AXIS_MACHINE].n;
    if (n == 0)
        return SQ_OK;
    s->machine = calloc(n, sizeof *s->machine);
    s->machine_digest = calloc(n, sizeof *s->machine_digest);
    SQ_NEED(s->machine && s->machine_digest, err, "%zu machines", n);
    for (size_t i = 0; i < n; i++) {
        char path[SQ_SWEEP_PATH_SIZE];
        struct sq_file_view map;
        sq_sweep_path(s->axis[SQ_AXIS_MACHINE].name[i], home, s->folder, SQ_HOME_MACHINE, path);
        SQ_TRY(sq_file_map(path, &map, err));
        s->machine_digest[i] = sq_digest_of(map.data, map.nbytes);
        const enum sq_status status =
            sq_machine_parse((const char *)map.data, map.nbytes, path, &s->machine[i], err);
        sq_file_unmap(&map);
        SQ_TRY(status);
        SQ_TRY(check_chip(s, &s->machine[i], err));
    }
    return SQ_OK;
}
