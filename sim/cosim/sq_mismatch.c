// SPDX-License-Identifier: Apache-2.0
// What sq_lockstep.h tells of a difference.
#include <stdio.h>

#include "sim/cosim/sq_lockstep.h"

bool sq_mismatch_is_value(const struct sq_mismatch *m)
{
    return m->kind == SQ_MISMATCH_VALUE;
}

void sq_compared_add(struct sq_compared *to, const struct sq_compared *c)
{
    to->cycles += c->cycles;
    to->beats += c->beats;
    to->tiles += c->tiles;
    to->integers += c->integers;
    to->resets += c->resets;
    to->active += c->active;
}

void sq_mismatch_text(const struct sq_case *c, const struct sq_mismatch *m, char *text, size_t cap)
{
    char element[16] = "", place[48] = "";
    if (m->kind == SQ_MISMATCH_ASSERTION) {
        snprintf(text, cap, "%s: assertion failed", m->what);
        return;
    }
    if (m->kind == SQ_MISMATCH_VALUE)
        snprintf(element, sizeof element, "[%u]", m->index);
    if (m->kind == SQ_MISMATCH_VALUE && !m->is_status && !m->is_ask)
        sq_element_place(c->block, c->point->value, m->field, m->index, place);
    const int n =
        snprintf(text, cap, "%s%s%s: rtl 0x%llx (%lld), model 0x%llx (%lld)", m->what, element,
                 place, (unsigned long long)m->got & 0xffffffff, (long long)m->got,
                 (unsigned long long)m->want & 0xffffffff, (long long)m->want);
    if (m->kind == SQ_MISMATCH_HANG && n > 0 && (size_t)n < cap)
        snprintf(text + n, cap - (size_t)n, "; no progress for %llu cycles",
                 (unsigned long long)m->quiet);
}
