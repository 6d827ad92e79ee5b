/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over its corpus and over mutations of it, always the same ones. Arguments: files and folders; the
 * inputs that the target makes itself come by themselves. --seeds DIR writes those there, for a run with libFuzzer.
 * FUZZ_ROUNDS: mutations per input. */
#include <dirent.h>
#include <string.h>

#include "fuzz.h"

#define INPUT_MAX FUZZ_INPUT_MAX
#define ROUNDS 3000

static uint64_t seed = 88172645463325252u;
static unsigned long rounds = ROUNDS, runs;

static size_t rnd(size_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)(seed >> 20) % n;
}

static size_t mutate(uint8_t *p, size_t n)
{
	static const char spice[] = "\r\n\r\n:;=\"%&-,{}[]\\/ \t0a\0\xff";

	for (size_t left = 1 + rnd(4); left; left--) {
		size_t at = n ? rnd(n) : 0, len = n ? 1 + rnd(n - at < 16 ? n - at : 16) : 0;

		switch (rnd(5)) {
		case 0: /* change a byte */
			if (n)
				p[at] = rnd(2) ? (uint8_t)spice[rnd(sizeof spice)] : (uint8_t)rnd(256);
			break;
		case 1: /* cut */
			memmove(p + at, p + at + len, n - at - len);
			n -= len;
			break;
		case 2: /* repeat */
			if (n + len <= INPUT_MAX) {
				memmove(p + at + len, p + at, n - at);
				n += len;
			}
			break;
		case 3: /* insert a byte */
			if (n < INPUT_MAX) {
				memmove(p + at + 1, p + at, n - at);
				p[at] = (uint8_t)spice[rnd(sizeof spice)];
				n++;
			}
			break;
		default: /* swap two */
			if (n) {
				size_t other = rnd(n);
				uint8_t c = p[at];

				p[at] = p[other];
				p[other] = c;
			}
		}
	}
	return n;
}

/* On the heap and of exact size, so that a sanitizer sees the first byte too many. */
static void run(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	MUST(copy);
	memcpy(copy, p, n);
	MUST(LLVMFuzzerTestOneInput(copy, n) == 0);
	free(copy);
	runs++;
}

static void run_around(const uint8_t *input, size_t n)
{
	static uint8_t work[INPUT_MAX];

	run(input, n);
	for (size_t i = 0; i <= n && i < 512; i++)
		run(input, i); /* every prefix */
	for (unsigned long i = 0; i < rounds; i++) {
		memcpy(work, input, n);
		run(work, mutate(work, n));
	}
}

static void run_file(const char *path)
{
	static uint8_t input[INPUT_MAX];
	FILE *f = fopen(path, "re");

	MUST(f);
	size_t n = fread(input, 1, sizeof input, f);
	fclose(f);
	run_around(input, n);
}

/* Runs the inputs that the target makes, or writes them. */
static void run_seeds(const char *dir)
{
	static uint8_t input[INPUT_MAX];
	size_t n;

	for (size_t i = 0; fuzz_seed && (n = fuzz_seed(i, input)) > 0; i++) {
		char path[4096];

		if (!dir) {
			run_around(input, n);
			continue;
		}
		(void)snprintf(path, sizeof path, "%s/seed%zu", dir, i);
		FILE *f = fopen(path, "we");

		MUST(f && fwrite(input, 1, n, f) == n);
		fclose(f);
	}
}

int main(int argc, char **argv)
{
	const char *z = getenv("FUZZ_ROUNDS");

	if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
		run_seeds(argv[2]);
		return 0;
	}

	if (z)
		rounds = strtoul(z, NULL, 10);
	run_seeds(NULL);
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);

		if (!d) {
			run_file(argv[i]);
			continue;
		}
		for (struct dirent *de; (de = readdir(d));) {
			char path[4096];

			if (de->d_name[0] == '.')
				continue;
			(void)snprintf(path, sizeof path, "%s/%s", argv[i], de->d_name);
			run_file(path);
		}
		closedir(d);
	}
	printf("%lu inputs\n", runs);
	return runs ? 0 : 1;
}
