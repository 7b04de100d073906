/* Lets a file whose name begins with $OPEN_NAME be opened once, and the second time fail as a file server does, where
 * there is a file $OPEN_FAILS; the first time, where there is a file $OPEN_FAILS.seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fails(const char *path)
{
    const char *failing = getenv("OPEN_FAILS"), *name = getenv("OPEN_NAME"), *last = strrchr(path, '/');
    char seen[4096];
    if (!failing || !name || strncmp(last ? last + 1 : path, name, strlen(name)))
        return 0;
    snprintf(seen, sizeof seen, "%s.seen", failing);
    if (!unlink(seen)) {
        errno = EIO;
        return 1;
    }
    rename(failing, seen);
    return 0;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list rest; \
        va_start(rest, flags); \
        int mode = flags & O_CREAT ? va_arg(rest, int) : 0; \
        va_end(rest); \
        return fails(path) ? -1 : ((int (*)(const char *, int, int))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
