/* SPDX-License-Identifier: Apache-2.0 */
/* Code in a sandbox: what it prints as it prints it, its results, its errors.
 *
 *	cc run_code.c $(pkg-config --cflags --libs libatoll) -o run_code
 *	E2B_API_KEY=... ./run_code 'x = 6 * 7
 *	print(x)'
 */
#include <atoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int on_stdout(void *user, const char *text, size_t n)
{
	(void)user;
	(void)fwrite(text, 1, n, stdout);
	return fflush(stdout); /* a reader that is gone ends the code, too */
}

static int on_result(void *user, const struct atoll_result *r)
{
	(void)user;
	if (r->text)
		(void)printf("result: %s\n", r->text);
	if (r->png)
		(void)printf("a picture, %zu characters of base64\n", strlen(r->png));
	return 0;
}

static int run(struct atoll_sandbox *sb, const char *code)
{
	const struct atoll_code_events on = { .on_stdout = on_stdout, .on_result = on_result };
	struct atoll_execution *x;
	struct atoll_error e;

	if (atoll_run_code(sb, &(struct atoll_code) { .code = code }, &on, &x, &e) < 0) {
		(void)fprintf(stderr, "run code: %s\n", e.text);
		return EXIT_FAILURE;
	}
	if (x->error)
		(void)printf("error: %s: %s\n", x->error->name, x->error->value);
	int status = x->error ? 3 : EXIT_SUCCESS;

	atoll_execution_free(x);
	return status;
}

int main(int argc, char **argv)
{
	struct atoll *a = NULL;
	struct atoll_sandbox *sb = NULL;
	struct atoll_error e;
	int status = EXIT_FAILURE;

	/* NULL: key and address from E2B_API_KEY, E2B_DOMAIN and so on, as all SDKs of E2B; else the server on this
	 * machine. */
	if (atoll_new(NULL, &a, &e) < 0 || atoll_sandbox_create(a, NULL, &sb, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.text);
	} else {
		status = run(sb, argc > 1 ? argv[1] : "x = 6 * 7\nprint(x)\nx + 1");
		if (atoll_kill(a, atoll_sandbox_id(sb), &e) < 0)
			(void)fprintf(stderr, "%s\n", e.text);
	}
	atoll_sandbox_free(sb);
	atoll_free(a);
	return status;
}
