/* Counts, faults and records the calls that change files under one folder. Loaded with LD_PRELOAD, controlled with
 * ctypes: nothing happens before trust_arm. A call that the C library makes inside itself is not seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))real(#name))
enum { OFF, COUNT, KILL, TORN, FAIL_ONCE, FAIL_ON, RECORD };
/* Kinds of calls: which of them an error can meet is a set of these bits. */
enum { OPEN = 1, WRITE = 2, NAME = 4, REMOVE = 8, FLUSH = 16, SIZE = 32, RIGHTS = 64 };

static char root[PATH_MAX];
static int mode = OFF, error_number = 0, kinds = 0, log_fd = -1;
static long at = 0, calls = 0, of_kind[8];
static long long shift = 0;
static __thread int inside = 0;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

void trust_arm(const char *folder, int new_mode, long new_at, int error, int new_kinds, int log) {
    strncpy(root, folder, PATH_MAX - 1);
    at = new_at, error_number = error, kinds = new_kinds, log_fd = log, calls = 0;
    memset(of_kind, 0, sizeof of_kind);
    mode = new_mode;
}
void trust_disarm(void) { mode = OFF; }
/* How many calls of these kinds there were; 0: of all. */
long trust_calls_of(int wanted) {
    long sum = 0;
    for (int bit = 0; bit < 8; bit++) if (!wanted || wanted & 1 << bit) sum += of_kind[bit];
    return sum;
}
void trust_shift(long long seconds) { shift = seconds; }

static int below(const char *path) {
    size_t length = strlen(root);
    return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}
static void absolute(int folder, const char *path, char *out) {
    char base[PATH_MAX];
    if (path[0] == '/') { snprintf(out, PATH_MAX, "%s", path); return; }
    char link[64];
    if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t n = readlink(link, base, PATH_MAX - 1);
    base[n > 0 ? n : 0] = 0;
    snprintf(out, PATH_MAX, "%.2000s/%.2000s", base, path);
}
static int of_descriptor(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = 0;
    return n > 0 && below(out);
}
static void put(const void *data, size_t size) {
    const char *next = data;
    while (size) {
        ssize_t n = REAL(write)(log_fd, next, size);
        if (n <= 0) return;
        next += n, size -= n;
    }
}
/* One record: kind, lengths of both paths, offset, length of the data; then the paths and the data. */
static void record(char what, const char *first, const char *second, int64_t offset, const void *data, size_t size) {
    if (mode != RECORD) return;
    int saved = errno;
    struct { char what; uint16_t first, second; int64_t offset; uint64_t size; } __attribute__((packed)) head = {
        what, strlen(first), second ? strlen(second) : 0, offset, size};
    put(&head, sizeof head), put(first, head.first), put(second, head.second), put(data, size);
    errno = saved;
}
static void end(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

/* Counts a call; answers 0 to let it through, 1 to fail it, 2 to tear it. */
static int meets(int kind) {
    __sync_add_and_fetch(&of_kind[__builtin_ctz(kind)], 1);
    if (mode == OFF || mode == RECORD || (kinds && !(kinds & kind))) return 0;
    long number = __sync_add_and_fetch(&calls, 1);
    if (mode == COUNT || number < at) return 0;
    if (mode == KILL && number == at) end();
    if (mode == TORN && number == at) { if (kind == WRITE) return 2; end(); }
    if ((mode == FAIL_ONCE && number == at) || mode == FAIL_ON) { errno = error_number; return 1; }
    return 0;
}
#define BUSY (inside || mode == OFF)
#define ENTER pthread_mutex_lock(&order), inside = 1
#define LEAVE inside = 0, pthread_mutex_unlock(&order)

static int opened(int folder, const char *path, int flags, mode_t rights) {
    int (*call)(int, const char *, int, ...) = REAL(openat);
    if (BUSY || !(flags & (O_CREAT | O_TRUNC | O_WRONLY | O_RDWR))) return call(folder, path, flags, rights);
    char full[PATH_MAX];
    absolute(folder, path, full);
    if (!below(full)) return call(folder, path, flags, rights);
    ENTER;
    struct stat there;
    int fd = -1, old = fstatat(AT_FDCWD, full, &there, 0) == 0;
    if (!meets(OPEN)) {
        fd = call(folder, path, flags, rights);
        if (fd >= 0 && !old) record('c', full, NULL, 0, NULL, 0);
        else if (fd >= 0 && (flags & O_TRUNC)) record('t', full, NULL, 0, NULL, 0);
    }
    LEAVE;
    return fd;
}
#define RIGHTS_OF mode_t rights = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); rights = va_arg(rest, mode_t); va_end(rest); }
int open(const char *path, int flags, ...) { RIGHTS_OF return opened(AT_FDCWD, path, flags, rights); }
int open64(const char *path, int flags, ...) { RIGHTS_OF return opened(AT_FDCWD, path, flags, rights); }
int openat(int folder, const char *path, int flags, ...) { RIGHTS_OF return opened(folder, path, flags, rights); }
int openat64(int folder, const char *path, int flags, ...) { RIGHTS_OF return opened(folder, path, flags, rights); }
int creat(const char *path, mode_t rights) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, rights); }

/* `offset` below 0: where the file stands. */
static ssize_t written(int fd, const void *data, size_t size, off64_t offset) {
    char path[PATH_MAX];
    if (BUSY || !of_descriptor(fd, path)) return offset < 0 ? REAL(write)(fd, data, size) : REAL(pwrite64)(fd, data, size, offset);
    ENTER;
    ssize_t done = -1;
    int met = meets(WRITE);
    if (met == 2) size /= 2;
    if (met != 1) done = offset < 0 ? REAL(write)(fd, data, size) : REAL(pwrite64)(fd, data, size, offset);
    if (met == 2) end();
    if (done > 0) record('w', path, NULL, offset < 0 ? lseek64(fd, 0, SEEK_CUR) - done : offset, data, done);
    LEAVE;
    return done;
}
ssize_t write(int fd, const void *data, size_t size) { return written(fd, data, size, -1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return written(fd, data, size, offset); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return written(fd, data, size, offset); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    if (BUSY || !of_descriptor(fd, path)) return REAL(writev)(fd, parts, count);
    ssize_t all = 0;
    for (int i = 0; i < count; i++) {
        ssize_t done = written(fd, parts[i].iov_base, parts[i].iov_len, -1);
        if (done < 0) return all ? all : -1;
        all += done;
    }
    return all;
}
/* Copies inside the kernel are refused below the folder, so that the caller reads and writes. */
ssize_t sendfile(int to, int from, off_t *offset, size_t size) {
    char path[PATH_MAX];
    if (!BUSY && of_descriptor(to, path)) { errno = EINVAL; return -1; }
    return REAL(sendfile)(to, from, offset, size);
}
ssize_t sendfile64(int to, int from, off64_t *offset, size_t size) { return sendfile(to, from, offset, size); }
ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t size, unsigned flags) {
    char path[PATH_MAX];
    if (!BUSY && of_descriptor(to, path)) { errno = EINVAL; return -1; }
    return REAL(copy_file_range)(from, a, to, b, size, flags);
}

#define ON_DESCRIPTOR(kind, what, offset, run) \
    char path[PATH_MAX]; \
    if (BUSY || !of_descriptor(fd, path)) return run; \
    ENTER; \
    int done = -1; \
    if (!meets(kind)) { done = run; if (!done) record(what, path, NULL, offset, NULL, 0); } \
    LEAVE; \
    return done;
int fsync(int fd) { ON_DESCRIPTOR(FLUSH, 'f', 0, REAL(fsync)(fd)) }
int fdatasync(int fd) { ON_DESCRIPTOR(FLUSH, 'f', 0, REAL(fdatasync)(fd)) }
int ftruncate(int fd, off_t size) { ON_DESCRIPTOR(SIZE, 's', size, REAL(ftruncate)(fd, size)) }
int ftruncate64(int fd, off64_t size) { ON_DESCRIPTOR(SIZE, 's', size, REAL(ftruncate64)(fd, size)) }
int fchmod(int fd, mode_t rights) { ON_DESCRIPTOR(RIGHTS, 'm', rights, REAL(fchmod)(fd, rights)) }
int fallocate(int fd, int how, off_t from, off_t size) { ON_DESCRIPTOR(SIZE, 'a', from + size, REAL(fallocate)(fd, how, from, size)) }
int fallocate64(int fd, int how, off64_t from, off64_t size) { ON_DESCRIPTOR(SIZE, 'a', from + size, REAL(fallocate64)(fd, how, from, size)) }
static int reserved(int fd, off_t from, off_t size) { ON_DESCRIPTOR(SIZE, 'a', from + size, REAL(posix_fallocate)(fd, from, size)) }
int posix_fallocate(int fd, off_t from, off_t size) { int done = reserved(fd, from, size); return done == -1 ? errno : done; }

#define ON_PATH(folder, kind, what, offset, run) \
    if (BUSY) return run; \
    char full[PATH_MAX]; \
    absolute(folder, path, full); \
    if (!below(full)) return run; \
    ENTER; \
    int done = -1; \
    if (!meets(kind)) { done = run; if (!done) record(what, full, NULL, offset, NULL, 0); } \
    LEAVE; \
    return done;
int unlink(const char *path) { ON_PATH(AT_FDCWD, REMOVE, 'u', 0, REAL(unlink)(path)) }
int remove(const char *path) { ON_PATH(AT_FDCWD, REMOVE, 'u', 0, REAL(remove)(path)) }
int rmdir(const char *path) { ON_PATH(AT_FDCWD, REMOVE, 'u', 0, REAL(rmdir)(path)) }
int unlinkat(int folder, const char *path, int flags) { ON_PATH(folder, REMOVE, 'u', 0, REAL(unlinkat)(folder, path, flags)) }
int mkdir(const char *path, mode_t rights) { ON_PATH(AT_FDCWD, NAME, 'd', 0, REAL(mkdir)(path, rights)) }
int mkdirat(int folder, const char *path, mode_t rights) { ON_PATH(folder, NAME, 'd', 0, REAL(mkdirat)(folder, path, rights)) }
int chmod(const char *path, mode_t rights) { ON_PATH(AT_FDCWD, RIGHTS, 'm', rights, REAL(chmod)(path, rights)) }
int fchmodat(int folder, const char *path, mode_t rights, int flags) { ON_PATH(folder, RIGHTS, 'm', rights, REAL(fchmodat)(folder, path, rights, flags)) }
int truncate(const char *path, off_t size) { ON_PATH(AT_FDCWD, SIZE, 's', size, REAL(truncate)(path, size)) }

#define ON_PAIR(from_folder, from, to_folder, to, what, run) \
    if (BUSY) return run; \
    char first[PATH_MAX], second[PATH_MAX]; \
    absolute(from_folder, from, first), absolute(to_folder, to, second); \
    if (!below(first) && !below(second)) return run; \
    ENTER; \
    int done = -1; \
    if (!meets(NAME)) { done = run; if (!done) record(what, first, second, 0, NULL, 0); } \
    LEAVE; \
    return done;
int rename(const char *from, const char *to) { ON_PAIR(AT_FDCWD, from, AT_FDCWD, to, 'r', REAL(rename)(from, to)) }
int renameat(int a, const char *from, int b, const char *to) { ON_PAIR(a, from, b, to, 'r', REAL(renameat)(a, from, b, to)) }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { ON_PAIR(a, from, b, to, 'r', REAL(renameat2)(a, from, b, to, flags)) }
int link(const char *from, const char *to) { ON_PAIR(AT_FDCWD, from, AT_FDCWD, to, 'l', REAL(link)(from, to)) }
int linkat(int a, const char *from, int b, const char *to, int flags) { ON_PAIR(a, from, b, to, 'l', REAL(linkat)(a, from, b, to, flags)) }

/* The clock, moved by a number of seconds. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    int done = REAL(clock_gettime)(clock, now);
    if (!done && shift && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift;
    return done;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int done = REAL(gettimeofday)(now, zone);
    if (!done && shift) now->tv_sec += shift;
    return done;
}
