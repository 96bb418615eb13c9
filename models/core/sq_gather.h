// SPDX-License-Identifier: Apache-2.0
// What the gather unit must deliver (SPEC A.7, D.3, D.8): the activations at the masked positions
// of one bank, in ascending order, and the low codes with the mask code replaced by 0.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "models/core/sq_config.h"

// One bank. lo_codes[bank] as stored (mask codes included), act[bank]; out: lo_clean[bank] (0 at
// masked positions), gathered[k] (slot t = activation at the t-th mask code, 0 where there is
// none). Returns true if the bank holds exactly k mask codes; otherwise the surplus mask codes are
// ignored (their low code is still 0) and the missing slots are 0, which is what the RTL does
// beside raising its error flag.
bool sq_gather_bank(const int8_t *lo_codes, const int8_t *act, unsigned bank, unsigned k,
                    unsigned low_bits, int8_t *lo_clean, int8_t *gathered);
