// SPDX-License-Identifier: Apache-2.0
// What gcc -fanalyzer is told, since it sees one file at a time: SQ_FAIL gives the status it was given,
// which is never SQ_OK. For the analysis only.
#include "models/sq_status.h"
#undef SQ_FAIL
#define SQ_FAIL(err, status, ...)                                                                  \
    (sq_error_set((err), (status), __FILE__, __LINE__, __VA_ARGS__), (status))
