// SPDX-License-Identifier: Apache-2.0
// What all records of a run share: device, driver, libraries, compiler, program.
#pragma once

#include <string>

#include "gpu/measure/sq_bench.cuh"

// Strings that the records point to.
struct SqFacts {
    std::string ts, revision, device, cc, driver, cublaslt, cusparselt, nvcc, sha256, slug;
};

SqFacts sq_facts_of(const cudaDeviceProp &p);
// The ceilings stay as they are; strings point into *f.
void sq_facts_fill(struct sq_record_run *run, const SqFacts &f, const cudaDeviceProp &p);
