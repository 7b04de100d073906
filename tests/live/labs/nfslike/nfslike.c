/* nfslike BACKING MOUNTPOINT CONTROL: a FUSE pass-through that shows a reader what an NFS client shows. The kernel
 * caches nothing of names and attributes here; all caching is in this file. README tells the words of CONTROL. */
#define FUSE_USE_VERSION 312
#define _GNU_SOURCE
#include <fuse_lowlevel.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 16384
struct node {
    struct node *next;
    int fd;
    dev_t dev;
    ino_t ino;
    unsigned long lookups;
    int opens, stale, root;
    struct stat st;
    double until;
    char *list;
    size_t size;
    double listed;
    char *silly;
    int sillydir;
};
struct name {
    struct name *next;
    ino_t parent, child;
    double until;
    char text[];
}; /* child 0: known not to be there */
static struct node *nodes[BUCKETS], *root;
static struct name *names[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *control;
static FILE *journal;

/* What CONTROL says */
static struct {
    double entry, negative, attr, list, lost, refuse, late, late_seconds, away, slow, clock, soft, v4;
    char ops[128], answer[32];
} say;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void hear(void)
{
    static struct timespec last;
    struct stat s;
    if (stat(control, &s) || (s.st_mtim.tv_sec == last.tv_sec && s.st_mtim.tv_nsec == last.tv_nsec && last.tv_sec))
        return;
    last = s.st_mtim;
    typeof(say) n = {.entry = 3, .negative = 3, .attr = 3, .list = 3, .late_seconds = 5};
    strcpy(n.ops, ",link,rename,mkdir,");
    strcpy(n.answer, "any");
    FILE *f = fopen(control, "r");
    char w[64], v[128];
    if (!f)
        return;
    while (fscanf(f, "%63s %127s", w, v) == 2) {
        double d = atof(v);
        struct {
            const char *word;
            double *value;
        } numbers[] = {{"entry", &n.entry}, {"negative", &n.negative}, {"attr", &n.attr}, {"list", &n.list},
                       {"lost", &n.lost}, {"refuse", &n.refuse}, {"late", &n.late}, {"late_seconds", &n.late_seconds},
                       {"away_until", &n.away}, {"slow", &n.slow}, {"clock", &n.clock}, {"soft", &n.soft},
                       {"v4", &n.v4}};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (!strcmp(w, numbers[i].word))
                *numbers[i].value = d;
        if (!strcmp(w, "cache"))
            n.entry = n.negative = n.attr = n.list = d;
        else if (!strcmp(w, "ops"))
            snprintf(n.ops, sizeof n.ops, ",%.120s,", v);
        else if (!strcmp(w, "answer"))
            snprintf(n.answer, sizeof n.answer, "%.31s", v);
    }
    fclose(f);
    say = n;
}

static double chance(void)
{
    static __thread unsigned seed;
    if (!seed)
        seed = time(0) ^ (unsigned long)&seed ^ getpid() * 7919;
    return rand_r(&seed) / (RAND_MAX + 1.0);
}

static void note(const char *op, const char *name, const char *what)
{
    if (journal) {
        fprintf(journal, "%.3f %s %s %s\n", now(), op, name, what);
        fflush(journal);
    }
}

/* To the server and back */
static int gate(void)
{
    double began = now();
    for (hear(); now() < say.away; hear()) {
        if (say.soft && now() - began > 1)
            return EIO;
        usleep(50000);
    }
    if (say.slow > 0)
        usleep(say.slow * 1e6);
    return 0;
}

static int chosen(const char *op)
{
    char word[32];
    snprintf(word, sizeof word, ",%s,", op);
    return strstr(say.ops, word) != NULL;
}

static int answer(const char *op)
{
    int makes = !strcmp(op, "link") || !strcmp(op, "mkdir") || !strcmp(op, "symlink");
    int again = makes ? EEXIST : ENOENT; /* of a retransmission */
    if (!strcmp(say.answer, "EIO"))
        return EIO;
    if (!strcmp(say.answer, "ETIMEDOUT"))
        return ETIMEDOUT;
    if (!strcmp(say.answer, "again"))
        return again;
    int r = chance() * 3;
    return r == 0 ? EIO : r == 1 ? ETIMEDOUT : again;
}

/* After it was done. */
static int lose(const char *op, const char *name, int error)
{
    if (error || say.lost <= 0 || !chosen(op) || chance() >= say.lost)
        return error;
    error = answer(op);
    note(op, name, strerrorname_np(error));
    return error;
}

/* Instead of doing it. */
static int refuses(const char *op, const char *name)
{
    if (say.refuse <= 0 || !chosen(op) || chance() >= say.refuse)
        return 0;
    note(op, name, "not done, EIO");
    return EIO;
}

#define SERVER(op, name, call) \
    ({ \
        int e_ = gate(); \
        if (!e_) \
            e_ = refuses(op, name); \
        if (!e_) \
            e_ = lose(op, name, (call) < 0 ? errno : 0); \
        e_; \
    })

/* Caches; the lock is held */
static unsigned hash(ino_t p, const char *t)
{
    unsigned long h = p * 0x9E3779B97F4A7C15ul;
    while (t && *t)
        h = h * 131 + (unsigned char)*t++;
    return (h >> 7) % BUCKETS;
}

static struct name **spot(ino_t p, const char *t)
{
    struct name **n = &names[hash(p, t)];
    while (*n && ((*n)->parent != p || strcmp((*n)->text, t)))
        n = &(*n)->next;
    return n;
}

static void forget(ino_t p, const char *t)
{
    struct name **n = spot(p, t), *old = *n;
    if (old) {
        *n = old->next;
        free(old);
    }
}

static void keep(ino_t p, const char *t, ino_t c)
{
    forget(p, t);
    struct name *n = malloc(sizeof *n + strlen(t) + 1);
    unsigned h = hash(p, t);
    *n = (struct name){names[h], p, c, now() + (c ? say.entry : say.negative)};
    strcpy(n->text, t);
    names[h] = n;
}

static struct node *find(ino_t i)
{
    struct node *n = nodes[i % BUCKETS];
    while (n && n->ino != i)
        n = n->next;
    return n;
}

static struct node *of(fuse_ino_t i) { return i == FUSE_ROOT_ID ? root : (struct node *)i; }
static void fresh(struct node *n, const struct stat *s)
{
    n->st = *s;
    n->until = now() + say.attr;
}

static void changed(struct node *d)
{
    struct stat s;
    if (!fstat(d->fd, &s))
        fresh(d, &s);
    d->listed = 0;
}

static struct stat shown(const struct node *n)
{
    struct stat s = n->st;
    if (n->root)
        s.st_ino = 1;
    s.st_mtim.tv_sec += say.clock;
    s.st_ctim.tv_sec += say.clock;
    s.st_atim.tv_sec += say.clock;
    return s;
}

static void drop(struct node *n, unsigned long k)
{
    if (n->root || (n->lookups -= k))
        return;
    struct node **p = &nodes[n->ino % BUCKETS];
    while (*p != n)
        p = &(*p)->next;
    *p = n->next;
    close(n->fd);
    free(n->list);
    free(n);
}

/* Ask the server for a name: 0 and *out, which has one lookup more, or an error. */
static int ask(struct node *d, const char *t, struct node **out)
{
    int fd = openat(d->fd, t, O_PATH | O_NOFOLLOW), e = errno;
    struct stat s;
    pthread_mutex_lock(&lock);
    if (fd < 0) {
        if (e == ENOENT)
            keep(d->ino, t, 0);
        pthread_mutex_unlock(&lock);
        return e;
    }
    fstat(fd, &s);
    struct node *n = find(s.st_ino);
    if (n)
        close(fd);
    else {
        n = calloc(1, sizeof *n);
        n->fd = fd;
        n->dev = s.st_dev;
        n->ino = s.st_ino;
        n->next = nodes[n->ino % BUCKETS];
        nodes[n->ino % BUCKETS] = n;
    }
    n->lookups++;
    n->stale = 0;
    fresh(n, &s);
    keep(d->ino, t, n->ino);
    *out = n;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void enter(fuse_req_t q, struct node *n)
{
    struct fuse_entry_param e = {.ino = (fuse_ino_t)n, .attr = shown(n)};
    fuse_reply_entry(q, &e);
}

/* Attributes from the server; a file that is gone there is stale. */
static int look(struct node *n)
{
    struct stat s;
    int e = gate();
    if (e)
        return e;
    if (fstat(n->fd, &s))
        return errno;
    pthread_mutex_lock(&lock);
    if (!s.st_nlink && !(say.v4 && n->opens)) {
        n->stale = 1;
        e = ESTALE;
    } else
        fresh(n, &s);
    pthread_mutex_unlock(&lock);
    return e;
}

static void self(char *path, int fd) { sprintf(path, "/proc/self/fd/%d", fd); }

static void l_lookup(fuse_req_t q, fuse_ino_t p, const char *t)
{
    struct node *d = of(p), *n = NULL;
    hear();
    pthread_mutex_lock(&lock);
    struct name *k = *spot(d->ino, t);
    if (k && now() < k->until) {
        if (!k->child) {
            pthread_mutex_unlock(&lock);
            fuse_reply_err(q, ENOENT);
            return;
        }
        n = find(k->child);
        if (n && n->stale)
            n = NULL;
        if (n)
            n->lookups++;
    }
    pthread_mutex_unlock(&lock);
    if (n && now() >= n->until) {
        int e = look(n);
        if (e) {
            pthread_mutex_lock(&lock);
            drop(n, 1);
            pthread_mutex_unlock(&lock);
            n = NULL;
            if (e != ESTALE) {
                fuse_reply_err(q, e);
                return;
            }
        }
    }
    if (!n) {
        int e = gate();
        if (!e)
            e = ask(d, t, &n);
        if (e) {
            fuse_reply_err(q, e);
            return;
        }
    }
    enter(q, n);
}

static void l_forget(fuse_req_t q, fuse_ino_t i, uint64_t k)
{
    pthread_mutex_lock(&lock);
    drop(of(i), k);
    pthread_mutex_unlock(&lock);
    fuse_reply_none(q);
}

static void l_getattr(fuse_req_t q, fuse_ino_t i, struct fuse_file_info *f)
{
    struct node *n = of(i);
    hear();
    int e = now() < n->until && !n->stale ? 0 : look(n);
    if (e)
        fuse_reply_err(q, e);
    else {
        struct stat s = shown(n);
        fuse_reply_attr(q, &s, 0);
    }
}

static void l_setattr(fuse_req_t q, fuse_ino_t i, struct stat *a, int w, struct fuse_file_info *f)
{
    struct node *n = of(i);
    char path[64];
    self(path, n->fd);
    int e = look(n);
    if (!e && w & FUSE_SET_ATTR_MODE && chmod(path, a->st_mode))
        e = errno;
    if (!e && w & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID) &&
        chown(path, w & FUSE_SET_ATTR_UID ? a->st_uid : -1, w & FUSE_SET_ATTR_GID ? a->st_gid : -1))
        e = errno;
    if (!e && w & FUSE_SET_ATTR_SIZE && truncate(path, a->st_size))
        e = errno;
    if (!e && w & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) {
        struct timespec t[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
        if (w & FUSE_SET_ATTR_ATIME_NOW)
            t[0].tv_nsec = UTIME_NOW;
        else if (w & FUSE_SET_ATTR_ATIME) {
            t[0] = a->st_atim;
            t[0].tv_sec -= say.clock;
        }
        if (w & FUSE_SET_ATTR_MTIME_NOW)
            t[1].tv_nsec = UTIME_NOW;
        else if (w & FUSE_SET_ATTR_MTIME) {
            t[1] = a->st_mtim;
            t[1].tv_sec -= say.clock;
        }
        if (utimensat(AT_FDCWD, path, t, 0))
            e = errno;
    }
    if (!e)
        e = look(n);
    if (e)
        fuse_reply_err(q, e);
    else {
        struct stat s = shown(n);
        fuse_reply_attr(q, &s, 0);
    }
}

static void l_readlink(fuse_req_t q, fuse_ino_t i)
{
    char b[4097];
    int e = gate();
    ssize_t k = e ? -1 : readlinkat(of(i)->fd, "", b, 4096);
    if (k < 0)
        fuse_reply_err(q, e ? e : errno);
    else {
        b[k] = 0;
        fuse_reply_readlink(q, b);
    }
}

/* What changes a directory; a name whose fate is not known is looked up anew */
static void made(fuse_req_t q, struct node *d, const char *t, int e)
{
    struct node *n = NULL;
    pthread_mutex_lock(&lock);
    forget(d->ino, t);
    changed(d);
    pthread_mutex_unlock(&lock);
    if (!e)
        e = ask(d, t, &n);
    if (e)
        fuse_reply_err(q, e);
    else
        enter(q, n);
}

static void l_mkdir(fuse_req_t q, fuse_ino_t p, const char *t, mode_t m)
{
    struct node *d = of(p);
    made(q, d, t, SERVER("mkdir", t, mkdirat(d->fd, t, m)));
}

static void l_mknod(fuse_req_t q, fuse_ino_t p, const char *t, mode_t m, dev_t r)
{
    struct node *d = of(p);
    made(q, d, t, SERVER("mknod", t, mknodat(d->fd, t, m, r)));
}

static void l_symlink(fuse_req_t q, const char *to, fuse_ino_t p, const char *t)
{
    struct node *d = of(p);
    made(q, d, t, SERVER("symlink", t, symlinkat(to, d->fd, t)));
}
struct later {
    int from, dir;
    char name[256];
    double s;
};
static void *later(void *a)
{
    struct later *l = a;
    char path[64];
    usleep(l->s * 1e6);
    self(path, l->from);
    note("link", l->name,
         linkat(AT_FDCWD, path, l->dir, l->name, AT_SYMLINK_FOLLOW) ? strerrorname_np(errno) : "done late");
    close(l->from);
    close(l->dir);
    free(l);
    return NULL;
}

static void l_link(fuse_req_t q, fuse_ino_t i, fuse_ino_t p, const char *t)
{
    struct node *n = of(i), *d = of(p);
    char path[64];
    self(path, n->fd);
    hear();
    /* The client gives up, and the server gets it all the same. */
    if (say.late > 0 && chosen("link") && chance() < say.late) {
        struct later *l = malloc(sizeof *l);
        *l = (struct later){dup(n->fd), dup(d->fd), "", say.late_seconds};
        snprintf(l->name, 256, "%s", t);
        pthread_t h;
        pthread_create(&h, NULL, later, l);
        pthread_detach(h);
        note("link", t, "late");
        made(q, d, t, ETIMEDOUT);
        return;
    }
    made(q, d, t, SERVER("link", t, linkat(AT_FDCWD, path, d->fd, t, AT_SYMLINK_FOLLOW)));
}

/* Of a file that is open here, another name is kept until it is closed. */
static void silly(struct node *d, const char *t)
{
    static unsigned count;
    struct stat s;
    char other[64];
    if (fstatat(d->fd, t, &s, AT_SYMLINK_NOFOLLOW) || S_ISDIR(s.st_mode))
        return;
    pthread_mutex_lock(&lock);
    struct node *n = find(s.st_ino);
    if (n && n->opens && !n->silly && !strncmp(t, ".nfs", 4) == 0) {
        sprintf(other, ".nfs%016lx%08x", (long)s.st_ino, ++count);
        if (!linkat(d->fd, t, d->fd, other, 0)) {
            n->silly = strdup(other);
            n->sillydir = dup(d->fd);
        }
    }
    pthread_mutex_unlock(&lock);
}

static void gone(fuse_req_t q, struct node *d, const char *t, int e)
{
    pthread_mutex_lock(&lock);
    forget(d->ino, t);
    changed(d);
    pthread_mutex_unlock(&lock);
    fuse_reply_err(q, e);
}

static void l_unlink(fuse_req_t q, fuse_ino_t p, const char *t)
{
    struct node *d = of(p);
    gone(q, d, t, SERVER("unlink", t, (silly(d, t), unlinkat(d->fd, t, 0))));
}

static void l_rmdir(fuse_req_t q, fuse_ino_t p, const char *t)
{
    struct node *d = of(p);
    gone(q, d, t, SERVER("rmdir", t, unlinkat(d->fd, t, AT_REMOVEDIR)));
}

static void l_rename(fuse_req_t q, fuse_ino_t p, const char *t, fuse_ino_t p2, const char *t2, unsigned f)
{
    struct node *d = of(p), *d2 = of(p2);
    if (f) {
        fuse_reply_err(q, EINVAL);
        return;
    }
    int e = SERVER("rename", t2, (silly(d2, t2), renameat(d->fd, t, d2->fd, t2)));
    pthread_mutex_lock(&lock);
    forget(d2->ino, t2);
    changed(d2);
    pthread_mutex_unlock(&lock);
    gone(q, d, t, e);
}

/* Files: open asks the server for the attributes, and the kernel then drops the pages it has */
static void l_open(fuse_req_t q, fuse_ino_t i, struct fuse_file_info *f)
{
    struct node *n = of(i);
    char path[64];
    self(path, n->fd);
    int e = look(n);
    if (!e)
        e = refuses("open", "-");
    int fd = e ? -1 : open(path, f->flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL));
    if (fd < 0) {
        fuse_reply_err(q, e ? e : errno);
        return;
    }
    pthread_mutex_lock(&lock);
    n->opens++;
    if (f->flags & O_TRUNC)
        n->until = 0;
    pthread_mutex_unlock(&lock);
    f->fh = fd;
    fuse_reply_open(q, f);
}

static void l_create(fuse_req_t q, fuse_ino_t p, const char *t, mode_t m, struct fuse_file_info *f)
{
    struct node *d = of(p), *n = NULL;
    int e = gate();
    if (!e)
        e = refuses("create", t);
    int fd = e ? -1 : openat(d->fd, t, (f->flags & ~O_NOFOLLOW) | O_CREAT, m);
    if (fd < 0) {
        e = e ? e : errno;
        gone(q, d, t, e);
        return;
    }
    pthread_mutex_lock(&lock);
    forget(d->ino, t);
    changed(d);
    pthread_mutex_unlock(&lock);
    if ((e = ask(d, t, &n))) {
        close(fd);
        fuse_reply_err(q, e);
        return;
    }
    pthread_mutex_lock(&lock);
    n->opens++;
    pthread_mutex_unlock(&lock);
    f->fh = fd;
    struct fuse_entry_param x = {.ino = (fuse_ino_t)n, .attr = shown(n)};
    fuse_reply_create(q, &x, f);
}

static int alive(struct node *n, const char *op)
{
    struct stat s;
    int e = gate();
    if (!e)
        e = refuses(op, "-");
    if (!e && !say.v4 && !fstat(n->fd, &s) && !s.st_nlink)
        e = ESTALE;
    return e;
}

static void l_read(fuse_req_t q, fuse_ino_t i, size_t k, off_t o, struct fuse_file_info *f)
{
    int e = alive(of(i), "read");
    char *b = malloc(k);
    ssize_t r = e ? -1 : pread(f->fh, b, k, o);
    if (r < 0)
        fuse_reply_err(q, e ? e : errno);
    else
        fuse_reply_buf(q, b, r);
    free(b);
}

static void l_write(fuse_req_t q, fuse_ino_t i, const char *b, size_t k, off_t o, struct fuse_file_info *f)
{
    struct node *n = of(i);
    int e = alive(n, "write");
    ssize_t r = e ? -1 : pwrite(f->fh, b, k, o);
    struct stat s;
    if (r < 0) {
        fuse_reply_err(q, e ? e : errno);
        return;
    }
    pthread_mutex_lock(&lock);
    if (!fstat(n->fd, &s))
        fresh(n, &s);
    pthread_mutex_unlock(&lock);
    fuse_reply_write(q, r);
}

static void l_release(fuse_req_t q, fuse_ino_t i, struct fuse_file_info *f)
{
    struct node *n = of(i);
    close(f->fh);
    pthread_mutex_lock(&lock);
    if (!--n->opens && n->silly) {
        struct stat s;
        struct node *d = fstat(n->sillydir, &s) ? NULL : find(s.st_ino);
        unlinkat(n->sillydir, n->silly, 0);
        if (d)
            changed(d);
        close(n->sillydir);
        free(n->silly);
        n->silly = NULL;
    }
    pthread_mutex_unlock(&lock);
    fuse_reply_err(q, 0);
}

static void l_fsync(fuse_req_t q, fuse_ino_t i, int d, struct fuse_file_info *f) { fuse_reply_err(q, gate()); }
static void l_fsyncdir(fuse_req_t q, fuse_ino_t i, int d, struct fuse_file_info *f) { fuse_reply_err(q, gate()); }

/* Listings: taken at opendir, from the cache while it is fresh */
struct listing {
    size_t size;
    char bytes[];
};
static void l_opendir(fuse_req_t q, fuse_ino_t i, struct fuse_file_info *f)
{
    struct node *n = of(i);
    hear();
    if (now() >= n->listed) {
        int e = refuses("list", "-");
        if (!e)
            e = look(n);
        int fd = e ? -1 : openat(n->fd, ".", O_RDONLY | O_DIRECTORY);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);
        if (!d) {
            fuse_reply_err(q, e ? e : errno);
            return;
        }
        char *list = NULL;
        size_t size = 0;
        FILE *m = open_memstream(&list, &size);
        for (struct dirent *x; (x = readdir(d));) {
            fwrite(&x->d_ino, sizeof x->d_ino, 1, m);
            fputc(x->d_type, m);
            fwrite(x->d_name, strlen(x->d_name) + 1, 1, m);
        }
        fclose(m);
        closedir(d);
        pthread_mutex_lock(&lock);
        free(n->list);
        n->list = list;
        n->size = size;
        n->listed = now() + say.list;
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    struct listing *l = malloc(sizeof *l + n->size);
    l->size = n->size;
    memcpy(l->bytes, n->list, n->size);
    pthread_mutex_unlock(&lock);
    f->fh = (uint64_t)l;
    fuse_reply_open(q, f);
}

static void l_readdir(fuse_req_t q, fuse_ino_t i, size_t k, off_t o, struct fuse_file_info *f)
{
    struct listing *l = (void *)f->fh;
    char *b = malloc(k);
    size_t used = 0;
    while ((size_t)o < l->size) {
        char *x = l->bytes + o;
        struct stat s = {0};
        memcpy(&s.st_ino, x, sizeof(ino_t));
        s.st_mode = (unsigned char)x[sizeof(ino_t)] << 12;
        char *t = x + sizeof(ino_t) + 1;
        off_t then = o + sizeof(ino_t) + 1 + strlen(t) + 1;
        size_t z = fuse_add_direntry(q, b + used, k - used, t, &s, then);
        if (z > k - used)
            break;
        used += z;
        o = then;
    }
    fuse_reply_buf(q, b, used);
    free(b);
}

static void l_releasedir(fuse_req_t q, fuse_ino_t i, struct fuse_file_info *f)
{
    free((void *)f->fh);
    fuse_reply_err(q, 0);
}

static void l_statfs(fuse_req_t q, fuse_ino_t i)
{
    struct statvfs s;
    int e = gate();
    if (!e && fstatvfs(root->fd, &s))
        e = errno;
    if (e)
        fuse_reply_err(q, e);
    else
        fuse_reply_statfs(q, &s);
}

static const struct fuse_lowlevel_ops ops = {
    .lookup = l_lookup, .forget = l_forget, .getattr = l_getattr, .setattr = l_setattr, .readlink = l_readlink,
    .mkdir = l_mkdir, .mknod = l_mknod, .symlink = l_symlink, .link = l_link, .unlink = l_unlink, .rmdir = l_rmdir,
    .rename = l_rename, .open = l_open, .create = l_create, .read = l_read, .write = l_write, .release = l_release,
    .fsync = l_fsync, .fsyncdir = l_fsyncdir, .opendir = l_opendir, .readdir = l_readdir, .releasedir = l_releasedir,
    .statfs = l_statfs,
};

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: nfslike BACKING MOUNTPOINT CONTROL\n");
        return 2;
    }
    control = argv[3];
    hear();
    umask(0);
    char path[4096];
    snprintf(path, sizeof path, "%s.journal", control);
    journal = fopen(path, "a");
    root = calloc(1, sizeof *root);
    root->fd = open(argv[1], O_PATH | O_DIRECTORY);
    root->root = 1;
    struct stat s;
    if (root->fd < 0 || fstat(root->fd, &s)) {
        perror(argv[1]);
        return 1;
    }
    root->ino = s.st_ino;
    root->lookups = 1;
    fresh(root, &s);
    char *words[] = {argv[0], "-o", "fsname=nfslike,subtype=nfslike,allow_other,default_permissions", NULL};
    struct fuse_args a = FUSE_ARGS_INIT(3, words);
    struct fuse_session *x = fuse_session_new(&a, &ops, sizeof ops, NULL);
    if (!x || fuse_set_signal_handlers(x) || fuse_session_mount(x, argv[2]))
        return 1;
    struct fuse_loop_config *c = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(c, 400);
    fuse_loop_cfg_set_idle_threads(c, 20);
    int r = fuse_session_loop_mt(x, c);
    fuse_session_unmount(x);
    return r != 0;
}
