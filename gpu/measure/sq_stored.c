// SPDX-License-Identifier: Apache-2.0
// Checks each record by its numbers and each trace by the golden model (sq_stored.h).
#include "gpu/measure/sq_stored.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gpu/measure/sq_record.h"
#include "sim/format/file/sq_trace.h"

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static enum sq_status check_trace(const char *path, const char *producer, size_t *n_values,
                                  struct sq_error *err)
{
    struct sq_trace r;
    SQ_TRY(sq_trace_open(&r, path, err));
    enum sq_status status = SQ_OK;
    if (strcmp(r.producer, producer) != 0)
        status = SQ_FAIL(err, SQ_ERR_UNSUPPORTED, "%s: metadata producer = %s, need %s",
                         sq_path_tail(path), r.producer, producer);
    SQ_THEN(status, sq_trace_values(&r, err));
    *n_values = r.n_values;
    sq_trace_close(&r);
    return status;
}

enum sq_status sq_stored_check(const char *path, const char *producer, size_t *n_files,
                               size_t *n_values, struct sq_error *err)
{
    DIR *directory = opendir(path);
    enum sq_status status = SQ_OK;
    *n_files = *n_values = 0;
    while (directory && status == SQ_OK) {
        const struct dirent *entry = readdir(directory);
        if (!entry)
            break;
        char file[4096];
        size_t n = 0;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (ends_with(entry->d_name, ".jsonl"))
            status = sq_record_check_file(file, &n, err);
        else if (ends_with(entry->d_name, ".safetensors"))
            status = check_trace(file, producer, &n, err);
        else
            continue;
        *n_files += 1;
        *n_values += n;
    }
    if (directory)
        closedir(directory);
    return status;
}
