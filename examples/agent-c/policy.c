/* SPDX-License-Identifier: Apache-2.0 */
/* What the policy thinks of commands, code and paths. Asks no server.
 *
 *	./policy 'rm -r -f /' 'git log --format=%h'
 */
#include <atoll.h>
#include <stdio.h>

static void tell(const char *what, const struct atoll_verdict *v)
{
	if (v->severity == ATOLL_SEVERITY_NONE)
		(void)printf("%s: allowed\n", what);
	else
		(void)printf("%s: %s: %s (rule %s, severity %s)\n", what, v->allowed ? "warning" : ATOLL_REFUSED,
		    v->reason, v->rule, atoll_severity_name(v->severity));
}

int main(int argc, char **argv)
{
	static const char rules[] =
	    "{\"rules\":[{\"id\":\"no-docker\",\"pattern\":\"^docker\\\\b\",\"reason\":\"starts a container\"}]}";
	struct atoll_policy *p;
	struct atoll_verdict v;
	struct atoll_error e;

	if (atoll_policy_new(&p, &e) < 0 || atoll_policy_add(p, rules, sizeof rules - 1, &e) < 0) {
		(void)fprintf(stderr, "policy: %s\n", e.text);
		return 1;
	}
	for (int i = 1; i < argc; i++) {
		atoll_policy_command(p, NULL, argv[i], &v);
		tell(argv[i], &v);
	}
	atoll_policy_command(p, NULL, "docker run x", &v);
	tell("docker run x", &v);
	atoll_policy_code(p, NULL, "python", "import os\nos.system('sudo ls')", &v);
	tell("os.system", &v);
	atoll_policy_file(p, NULL, "write", "/tmp/../etc/passwd", &v);
	tell("/tmp/../etc/passwd", &v);
	atoll_policy_free(p);
	return 0;
}
