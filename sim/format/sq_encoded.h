// SPDX-License-Identifier: Apache-2.0
// The encoded matrix in the state of a layer, for the routes of its format.
#ifndef SQ_ENCODED_H
#define SQ_ENCODED_H

#include "models/sq_gqsa.h"
#include "models/sq_sp24.h"
#include "models/sq_spqr.h"
#include "models/sq_spqt.h"

// NULL where the layer stays dense.
const struct sq_sp24 *sq_sp24_encoded(const void *state);
const struct sq_gqsa *sq_gqsa_encoded(const void *state);
const struct sq_spqr *sq_spqr_encoded(const void *state);
const struct sq_spqt *sq_spqt_encoded(const void *state, float *theta);

#endif
