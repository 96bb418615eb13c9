// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of a report (sq_report*.c); users include sq_report.h.
#pragma once

#include "sim/sweep/sq_report.h"

// s->pair, from the rows as they are now.
enum sq_status sq_report_find_pairs(struct sq_report_sweep *s, struct sq_error *err);
void sq_report_row_free(struct sq_report_row *row); // what it owns
