/* SPDX-License-Identifier: Apache-2.0 */
/* What a model wrote, made ready to run; and a package that its code needs. Names of packages are names: nothing of
 * them reaches a shell.
 *
 *	E2B_API_KEY=... ./packages six
 */
#include <atoll.h>
#include <stdio.h>
#include <stdlib.h>

static int prepare(const char *written)
{
	const char *language;
	struct atoll_error e;
	char *code;

	if (atoll_prepare_code(NULL, written, &language, &code, &e) < 0) {
		(void)printf("%s\n", e.text);
		return -1;
	}
	(void)printf("%s:\n%s\n", language, code);
	free(code);
	return 0;
}

int main(int argc, char **argv)
{
	const char *names[] = { argc > 1 ? argv[1] : "six" };
	struct atoll_sandbox *sb = NULL;
	struct atoll_output *out = NULL;
	struct atoll *a = NULL;
	struct atoll_error e;

	(void)prepare("```python\n    print(os.name)\n```");
	(void)prepare("```cobol\nSTOP RUN.\n```");
	if (atoll_package_check("pip", names[0], &e) < 0) {
		(void)printf("%s\n", e.text);
		return 2;
	}
	if (atoll_new(&(struct atoll_config) { 0 }, &a, &e) < 0 ||
	    atoll_sandbox_create(a, &(struct atoll_spec) { .template_id = "base", .timeout_s = 120 }, &sb, &e) < 0 ||
	    atoll_install(sb, "pip", names, 1, 0, &out, &e) < 0) {
		(void)fprintf(stderr, "packages: %s\n", e.text);
		return 1;
	}
	(void)printf("pip ended with %d\n", out->exit.code);
	atoll_output_free(out);
	(void)atoll_kill(a, atoll_sandbox_id(sb), &e);
	atoll_sandbox_free(sb);
	atoll_free(a);
	return 0;
}
