// SPDX-License-Identifier: Apache-2.0
// Finds files that come with sqsim (sq_home.h).
#include "sim/io/sq_home.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/sq_status.h"
#include "sim/io/sq_suggest.h"

// Whether home/inside exists; `home` then ends in `kept`.
static bool has(char *home, const char *inside, const char *kept)
{
    const size_t len = strlen(home);
    memcpy(home + len, inside, strlen(inside) + 1);
    const bool found = access(home, F_OK) == 0;
    home[len + (found ? strlen(kept) : 0)] = '\0';
    return found;
}

void sq_home_around(const char *file, char home[SQ_HOME_SIZE])
{
    const char *const env = getenv("SQSIM_HOME");
    snprintf(home, SQ_HOME_SIZE - 32, "%s", env && *env ? env : file);
    if (env && *env)
        return;
    for (char *slash = strrchr(home, '/'); slash; slash = strrchr(home, '/')) {
        *slash = '\0';
        if (has(home, "/sim/machines", "") ||
            has(home, "/share/sqsim/sim/machines", "/share/sqsim"))
            return;
    }
    memcpy(home, ".", 2);
}

static bool exists(const char *path, int length, size_t size)
{
    return length > 0 && (size_t)length < size && access(path, F_OK) == 0;
}

void sq_home_find(const char *home, const char *name, const char *pattern, char *path, size_t size)
{
    const bool is_found = name[0] == '/' || name[0] == '\0' || access(name, F_OK) == 0;
    if (!is_found && exists(path, snprintf(path, size, "%s/%s", home, name), size))
        return;
    if (!is_found && pattern && *pattern && !strchr(name, '/')) {
        const char *const star = strchr(pattern, '*');
        if (exists(path,
                   snprintf(path, size, "%s/%.*s%s%s", home, (int)(star - pattern), pattern, name,
                            star + 1),
                   size))
            return;
    }
    snprintf(path, size, "%s", name);
}

bool sq_home_suggest(const char *home, const char *name, const char *pattern,
                     char meant[SQ_HOME_NAME])
{
    const char *const star = strchr(pattern, '*');
    const size_t end = strlen(star + 1);
    char folder[SQ_HOME_SIZE + 64];
    struct dirent **entry = NULL;
    snprintf(folder, sizeof folder, "%s/%.*s", home, (int)(star - pattern), pattern);
    const int n = scandir(folder, &entry, NULL, alphasort);
    SQ_FREED const char **const names = n > 0 ? calloc((size_t)n, sizeof *names) : NULL;
    size_t n_names = 0;
    for (int i = 0; names && i < n; i++) {
        char *const text = entry[i]->d_name;
        const size_t len = strlen(text);
        if (len <= end || text[0] == '.' || strcmp(text + len - end, star + 1) != 0)
            continue;
        text[len - end] = '\0';
        names[n_names++] = text;
    }
    const char *const found = names ? sq_suggest(name, names, n_names) : NULL;
    if (found)
        snprintf(meant, SQ_HOME_NAME, "%.63s", found);
    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
    return found != NULL;
}
