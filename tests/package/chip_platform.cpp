// SPDX-License-Identifier: Apache-2.0
// One program on five platforms: a host with the chip's driver (lib/sq_driver.h), a memory, and a chip that is
// loosely timed, stepped, RTL, or one of the last two approximately timed. The same random layers and rings, some with a wrong
// descriptor, an error of the memory or a watchdog, must leave the same memory, counters and sentences on all of them, and
// all but the first must move the same beats in the same cycles. Loosely timed a ring has ended
// before it is aborted. More platforms refuse DMI, or take requests and answers slowly.
// At last the sockets are asked what TLM-2.0 asks of them.
//
//     sq_chip_platform HOME [LAYERS] [SEED]
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

extern "C" {
#include "lib/sq_api_device.h"
#include "models/sq_rng.h"
#include "sim/block/flow/sq_block.h"
#include "sim/block/top/sq_top_draw.h"
}

// Behind ours, whose names of registers are no macros.
#include "lib/sq_chip_host.h"
#include "lib/sq_chip_memory.h"

namespace
{

enum { BUS = 64 };
const uint64_t BASE =
    (UINT64_C(5) << 32) - 4096; // of all memories: the first layer lies across 20 GiB
const sc_core::sc_time period(1, sc_core::SC_NS);
sq_sc::MemoryTime speed; // of all memories
using Memory = sq_sc::Memory<BUS>;

// A layer, or a ring of some, whose slots lie behind their images.
struct Job {
    struct Layer {
        std::vector<uint8_t> want;
        uint64_t descriptor, out;
        uint32_t word[SQ_DRIVER_DESCRIPTOR_WORDS];
        bool has_notice;
    };
    std::vector<uint8_t> image;
    std::vector<Layer> layers;
    uint64_t bad;      // UINT64_MAX: none
    uint32_t ring;     // 0: a layer alone
    uint32_t watchdog; // cycles; 0: none
    unsigned abort_at; // ns behind the doorbell; 0: not at all
    bool is_sound;     // nothing is wrong with it: its layers end well on every platform
};

// What is special of a platform.
struct Kind {
    const char *name;
    sqsim_chip_body body;
    sq_sc::Time time;
    bool grants_dmi;
    unsigned quantum, accepts_after, answers; // ns, ns, bursts
    bool has_cycles;                          // those of the others
};
enum { STEPPING = 1 };

// What the host of a platform does, and what came of it.
struct Work {
    Memory &memory;
    const sq_sc::Chip<BUS> &chip;
    const Kind &kind;
    const std::vector<Job> &jobs;
    std::vector<std::string> log;
    std::vector<uint64_t> moves;
    uint64_t cycles = 0;                    // of all layers
    bool is_done = false, is_wrong = false; // is_wrong: other outputs, or a sound job is not done

    void run(sq_sc::Host &host)
    {
        for (const Job &job : jobs) {
            sq_driver_done done{};
            host.keeper.sync();
            memory.base = BASE;
            memory.bytes = job.image;
            memory.fault = nullptr;
            if (job.bad != UINT64_MAX)
                memory.fault = [&](uint64_t at) {
                    return (at - BASE) / (BUS / 8) == job.bad / (BUS / 8)
                               ? tlm::TLM_GENERIC_ERROR_RESPONSE
                               : tlm::TLM_OK_RESPONSE;
                };
            memory.invalidate();
            log.emplace_back();
            if (sq_driver_probe(&host.driver, nullptr) != SQ_DRIVER_OK)
                log.back() = "no chip";
            else if (job.ring)
                run_ring(host, job);
            else
                note(job, job.layers[0],
                     (sq_driver_run(&host.driver, job.layers[0].descriptor, &done), done));
            moves.push_back(chip.moves());
            log.push_back(bytes_of(job));
        }
        is_done = true;
    }

    void run_ring(sq_sc::Host &host, const Job &job)
    {
        const uint32_t n = uint32_t(job.layers.size());
        sq_driver_ring ring{BASE + job.ring, n + 1,
                            reinterpret_cast<uint32_t *>(&memory.bytes[job.ring]), 0, 0};
        sq_driver_done done{};
        done.result = sq_driver_ring_open(&host.driver, &ring, job.watchdog);
        for (const Job::Layer &l : job.layers)
            sq_driver_ring_add(&ring, l.word, l.has_notice);
        sq_driver_ring_start(&host.driver, &ring);
        if (job.abort_at) {
            host.keeper.sync();
            wait(sc_core::sc_time(job.abort_at, sc_core::SC_NS));
            sq_driver_abort(&host.driver);
        }
        const sq_driver_result result = sq_driver_ring_finish(&host.driver, &ring);
        log.back() = "ring " + std::to_string(result) + ", " + std::to_string(ring.head);
        for (uint32_t i = 0; i < n; i++)
            note(job, job.layers[i], (sq_driver_ring_done(&ring, i, &done), done));
        if (job.abort_at)
            sq_driver_ring_start(&host.driver, &ring), sq_driver_ring_finish(&host.driver, &ring);
        sq_driver_ring_open(&host.driver, &ring, 0); // layers alone have no watchdog
    }

    void note(const Job &job, const Job::Layer &layer, sq_driver_done done)
    {
        char text[200], line[400];
        const bool is_right =
            std::memcmp(&memory.bytes[layer.out], layer.want.data(), layer.want.size()) == 0;
        cycles += done.cycles;
        is_wrong = is_wrong || (done.result == SQ_DRIVER_OK ? !is_right : job.is_sound);
        if (!kind.has_cycles) // nor has it when the engine waits
            done.cycles = done.wait = done.blocked = 0;
        std::snprintf(line, sizeof line,
                      "%s; cycles %" PRIu64 " busy %" PRIu64 " wait %" PRIu64 " blocked %" PRIu64
                      " read %" PRIu64 " written %" PRIu64 "; outputs %s\n  ",
                      sq_driver_text(&done, text, sizeof text), done.cycles, done.busy, done.wait,
                      done.blocked, done.read_beats, done.write_beats,
                      is_right ? "right" : "not those of the layer");
        log.back() += line;
    }

    // Memory without the counters in records, which are in the line.
    std::string bytes_of(const Job &job) const
    {
        std::string all(memory.bytes.begin(), memory.bytes.end());
        for (size_t i = 0; job.ring && i < job.layers.size(); i++)
            all.replace(job.ring + i * SQ_SLOT_NBYTES + SQ_RECORD_CYCLES_OFFSET,
                        SQ_COUNTERS * sizeof(uint64_t), SQ_COUNTERS * sizeof(uint64_t), '\0');
        return all;
    }
};

struct Platform {
    Memory memory;
    sq_sc::Chip<BUS> chip;
    Work work;
    sq_sc::Host host;
    sc_core::sc_signal<bool> irq;

    Platform(const Kind &k, const unsigned *value, const std::vector<Job> &jobs, const char *home)
        : memory((std::string("memory_") + k.name).c_str(), period, speed),
          chip((std::string("chip_") + k.name).c_str(), k.body, period, k.time,
               [=](const sqsim_memory *m, const sqsim_bus *b, sqsim_device **d, sqsim_error *e) {
                   return make(k.body, value, home, m, b, d, e);
               }),
          work{memory, chip, k, jobs, {}, {}},
          host((std::string("host_") + k.name).c_str(), [this](sq_sc::Host &h) { work.run(h); })
    {
        memory.grants_dmi = k.grants_dmi;
        memory.accepts_after = sc_core::sc_time(k.accepts_after, sc_core::SC_NS);
        chip.answers = k.answers;
        host.quantum = sc_core::sc_time(k.quantum, sc_core::SC_NS);
        host.registers.bind(chip.registers);
        chip.memory.bind(memory.socket);
        chip.irq.bind(irq);
        host.irq.bind(irq);
    }

    static sqsim_status make(sqsim_chip_body body, const unsigned *value, const char *home,
                             const sqsim_memory *m, const sqsim_bus *b, sqsim_device **d,
                             sqsim_error *e)
    {
        sq_error err{};
        sq_device_setup setup{};
        setup.body = sq_device_body(body);
        setup.value = value;
        setup.memory.kind = 1;
        setup.memory.n[0] = unsigned(speed.latency);
        setup.memory.n[1] = unsigned(speed.num);
        setup.memory.n[2] = unsigned(speed.den);
        setup.memory.n[3] = unsigned(speed.burst);
        setup.home = home;
        const sq_status status = sq_api_device(&setup, m, b, d, &err);
        std::snprintf(e->text, sizeof e->text, "%s", err.text);
        return sqsim_status(status);
    }
};

// The line of a log as has it a platform whose cycles are its own.
std::string without_cycles(std::string line)
{
    for (const std::string name : {" cycles ", " wait ", " blocked "})
        for (size_t at = 0; (at = line.find(name, at)) != std::string::npos;) {
            at += name.size();
            line.replace(at, line.find_first_not_of("0123456789", at) - at, "0");
        }
    return line;
}

// Puts a layer behind what is in memory.
void draw_layer(const unsigned *value, sq_rng *rng, Job *job)
{
    enum { PAGE = 4096 };
    auto drawn = std::make_unique<sq_top_drawn>();
    sq_top_layer l{};
    Job::Layer layer;
    sq_top_draw_shape(value, rng, &l);
    const sq_top_given g = sq_top_draw_image(value, rng, &l, SQ_DRAWN_RIGHT, drawn.get());
    const uint8_t *const image = reinterpret_cast<const uint8_t *>(g.word);
    const uint8_t *const want = reinterpret_cast<const uint8_t *>(g.want);
    const uint32_t base = uint32_t((job->image.size() + PAGE - 1) / PAGE * PAGE);
    std::memcpy(layer.word, image + g.descriptor, sizeof layer.word);
    for (const unsigned low : sq_top_address_word)
        sq_desc_set_address(layer.word, low, sq_desc_address(layer.word, low) + BASE + base);
    layer.want.assign(want, want + 4 * size_t(g.n_want));
    layer.descriptor = BASE + base + g.descriptor;
    layer.out = base + g.out;
    layer.has_notice = sq_rng_below(rng, 4) == 0;
    job->image.resize(base);
    job->image.insert(job->image.end(), image, image + 4 * size_t(g.n_words));
    std::memcpy(&job->image[base + g.descriptor], layer.word, sizeof layer.word);
    job->layers.push_back(layer);
}

// A good layer, a ring, one with an error somewhere, one whose descriptor is refused, and so on; of the rings every
// third is aborted, and every third has a watchdog.
Job draw(const unsigned *value, sq_rng *rng, unsigned number)
{
    const unsigned kind = number % 5, third = number / 5 % 3;
    const bool is_ring = kind == 1 || kind == 2;
    Job job{};
    for (unsigned n = is_ring ? 1 + sq_rng_below(rng, 3) : 1; n > 0; n--)
        draw_layer(value, rng, &job);
    job.bad = kind == 3 || (kind == 2 && third == 2) ? sq_rng_below(rng, uint32_t(job.image.size()))
                                                     : UINT64_MAX;
    if (kind == 4)
        job.layers[0].descriptor++;
    job.is_sound = kind == 0 || (kind == 1 && third > 0) || (kind == 2 && third == 0);
    if (!is_ring)
        return job;
    if (sq_rng_below(rng, 3) == 0) {
        job.layers[0].word[SQ_DRIVER_DESCRIPTOR_WORDS - 1] = 1;
        job.is_sound = false;
    }
    job.ring = uint32_t((job.image.size() + SQ_SLOT_NBYTES - 1) / SQ_SLOT_NBYTES * SQ_SLOT_NBYTES);
    job.image.resize(job.ring + (job.layers.size() + 1) * SQ_SLOT_NBYTES);
    job.abort_at = kind == 1 && third == 0 ? 1 + sq_rng_below(rng, 1000) : 0;
    job.watchdog = kind == 2 && third == 1 ? 1 + sq_rng_below(rng, 1000) : 0;
    return job;
}

// ---- what TLM-2.0 asks of sockets -----------------------------------------------------------------

unsigned checks, failed;
void check(bool is_right, const char *what)
{
    checks++;
    if (!is_right && ++failed)
        std::printf("not so: %s\n", what);
}

struct Rules : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<Rules, 32> registers{"registers"};
    tlm_utils::simple_initiator_socket<Rules, BUS> bytes{"bytes"};

    SC_HAS_PROCESS(Rules);
    explicit Rules(sc_core::sc_module_name name) : sc_module(name)
    {
        SC_THREAD(run);
    }

    template <typename Socket>
    tlm::tlm_response_status ask(Socket &socket, tlm::tlm_command command, uint64_t at,
                                 unsigned char *data, unsigned n, unsigned width = 0,
                                 unsigned char *enable = nullptr)
    {
        tlm::tlm_generic_payload t;
        sc_core::sc_time delay;
        t.set_command(command);
        t.set_address(at);
        t.set_data_ptr(data);
        t.set_data_length(n);
        t.set_streaming_width(width ? width : n);
        t.set_byte_enable_ptr(enable);
        t.set_byte_enable_length(enable ? 2 : 0);
        t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        socket->b_transport(t, delay);
        return t.get_response_status();
    }

    void run()
    {
        const auto read = tlm::TLM_READ_COMMAND, write = tlm::TLM_WRITE_COMMAND;
        unsigned char data[16] = {1, 2, 3, 4, 5, 6, 7, 8}, got[16] = {0}, odd[2] = {0, 0xff};
        tlm::tlm_generic_payload t;
        check(ask(registers, read, SQ_REG_ID_OFFSET, got, 4) == tlm::TLM_OK_RESPONSE, "a register");
        check(ask(registers, read, 0, got, 8) == tlm::TLM_BURST_ERROR_RESPONSE, "two registers");
        check(ask(registers, read, 0, got, 4, 2) == tlm::TLM_BURST_ERROR_RESPONSE,
              "a streamed one");
        check(ask(registers, write, 0, data, 4, 0, odd) == tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE,
              "half a register");
        check(ask(registers, read, 1, got, 4) == tlm::TLM_COMMAND_ERROR_RESPONSE, "SLVERR");
        check(ask(registers, read, UINT64_C(1) << 32, got, 4) == tlm::TLM_ADDRESS_ERROR_RESPONSE,
              "an address of 33 bits");
        check(ask(registers, tlm::TLM_IGNORE_COMMAND, 0, got, 4) == tlm::TLM_OK_RESPONSE,
              "ignored");
        t.set_data_length(4);
        check(registers->transport_dbg(t) == 0, "registers have no value without an access");
        check(ask(bytes, write, 4096, data, 8) == tlm::TLM_OK_RESPONSE &&
                  ask(bytes, read, 4096, got, 8) == tlm::TLM_OK_RESPONSE &&
                  std::memcmp(got, data, 8) == 0,
              "bytes");
        std::memset(got, 0, sizeof got);
        check(ask(bytes, read, 4096, got, 8, 0, odd) == tlm::TLM_OK_RESPONSE && got[0] == 0 &&
                  got[1] == 2 && got[6] == 0 && got[7] == 8,
              "byte enables of a read");
        std::memset(got, 9, sizeof got);
        check(ask(bytes, write, 4096, got, 8, 0, odd) == tlm::TLM_OK_RESPONSE &&
                  ask(bytes, read, 4096, got, 8) == tlm::TLM_OK_RESPONSE && got[0] == 1 &&
                  got[1] == 9,
              "byte enables of a write");
        check(ask(bytes, write, 4096, data, 8, 4) == tlm::TLM_OK_RESPONSE &&
                  ask(bytes, read, 4096, got, 8, 4) == tlm::TLM_OK_RESPONSE && got[0] == 5 &&
                  got[4] == 5,
              "a streaming width");
        check(ask(bytes, read, 8190, got, 4) == tlm::TLM_ADDRESS_ERROR_RESPONSE, "past the end");
        check(ask(bytes, read, 4096, got, 8, 3) == tlm::TLM_BURST_ERROR_RESPONSE, "8 bytes by 3");
        t.set_read();
        t.set_address(4096);
        t.set_data_ptr(got);
        t.set_streaming_width(4);
        check(bytes->transport_dbg(t) == 4, "debug transport");
        t.set_address(8190);
        check(bytes->transport_dbg(t) == 0, "debug transport past the end");
    }
};

} // namespace

int sc_main(int argc, char **argv)
{
    using sq_sc::Time;
    static const Kind kinds[] = {
        {"LT", SQSIM_CHIP_FAST, Time::MACHINE, true, 0, 0, 32, true},
        {"stepping", SQSIM_CHIP_STEPPING, Time::MACHINE, false, 0, 0, 32, true},
        {"RTL", SQSIM_CHIP_RTL, Time::MACHINE, true, 0, 0, 32, true},
        {"AT", SQSIM_CHIP_STEPPING, Time::TARGET, false, 0, 0, 32, true},
        {"AT_RTL", SQSIM_CHIP_RTL, Time::TARGET, false, 0, 0, 32, true},
        {"LT_quantum", SQSIM_CHIP_FAST, Time::MACHINE, false, 1000, 0, 32, true},
        {"AT_slow", SQSIM_CHIP_STEPPING, Time::TARGET, false, 0, 7, 1, false},
    };
    const size_t n_kinds = sizeof kinds / sizeof *kinds;
    const unsigned n = argc > 2 ? unsigned(std::atoi(argv[2])) : 60;
    sq_rng rng = {argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1};
    const sq_point *point = sq_top_block.points;
    if (argc < 2)
        return 2;
    while (point->value[SQ_TOP_DATA_W] != BUS)
        point++;
    speed = {sq_rng_below(&rng, 60), sq_rng_below(&rng, 9), 1 + sq_rng_below(&rng, 4),
             32u << sq_rng_below(&rng, 2)};
    std::vector<Job> jobs;
    for (unsigned i = 0; i < n; i++)
        jobs.push_back(draw(point->value, &rng, i));
    std::vector<std::unique_ptr<Platform>> platform;
    for (const Kind &k : kinds)
        platform.push_back(std::make_unique<Platform>(k, point->value, jobs, argv[1]));
    Rules rules("rules");
    Memory room("room", period, speed);
    room.base = 4096;
    room.bytes.resize(4096);
    sq_sc::Chip<BUS> asked(
        "asked", SQSIM_CHIP_STEPPING, period, Time::TARGET,
        [=](const sqsim_memory *m, const sqsim_bus *b, sqsim_device **d, sqsim_error *e) {
            return Platform::make(SQSIM_CHIP_STEPPING, point->value, argv[1], m, b, d, e);
        });
    sc_core::sc_signal<bool> irq;
    asked.memory.bind(room.socket);
    asked.irq.bind(irq);
    rules.registers.bind(asked.registers);
    rules.bytes.bind(room.socket);
    sc_core::sc_start();
    const Work &first = platform[0]->work, &stepped = platform[STEPPING]->work;
    unsigned wrong = failed, good = 0, rings = 0, aborted = 0;
    for (size_t p = 0; p < n_kinds; p++) {
        const Work &h = platform[p]->work;
        if (!h.is_done && wrong++ < 16)
            std::printf("job %zu: %s does not end\n", h.moves.size(), kinds[p].name);
        wrong += h.is_wrong;
        for (size_t i = 0; i < h.moves.size(); i++) {
            const Job &job = jobs[i];
            const bool is_fast = kinds[p].body == SQSIM_CHIP_FAST;
            if ((!kinds[p].has_cycles && (job.watchdog || job.abort_at)) ||
                (is_fast && job.abort_at))
                continue;
            const Work &as = job.abort_at ? stepped : first;
            if (i >= as.moves.size() || i >= stepped.moves.size())
                break; // that one does not end
            if (!is_fast && kinds[p].has_cycles && h.moves[i] != stepped.moves[i] && wrong++ < 16)
                std::printf("job %zu: %s moves other beats, or in other cycles\n", i,
                            kinds[p].name);
            const std::string want =
                kinds[p].has_cycles ? as.log[2 * i] : without_cycles(as.log[2 * i]);
            if (h.log[2 * i] != want && wrong++ < 16)
                std::printf("job %zu: %s says\n  %s\nin place of\n  %s\n", i, kinds[p].name,
                            h.log[2 * i].c_str(), want.c_str());
            if (h.log[2 * i + 1] != as.log[2 * i + 1] && wrong++ < 16)
                std::printf("job %zu: another memory of %s\n", i, kinds[p].name);
        }
        wrong += (platform[p]->chip.dmi_accesses() > 0) !=
                 (kinds[p].grants_dmi && kinds[p].time == Time::MACHINE);
    }
    for (size_t i = 0; i < std::min(first.moves.size(), stepped.moves.size()); i++) {
        good += !jobs[i].ring && first.log[2 * i].find("the layer is done") == 0;
        rings += jobs[i].ring != 0;
        aborted += stepped.log[2 * i].find("aborted") != std::string::npos;
    }
    wrong += platform[n_kinds - 1]->work.cycles <= stepped.cycles; // what waits takes longer
    std::printf("%s: %u layers and %u rings on LT, stepping and RTL of sq_top %s, and on AT of "
                "both, %u of the layers "
                "done, %u refused or with an error, %u of the rings aborted; %" PRIu64
                " accesses by DMI; %u rules of TLM; %u differences\n",
                wrong ? "FAIL" : "PASS", n - rings, rings, point->name, good, n - rings - good,
                aborted, platform[0]->chip.dmi_accesses(), checks, wrong);
    return wrong ? 1 : 0;
}
