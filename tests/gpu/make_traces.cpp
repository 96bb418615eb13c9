// SPDX-License-Identifier: Apache-2.0
// The traces of gpu-measure, made by the kernels in the emulator: make_traces MODEL DIR. They say
// producer = emulator. For tests/gpu/trace.t.
#include <cstdio>
#include <string>
#include <sys/stat.h>

#include "gpu/measure/sq_golden.cuh"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: make_traces MODEL DIR\n");
        return 2;
    }
    (void)mkdir((std::string(argv[2]) + "/operand").c_str(), 0777); // the writer says what is wrong
    const SqGoldenInfo info = {argv[1], argv[2], "emulated", "none", 1};
    struct sq_error err = {};
    size_t n = 0;
    if (sq_golden_traces(&info, nullptr, &n, &err) != SQ_OK) {
        fprintf(stderr, "make_traces: %s\n", err.text);
        return 1;
    }
    printf("%zu values of %zu traces equal the golden model\n", n, kSqGoldenCount);
    return 0;
}
