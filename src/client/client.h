/* SPDX-License-Identifier: Apache-2.0 */
/* client: declarations shared by the files of libatoll: its objects, and HTTP calls with libcurl. */
#pragma once

#include <curl/curl.h>
#include <jansson.h>
#include <pthread.h>

#include "base/buf.h"
#include "base/str.h"
#include "client/atoll.h"

#define ANSWER_MAX (8u * 1024 * 1024) /* largest response kept in memory */
#define ENVD_PORT 49983u
#define CODE_PORT 49999u
#define HANDLES_MAX 16 /* maximum number of idle handles */

struct mock;
struct mock_ops;

struct atoll {
	char *api_url;
	char *sandbox_url;            /* NULL: use the host names of sandboxes */
	char *domain;                 /* if the server does not return one; or NULL */
	char *api_key, *access_token; /* NULL: a local server without keys */
	char *template_id;            /* default template */
	char *ca_file;                /* NULL: the system's certificates */
	atoll_log_line *log;
	void *log_user;
	int log_fd;        /* file of $ATOLL_LOG, or -1 */
	struct mock *mock; /* NULL: a real server */
	const struct mock_ops *mock_ops;
	/* Protects idle and n_idle. Each call takes a handle, so several threads can call at once. */
	pthread_mutex_t lock;
	CURL *idle[HANDLES_MAX]; /* for blocking calls; each keeps its connection */
	size_t n_idle;
	bool (*stop)(void *user);
	void *stop_user;
	int (*open)(void *user); /* see client_via() */
	void (*give_back)(void *user, int fd, bool clean);
	void *open_user;
	/* Limit for each output stream that is kept, for a program that serves many clients; 0: the documented
	 * default. */
	size_t keep_max;
	char *team; /* team that an admin key acts for; NULL: its own */
	/* Owned, or NULL. Used for this client alone, instead of the session manager's shared one. */
	struct atoll_breaker *breaker;
	char *holder, *scope; /* for sessions, see struct atoll_session; or NULL */
	bool keyless;
	bool has_found_key; /* the key was not given, but found on this machine */
};

struct atoll_sandbox { /* immutable, so that threads can share it */
	struct atoll *a;
	char *id, *token, *json;   /* token: NULL if the sandbox needs none */
	char *traffic_token;       /* for ports of the sandbox that are not public; or NULL */
	char *envd_url, *code_url; /* URLs of its two services */
	char *domain;              /* of its host names, or NULL */
	char *session;             /* session id for the audit trail, or NULL */
};

/* Variables for sandboxes of agents. Code runs there as root and commands run as the user, and git must work for each
 * in repositories of the other. */
#define CLIENT_GIT_ENVS 3
extern const struct atoll_pair client_git_envs[CLIENT_GIT_ENVS];

/* Comes first in every public function: allows `e` to be NULL, and checks the required arguments. */
#define NEED(e, given) \
	struct atoll_error not_wanted_; \
	if (!(e)) \
		(e) = &not_wanted_; \
	if (!(given)) \
	return client_fail(e, EINVAL, 0, "%s: an argument that must be given is NULL", __func__)

/* Copies a struct filled in by the caller, whose first field is its size. A size of 0 means `first`, the size in the
 * first version of the library with this struct. Returns -E2BIG if fields are set that this library does not know. */
int client_take_in(void *to, size_t size, const void *from, size_t first, struct atoll_error *e);
#define TAKE_IN(to, from, e) client_take_in(to, sizeof(*(to)), from, sizeof(*(to)), e)

int global_begin(void); /* pairs with global_end() */
void global_end(void);

/* True if the URL points to this machine. Such calls bypass the proxy of the environment. */
bool client_is_loopback(const char *url);

/* Takes or returns a handle with a live connection, from any thread. handle_take() returns NULL if memory runs out. */
CURL *handle_take(struct atoll *a);
void handle_give(struct atoll *a, CURL *h);

/* For other programs of this project. Connections come from `open`, which returns a connected socket or a negative
 * errno value, whatever the URL. team is sent with each call of the control API unless it is "". If keyless is set,
 * no key is sent. give_back receives each socket after its call; if clean is set, it can be used for another call. On
 * failure, a is freed. */
int client_via(struct atoll *a, int (*open)(void *user), void (*give_back)(void *user, int fd, bool clean), void *user,
    const char *team, bool keyless, struct atoll_error *e);

int client_thresholds(const json_t *o, struct atoll_thresholds *ret, struct atoll_error *e); /* "alertThresholds" */

/* Returns code that changes the working directory. -EINVAL: not supported in that language. */
int client_chdir_code(const char *language, const char *dir, char **ret, struct atoll_error *e);

/* Reports a tool that ran here to the server's agent layer. body is one record in JSON. */
int client_report(struct atoll *a, const char *body, struct atoll_error *e);

/* rc is the result of a call that prepares a sandbox. A timeout is marked as the server's (status 504), to
 * distinguish it from code that ran too long. */
int client_late(int rc, struct atoll_error *e);

/* Fills in e, with control characters replaced, and returns -no. */
int client_fail(struct atoll_error *e, int no, int status, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int client_no_memory(struct atoll_error *e);

/* Removes the key and the token (may be NULL) from the text, because a server may repeat what it was sent. */
void client_redact(struct atoll_error *e, const struct atoll *a, const char *token);

/* Converts an error response, {"code":...,"message":...} or plain text, to an error. */
int client_refused(struct atoll_error *e, int status, struct str body);
int client_curl_failed(struct atoll_error *e, CURLcode rc, const char *url);

/* One request and its response. */
struct call {
	const char *method;
	const char *base;           /* URL that path is appended to */
	const char *path;           /* includes the query, encoded */
	bool in_sandbox;            /* addressed to a service of a sandbox */
	const char *token;          /* of the sandbox, if sent; borrowed */
	struct curl_slist *headers; /* owned */
	struct str body;            /* p == NULL: no body, or from source */
	atoll_taker *taker;         /* receives the body of a 2xx response instead of `answer` */
	void *taker_user;
	bool taker_stopped;
	CURL *h; /* during the call */
	atoll_source *source;
	void *source_user;
	int source_no;   /* negative errno value returned by the source */
	int64_t length;  /* of the source, sent as Content-Length; 0: unknown */
	long timeout_ms; /* 0: no timeout */
	int status;
	struct buf answer;
	char next_token[512];        /* header X-Next-Token */
	struct call_log {            /* one log line, written at the end of the call */
		struct atoll *a;     /* NULL if the call was not made */
		const char *op;      /* NULL: use method and path */
		const char *sandbox; /* its id, or NULL; op and sandbox outlive the call */
		uint64_t begin_us, end_us;
		uint64_t sent, received; /* bytes of the bodies */
		const char *counted;     /* name of count, "resultsCount"; or NULL */
		uint64_t count;
		int failed; /* errno value, or 0 */
	} log;
	bool peer_closes; /* the server closes the connection after the response */
};

void call_log(const struct call *c);

#define CALL_INIT(m, b, p) \
	((struct call) { .method = (m), \
	    .base = (b), \
	    .path = (p), \
	    .timeout_ms = 120000, \
	    .answer = BUF_INIT(ANSWER_MAX) })

int call_header(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* 0 or -ENOMEM */
int call_header_sandbox(struct call *c, const struct atoll_sandbox *sb, unsigned port);      /* routing, tokens */
int call_header_user(struct call *c, const char *user);                                      /* user may be NULL */
int call_run(struct atoll *a, struct call *c, struct atoll_error *e);                        /* 0 on 2xx only */

/* The same in two steps, for callers that drive c->h themselves. body and headers must remain valid until the second.
 */
int client_call_begin(struct atoll *a, struct call *c, struct atoll_error *e);
int client_call_end(struct call *c, CURLcode rc, struct atoll_error *e);
/* With client_via(): hands back the connection of the call that this thread has just ended. */
void call_let_go(struct atoll *a, bool clean);

#define EXTRA_FDS_MAX 16

/* Waits like poll(2) for transfers in progress or for fds (at most EXTRA_FDS_MAX). Returns -EIO on failure. */
int multi_wait(CURLM *m, struct pollfd *fds, size_t n_fds, int timeout_ms);
void call_done(struct call *c);
#define autocall __attribute__((cleanup(call_done)))

/* Sets the options common to all handles. */
void client_setup_handle(struct atoll *a, CURL *h, const char *url);

/* Parses the response as JSON of the given type. */
int call_json(const struct call *c, json_type type, json_t **ret, struct atoll_error *e);

/* --- the control API --- */

int api_call(struct atoll *a, struct call *c, struct atoll_error *e);                     /* adds the key */
int api_send(struct atoll *a, struct call *c, const json_t *body, struct atoll_error *e); /* adds key and body */
/* Encodes id. Returns NULL if memory runs out or id is empty. */
char *api_path(const char *prefix, const char *id, const char *tail);
/* Recreates a handle from the output of atoll_sandbox_json(), without a call. */
int client_sandbox_again(struct atoll *a, const char *json, struct atoll_sandbox **ret, struct atoll_error *e);

/* Extends the sandbox's lifetime to at least timeout_s from now; never shortens it. */
int client_extend(struct atoll *a, const char *id, unsigned timeout_s, struct atoll_error *e);
json_t *client_limits_json(const struct atoll_pair *set, size_t n, struct atoll_error *e); /* NULL: see e */
/* Parses {memory, cpu, diskSpace} into *ret and keeps fields that are absent. On -EINVAL, the message names the
 * field. */
int client_resources(const json_t *o, struct atoll_resources *ret, struct atoll_error *e);
uint64_t client_megabytes(const json_t *v);
int api_no_sandbox(struct atoll_error *e, const char *id); /* if 404, names the sandbox in e; returns -e->no */

/* --- calls into a sandbox (Connect RPC) --- */

/* Sends one message and reads the response. A NULL body is reported as invalid UTF-8. ret may be NULL. */
int rpc_call(struct atoll_sandbox *sb, const char *as_user, const char *path, const json_t *body, json_t **ret,
    struct atoll_error *e);

/* Calls the code service; body may be NULL. */
int code_call(struct atoll_sandbox *sb, struct call *c, const json_t *body, struct atoll_error *e);

struct event;
struct rpc_stream {
	struct atoll_sandbox *sb;
	const char *as_user, *path;
	unsigned timeout_ms; /* the server then ends the call and its process; ATOLL_NO_TIMEOUT: never */
	/* Called for each message with its decoded output. Returns 0 to continue, 1 after the last message, or a
	 * negative errno value with *e set, which ends the call. */
	int (*on_event)(void *user, const struct event *ev, const struct buf *data, struct atoll_error *e);
	void *user;
	struct buf in, data;
	struct atoll_error *e;
	int rc;
};

/* Reads until on_event returns non-zero or the stream ends. Returns 1, a negative errno value, or 0 if the stream
 * ended without on_event returning 1. */
int rpc_stream(struct rpc_stream *s, const json_t *body, struct atoll_error *e);

enum atoll_file_type client_file_type(const json_t *entry);

/* Finds out why a connection broke: because of the network, the server or the sandbox. -ESRCH with status 0 means
 * that the sandbox ended during the call. With status 502, it did not exist before, and nothing was started. */
int client_broke(struct atoll_sandbox *sb, const char *what, struct atoll_error *e);

/* --- objects that hold responses --- */

struct kept { /* the object behind every public struct { v, n, json } */
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
	void *more; /* other memory that items point to; malloc'ed */
	struct atoll_pair *pairs, *next_pair;
};

typedef void kept_fill(struct kept *k, void *item, json_t *from);

/* Creates an object from root, an array or one item. Takes ownership of root, also on failure. pairs_of is the field
 * whose names and values kept_pairs() returns, or NULL. */
int kept_new(json_t *root, size_t item_size, kept_fill *fill, const char *pairs_of, struct kept **ret,
    struct atoll_error *e);
void kept_free(struct kept *k);
const struct atoll_pair *kept_pairs(struct kept *k, json_t *object, size_t *ret_n);

json_t *kept_item(const struct kept *k, size_t i);

const char *json_text(const json_t *o, const char *field); /* "" if it is absent */
const char *json_text_or_null(const json_t *o, const char *field);
int64_t json_number(const json_t *o, const char *field, int64_t otherwise); /* also accepts a string of digits */

int client_pairs_json(const struct atoll_pair *v, size_t n, json_t **ret, struct atoll_error *e);
