/* SPDX-License-Identifier: Apache-2.0 */
/* faulty: commits the fault that its argument names, so that a test can see that a run of the tests would report it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_past_the_end(void)
{
	volatile size_t n = 8; /* known at run time only: else it is undefined behaviour that is found */
	volatile char *p = malloc(n);

	printf("%d\n", p ? p[n] : 0);
}

static void overflow(void)
{
	volatile int n = INT_MAX;

	n = n + 1;
	printf("%d\n", n);
}

static void leak(void)
{
	volatile char *volatile p = malloc(8);

	printf("%d\n", p != NULL);
	p = NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (strcmp(what, "memory") == 0)
		read_past_the_end();
	else if (strcmp(what, "undefined") == 0)
		overflow();
	else if (strcmp(what, "leak") == 0)
		leak();
	else if (strcmp(what, "assertion") == 0)
		abort();
	return 0;
}
