/* SPDX-License-Identifier: Apache-2.0 */
/* small_files: what the kernel takes for many small files without any server: small_files DIR COUNT BYTES makes them
 * in that new directory with the four system calls of an upload, and prints the milliseconds of all of them, and of
 * the processor. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BYTES_MAX 65536

static double now_ms(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The owner is set as by an upload, to the one that the file has: for the kernel the work is the same. */
static int make(int dir, int i, const char *data, size_t n)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%d", i);
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);

	if (fd < 0)
		return -1;
	int r = fchown(fd, getuid(), getgid()) < 0 || write(fd, data, n) != (ssize_t)n ? -1 : 0;

	return close(fd) < 0 ? -1 : r;
}

int main(int argc, char **argv)
{
	static char data[BYTES_MAX];
	int count = argc == 4 ? atoi(argv[2]) : 0;
	size_t n = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;

	if (count <= 0 || n == 0 || n > sizeof(data)) {
		(void)fputs("usage: small_files DIR COUNT BYTES\n", stderr);
		return 2;
	}
	if (mkdir(argv[1], 0755) < 0) {
		perror(argv[1]);
		return 1;
	}
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	double began = now_ms(CLOCK_MONOTONIC), cpu = now_ms(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < count; i++) {
		if (make(dir, i, data, n) < 0) {
			perror(argv[1]);
			return 1;
		}
	}
	printf("%.3f %.3f\n", now_ms(CLOCK_MONOTONIC) - began, now_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	return 0;
}
