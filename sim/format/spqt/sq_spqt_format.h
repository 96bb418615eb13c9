// SPDX-License-Identifier: Apache-2.0
// What the scan for thresholds needs of SpQt beside its table (sim/llm/sq_sparsity_scan.h).
#ifndef SQ_SPQT_FORMAT_H
#define SQ_SPQT_FORMAT_H

// Of a layer of SpQt: its threshold from here on. theta is finite and >= 0.
void sq_spqt_set_theta(void *state, float theta);

#endif
