// SPDX-License-Identifier: Apache-2.0
// Ten lines of one's own against libsqsim.
// clang-format off
#include <sqsim.h>
#include <stdio.h>
int main(void) {
    static float w[64 * 256], x[8 * 256], y[8 * 64];
    const char *option[] = {"algorithm", "rtn", "bank", "64", NULL};
    struct sqsim_error err; sqsim_format *f; sqsim_layer *l;
    for (int i = 0; i < 64 * 256; i++) w[i] = x[i % (8 * 256)] = (float)(i * 37 % 101 - 50) / 50;
    if (sqsim_format_new("sq_w", SQSIM_VALUES, option, &f, &err) ||
        sqsim_encode(f, w, 64, 256, NULL, 0, &l, &err) || sqsim_product(l, x, 8, y, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    return printf("%.4f bits a weight, y = %g ... %g\n", sqsim_layer_bits(l), y[0], y[8 * 64 - 1]) < 0;
}
