// SPDX-License-Identifier: Apache-2.0
// Safetensors reader and writer.
//
// Exhausted: every dtype, all 65536 binary16 and bfloat16 patterns, every kind of path that is no
// readable or writable file. Contents that lie are in test_safetensors_lies.c.
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "sim/io/sq_safetensors.h"
#include "tests/unit/tmpdir.h"

// ---- round trip -----------------------------------------------------------------------------

SQ_TEST(round_trip_every_dtype)
{
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "all.safetensors");
    struct sq_rng r = {fixture_seed()};
    struct sq_tensor t[SQ_DTYPE_COUNT + 2];
    uint8_t data[SQ_DTYPE_COUNT][8 * 15];
    for (int d = 0; d < SQ_DTYPE_COUNT; d++) {
        for (size_t i = 0; i < sizeof data[d]; i++)
            data[d][i] = (uint8_t)sq_rng_next(&r);
        t[d] = (struct sq_tensor){.name = sq_dtype_name((enum sq_dtype)d),
                                  .dtype = (enum sq_dtype)d,
                                  .n_dims = 2,
                                  .dim = {3, 5},
                                  .data = data[d]};
    }
    t[SQ_DTYPE_COUNT] =
        (struct sq_tensor){.name = "leer \"ß\" \\", .dtype = SQ_F32, .n_dims = 3, .dim = {4, 0, 2}};
    t[SQ_DTYPE_COUNT + 1] = (struct sq_tensor){.name = "scalar", .dtype = SQ_I64, .data = data[0]};
    const struct sq_metadata md[] = {{"z", "first"}, {"a", "line\nbreak"}};
    struct sq_error err;
    struct sq_safetensors st;
    assert_ok(sq_safetensors_write(path, t, LEN(t), md, 2, &err));
    assert_ok(sq_safetensors_open(&st, path, &err));
    assert_int_equal(st.n_tensors, LEN(t));
    for (size_t i = 0; i < LEN(t); i++) {
        const struct sq_tensor *got = sq_safetensors_find(&st, t[i].name);
        assert_non_null(got);
        assert_int_equal(got->dtype, t[i].dtype);
        assert_int_equal(got->n_dims, t[i].n_dims);
        for (unsigned j = 0; j < got->n_dims; j++)
            assert_int_equal(got->dim[j], t[i].dim[j]);
        if (got->nbytes)
            assert_memory_equal(got->data, t[i].data, got->nbytes);
    }
    assert_null(sq_safetensors_find(&st, "F3"));
    assert_string_equal(sq_safetensors_metadata(&st, "a"), "line\nbreak");
    assert_null(sq_safetensors_metadata(&st, "b"));
    assert_string_equal(st.metadata[0].key, "z"); // order kept
    assert_int_equal((st.buffer - st.map.data) % 8, 0);
    sq_safetensors_close(&st);
    tmpdir_remove(dir);
}

// The same tensors give the same bytes, in whatever order the pieces arrive.
SQ_TEST(bytes_are_deterministic)
{
    char dir[64];
    tmpdir_make(dir);
    const char *a = tmpdir_path(dir, "a"), *b = tmpdir_path(dir, "b");
    float x[] = {1, 2};
    uint8_t y[] = {3};
    const struct sq_tensor t[] = {
        {.name = "x", .dtype = SQ_F32, .n_dims = 1, .dim = {2}, .data = (uint8_t *)x},
        {.name = "y", .dtype = SQ_U8, .n_dims = 1, .dim = {1}, .data = y}};
    struct sq_safetensors_writer w;
    assert_ok(sq_safetensors_write(a, t, 2, NULL, 0, NULL));
    assert_ok(sq_safetensors_begin(&w, b, t, 2, NULL, 0, NULL));
    assert_int_equal(access(b, F_OK), -1); // nothing under its name before commit
    assert_ok(sq_safetensors_put(&w, 1, y, NULL));
    assert_int_equal(sq_safetensors_put(&w, 1, y, NULL), SQ_ERR_INTERNAL); // twice
    assert_ok(sq_safetensors_put(&w, 0, x, NULL));
    assert_ok(sq_safetensors_commit(&w, NULL));
    size_t na, nb;
    uint8_t *pa = read_bytes(a, &na), *pb = read_bytes(b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(pa, pb, na);
    // Known bytes: the layout other tools read.
    static const char header[] = "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                                 "\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]}}";
    assert_int_equal(pa[0], (sizeof header - 1 + 7) / 8 * 8);
    assert_memory_equal(pa + 8, header, sizeof header - 1);
    tmpdir_remove(dir);
}

// Every single flip of a file with metadata is refused or leaves every tensor and value as it was.
SQ_TEST(no_flip_passes)
{
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "x");
    uint8_t y[40] = {3};
    const struct sq_tensor t[] = {
        {.name = "x", .dtype = SQ_F32, .n_dims = 1, .dim = {10}, .data = y},
        {.name = "y", .dtype = SQ_U8, .n_dims = 1, .dim = {9}, .data = y}};
    const struct sq_metadata md[] = {{"system", "sq_w"}, {SQ_DIGEST_KEY, "of a file read before"}};
    struct sq_safetensors st;
    struct sq_error err;
    assert_ok(sq_safetensors_write(path, t, 2, md, 2, &err));
    size_t n, n_foreign = 0;
    uint8_t *bytes = read_bytes(path, &n);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        write_bytes(path, bytes, n);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (sq_safetensors_open(&st, path, &err) != SQ_OK)
            continue;
        n_foreign++; // the key has another name
        assert_null(sq_safetensors_metadata(&st, SQ_DIGEST_KEY));
        assert_string_equal(sq_safetensors_metadata(&st, "system"), "sq_w");
        assert_memory_equal(sq_safetensors_find(&st, "x")->data, y, 40);
        assert_memory_equal(sq_safetensors_find(&st, "y")->data, y, 9);
        sq_safetensors_close(&st);
    }
    assert_in_range(n_foreign, 1, 8 * strlen(SQ_DIGEST_KEY));
    // Behind the check: what alters a file on purpose takes the key away.
    bytes[n - 1] ^= 1;
    write_bytes(path, bytes, n);
    check_refused(sq_safetensors_open(&st, path, &err), SQ_ERR_DAMAGED, &err, "write it again");
    drop_digest(bytes, n);
    write_bytes(path, bytes, n);
    assert_ok(sq_safetensors_open(&st, path, &err));
    sq_safetensors_close(&st);
    tmpdir_remove(dir);
}

SQ_TEST(writer_refuses)
{
    char dir[64];
    tmpdir_make(dir);
    const char *path = tmpdir_path(dir, "x");
    uint8_t byte = 0;
    struct sq_tensor t[2] = {{.name = "x", .dtype = SQ_U8, .n_dims = 1, .dim = {1}, .data = &byte},
                             {.name = "x", .dtype = SQ_U8, .n_dims = 1, .dim = {1}, .data = &byte}};
    struct sq_error err;
    check_refused(sq_safetensors_write(path, t, 2, NULL, 0, &err), SQ_ERR_ARG, &err, "is taken");
    t[0].dim[0] = UINT64_MAX;
    check_refused(sq_safetensors_write(path, t, 1, NULL, 0, &err), SQ_ERR_ARG, &err, "illegal");
    t[0] = (struct sq_tensor){.name = "\xff", .dtype = SQ_U8};
    check_refused(sq_safetensors_write(path, t, 1, NULL, 0, &err), SQ_ERR_ARG, &err, "no UTF-8");
    const struct sq_metadata twice[] = {{"k", "1"}, {"k", "2"}};
    check_refused(sq_safetensors_write(path, t, 0, twice, 2, &err), SQ_ERR_ARG, &err, "twice");
    struct sq_safetensors_writer w;
    t[0] = t[1];
    assert_ok(sq_safetensors_begin(&w, path, t, 1, NULL, 0, &err));
    check_refused(sq_safetensors_commit(&w, &err), SQ_ERR_INTERNAL, &err, "never written");
    assert_int_equal(count_files(dir), 0);
    tmpdir_remove(dir);
}

// ---- conversion -----------------------------------------------------------------------------

// binary16 by its definition, in arithmetic instead of bits.
static double f16_value(unsigned h)
{
    double sign = h & 0x8000 ? -1 : 1, f = h & 0x3ff;
    int e = h >> 10 & 31;
    return e == 31 ? (f != 0 ? (double)NAN : sign * (double)INFINITY)
           : e     ? sign * ldexp(1024 + f, e - 25)
                   : sign * ldexp(f, -24);
}

SQ_TEST(conversions_exhaustive)
{
    for (unsigned h = 0; h < 65536; h++) {
        double want = f16_value(h);
        float got = sq_f16_to_f32((uint16_t)h);
        if (isnan(want))
            assert_true(isnan(got));
        else
            assert_true((double)got == want && !signbit(got) == !signbit(want));
        CHECK_EQ(sq_bits_of(sq_bf16_to_f32((uint16_t)h)), (uint32_t)h << 16, "bf16 %04x", h);
    }
}

SQ_TEST(non_finite_is_named)
{
    static const uint8_t f32[] = {0, 0, 128, 63, 0, 0, 192, 127}, f16[] = {0, 60, 0, 252};
    static const uint8_t bf16[] = {128, 63, 128, 127};
    const struct {
        enum sq_dtype dtype;
        const uint8_t *data;
        const char *text;
    } cases[] = {{SQ_F32, f32, "element 1 of tensor 'w' is NaN"},
                 {SQ_F16, f16, "element 1 of tensor 'w' is infinite"},
                 {SQ_BF16, bf16, "element 1 of tensor 'w' is infinite"}};
    for (size_t i = 0; i < LEN(cases); i++) {
        struct sq_tensor t = {.name = "w", .dtype = cases[i].dtype, .data = cases[i].data};
        struct sq_error err;
        float out[2];
        t.n_elements = 1;
        assert_ok(sq_tensor_read_f32(&t, out, &err));
        assert_true(out[0] == 1.0f);
        t.n_elements = 2;
        check_refused(sq_tensor_read_f32(&t, out, &err), SQ_ERR_NON_FINITE, &err, cases[i].text);
    }
    struct sq_tensor t = {.name = "w", .dtype = SQ_I8};
    struct sq_error err;
    check_refused(sq_tensor_read_f32(&t, NULL, &err), SQ_ERR_UNSUPPORTED, &err, "is I8");
}

// ---- the file system ------------------------------------------------------------------------

SQ_TEST(odd_files_do_not_hang)
{
    char dir[64];
    tmpdir_make(dir);
    const char *fifo = tmpdir_path(dir, "fifo"), *empty = tmpdir_path(dir, "empty");
    struct sq_safetensors st;
    struct sq_error err;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    write_bytes(empty, "", 0);
    check_refused(sq_safetensors_open(&st, fifo, &err), SQ_ERR_IO, &err, "no regular file");
    check_refused(sq_safetensors_open(&st, dir, &err), SQ_ERR_IO, &err, "a directory");
    check_refused(sq_safetensors_open(&st, "/dev/zero", &err), SQ_ERR_IO, &err, "no regular file");
    check_refused(sq_safetensors_open(&st, empty, &err), SQ_ERR_DAMAGED, &err, "0 bytes");
    check_refused(sq_safetensors_open(&st, tmpdir_path(dir, "none"), &err), SQ_ERR_IO, &err,
                  "No such file");
    tmpdir_remove(dir);
}

// A failed or abandoned write leaves the old file as it was and nothing beside it.
SQ_TEST(failed_writes_leave_nothing)
{
    char dir[64];
    tmpdir_make(dir);
    const char *path = tmpdir_path(dir, "out");
    static uint8_t big[100000];
    const struct sq_tensor t = {
        .name = "x", .dtype = SQ_U8, .n_dims = 1, .dim = {sizeof big}, .data = big};
    struct sq_error err;
    struct sq_outfile out;
    write_bytes(path, "old", 3);
    struct rlimit old, small = {4096, 4096};
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    enum sq_status status = sq_safetensors_write(path, &t, 1, NULL, 0, &err);
    setrlimit(RLIMIT_FSIZE, &old);
    check_refused(status, SQ_ERR_IO, &err, "cannot write");
    assert_ok(sq_outfile_open(&out, path, &err));
    fputs("new", out.stream);
    sq_outfile_abort(&out);
    size_t n;
    uint8_t *bytes = read_bytes(path, &n);
    assert_int_equal(n, 3);
    assert_memory_equal(bytes, "old", 3);
    assert_int_equal(count_files(dir), 1);
    check_refused(sq_outfile_open(&out, dir, &err), SQ_ERR_IO, &err, "a directory");
    check_refused(sq_outfile_open(&out, "/dev/full", &err), SQ_ERR_IO, &err, "no regular file");
    check_refused(sq_outfile_open(&out, "", &err), SQ_ERR_IO, &err, "empty");
    check_refused(sq_outfile_open(&out, tmpdir_path(dir, "no/x"), &err), SQ_ERR_IO, &err,
                  "No such file");
    check_refused(sq_outfile_open(&out, tmpdir_path(dir, "new/"), &err), SQ_ERR_IO, &err,
                  "names a directory");
    assert_ok(sq_outfile_open(&out, path, &err));
    fputs("new", out.stream);
    assert_ok(sq_outfile_commit(&out, &err)); // replaces
    assert_int_equal(count_files(dir), 1);
    // The name becomes a directory meanwhile: the finished file is removed again.
    const char *late = tmpdir_path(dir, "late");
    assert_ok(sq_outfile_open(&out, late, &err));
    assert_int_equal(mkdir(late, 0700), 0);
    check_refused(sq_outfile_commit(&out, &err), SQ_ERR_IO, &err, "cannot write");
    assert_int_equal(rmdir(late), 0);
    assert_int_equal(count_files(dir), 1);
    tmpdir_remove(dir);
}

// In place of libc's: what was synced.
static struct {
    unsigned n_files, n_directories;
    off_t nbytes;
} synced;
int fsync(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    synced.n_files += S_ISREG(st.st_mode);
    synced.n_directories += S_ISDIR(st.st_mode);
    synced.nbytes += S_ISREG(st.st_mode) ? st.st_size : 0;
    return (int)syscall(SYS_fsync, fd);
}

SQ_TEST(committed_is_on_the_disk)
{
    char dir[64];
    struct sq_outfile out;
    const char *path = tmpdir_path(tmpdir_make(dir), "x");
    assert_ok(sq_outfile_open(&out, path, NULL));
    fputs("twelve bytes", out.stream);
    memset(&synced, 0, sizeof synced);
    assert_ok(sq_outfile_commit(&out, NULL));
    assert_true(synced.n_files == 1 && synced.nbytes == 12 && synced.n_directories == 1);
    tmpdir_remove(dir);
}

SQ_TEST(mapped_files_have_names)
{
    char dir[64];
    struct sq_file_view map;
    const char *path = tmpdir_path(tmpdir_make(dir), "name");
    write_bytes(path, "abc", 3);
    assert_ok(sq_file_map(path, &map, NULL));
    const uint8_t *at = map.data;
    assert_string_equal(sq_file_at(at + 2), path);
    assert_null(sq_file_at(at + 3));
    sq_file_unmap(&map);
    assert_null(sq_file_at(at));
    tmpdir_remove(dir);
}

SQ_TEST(forgotten_pages_come_back)
{
    char dir[64];
    const char *path = tmpdir_path(tmpdir_make(dir), "x");
    static uint8_t big[40000];
    memset(big, 7, sizeof big);
    const struct sq_tensor t = {
        .name = "x", .dtype = SQ_U8, .n_dims = 1, .dim = {sizeof big}, .data = big};
    struct sq_safetensors st;
    assert_ok(sq_safetensors_write(path, &t, 1, NULL, 0, NULL));
    assert_ok(sq_safetensors_open(&st, path, NULL));
    sq_tensor_forget(&st, &st.tensor[0]);
    assert_memory_equal(st.tensor[0].data, big, sizeof big);
    sq_safetensors_close(&st);
    size_t n;
    uint8_t *bytes = read_bytes(path, &n);
    assert_ok(sq_safetensors_open_memory(&st, bytes, n, "f", NULL));
    sq_tensor_forget(&st, &st.tensor[0]); // memory of ours is not dropped
    assert_memory_equal(st.tensor[0].data, big, sizeof big);
    sq_safetensors_close(&st);
    tmpdir_remove(dir);
}
