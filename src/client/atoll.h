/* SPDX-License-Identifier: Apache-2.0 */
/* libatoll: sandboxes of an atoll server (or of any server that speaks the E2B API) from C.
 *
 * A struct atoll is where a server is and the key to it; a struct atoll_sandbox is one sandbox and its token. Both may
 * be used by several threads at once: each call takes a connection of its own. Objects that are driven step by step
 * (struct atoll_run, atoll_process, atoll_watcher, atoll_build) and objects that calls give back belong to one thread
 * at a time; different ones may be used at once. An object must be freed before the one it was made from; every free
 * function takes NULL.
 *
 * Calls block until the server has answered, but for running processes and code that are driven by atoll_process_poll()
 * and atoll_run_poll(). Callbacks are called by the thread that made the call, and may use the library but for the
 * object that is calling. Calls return 0 or more, or a negative errno value and then fill *e (e may be NULL). -EINVAL:
 * also for a NULL that must not be one. Strings that are given are copied; strings that come back belong to the object
 * they were asked from. Outputs are written on success only.
 *
 * Structs that the caller fills begin with `size`: 0, or sizeof of the struct, which lets later versions add fields at
 * the end. What is left 0 has its default. */
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
	int status;     /* HTTP status of the answer, 0 if there was none */
	char text[480]; /* one line, no full stop */
};

struct atoll_pair {
	const char *name, *value;
};

#define ATOLL_NO_TIMEOUT ((unsigned)-1)

/* One line of JSON for each call, with its outcome, its duration and how much it moved, never content or secrets:
 *
 *	{"time":"...","level":"info","op":"run_code","sandbox":"i...","status":200,"ms":2.1,
 *	 "contentLength":12,"receivedLength":210,"resultsCount":1} */
typedef void atoll_log_line(void *user, const char *line);

/* The template of sandboxes for which none is named: the one with the libraries. */
#define ATOLL_TEMPLATE_DEFAULT "code-interpreter-v1"

/* Where a server is, and the key to it. What is NULL is taken from the environment (unless no_env), else it is found
 * out:
 *
 *	api_key		E2B_API_KEY; else access_token, E2B_ACCESS_TOKEN; else the key of a server on this machine,
 *			from its state
 *			directory; else, for an api_url on the loopback address, none
 *	api_url		E2B_API_URL, else https://api.DOMAIN; without a key that was given the server's on this machine
 *	domain		E2B_DOMAIN, else "e2b.app"
 *	sandbox_url	E2B_SANDBOX_URL (if api_url is not given here); else api_url, if that and no domain is known
 *			(header lines say
 *			which sandbox is meant); else https://PORT-ID.DOMAIN, or https://sandbox.DOMAIN for E2B's own
 *	template_id	E2B_TEMPLATE_ID, else ATOLL_TEMPLATE_DEFAULT
 *	state_dir	"/var/lib/atoll"
 *	ca_file		SSL_CERT_FILE, else the CAs of the system; PEM
 *	mock		ATOLL_MOCK=1: no server, see below
 *	log		ATOLL_LOG: "stderr", or a file to which lines are appended */
struct atoll_config {
	size_t size;
	const char *api_url;     /* "http://127.0.0.1:8080" */
	const char *sandbox_url; /* where calls into sandboxes go */
	const char *api_key;
	const char *domain;       /* "sbx.example.org", with a port if it is not 443 */
	const char *access_token; /* sent as a bearer token, if there is no key */
	const char *template_id;  /* of sandboxes whose struct atoll_spec has none */
	const char *state_dir, *ca_file;
	bool no_env; /* only what is given here counts */
	bool mock;
	atoll_log_line *log; /* by the thread that made the call, which several may do at once */
	void *log_user;
};

const char *atoll_version(void);

/* cfg NULL: all from the environment. -EINVAL: something is missing, and e says which variable, or is bad; nothing was
 * sent. */
int atoll_new(const struct atoll_config *cfg, struct atoll **ret, struct atoll_error *e);
void atoll_free(struct atoll *a);
void atoll_close(struct atoll **a); /* the same, and sets it to NULL: a second time does nothing */
bool atoll_is_mock(const struct atoll *a);

/* While a call waits, `stop` is asked about once a second; true ends the call with -ECANCELED. NULL: never. To be set
 * while no call runs. */
void atoll_set_stop(struct atoll *a, bool (*stop)(void *user), void *user);

/* 0 if a server answers at api_url. */
int atoll_health(struct atoll *a, struct atoll_error *e);

/* --- sandboxes --- */

struct atoll_spec {
	size_t size;
	const char *template_id; /* id or alias; NULL: see struct atoll_config */
	unsigned timeout_s;      /* after which it ends by itself; 0: the server's default */
	const struct atoll_pair *metadata;
	size_t n_metadata;
	const struct atoll_pair *envs; /* environment of every process in it */
	size_t n_envs;
	const struct atoll_pair *volumes; /* names, and where it sees them */
	size_t n_volumes;
	bool no_internet; /* nothing goes out of it, names neither */
	/* what it may use, as for atoll_limits(); an E2B server has no such thing */
	const struct atoll_pair *limits;
	size_t n_limits;
};

/* spec NULL: all defaults */
int atoll_sandbox_create(struct atoll *a, const struct atoll_spec *spec, struct atoll_sandbox **ret,
    struct atoll_error *e);

/* An existing one, to work in it. A paused one is resumed; else its timeout stays as it is. */
int atoll_sandbox_open(struct atoll *a, const char *id, struct atoll_sandbox **ret, struct atoll_error *e);

const char *atoll_sandbox_id(const struct atoll_sandbox *sb);
const char *atoll_sandbox_json(const struct atoll_sandbox *sb); /* what the server told about it; holds its token */
int atoll_sandbox_running(struct atoll_sandbox *sb, struct atoll_error *e); /* 1, or 0: it has ended or is paused */
void atoll_sandbox_free(struct atoll_sandbox *sb);                          /* the sandbox itself lives on */
void atoll_sandbox_close(struct atoll_sandbox **sb);                        /* the same, as atoll_close() */

#define ATOLL_HOST_SIZE 320

/* "PORT-ID.DOMAIN": what others call a port of it, over https. -ENOENT: the server has no domain. */
int atoll_sandbox_host(const struct atoll_sandbox *sb, unsigned port, char *ret, size_t size, struct atoll_error *e);

int atoll_kill(struct atoll *a, const char *id, struct atoll_error *e);  /* -ENOENT: there is none */
int atoll_pause(struct atoll *a, const char *id, struct atoll_error *e); /* -EBUSY: it is paused already */
/* keeps its files only: resumed, it boots */
int atoll_pause_disk(struct atoll *a, const char *id, struct atoll_error *e);

/* -EBUSY: it is running already. It ends timeout_s after now; 0: after 300. */
int atoll_resume(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e);
/* likewise, from its disk, whatever else is kept */
int atoll_boot(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e);

/* It ends timeout_s after now, be that sooner or later than before; 0: at once. */
int atoll_set_timeout(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e);

struct atoll_fork_spec {
	size_t size;
	unsigned count;       /* of copies; 0: one */
	unsigned timeout_s;   /* each ends so long after now; 0: 15 */
	bool inherit_secrets; /* what is put into the requests of the source is put into theirs, too */
};

struct atoll_fork {
	const char *id;    /* NULL: this one could not be made, */
	const char *error; /* ... because of that; else NULL */
	int code;          /* 429: it is one too many, 500: it did not work; else 0 */
};

struct atoll_forks {
	const struct atoll_fork *v;
	size_t n;
	const char *json;
};

/* Copies of a running sandbox, with all that runs in it, which goes on itself. An error only if none was tried: look at
 * each. */
int atoll_fork(struct atoll *a, const char *id, const struct atoll_fork_spec *spec, struct atoll_forks **ret,
    struct atoll_error *e);
void atoll_forks_free(struct atoll_forks *f);

struct atoll_limit {
	const char *name;               /* "memoryMB" */
	const char *value, *max, *used; /* numbers; NULL: no limit, none to that, not counted */
};

struct atoll_limits {
	const struct atoll_limit *v;
	size_t n;
	const char *json;
};

/* What a sandbox may use, and if set is not empty after these have been changed: numbers, or "default". All of them
 * hold then, or on failure none. */
int atoll_limits(struct atoll *a, const char *id, const struct atoll_pair *set, size_t n, struct atoll_limits **ret,
    struct atoll_error *e);
void atoll_limits_free(struct atoll_limits *l);

/* What comes back as many is one object: `v` has `n` items, `json` is the same as the server sent it, an array. All of
 * it belongs to the object, which its own free function ends (NULL is fine). A text that the server did not tell is
 * NULL where that is said, else "". */

struct atoll_info {
	const char *id, *template_id, *alias; /* alias: NULL if none */
	const char *state;                    /* "running", "paused" */
	const char *started_at, *end_at;      /* RFC 3339, UTC */
	const char *last_activity_at;         /* of calls into it; NULL: an E2B server does not tell */
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

/* One, as it is: a list of one item, whose json is the object itself (it holds the access token). */
int atoll_get_sandbox(struct atoll *a, const char *id, struct atoll_list **ret, struct atoll_error *e);
void atoll_list_free(struct atoll_list *l);

/* --- what they use, and what happened in them --- */

struct atoll_point {
	const char *id; /* of the sandbox */
	const char *at; /* RFC 3339, UTC */
	int64_t at_s;   /* the same, since 1970 */
	double cpu_pct; /* 100: one processor, since the point before */
	unsigned cpu_count;
	uint64_t mem_used, mem_total, mem_cache, disk_used, disk_total; /* bytes */
	unsigned pids; /* processes and threads; 0: the server does not tell */
};

struct atoll_points {
	const struct atoll_point *v;
	size_t n;
	const char *json;
};

/* The points of one from from_s to to_s (since 1970; 0: no bound), oldest first. */
int atoll_metrics(struct atoll *a, const char *id, int64_t from_s, int64_t to_s, struct atoll_points **ret,
    struct atoll_error *e);

/* The last point of each; one that is unknown or has none is left out. json: an array too, each with its
 * "sandboxID". */
int atoll_metrics_latest(struct atoll *a, const char *const *ids, size_t n, struct atoll_points **ret,
    struct atoll_error *e);
void atoll_points_free(struct atoll_points *p);

struct atoll_log {
	const char *at;      /* RFC 3339, UTC */
	int64_t at_ms;       /* the same, since 1970 */
	const char *level;   /* "debug", "info", "warn", "error" */
	const char *message; /* may hold text of the sandbox: control characters included */
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
	int64_t from_ms;    /* since 1970; 0: all that is kept */
	unsigned limit;     /* 1 to 1000; 0: 1000 */
	bool newest;        /* if there are more than `limit`: the newest of them, not the oldest */
	const char *level;  /* at least; NULL: all */
	const char *search; /* in the message; NULL: all */
};

int atoll_logs(struct atoll *a, const char *id, const struct atoll_log_query *q, struct atoll_logs **ret,
    struct atoll_error *e);
void atoll_logs_free(struct atoll_logs *l);

struct atoll_usage_row {
	const struct atoll_pair *by; /* what its sandboxes have in common, by what was asked for */
	size_t n_by;
	const char *key_name; /* of a key that is still there; else NULL */
	int64_t sandboxes;
	double seconds; /* for which they ran, all together; */
	/* ... times the processors, times the GiB of memory that they may use */
	double vcpu_seconds, gib_seconds;
	int64_t egress_bytes; /* that they sent out */
	double cost;          /* by the server's prices; below 0: it has none */
};

struct atoll_usage {
	const struct atoll_usage_row *v; /* most first; oldest first, if the first of `by` is day */
	size_t n;
	const char *json;
};

struct atoll_usage_query {
	size_t size;
	const char *by;        /* up to four of day, key, template, sandbox, team, tag:NAME; NULL: key */
	const char *from, *to; /* days, "2026-11-15", UTC; NULL: the last 30 */
	bool all_teams;        /* needs an admin key */
};

int atoll_usage(struct atoll *a, const struct atoll_usage_query *q, struct atoll_usage **ret, struct atoll_error *e);
void atoll_usage_free(struct atoll_usage *u);

/* --- webhooks: URLs that are called when something happens to a sandbox of the team --- */

struct atoll_webhook {
	const char *id, *name, *url, *created_at;
	bool enabled;
	int64_t waiting; /* calls that are still to be made */
	/* that calls are signed with; only when the server has just made it up, else NULL */
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
	const char *created_at, *last_attempt_at; /* RFC 3339; the second NULL: not tried yet */
	/* ok, status, redirect, timeout, resolve, connect, tls, refused, protocol, lost; NULL: not tried yet */
	const char *outcome;
	const char *error; /* or NULL */
	unsigned attempts;
	int status; /* of the last answer; 0: none */
	int64_t duration_ms;
};

struct atoll_deliveries {
	const struct atoll_delivery *v; /* newest first */
	size_t n;
	const char *json;
};

int atoll_webhooks_list(struct atoll *a, struct atoll_webhooks **ret, struct atoll_error *e);
/* secret: NULL lets the server make one up. */
int atoll_webhook_add(struct atoll *a, const char *name, const char *url, const char *const *events, size_t n_events,
    const char *secret, struct atoll_webhooks **ret, struct atoll_error *e);
int atoll_webhook_remove(struct atoll *a, const char *id, struct atoll_error *e);
/* calls it with an event that is a test */
int atoll_webhook_test(struct atoll *a, const char *id, struct atoll_error *e);
/* limit 0: 20 */
int atoll_webhook_deliveries(struct atoll *a, const char *id, unsigned limit, struct atoll_deliveries **ret,
    struct atoll_error *e);
void atoll_webhooks_free(struct atoll_webhooks *w);
void atoll_deliveries_free(struct atoll_deliveries *d);

/* --- administration ---
 *
 * `team` is the name or id of a team, for which an admin key is needed, or NULL: the team of the key in use. -EPERM:
 * the key may not do it. */

struct atoll_capacity_peak {                          /* the most at once in an hour or a day */
	const char *from;                             /* RFC 3339 */
	int64_t sandboxes, memory_bytes, limit_bytes; /* running; what they used, and might have */
	int64_t starts, pool_hits, pool_misses;       /* in all */
	double cpu_cores;
};

struct atoll_capacity_now {
	int64_t running, paused, max; /* sandboxes */
	int64_t memory_bytes, memory_left_bytes;
	double cpu_cores; /* in use */
	int64_t cores;
	int64_t pool_hits, pool_misses; /* since the server has started */
	int64_t more, more_at_full_use; /* sandboxes that fit: like those that run, and if each used all that it may */
	/* what is used up first: max_sandboxes, addresses, memory, processes or disk */
	const char *bound, *bound_at_full_use;
	const struct atoll_capacity_peak *peaks; /* oldest first */
	size_t n_peaks;
};

struct atoll_capacity {
	const struct atoll_capacity_now *v; /* one */
	size_t n;
	const char *json;
};

/* days 0: 7; needs an admin key */
int atoll_capacity(struct atoll *a, bool by_hour, unsigned days, struct atoll_capacity **ret, struct atoll_error *e);
void atoll_capacity_free(struct atoll_capacity *c);

struct atoll_key {
	const char *id, *name;
	const char *prefix, *suffix;                     /* what is shown of it */
	const char *created_at, *last_used, *expires_at; /* RFC 3339; the last two NULL: never */
	bool admin;
	const char *secret; /* the key itself, only when it was just made; else NULL */
};

struct atoll_keys {
	const struct atoll_key *v;
	size_t n;
	const char *json;
};

/* oldest first */
int atoll_keys_list(struct atoll *a, const char *team, struct atoll_keys **ret, struct atoll_error *e);

/* One item, with its secret, which nobody can ask for again; json: the object. */
int atoll_key_create(struct atoll *a, const char *team, const char *name, bool admin, struct atoll_keys **ret,
    struct atoll_error *e);

/* A new key in place of one, which ends grace_s from now. */
int atoll_key_rotate(struct atoll *a, const char *team, const char *id, unsigned grace_s, struct atoll_keys **ret,
    struct atoll_error *e);
int atoll_key_revoke(struct atoll *a, const char *team, const char *id, struct atoll_error *e);
void atoll_keys_free(struct atoll_keys *k);

#define ATOLL_DEFAULT (-1) /* of a limit: the server's */
#define ATOLL_KEEP (-2)    /* in a change: as it is */

struct atoll_team {
	const char *id, *name, *created_at;
	bool is_default, blocked;
	int64_t max_sandboxes, rate_limit; /* or ATOLL_DEFAULT; rate_limit: requests per second and key, 0: none */
	int64_t sandboxes, keys;           /* that it has */
};

struct atoll_teams {
	const struct atoll_team *v;
	size_t n;
	const char *json;
};

struct atoll_team_change {
	size_t size;
	const char *name;                  /* NULL: as it is */
	int64_t max_sandboxes, rate_limit; /* 0 or more, ATOLL_DEFAULT or ATOLL_KEEP */
	int blocked;                       /* 0, 1 or ATOLL_KEEP */
};

int atoll_teams_list(struct atoll *a, struct atoll_teams **ret, struct atoll_error *e); /* oldest first */

/* One item, as it is now; json: the object. -EBUSY: the name is taken. */
int atoll_team_create(struct atoll *a, const struct atoll_team_change *t, struct atoll_teams **ret,
    struct atoll_error *e);
int atoll_team_change(struct atoll *a, const char *team, const struct atoll_team_change *t, struct atoll_teams **ret,
    struct atoll_error *e);
int atoll_team_remove(struct atoll *a, const char *team, struct atoll_error *e); /* -EBUSY: it has sandboxes */
void atoll_teams_free(struct atoll_teams *t);

/* --- volumes: files that outlive sandboxes, and that several may share --- */

struct atoll_volume {
	const char *id, *name, *created_at;
	uint64_t size_mb;   /* how much it may hold */
	int64_t used_bytes; /* as of the last half minute; -1: lists do not tell */
	int64_t sandboxes;  /* that have it mounted */
};

struct atoll_volumes {
	const struct atoll_volume *v;
	size_t n;
	const char *json; /* of one: with its token */
};

int atoll_volumes_list(struct atoll *a, struct atoll_volumes **ret, struct atoll_error *e); /* newest first */

/* One item; volume: its name or id. size_mb 0: what the server thinks right. -EINVAL: bad, or the name is taken. */
int atoll_volume_create(struct atoll *a, const char *name, unsigned size_mb, struct atoll_volumes **ret,
    struct atoll_error *e);
int atoll_volume_get(struct atoll *a, const char *volume, struct atoll_volumes **ret, struct atoll_error *e);
int atoll_volume_resize(struct atoll *a, const char *volume, unsigned size_mb, struct atoll_volumes **ret,
    struct atoll_error *e);
int atoll_volume_remove(struct atoll *a, const char *volume, struct atoll_error *e); /* -EBUSY: it is mounted */
void atoll_volumes_free(struct atoll_volumes *v);

struct atoll_audit_query {
	size_t size;                                          /* sizeof(struct atoll_audit_query) */
	const char *key, *sandbox, *session, *kind, *request; /* NULL: any */
	const char *from, *to;                                /* RFC 3339; NULL: no bound */
	uint64_t after;                                       /* only records behind that number */
	uint64_t last;                                        /* not 0: the last so many of them */
	bool text;        /* with the member "text": code or command, if the server keeps it */
	bool all_teams;   /* of everybody, and the server's own; needs an admin key */
	const char *team; /* with all_teams: only of that team */
	uint64_t before;  /* not 0: only records before that number */
};

typedef int atoll_audit_fn(void *user, uint64_t seq, const char *line); /* less than 0 ends it */

/* Records of the audit trail, oldest first: each a line of JSON, as docs/audit.md describes it. */
int atoll_audit(struct atoll *a, const struct atoll_audit_query *q, atoll_audit_fn *fn, void *user,
    struct atoll_error *e);

struct atoll_purged { /* how many of each are gone */
	int64_t sandboxes, snapshots, volumes, templates, secrets;
	int64_t records, logs; /* of sandboxes that had ended before */
};

/* What lies in the server's pool becomes a snapshot; body: see docs/http-api.md. For 'atoll snapshot import'; needs an
 * admin key. */
int atoll_snapshot_adopt(struct atoll *a, const char *body, char *ret_id, size_t size, struct atoll_error *e);

/* Ends and forgets all that is a team's, but for the team and its keys. team NULL: the key's own; another needs an
 * admin key. */
int atoll_purge(struct atoll *a, const char *team, struct atoll_purged *ret, struct atoll_error *e);
/* The team of the key with that id: the key's own, or with an admin key any. */
int atoll_purge_key(struct atoll *a, const char *key_id, struct atoll_purged *ret, struct atoll_error *e);

#define ATOLL_LEVEL_SIZE 16

/* How much the server logs. set: NULL only asks; else "debug", "info", "warn" or "error", until its next restart. */
int atoll_log_level(struct atoll *a, const char *set, char ret[ATOLL_LEVEL_SIZE], struct atoll_error *e);

/* --- templates --- */

/* Gives up to n bytes of the content: their number, 0 at the end, or a negative errno, which ends the call. */
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

/* The team's own, then those of the server. */
int atoll_templates_list(struct atoll *a, struct atoll_templates **ret, struct atoll_error *e);
void atoll_templates_free(struct atoll_templates *t);

/* Of one: {"template":{...},"tags":[...]}, JSON to be free()d. */
int atoll_template_inspect(struct atoll *a, const char *name, char **ret_json, struct atoll_error *e);
int atoll_template_remove(struct atoll *a, const char *name, struct atoll_error *e); /* -EINVAL: sandboxes use it */
int atoll_template_tag(struct atoll *a, const char *target, const char *const *tags, size_t n, struct atoll_error *e);
int atoll_template_untag(struct atoll *a, const char *name, const char *const *tags, size_t n, struct atoll_error *e);
int atoll_template_public(struct atoll *a, const char *name, bool is_public, struct atoll_error *e);

struct atoll_gc {
	unsigned layers, uploads, images; /* how many went */
};

/* Needs an admin key. max_mb -1: what the server is set to. */
int atoll_template_gc(struct atoll *a, int64_t max_mb, struct atoll_gc *ret, struct atoll_error *e);

/* A build: asked for, given the archives of its COPY steps, started, watched. */
struct atoll_build;

struct atoll_build_spec {
	size_t size;
	const char *name;              /* "name" or "name:tag" */
	unsigned cpu_count, memory_mb; /* 0: the server's */
};

struct atoll_build_log {
	/* message may hold text of the sandbox: control characters included */
	const char *at, *level, *step, *message;
};

typedef void atoll_build_sink(void *user, const struct atoll_build_log *l);

int atoll_build_new(struct atoll *a, const struct atoll_build_spec *spec, struct atoll_build **ret,
    struct atoll_error *e);
const char *atoll_build_id(const struct atoll_build *b);
const char *atoll_build_template(const struct atoll_build *b);

/* The archive that steps call `hash` (64 hex digits): 1 if the server has it already. Else it is sent: `bytes` of
 * `source`. */
int atoll_build_has(struct atoll_build *b, const char *hash, struct atoll_error *e);
int atoll_build_send(struct atoll_build *b, const char *hash, uint64_t bytes, atoll_source *source, void *user,
    struct atoll_error *e);

/* spec: the JSON of POST /v2/templates/{id}/builds/{build}: where it begins, its steps, its commands. */
int atoll_build_start(struct atoll_build *b, const char *spec, struct atoll_error *e);

/* What was logged since the last call. 1: it is ready; 0: not yet; -EIO: it failed, and e says why. */
int atoll_build_poll(struct atoll_build *b, atoll_build_sink *sink, void *user, struct atoll_error *e);
int atoll_build_cancel(struct atoll_build *b, struct atoll_error *e);
void atoll_build_free(struct atoll_build *b);

/* --- files --- */

/* path: absolute, or below the home of `as_user` (NULL: the template's user). Parents are made. */
int atoll_file_write(struct atoll_sandbox *sb, const char *path, const char *as_user, atoll_source *source, void *user,
    struct atoll_error *e);

/* Takes n bytes of the content; non-zero ends the call with -ECANCELED. */
typedef int atoll_taker(void *user, const void *p, size_t n);

/* Links are followed. -ENOENT: no such file; -EINVAL: not a file. A failure may come after some of the content. */
int atoll_file_read(struct atoll_sandbox *sb, const char *path, const char *as_user, atoll_taker *taker, void *user,
    struct atoll_error *e);

/* What a sandbox ran and what came of it, also some days after its end, as a notebook of Jupyter (.ipynb); context:
 * only of that one, NULL: of all. */
int atoll_notebook(struct atoll *a, const char *id, const char *context, atoll_taker *taker, void *user,
    struct atoll_error *e);

enum atoll_file_type { ATOLL_FILE = 1, ATOLL_DIRECTORY, ATOLL_OTHER };

struct atoll_file {
	enum atoll_file_type type; /* of what a link leads to; ATOLL_OTHER: neither, or a link to nowhere */
	unsigned mode;             /* permissions, of what a link leads to */
	uint64_t size;             /* bytes */
	bool is_link;
	char path[4096]; /* absolute, NUL-terminated */
};

int atoll_file_stat(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_file *ret,
    struct atoll_error *e); /* -ENOENT: there is none */

/* Whole files. What comes back is to be free()d and has a NUL behind it, which n does not count. -EFBIG: more than max
 * bytes (0: 64 MiB). */
int atoll_file_put(struct atoll_sandbox *sb, const char *path, const char *as_user, const void *p, size_t n,
    struct atoll_error *e);
int atoll_file_get(struct atoll_sandbox *sb, const char *path, const char *as_user, size_t max, char **ret,
    size_t *ret_n, struct atoll_error *e);

/* 1 or 0 */
int atoll_file_exists(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_error *e);
/* a directory with all in it */
int atoll_file_remove(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_error *e);

/* Over a file that is there; parents are made. -ENOENT: no such source. */
int atoll_file_rename(struct atoll_sandbox *sb, const char *from, const char *to, const char *as_user,
    struct atoll_error *e);
/* 1: made; 0: it was there */
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

/* depth 0: 1, what is in it. -ENOENT; -EINVAL: not a directory. */
int atoll_dir_list(struct atoll_sandbox *sb, const char *path, const char *as_user, unsigned depth,
    struct atoll_entries **ret, struct atoll_error *e);
void atoll_entries_free(struct atoll_entries *l);

/* --- changes of files --- */

enum atoll_change { ATOLL_CREATED = 1, ATOLL_WRITTEN, ATOLL_REMOVED, ATOLL_RENAMED, ATOLL_MODE_CHANGED };

struct atoll_file_event {
	enum atoll_change change;
	const char *name; /* relative to what is watched */
};

/* Non-zero ends the call. */
typedef int atoll_on_change(void *user, const struct atoll_file_event *ev);

struct atoll_watch_spec {
	size_t size;
	const char *path; /* a directory */
	const char *as_user;
	bool recursive;               /* what is below it, too */
	unsigned timeout_ms;          /* 0: 60 s, or ATOLL_NO_TIMEOUT */
	void (*on_ready)(void *user); /* from here on nothing is missed; or NULL */
};

/* Calls back for each change until the callback says so (1) or the time is over (0). -ENOENT, -EINVAL: not a
 * directory. */
int atoll_watch(struct atoll_sandbox *sb, const struct atoll_watch_spec *spec, atoll_on_change *on, void *user,
    struct atoll_error *e);

/* The same without waiting: what happened since the last call is given when it is asked for. Its number. */
struct atoll_watcher;
int atoll_watcher_new(struct atoll_sandbox *sb, const struct atoll_watch_spec *spec, struct atoll_watcher **ret,
    struct atoll_error *e);
int atoll_watcher_poll(struct atoll_watcher *w, atoll_on_change *on, void *user, struct atoll_error *e);
void atoll_watcher_free(struct atoll_watcher *w); /* the server forgets it, too */

/* --- processes --- */

struct atoll_command {
	size_t size;
	const char *const *argv; /* NULL-terminated; argv[0] is a path, or looked up in PATH by the sandbox */
	const char *line;        /* instead of argv: a line for a login shell, /bin/bash -l -c LINE */
	const char *cwd;         /* NULL: home */
	const char *as_user;     /* NULL: the template's user */
	const struct atoll_pair *envs;
	size_t n_envs;
	bool with_stdin;             /* false: it reads /dev/null */
	unsigned tty_cols, tty_rows; /* not 0: it runs on a terminal of this size, always with input; all its output is
				      * ATOLL_STDOUT, and its input is ended by a Ctrl-D, not by close_stdin */
	unsigned timeout_ms;         /* it is killed then, and that is -ETIMEDOUT; ATOLL_NO_TIMEOUT: never. 0: 60 s for
				      * atoll_command_run(), never for atoll_process_start() */
	const char *tag;             /* a name to find it by; or NULL */
};

enum atoll_stream { ATOLL_STDOUT = 1, ATOLL_STDERR = 2 };

/* Output as it comes, any cut. Non-zero makes atoll_process_poll() fail with -ECANCELED. */
typedef int atoll_sink(void *user, enum atoll_stream which, const void *p, size_t n);

struct atoll_exit {
	int code;        /* -1 if a signal ended it */
	bool exited;     /* by itself, not by a signal */
	char status[64]; /* "exit status 3", "signal: killed" */
};

struct atoll_output { /* how a command ended, and all it wrote */
	struct atoll_exit exit;
	int64_t pid;
	const char *out, *err; /* each with a NUL behind it that is not counted */
	size_t n_out, n_err;
	bool truncated; /* there was more than 16 MiB of one of them; sink got all of it */
};

/* Runs it to its end. That it failed is in ret->exit.code, and no failure of the call. sink (or NULL) gets the output
 * as it comes; ret may be NULL. Input there is none. */
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
/* SIGKILL or SIGTERM; -ENOENT: there is none */
int atoll_process_kill(struct atoll_sandbox *sb, int64_t pid, int sig, struct atoll_error *e);

/* One that runs already, as if it had been started here: its output from now on, its input. What it has of a terminal
 * is not known: is_tty says it. */
int atoll_process_connect(struct atoll_sandbox *sb, int64_t pid, bool is_tty, atoll_sink *sink, void *user,
    struct atoll_process **ret, struct atoll_error *e);

/* Asks for the start; whether it worked is told by atoll_process_poll(). `sink` may be NULL. */
int atoll_process_start(struct atoll_sandbox *sb, const struct atoll_command *cmd, atoll_sink *sink, void *user,
    struct atoll_process **ret, struct atoll_error *e);

/* Moves everything on, waiting up to timeout_ms (-1: for ever) for news or for one of fds (as in poll()). 1: it has
 * ended and all its output was given; 0: not yet. -ECONNRESET: the connection broke; -ESRCH: the sandbox is gone. */
int atoll_process_poll(struct atoll_process *p, struct pollfd *fds, size_t n_fds, int timeout_ms,
    struct atoll_error *e);
const struct atoll_exit *atoll_process_exit(const struct atoll_process *p); /* NULL before its end */
/* inside the sandbox; 0 before its start */
int64_t atoll_process_pid(const struct atoll_process *p);

/* Input goes out during atoll_process_poll(), one piece at a time: -EAGAIN while the one before is under way (or the
 * process has not started), -EPIPE when the process does not want any more. */
int atoll_process_send(struct atoll_process *p, const void *data, size_t n);
bool atoll_process_can_send(const struct atoll_process *p);
int atoll_process_close_stdin(struct atoll_process *p); /* after what was sent */
#define ATOLL_INPUT_MAX (256 * 1024)                    /* bytes of one piece */

/* sig: SIGKILL or SIGTERM. */
int atoll_process_signal(struct atoll_process *p, int sig, struct atoll_error *e);
/* its terminal */
int atoll_process_resize(struct atoll_process *p, unsigned cols, unsigned rows, struct atoll_error *e);
void atoll_process_free(struct atoll_process *p);   /* the process itself runs on */
void atoll_process_close(struct atoll_process **p); /* the same, as atoll_close() */

/* --- code --- */

/* what one expression or display shows, in all its forms; NULL: not in this one */
struct atoll_result {
	bool is_main; /* the value of the last expression, not something shown on the way */
	const char *text, *html, *markdown, *svg, *latex, *javascript;
	const char *png, *jpeg, *pdf;    /* base64 */
	const char *json, *data, *chart; /* JSON */
	const struct atoll_pair *extra;  /* others, by MIME type */
	size_t n_extra;
};

struct atoll_code_error { /* that the code ended with */
	const char *name, *value, *traceback;
};

/* What to call while code runs; each may be NULL. Non-zero ends the call with -ECANCELED and interrupts the code. What
 * is pointed to is valid during the callback. */
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
	const char *context_id;        /* NULL: the default one of the language. Not both */
	const struct atoll_pair *envs; /* for this run only */
	size_t n_envs;
	/* then it is interrupted, and that is -ETIMEDOUT; 0: 60 s, or ATOLL_NO_TIMEOUT */
	unsigned timeout_ms;
};

struct atoll_execution {
	const struct atoll_result *const *results;
	size_t n_results;
	const char *text;      /* of the main result; NULL: none */
	const char *out, *err; /* all of it, each with a NUL behind it that is not counted */
	size_t n_out, n_err;
	const struct atoll_code_error *error; /* NULL: it ended well */
	int64_t count;                        /* how many this context has run with this one; 0: not told */
};

/* Runs code to its end. That it raised an error is in ret->error, and no failure of the call. on and ret may be NULL.
 * -ENOENT: no such context; -EFBIG: more output than 64 MiB, which is only kept if ret is given; -ESRCH: the sandbox is
 * gone. */
int atoll_run_code(struct atoll_sandbox *sb, const struct atoll_code *code, const struct atoll_code_events *on,
    struct atoll_execution **ret, struct atoll_error *e);

/* The same as atoll_run_code(), by the name that SDKs before 1.0 had for it: notebook.execCell. */
int atoll_notebook_exec_cell(struct atoll_sandbox *sb, const struct atoll_code *code,
    const struct atoll_code_events *on, struct atoll_execution **ret, struct atoll_error *e);
void atoll_execution_free(struct atoll_execution *x);

/* The same without waiting, for programs that have a loop of their own: the code runs, and atoll_run_poll() moves it
 * on. Callbacks are called by that. */
struct atoll_run;
int atoll_run_start(struct atoll_sandbox *sb, const struct atoll_code *code, const struct atoll_code_events *on,
    struct atoll_run **ret, struct atoll_error *e);

/* Waits up to timeout_ms (-1: for ever) for news of it or for one of fds (as in poll(); up to 16). 1: it has ended; 0:
 * not yet; else as atoll_run_code(). */
int atoll_run_poll(struct atoll_run *r, struct pollfd *fds, size_t n_fds, int timeout_ms, struct atoll_error *e);
/* of one that has ended, and belongs to it; else NULL */
const struct atoll_execution *atoll_run_result(const struct atoll_run *r);
/* code that still runs is interrupted */
void atoll_run_free(struct atoll_run *r);

/* All of it, as E2B's SDKs write it: {"results":[...],"logs":{"stdout":[...],"stderr":[...]},"error":...}. To be
 * free()d; NULL: no memory. */
char *atoll_execution_json(const struct atoll_execution *x);

struct atoll_context { /* variables and imports that stay from one run to the next */
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
 * A user name and password or token are handed to git through its environment, for the one command: they are neither in
 * its arguments nor in a file nor in a record. If git fails the call does: -EACCES: it was not let in; -EIO: anything
 * else, and e has what it wrote. */

struct atoll_git {
	size_t size;
	/* of the repository; for a clone where it goes, NULL: after its name in the home */
	const char *dir;
	const char *as_user;
	const char *username, *password; /* both or none; only for the host of the remote, over http and https */
	const struct atoll_pair *envs;
	size_t n_envs;
	unsigned timeout_ms; /* 0: 60 s */
	const char *pull; /* how a pull joins branches that have diverged: "merge", "rebase", "ff-only"; NULL: as git is
			     set up, else merge */
	bool keep_conflict; /* a pull leaves files in conflict as they are; false: it is undone */
};

struct atoll_git_commit {
	size_t size;
	const char *message;
	const char *author_name, *author_email; /* NULL: git's own settings */
	bool all;                               /* with all changes, new files too */
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
/* goes to it */
int atoll_git_branch(struct atoll_sandbox *sb, const struct atoll_git *g, const char *name, bool create,
    struct atoll_error *e);
/* one a line, the current one first; to be free()d */
int atoll_git_branches(struct atoll_sandbox *sb, const struct atoll_git *g, char **ret, struct atoll_error *e);

/* Any other: argv without "git", NULL-terminated. Its exit status is no failure here. */
int atoll_git_run(struct atoll_sandbox *sb, const struct atoll_git *g, const char *const *argv,
    struct atoll_output **ret, struct atoll_error *e);

/* --- agents: what they may run ---
 *
 * Advice on top of the wall, not the wall: a policy reads what is about to be run and says what it thinks of it.
 * Whoever wants to get past it can (it does not run the code); what keeps code in is the sandbox. A struct atoll_policy
 * may be read by several threads. */

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
	enum atoll_policy_mode mode;  /* that was in force */
	enum atoll_severity severity; /* of the worst that was found; ATOLL_SEVERITY_NONE: nothing was */
	char rule[64];                /* its id, "rm-root"; "": nothing was found */
	char reason[200];             /* in words; never text of what was checked */
};

/* The rules that come with the library, mode deny. */
int atoll_policy_new(struct atoll_policy **ret, struct atoll_error *e);

/* Adds the settings of an operator: JSON, see atoll-policy(5). All of it, or on failure nothing. */
int atoll_policy_add(struct atoll_policy *p, const char *json, size_t n, struct atoll_error *e);
int atoll_policy_load(struct atoll_policy *p, const char *path, struct atoll_error *e);

/* key: the name or the id of an API key; NULL: of all keys that have no mode of their own. */
int atoll_policy_set_mode(struct atoll_policy *p, const char *key, enum atoll_policy_mode mode, struct atoll_error *e);
enum atoll_policy_mode atoll_policy_mode(const struct atoll_policy *p, const char *key);
void atoll_policy_free(struct atoll_policy *p);

/* key: whose mode counts, by name or id; NULL: the mode of all. language as for run_code. operation: read, write, list,
 * remove, upload, download (any other is refused). They always write *ret. */
void atoll_policy_command(const struct atoll_policy *p, const char *key, const char *command,
    struct atoll_verdict *ret);
void atoll_policy_code(const struct atoll_policy *p, const char *key, const char *language, const char *code,
    struct atoll_verdict *ret);
void atoll_policy_file(const struct atoll_policy *p, const char *key, const char *operation, const char *path,
    struct atoll_verdict *ret);

const char *atoll_severity_name(enum atoll_severity s);       /* "none", "low", "medium", "high", "critical" */
const char *atoll_policy_mode_name(enum atoll_policy_mode m); /* "off", "warn", "deny" */
char *atoll_verdict_json(const struct atoll_verdict *v);      /* to be free()d; NULL: memory */
char *atoll_policy_json(const struct atoll_policy *p);        /* modes and rules, as they hold; likewise */

/* The path that a relative or winding one stands for, from `home` on; false: longer than size. Links are not looked
 * at. */
bool atoll_path_resolve(const char *home, const char *path, char *ret, size_t size);

/* --- agents: failures ---
 *
 * What a model can act on: which kind of failure it was, what caused it, what to do now. */

struct atoll_failure {
	char session_id[64];
	const char *type; /* "TIMEOUT", "MEMORY_LIMIT", "SANDBOX_UNAVAILABLE", "SERVICE_UNAVAILABLE", "LIMIT_REACHED",
			     "REFUSED", "OTHER" */
	/* the source text that failed; borrowed, set by the caller; NULL: there was none */
	const char *code;
	const char *remedy; /* in words */
	char context[64];   /* what was attempted */
	char cause[480];    /* the error behind it */
	char message[640];  /* "E2B execution failed: ..." */
	int no, status;     /* of that error */
	bool transport;     /* the way to the server failed, or the server, not what was asked of it */
};

/* What has become of it: timeout_ms is the one that was set, and told in words. session_id and context may be NULL. */
void atoll_failure_of(const struct atoll_error *why, const char *session_id, const char *context, unsigned timeout_ms,
    struct atoll_failure *ret);
char *atoll_failure_json(const struct atoll_failure *f); /* to be free()d */

/* A breaker: after `failures` failures of the way to a server in a row it is open, and calls are refused at once; after
 * open_ms one call is let through to try, and its success closes it. Several threads may use it. */
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
/* 0: go on, and report; -EHOSTDOWN: it is open */
int atoll_breaker_enter(struct atoll_breaker *b, struct atoll_error *e);
void atoll_breaker_report(struct atoll_breaker *b, bool ok);
const char *atoll_breaker_state(struct atoll_breaker *b); /* "closed", "open", "half-open" */
void atoll_breaker_free(struct atoll_breaker *b);

struct atoll_retry {
	size_t size;
	unsigned max_retries; /* after the first try */
	unsigned timeout_ms;  /* of one execution */
	unsigned pause_ms;    /* before the first retry, twice that before the next, ... */
};

#define ATOLL_RETRY_DEFAULT ((struct atoll_retry) { sizeof(struct atoll_retry), 3, 30000, 100 })

/* The defaults, and what E2B_MAX_RETRIES (0 to 100) and E2B_TIMEOUT (1 to 86400000 ms) say. -EINVAL: e names the
 * variable. */
int atoll_retry_env(struct atoll_retry *ret, struct atoll_error *e);

/* One try: sets *ret_begun once the other side has begun to act on it, after which it is never tried again. */
typedef int atoll_attempt(void *user, bool *ret_begun, struct atoll_error *e);

/* Tries until it works, fails for another reason than the way to the server, has begun, or the retries are used up. b
 * may be NULL. ret_tries too. */
int atoll_retry_run(const struct atoll_retry *r, struct atoll_breaker *b, atoll_attempt *fn, void *user,
    unsigned *ret_tries, struct atoll_error *e);

/* --- agents: results that are known ---
 *
 * By session, language and code; never across sessions. A session takes part from atoll_cache_enable() on, until
 * something is run in it that is not known to leave nothing behind and to depend on nothing: then all of its results
 * are forgotten, and it no longer takes part. Several threads may use one. */
struct atoll_cache;

struct atoll_cache_stats {
	uint64_t hits, misses; /* misses: of sessions that take part */
	size_t entries, bytes;
};

/* 0: 16 MiB; the oldest go first */
int atoll_cache_new(size_t max_bytes, struct atoll_cache **ret, struct atoll_error *e);
int atoll_cache_enable(struct atoll_cache *c, const char *session_id, struct atoll_error *e);
bool atoll_cache_enabled(struct atoll_cache *c, const char *session_id);
/* to be free()d; NULL: not known */
char *atoll_cache_get(struct atoll_cache *c, const char *session_id, const char *language, const char *code);
void atoll_cache_put(struct atoll_cache *c, const char *session_id, const char *language, const char *code,
    const char *result);
/* something was changed: see above. Also at the end of a session */
void atoll_cache_written(struct atoll_cache *c, const char *session_id);
void atoll_cache_stats(struct atoll_cache *c, struct atoll_cache_stats *ret);
void atoll_cache_free(struct atoll_cache *c);

/* Whether code only computes with literals and well-known functions. False also for all that one cannot tell. */
bool atoll_code_pure(const char *language, const char *code);

/* --- agents: code and packages --- */

/* "py", "Python3", "js", ... as the name by which the server knows it; NULL: "Unsupported language". */
const char *atoll_language(const char *name);

/* The language that a piece of code is most probably written in: "python" if nothing speaks for another. */
const char *atoll_language_guess(const char *code);

/* What a model wrote, as it should be run: a fence (three backquotes, and its language if `language` is NULL) is taken
 * off, common blanks before all lines too; TypeScript gets a // @ts-nocheck unless it has one; Python gets import sys
 * and import os unless it begins with an import, a ! or a %. *ret is to be free()d. -EINVAL: "Unsupported language: X";
 * -E2BIG: longer than ATOLL_CODE_MAX. */
#define ATOLL_CODE_MAX (1024 * 1024)
int atoll_prepare_code(const char *language, const char *code, const char **ret_language, char **ret,
    struct atoll_error *e);

/* Installs packages with pip, npm or apt (as root). Names are checked and given as arguments, never to a shell: -EINVAL
 * names the first that is none. ret: how the installer ended, and what it wrote; may be NULL. */
int atoll_install(struct atoll_sandbox *sb, const char *manager, const char *const *names, size_t n,
    unsigned timeout_ms, struct atoll_output **ret, struct atoll_error *e);
int atoll_package_check(const char *manager, const char *name, struct atoll_error *e); /* 0 or -EINVAL */

/* --- agents: sessions ---
 *
 * A session is an agent's place to work: one sandbox that is always the same, as long as it is there, and a new one
 * when it is not. The manager holds the records; calls to the server are made with the client that is given, so several
 * users of one server can share a manager: `owner` keeps their sessions apart (NULL: ""), and nobody gets at those of
 * another. Several threads may use a manager. */

struct atoll_sessions;

struct atoll_resources {
	uint64_t memory_mb;    /* 0: 512 */
	unsigned cpu_permille; /* thousandths of a processor; 0: 500 */
	uint64_t disk_mb;      /* 0: 1024 */
};

struct atoll_thresholds {           /* percent of a limit from which on its use is worth an alert */
	unsigned memory, cpu, disk; /* 0: 80 */
};

struct atoll_session {
	char id[64], sandbox_id[64];                        /* sandbox_id: "" while it is being made */
	char agent_id[128], user_id[128], environment[128]; /* user_id: may be ""; environment: the template */
	int64_t created_ms, last_used_ms;                   /* since 1970 */
	struct atoll_resources limits;
	char owner[128];
	unsigned recoveries; /* how often it has gone on in a new sandbox */
	char holder[64];     /* who used it last, among those of its owner: it counts for them; may be "" */
	char scope[128];     /* whose agent of that name it is, among those of its owner; "": there is one */
	/* nobody asked for it by name: while it is idle its sandbox may be ended to make room for another session */
	bool disposable;
	struct atoll_thresholds alerts;
};

struct atoll_sessions_config {
	size_t size;
	const char *environment; /* NULL: ATOLL_TEMPLATE_DEFAULT */
	uint64_t timeout_ms;     /* not used for so long: it ends; 0: 3600000 */
	unsigned max_sessions;   /* of one holder, with a sandbox; 0: 10 */
	struct atoll_resources limits;
	/* Called after it has happened, without a lock. on_destroyed: why is "destroyed", "expired" or "evicted".
	 * on_changed: it was used, or got another sandbox: for whoever keeps records. Each may be NULL. */
	void (*on_created)(void *user, const struct atoll_session *s);
	void (*on_destroyed)(void *user, const struct atoll_session *s, const char *why);
	void (*on_changed)(void *user, const struct atoll_session *s);
	int64_t (*now_ms)(void *user); /* since 1970; NULL: the clock */
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
	const char *owner, *agent_id, *user_id; /* agent_id must be given */
	const char *environment;                /* NULL: the manager's */
	struct atoll_resources limits;          /* 0: the manager's */
	bool cache;                             /* results may come from the cache */
	/* variables of everything that runs in it; of each sandbox that it goes on in too */
	const struct atoll_pair *envs;
	size_t n_envs;
	const char *scope; /* agents of the same name but of another scope have sessions of their own; NULL: "" */
	bool disposable;
	struct atoll_thresholds alerts; /* 0: the manager's */
};

/* cfg NULL: defaults */
int atoll_sessions_new(const struct atoll_sessions_config *cfg, struct atoll_sessions **ret, struct atoll_error *e);
void atoll_sessions_free(struct atoll_sessions *m); /* the sandboxes live on until their timeouts */

/* -EDQUOT (status 429): "session limit reached". */
int atoll_session_create(struct atoll_sessions *m, struct atoll *a, const struct atoll_session_spec *spec,
    struct atoll_session *ret, struct atoll_error *e);

/* The one of that agent (and owner), or a new one: 1 if it was made now. */
int atoll_session_get_or_create(struct atoll_sessions *m, struct atoll *a, const struct atoll_session_spec *spec,
    struct atoll_session *ret, struct atoll_error *e);
/* -ENOENT */
int atoll_session_get(struct atoll_sessions *m, const char *owner, const char *id, struct atoll_session *ret,
    struct atoll_error *e);
int atoll_session_destroy(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    struct atoll_error *e);

/* Ends those that have not been used for too long; their number. a NULL: their sandboxes are left to their own
 * timeouts. */
/* owner NULL here: of all */
int atoll_sessions_expire(struct atoll_sessions *m, struct atoll *a, const char *owner);

/* Oldest first, up to max of them; returns how many there are. */
size_t atoll_sessions_list(struct atoll_sessions *m, const char *owner, struct atoll_session *v, size_t max);

/* One that is known from elsewhere, say from a file after a restart. */
int atoll_sessions_adopt(struct atoll_sessions *m, const struct atoll_session *s, struct atoll_error *e);

/* The variables that it was made with, a JSON object, for whoever keeps records of sessions: free() it, and treat it as
 * the secret that it may be. NULL: it has none. */
char *atoll_session_envs(struct atoll_sessions *m, const char *owner, const char *id);
/* ... of one that was adopted */
int atoll_session_set_envs(struct atoll_sessions *m, const char *owner, const char *id, const char *json,
    struct atoll_error *e);

/* {"sessionId","sandboxId","agentId","userId","createdAt","lastUsed","environment",
 * "resourceLimits":{"memory","cpu","diskSpace"}}; free() it. */
char *atoll_session_json(const struct atoll_session *s);

/* Its sandbox, to work in; to be freed. recovered_from (or NULL): if the sandbox that it had is known to be gone, the
 * id of that; it then goes on in a new one, made from the last snapshot of the old one if there is one, and
 * *ret_recovered (or NULL) is set. */
int atoll_session_open(struct atoll_sessions *m, struct atoll *a, const char *owner, const char *id,
    const char *recovered_from, struct atoll_sandbox **ret, bool *ret_recovered, struct atoll_error *e);

/* Code and files by session: from the cache if that is on, tried again if the way to the server fails before it began,
 * in a new sandbox if the old one is gone. No policy is asked: a program that wants one calls atoll_policy_code()
 * first. */
struct atoll_session_result {
	char *json;         /* of the execution, as of atoll_execution_json() */
	bool cached;        /* nothing was run */
	bool recovered;     /* in a new sandbox: variables of before are gone */
	bool from_snapshot; /* ... but files of the last snapshot are there */
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

/* The text without what looks like a token or a key (of GitHub, GitLab, AWS, Slack, OpenAI, E2B, ...), private keys,
 * passwords in URLs, and without the n secrets. To be free()d; NULL: no memory. Sessions add the values of variables
 * whose names say that they are secret. */
char *atoll_redact(const char *text, const char *const *secrets, size_t n);

/* Something other than atoll_session_run() may have changed what is in the sandbox: commands, files, packages. */
void atoll_session_written(struct atoll_sessions *m, const char *id);

/* --- agents: sandboxes that wait ---
 *
 * A pool of sandboxes that nobody has used, so that taking one does not wait for its making. One that is given back is
 * ended, never lent again. */
struct atoll_warm;

struct atoll_warm_stats {
	uint64_t hits, misses;
	size_t waiting;
};

int atoll_warm_new(struct atoll *a, const struct atoll_spec *spec, size_t target, struct atoll_warm **ret,
    struct atoll_error *e);
/* up to the target; how many were made */
int atoll_warm_fill(struct atoll_warm *w, struct atoll_error *e);
/* makes one if none waits */
int atoll_warm_take(struct atoll_warm *w, struct atoll_sandbox **ret, struct atoll_error *e);
int atoll_warm_give(struct atoll_warm *w, struct atoll_sandbox *sb, struct atoll_error *e); /* ends and frees it */
void atoll_warm_stats(struct atoll_warm *w, struct atoll_warm_stats *ret);
void atoll_warm_free(struct atoll_warm *w); /* ends those that wait */

/* --- agents: settings ---
 *
 * A file with one JSON object: apiKey ("${E2B_API_KEY}"), defaultEnvironment, sessionTimeout (ms),
 * maxConcurrentSessions, resourceLimits {memory, cpu, diskSpace}, timeout (ms), maxRetries, breakerFailures,
 * breakerOpenMs, redact, policy (atoll-policy(5)). What is not there has its default. -EINVAL names the field. */
struct atoll_agent_settings {
	char *api_key; /* NULL: none, or the variable is not set */
	char *environment;
	unsigned session_timeout_ms, max_sessions;
	struct atoll_resources limits;
	struct atoll_retry retry;
	unsigned breaker_failures, breaker_open_ms;
	bool redact;
	struct atoll_policy *policy;
	struct atoll_thresholds alerts;
};

struct atoll_agent_settings *atoll_agent_settings_default(void); /* NULL: no memory */
/* path NULL: the defaults */
int atoll_agent_settings_load(const char *path, struct atoll_agent_settings **ret, struct atoll_error *e);
void atoll_agent_settings_free(struct atoll_agent_settings *s);

/* --- agents: the layer of a server ---
 *
 * Messages, sessions, tools and state behind /agent: see docs/agent.md. body: JSON, or NULL. *ret (or NULL): the JSON
 * of the answer, to be free()d; also given when the call fails and the server told more than why. */
int atoll_agent_call(struct atoll *a, const char *method, const char *path, const char *body, char **ret,
    struct atoll_error *e);

#ifdef __cplusplus
}
#endif
#endif
