// SPDX-License-Identifier: Apache-2.0
// Points of sqsim.h: the rows of a database of `sqsim sweep --db`, checked as they are read.
#include <stdlib.h>
#include <string.h>

#include "lib/sq_api.h"
#include "sim/io/sq_grow.h"
#include "sim/sweep/sq_sweep_db.h"

struct sqsim_points {
    size_t n;
    struct sq_api_point {
        char *sweep, *parameters, *measures, *provenance;
    } * point;
};

void sqsim_points_free(sqsim_points *points)
{
    for (size_t i = 0; points && i < points->n; i++) {
        const struct sq_api_point *p = &points->point[i];
        SQ_FREE(p->sweep, p->parameters, p->measures, p->provenance);
    }
    if (points)
        free(points->point);
    free(points);
}

static enum sq_status add_point(void *context, const struct sq_sweep_row *row, struct sq_error *err)
{
    struct sqsim_points *p = context;
    SQ_TRY(SQ_GROW(p->point, p->n, err, "%zu points", p->n));
    struct sq_api_point *to = &p->point[p->n++];
    *to = (struct sq_api_point){strdup(row->sweep), strdup(row->parameters), strdup(row->measures),
                                strdup(row->provenance)};
    return SQ_HAVE(to->sweep && to->parameters && to->measures && to->provenance, err, "%zu points",
                   p->n);
}

// The specification that points come from has a digest as well.
static enum sq_status check_specs(struct sq_sweep_db *db, const struct sqsim_points *p,
                                  struct sq_error *err)
{
    for (size_t i = 0; i < p->n; i++) { // by ascending sweep
        SQ_FREED char *title = NULL, *spec = NULL;
        if (i > 0 && strcmp(p->point[i].sweep, p->point[i - 1].sweep) == 0)
            continue;
        SQ_TRY(sq_sweep_db_spec(db, p->point[i].sweep, &title, &spec, err));
    }
    return SQ_OK;
}

static enum sq_status read_points(const char *path, struct sqsim_points *p, struct sq_error *err)
{
    struct sq_sweep_db *db;
    SQ_TRY(sq_sweep_db_open(&db, path, false, err));
    enum sq_status status = sq_sweep_db_each(db, add_point, p, err);
    SQ_THEN(status, check_specs(db, p, err));
    sq_sweep_db_close(db);
    return status;
}

enum sqsim_status sqsim_points_read(const char *path, sqsim_points **points,
                                    struct sqsim_error *err)
{
    SQ_API_ENTER();
    SQ_API_MAKE(points, "points", read_points(path, *points, &inner), sqsim_points_free);
}

size_t sqsim_points_n(const sqsim_points *points)
{
    return points->n;
}

const char *sqsim_points_sweep(const sqsim_points *points, size_t i)
{
    return i < points->n ? points->point[i].sweep : NULL;
}

const char *sqsim_points_parameters(const sqsim_points *points, size_t i)
{
    return i < points->n ? points->point[i].parameters : NULL;
}

const char *sqsim_points_measures(const sqsim_points *points, size_t i)
{
    return i < points->n ? points->point[i].measures : NULL;
}

const char *sqsim_points_provenance(const sqsim_points *points, size_t i)
{
    return i < points->n ? points->point[i].provenance : NULL;
}
