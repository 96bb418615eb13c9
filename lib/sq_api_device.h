// SPDX-License-Identifier: Apache-2.0
// A device of sqsim.h from the parameters of a chip, without an image: for tests of every size.
#ifndef SQ_API_DEVICE_H
#define SQ_API_DEVICE_H

#include "lib/sqsim.h"
#include "sim/machine/sq_device.h"

// setup: but for content, bus and ctx, which follow from memory or bus (sqsim_device_new).
enum sq_status sq_api_device(const struct sq_device_setup *setup, const struct sqsim_memory *memory,
                             const struct sqsim_bus *bus, sqsim_device **device,
                             struct sq_error *err);

#endif
