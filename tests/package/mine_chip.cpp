// SPDX-License-Identifier: Apache-2.0
// The layer of mine_chip.c on a platform in SystemC: chip, memory, host. BODY: 0 loosely timed, 1 approximately, 2 RTL.
// clang-format off
#include <cstdio>
#include <cstdlib>
#include <sq_chip.h>
#include <sq_chip_host.h>
#include <sq_chip_memory.h>

static sqsim_image *image_of_mine()
{
    static float w[64 * 256], x[256];
    sqsim_format *f; sqsim_layer *l; sqsim_image *i; sqsim_error err;
    for (int n = 0; n < 64 * 256; n++) w[n] = x[n % 256] = (float)(n * 37 % 101 - 50) / 50;
    if (sqsim_format_new("nvfp4", SQSIM_VALUES, nullptr, &f, &err) || sqsim_encode(f, w, 64, 256, nullptr, 0, &l, &err) || sqsim_image_new(l, x, 1, "chip", 0, &i, &err)) std::exit(std::puts(err.text));
    return i;
}

int sc_main(int, char **argv) {
    const int body = std::atoi(argv[1]); size_t n; float y[64]; sqsim_error err; sq_driver_done done;
    sqsim_image *const image = image_of_mine();
    sq_sc::Chip<64> chip("chip", image, sqsim_chip_body(body), {1, sc_core::SC_NS}, body == 1 ? sq_sc::Time::TARGET : sq_sc::Time::MACHINE);
    sq_sc::Memory<64> memory("memory", {1, sc_core::SC_NS}, {40, 8, 1, 64}); // chip.yaml: 8 GB/s behind 40 ns
    sq_sc::Host host("host", [&](sq_sc::Host &h) { sq_driver_run(&h.driver, sqsim_image_descriptor(image), &done); });
    sc_core::sc_signal<bool> irq;
    const auto *const bytes = static_cast<const unsigned char *>(sqsim_image_bytes(image, &n)); memory.bytes.assign(bytes, bytes + n);
    host.registers.bind(chip.registers); host.irq.bind(irq); chip.irq.bind(irq); chip.memory.bind(memory.socket);
    sc_core::sc_start();
    return sqsim_image_check(image, memory.bytes.data(), y, &err) || std::printf("%llu cycles, y = %g ... %g\n", (unsigned long long)done.cycles, y[0], y[63]) < 0;
}
