// SPDX-License-Identifier: Apache-2.0
// The one place that names the version of the tool.
#ifndef SQ_VERSION_H
#define SQ_VERSION_H

#define SQ_VERSION "0.3.0"

#endif
