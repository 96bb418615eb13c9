// SPDX-License-Identifier: Apache-2.0
// The longest path that ends in each part of a chip (sq_synth_run.h). Yosys says which modules have which
// instances; each flip-flop and memory of the netlist belongs to the instance that its name is in.
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/io/sq_file.h"
#include "sim/io/sq_grow.h"
#include "sim/synth/sq_synth_run.h"

enum { DEPTH = 16 }; // of modules in modules

// Units of a chip by the modules that they are, with all below that is of no other one.
static const struct {
    const char *module, *unit; // as fnmatch has it
} units[] = {{"sq_pe_*", "PEs"},
             {"sq_*_line", "decoders"},
             {"sq_array_code", "decoders"},
             {"sq_output*", "output stage"},
             {"sq_*_tail", "output stage"},
             {"sq_engine_*", "engine"},
             {"sq_encode", "encoder"},
             {"sq_top_vector", "vector unit"},
             {"sq_top_attend", "attention"},
             {"sq_dma*", "DMA and ring"},
             {"sq_ring", "DMA and ring"},
             {"sq_sequencer", "control"},
             {"sq_top_regs", "control"},
             {"sq_top_operand", "buffers"},
             {"sq_operand_buffer", "buffers"},
             {"sq_sram*", "memories"},
             {"*", "queues"}}; // the top

const char *sq_synth_part_name(const struct sq_synth_block *b, const char *module, const char *unit,
                               char name[SQ_SYNTH_PART_LEN])
{
    const char *from = strchr(module, '\\');
    from = from ? from + 1 : module;
    char own[SQ_SYNTH_PART_LEN];
    snprintf(own, sizeof own, "%.*s", (int)strcspn(from, "\\"), from);
    if (!b->keeps_chip) {
        memcpy(name, own, sizeof own);
        return NULL;
    }
    size_t i = 0;
    while (fnmatch(units[i].module, own, 0) != 0)
        i++;
    if (i + 1 < sizeof units / sizeof units[0] || !unit)
        unit = units[i].unit;
    snprintf(name, SQ_SYNTH_PART_LEN, "%s/%.30s", unit, own);
    return unit;
}

// An instance; `in`: the module that it stands in.
struct instance {
    char *in, *module, *name; // owned; as Yosys writes them, without the first backslash
};

struct design {
    struct instance *at;
    size_t n;
};

static void free_design(struct design *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->at[i].in);
        free(d->at[i].module);
        free(d->at[i].name);
    }
    free(d->at);
}

static const char *plain(const char *name)
{
    return name + (name[0] == '\\');
}

static enum sq_status add(struct design *d, const char *in, const char *module, const char *name,
                          struct sq_error *err)
{
    SQ_TRY(SQ_GROW(d->at, d->n, err, "a synthesis"));
    struct instance *i = &d->at[d->n];
    *i = (struct instance){strdup(plain(in)), strdup(plain(module)), strdup(plain(name))};
    d->n++;
    SQ_NEED(i->in && i->module && i->name, err, "a synthesis");
    return SQ_OK;
}

// Lines "module \NAME" and "  cell \TYPE \NAME" of what Yosys dumps; names hold no blanks.
static enum sq_status read_design(struct design *d, const char *work, struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 32], module[512] = "", type[512], name[512];
    SQ_FREED char *line = NULL;
    size_t cap = 0;
    snprintf(path, sizeof path, "%s/" SQ_SYNTH_INSTANCES, work);
    FILE *f = fopen(path, "r");
    if (!f)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read '%s'", sq_path_tail(path));
    enum sq_status status = SQ_OK;
    while (status == SQ_OK && getline(&line, &cap, f) > 0) {
        if (sscanf(line, "module %511s", name) == 1)
            memcpy(module, name, sizeof module);
        else if (sscanf(line, " cell %511s %511s", type, name) == 2)
            status = add(d, module, type, name, err);
    }
    fclose(f);
    return status;
}

// Commands that say the part of each instance of a module that stands at `path`.
static void print_below(FILE *out, const struct design *d, const struct sq_synth_block *b,
                        const char *module, const char *path, const char *unit, unsigned depth)
{
    for (size_t i = 0; i < d->n && depth < DEPTH; i++) {
        const struct instance *at = &d->at[i];
        char name[SQ_SYNTH_PART_LEN], *below;
        if (strcmp(at->in, module) != 0)
            continue;
        const char *const of = sq_synth_part_name(b, at->module, unit, name);
        if (asprintf(&below, "%s%s/", path, at->name) < 0)
            return;
        fprintf(out, "set {parts(%s)} {%s}\n", below, name);
        print_below(out, d, b, at->module, below, of, depth + 1);
        free(below);
    }
}

// Memories have no sequential cell group in their libraries but clocked pins, so all_registers names them, too.
// Flip-flops of the falling edge have half a period for their paths, which those of the whole count (sta_paths).
const char sq_synth_part_script[] =
    "foreach cell [all_registers -cells -rise_clock [all_clocks]] {\n"
    "  set name [get_full_name $cell]\n"
    "  set at [string range $name 0 [string last / $name]]\n"
    "  if {[info exists parts($at)]} { lappend ends($parts($at)) $cell }\n"
    "}\n"
    "set out [open " SQ_SYNTH_PART_PATHS " w]\n"
    "foreach name [lsort [array names ends]] {\n"
    "  set least 1e30\n"
    "  foreach end [find_timing_paths -rise_from [all_clocks] -to $ends($name)] {\n"
    "    if {[$end slack] * 1e9 < $least} { set least [expr [$end slack] * 1e9] }\n"
    "  }\n"
    "  if {$least < 1e29} { puts $out \"[expr 10 - $least] $name\" }\n"
    "}\n"
    "close $out\n";

enum sq_status sq_synth_print_part_paths(FILE *out, const struct sq_synth_block *block,
                                         const char *work, struct sq_error *err)
{
    struct design d = {0};
    enum sq_status status = read_design(&d, work, err);
    if (status == SQ_OK) {
        char name[SQ_SYNTH_PART_LEN];
        const char *const unit = sq_synth_part_name(block, block->top, NULL, name);
        fprintf(out, "array set parts {{} {%s}}\n", name);
        print_below(out, &d, block, block->top, "", unit, 0);
        fputs(sq_synth_part_script, out);
    }
    free_design(&d);
    return status;
}

enum sq_status sq_synth_read_part_paths(json_t *parts, const char *work, struct sq_error *err)
{
    char path[SQ_SYNTH_PATH_LEN + 32], name[SQ_SYNTH_PART_LEN];
    double ns;
    snprintf(path, sizeof path, "%s/" SQ_SYNTH_PART_PATHS, work);
    FILE *f = fopen(path, "r");
    if (!f)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot read '%s'", sq_path_tail(path));
    while (fscanf(f, "%lf %47[^\n]", &ns, name) == 2)
        json_object_set_new(json_object_get(parts, name), "path_ns", json_real(ns));
    fclose(f);
    return SQ_OK;
}
