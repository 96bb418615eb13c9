// SPDX-License-Identifier: Apache-2.0
// gpu-measure where there is no CUDA: checks the stored records and replays the stored traces.
#include <stdio.h>

#include "gpu/measure/sq_stored.h"

int main(void)
{
    static const char *const directory[] = {"reports/gpu", "traces/gpu"};
    struct sq_error err = {0};
    size_t n_files = 0, n_values = 0;
    for (int i = 0; i < 2; i++) {
        size_t files, values;
        if (sq_stored_check(directory[i], "cuda", &files, &values, &err) != SQ_OK) {
            fprintf(stderr, "gpu-measure: %s\n", err.text);
            return 1;
        }
        n_files += files;
        n_values += values;
    }
    printf("gpu-measure: %zu stored files agree (%zu records and values)\n", n_files, n_values);
    fprintf(stderr, "gpu-measure: nothing measured: this build has no CUDA\n");
    return 3;
}
