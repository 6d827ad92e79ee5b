/* SPDX-License-Identifier: Apache-2.0 */
/* client: what the files of libatoll share: its objects, and one HTTP call through libcurl. */
#pragma once

#include <curl/curl.h>
#include <jansson.h>
#include <pthread.h>

#include "base/buf.h"
#include "base/str.h"
#include "client/atoll.h"

#define ANSWER_MAX (8u * 1024 * 1024) /* of one answer that is kept in memory */
#define ENVD_PORT 49983u
#define CODE_PORT 49999u
#define HANDLES_MAX 16 /* idle ones that are kept */

struct mock;

struct atoll {
	char *api_url;
	char *sandbox_url;            /* NULL: by the names of sandboxes below their domain */
	char *domain;                 /* of a server that does not tell one; or NULL */
	char *api_key, *access_token; /* NULL: an open server on this machine */
	char *template_id;            /* for those who do not say */
	char *ca_file;                /* NULL: the system's */
	atoll_log_line *log;
	void *log_user;
	int log_fd;        /* of $ATOLL_LOG; or -1 */
	struct mock *mock; /* NULL: a real server */
	/* of idle and n_idle: calls of several threads each take a handle of their own */
	pthread_mutex_t lock;
	CURL *idle[HANDLES_MAX]; /* of blocking calls; each keeps its connection */
	size_t n_idle;
	bool (*stop)(void *user);
	void *stop_user;
	int (*open)(void *user); /* see client_via() */
	void (*give_back)(void *user, int fd, bool clean);
	void *open_user;
	/* of each stream of what runs, for a program that serves many at once; 0: as documented */
	size_t keep_max;
	char *team; /* for which an admin key acts; NULL: its own */
	/* owned; of its caller alone, in place of the one that a manager of sessions has for all; or NULL */
	struct atoll_breaker *breaker;
	char *holder, *scope; /* for sessions: see struct atoll_session; or NULL */
	bool keyless;
	bool has_found_key; /* nobody gave one: it is that of a server on this machine */
};

struct atoll_sandbox { /* not changed once it is made, so that threads may share it */
	struct atoll *a;
	char *id, *token, *json;   /* token: NULL if the sandbox is open to all */
	char *traffic_token;       /* for ports of the sandbox that are not open to all; or NULL */
	char *envd_url, *code_url; /* where its two services are */
	char *domain;              /* of its host names; or NULL */
	char *session;             /* whose it is, for the audit trail; or NULL */
};

/* Variables of sandboxes that agents use: code runs as root there and commands as the user, and each may use git in
 * repositories of the other. */
#define CLIENT_GIT_ENVS 3
extern const struct atoll_pair client_git_envs[CLIENT_GIT_ENVS];

/* First in every public call: `e` may be NULL, and what a call cannot do without must be given. */
#define NEED(e, given) \
	struct atoll_error not_wanted_; \
	if (!(e)) \
		(e) = &not_wanted_; \
	if (!(given)) \
	return client_fail(e, EINVAL, 0, "%s: an argument that must be given is NULL", __func__)

/* A copy of a struct that the caller filled, whose first field is its size as the caller knows it. `first`: the size
 * that it had in the first version that had it, which 0 stands for. -E2BIG: fields are set that this library does not
 * know. */
int client_take_in(void *to, size_t size, const void *from, size_t first, struct atoll_error *e);
#define TAKE_IN(to, from, e) client_take_in(to, sizeof(*(to)), from, sizeof(*(to)), e)

int global_begin(void); /* pairs with global_end() */
void global_end(void);

/* A URL is of the machine itself: a proxy of the environment stands between it and others, not between it and
 * itself. */
bool client_is_loopback(const char *url);

/* Handles with live connections: any thread. NULL: no memory. */
CURL *handle_take(struct atoll *a);
void handle_give(struct atoll *a, CURL *h);

/* For programs of this project: connections come from `open`, which gives a connected socket or a negative errno,
 * wherever the URL points to. team: sent with each call of the control API, "": none; keyless: no key is sent.
 * give_back gets each that was used for one whole call; clean: it can be used for the next one. On failure a is
 * freed. */
int client_via(struct atoll *a, int (*open)(void *user), void (*give_back)(void *user, int fd, bool clean), void *user,
    const char *team, bool keyless, struct atoll_error *e);

int client_thresholds(const json_t *o, struct atoll_thresholds *ret, struct atoll_error *e); /* of "alertThresholds" */

/* Code that changes the working directory. -EINVAL: not in that language. */
int client_chdir_code(const char *language, const char *dir, char **ret, struct atoll_error *e);

/* Tells the agent layer of a server of a tool that was run here: one record, JSON. */
int client_report(struct atoll *a, const char *body, struct atoll_error *e);

/* rc of a call about a sandbox that was to be used: one that was not answered in time is marked as the server's doing
 * (504), not as code that was slow. */
int client_late(int rc, struct atoll_error *e);

/* Fills e (control characters of foreign text are replaced) and returns -no. */
int client_fail(struct atoll_error *e, int no, int status, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int client_no_memory(struct atoll_error *e);

/* A server may repeat what it was sent: the key and the token (or NULL) are taken out of the text. */
void client_redact(struct atoll_error *e, const struct atoll *a, const char *token);

/* Turns a refusal of the server, {"code":...,"message":...} or any text, into an error. */
int client_refused(struct atoll_error *e, int status, struct str body);
int client_curl_failed(struct atoll_error *e, CURLcode rc, const char *url);

/* One request and its whole answer. */
struct call {
	const char *method;
	const char *base;           /* URL to which path is appended */
	const char *path;           /* with its query, encoded */
	bool in_sandbox;            /* it is for a service of a sandbox */
	const char *token;          /* of the sandbox, if it is sent; borrowed */
	struct curl_slist *headers; /* owned */
	struct str body;            /* p == NULL: none, or by source */
	atoll_taker *taker;         /* gets the content of a 2xx answer instead of `answer` */
	void *taker_user;
	bool taker_stopped;
	CURL *h; /* while it runs */
	atoll_source *source;
	void *source_user;
	int source_no;   /* negative errno the source gave */
	int64_t length;  /* of what the source gives, if that is to be told; 0: not known */
	long timeout_ms; /* 0: none */
	int status;
	struct buf answer;
	char next_token[512];        /* header X-Next-Token */
	struct call_log {            /* what one line of the log tells; written when the call is done */
		struct atoll *a;     /* NULL: it was never made */
		const char *op;      /* NULL: by method and path */
		const char *sandbox; /* its id; or NULL. Both live as long as the call */
		uint64_t begin_us, end_us;
		uint64_t sent, received; /* bytes of content */
		const char *counted;     /* what count is of: "resultsCount"; or NULL */
		uint64_t count;
		int failed; /* errno, 0: all is well */
	} log;
	bool peer_closes; /* the connection ends with the answer */
};

void call_log(const struct call *c);

#define CALL_INIT(m, b, p) \
	((struct call) { .method = (m), \
	    .base = (b), \
	    .path = (p), \
	    .timeout_ms = 120000, \
	    .answer = BUF_INIT(ANSWER_MAX) })

int call_header(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* -ENOMEM */
int call_header_sandbox(struct call *c, const struct atoll_sandbox *sb, unsigned port);      /* routing, tokens */
int call_header_user(struct call *c, const char *user);                                      /* NULL: none */
int call_run(struct atoll *a, struct call *c, struct atoll_error *e);                        /* 0 on 2xx only */

/* The same in two steps, for who drives c->h himself. body and headers must live until the second. */
int client_call_begin(struct atoll *a, struct call *c, struct atoll_error *e);
int client_call_end(struct call *c, CURLcode rc, struct atoll_error *e);
/* with client_via(): of the connection of a call that this thread has just ended */
void call_let_go(struct atoll *a, bool clean);

#define EXTRA_FDS_MAX 16

/* Waits for what is under way, or for fds (no more than that), as poll() does; -EIO. */
int multi_wait(CURLM *m, struct pollfd *fds, size_t n_fds, int timeout_ms);
void call_done(struct call *c);
#define autocall __attribute__((cleanup(call_done)))

/* Options that every handle has. */
void client_setup_handle(struct atoll *a, CURL *h, const char *url);

/* The answer as JSON of the wanted type. */
int call_json(const struct call *c, json_type type, json_t **ret, struct atoll_error *e);

/* --- the control API --- */

int api_call(struct atoll *a, struct call *c, struct atoll_error *e);                     /* with the key */
int api_send(struct atoll *a, struct call *c, const json_t *body, struct atoll_error *e); /* and a body */
/* id is encoded; NULL: memory, or id is empty */
char *api_path(const char *prefix, const char *id, const char *tail);
/* A handle again, of what atoll_sandbox_json() told; asks nobody. */
int client_sandbox_again(struct atoll *a, const char *json, struct atoll_sandbox **ret, struct atoll_error *e);

/* It is there for at least so long from now on; one that has longer keeps what it has. */
int client_extend(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e);
json_t *client_limits_json(const struct atoll_pair *set, size_t n, struct atoll_error *e); /* NULL: e tells */
/* {memory, cpu, diskSpace} over what is in *ret; -EINVAL names the field. */
int client_resources(const json_t *o, struct atoll_resources *ret, struct atoll_error *e);
uint64_t client_megabytes(const json_t *v);
int api_no_sandbox(struct atoll_error *e, const char *id); /* a 404 told with the id; returns -e->no */

/* --- calls into a sandbox (Connect RPC) --- */

/* One message and its answer; body is not NULL (else: not valid UTF-8). ret: NULL if of no interest. */
int rpc_call(struct atoll_sandbox *sb, const char *as_user, const char *path, const json_t *body, json_t **ret,
    struct atoll_error *e);

/* A call of the code service; body may be NULL. */
int code_call(struct atoll_sandbox *sb, struct call *c, const json_t *body, struct atoll_error *e);

struct event;
struct rpc_stream {
	struct atoll_sandbox *sb;
	const char *as_user, *path;
	unsigned timeout_ms; /* the server ends it then, and what it started; ATOLL_NO_TIMEOUT: never */
	/* Each message, and the decoded output of it. Non-zero: a negative errno with *e filled, which ends the call,
	 * or 1: that was the last one. */
	int (*on_event)(void *user, const struct event *ev, const struct buf *data, struct atoll_error *e);
	void *user;
	struct buf in, data;
	struct atoll_error *e;
	int rc;
};

/* Until on_event says so or the stream is over: 1, -errno, or 0: it ended without on_event's saying so. */
int rpc_stream(struct rpc_stream *s, const json_t *body, struct atoll_error *e);

enum atoll_file_type client_file_type(const json_t *entry);

/* The connection is gone without an end: of the network, of the server, or of the sandbox? -ESRCH with status 0 is a
 * sandbox that went in the midst of it; with status 502 it was not there in the first place, and nothing was begun. */
int client_broke(struct atoll_sandbox *sb, const char *what, struct atoll_error *e);

/* --- objects that hold what the server sent --- */

struct kept { /* behind every public struct { v, n, json } */
	union {
		struct {
			const void *v;
			size_t n;
			const char *json;
		};
		struct atoll_list list;
		struct atoll_points points;
		struct atoll_logs logs;
		struct atoll_keys keys;
		struct atoll_teams teams;
		struct atoll_usage usage;
		struct atoll_webhooks webhooks;
		struct atoll_capacity capacity;
		struct atoll_deliveries deliveries;
		struct atoll_limits limits;
		struct atoll_templates templates;
		struct atoll_volumes volumes;
		struct atoll_forks forks;
		struct atoll_contexts contexts;
		struct atoll_entries entries;
		struct atoll_processes processes;
	};
	json_t *root; /* owns every string */
	char *text;
	void *items;
	void *more; /* what items point to besides; malloc */
	struct atoll_pair *pairs, *next_pair;
};

typedef void kept_fill(struct kept *k, void *item, json_t *from);

/* An object of root (owned, also on failure): an array, or one item. pairs_of: the field whose names and values
 * kept_pairs() will hand out, or NULL. */
int kept_new(json_t *root, size_t item_size, kept_fill *fill, const char *pairs_of, struct kept **ret,
    struct atoll_error *e);
void kept_free(struct kept *k);
const struct atoll_pair *kept_pairs(struct kept *k, json_t *object, size_t *ret_n);

json_t *kept_item(const struct kept *k, size_t i);

const char *json_text(const json_t *o, const char *field); /* "" if it is not there */
const char *json_text_or_null(const json_t *o, const char *field);
int64_t json_number(const json_t *o, const char *field, int64_t otherwise); /* a string of digits counts too */

int client_pairs_json(const struct atoll_pair *v, size_t n, json_t **ret, struct atoll_error *e);
