/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/check_setup: users, atoll's programs, the template. */
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/inherited.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/host/check.h"
#include "cli/paths.h"
#include "cli/template/template.h"

#define TEMPLATE "base"
#define TOOLS "tools"
#define OLD_DAYS 30

/* Runs in a child process, because raising a limit here would affect later checks. */
static int probe_core(void *arg)
{
	struct err e = ERR_INIT;

	(void)arg;
	inherited_reset();
	return inherited_core(&e);
}

/* Checks what the server inherits from the process that starts it and cannot correct by itself. */
void check_start(const struct check_host *h, struct check_result *r)
{
	struct rlimit core;

	(void)h;
	if (!check_is_root(r))
		return;
	if (child_probe(probe_core, NULL) < 0) {
		check_found(r, CHECK_FAIL,
		    "the hard limit for core files is 0 and cannot be raised, and kernel.core_pattern names a program, "
		    "which would receive every core dump of a sandbox");
		check_remedy(r,
		    "start the server with 'ulimit -Hc' of 1 or more (sudo: Defaults rlimit_core=default, systemd: "
		    "LimitCORE=1, Docker: --ulimit core=1), or give CAP_SYS_RESOURCE, or set kernel.core_pattern to "
		    "'core'");
	} else if (inherited_no_new_privs()) {
		check_found(r, CHECK_WARN,
		    "no_new_privs is set: sudo will not work in sandboxes of a server started from here");
		check_remedy(r,
		    "systemd: NoNewPrivileges=no; Docker: without no-new-privileges; setpriv: without --no-new-privs");
	} else {
		bool zero = getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0;

		check_found(r, CHECK_OK,
		    "limits, files, signals and environment do not depend on who starts the server%s",
		    zero ? "; the hard limit for core files is 0 here, which does no harm" : "");
	}
}

/* The server reads and checks the file, as at its start. */
void check_config(const struct check_host *h, struct check_result *r)
{
	autopaths struct paths p = { 0 };
	const char *argv[] = { "sh", "-c", "exec \"$0\" \"$@\" 2>&1", NULL, "--version", "--config", h->config, NULL };
	char said[sizeof r->text];
	struct err e = ERR_INIT;
	int status = 0;

	if (!h->config) {
		check_found(r, CHECK_OK, "no file: all settings have their defaults");
		return;
	}
	if (paths_find(&p, &e) < 0) {
		check_found(r, CHECK_WARN, "not checked: %s", e.text);
		return;
	}
	argv[3] = p.program[PROGRAM_ATOLLD];
	if (child_output(argv, said, sizeof said, &status, &e) < 0) {
		check_found(r, CHECK_WARN, "not checked: %s", e.text);
	} else if (status != 0) {
		said[strcspn(said, "\n")] = '\0';
		check_found(r, CHECK_FAIL, "%s", said);
		check_remedy(r, "correct the setting; atoll.conf(5) describes all of them");
	} else {
		check_found(r, CHECK_OK, "'%s' is valid", h->config);
	}
}

void check_users(const struct check_host *h, struct check_result *r)
{
	bool front = getpwnam("atoll") != NULL, egress = getpwnam("atoll-egress") != NULL;

	(void)h;
	if (front && egress && !getpwnam("atoll-hooks")) {
		check_found(r, CHECK_WARN, "atoll-hooks is missing: webhooks reach public IPv4 addresses only");
		check_remedy(r, "adduser --system --group --no-create-home --home /nonexistent atoll-hooks");
		return;
	}
	if (front && egress) {
		check_found(r, CHECK_OK, "atoll, atoll-egress and atoll-hooks exist");
		return;
	}
	check_found(r, CHECK_FAIL, "%s%s%s missing", front ? "" : "atoll", !front && !egress ? " and " : "",
	    egress      ? " is"
		: front ? "atoll-egress is"
			: "atoll-egress are");
	check_remedy(r, "%s%s%s", front ? "" : "adduser --system --group --no-create-home --home /nonexistent atoll",
	    !front && !egress ? "; " : "",
	    egress ? "" : "adduser --system --group --no-create-home --home /nonexistent atoll-egress");
}

static void programs_found(struct check_result *r)
{
	char names[160] = "";
	size_t n = 0;

	for (size_t i = 0; i < N_PROGRAMS && n < sizeof names; i++)
		n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
		    program_name((enum program)i));
	check_found(r, CHECK_OK, "%s and the template recipes are installed", names);
}

void check_programs(const struct check_host *h, struct check_result *r)
{
	autopaths struct paths p = { 0 };
	struct err e = ERR_INIT;

	(void)h;
	if (paths_find(&p, &e) < 0 || paths_check(&p, &e) < 0) {
		check_found(r, CHECK_FAIL, "%s", e.text);
		check_remedy(r, "make build, or make install; ATOLL_TEMPLATES names another directory of templates");
	} else {
		programs_found(r);
	}
}

/* Returns 1 if the template is in the cache, 0 if not, or a negative errno value if this cannot be determined. */
static int find_built(const struct check_host *h, const char *name, char key[TEMPLATE_KEY_LEN + 1], struct err *e)
{
	autopaths struct paths p = { 0 };

	if (paths_find(&p, e) < 0 || template_key(p.build_script, name, key, e) < 0)
		return -e->no;
	return template_cached(h->cache, key);
}

void check_mmdebstrap(const struct check_host *h, struct check_result *r)
{
	char key[TEMPLATE_KEY_LEN + 1];
	struct err e = ERR_INIT;

	if (child_has_program("mmdebstrap")) {
		check_found(r, CHECK_OK, "installed");
		return;
	}
	bool built = geteuid() == 0 && find_built(h, TEMPLATE, key, &e) == 1;
	check_found(r, built ? CHECK_WARN : CHECK_FAIL, "missing: %s",
	    built ? "the template is built, but cannot be rebuilt" : "the template cannot be built");
	check_remedy(r, "apt-get install mmdebstrap");
}

/* Returns the days since the date in the line "created=..." of the template's info file, or -1. */
static int64_t template_age_days(const char *cache, const char *key)
{
	autofree char *path = str_fmt("%s/templates/%s/info", cache, key);
	char text[1024];
	uint64_t created_us;

	if (!path || file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
		return -1;
	struct str rest = str_of(text);
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');

		if (!str_starts(line, "created="))
			continue;
		str_skip(&line, strlen("created="));
		if (clock_parse_rfc3339(line, &created_us) < 0)
			return -1;
		return ((int64_t)clock_wall_ms() - (int64_t)(created_us / 1000)) / (24 * 3600 * 1000);
	}
	return -1;
}

void check_template(const struct check_host *h, struct check_result *r)
{
	char key[TEMPLATE_KEY_LEN + 1];
	struct err e = ERR_INIT;

	if (!check_is_root(r))
		return;
	int rc = find_built(h, TEMPLATE, key, &e);
	if (rc < 0) {
		check_found(r, CHECK_WARN, "%s", e.text);
		return;
	}
	if (rc == 0) {
		check_found(r, CHECK_OK,
		    "'" TEMPLATE "' is not built yet; the first 'atoll serve' builds it in a few minutes");
		return;
	}
	int64_t days = template_age_days(h->cache, key);
	if (days > OLD_DAYS) {
		check_found(r, CHECK_WARN, "'" TEMPLATE "' is %lld days old and lacks later security updates",
		    (long long)days);
		check_remedy(r, "stop the server, rm -rf '%s/templates/%s', start it again", h->cache, key);
	} else {
		check_found(r, CHECK_OK, "'" TEMPLATE "' is built, %lld day%s old", (long long)days,
		    days == 1 ? "" : "s");
	}
}

/* CRIU is needed only for the memory of paused sandboxes. */
void check_criu(const struct check_host *h, struct check_result *r)
{
	char key[TEMPLATE_KEY_LEN + 1];
	struct err e = ERR_INIT;

	if (!check_is_root(r))
		return;
	int rc = find_built(h, TOOLS, key, &e);

	if (rc > 0) {
		check_found(r, CHECK_OK, "in '%s/templates/%s'", h->cache, key);
	} else if (rc < 0) {
		check_found(r, CHECK_WARN, "%s", e.text);
	} else {
		check_found(r, CHECK_WARN,
		    "not installed: the memory of paused sandboxes would not be written to disk");
		check_remedy(r,
		    "start the server where Debian's mirror can be reached, which fetches it; or run "
		    "'templates/build " TOOLS "'");
	}
}
