/* Directories cannot be listed while the file that LIST_FAILS names is there: EIO, as from a file server. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int fails(void)
{
    const char *file = getenv("LIST_FAILS");
    int before = errno; /* who lists takes any other for an error */
    int there = file && !access(file, F_OK);
    errno = there ? EIO : before;
    return there;
}

/* All that busybox's find looks at. */
DIR *opendir(const char *name)
{
    DIR *(*real)(const char *) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
    return fails() ? NULL : real(name);
}

struct dirent *readdir(DIR *dir)
{
    struct dirent *(*real)(DIR *) = (struct dirent *(*)(DIR *))dlsym(RTLD_NEXT, "readdir");
    return fails() ? NULL : real(dir);
}

struct dirent64 *readdir64(DIR *dir)
{
    struct dirent64 *(*real)(DIR *) = (struct dirent64 *(*)(DIR *))dlsym(RTLD_NEXT, "readdir64");
    return fails() ? NULL : real(dir);
}
