/* SPDX-License-Identifier: Apache-2.0 */
/* A front whose clocks are ahead of the host's: hours pass when a test says so.
 *
 * Linked with all of atoll-front, this clock_gettime() takes the place of libc's, for the front's own code and for the
 * libraries that it has loaded. How far ahead, in milliseconds, stands in 8 bytes of the file $ATOLL_TEST_CLOCK. It is
 * mapped before main() runs, since the front opens no file later. Nothing of this is in the program that is installed:
 * its clock cannot be moved. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *ahead_ms;

static __attribute__((constructor)) void ahead_open(void)
{
	const char *file = getenv("ATOLL_TEST_CLOCK");
	int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead_ms, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		(void)fprintf(stderr,
		    "this front is for tests: ATOLL_TEST_CLOCK must name a file of 8 bytes that it can read\n");
		_exit(1);
	}
	(void)close(fd);
	ahead_ms = p;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int r = (int)syscall(SYS_clock_gettime, id, ts);

	if (r == 0 && ahead_ms && id != CLOCK_PROCESS_CPUTIME_ID && id != CLOCK_THREAD_CPUTIME_ID) {
		int64_t ns = ts->tv_nsec + (*ahead_ms % 1000) * 1000000;

		ts->tv_sec += *ahead_ms / 1000 + ns / 1000000000;
		ts->tv_nsec = ns % 1000000000;
	}
	return r;
}
