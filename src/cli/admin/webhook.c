/* SPDX-License-Identifier: Apache-2.0 */
/* atoll webhook: URLs that are notified of events of a team's sandboxes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"
#include "cli/table.h"

#define EVENTS_MAX 16
#define ONE_WEBHOOK OPERANDS_ONE("missing operand: one webhook, by ID or name")

/* Resolves an id, or a name that exactly one webhook has, to the webhook's id. The caller frees the id. On error,
 * prints a message and returns NULL. */
static char *find_webhook(struct atoll *a, const char *given)
{
	struct atoll_webhooks *w;
	struct atoll_error e;
	const char *id = NULL;
	size_t n = 0;

	if (atoll_webhooks_list(a, &w, &e) < 0) {
		say("%s", e.text);
		return NULL;
	}
	for (size_t i = 0; i < w->n; i++) {
		bool is_id = strcmp(w->v[i].id, given) == 0;

		if (is_id || strcmp(w->v[i].name, given) == 0)
			id = w->v[i].id;
		n += id == w->v[i].id;
		if (is_id) {
			n = 1;
			break;
		}
	}
	char *copy = n == 1 ? strdup(id) : NULL;

	if (n == 0)
		say("webhook '%s' does not exist", given);
	else if (n > 1)
		say("%zu webhooks are named '%s': use the ID", n, given);
	atoll_webhooks_free(w);
	return copy;
}

static int print_webhooks(const struct atoll_webhooks *w)
{
	static const struct column columns[] = {
		{ "ID", false },
		{ "NAME", false },
		{ "ENABLED", false },
		{ "WAITING", true },
		{ "AGE", false },
		{ "URL", false },
	};
	autotable struct table t = TABLE_INIT(columns);
	char age[FORMAT_SIZE];

	for (size_t i = 0; i < w->n; i++) {
		table_add(&t, w->v[i].id);
		table_add(&t, w->v[i].name);
		table_add(&t, w->v[i].enabled ? "yes" : "no");
		table_addf(&t, "%lld", (long long)w->v[i].waiting);
		span_format(w->v[i].created_at, now_ms(), false, age);
		table_add(&t, age);
		table_add(&t, w->v[i].url);
	}
	return table_print(&t);
}

static int run_list(const struct verb *v, int argc, char **argv)
{
	bool json = false;
	autoatoll struct atoll *a = NULL;
	struct atoll_webhooks *w;
	struct atoll_error e;
	int rc = verb_plain(v, OPERANDS_NONE, argc, argv, &json, NULL, &a);

	if (rc >= 0)
		return rc;
	if (atoll_webhooks_list(a, &w, &e) < 0)
		return fail("%s", e.text);
	rc = json ? (puts(w->json), 0) : print_webhooks(w);
	atoll_webhooks_free(w);
	return rc;
}

/* Expands "created" to "sandbox.lifecycle.created". A name that contains a dot is used as it is. */
static size_t read_events(char *list, char *out[EVENTS_MAX])
{
	size_t n = 0;

	for (char *save, *z = strtok_r(list, ",", &save); z && n < EVENTS_MAX; z = strtok_r(NULL, ",", &save))
		out[n++] = strchr(z, '.')         ? strdup(z)
		    : strcmp(z, "threshold") == 0 ? strdup("sandbox.resource.threshold")
						  : str_fmt("sandbox.lifecycle.%s", z);
	return n;
}

static int run_add(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *events = "created,killed,paused,resumed,updated,checkpointed,threshold",
		   *secret = getenv("ATOLL_WEBHOOK_SECRET"), *name = NULL;
	bool json = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "events", 0, OPT_STR, &events },
		{ "name", 0, OPT_STR, &name }, { "json", 0, OPT_FLAG, &json } };
	autoatoll struct atoll *a = NULL;
	struct atoll_webhooks *w;
	struct atoll_error e;
	char *list[EVENTS_MAX];
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_ONE("missing operand: a URL"), argc, argv, &n,
		&a);

	if (rc >= 0)
		return rc;
	autofree char *text = str_dup(str_of(events));
	size_t n_list = text ? read_events(text, list) : 0;

	rc = atoll_webhook_add(a, name ? name : argv[0], argv[0], (const char *const *)list, n_list,
	    secret && *secret ? secret : NULL, &w, &e);
	for (size_t i = 0; i < n_list; i++)
		free(list[i]);
	if (rc < 0)
		return fail("%s", e.text);
	if (json)
		(void)puts(w->json);
	else
		(void)printf("%s\n", w->v[0].id);
	if (!json && w->v[0].secret)
		(void)printf("secret %s\n", w->v[0].secret);
	atoll_webhooks_free(w);
	return 0;
}

static int run_rm(const struct verb *v, int argc, char **argv)
{
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int rc = verb_plain(v, ONE_WEBHOOK, argc, argv, NULL, NULL, &a);

	if (rc >= 0)
		return rc;
	autofree char *id = find_webhook(a, argv[0]);

	if (!id)
		return EXIT_FAILURE;
	if (atoll_webhook_remove(a, id, &e) < 0)
		return fail("%s", e.text);
	(void)puts(id);
	return 0;
}

static int run_test(const struct verb *v, int argc, char **argv)
{
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int n, rc = verb_plain(v, ONE_WEBHOOK, argc, argv, NULL, &n, &a);

	if (rc >= 0)
		return rc;
	autofree char *id = find_webhook(a, argv[0]);

	if (!id)
		return EXIT_FAILURE;
	if (atoll_webhook_test(a, id, &e) < 0)
		return fail("%s", e.text);
	(void)printf("queued; see 'atoll webhook deliveries %s'\n", id);
	return 0;
}

static int print_deliveries(const struct atoll_deliveries *l)
{
	static const struct column columns[] = {
		{ "AGE", false },
		{ "STATE", false },
		{ "ATTEMPTS", true },
		{ "OUTCOME", false },
		{ "STATUS", true },
		{ "MS", true },
		{ "EVENT", false },
		{ "SANDBOX", false },
		{ "ERROR", false },
	};
	autotable struct table t = TABLE_INIT(columns);
	char age[FORMAT_SIZE];

	for (size_t i = 0; i < l->n; i++) {
		const struct atoll_delivery *d = &l->v[i];

		span_format(d->created_at, now_ms(), false, age);
		table_add(&t, age);
		table_add(&t, d->state);
		table_addf(&t, "%u", d->attempts);
		table_add(&t, d->outcome ? d->outcome : "-");
		table_addf(&t, "%d", d->status);
		table_addf(&t, "%lld", (long long)d->duration_ms);
		table_add(&t, d->event_type);
		table_add(&t, *d->sandbox ? d->sandbox : "-");
		table_add(&t, d->error ? d->error : "-");
	}
	return table_print(&t);
}

static int run_deliveries(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	int64_t limit = 20;
	bool json = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "limit", 'n', OPT_NUMBER, &limit },
		{ "json", 0, OPT_FLAG, &json } };
	autoatoll struct atoll *a = NULL;
	struct atoll_deliveries *l;
	struct atoll_error e;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, ONE_WEBHOOK, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	autofree char *id = find_webhook(a, argv[0]);

	if (!id)
		return EXIT_FAILURE;
	if (atoll_webhook_deliveries(a, id, limit > 1000 ? 1000 : (unsigned)limit, &l, &e) < 0)
		return fail("%s", e.text);
	rc = json ? (puts(l->json), 0) : print_deliveries(l);
	atoll_deliveries_free(l);
	return rc;
}

static const struct verb webhook_list = {
	.name = "webhook list",
	.summary = "List the team's webhooks",
	.synopsis = "[--json]",
	.help = "      --json  print a JSON array with all fields\n"
		"\n" SETTINGS_HELP,
	.run = run_list,
};

static const struct verb webhook_add = {
	.name = "webhook add",
	.summary = "Add a webhook: a URL to call on sandbox events",
	.synopsis = "URL [--name NAME] [--events LIST] [--json]",
	.help = "      --name NAME    name of the webhook (default: the URL)\n"
		"      --events LIST  events, separated by commas: created, killed, paused, resumed,\n"
		"                     updated, checkpointed, threshold (default: all)\n"
		"      --json         print all fields as JSON\n"
		"\n"
		"Calls are signed with the secret in the variable ATOLL_WEBHOOK_SECRET. If it is not set,\n"
		"the server generates one, which is printed after the ID and shown only once.\n"
		"\n" SETTINGS_HELP,
	.run = run_add,
};

static const struct verb webhook_rm = {
	.name = "webhook rm",
	.summary = "Delete a webhook and its pending calls",
	.synopsis = "ID|NAME",
	.help = SETTINGS_HELP,
	.run = run_rm,
};

static const struct verb webhook_test = {
	.name = "webhook test",
	.summary = "Send a test event to a webhook",
	.synopsis = "ID|NAME",
	.help = SETTINGS_HELP,
	.run = run_test,
};

static const struct verb webhook_deliveries = {
	.name = "webhook deliveries",
	.summary = "Show the calls of a webhook and their results, newest first",
	.synopsis = "ID|NAME [-n N] [--json]",
	.help = "  -n, --limit N  number of calls, up to 100 (default: 20)\n"
		"      --json     print a JSON array with all fields\n"
		"\n" SETTINGS_HELP,
	.run = run_deliveries,
};

static const struct verb *const subs[] = { &webhook_list, &webhook_add, &webhook_rm, &webhook_test, &webhook_deliveries,
	NULL };

const struct verb verb_webhook = {
	.name = "webhook",
	.summary = "Call URLs on sandbox events",
	.synopsis = "list | add | rm | test | deliveries ...",
	.help = "",
	.run = verb_group,
	.subs = subs,
};
