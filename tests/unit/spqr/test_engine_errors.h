// SPDX-License-Identifier: Apache-2.0
// Which errors the engine of SpQR tells (a part of tests/sim/test_engine_errors.c).

// x, value of an outlier, an outlier of 0 in column 0, bits 63:62, a copy that differs; second order; offsets that
// fall, too many outliers, a column that is not there, columns that do not ascend
ENGINE_ERRORS(engine_spqr, t4, "CCCCCSIIII")
ENGINE_ERRORS(engine_spqr, t16, "CCCCCSIIII")

// An outlier in a column that the token does not have is 0.
SQ_TEST(spqr_column_that_is_not_there)
{
    enum { COLUMN = 8 };
    struct job a = job_of("engine_spqr", "t4", 2 * COLUMN),
               b = job_of("engine_spqr", "t4", 2 * COLUMN);
    size_t n = 0;
    for (size_t i = 0; i < b.group.len[4]; i++)
        if (*at(&b, i, "column") >= 16 * *at(&b, 0, "tiles")) {
            *at(&b, i, "column") = 0;
            *at(&b, i, "value") = 0;
            n++;
        }
    assert_int_equal(n, 1);
    end_alike(&a, &b);
}

// Offsets 0, 1, 0, 1, 1, ...: the third counts as the one before, which INDEX says; the only outlier is row 0's.
SQ_TEST(spqr_offset_that_falls)
{
    enum { RIGHT = 1, ROWS = 16 };
    struct job a = job_of("engine_spqr", "t4", RIGHT), b = job_of("engine_spqr", "t4", RIGHT);
    struct job *const both[] = {&a, &b};
    for (size_t i = 0; i < 2; i++) {
        *at(both[i], 0, "rows") = 1;
        for (size_t r = 0; r <= ROWS; r++)
            *at(both[i], r, "at") = r > 0;
        both[i]->c.len[RIGHT][4] = 1;
    }
    *at(&b, 2, "at") = 0;
    compute(&a);
    compute(&b);
    assert_int_equal(told(&a.p, a.out, a.words), 0);
    assert_int_equal(told(&b.p, b.out, b.words), bit_of('I'));
    check_outputs(&a, &b);
    free_job(&a);
    free_job(&b);
}
