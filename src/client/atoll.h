/* SPDX-License-Identifier: Apache-2.0 */
/* libatoll: C client library for atoll and other servers that implement the E2B API.
 *
 * A struct atoll holds a server's address and the key; a struct atoll_sandbox is one sandbox and its token. Both may be
 * used by several threads at once: each call uses its own connection. Objects that are polled (struct atoll_run,
 * atoll_process, atoll_watcher, atoll_build) and results belong to one thread at a time; different ones may be used at
 * once. An object must be freed before the object it was created from; every free function accepts NULL.
 *
 * Calls block until the server has responded, except for processes and code that are polled with atoll_process_poll()
 * and atoll_run_poll(). Callbacks run in the thread that made the call, and may use the library except for the calling
 * object. Calls return 0 or a positive value on success, or a negative errno value, and then fill in *e (e may be
 * NULL). -EINVAL is also returned if a required pointer is NULL. Strings passed in are copied; strings returned belong
 * to the object they came from. Outputs are written on success only.
 *
 * Structs that the caller fills in begin with `size`: 0, or sizeof of the struct, so that later versions can add fields
 * at the end. A field that is 0 has its default. */
#ifndef ATOLL_H
#define ATOLL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct atoll;
struct atoll_sandbox;
struct atoll_process;

struct atoll_error {
	/* errno value: ENOENT unknown sandbox or file, EACCES key refused, ECANCELED, ... */
	int no;
	int status;     /* HTTP status of the response, 0 if there was none */
	char text[480]; /* one line, no full stop */
};

struct atoll_pair {
	const char *name, *value;
};

#define ATOLL_NO_TIMEOUT ((unsigned)-1)

/* One line of JSON per call, with its outcome, duration and size, never content or secrets:
 *
 *	{"time":"...","level":"info","op":"run_code","sandbox":"i...","status":200,"ms":2.1,
 *	 "contentLength":12,"receivedLength":210,"resultsCount":1} */
typedef void atoll_log_line(void *user, const char *line);

/* The default template, which has the common libraries. */
#define ATOLL_TEMPLATE_DEFAULT "code-interpreter-v1"

/* A server's address and the key. A field that is NULL is taken from the environment (unless no_env), or else has this
 * default:
 *
 *	api_key		E2B_API_KEY; else access_token, E2B_ACCESS_TOKEN; else the key of a server on this machine,
 *			from its state directory; else, for an api_url on the loopback address, none
 *	api_url		E2B_API_URL, else https://api.DOMAIN; without a key that was given the server's on this machine
 *	domain		E2B_DOMAIN, else "e2b.app"
 *	sandbox_url	E2B_SANDBOX_URL (if api_url is not given here); else api_url, if that and no domain is known
 *			(header fields select the sandbox); else https://PORT-ID.DOMAIN, or https://sandbox.DOMAIN for
 *			E2B's own
 *	template_id	E2B_TEMPLATE_ID, else ATOLL_TEMPLATE_DEFAULT
 *	state_dir	"/var/lib/atoll"
 *	ca_file		SSL_CERT_FILE, else the CAs of the system; PEM
 *	mock		ATOLL_MOCK=1: no server, see below
 *	log		ATOLL_LOG: "stderr", or a file to which lines are appended */
struct atoll_config {
	size_t size;
	const char *api_url;     /* "http://127.0.0.1:8080" */
	const char *sandbox_url; /* URL for calls into sandboxes */
	const char *api_key;
	const char *domain;       /* "sbx.example.org", with a port if it is not 443 */
	const char *access_token; /* sent as a bearer token if there is no key */
	const char *template_id;  /* default of struct atoll_spec */
	const char *state_dir, *ca_file;
	bool no_env; /* ignore the environment */
	bool mock;
	atoll_log_line *log; /* called by the thread that made the call, so possibly by several at once */
	void *log_user;
};

const char *atoll_version(void);

/* cfg NULL: all from the environment. -EINVAL: a value is missing or invalid, and e names the variable. Sends nothing.
 */
int atoll_new(const struct atoll_config *cfg, struct atoll **ret, struct atoll_error *e);
void atoll_free(struct atoll *a);
void atoll_close(struct atoll **a); /* the same, and sets *a to NULL, so that calling it again does nothing */
bool atoll_is_mock(const struct atoll *a);

/* While a call waits, `stop` is called about once a second; if it returns true, the call ends with -ECANCELED. NULL:
 * never. Must be set while no call is in progress. */
void atoll_set_stop(struct atoll *a, bool (*stop)(void *user), void *user);

/* 0 if a server responds at api_url. */
int atoll_health(struct atoll *a, struct atoll_error *e);

/* --- sandboxes --- */

struct atoll_spec {
	size_t size;
	const char *template_id; /* id or alias; NULL: see struct atoll_config */
	unsigned timeout_s;      /* lifetime; 0: the server's default */
	const struct atoll_pair *metadata;
	size_t n_metadata;
	const struct atoll_pair *envs; /* environment of every process in it */
	size_t n_envs;
	const struct atoll_pair *volumes; /* names and mount points */
	size_t n_volumes;
	bool no_internet; /* no outgoing connections, including DNS */
	/* limits, as for atoll_limits(); not supported by E2B servers */
	const struct atoll_pair *limits;
	size_t n_limits;
};

/* spec NULL: all defaults */
int atoll_sandbox_create(struct atoll *a, const struct atoll_spec *spec, struct atoll_sandbox **ret,
    struct atoll_error *e);

/* Opens an existing sandbox. A paused one is resumed; otherwise its timeout is not changed. */
int atoll_sandbox_open(struct atoll *a, const char *id, struct atoll_sandbox **ret, struct atoll_error *e);

const char *atoll_sandbox_id(const struct atoll_sandbox *sb);
const char *atoll_sandbox_json(const struct atoll_sandbox *sb); /* the server's response; contains the token */
int atoll_sandbox_running(struct atoll_sandbox *sb, struct atoll_error *e); /* 1; or 0: it has ended or is paused */
void atoll_sandbox_free(struct atoll_sandbox *sb);                          /* the sandbox keeps running */
void atoll_sandbox_close(struct atoll_sandbox **sb);                        /* the same, as atoll_close() */

#define ATOLL_HOST_SIZE 320

/* "PORT-ID.DOMAIN": the host name of a port over HTTPS. -ENOENT: the server has no domain. */
int atoll_sandbox_host(const struct atoll_sandbox *sb, unsigned port, char *ret, size_t size, struct atoll_error *e);

int atoll_kill(struct atoll *a, const char *id, struct atoll_error *e);  /* -ENOENT: not found */
int atoll_pause(struct atoll *a, const char *id, struct atoll_error *e); /* -EBUSY: already paused */
/* saves only the disk: it boots when it is resumed */
int atoll_pause_disk(struct atoll *a, const char *id, struct atoll_error *e);

/* -EBUSY: already running. It ends in timeout_s seconds; 0: 300. */
int atoll_resume(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e);
/* likewise, but boots from its disk and discards the saved memory */
int atoll_boot(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e);

/* Sets the remaining lifetime to timeout_s, whether that is shorter or longer than before; 0: ends now. */
int atoll_set_timeout(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e);

struct atoll_fork_spec {
	size_t size;
	unsigned count;       /* number of copies; 0: one */
	unsigned timeout_s;   /* lifetime of each; 0: 15 */
	bool inherit_secrets; /* the values inserted into the source's requests are inserted into theirs, too */
};

struct atoll_fork {
	const char *id;    /* NULL: this copy failed */
	const char *error; /* the reason; else NULL */
	int code;          /* 429: a limit is reached, 500: failed; else 0 */
};

struct atoll_forks {
	const struct atoll_fork *v;
	size_t n;
	const char *json;
};

/* Copies a running sandbox with its processes; the sandbox continues. Fails only if no copy was attempted: check each
 * item. */
int atoll_fork(struct atoll *a, const char *id, const struct atoll_fork_spec *spec, struct atoll_forks **ret,
    struct atoll_error *e);
void atoll_forks_free(struct atoll_forks *f);

struct atoll_limit {
	const char *name;               /* "memoryMB" */
	const char *value, *max, *used; /* numbers; NULL: no limit, no maximum, not measured */
};

struct atoll_limits {
	const struct atoll_limit *v;
	size_t n;
	const char *json;
};

/* The limits of a sandbox, after those in `set` have been changed: numbers, or "default". Either all changes take
 * effect, or none. */
int atoll_limits(struct atoll *a, const char *id, const struct atoll_pair *set, size_t n, struct atoll_limits **ret,
    struct atoll_error *e);
void atoll_limits_free(struct atoll_limits *l);

/* A list is one object: `v` has `n` items, `json` is the array as the server sent it. Everything belongs to the object,
 * which has its own free function (NULL is fine). A string that the server did not send is NULL where noted, else "".
 */

struct atoll_info {
	const char *id, *template_id, *alias; /* alias: NULL if none */
	const char *state;                    /* "running", "paused" */
	const char *started_at, *end_at;      /* RFC 3339, UTC */
	const char *last_activity_at;         /* last call into it; NULL: not reported by E2B servers */
	const char *on_timeout;               /* "kill", "pause"; NULL in lists */
	const char *paused_memory; /* of a paused one, where its memory is: "ram", "ram+disk", "disk", "none", "lost";
				      else NULL */
	unsigned cpu_count;
	uint64_t memory_mb, disk_mb; /* limits */
	const struct atoll_pair *metadata;
	size_t n_metadata;
};

struct atoll_list {
	const struct atoll_info *v;
	size_t n;
	const char *json;
};

int atoll_list_sandboxes(struct atoll *a, struct atoll_list **ret, struct atoll_error *e); /* newest first */

/* A list of one item, whose json is the object itself (it contains the access token). */
int atoll_get_sandbox(struct atoll *a, const char *id, struct atoll_list **ret, struct atoll_error *e);
void atoll_list_free(struct atoll_list *l);

/* --- resource usage and logs --- */

struct atoll_point {
	const char *id; /* of the sandbox */
	const char *at; /* RFC 3339, UTC */
	int64_t at_s;   /* the same, in Unix time */
	double cpu_pct; /* 100: one processor, since the previous sample */
	unsigned cpu_count;
	uint64_t mem_used, mem_total, mem_cache, disk_used, disk_total; /* bytes */
	unsigned pids;                                                  /* processes and threads; 0: not reported */
};

struct atoll_points {
	const struct atoll_point *v;
	size_t n;
	const char *json;
};

/* Samples of a sandbox from from_s to to_s (Unix time; 0: unlimited), oldest first. */
int atoll_metrics(struct atoll *a, const char *id, int64_t from_s, int64_t to_s, struct atoll_points **ret,
    struct atoll_error *e);

/* The last sample of each sandbox; unknown ones and those without samples are omitted. json: an array, each item with
 * its "sandboxID". */
int atoll_metrics_latest(struct atoll *a, const char *const *ids, size_t n, struct atoll_points **ret,
    struct atoll_error *e);
void atoll_points_free(struct atoll_points *p);

struct atoll_log {
	const char *at;      /* RFC 3339, UTC */
	int64_t at_ms;       /* the same, in Unix time */
	const char *level;   /* "debug", "info", "warn", "error" */
	const char *message; /* may contain text of the sandbox, including control characters */
	const struct atoll_pair *fields;
	size_t n_fields;
};

struct atoll_logs {
	const struct atoll_log *v; /* oldest first */
	size_t n;
	const char *json;
};

struct atoll_log_query {
	size_t size;
	int64_t from_ms;    /* Unix time; 0: all that is stored */
	unsigned limit;     /* 1 to 1000; 0: 1000 */
	bool newest;        /* if there are more than `limit`: the newest ones, not the oldest */
	const char *level;  /* minimum; NULL: all */
	const char *search; /* in the message; NULL: all */
};

int atoll_logs(struct atoll *a, const char *id, const struct atoll_log_query *q, struct atoll_logs **ret,
    struct atoll_error *e);
void atoll_logs_free(struct atoll_logs *l);

struct atoll_usage_row {
	const struct atoll_pair *by; /* the values that the row is grouped by */
	size_t n_by;
	const char *key_name; /* NULL: the key no longer exists */
	int64_t sandboxes;
	double seconds; /* total run time */
	/* times processors, and times GiB of the memory limit */
	double vcpu_seconds, gib_seconds;
	int64_t egress_bytes; /* sent */
	double cost;          /* by the server's prices; negative: it has none */
};

struct atoll_usage {
	const struct atoll_usage_row *v; /* in descending order; oldest first if the first of `by` is day */
	size_t n;
	const char *json;
};

struct atoll_usage_query {
	size_t size;
	const char *by;        /* up to four of day, key, template, sandbox, team, tag:NAME; NULL: key */
	const char *from, *to; /* days, "2026-11-15", UTC; NULL: the last 30 */
	bool all_teams;        /* requires an admin key */
};

int atoll_usage(struct atoll *a, const struct atoll_usage_query *q, struct atoll_usage **ret, struct atoll_error *e);
void atoll_usage_free(struct atoll_usage *u);

/* --- webhooks: URLs that are called on events of the team's sandboxes --- */

struct atoll_webhook {
	const char *id, *name, *url, *created_at;
	bool enabled;
	int64_t waiting; /* pending calls */
	/* secret that signs the calls; set only if the server has just generated it, else NULL */
	const char *secret;
};

struct atoll_webhooks {
	const struct atoll_webhook *v;
	size_t n;
	const char *json;
};

struct atoll_delivery {
	const char *id, *event_id, *event_type, *sandbox;
	const char *state;                        /* waiting, delivered or failed */
	const char *created_at, *last_attempt_at; /* RFC 3339; the second NULL: not attempted yet */
	/* ok, status, redirect, timeout, resolve, connect, tls, refused, protocol, lost; NULL: not attempted yet */
	const char *outcome;
	const char *error; /* or NULL */
	unsigned attempts;
	int status; /* of the last response; 0: none */
	int64_t duration_ms;
};

struct atoll_deliveries {
	const struct atoll_delivery *v; /* newest first */
	size_t n;
	const char *json;
};

int atoll_webhooks_list(struct atoll *a, struct atoll_webhooks **ret, struct atoll_error *e);
/* secret NULL: the server generates one. */
int atoll_webhook_add(struct atoll *a, const char *name, const char *url, const char *const *events, size_t n_events,
    const char *secret, struct atoll_webhooks **ret, struct atoll_error *e);
int atoll_webhook_remove(struct atoll *a, const char *id, struct atoll_error *e);
/* sends a test event */
int atoll_webhook_test(struct atoll *a, const char *id, struct atoll_error *e);
/* limit 0: 20 */
int atoll_webhook_deliveries(struct atoll *a, const char *id, unsigned limit, struct atoll_deliveries **ret,
    struct atoll_error *e);
void atoll_webhooks_free(struct atoll_webhooks *w);
void atoll_deliveries_free(struct atoll_deliveries *d);

/* --- administration ---
 *
 * `team` is the name or ID of a team, which requires an admin key, or NULL: the team of the key in use. -EPERM: the key
 * does not permit this. */

struct atoll_capacity_peak {                          /* peak in an hour or a day */
	const char *from;                             /* RFC 3339 */
	int64_t sandboxes, memory_bytes, limit_bytes; /* running; memory in use, and their limits */
	int64_t starts, pool_hits, pool_misses;       /* totals */
	double cpu_cores;
};

struct atoll_capacity_now {
	int64_t running, paused, max; /* sandboxes */
	int64_t memory_bytes, memory_left_bytes;
	double cpu_cores; /* in use */
	int64_t cores;
	int64_t pool_hits, pool_misses; /* since the server started */
	int64_t more, more_at_full_use; /* sandboxes that still fit, at average use and at full use */
	/* the limiting resource: max_sandboxes, addresses, memory, processes or disk */
	const char *bound, *bound_at_full_use;
	const struct atoll_capacity_peak *peaks; /* oldest first */
	size_t n_peaks;
};

struct atoll_capacity {
	const struct atoll_capacity_now *v; /* one */
	size_t n;
	const char *json;
};

/* days 0: 7; requires an admin key */
int atoll_capacity(struct atoll *a, bool by_hour, unsigned days, struct atoll_capacity **ret, struct atoll_error *e);
void atoll_capacity_free(struct atoll_capacity *c);

struct atoll_key {
	const char *id, *name;
	const char *prefix, *suffix;                     /* the visible part */
	const char *created_at, *last_used, *expires_at; /* RFC 3339; the last two NULL: never */
	bool admin;
	const char *secret; /* the key itself, only if it was just created; else NULL */
};

struct atoll_keys {
	const struct atoll_key *v;
	size_t n;
	const char *json;
};

/* oldest first */
int atoll_keys_list(struct atoll *a, const char *team, struct atoll_keys **ret, struct atoll_error *e);

/* One item with its secret, which cannot be retrieved again; json: the object. */
int atoll_key_create(struct atoll *a, const char *team, const char *name, bool admin, struct atoll_keys **ret,
    struct atoll_error *e);

/* Replaces a key; the old one is revoked after grace_s. */
int atoll_key_rotate(struct atoll *a, const char *team, const char *id, unsigned grace_s, struct atoll_keys **ret,
    struct atoll_error *e);
int atoll_key_revoke(struct atoll *a, const char *team, const char *id, struct atoll_error *e);
void atoll_keys_free(struct atoll_keys *k);

#define ATOLL_DEFAULT (-1) /* the server's limit */
#define ATOLL_KEEP (-2)    /* do not change */

struct atoll_team {
	const char *id, *name, *created_at;
	bool is_default, blocked;
	int64_t max_sandboxes, rate_limit; /* or ATOLL_DEFAULT; rate_limit: requests per second and key, 0: none */
	int64_t sandboxes, keys;           /* current numbers */
};

struct atoll_teams {
	const struct atoll_team *v;
	size_t n;
	const char *json;
};

struct atoll_team_change {
	size_t size;
	const char *name;                  /* NULL: do not change */
	int64_t max_sandboxes, rate_limit; /* 0 or more, ATOLL_DEFAULT or ATOLL_KEEP */
	int blocked;                       /* 0, 1 or ATOLL_KEEP */
};

int atoll_teams_list(struct atoll *a, struct atoll_teams **ret, struct atoll_error *e); /* oldest first */

/* One item, the new state; json: the object. -EBUSY: the name is taken. */
int atoll_team_create(struct atoll *a, const struct atoll_team_change *t, struct atoll_teams **ret,
    struct atoll_error *e);
int atoll_team_change(struct atoll *a, const char *team, const struct atoll_team_change *t, struct atoll_teams **ret,
    struct atoll_error *e);
int atoll_team_remove(struct atoll *a, const char *team, struct atoll_error *e); /* -EBUSY: the team has sandboxes */
void atoll_teams_free(struct atoll_teams *t);

/* --- volumes: directories that outlive sandboxes and can be shared by several --- */

struct atoll_volume {
	const char *id, *name, *created_at;
	uint64_t size_mb;   /* capacity */
	int64_t used_bytes; /* at most half a minute old; -1: not reported in lists */
	int64_t sandboxes;  /* number that have it mounted */
};

struct atoll_volumes {
	const struct atoll_volume *v;
	size_t n;
	const char *json; /* of a single volume: with its token */
};

int atoll_volumes_list(struct atoll *a, struct atoll_volumes **ret, struct atoll_error *e); /* newest first */

/* One item; volume: its name or ID. size_mb 0: the server's default. -EINVAL: invalid, or the name is taken. */
int atoll_volume_create(struct atoll *a, const char *name, unsigned size_mb, struct atoll_volumes **ret,
    struct atoll_error *e);
int atoll_volume_get(struct atoll *a, const char *volume, struct atoll_volumes **ret, struct atoll_error *e);
int atoll_volume_resize(struct atoll *a, const char *volume, unsigned size_mb, struct atoll_volumes **ret,
    struct atoll_error *e);
int atoll_volume_remove(struct atoll *a, const char *volume, struct atoll_error *e); /* -EBUSY: mounted */
void atoll_volumes_free(struct atoll_volumes *v);

struct atoll_audit_query {
	size_t size;                                          /* sizeof(struct atoll_audit_query) */
	const char *key, *sandbox, *session, *kind, *request; /* NULL: any */
	const char *from, *to;                                /* RFC 3339; NULL: no bound */
	uint64_t after;                                       /* only records after that number */
	uint64_t last;                                        /* not 0: only the last `last` records */
	bool text;        /* with the member "text": code or command, if the server stores it */
	bool all_teams;   /* of all teams and of the server; requires an admin key */
	const char *team; /* with all_teams: only that team */
	uint64_t before;  /* not 0: only records before that number */
};

typedef int atoll_audit_fn(void *user, uint64_t seq, const char *line); /* a negative value ends the call */

/* Records of the audit trail, oldest first: each a line of JSON, as docs/audit.md describes it. */
int atoll_audit(struct atoll *a, const struct atoll_audit_query *q, atoll_audit_fn *fn, void *user,
    struct atoll_error *e);

struct atoll_purged { /* numbers of deleted objects */
	int64_t sandboxes, snapshots, volumes, templates, secrets;
	int64_t records, logs; /* of sandboxes that had already ended */
};

/* Registers files in the server's storage pool as a snapshot; body: see docs/http-api.md. For 'atoll snapshot import';
 * requires an admin key. */
int atoll_snapshot_adopt(struct atoll *a, const char *body, char *ret_id, size_t size, struct atoll_error *e);

/* Kills and deletes everything a team owns, except the team and its keys. team NULL: the key's own; another requires an
 * admin key. */
int atoll_purge(struct atoll *a, const char *team, struct atoll_purged *ret, struct atoll_error *e);
/* The team of the key with that ID: the key's own, or with an admin key any. */
int atoll_purge_key(struct atoll *a, const char *key_id, struct atoll_purged *ret, struct atoll_error *e);

#define ATOLL_LEVEL_SIZE 16

/* The server's log level. set: NULL only reads it; else "debug", "info", "warn" or "error", until the next restart. */
int atoll_log_level(struct atoll *a, const char *set, char ret[ATOLL_LEVEL_SIZE], struct atoll_error *e);

#define ATOLL_LINK_SIZE 512

/* The URL of the server's web console with a code that logs a browser in, once. role: "viewer", "member" or "admin", at
 * most that of the key; NULL: that of the key. seconds: how long the code is valid; 0: the server's default. */
int atoll_console_link(struct atoll *a, const char *role, unsigned seconds, char ret_url[ATOLL_LINK_SIZE],
    struct atoll_error *e);

/* --- templates --- */

/* Writes up to n bytes of the content to the buffer. Returns their number, 0 at the end, or a negative errno value,
 * which ends the call. */
typedef ssize_t atoll_source(void *user, void *p, size_t n);

struct atoll_template {
	const char *id, *name;         /* name: the first of its aliases */
	const char *build_id, *status; /* "ready", "building", "waiting", "error" */
	const char *created_at;
	bool is_public;
	unsigned cpu_count;
	uint64_t memory_mb;
	int64_t spawn_count, build_count;
};

struct atoll_templates {
	const struct atoll_template *v;
	size_t n;
	const char *json;
};

/* The team's templates, then the server's. */
int atoll_templates_list(struct atoll *a, struct atoll_templates **ret, struct atoll_error *e);
void atoll_templates_free(struct atoll_templates *t);

/* {"template":{...},"tags":[...]}; free() the result. */
int atoll_template_inspect(struct atoll *a, const char *name, char **ret_json, struct atoll_error *e);
int atoll_template_remove(struct atoll *a, const char *name, struct atoll_error *e); /* -EINVAL: sandboxes use it */
int atoll_template_tag(struct atoll *a, const char *target, const char *const *tags, size_t n, struct atoll_error *e);
int atoll_template_untag(struct atoll *a, const char *name, const char *const *tags, size_t n, struct atoll_error *e);
int atoll_template_public(struct atoll *a, const char *name, bool is_public, struct atoll_error *e);

struct atoll_gc {
	unsigned layers, uploads, images; /* numbers deleted */
};

/* Requires an admin key. max_mb -1: the server's setting. */
int atoll_template_gc(struct atoll *a, int64_t max_mb, struct atoll_gc *ret, struct atoll_error *e);

/* A build: create it, upload the archives of its COPY steps, start it, poll it. */
struct atoll_build;

struct atoll_build_spec {
	size_t size;
	const char *name;              /* "name" or "name:tag" */
	unsigned cpu_count, memory_mb; /* 0: the server's */
};

struct atoll_build_log {
	/* message may contain text of the sandbox, including control characters */
	const char *at, *level, *step, *message;
};

typedef void atoll_build_sink(void *user, const struct atoll_build_log *l);

int atoll_build_new(struct atoll *a, const struct atoll_build_spec *spec, struct atoll_build **ret,
    struct atoll_error *e);
const char *atoll_build_id(const struct atoll_build *b);
const char *atoll_build_template(const struct atoll_build *b);

/* Uploads the archive that steps refer to as `hash` (64 hex digits): `bytes` bytes of `source`. 1: the server already
 * has it. */
int atoll_build_has(struct atoll_build *b, const char *hash, struct atoll_error *e);
int atoll_build_send(struct atoll_build *b, const char *hash, uint64_t bytes, atoll_source *source, void *user,
    struct atoll_error *e);

/* spec: the JSON of POST /v2/templates/{id}/builds/{build}: the base, the steps and the commands. */
int atoll_build_start(struct atoll_build *b, const char *spec, struct atoll_error *e);

/* Passes on the log since the last call. 1: the build is ready; 0: not yet; -EIO: it failed, and e has the reason. */
int atoll_build_poll(struct atoll_build *b, atoll_build_sink *sink, void *user, struct atoll_error *e);
int atoll_build_cancel(struct atoll_build *b, struct atoll_error *e);
void atoll_build_free(struct atoll_build *b);

/* --- files --- */

/* path: absolute, or relative to the home of `as_user` (NULL: the template's user). Parents are created. */
int atoll_file_write(struct atoll_sandbox *sb, const char *path, const char *as_user, atoll_source *source, void *user,
    struct atoll_error *e);

/* Receives n bytes of the content; a non-zero result ends the call with -ECANCELED. */
typedef int atoll_taker(void *user, const void *p, size_t n);

/* Links are followed. -ENOENT: no such file; -EINVAL: not a file. A failure may come after some of the content. */
int atoll_file_read(struct atoll_sandbox *sb, const char *path, const char *as_user, atoll_taker *taker, void *user,
    struct atoll_error *e);

/* The code that a sandbox ran, with its output, as a Jupyter notebook (.ipynb); also for some days after the sandbox
 * has ended. context: only that one; NULL: all. */
int atoll_notebook(struct atoll *a, const char *id, const char *context, atoll_taker *taker, void *user,
    struct atoll_error *e);

enum atoll_file_type { ATOLL_FILE = 1, ATOLL_DIRECTORY, ATOLL_OTHER };

struct atoll_file {
	enum atoll_file_type type; /* of a link's target; ATOLL_OTHER: neither, or a dangling link */
	unsigned mode;             /* permissions, of a link's target */
	uint64_t size;             /* bytes */
	bool is_link;
	char path[4096]; /* absolute, NUL-terminated */
};

int atoll_file_stat(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_file *ret,
    struct atoll_error *e); /* -ENOENT: not found */

/* Whole files. free() the result; it is followed by a NUL that n does not count. -EFBIG: more than max bytes (0:
 * 64 MiB). */
int atoll_file_put(struct atoll_sandbox *sb, const char *path, const char *as_user, const void *p, size_t n,
    struct atoll_error *e);
int atoll_file_get(struct atoll_sandbox *sb, const char *path, const char *as_user, size_t max, char **ret,
    size_t *ret_n, struct atoll_error *e);

/* 1 or 0 */
int atoll_file_exists(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_error *e);
/* directories are removed recursively */
int atoll_file_remove(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_error *e);

/* Replaces an existing file; parents are created. -ENOENT: no such source. */
int atoll_file_rename(struct atoll_sandbox *sb, const char *from, const char *to, const char *as_user,
    struct atoll_error *e);
/* 1: created; 0: it exists */
int atoll_dir_make(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_error *e);

struct atoll_entry {
	const char *name, *path;   /* path: absolute */
	enum atoll_file_type type; /* as in struct atoll_file */
	unsigned mode;
	uint64_t size;
	const char *permissions; /* "-rw-r--r--" */
	const char *owner, *group;
	const char *modified_at; /* RFC 3339 */
	const char *link_target; /* NULL: not a link */
};

struct atoll_entries {
	const struct atoll_entry *v; /* depth first, by name */
	size_t n;
	const char *json;
};

/* depth 0: 1, the direct entries. -ENOENT; -EINVAL: not a directory. */
int atoll_dir_list(struct atoll_sandbox *sb, const char *path, const char *as_user, unsigned depth,
    struct atoll_entries **ret, struct atoll_error *e);
void atoll_entries_free(struct atoll_entries *l);

/* --- watching files --- */

enum atoll_change { ATOLL_CREATED = 1, ATOLL_WRITTEN, ATOLL_REMOVED, ATOLL_RENAMED, ATOLL_MODE_CHANGED };

struct atoll_file_event {
	enum atoll_change change;
	const char *name; /* relative to the watched directory */
};

/* Non-zero ends the call. */
typedef int atoll_on_change(void *user, const struct atoll_file_event *ev);

struct atoll_watch_spec {
	size_t size;
	const char *path; /* a directory */
	const char *as_user;
	bool recursive;               /* also its subdirectories */
	unsigned timeout_ms;          /* 0: 60 s, or ATOLL_NO_TIMEOUT */
	void (*on_ready)(void *user); /* called when no later change can be missed; or NULL */
};

/* Calls back for each change until the callback returns non-zero (1) or the timeout expires (0). -ENOENT, -EINVAL: not
 * a directory. */
int atoll_watch(struct atoll_sandbox *sb, const struct atoll_watch_spec *spec, atoll_on_change *on, void *user,
    struct atoll_error *e);

/* The same without blocking: atoll_watcher_poll() reports the changes since the last call and returns their number. */
struct atoll_watcher;
int atoll_watcher_new(struct atoll_sandbox *sb, const struct atoll_watch_spec *spec, struct atoll_watcher **ret,
    struct atoll_error *e);
int atoll_watcher_poll(struct atoll_watcher *w, atoll_on_change *on, void *user, struct atoll_error *e);
void atoll_watcher_free(struct atoll_watcher *w); /* on the server, too */

/* --- processes --- */

struct atoll_command {
	size_t size;
	const char *const *argv; /* NULL-terminated; argv[0] is a path, or looked up in PATH by the sandbox */
	const char *line;        /* instead of argv: a command line, run by /bin/bash -l -c LINE */
	const char *cwd;         /* NULL: home */
	const char *as_user;     /* NULL: the template's user */
	const struct atoll_pair *envs;
	size_t n_envs;
	bool with_stdin;             /* false: it reads /dev/null */
	unsigned tty_cols, tty_rows; /* not 0: it runs on a terminal of this size, always with input; all its output is
				      * ATOLL_STDOUT, and its input is ended by a Ctrl-D, not by close_stdin */
	unsigned timeout_ms;         /* it is killed then, and that is -ETIMEDOUT; ATOLL_NO_TIMEOUT: never. 0: 60 s for
				      * atoll_command_run(), never for atoll_process_start() */
	const char *tag;             /* a name to identify it; or NULL */
};

enum atoll_stream { ATOLL_STDOUT = 1, ATOLL_STDERR = 2 };

/* Receives output as it arrives, in arbitrary pieces. A non-zero result makes atoll_process_poll() fail with
 * -ECANCELED. */
typedef int atoll_sink(void *user, enum atoll_stream which, const void *p, size_t n);

struct atoll_exit {
	int code;        /* -1 if a signal killed it */
	bool exited;     /* not killed by a signal */
	char status[64]; /* "exit status 3", "signal: killed" */
};

struct atoll_output { /* exit status and output of a command */
	struct atoll_exit exit;
	int64_t pid;
	const char *out, *err; /* each followed by a NUL that is not counted */
	size_t n_out, n_err;
	bool truncated; /* one of them exceeded 16 MiB; sink received all of it */
};

/* Runs a command and waits for it. A non-zero exit status is in ret->exit.code, and is not a failure of the call. sink
 * (or NULL) receives the output as it arrives; ret may be NULL. The command has no input. */
int atoll_command_run(struct atoll_sandbox *sb, const struct atoll_command *cmd, atoll_sink *sink, void *user,
    struct atoll_output **ret, struct atoll_error *e);
void atoll_output_free(struct atoll_output *o);

struct atoll_process_info {
	int64_t pid;
	const char *const *argv; /* NULL-terminated */
	const char *cwd, *tag;   /* or NULL */
};

struct atoll_processes {
	const struct atoll_process_info *v;
	size_t n;
	const char *json;
};

/* those started by calls */
int atoll_processes_list(struct atoll_sandbox *sb, struct atoll_processes **ret, struct atoll_error *e);
void atoll_processes_free(struct atoll_processes *l);
/* SIGKILL or SIGTERM; -ENOENT: no such process */
int atoll_process_kill(struct atoll_sandbox *sb, int64_t pid, int sig, struct atoll_error *e);

/* Connects to a running process: receives its output from now on, and can send input. Whether it has a terminal is not
 * known, so the caller sets is_tty. */
int atoll_process_connect(struct atoll_sandbox *sb, int64_t pid, bool is_tty, atoll_sink *sink, void *user,
    struct atoll_process **ret, struct atoll_error *e);

/* Requests the start; atoll_process_poll() reports whether it succeeded. `sink` may be NULL. */
int atoll_process_start(struct atoll_sandbox *sb, const struct atoll_command *cmd, atoll_sink *sink, void *user,
    struct atoll_process **ret, struct atoll_error *e);

/* Processes events, waiting up to timeout_ms (-1: forever) for more or for one of fds (as in poll()). 1: the process
 * has exited and all output was delivered; 0: not yet. -ECONNRESET: the connection was lost; -ESRCH: the sandbox is
 * gone. */
int atoll_process_poll(struct atoll_process *p, struct pollfd *fds, size_t n_fds, int timeout_ms,
    struct atoll_error *e);
const struct atoll_exit *atoll_process_exit(const struct atoll_process *p); /* NULL before it has exited */
/* in the sandbox; 0 before it has started */
int64_t atoll_process_pid(const struct atoll_process *p);

/* Input is sent during atoll_process_poll(), one piece at a time. -EAGAIN: the previous piece is still being sent, or
 * the process has not started; -EPIPE: the process has closed its input. */
int atoll_process_send(struct atoll_process *p, const void *data, size_t n);
bool atoll_process_can_send(const struct atoll_process *p);
int atoll_process_close_stdin(struct atoll_process *p); /* after all input is sent */
#define ATOLL_INPUT_MAX (256 * 1024)                    /* bytes of one piece */

/* sig: SIGKILL or SIGTERM. */
int atoll_process_signal(struct atoll_process *p, int sig, struct atoll_error *e);
/* of its terminal */
int atoll_process_resize(struct atoll_process *p, unsigned cols, unsigned rows, struct atoll_error *e);
void atoll_process_free(struct atoll_process *p);   /* the process keeps running */
void atoll_process_close(struct atoll_process **p); /* the same, as atoll_close() */

/* --- code --- */

/* one displayed value in all its formats; NULL: not available in that format */
struct atoll_result {
	bool is_main; /* the value of the last expression, not an intermediate display */
	const char *text, *html, *markdown, *svg, *latex, *javascript;
	const char *png, *jpeg, *pdf;    /* base64 */
	const char *json, *data, *chart; /* JSON */
	const struct atoll_pair *extra;  /* other formats, by MIME type */
	size_t n_extra;
};

struct atoll_code_error { /* raised by the code */
	const char *name, *value, *traceback;
};

/* Callbacks while code runs; each may be NULL. A non-zero result ends the call with -ECANCELED and interrupts the code.
 * Arguments are valid during the callback. */
struct atoll_code_events {
	size_t size;
	int (*on_stdout)(void *user, const char *text, size_t n);
	int (*on_stderr)(void *user, const char *text, size_t n);
	int (*on_result)(void *user, const struct atoll_result *r);
	int (*on_error)(void *user, const struct atoll_code_error *err);
	void *user;
};

struct atoll_code {
	size_t size;
	const char *code;
	const char *language;          /* "python", "javascript", "bash", ...; NULL: python, or that of the context */
	const char *context_id;        /* NULL: the language's default context. Not both */
	const struct atoll_pair *envs; /* for this run only */
	size_t n_envs;
	/* after which the code is interrupted, with -ETIMEDOUT; 0: 60 s, or ATOLL_NO_TIMEOUT */
	unsigned timeout_ms;
};

struct atoll_execution {
	const struct atoll_result *const *results;
	size_t n_results;
	const char *text;      /* of the main result; NULL: none */
	const char *out, *err; /* complete, each followed by a NUL that is not counted */
	size_t n_out, n_err;
	const struct atoll_code_error *error; /* NULL: no error */
	int64_t count;                        /* number of runs in this context, including this one; 0: not reported */
};

/* Runs code and waits for it. An error raised by the code is in ret->error, and is not a failure of the call. on and
 * ret may be NULL. -ENOENT: no such context; -EFBIG: more than 64 MiB of output, which is collected only if ret is
 * given; -ESRCH: the sandbox is gone. */
int atoll_run_code(struct atoll_sandbox *sb, const struct atoll_code *code, const struct atoll_code_events *on,
    struct atoll_execution **ret, struct atoll_error *e);

/* The same as atoll_run_code(), under its name in SDKs before 1.0: notebook.execCell. */
int atoll_notebook_exec_cell(struct atoll_sandbox *sb, const struct atoll_code *code,
    const struct atoll_code_events *on, struct atoll_execution **ret, struct atoll_error *e);
void atoll_execution_free(struct atoll_execution *x);

/* The same without blocking, for programs with their own event loop: atoll_run_poll() processes the events and calls
 * the callbacks. */
struct atoll_run;
int atoll_run_start(struct atoll_sandbox *sb, const struct atoll_code *code, const struct atoll_code_events *on,
    struct atoll_run **ret, struct atoll_error *e);

/* Waits up to timeout_ms (-1: forever) for events or for one of fds (as in poll(); up to 16). 1: the code has finished;
 * 0: not yet; else as atoll_run_code(). */
int atoll_run_poll(struct atoll_run *r, struct pollfd *fds, size_t n_fds, int timeout_ms, struct atoll_error *e);
/* the result of finished code, which belongs to r; else NULL */
const struct atoll_execution *atoll_run_result(const struct atoll_run *r);
/* running code is interrupted */
void atoll_run_free(struct atoll_run *r);

/* The JSON format of E2B's SDKs: {"results":[...],"logs":{"stdout":[...],"stderr":[...]},"error":...}. free() the
 * result; NULL: out of memory. */
char *atoll_execution_json(const struct atoll_execution *x);

struct atoll_context { /* variables and imports that persist from one run to the next */
	const char *id, *language, *cwd;
};

struct atoll_contexts {
	const struct atoll_context *v;
	size_t n;
	const char *json;
};

/* oldest first */
int atoll_contexts_list(struct atoll_sandbox *sb, struct atoll_contexts **ret, struct atoll_error *e);
int atoll_context_create(struct atoll_sandbox *sb, const char *language, const char *cwd, struct atoll_contexts **ret,
    struct atoll_error *e); /* one item; NULL: python, /home/user */
int atoll_context_restart(struct atoll_sandbox *sb, const char *id, struct atoll_error *e); /* as new, same id */
int atoll_context_remove(struct atoll_sandbox *sb, const char *id, struct atoll_error *e);
void atoll_contexts_free(struct atoll_contexts *l);

/* --- git, in a sandbox ---
 *
 * A user name and password or token are passed to git in its environment, for the one command: they appear in no
 * argument, file or record. If git fails, the call fails: -EACCES: the remote refused access; -EIO: anything else, and
 * e has git's output. */

struct atoll_git {
	size_t size;
	/* repository; for a clone its target, NULL: the repository's name in the home directory */
	const char *dir;
	const char *as_user;
	const char *username, *password; /* both or none; only for the remote's host, over http and https */
	const struct atoll_pair *envs;
	size_t n_envs;
	unsigned timeout_ms; /* 0: 60 s */
	const char *pull; /* how a pull joins branches that have diverged: "merge", "rebase", "ff-only"; NULL: as git is
			     set up, else merge */
	bool keep_conflict; /* a pull leaves conflict markers in the files; false: it is undone */
};

struct atoll_git_commit {
	size_t size;
	const char *message;
	const char *author_name, *author_email; /* NULL: git's configuration */
	bool all;                               /* stage all changes first, including new files */
	bool allow_empty;
};

struct atoll_git_file {
	const char *path, *old_path; /* old_path: NULL unless it was renamed or copied */
	char index, tree;            /* as in git status --porcelain: 'M', 'A', 'D', 'R', '?', ' ' for no change */
};

struct atoll_git_status {
	const char *branch, *upstream; /* NULL: detached, none */
	int ahead, behind;
	const struct atoll_git_file *v;
	size_t n;
};

int atoll_git_clone(struct atoll_sandbox *sb, const struct atoll_git *g, const char *url, const char *branch,
    unsigned depth, struct atoll_error *e); /* branch NULL, depth 0: all */
int atoll_git_status(struct atoll_sandbox *sb, const struct atoll_git *g, struct atoll_git_status **ret,
    struct atoll_error *e);
void atoll_git_status_free(struct atoll_git_status *s);
/* to be free()d */
int atoll_git_diff(struct atoll_sandbox *sb, const struct atoll_git *g, bool staged, char **ret, struct atoll_error *e);
/* NULL: all */
int atoll_git_add(struct atoll_sandbox *sb, const struct atoll_git *g, const char *const *paths, struct atoll_error *e);
int atoll_git_commit(struct atoll_sandbox *sb, const struct atoll_git *g, const struct atoll_git_commit *c,
    struct atoll_error *e);
int atoll_git_pull(struct atoll_sandbox *sb, const struct atoll_git *g, const char *remote, const char *branch,
    struct atoll_error *e);
int atoll_git_push(struct atoll_sandbox *sb, const struct atoll_git *g, const char *remote, const char *branch,
    bool set_upstream, struct atoll_error *e); /* NULL: as git is set up */
/* switches to it */
int atoll_git_branch(struct atoll_sandbox *sb, const struct atoll_git *g, const char *name, bool create,
    struct atoll_error *e);
/* one per line, the current one first; free() the result */
int atoll_git_branches(struct atoll_sandbox *sb, const struct atoll_git *g, char **ret, struct atoll_error *e);

/* Any other command: argv without "git", NULL-terminated. A non-zero exit status is not a failure here. */
int atoll_git_run(struct atoll_sandbox *sb, const struct atoll_git *g, const char *const *argv,
    struct atoll_output **ret, struct atoll_error *e);

/* --- agents: policy ---
 *
 * A policy checks what is about to be run. It is advisory: it does not execute the code, so it can be bypassed.
 * Isolation is the task of the sandbox. A struct atoll_policy may be read by several threads. */

struct atoll_policy;

enum atoll_policy_mode { ATOLL_POLICY_OFF, ATOLL_POLICY_WARN, ATOLL_POLICY_DENY };
enum atoll_severity {
	ATOLL_SEVERITY_NONE,
	ATOLL_SEVERITY_LOW,
	ATOLL_SEVERITY_MEDIUM,
	ATOLL_SEVERITY_HIGH,
	ATOLL_SEVERITY_CRITICAL
};

#define ATOLL_REFUSED "Command not allowed by security policy"

struct atoll_verdict {
	bool allowed;                 /* false in mode deny only */
	enum atoll_policy_mode mode;  /* the mode in effect */
	enum atoll_severity severity; /* of the worst violation; ATOLL_SEVERITY_NONE: none */
	char rule[64];                /* its ID, "rm-root"; "": no violation */
	char reason[200];             /* for people; never contains the checked text */
};

/* The built-in rules, in mode deny. */
int atoll_policy_new(struct atoll_policy **ret, struct atoll_error *e);

/* Adds settings: JSON, see atoll-policy(5). Either all of them, or on failure none. */
int atoll_policy_add(struct atoll_policy *p, const char *json, size_t n, struct atoll_error *e);
int atoll_policy_load(struct atoll_policy *p, const char *path, struct atoll_error *e);

/* key: the name or ID of an API key; NULL: all keys without their own mode. */
int atoll_policy_set_mode(struct atoll_policy *p, const char *key, enum atoll_policy_mode mode, struct atoll_error *e);
enum atoll_policy_mode atoll_policy_mode(const struct atoll_policy *p, const char *key);
void atoll_policy_free(struct atoll_policy *p);

/* key: selects the mode, by name or ID; NULL: the default mode. language: as for run_code. operation: read, write,
 * list, remove, upload, download (any other is refused). *ret is always written. */
void atoll_policy_command(const struct atoll_policy *p, const char *key, const char *command,
    struct atoll_verdict *ret);
void atoll_policy_code(const struct atoll_policy *p, const char *key, const char *language, const char *code,
    struct atoll_verdict *ret);
void atoll_policy_file(const struct atoll_policy *p, const char *key, const char *operation, const char *path,
    struct atoll_verdict *ret);

const char *atoll_severity_name(enum atoll_severity s);       /* "none", "low", "medium", "high", "critical" */
const char *atoll_policy_mode_name(enum atoll_policy_mode m); /* "off", "warn", "deny" */
char *atoll_verdict_json(const struct atoll_verdict *v);      /* free() the result; NULL: out of memory */
char *atoll_policy_json(const struct atoll_policy *p);        /* modes and rules in effect; likewise */

/* Normalizes a path, relative to `home`; false: longer than size. Links are not resolved. */
bool atoll_path_resolve(const char *home, const char *path, char *ret, size_t size);

/* --- agents: failures ---
 *
 * A failure in a form that a model can act on: its kind, its cause and the remedy. */

struct atoll_failure {
	char session_id[64];
	const char *type; /* "TIMEOUT", "MEMORY_LIMIT", "SANDBOX_UNAVAILABLE", "SERVICE_UNAVAILABLE", "LIMIT_REACHED",
			     "REFUSED", "OTHER" */
	/* the source text that failed; borrowed, set by the caller; NULL: none */
	const char *code;
	const char *remedy; /* for the model */
	char context[64];   /* what was attempted */
	char cause[480];    /* the error behind it */
	char message[640];  /* "E2B execution failed: ..." */
	int no, status;     /* of that error */
	bool transport;     /* the connection or the server failed, not the request */
};

/* Describes an error. timeout_ms: the timeout that was set, for the message. session_id and context may be NULL. */
void atoll_failure_of(const struct atoll_error *why, const char *session_id, const char *context, unsigned timeout_ms,
    struct atoll_failure *ret);
char *atoll_failure_json(const struct atoll_failure *f); /* to be free()d */

/* A circuit breaker: after `failures` consecutive transport failures it opens, and calls are refused immediately. After
 * open_ms one call is allowed; its success closes the breaker. Thread-safe. */
struct atoll_breaker;

struct atoll_breaker_config {
	size_t size;
	unsigned failures;             /* 0: 5 */
	unsigned open_ms;              /* 0: 30000 */
	int64_t (*now_ms)(void *user); /* NULL: the monotonic clock */
	void *user;
};

/* cfg NULL: defaults */
int atoll_breaker_new(const struct atoll_breaker_config *cfg, struct atoll_breaker **ret, struct atoll_error *e);
/* 0: make the call, then report its result; -EHOSTDOWN: open */
int atoll_breaker_enter(struct atoll_breaker *b, struct atoll_error *e);
void atoll_breaker_report(struct atoll_breaker *b, bool ok);
const char *atoll_breaker_state(struct atoll_breaker *b); /* "closed", "open", "half-open" */
void atoll_breaker_free(struct atoll_breaker *b);

struct atoll_retry {
	size_t size;
	unsigned max_retries; /* after the first attempt */
	unsigned timeout_ms;  /* of one execution */
	unsigned pause_ms;    /* before the first retry, twice that before the next, ... */
};

#define ATOLL_RETRY_DEFAULT ((struct atoll_retry) { sizeof(struct atoll_retry), 3, 30000, 100 })

/* The defaults, overridden by E2B_MAX_RETRIES (0 to 100) and E2B_TIMEOUT (1 to 86400000 ms). -EINVAL: e names the
 * variable. */
int atoll_retry_env(struct atoll_retry *ret, struct atoll_error *e);

/* One attempt. Sets *ret_begun once the operation has started on the server; then it is never retried. */
typedef int atoll_attempt(void *user, bool *ret_begun, struct atoll_error *e);

/* Retries until an attempt succeeds, fails for a reason other than transport, has started, or no retries are left. b
 * and ret_tries may be NULL. */
int atoll_retry_run(const struct atoll_retry *r, struct atoll_breaker *b, atoll_attempt *fn, void *user,
    unsigned *ret_tries, struct atoll_error *e);

/* --- agents: cached results ---
 *
 * Keyed by session, language and code; never shared between sessions. A session is cached from atoll_cache_enable()
 * until code with side effects or dependencies is run in it. Then its results are deleted, and it is no longer cached.
 * Thread-safe. */
struct atoll_cache;

struct atoll_cache_stats {
	uint64_t hits, misses; /* misses: only of cached sessions */
	size_t entries, bytes;
};

/* 0: 16 MiB; the oldest results are evicted first */
int atoll_cache_new(size_t max_bytes, struct atoll_cache **ret, struct atoll_error *e);
int atoll_cache_enable(struct atoll_cache *c, const char *session_id, struct atoll_error *e);
bool atoll_cache_enabled(struct atoll_cache *c, const char *session_id);
/* free() the result; NULL: not cached */
char *atoll_cache_get(struct atoll_cache *c, const char *session_id, const char *language, const char *code);
void atoll_cache_put(struct atoll_cache *c, const char *session_id, const char *language, const char *code,
    const char *result);
/* the session was changed, see above, or has ended */
void atoll_cache_written(struct atoll_cache *c, const char *session_id);
void atoll_cache_stats(struct atoll_cache *c, struct atoll_cache_stats *ret);
void atoll_cache_free(struct atoll_cache *c);

/* Whether code only computes with literals and well-known functions. False also if that cannot be determined. */
bool atoll_code_pure(const char *language, const char *code);

/* --- agents: code and packages --- */

/* The server's name of a language given as "py", "Python3", "js", ...; NULL: unsupported. */
const char *atoll_language(const char *name);

/* The most likely language of the code; "python" if unclear. */
const char *atoll_language_guess(const char *code);

/* Prepares code written by a model: removes a fence (three backquotes; it also sets the language if `language` is NULL)
 * and common indentation; adds // @ts-nocheck to TypeScript unless it has one; adds import sys and import os to Python
 * unless it begins with an import, ! or %. free() *ret. -EINVAL: "Unsupported language: X"; -E2BIG: longer than
 * ATOLL_CODE_MAX. */
#define ATOLL_CODE_MAX (1024 * 1024)
int atoll_prepare_code(const char *language, const char *code, const char **ret_language, char **ret,
    struct atoll_error *e);

/* Installs packages with pip, npm or apt (as root). Names are checked and passed as arguments, never to a shell.
 * -EINVAL: e names the first invalid one. ret: the installer's exit status and output; may be NULL. */
int atoll_install(struct atoll_sandbox *sb, const char *manager, const char *const *names, size_t n,
    unsigned timeout_ms, struct atoll_output **ret, struct atoll_error *e);
int atoll_package_check(const char *manager, const char *name, struct atoll_error *e); /* 0 or -EINVAL */

/* --- agents: sessions ---
 *
 * A session gives an agent a sandbox, and a new one if that is gone. The manager stores the sessions; calls to the
 * server use the client that is passed in, so that several users of a server can share a manager. `owner` separates
 * their sessions (NULL: ""): no owner can use another's. Thread-safe. */

struct atoll_sessions;

struct atoll_resources {
	uint64_t memory_mb;    /* 0: 512 */
	unsigned cpu_permille; /* thousandths of a processor; 0: 500 */
	uint64_t disk_mb;      /* 0: 1024 */
};

struct atoll_thresholds {           /* percentages of a limit at which an alert is raised */
	unsigned memory, cpu, disk; /* 0: 80 */
};

struct atoll_session {
	char id[64], sandbox_id[64];                        /* sandbox_id: "" while it is being created */
	char agent_id[128], user_id[128], environment[128]; /* user_id: may be ""; environment: the template */
	int64_t created_ms, last_used_ms;                   /* Unix time */
	struct atoll_resources limits;
	char owner[128];
	unsigned recoveries; /* how often it continued in a new sandbox */
	char holder[64];     /* the user of its owner that used it last, for whom it is counted; may be "" */
	char scope[128];     /* distinguishes agents of the same name within an owner; "": only one */
	/* created implicitly: while it is idle, its sandbox may be killed to make room for another session */
	bool disposable;
	struct atoll_thresholds alerts;
};

struct atoll_sessions_config {
	size_t size;
	const char *environment; /* NULL: ATOLL_TEMPLATE_DEFAULT */
	uint64_t timeout_ms;     /* idle time after which a session ends; 0: 3600000 */
	unsigned max_sessions;   /* per holder, with a sandbox; 0: 10 */
	struct atoll_resources limits;
	/* Called after it has happened, without a lock. on_destroyed: why is "destroyed", "expired" or "evicted".
	 * on_changed: it was used, or got another sandbox: for whoever keeps records. Each may be NULL. */
	void (*on_created)(void *user, const struct atoll_session *s);
	void (*on_destroyed)(void *user, const struct atoll_session *s, const char *why);
	void (*on_changed)(void *user, const struct atoll_session *s);
	int64_t (*now_ms)(void *user); /* Unix time; NULL: the system clock */
	void *user;
	struct atoll_cache *cache;     /* of results, or NULL; must outlive the manager */
	struct atoll_breaker *breaker; /* likewise */
	/* take tokens and keys out of results and of what callbacks get: see atoll_redact(). A word goes to a callback
	 * when it is whole */
	bool redact;
	const struct atoll_retry *retry; /* NULL: the defaults */
	struct atoll_thresholds alerts;
};

struct atoll_session_spec {
	size_t size;
	const char *owner, *agent_id, *user_id; /* agent_id is required */
	const char *environment;                /* NULL: the manager's */
	struct atoll_resources limits;          /* 0: the manager's */
	bool cache;                             /* results may come from the cache */
	/* environment variables, also of each new sandbox of the session */
	const struct atoll_pair *envs;
	size_t n_envs;
	const char *scope; /* agents of the same name in different scopes have separate sessions; NULL: "" */
	bool disposable;
	struct atoll_thresholds alerts; /* 0: the manager's */
};

/* cfg NULL: defaults */
int atoll_sessions_new(const struct atoll_sessions_config *cfg, struct atoll_sessions **ret, struct atoll_error *e);
void atoll_sessions_free(struct atoll_sessions *m); /* the sandboxes run until their timeouts */

/* -EDQUOT (status 429): "session limit reached". */
int atoll_session_create(struct atoll_sessions *m, struct atoll *a, const struct atoll_session_spec *spec,
    struct atoll_session *ret, struct atoll_error *e);

/* The session of that agent (and owner), or a new one. 1: it was created. */
int atoll_session_get_or_create(struct atoll_sessions *m, struct atoll *a, const struct atoll_session_spec *spec,
    struct atoll_session *ret, struct atoll_error *e);
/* -ENOENT */
int atoll_session_get(struct atoll_sessions *m, const char *owner, const char *id, struct atoll_session *ret,
    struct atoll_error *e);
int atoll_session_destroy(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    struct atoll_error *e);

/* Ends idle sessions and returns their number. a NULL: their sandboxes run until their timeouts. owner NULL: all. */
int atoll_sessions_expire(struct atoll_sessions *m, struct atoll *a, const char *owner);

/* Oldest first, up to max; returns the total number. */
size_t atoll_sessions_list(struct atoll_sessions *m, const char *owner, struct atoll_session *v, size_t max);

/* Adds an existing session, such as one read from a file after a restart. */
int atoll_sessions_adopt(struct atoll_sessions *m, const struct atoll_session *s, struct atoll_error *e);

/* The session's variables, a JSON object, for programs that store sessions. May contain secrets; free() it. NULL: none.
 */
char *atoll_session_envs(struct atoll_sessions *m, const char *owner, const char *id);
/* sets those of an adopted session */
int atoll_session_set_envs(struct atoll_sessions *m, const char *owner, const char *id, const char *json,
    struct atoll_error *e);

/* {"sessionId","sandboxId","agentId","userId","createdAt","lastUsed","environment",
 * "resourceLimits":{"memory","cpu","diskSpace"}}; free() it. */
char *atoll_session_json(const struct atoll_session *s);

/* Opens the session's sandbox; free it. recovered_from (or NULL): the ID of its sandbox if that is known to be gone.
 * The session then continues in a new one, made from the last snapshot of the old one if there is one, and
 * *ret_recovered (or NULL) is set. */
int atoll_session_open(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const char *recovered_from, struct atoll_sandbox **ret, bool *ret_recovered, struct atoll_error *e);

/* Code and files of a session: from the cache if enabled, retried if the connection fails before the operation started,
 * in a new sandbox if the old one is gone. No policy is applied: a program that wants one calls atoll_policy_code()
 * first. */
struct atoll_session_result {
	char *json;         /* of the execution, as of atoll_execution_json() */
	bool cached;        /* nothing was run */
	bool recovered;     /* in a new sandbox: earlier variables are lost */
	bool from_snapshot; /* but the files of the last snapshot are there */
	unsigned tries;
};

int atoll_session_run(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const struct atoll_code *code, const struct atoll_code_events *on, struct atoll_session_result *ret,
    struct atoll_error *e);
void atoll_session_result_done(struct atoll_session_result *r);
int atoll_session_upload(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id, const char *path,
    const void *p, size_t n, struct atoll_error *e);
int atoll_session_download(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const char *path, char **ret, size_t *ret_n, struct atoll_error *e);

/* Redacts tokens and keys of known formats (GitHub, GitLab, AWS, Slack, OpenAI, E2B, ...), private keys, passwords in
 * URLs, and the n secrets. free() the result; NULL: out of memory. Sessions add the values of secret variables. */
char *atoll_redact(const char *text, const char *const *secrets, size_t n);

/* Reports that something other than atoll_session_run() may have changed the sandbox: commands, files, packages. */
void atoll_session_written(struct atoll_sessions *m, const char *id);

/* --- agents: warm sandboxes ---
 *
 * A pool of unused sandboxes, so that taking one does not wait for its creation. A sandbox that is returned is killed,
 * never reused. */
struct atoll_warm;

struct atoll_warm_stats {
	uint64_t hits, misses;
	size_t waiting;
};

int atoll_warm_new(struct atoll *a, const struct atoll_spec *spec, size_t target, struct atoll_warm **ret,
    struct atoll_error *e);
/* up to the target; returns the number created */
int atoll_warm_fill(struct atoll_warm *w, struct atoll_error *e);
/* creates one if the pool is empty */
int atoll_warm_take(struct atoll_warm *w, struct atoll_sandbox **ret, struct atoll_error *e);
int atoll_warm_give(struct atoll_warm *w, struct atoll_sandbox *sb, struct atoll_error *e); /* kills and frees it */
void atoll_warm_stats(struct atoll_warm *w, struct atoll_warm_stats *ret);
void atoll_warm_free(struct atoll_warm *w); /* kills the pool's sandboxes */

/* --- agents: settings ---
 *
 * A file with one JSON object: apiKey ("${E2B_API_KEY}"), defaultEnvironment, sessionTimeout (ms),
 * maxConcurrentSessions, resourceLimits {memory, cpu, diskSpace}, timeout (ms), maxRetries, breakerFailures,
 * breakerOpenMs, redact, policy (atoll-policy(5)). Missing fields have their defaults. -EINVAL: e names the field. */
struct atoll_agent_settings {
	char *api_key; /* NULL: absent, or the variable is not set */
	char *environment;
	unsigned session_timeout_ms, max_sessions;
	struct atoll_resources limits;
	struct atoll_retry retry;
	unsigned breaker_failures, breaker_open_ms;
	bool redact;
	struct atoll_policy *policy;
	struct atoll_thresholds alerts;
};

struct atoll_agent_settings *atoll_agent_settings_default(void); /* NULL: out of memory */
/* path NULL: the defaults */
int atoll_agent_settings_load(const char *path, struct atoll_agent_settings **ret, struct atoll_error *e);
void atoll_agent_settings_free(struct atoll_agent_settings *s);

/* --- agents: a server's agent layer ---
 *
 * Messages, sessions, tools and state under /agent: see docs/agent.md. body: JSON, or NULL. *ret (or NULL): the JSON of
 * the response, to be free()d; also set if the call fails and the response has more than an error message. */
int atoll_agent_call(struct atoll *a, const char *method, const char *path, const char *body, char **ret,
    struct atoll_error *e);

#ifdef __cplusplus
}
#endif
#endif
