// SPDX-License-Identifier: Apache-2.0
// The one place that names the version of the tool.
#pragma once

#define SQ_VERSION "0.3.0"
