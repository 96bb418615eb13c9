// SPDX-License-Identifier: Apache-2.0
#include "sim/format/sq_system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sq_system_ops *const table[SQ_SYSTEMS] = {
    [SQ_SYSTEM_SP24] = &sq_system_sp24,
    [SQ_SYSTEM_GQSA] = &sq_system_gqsa,
    [SQ_SYSTEM_SPQT] = &sq_system_spqt,
    [SQ_SYSTEM_SPQR] = &sq_system_spqr,
};

const struct sq_system_ops *sq_system_ops(enum sq_system system)
{
    return (unsigned)system < SQ_SYSTEMS ? table[system] : NULL;
}

enum sq_system sq_system_find(const char *name)
{
    for (unsigned i = 0; i < SQ_SYSTEMS; i++)
        if (table[i] && strcmp(table[i]->name, name) == 0)
            return (enum sq_system)i;
    return SQ_SYSTEM_GRID;
}

enum sq_status sq_system_part_find(const struct sq_system_source *s, const char *part,
                                   enum sq_dtype dtype, unsigned n_dims, const size_t *dim,
                                   const struct sq_tensor **t, struct sq_error *err)
{
    const size_t nbytes = strlen(s->layer) + strlen(part) + 2;
    char *full = malloc(nbytes);
    if (!full)
        return SQ_FAIL(err, SQ_ERR_MEMORY, "out of memory for a name");
    snprintf(full, nbytes, "%s%s%s", s->layer, *s->layer ? "." : "", part);
    *t = sq_safetensors_find(s->file, full);
    free(full);
    if (!*t)
        return SQ_FAIL(err, SQ_ERR_DAMAGED, "tensor %s of layer '%.60s' is missing", part,
                       s->layer);
    if ((*t)->dtype != dtype || (*t)->n_dims != n_dims)
        return SQ_FAIL(err, SQ_ERR_SHAPE, "tensor %s of layer '%.60s' is not %s of %u dimensions",
                       part, s->layer, sq_dtype_name(dtype), n_dims);
    for (unsigned i = 0; i < n_dims; i++)
        if (dim[i] != SIZE_MAX && (*t)->dim[i] != dim[i])
            return SQ_FAIL(
                err, SQ_ERR_STREAM_LEN,
                "tensor %s of layer '%.60s': dimension %u is %llu, its metadata need %zu", part,
                s->layer, i, (unsigned long long)(*t)->dim[i], dim[i]);
    return SQ_OK;
}
