// SPDX-License-Identifier: Apache-2.0
// Takes addresses of a DRAM apart (sq_dram_map.h).
#include "sim/dram/sq_dram_map.h"

#include <string.h>

static const char *const fields[SQ_DRAM_FIELDS] = {"channel", "pseudo", "rank",  "group",
                                                   "bank",    "row",    "column"};

const char *const sq_dram_map_names[] = {"groups", "xor", "banks", "pages", NULL};
static const char *const usual[] = {
    "row-rank-bank-column-group-pseudo-channel", "row-rank-bank-column-group-pseudo-channel+xor",
    "row-column-rank-bank-group-pseudo-channel", "row-rank-bank-group-column-pseudo-channel"};

static uint32_t log2_of(uint32_t n)
{
    uint32_t bits = 0;
    while (bits < 31 && 1u << bits < n)
        bits++;
    return bits;
}

// The field that stands at `text`, and, of a row or column, how many of its bits (0: the rest); false: none does.
static bool read_part(const char *text, size_t n, uint32_t *field, uint32_t *bits)
{
    *bits = 0;
    for (*field = 0; *field < SQ_DRAM_FIELDS; ++*field) {
        const size_t length = strlen(fields[*field]);
        if (n < length || strncmp(text, fields[*field], length) != 0)
            continue;
        if (n == length)
            return true;
        *bits = (uint32_t)(text[length] - '0');
        return (*field == SQ_DRAM_COLUMN || *field == SQ_DRAM_ROW) && n == length + 1 &&
               *bits >= 1 && *bits <= 9;
    }
    return false;
}

// The parts stand from the highest bits to the lowest in text, the other way round in the map.
static enum sq_status read_parts(const char *name, const char *text, size_t n,
                                 const uint32_t width[SQ_DRAM_FIELDS], struct sq_dram_map *map,
                                 struct sq_error *err)
{
    uint32_t used[SQ_DRAM_FIELDS] = {0};
    bool has_rest[SQ_DRAM_FIELDS] = {false};
    for (size_t end = n; end > 0;) {
        size_t begin = end;
        uint32_t field, bits;
        while (begin > 0 && text[begin - 1] != '-')
            begin--;
        if (!read_part(text + begin, end - begin, &field, &bits))
            return SQ_FAIL(
                err, SQ_ERR_ARG,
                "map = %.60s, need groups, xor, banks, pages, or row, rank, bank, group, "
                "column, pseudo and channel with '-' in between",
                name);
        if (has_rest[field] || bits + used[field] > width[field] ||
            map->n_parts == SQ_DRAM_FIELDS + 2)
            return SQ_FAIL(err, SQ_ERR_ARG,
                           "map = %.60s, need each field once, a row of %u bits and a column of %u",
                           name, width[SQ_DRAM_ROW], width[SQ_DRAM_COLUMN]);
        has_rest[field] = bits == 0;
        bits = bits ? bits : width[field] - used[field];
        map->part[map->n_parts].field = (uint8_t)field;
        map->part[map->n_parts].from = (uint8_t)used[field];
        map->part[map->n_parts++].width = (uint8_t)bits;
        used[field] += bits;
        end = begin > 0 ? begin - 1 : 0;
    }
    for (unsigned i = 0; i < SQ_DRAM_FIELDS; i++)
        if (!has_rest[i])
            return SQ_FAIL(err, SQ_ERR_ARG, "map = %.60s, need a field %s", name, fields[i]);
    return SQ_OK;
}

enum sq_status sq_dram_map_parse(const char *text, const struct sq_dram_device *d,
                                 unsigned channels, struct sq_dram_map *map, struct sq_error *err)
{
    const uint32_t width[SQ_DRAM_FIELDS] = {log2_of(channels),
                                            log2_of(d->pseudo),
                                            log2_of(d->ranks),
                                            log2_of(d->groups),
                                            log2_of(d->banks),
                                            log2_of(d->rows),
                                            log2_of(d->columns / d->burst)};
    const char *whole = text;
    for (unsigned i = 0; sq_dram_map_names[i]; i++)
        if (strcmp(text, sq_dram_map_names[i]) == 0)
            whole = usual[i];
    const size_t n = strlen(whole);
    const bool is_xor = n > 4 && strcmp(whole + n - 4, "+xor") == 0;
    *map = (struct sq_dram_map){.below = log2_of(sq_dram_burst_nbytes(d)),
                                .group_bits = is_xor ? width[SQ_DRAM_GROUP] : 0,
                                .bank_bits = is_xor ? width[SQ_DRAM_BANK] : 0};
    return read_parts(text, whole, is_xor ? n - 4 : n, width, map, err);
}

struct sq_dram_place sq_dram_map_place(const struct sq_dram_map *map, uint64_t address)
{
    struct sq_dram_place p = {{0}};
    address >>= map->below;
    for (uint32_t i = 0; i < map->n_parts; i++) {
        const uint32_t width = map->part[i].width;
        p.at[map->part[i].field] |= ((uint32_t)address & ((1u << width) - 1)) << map->part[i].from;
        address >>= width;
    }
    const uint32_t row = p.at[SQ_DRAM_ROW];
    p.at[SQ_DRAM_GROUP] ^= row & ((1u << map->group_bits) - 1);
    p.at[SQ_DRAM_BANK] ^= row >> map->group_bits & ((1u << map->bank_bits) - 1);
    return p;
}

uint64_t sq_dram_map_apart(const struct sq_dram_map *map, uint64_t from, uint64_t page,
                           uint32_t number)
{
    uint32_t banks = 1;
    for (uint32_t i = 0; i < map->n_parts; i++)
        banks <<= map->part[i].field == SQ_DRAM_BANK ? map->part[i].width : 0;
    for (uint64_t at = from; at <= from + SQ_DRAM_GAP_MAX; at += page)
        if (sq_dram_map_place(map, at).at[SQ_DRAM_BANK] == number % banks)
            return at;
    return from;
}
