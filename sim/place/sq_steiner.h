// SPDX-License-Identifier: Apache-2.0
// A tree of horizontal and vertical wires through the pins of a net.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

struct sq_steiner_node {
    double x, y;
    uint32_t parent; // its wire goes there; of node 0, which is the driver: itself
};

// The nodes of one tree; the first n_pins are the pins in their order, then points where wires meet.
struct sq_steiner {
    size_t n, n_pins, cap;
    struct sq_steiner_node *node; // owned
    uint32_t *left;               // private
};

// Makes the tree of node[0..n_pins), whose places the caller has set (sq_steiner_reserve). Prim's shortest tree
// without further points, then, as long as that shortens it, a point for two wires of one node where they can be
// one wire for a part of their way. It is at most 1.5 times the shortest tree there is; up to three pins it is
// the shortest.
enum sq_status sq_steiner_reserve(struct sq_steiner *s, size_t n_pins, struct sq_error *err);
void sq_steiner_make(struct sq_steiner *s);
void sq_steiner_free(struct sq_steiner *s);

// The length of the wire of a node; of all wires.
double sq_steiner_wire(const struct sq_steiner *s, size_t node);
double sq_steiner_length(const struct sq_steiner *s);
