// SPDX-License-Identifier: Apache-2.0
// One program on three platforms: a host with the chip's driver (lib/sq_driver.h), a memory, and a chip that is
// loosely timed, stepped, or RTL. The same random layers, some with a wrong descriptor or an error of the memory,
// must leave the same memory, counters and sentences on all three.
//
//     sq_chip_platform HOME [LAYERS] [SEED]
#include "sim/sysc/sq_chip.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

extern "C" {
#include "lib/sq_driver.h"
#include "models/sq_rng.h"
#include "sim/block/flow/sq_block.h"
#include "sim/block/top/sq_top_draw.h"
}

namespace
{

enum { BUS = 64 };
const sc_core::sc_time period(1, sc_core::SC_NS);

// Words from address 0 on; one beat may answer with an error. DMI is granted where `direct` says so.
struct Memory : sc_core::sc_module {
    tlm_utils::simple_target_socket<Memory, BUS> socket{"socket"};
    std::vector<uint8_t> bytes;
    uint64_t bad = UINT64_MAX;
    bool direct;

    Memory(sc_core::sc_module_name name, bool grants) : sc_module(name), direct(grants)
    {
        socket.register_b_transport(this, &Memory::b_transport);
        socket.register_get_direct_mem_ptr(this, &Memory::grant);
    }

    void b_transport(tlm::tlm_generic_payload &t, sc_core::sc_time &)
    {
        const uint64_t at = t.get_address(), n = t.get_data_length();
        if (at / (BUS / 8) == bad / (BUS / 8))
            return t.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        if (at + n > bytes.size())
            return t.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
        if (t.is_read())
            std::memcpy(t.get_data_ptr(), &bytes[at], n);
        else
            std::memcpy(&bytes[at], t.get_data_ptr(), n);
        t.set_dmi_allowed(true); // asked for DMI, it may refuse
        t.set_response_status(tlm::TLM_OK_RESPONSE);
    }

    bool grant(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi)
    {
        if (!direct || bad != UINT64_MAX)
            return false;
        dmi.set_dmi_ptr(bytes.data());
        dmi.set_start_address(0);
        dmi.set_end_address(bytes.size() - 1);
        dmi.allow_read_write();
        return true;
    }
};

struct Job {
    std::vector<uint8_t> image, want;
    uint32_t descriptor, out;
    uint64_t bad; // UINT64_MAX: none
};

struct Host : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<Host, 32> socket{"socket"};
    sc_core::sc_in<bool> irq{"irq"};
    Memory &memory;
    const std::vector<Job> &jobs;
    std::vector<std::string> log;
    bool is_done = false;

    SC_HAS_PROCESS(Host);
    Host(sc_core::sc_module_name name, Memory &m, const std::vector<Job> &j)
        : sc_module(name), memory(m), jobs(j)
    {
        SC_THREAD(run);
    }

    void transport(tlm::tlm_command command, uint32_t at, uint32_t *data)
    {
        tlm::tlm_generic_payload t;
        sc_core::sc_time delay;
        t.set_command(command);
        t.set_address(at);
        t.set_data_ptr(reinterpret_cast<unsigned char *>(data));
        t.set_data_length(4);
        t.set_streaming_width(4);
        t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        socket->b_transport(t, delay);
        wait(delay);
    }
    static uint32_t read(void *ctx, uint32_t at)
    {
        uint32_t data = 0;
        static_cast<Host *>(ctx)->transport(tlm::TLM_READ_COMMAND, at, &data);
        return data;
    }
    static void write(void *ctx, uint32_t at, uint32_t data)
    {
        static_cast<Host *>(ctx)->transport(tlm::TLM_WRITE_COMMAND, at, &data);
    }
    static int sleep(void *ctx)
    {
        Host *const h = static_cast<Host *>(ctx);
        if (!h->irq.read())
            h->wait(h->irq.posedge_event());
        return 1;
    }

    void run()
    {
        const sq_driver driver = {this, read, write, sleep};
        for (const Job &job : jobs) {
            sq_driver_done done{};
            char text[200], line[400];
            memory.bytes = job.image;
            memory.bad = job.bad;
            memory.socket->invalidate_direct_mem_ptr(0, UINT64_MAX);
            if (sq_driver_probe(&driver, nullptr) == SQ_DRIVER_OK)
                sq_driver_run(&driver, job.descriptor, &done);
            const bool is_right =
                std::memcmp(&memory.bytes[job.out], job.want.data(), job.want.size()) == 0;
            std::snprintf(line, sizeof line,
                          "%s; cycles %" PRIu64 " busy %" PRIu64 " wait %" PRIu64
                          " blocked %" PRIu64 " read %" PRIu64 " written %" PRIu64 "; outputs %s",
                          sq_driver_text(&done, text, sizeof text), done.cycles, done.busy,
                          done.wait, done.blocked, done.read_beats, done.write_beats,
                          is_right ? "right" : "not those of the layer");
            log.emplace_back(line);
            log.emplace_back(memory.bytes.begin(), memory.bytes.end());
        }
        is_done = true;
    }
};

struct Platform {
    Memory memory;
    sq_sc::Chip<BUS> chip;
    Host host;
    sc_core::sc_signal<bool> irq;

    Platform(const char *name, sq_device_body body, const unsigned *value,
             const std::vector<Job> &jobs, const char *home)
        : memory((std::string("memory_") + name).c_str(), body == SQ_DEVICE_FAST),
          chip((std::string("chip_") + name).c_str(), body, value,
               sq_env_choice{1, {40, 1, 1, 64}, 0, 0, 0, 1, nullptr}, period, home),
          host((std::string("host_") + name).c_str(), memory, jobs)
    {
        host.socket.bind(chip.registers);
        chip.memory.bind(memory.socket);
        chip.irq.bind(irq);
        host.irq.bind(irq);
    }
};

// A good layer, one with an error somewhere, one whose descriptor is refused, and so on.
Job draw(const unsigned *value, sq_rng *rng, unsigned number)
{
    auto drawn = std::make_unique<sq_top_drawn>();
    sq_top_layer l{};
    Job job;
    sq_top_draw_shape(value, rng, &l);
    const sq_top_given g = sq_top_draw_image(value, rng, &l, SQ_DRAWN_RIGHT, drawn.get());
    const uint8_t *const image = reinterpret_cast<const uint8_t *>(g.word);
    const uint8_t *const want = reinterpret_cast<const uint8_t *>(g.want);
    job.image.assign(image, image + 4 * size_t(g.n_words));
    job.want.assign(want, want + 4 * size_t(g.n_want));
    job.descriptor = g.descriptor + (number % 5 == 4);
    job.out = g.out;
    job.bad = number % 5 == 3 ? 4 * uint64_t(sq_rng_below(rng, g.n_words)) : UINT64_MAX;
    return job;
}

} // namespace

int sc_main(int argc, char **argv)
{
    const char *const name[] = {"LT", "stepping", "RTL"};
    const unsigned n = argc > 2 ? unsigned(std::atoi(argv[2])) : 60;
    sq_rng rng = {argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1};
    const sq_point *point = sq_top_block.points;
    if (argc < 2)
        return 2;
    while (point->value[SQ_TOP_DATA_W] != BUS)
        point++;
    std::vector<Job> jobs;
    for (unsigned i = 0; i < n; i++)
        jobs.push_back(draw(point->value, &rng, i));
    std::vector<std::unique_ptr<Platform>> platform;
    for (int body = 0; body < 3; body++)
        platform.push_back(std::make_unique<Platform>(name[body], sq_device_body(body),
                                                      point->value, jobs, argv[1]));
    sc_core::sc_start();
    unsigned wrong = 0, good = 0;
    for (int body = 0; body < 3; body++) {
        const Host &h = platform[body]->host, &first = platform[0]->host;
        wrong += !h.is_done;
        for (size_t i = 0; i < h.log.size(); i++)
            if (h.log[i] != first.log[i] && wrong++ < 16)
                std::printf("layer %zu: LT says\n  %s\n%s\n  %s\n", i / 2,
                            i % 2 ? "another memory" : first.log[i].c_str(), name[body],
                            i % 2 ? "another memory" : h.log[i].c_str());
    }
    for (size_t i = 0; i < platform[0]->host.log.size(); i += 2)
        good += platform[0]->host.log[i].find("outputs right") != std::string::npos &&
                platform[0]->host.log[i].find("the layer is done") == 0;
    wrong += platform[0]->chip.dmi_accesses() == 0 || platform[1]->chip.dmi_accesses() > 0;
    std::printf(
        "%s: %u layers on LT, stepping and RTL of sq_top %s, %u of them done, %u refused or "
        "with an error; %" PRIu64 " accesses by DMI; %u differences\n",
        wrong ? "FAIL" : "PASS", n, point->name, good, n - good, platform[0]->chip.dmi_accesses(),
        wrong);
    return wrong ? 1 : 0;
}
