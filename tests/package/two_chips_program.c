// SPDX-License-Identifier: Apache-2.0
// A program for a host with two chips, as firmware has it: both run at a time, and it sleeps until their interrupts.
#include <sq_driver.h>

enum sq_driver_result run_both(const struct sq_driver *const chip[2], const uint64_t descriptor[2],
                               struct sq_driver_done done[2])
{
    for (int i = 0; i < 2; i++) {
        done[i].result = sq_driver_probe(chip[i], NULL);
        if (done[i].result == SQ_DRIVER_OK)
            done[i].result = sq_driver_start(chip[i], descriptor[i]);
        if (done[i].result != SQ_DRIVER_OK)
            return done[i].result;
    }
    const enum sq_driver_result first = sq_driver_finish(chip[0], &done[0]);
    const enum sq_driver_result second = sq_driver_finish(chip[1], &done[1]);
    return first != SQ_DRIVER_OK ? first : second;
}
