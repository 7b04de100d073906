/* Lets processes start no others, as where an account has as many as it may have, where there is a file $FORK_FAILS: as
 * many bytes as it has, so many can be started before that. Where there is a file $FORK_FAILS.once, that is so once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int fails(void)
{
    const char *failing = getenv("FORK_FAILS");
    struct stat about;
    if (!failing || stat(failing, &about))
        return 0;
    if (about.st_size > 0)
        return truncate(failing, about.st_size - 1);
    char once[4096];
    snprintf(once, sizeof once, "%s.once", failing);
    if (!unlink(once))
        unlink(failing);
    errno = EAGAIN;
    return 1;
}

pid_t fork(void)
{
    return fails() ? -1 : ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
}

pid_t vfork(void)
{
    return fork();
}
