// SPDX-License-Identifier: Apache-2.0
// Which errors the engine of GQSA tells (a part of tests/sim/test_engine_errors.c).

// -128; scale of a token, of a group; first offset, offsets that fall, an index beyond the groups, order
ENGINE_ERRORS(engine_gqsa, g4, "CSSIIII")
ENGINE_ERRORS(engine_gqsa, g16, "CSSIIII")
ENGINE_ERRORS(engine_gqsa, g8, "CSSIIII")

// An index of K/G or more finds zeros: the output is that of a group whose codes are its zero.
SQ_TEST(gqsa_index_beyond_the_groups)
{
    enum { RANGE = 5 };
    struct job a = job_of("engine_gqsa", "g4", 2 * RANGE),
               b = job_of("engine_gqsa", "g4", 2 * RANGE);
    const int32_t groups = *at(&b, 0, "groups");
    size_t n = 0;
    for (size_t i = 0; i < b.group.len[3]; i++)
        if (*at(&b, i, "index") >= groups) {
            *at(&b, i, "index") = groups - 1;
            for (unsigned e = 0; e < 4; e++) // the first field of that name is that of activations
                at(&b, i, "index")[1 + e] = *at(&b, i, "zero");
            n++;
        }
    assert_int_equal(n, 1);
    end_alike(&a, &b);
}
