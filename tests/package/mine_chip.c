// SPDX-License-Identifier: Apache-2.0
// A layer on the chip in ten lines: its image in a memory, the driver, an interrupt to wait for.
// clang-format off
#include <sq_driver.h>
#include <sqsim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    static float w[64 * 256], x[256], y[64];
    sqsim_format *f; sqsim_layer *l; sqsim_image *i; sqsim_device *d; struct sqsim_flat flat = {0}; struct sqsim_error err; struct sq_driver_done done;
    for (int n = 0; n < 64 * 256; n++) w[n] = x[n % 256] = (float)(n * 37 % 101 - 50) / 50;
    if (sqsim_format_new("nvfp4", SQSIM_VALUES, NULL, &f, &err) || sqsim_encode(f, w, 64, 256, NULL, 0, &l, &err) || sqsim_image_new(l, x, 1, "chip", 0, &i, &err)) return puts(err.text), 1;
    const void *before = sqsim_image_bytes(i, &flat.nbytes);
    flat.bytes = memcpy(malloc(flat.nbytes), before, flat.nbytes);
    if (sqsim_device_new(i, SQSIM_CHIP_STEPPING, &(struct sqsim_memory){&flat, sqsim_flat_read, sqsim_flat_write}, NULL, &d, &err)) return puts(err.text), 1;
    sq_driver_run(&(struct sq_driver){d, sqsim_device_read, sqsim_device_write, sqsim_device_wait}, sqsim_image_descriptor(i), &done);
    if (sqsim_image_check(i, flat.bytes, y, &err)) return puts(err.text), 1;
    return printf("%llu cycles, y = %g ... %g\n", (unsigned long long)done.cycles, y[0], y[63]) < 0;
}
