/*
 * Loaded into a program before the C library, makes its writes fail. Calls on files under
 * NUNCIO_FAULT_UNDER are counted from 1; NUNCIO_FAULT says what happens:
 *
 *   kill-before N   the program is killed in place of the Nth call
 *   kill-after N    it is killed when the Nth call has been carried out
 *   kill-torn N     it is killed when the Nth call has written half of its bytes
 *   sync-error N    the Nth fsync or fdatasync (only these are counted) and all later ones
 *                   fail with EIO
 *   disk-full PATH  writes fail with ENOSPC while there is a file PATH
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum fault { NONE, KILL_BEFORE, KILL_AFTER, KILL_TORN, SYNC_ERROR, DISK_FULL };
enum kind { WRITE, SYNC, TRUNCATE };

static enum fault fault;
static unsigned long wanted;
static const char *marker;
static const char *under;
static atomic_ulong calls;

__attribute__((constructor)) static void read_environment(void)
{
    static const char *const names[] = {
        [KILL_BEFORE] = "kill-before ", [KILL_AFTER] = "kill-after ", [KILL_TORN] = "kill-torn ",
        [SYNC_ERROR] = "sync-error ",   [DISK_FULL] = "disk-full ",
    };
    const char *text = getenv("NUNCIO_FAULT");
    under = getenv("NUNCIO_FAULT_UNDER");
    if (text == NULL || under == NULL)
        return;
    for (int i = KILL_BEFORE; i <= DISK_FULL; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(text, names[i], length) == 0) {
            fault = i;
            marker = text + length;
            wanted = strtoul(marker, NULL, 10);
            return;
        }
    }
    /* A misspelt fault must not look like a test that passed. */
    abort();
}

static int is_under(int file)
{
    char link[64] = "/proc/self/fd/", path[4096], digits[16];
    int at = 0;
    if (file < 0)
        return 0;
    do {
        digits[at++] = (char)('0' + file % 10);
        file /= 10;
    } while (file > 0);
    char *end = link + strlen(link);
    while (at > 0)
        *end++ = digits[--at];
    *end = 0;
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    size_t prefix = strlen(under);
    return strncmp(path, under, prefix) == 0 && (path[prefix] == '/' || path[prefix] == 0);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

/* What is to happen at this call; errno is left alone. */
static enum fault now(int file, enum kind kind)
{
    enum fault result = NONE;
    int before = errno;
    if (fault == NONE || !is_under(file))
        result = NONE;
    else if (fault == DISK_FULL)
        result = kind == WRITE && access(marker, F_OK) == 0 ? DISK_FULL : NONE;
    else if (fault == SYNC_ERROR)
        result = kind == SYNC && atomic_fetch_add(&calls, 1) + 1 >= wanted ? SYNC_ERROR : NONE;
    else if (atomic_fetch_add(&calls, 1) + 1 == wanted)
        result = fault;
    errno = before;
    return result;
}

/* Around each call: REAL carries it out, HALF carries half of it out. */
#define CALL(file, kind, type, REAL, HALF)                                                         \
    do {                                                                                           \
        enum fault what = now(file, kind);                                                         \
        if (what == SYNC_ERROR || what == DISK_FULL) {                                             \
            errno = what == SYNC_ERROR ? EIO : ENOSPC;                                             \
            return -1;                                                                             \
        }                                                                                          \
        if (what == KILL_TORN)                                                                     \
            (void)HALF;                                                                            \
        if (what == KILL_BEFORE || what == KILL_TORN)                                              \
            die();                                                                                 \
        type result = (type)REAL;                                                                  \
        if (what == KILL_AFTER)                                                                    \
            die();                                                                                 \
        return result;                                                                             \
    } while (0)

int fsync(int file) { CALL(file, SYNC, int, syscall(SYS_fsync, file), 0); }

int fdatasync(int file) { CALL(file, SYNC, int, syscall(SYS_fdatasync, file), 0); }

int ftruncate(int file, off_t length)
{
    CALL(file, TRUNCATE, int, syscall(SYS_ftruncate, file, length), 0);
}

int ftruncate64(int file, off64_t length)
{
    CALL(file, TRUNCATE, int, syscall(SYS_ftruncate, file, length), 0);
}

ssize_t write(int file, const void *bytes, size_t count)
{
    CALL(file, WRITE, ssize_t, syscall(SYS_write, file, bytes, count),
         syscall(SYS_write, file, bytes, count / 2));
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at)
{
    CALL(file, WRITE, ssize_t, syscall(SYS_pwrite64, file, bytes, count, at),
         syscall(SYS_pwrite64, file, bytes, count / 2, at));
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at)
{
    CALL(file, WRITE, ssize_t, syscall(SYS_pwrite64, file, bytes, count, at),
         syscall(SYS_pwrite64, file, bytes, count / 2, at));
}

/* Writes the first half of what the vectors hold, at an offset or, at -1, where the file is. */
static int write_half(int file, const struct iovec *vectors, int count, off64_t at)
{
    size_t left = 0;
    for (int i = 0; i < count; i++)
        left += vectors[i].iov_len;
    left /= 2;
    for (int i = 0; i < count && left > 0; i++) {
        size_t part = vectors[i].iov_len < left ? vectors[i].iov_len : left;
        if (at < 0)
            syscall(SYS_write, file, vectors[i].iov_base, part);
        else
            syscall(SYS_pwrite64, file, vectors[i].iov_base, part, at);
        at += at < 0 ? 0 : (off64_t)part;
        left -= part;
    }
    return 0;
}

ssize_t writev(int file, const struct iovec *vectors, int count)
{
    CALL(file, WRITE, ssize_t, syscall(SYS_writev, file, vectors, count),
         write_half(file, vectors, count, -1));
}

ssize_t pwritev(int file, const struct iovec *vectors, int count, off_t at)
{
    CALL(file, WRITE, ssize_t, syscall(SYS_pwritev, file, vectors, count, at, 0),
         write_half(file, vectors, count, at));
}

ssize_t pwritev64(int file, const struct iovec *vectors, int count, off64_t at)
{
    CALL(file, WRITE, ssize_t, syscall(SYS_pwritev, file, vectors, count, at, 0),
         write_half(file, vectors, count, at));
}
