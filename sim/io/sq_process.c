// SPDX-License-Identifier: Apache-2.0
#include "sim/io/sq_process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// environ with TMPDIR = dir; the caller frees the array, entry 0 is `tmpdir`.
static char **environment(char *tmpdir)
{
    size_t n = 0, at = 1;
    while (environ[n])
        n++;
    char **env = malloc((n + 2) * sizeof *env);
    if (!env)
        return NULL;
    env[0] = tmpdir;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0)
            env[at++] = environ[i];
    env[at] = NULL;
    return env;
}

static enum sq_status wait_for(pid_t pid, const char *name, int *code, struct sq_error *err)
{
    int state;
    while (waitpid(pid, &state, 0) < 0)
        if (errno != EINTR)
            return SQ_FAIL(err, SQ_ERR_IO, "cannot wait for %.40s: %s", name, strerror(errno));
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return SQ_OK;
}

// posix_spawnp with standard input empty and both outputs on `fd`.
static int spawn(pid_t *pid, const char *dir, char *const argv[], int fd, char **env)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0)
        return code;
    code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, fd, 1);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, fd, 2);
    if (code == 0 && dir)
        code = posix_spawn_file_actions_addchdir_np(&actions, dir);
    if (code == 0)
        code = posix_spawnp(pid, argv[0], &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

enum sq_status sq_process_run(const char *dir, char *const argv[], const char *log, int *code,
                              struct sq_error *err)
{
    char here[] = "TMPDIR=.", usual[] = "TMPDIR=/tmp";
    char **env = environment(dir ? here : usual);
    int fd = env ? open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (fd < 0) {
        int reason = errno;
        free(env);
        return SQ_FAIL(err, SQ_ERR_IO, "cannot write '%.80s': %s", log, strerror(reason));
    }
    pid_t pid;
    int failure = spawn(&pid, dir, argv, fd, env);
    close(fd);
    free(env);
    if (failure == ENOENT)
        return SQ_FAIL(err, SQ_ERR_TOOL, "%.40s is not installed", argv[0]);
    if (failure != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot start %.40s: %s", argv[0], strerror(failure));
    return wait_for(pid, argv[0], code, err);
}

enum sq_status sq_process_version(const char *tool, const char *flag, char *text, unsigned size,
                                  struct sq_error *err)
{
    int pipe_fd[2], code;
    char name[256], option[32];
    snprintf(name, sizeof name, "%s", tool);
    snprintf(option, sizeof option, "%s", flag);
    if (pipe2(pipe_fd, O_CLOEXEC) != 0)
        return SQ_FAIL(err, SQ_ERR_IO, "cannot make a pipe: %s", strerror(errno));
    pid_t pid;
    char *const argv[] = {name, option, NULL};
    int failure = spawn(&pid, NULL, argv, pipe_fd[1], environ);
    close(pipe_fd[1]);
    FILE *in = failure == 0 ? fdopen(pipe_fd[0], "r") : NULL;
    if (!in)
        close(pipe_fd[0]);
    text[0] = '\0';
    if (in && !fgets(text, (int)size, in))
        text[0] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (in) {
        char rest[256];
        while (fgets(rest, sizeof rest, in)) // a tool that may finish writing ends well
            continue;
        fclose(in);
    }
    if (failure != 0)
        return SQ_FAIL(err, SQ_ERR_TOOL, "%.40s is not installed", tool);
    SQ_TRY(wait_for(pid, tool, &code, err));
    return code == 0 && text[0] ? SQ_OK : SQ_FAIL(err, SQ_ERR_TOOL, "%.40s does not run", tool);
}
