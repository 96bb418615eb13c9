// SPDX-License-Identifier: Apache-2.0
// An initiator for platforms of one's own: reads and writes of a TLM-2.0 target, the time they
// took.
#pragma once

#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>

namespace sq_sc
{

struct TlmPort : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<TlmPort> socket{"socket"};
    sc_core::sc_time passed; // by all accesses

    explicit TlmPort(sc_core::sc_module_name name) : sc_module(name)
    {
    }

    tlm::tlm_response_status write(uint64_t at, const void *data, size_t n)
    {
        return transport(tlm::TLM_WRITE_COMMAND, at, const_cast<void *>(data), n);
    }
    tlm::tlm_response_status read(uint64_t at, void *data, size_t n)
    {
        return transport(tlm::TLM_READ_COMMAND, at, data, n);
    }

  private:
    tlm::tlm_response_status transport(tlm::tlm_command command, uint64_t at, void *data, size_t n)
    {
        tlm::tlm_generic_payload t;
        t.set_command(command);
        t.set_address(at);
        t.set_data_ptr(static_cast<unsigned char *>(data));
        t.set_data_length(unsigned(n));
        t.set_streaming_width(unsigned(n));
        t.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        socket->b_transport(t, passed);
        return t.get_response_status();
    }
};

} // namespace sq_sc
