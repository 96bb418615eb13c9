// SPDX-License-Identifier: Apache-2.0
// Two chips on one memory, approximately timed: each has half of the channels of a layer. A C program
// (two_chips_program.c) runs both at a time; then one of them runs alone, and the other. Outputs are those of the layer each
// time, and since the memory serves one at a time, both together take longer than one alone and less than one after the other.
#include <cstdio>
#include <cstdlib>
#include <sq_chip.h>
#include <sq_chip_host.h>
#include <sq_chip_memory.h>

extern "C" sq_driver_result run_both(const sq_driver *const chip[2], const uint64_t descriptor[2],
                                     sq_driver_done done[2]);

namespace
{

enum { N = 64, K = 256, M = 2, HALVES = 0x10000 };

void need(sqsim_status status, const sqsim_error &err)
{
    if (status)
        std::exit(std::puts(err.text));
}

// Channels `half` * N and following of the layer, whose image lies at half * HALVES.
sqsim_image *image_of(int half)
{
    static float w[2 * N * K], x[M * K];
    const char *const option[] = {"algorithm", "rtn", "weight-bits", "8", nullptr};
    sqsim_format *f;
    sqsim_layer *l;
    sqsim_image *i;
    sqsim_error err;
    for (int e = 0; e < 2 * N * K; e++)
        w[e] = x[e % (M * K)] = float(e * 37 % 101 - 50) / 50;
    need(sqsim_format_new("dense", SQSIM_VALUES, option, &f, &err), err);
    need(sqsim_encode(f, w + half * N * K, N, K, nullptr, 0, &l, &err), err);
    need(sqsim_image_new(l, x, M, "chip", uint32_t(half * HALVES), &i, &err), err);
    return i;
}

} // namespace

int sc_main(int, char **)
{
    const sc_core::sc_time ns(1, sc_core::SC_NS);
    sqsim_image *const image[2] = {image_of(0), image_of(1)};
    const uint64_t descriptor[2] = {sqsim_image_descriptor(image[0]),
                                    sqsim_image_descriptor(image[1])};
    sq_sc::Chip<64> a("a", image[0], SQSIM_CHIP_STEPPING, ns, sq_sc::Time::TARGET);
    sq_sc::Chip<64> b("b", image[1], SQSIM_CHIP_STEPPING, ns, sq_sc::Time::TARGET);
    sq_sc::Memory<64> memory("memory", ns, {40, 8, 1, 64});
    sc_core::sc_signal<bool> irq_a, irq_b;
    sq_driver_done done[2], alone[2];
    double both = 0;
    unsigned wrong = 0;
    const auto load = [&] {
        memory.bytes.assign(2 * HALVES, 0);
        for (int i = 0; i < 2; i++) {
            size_t n;
            const void *const from = sqsim_image_bytes(image[i], &n);
            std::memcpy(&memory.bytes[size_t(i) * HALVES], from, n);
        }
    };
    const auto judge = [&](int i) {
        sqsim_error err;
        if (sqsim_image_check(image[i], &memory.bytes[size_t(i) * HALVES], nullptr, &err) &&
            ++wrong)
            std::puts(err.text);
    };
    sq_sc::Host port_b("port_b", [](sq_sc::Host &) {}); // of the same host
    sq_sc::Host host("host", [&](sq_sc::Host &h) {
        const sq_driver *const chip[2] = {&h.driver, &port_b.driver};
        load();
        const sc_core::sc_time start = sc_core::sc_time_stamp();
        wrong += run_both(chip, descriptor, done) != SQ_DRIVER_OK;
        both = (sc_core::sc_time_stamp() - start) / ns;
        judge(0), judge(1);
        load();
        for (int i = 0; i < 2; i++) {
            wrong += sq_driver_run(chip[i], descriptor[i], &alone[i]) != SQ_DRIVER_OK;
            judge(i);
            wrong += done[i].cycles <= alone[i].cycles;
        }
    });
    host.registers.bind(a.registers);
    port_b.registers.bind(b.registers);
    host.irq.bind(irq_a), a.irq.bind(irq_a);
    port_b.irq.bind(irq_b), b.irq.bind(irq_b);
    a.memory.bind(memory.socket);
    b.memory.bind(memory.socket);
    sc_core::sc_start();
    wrong += both >= double(alone[0].cycles + alone[1].cycles);
    std::printf("%s: both chips in %.0f ns, alone in %llu and %llu\n", wrong ? "FAIL" : "PASS",
                both, (unsigned long long)alone[0].cycles, (unsigned long long)alone[1].cycles);
    return wrong ? 1 : 0;
}
