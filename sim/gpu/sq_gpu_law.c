// SPDX-License-Identifier: Apache-2.0
// Computes the constants of a GPU from its data sheet and the ten numbers (sq_gpu_law.h).
#include "sim/gpu/sq_gpu_law.h"

#include <math.h>

const struct sq_gpu_law sq_gpu_law = {.share = 0.771,
                                      .per_watt = 0.263,
                                      .watts = 0.207,
                                      .sparse = 0.64,
                                      .launch_s = 4.26e-6,
                                      .alone = 2.73,
                                      .dram = 0.845,
                                      .quantize = 2.38,
                                      .tail = 2401,
                                      .knee = 3.51};

static double sustained(const struct sq_gpu_law *law, const struct sq_gpu *gpu,
                        const struct sq_gpu_kind *kind)
{
    const double tera =
        2e-12 * kind->macs * gpu->clock_hz * gpu->sms * (kind->is_sparse ? law->sparse : 1);
    return fmin(1, law->share * pow(gpu->watts / tera, law->per_watt) *
                       pow(gpu->watts / 400, law->watts));
}

void sq_gpu_law_apply(const struct sq_gpu_law *law, struct sq_gpu *gpu)
{
    gpu->alone = law->alone;
    gpu->knee = law->knee;
    gpu->quantize = law->quantize;
    gpu->dram_bytes_per_s = law->dram * gpu->dram_peak;
    gpu->dram_source = SQ_GPU_EXPECTED;
    for (unsigned i = 0; i < gpu->n_kinds; i++) {
        struct sq_gpu_kind *k = &gpu->kind[i];
        k->sustained = sustained(law, gpu, k);
        k->launch_s = law->launch_s;
        k->dram = law->dram;
        k->tail = law->tail * sqrt(k->macs / 2048);
        k->source = SQ_GPU_EXPECTED;
    }
}
