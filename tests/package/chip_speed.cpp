// SPDX-License-Identifier: Apache-2.0
// How fast the chip's components are (sq_chip.h): the seven linear layers of a block of tiny-llama, one token, again and again on a chip of sim/machines/chip.yaml that is loosely timed, stepped, or approximately timed. Every output is
// checked once, and all take the same cycles. Seconds are of the processor.
//
//     chip_speed [SECONDS [FORMAT [OPTION VALUE]...]]     (1 dense algorithm rtn weight-bits 8)
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "lib/sq_chip_host.h"
#include "lib/sq_chip_memory.h"

namespace
{

const sc_core::sc_time period(1, sc_core::SC_NS);

struct Layers {
    std::vector<sqsim_image *> image;
    std::vector<unsigned char> memory;
    std::vector<size_t> base;

    void need(sqsim_status status, const sqsim_error &err)
    {
        if (status) {
            std::fprintf(stderr, "chip_speed: %s\n", err.text);
            std::exit(3);
        }
    }

    void add(const sqsim_format *f, size_t n, size_t k)
    {
        std::vector<float> w(n * k), x(k);
        sqsim_layer *l;
        sqsim_image *i;
        sqsim_error err;
        size_t nbytes;
        for (size_t e = 0; e < n * k; e++)
            w[e] = x[e % k] = float(e * 37 % 101) / 50 - 1;
        need(sqsim_encode(f, w.data(), n, k, nullptr, 0, &l, &err), err);
        base.push_back(memory.size());
        need(sqsim_image_new(l, x.data(), 1, "chip", uint32_t(memory.size()), &i, &err), err);
        const auto *const bytes = static_cast<const unsigned char *>(sqsim_image_bytes(i, &nbytes));
        memory.insert(memory.end(), bytes, bytes + nbytes);
        memory.resize((memory.size() + 4095) / 4096 * 4096);
        image.push_back(i);
        sqsim_layer_free(l);
    }
};

struct Platform {
    const char *name;
    const Layers &layers;
    sq_sc::Chip<64> chip;
    sq_sc::Memory<64> memory;
    sq_sc::Host host;
    sc_core::sc_signal<bool> irq;
    uint64_t runs = 0, cycles = 0, wrong = 0, of_block = 0;
    double most, seconds = 0;

    Platform(const char *n, const Layers &l, sqsim_chip_body body, sq_sc::Time time, double s)
        : name(n), layers(l),
          chip((std::string("chip_") + n).c_str(), l.image[0], body, period, time),
          memory((std::string("memory_") + n).c_str(), period, {40, 8, 1, 64}),
          host((std::string("host_") + n).c_str(), [this](sq_sc::Host &h) { run(h); }), most(s)
    {
        memory.bytes = l.memory;
        host.registers.bind(chip.registers);
        host.irq.bind(irq);
        chip.irq.bind(irq);
        chip.memory.bind(memory.socket);
    }

    // Platforms run one after the other: none shares the processor with another while it is timed.
    void run(sq_sc::Host &h)
    {
        static bool is_taken = false;
        while (is_taken)
            wait(period * 1e6);
        is_taken = true;
        const std::clock_t start = std::clock();
        for (; seconds < most; runs++) {
            const size_t i = runs % layers.image.size();
            sq_driver_done done;
            sq_driver_run(&h.driver, sqsim_image_descriptor(layers.image[i]), &done);
            wrong += done.result != SQ_DRIVER_OK;
            cycles += done.cycles;
            of_block += runs < layers.image.size() ? done.cycles : 0;
            seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
            if (runs < layers.image.size())
                most = seconds >= most ? 2 * seconds : most; // all layers at least
        }
        for (size_t i = 0; i < layers.image.size(); i++)
            wrong += sqsim_image_check(layers.image[i], &memory.bytes[layers.base[i]], nullptr,
                                       nullptr) != SQSIM_OK;
        is_taken = false;
    }
};

} // namespace

int sc_main(int argc, char **argv)
{
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    static const char *const usual[] = {"algorithm", "rtn", "weight-bits", "8", nullptr};
    sqsim_format *f;
    sqsim_error err;
    Layers layers;
    layers.need(sqsim_format_new(argc > 2 ? argv[2] : "dense", SQSIM_VALUES,
                                 argc > 2 ? argv + 3 : usual, &f, &err),
                err);
    const size_t shape[7][2] = {{256, 256}, {128, 256}, {128, 256}, {256, 256},
                                {512, 256}, {512, 256}, {256, 512}};
    for (const auto &s : shape)
        layers.add(f, s[0], s[1]);
    Platform lt("LT", layers, SQSIM_CHIP_FAST, sq_sc::Time::MACHINE, seconds);
    Platform stepping("stepping", layers, SQSIM_CHIP_STEPPING, sq_sc::Time::MACHINE, seconds);
    Platform at("AT", layers, SQSIM_CHIP_STEPPING, sq_sc::Time::TARGET, seconds);
    sc_core::sc_start();
    uint64_t wrong = 0;
    for (const Platform *p : {&lt, &stepping, &at}) {
        wrong += p->wrong + (p->of_block != lt.of_block);
        std::printf("%-8s %8.0f layers/s %12.0f cycles/s\n", p->name, double(p->runs) / p->seconds,
                    double(p->cycles) / p->seconds);
    }
    const double ratio =
        double(at.cycles) / at.seconds / (double(stepping.cycles) / stepping.seconds);
    std::printf("%s: %s, %llu cycles a block on each; AT has %.2f of the cycles/s of stepping\n",
                wrong ? "FAIL" : "PASS", argc > 2 ? argv[2] : "dense W8A8",
                (unsigned long long)lt.of_block, ratio);
    return wrong ? 1 : 0;
}
