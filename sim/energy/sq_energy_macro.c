// SPDX-License-Identifier: Apache-2.0
// SRAM macros in Liberty (sq_energy_memory.h).
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/energy/sq_energy_memory.h"
#include "sim/io/sq_file.h"
#include "sim/synth/sq_liberty_power.h"
#include "sim/synth/sq_liberty_tree.h"

enum { MACRO_MAX_NBYTES = 16 << 20, WORD_BITS_MAX = 4096, ADDRESS_BITS_MAX = 30 };

struct macro {
    const char *what;
    struct sq_lib_models units; // of the library
    struct sq_lib_tree tree;    // of the cell
    double nbits, word;         // of the macro, of a word
    double read, write, data, leak;
    struct sq_error *err;
};

static enum sq_status refuse(const struct macro *m, const char *what)
{
    return SQ_FAIL(m->err, SQ_ERR_UNSUPPORTED, "'%s' is no SRAM macro that can be read: %s",
                   m->what, what);
}

// Far above every macro: what is beyond was written in other units, or is no number.
#define JOULES_MAX 1e-3
#define WATTS_MAX 1e3

static enum sq_status check_range(const struct macro *m, const char *what, double value, double max,
                                  const char *unit)
{
    if (value >= 0 && value <= max)
        return SQ_OK;
    return SQ_FAIL(m->err, SQ_ERR_RANGE, "'%s': %s %g %s, need 0..%g", m->what, what, value, unit,
                   max);
}

// The value of a table without axes; 0 where there is none, NaN where it is no number.
static double scalar(const struct macro *m, const struct sq_lib_node *power, const char *name)
{
    const struct sq_lib_node *table = sq_lib_child(&m->tree, power, name);
    const struct sq_lib_node *values = table ? sq_lib_child(&m->tree, table, "values") : NULL;
    double value = 0;
    return !values || sq_lib_numbers(values->text, &value, 1) == 1 ? value : (double)NAN;
}

// Whether the literal of the enable that ends with `enable` stands in `when` with this sign. A state is
// a product: "A_MEN & !A_WEN & A_REN".
static bool has_literal(const char *when, const char *enable, bool is_set)
{
    char name[SQ_LIB_NAME_LEN];
    for (const char *at = when; *at;) {
        size_t n = 0;
        bool is_not = false;
        while (*at && !isalpha((unsigned char)*at)) {
            if (*at == '!')
                is_not = true;
            at++;
        }
        while ((isalnum((unsigned char)*at) || *at == '_') && n + 1 < sizeof name)
            name[n++] = *at++;
        name[n] = '\0';
        const size_t tail = strlen(enable);
        if (n >= tail && strcmp(name + n - tail, enable) == 0 && is_not != is_set)
            return true;
    }
    return false;
}

static enum sq_status read_clock(struct macro *m, const struct sq_lib_node *pin)
{
    char when[256];
    bool has_read = false, has_write = false;
    for (const struct sq_lib_node *p = sq_lib_child(&m->tree, pin, "internal_power"); p;
         p = sq_lib_next(&m->tree, p, "internal_power")) {
        if (!sq_lib_string(&m->tree, p, "when", when, sizeof when) ||
            !has_literal(when, "MEN", true))
            continue;
        const double joules = (scalar(m, p, "rise_power") + scalar(m, p, "fall_power"));
        if (has_literal(when, "REN", true) && has_literal(when, "WEN", false)) {
            m->read = joules * m->units.energy;
            has_read = true;
        } else if (has_literal(when, "WEN", true) && has_literal(when, "REN", false)) {
            m->write = joules * m->units.energy;
            has_write = true;
        }
    }
    return has_read && has_write
               ? SQ_OK
               : refuse(m, "its clock has no energy by the states of MEN, WEN and REN");
}

static bool is_clock(const struct macro *m, const struct sq_lib_node *pin)
{
    char text[32];
    return sq_lib_string(&m->tree, pin, "clock", text, sizeof text) && strcmp(text, "true") == 0;
}

// The bus that is written: its energy is that of all its bits together.
static double data_energy(const struct macro *m, const struct sq_lib_node *cell)
{
    for (const struct sq_lib_node *bus = sq_lib_child(&m->tree, cell, "bus"); bus;
         bus = sq_lib_next(&m->tree, bus, "bus")) {
        const struct sq_lib_node *pin = sq_lib_child(&m->tree, bus, "pin");
        if (!sq_lib_child(&m->tree, bus, "memory_write") || !pin)
            continue;
        const struct sq_lib_node *power = sq_lib_child(&m->tree, pin, "internal_power");
        const double rise = power ? scalar(m, power, "rise_power") : 0;
        const double fall = power ? scalar(m, power, "fall_power") : 0;
        return m->units.energy * (rise > fall ? rise : fall);
    }
    return 0;
}

static enum sq_status read_cell(struct macro *m)
{
    const struct sq_lib_node *cell = m->tree.node;
    const struct sq_lib_node *memory = sq_lib_child(&m->tree, cell, "memory");
    const double word = memory ? sq_lib_number(&m->tree, memory, "word_width", 0) : 0;
    const double address = memory ? sq_lib_number(&m->tree, memory, "address_width", 0) : 0;
    if (!(word >= 1 && word <= WORD_BITS_MAX && address >= 1 && address <= ADDRESS_BITS_MAX))
        return refuse(m, "it gives no word_width and address_width");
    m->word = word;
    m->nbits = word * exp2(address);
    const bool has_leak = sq_lib_child(&m->tree, cell, "cell_leakage_power") != NULL;
    m->leak = m->units.power *
              sq_lib_number(&m->tree, cell, "cell_leakage_power", has_leak ? (double)NAN : 0);
    m->data = data_energy(m, cell);
    for (const struct sq_lib_node *pin = sq_lib_child(&m->tree, cell, "pin"); pin;
         pin = sq_lib_next(&m->tree, pin, "pin"))
        if (is_clock(m, pin) && sq_lib_child(&m->tree, pin, "internal_power"))
            return read_clock(m, pin);
    return refuse(m, "it has no clock with internal_power");
}

static enum sq_status read_text(struct macro *m, char *text, size_t nbytes)
{
    const struct sq_liberty lib = {.text = text, .nbytes = nbytes};
    const struct sq_lib_node *cell;
    SQ_TRY(sq_lib_models_open(&m->units, &lib, m->err));
    cell = sq_lib_child(m->units.tree, m->units.tree->node, "cell");
    enum sq_status status =
        cell ? sq_lib_tree_read(&m->tree, cell->name.at, text + nbytes, NULL, m->err)
             : refuse(m, "it has no cell");
    if (status == SQ_OK) {
        status = read_cell(m);
        sq_lib_tree_free(&m->tree);
    }
    sq_lib_models_close(&m->units);
    return status;
}

static enum sq_status read_macro(const char *path, struct macro *m, struct sq_error *err)
{
    SQ_CLOSED(sq_file_unmap) struct sq_file_view file = {0};
    *m = (struct macro){.what = sq_path_tail(path), .err = err};
    SQ_TRY(sq_file_map_text(path, MACRO_MAX_NBYTES, &file, err));
    SQ_FREED char *text = malloc(file.nbytes + 1);
    SQ_NEED(text, err, "'%s'", m->what);
    if (file.nbytes)
        memcpy(text, file.data, file.nbytes);
    text[file.nbytes] = '\0';
    return strlen(text) == file.nbytes ? read_text(m, text, file.nbytes)
                                       : refuse(m, "it holds zero bytes");
}

static void widen(struct sq_memory_range *range, double low, double high, bool is_first)
{
    if (is_first || low < range->end[0])
        range->end[0] = low;
    if (is_first || high > range->end[1])
        range->end[1] = high;
}

enum sq_status sq_energy_memory_macros(const char *const *path, size_t n,
                                       struct sq_energy_memory *memory, struct sq_error *err)
{
    memory->sram_source[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        struct macro m;
        const size_t used = strlen(memory->sram_source);
        SQ_TRY(read_macro(path[i], &m, err));
        SQ_TRY(check_range(&m, "a read takes", m.read, JOULES_MAX, "J"));
        SQ_TRY(check_range(&m, "a write takes", m.write, JOULES_MAX, "J"));
        SQ_TRY(check_range(&m, "its data bus takes", m.data, JOULES_MAX, "J"));
        SQ_TRY(check_range(&m, "it leaks", m.leak, WATTS_MAX, "W"));
        widen(&memory->read, m.read / m.word, m.read / m.word, i == 0);
        widen(&memory->write, m.write / m.word, (m.write + m.data) / m.word, i == 0);
        widen(&memory->leak, m.leak / m.nbits, m.leak / m.nbits, i == 0);
        snprintf(memory->sram_source + used, sizeof memory->sram_source - used, "%s%s",
                 used ? ", " : "", m.what);
    }
    return SQ_OK;
}
