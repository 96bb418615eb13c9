// SPDX-License-Identifier: Apache-2.0
// Keeps files in memory, and takes the place of the calls that would touch the disk (fuzz.h).
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/format/file/sq_trace.h"
#include "sim/io/sq_file.h"
#include "sim/io/sq_safetensors.h"

volatile uint64_t fuzz_sink;

// ---- files in memory ------------------------------------------------------------------------

enum { N_FILES = 16, N_WRITTEN = 64, PATH_LEN = 160 };

static struct file {
    char path[PATH_LEN];
    const uint8_t *bytes;
    size_t n;
} files[N_FILES], written[N_WRITTEN];
static size_t n_files, n_written;

static struct file *find(struct file *list, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].path, path) == 0)
            return &list[i];
    return NULL;
}

static const struct file *find_any(const char *path)
{
    const struct file *f = find(files, n_files, path);
    return f ? f : find(written, n_written, path);
}

static bool is_ours(const char *path)
{
    return strncmp(path, "mem/", 4) == 0;
}

void fuzz_file(const char *path, const void *bytes, size_t n)
{
    struct file *f = find(files, n_files, path);
    FUZZ_CHECK(is_ours(path) && strlen(path) < PATH_LEN && (f || n_files < N_FILES));
    f = f ? f : &files[n_files++];
    snprintf(f->path, sizeof f->path, "%s", path);
    f->bytes = bytes;
    f->n = n;
}

void fuzz_forget(void)
{
    n_files = 0;
}

const uint8_t *fuzz_written(const char *path, size_t *n)
{
    const struct file *f = find(written, n_written, path);
    *n = f ? f->n : 0;
    return f ? f->bytes : NULL;
}

void fuzz_forget_written(void)
{
    for (size_t i = 0; i < n_written; i++)
        free((void *)(uintptr_t)written[i].bytes);
    n_written = 0;
}

// ---- what the linker puts in place of sq_file.h ---------------------------------------------

enum sq_status __wrap_sq_file_map(const char *path, struct sq_file_view *map, struct sq_error *err);
void __wrap_sq_file_unmap(struct sq_file_view *map);
void __wrap_sq_file_forget(const struct sq_file_view *map, const uint8_t *at, size_t nbytes);
enum sq_status __wrap_sq_outfile_open(struct sq_outfile *out, const char *path,
                                      struct sq_error *err);
enum sq_status __wrap_sq_outfile_commit(struct sq_outfile *out, struct sq_error *err);
void __wrap_sq_outfile_abort(struct sq_outfile *out);
void __wrap_sq_file_protect(const char *path);

enum sq_status __wrap_sq_file_map(const char *path, struct sq_file_view *map, struct sq_error *err)
{
    const struct file *f = find_any(path);
    *map = (struct sq_file_view){0};
    if (!f)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot open '%s': %s", sq_path_tail(path),
                       strerror(ENOENT));
    uint8_t *copy = f->n ? malloc(f->n) : NULL;
    if (copy)
        memcpy(copy, f->bytes, f->n);
    *map = (struct sq_file_view){copy, f->n};
    return SQ_OK;
}

void __wrap_sq_file_unmap(struct sq_file_view *map)
{
    free((void *)(uintptr_t)map->data);
    *map = (struct sq_file_view){0};
}

// A hint to the system about pages of a file; here they are the heap's. The range must be inside.
void __wrap_sq_file_forget(const struct sq_file_view *map, const uint8_t *at, size_t nbytes)
{
    if (map->data && nbytes)
        fuzz_sink += at[0] + at[nbytes - 1];
}

// On a file of the kernel's memory: a stream of open_memstream ends where it was written last.
// Nothing is written here.
void __wrap_sq_file_protect(const char *path)
{
    (void)path;
}

enum sq_status __wrap_sq_outfile_open(struct sq_outfile *out, const char *path,
                                      struct sq_error *err)
{
    *out = (struct sq_outfile){0};
    if (!is_ours(path) || strlen(path) >= PATH_LEN)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write '%s'", sq_path_tail(path));
    const int fd = memfd_create("outfile", MFD_CLOEXEC);
    out->path = strdup(path);
    out->stream = fd >= 0 ? fdopen(fd, "wb") : NULL;
    FUZZ_CHECK(out->path && out->stream);
    return SQ_OK;
}

enum sq_status __wrap_sq_outfile_commit(struct sq_outfile *out, struct sq_error *err)
{
    struct file *f = find(written, n_written, out->path);
    struct stat st;
    (void)err;
    FUZZ_CHECK(fflush(out->stream) == 0 && (f || n_written < N_WRITTEN));
    FUZZ_CHECK(fstat(fileno(out->stream), &st) == 0);
    uint8_t *bytes = malloc((size_t)st.st_size + 1);
    FUZZ_CHECK(bytes && pread(fileno(out->stream), bytes, (size_t)st.st_size, 0) == st.st_size);
    if (f)
        free((void *)(uintptr_t)f->bytes);
    f = f ? f : &written[n_written++];
    snprintf(f->path, sizeof f->path, "%s", out->path);
    f->bytes = bytes;
    f->n = (size_t)st.st_size;
    __wrap_sq_outfile_abort(out);
    return SQ_OK;
}

void __wrap_sq_outfile_abort(struct sq_outfile *out)
{
    if (out->stream)
        fclose(out->stream);
    free(out->path);
    *out = (struct sq_outfile){0};
}

// ---- and of the system's calls on names -----------------------------------------------------

int __real_stat(const char *path, struct stat *st);
int __wrap_stat(const char *path, struct stat *st);
int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);

int __wrap_stat(const char *path, struct stat *st)
{
    const size_t len = strlen(path);
    const struct file *f = find_any(path);
    if (!is_ours(path))
        return __real_stat(path, st);
    memset(st, 0, sizeof *st);
    st->st_mode = S_IFDIR | 0755;
    if (f) {
        st->st_mode = S_IFREG | 0644;
        st->st_size = (off_t)f->n;
        return 0;
    }
    for (size_t i = 0; i < n_files; i++)
        if (strncmp(files[i].path, path, len) == 0 && files[i].path[len] == '/')
            return 0;
    errno = ENOENT;
    return -1;
}

int __wrap_access(const char *path, int mode)
{
    struct stat st;
    return is_ours(path) ? __wrap_stat(path, &st) : __real_access(path, mode);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return is_ours(path) ? 0 : __real_mkdir(path, mode);
}

int __wrap_unlink(const char *path)
{
    return is_ours(path) ? 0 : __real_unlink(path);
}

// A database in memory: a copy of the file, as SQLite may write to it. One that was created is kept
// as a written file when it is closed.
int __real_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs);
int __real_sqlite3_close(sqlite3 *db);
int __wrap_sqlite3_close(sqlite3 *db);

static struct {
    sqlite3 *db;
    char path[PATH_LEN];
} created;

int __wrap_sqlite3_open_v2(const char *path, sqlite3 **db, int flags, const char *vfs)
{
    const struct file *f = find_any(path);
    const int code = __real_sqlite3_open_v2(is_ours(path) ? ":memory:" : path, db, flags, vfs);
    if (code == SQLITE_OK && is_ours(path) && !f && flags & SQLITE_OPEN_CREATE) {
        created.db = *db;
        snprintf(created.path, sizeof created.path, "%s", path);
    }
    if (code != SQLITE_OK || !f || f->n == 0)
        return code;
    unsigned char *copy = sqlite3_malloc64(f->n);
    FUZZ_CHECK(copy);
    memcpy(copy, f->bytes, f->n);
    for (size_t i = 18; i < 20 && i < f->n; i++)
        copy[i] = copy[i] == 2 ? 1 : copy[i]; // SQLite holds no WAL in memory
    return sqlite3_deserialize(*db, "main", copy, (sqlite3_int64)f->n, (sqlite3_int64)f->n,
                               SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
}

int __wrap_sqlite3_close(sqlite3 *db)
{
    if (db && created.db == db) {
        sqlite3_int64 n = 0;
        unsigned char *bytes = sqlite3_serialize(db, "main", &n, 0);
        uint8_t *copy = malloc((size_t)n + 1);
        FUZZ_CHECK(bytes && copy && n_written < N_WRITTEN);
        memcpy(copy, bytes, (size_t)n);
        sqlite3_free(bytes);
        written[n_written] = (struct file){.bytes = copy, .n = (size_t)n};
        snprintf(written[n_written++].path, PATH_LEN, "%s", created.path);
        created.db = NULL;
    }
    return __real_sqlite3_close(db);
}

// Blocks by powers of two from 32 bytes on; free ones in a list per size. The size is in front.
enum { N_SIZES = 32, BLOCK_HEAD = 16 };
static void *free_block[N_SIZES];

static int block_class(int n)
{
    return n <= 32 ? 5 : 32 - __builtin_clz((unsigned)n - 1);
}

static void *block_alloc(int n)
{
    const int c = block_class(n);
    char *p = free_block[c];
    if (p)
        memcpy(&free_block[c], p, sizeof(void *));
    else if ((p = malloc(((size_t)1 << c) + BLOCK_HEAD)))
        memcpy(p, &c, sizeof c), p += BLOCK_HEAD;
    return p;
}

static int block_size(void *p)
{
    int c;
    memcpy(&c, (char *)p - BLOCK_HEAD, sizeof c);
    return 1 << c;
}

static void block_free(void *p)
{
    void **list = &free_block[block_class(block_size(p))];
    memcpy(p, list, sizeof *list);
    *list = p;
}

static void *block_realloc(void *p, int n)
{
    if (n <= block_size(p))
        return p;
    void *larger = block_alloc(n);
    if (larger) {
        memcpy(larger, p, (size_t)block_size(p));
        block_free(p);
    }
    return larger;
}

static int block_round(int n)
{
    return 1 << block_class(n);
}

static int block_init(void *context)
{
    (void)context;
    return SQLITE_OK;
}

static void block_shutdown(void *context)
{
    (void)context;
}

void fuzz_sqlite_memory(void)
{
    static const sqlite3_mem_methods methods = {block_alloc, block_free, block_realloc,  block_size,
                                                block_round, block_init, block_shutdown, NULL};
    FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK);
    FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 1) == SQLITE_OK);
    FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK);
}

// ---- inputs and checks ----------------------------------------------------------------------

bool fuzz_ok(enum sq_status status, const struct sq_error *err)
{
    if (status == SQ_OK)
        return true;
    const size_t n = strnlen(err->text, sizeof err->text);
    FUZZ_CHECK(n > 0 && n < sizeof err->text);
    FUZZ_CHECK(err->code == status);
    FUZZ_CHECK(strcmp(sq_status_str(status), "unknown") != 0);
    return false;
}

unsigned fuzz_byte(struct fuzz_reader *r)
{
    if (r->n == 0)
        return 0;
    r->n--;
    return *r->data++;
}

unsigned fuzz_u16(struct fuzz_reader *r)
{
    const unsigned low = fuzz_byte(r);
    return low | fuzz_byte(r) << 8;
}

const uint8_t *fuzz_bytes(struct fuzz_reader *r, size_t n, size_t *got)
{
    const uint8_t *data = r->data;
    *got = n < r->n ? n : r->n;
    r->data += *got;
    r->n -= *got;
    return data;
}

char *fuzz_text(struct fuzz_reader *r)
{
    char *text = malloc(r->n + 1);
    FUZZ_CHECK(text);
    memcpy(text, r->data, r->n);
    text[r->n] = '\0';
    return text;
}

void fuzz_drop_digest(uint8_t *file, size_t n)
{
    static const char key[] = "\"sq_digest\"";
    uint8_t *at = memmem(file, n, key, sizeof key - 1);
    if (at)
        at[1] = 'x';
}

void fuzz_alter(uint8_t *bytes, size_t n, struct fuzz_reader *r)
{
    while (n > 0 && r->n >= 4) {
        const unsigned low = fuzz_u16(r), high = fuzz_byte(r), value = fuzz_byte(r);
        uint8_t *at = &bytes[(low | (high & 0x7f) << 16) % n];
        *at = (uint8_t)(high & 0x80 ? value : *at ^ value);
    }
}

// ---- comparisons of kernel traces -----------------------------------------------------------
// Every program has the formats, and they compare. What differs is no end, so that all of a trace
// is read.

enum sq_status __real_sq_trace_compare(struct sq_trace *r, const char *name, enum sq_dtype dtype,
                                       size_t n, const void *want, struct sq_error *err);
enum sq_status __wrap_sq_trace_compare(struct sq_trace *r, const char *name, enum sq_dtype dtype,
                                       size_t n, const void *want, struct sq_error *err);

enum sq_status __wrap_sq_trace_compare(struct sq_trace *r, const char *name, enum sq_dtype dtype,
                                       size_t n, const void *want, struct sq_error *err)
{
    const enum sq_status status = __real_sq_trace_compare(r, name, dtype, n, want, err);
    if (status == SQ_OK || !r->is_different)
        return status;
    fuzz_ok(status, err);
    r->is_different = false;
    return SQ_OK;
}
