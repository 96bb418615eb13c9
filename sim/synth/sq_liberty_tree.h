// SPDX-License-Identifier: Apache-2.0
// The statements of one group of a Liberty file, as a tree of references into its text. The text was
// checked before by sq_liberty_read.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sq_status.h"

struct sq_lib_text {
    const char *at;
    size_t n;
};

// name : text;   name (text);   name (text) { children }
struct sq_lib_node {
    struct sq_lib_text name, text;
    uint32_t child, next; // numbers of nodes, 0: none
    bool is_group;
};

struct sq_lib_tree {
    size_t n;
    struct sq_lib_node *node; // [0] is the group itself; owned
    // private
    const char *at, *end;
    struct sq_error *err;
};

// The group that starts at `at` with its name. What lies in groups called `skip` (NULL: none) is
// passed over. SQ_ERR_DAMAGED, SQ_ERR_MEMORY.
enum sq_status sq_lib_tree_read(struct sq_lib_tree *tree, const char *at, const char *end,
                                const char *skip, struct sq_error *err);
void sq_lib_tree_free(struct sq_lib_tree *tree);

// The first child of this name behind child `from` (0: of all), NULL: none.
const struct sq_lib_node *sq_lib_child(const struct sq_lib_tree *tree,
                                       const struct sq_lib_node *group, const char *name);
const struct sq_lib_node *sq_lib_next(const struct sq_lib_tree *tree,
                                      const struct sq_lib_node *node, const char *name);

// The text of a child without blanks and quotes around it; false where there is none or it is
// longer than `size` - 1.
bool sq_lib_string(const struct sq_lib_tree *tree, const struct sq_lib_node *group,
                   const char *name, char *out, size_t size);
void sq_lib_unquote(struct sq_lib_text text, char *out, size_t size);
// A number of a child; `fallback` where there is none.
double sq_lib_number(const struct sq_lib_tree *tree, const struct sq_lib_node *group,
                     const char *name, double fallback);
// What the library calls 1 of a capacitance, in farads: capacitive_load_unit (1, pf), or 1 pF.
double sq_lib_cap_unit(const struct sq_lib_tree *tree);
// All numbers of a text, at most `max` of them into `out` (NULL: only counted).
size_t sq_lib_numbers(struct sq_lib_text text, double *out, size_t max);
