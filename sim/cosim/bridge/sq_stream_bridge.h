// SPDX-License-Identifier: Apache-2.0
// What the bridges of blocks with one input and one output stream share. A bridge names its top and
// its data ports, in the order of the fields in sim/sq_stream_*.c.
#ifndef SQ_STREAM_BRIDGE_H
#define SQ_STREAM_BRIDGE_H

#include "sq_bridge.h"

namespace sq_bridge
{

// put(top, fields) drives the input fields, get(top, fields) reads the output fields.
template <class Top, void put(Top &, const uint32_t *const *)>
void stream_comb(void *opaque, const sq_rtl_stream_in *in, sq_rtl_stream_out *out)
{
    auto *model = static_cast<Model<Top> *>(opaque);
    Top &top = *model->top;
    top.in_valid_i = in->in_valid;
    top.out_ready_i = in->out_ready;
    if (in->in_valid)
        put(top, in->field);
    model->comb();
    out->in_ready = top.in_ready_o;
    out->out_valid = top.out_valid_o;
}

template <class Top, void get(const Top &, uint32_t *const *)>
void stream_beat(void *opaque, uint32_t *const *field)
{
    get(*static_cast<Model<Top> *>(opaque)->top, field);
}

template <class Top, void put(Top &, const uint32_t *const *),
          void get(const Top &, uint32_t *const *)>
const sq_rtl_api *stream_entry()
{
    static const sq_rtl_api api = {
        create<Top>,
        destroy<Top>,
        clock<Top>,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        nullptr,
        stream_comb<Top, put>,
        stream_beat<Top, get>,
        select_mutant,
        write_coverage<Top>,
    };
    return &api;
}

// Blocks with a second input stream: put_second(top, in) drives its valid and its fields,
// second_ready(top) is its ready.
template <class Top, void put(Top &, const uint32_t *const *),
          void put_second(Top &, const sq_rtl_stream_in *), bool second_ready(const Top &)>
void two_stream_comb(void *opaque, const sq_rtl_stream_in *in, sq_rtl_stream_out *out)
{
    Top &top = *static_cast<Model<Top> *>(opaque)->top;
    put_second(top, in);
    stream_comb<Top, put>(opaque, in, out);
    out->second_ready = second_ready(top);
}

template <class Top, void put(Top &, const uint32_t *const *),
          void put_second(Top &, const sq_rtl_stream_in *), bool second_ready(const Top &),
          void get(const Top &, uint32_t *const *)>
const sq_rtl_api *two_stream_entry()
{
    static const sq_rtl_api api = [] {
        sq_rtl_api a = *stream_entry<Top, put, get>();
        a.stream_comb = two_stream_comb<Top, put, put_second, second_ready>;
        return a;
    }();
    return &api;
}

} // namespace sq_bridge

#endif
