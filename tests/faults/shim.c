/* Preloaded into a program under test: counts its writing system calls, and at the n-th one kills the
 * program or lets the disk be full. Settings come from the environment:
 *   SHIM_AT   which call, from 1; 0 or unset: only count
 *   SHIM_DO   kill (default); full, readonly: that call and the next SHIM_FOR - 1 fail with ENOSPC, EROFS
 *   SHIM_LOG  file that gets the count when the program ends by itself
 *   SHIM_ALL  shared file: one count for all processes that are started, the kill ends their group
 *   SHIM_TIME shared file: seconds by which the wall clock is wrong, at every moment anew
 *   SHIM_ROOT directory: a file in it, as SHIM_ROOT/proc/self/mounts, is opened instead of the real one
 *   SHIM_BOOT seconds by which the machine was started later than it was
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long own, none, *count = &own, *wrong = &none, at, span = 1, later;
static int error, whole_group;
static const char *root;

static long *shared(const char *path) {
    int file = open(path, O_RDWR);
    void *memory = mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) abort();
    return memory;
}

__attribute__((constructor)) static void begin(void) {
    const char *value;
    if ((value = getenv("SHIM_AT"))) at = atol(value);
    if ((value = getenv("SHIM_FOR"))) span = atol(value);
    if ((value = getenv("SHIM_DO"))) error = !strcmp(value, "full") ? ENOSPC : !strcmp(value, "readonly") ? EROFS : 0;
    if ((value = getenv("SHIM_ALL"))) count = shared(value), whole_group = 1;
    if ((value = getenv("SHIM_TIME"))) wrong = shared(value);
    if ((value = getenv("SHIM_BOOT"))) later = atol(value);
    root = getenv("SHIM_ROOT");
}

__attribute__((destructor)) static void end(void) {
    const char *log = getenv("SHIM_LOG");
    FILE *file = log ? fopen(log, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", *count);
    fclose(file);
}

/* What ends at once calls no destructor. */
void _exit(int code) {
    static void (*real)(int);
    if (!real) real = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
    end();
    real(code);
    __builtin_unreachable();
}

/* 1: the call must fail */
static int fault(void) {
    long now = __sync_add_and_fetch(count, 1);
    if (!at || now < at || now >= at + span) return 0;
    if (!error) kill(whole_group ? 0 : getpid(), SIGKILL);
    errno = error;
    return 1;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define WRAP(type, name, args, call) type name args { REAL(name); return fault() ? (type)-1 : real call; }

int clock_gettime(clockid_t id, struct timespec *now) {
    REAL(clock_gettime);
    int result = real(id, now);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) now->tv_sec += *wrong;
    if (id == CLOCK_BOOTTIME) now->tv_sec -= later;
    return result;
}
time_t time(time_t *now) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    return now ? *now = exact.tv_sec : exact.tv_sec;
}
int gettimeofday(struct timeval *now, void *zone) {
    REAL(gettimeofday);
    int result = real(now, zone);
    now->tv_sec += *wrong;
    return result;
}

/* What goes to a terminal or a pipe changes no disk, and must not be counted. */
static int on_disk(int file) {
    struct stat what;
    return fstat(file, &what) == 0 && S_ISREG(what.st_mode);
}

ssize_t write(int f, const void *b, size_t n) { REAL(write); return on_disk(f) && fault() ? -1 : real(f, b, n); }
ssize_t pwrite(int f, const void *b, size_t n, off_t o) { REAL(pwrite); return fault() ? -1 : real(f, b, n, o); }
ssize_t pwrite64(int f, const void *b, size_t n, off64_t o) { REAL(pwrite64); return fault() ? -1 : real(f, b, n, o); }
WRAP(int, rename, (const char *a, const char *b), (a, b))
WRAP(int, renameat, (int d, const char *a, int e, const char *b), (d, a, e, b))
WRAP(int, renameat2, (int d, const char *a, int e, const char *b, unsigned f), (d, a, e, b, f))
WRAP(int, link, (const char *a, const char *b), (a, b))
WRAP(int, linkat, (int d, const char *a, int e, const char *b, int f), (d, a, e, b, f))
WRAP(int, symlink, (const char *a, const char *b), (a, b))
WRAP(int, mkdir, (const char *a, mode_t m), (a, m))
WRAP(int, mkdirat, (int d, const char *a, mode_t m), (d, a, m))
WRAP(int, unlink, (const char *a), (a))
WRAP(int, fsync, (int f), (f))
WRAP(int, fdatasync, (int f), (f))
WRAP(int, ftruncate, (int f, off_t n), (f, n))

static const char *instead(const char *path, char *other) {
    if (!root || strncmp(path, "/proc/", 6)) return path;
    snprintf(other, 4096, "%s%s", root, path);
    return access(other, R_OK) ? path : other;
}

#define OPEN(name, before, args) \
    int name before { \
        REAL(name); \
        mode_t mode = 0; \
        char other[4096]; \
        path = instead(path, other); \
        if (flags & O_CREAT) { \
            va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); \
            if (fault()) return -1; \
        } \
        return real args; \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int d, const char *path, int flags, ...), (d, path, flags, mode))
