// SPDX-License-Identifier: Apache-2.0
// The select unit of 2:4, as recurrences (a part of tests/sim/test_oracle.c).

SQ_ORACLE(meta24, predict_two_stages)
