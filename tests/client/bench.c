/* SPDX-License-Identifier: Apache-2.0 */
/* For bench/client.mjs: runs 1+1 in the sandbox SANDBOX as often as each line of standard input says, one line of times
 * in microseconds per line; "grow N" instead tells what the process and its heap have grown by over N calls after a
 * tenth of them. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "atoll.h"

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void call(struct atoll_sandbox *sb)
{
	struct atoll_execution *x = NULL;
	struct atoll_error e;

	if (atoll_run_code(sb, &(struct atoll_code) { .code = "1+1" }, NULL, &x, &e) < 0 || !x->text ||
	    strcmp(x->text, "2") != 0) {
		(void)fprintf(stderr, "%s\n", x ? "not 2" : e.text);
		exit(EXIT_FAILURE);
	}
	atoll_execution_free(x);
}

static long rss_kb(void)
{
	long size = 0, rss = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", &size, &rss) != 2)
		exit(EXIT_FAILURE);
	(void)fclose(f);
	return rss * 4;
}

static void grow(struct atoll_sandbox *sb, int n)
{
	for (int i = 0; i < n / 10; i++)
		call(sb);
	long rss = rss_kb();
	size_t heap = mallinfo2().uordblks;

	for (int i = 0; i < n; i++)
		call(sb);
	(void)printf("%ld %ld\n", (rss_kb() - rss) * 1024, (long)mallinfo2().uordblks - (long)heap);
}

int main(int argc, char **argv)
{
	struct atoll *a;
	struct atoll_sandbox *sb;
	struct atoll_error e;
	char line[64];

	if (argc != 2 || atoll_new(NULL, &a, &e) < 0 || atoll_sandbox_open(a, argv[1], &sb, &e) < 0) {
		(void)fprintf(stderr, "usage: sdk-bench SANDBOX\n");
		return EXIT_FAILURE;
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "grow ", 5) == 0) {
			grow(sb, atoi(line + 5));
		} else {
			for (int i = atoi(line); i > 0; i--) {
				double begin = now_us();

				call(sb);
				(void)printf("%.1f ", now_us() - begin);
			}
			(void)printf("\n");
		}
		(void)fflush(stdout);
	}
	atoll_sandbox_free(sb);
	atoll_free(a);
	return EXIT_SUCCESS;
}
