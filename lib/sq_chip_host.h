// SPDX-License-Identifier: Apache-2.0
// A host for the chip's register socket (sq_chip.h): a program with the chip's driver (sq_driver.h), which waits for the
// interrupt. It runs ahead of time by up to `quantum`.
#ifndef SQ_CHIP_HOST_H
#define SQ_CHIP_HOST_H

#include <functional>

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/tlm_quantumkeeper.h>

#include "lib/sq_driver.h"

namespace sq_sc
{

struct Host : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<Host, 32> registers{"registers"};
    sc_core::sc_in<bool> irq{"irq"};
    sc_core::sc_time quantum; // zero: it stays in time
    tlm_utils::tlm_quantumkeeper keeper;
    const sq_driver driver = {this, read, write, sleep};

    SC_HAS_PROCESS(Host);
    Host(sc_core::sc_module_name name, std::function<void(Host &)> program)
        : sc_module(name), program_(std::move(program))
    {
        SC_THREAD(run);
    }

  private:
    std::function<void(Host &)> program_;

    void run()
    {
        keeper.reset();
        program_(*this);
        keeper.sync();
    }

    void access(tlm::tlm_command command, uint32_t at, uint32_t *data)
    {
        tlm::tlm_generic_payload t;
        sc_core::sc_time delay = keeper.get_local_time();
        t.set_command(command);
        t.set_address(at);
        t.set_data_ptr(reinterpret_cast<unsigned char *>(data));
        t.set_data_length(sizeof *data);
        t.set_streaming_width(sizeof *data);
        registers->b_transport(t, delay);
        if (!t.is_response_ok())
            SC_REPORT_WARNING(name(), t.get_response_string().c_str());
        keeper.set(delay);
        if (delay >= quantum)
            keeper.sync();
    }

    static uint32_t read(void *ctx, uint32_t at)
    {
        uint32_t data = 0;
        static_cast<Host *>(ctx)->access(tlm::TLM_READ_COMMAND, at, &data);
        return data;
    }

    static void write(void *ctx, uint32_t at, uint32_t data)
    {
        static_cast<Host *>(ctx)->access(tlm::TLM_WRITE_COMMAND, at, &data);
    }

    static int sleep(void *ctx)
    {
        Host *const h = static_cast<Host *>(ctx);
        h->keeper.sync();
        if (!h->irq.read())
            h->wait(h->irq.posedge_event());
        return 1;
    }
};

} // namespace sq_sc

#endif
