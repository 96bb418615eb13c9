// SPDX-License-Identifier: Apache-2.0
// Which errors the engine of SpQt tells (a part of tests/sim/test_engine_errors.c).

// x; theta, theta and all x, d, dmin; the superblock of another column
ENGINE_ERRORS(engine_spqt, b4, "CSBSSI")
ENGINE_ERRORS(engine_spqt, b16, "CSBSSI")
ENGINE_ERRORS(engine_spqt, b8, "CSBSSI")
