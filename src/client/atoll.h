/* SPDX-License-Identifier: Apache-2.0 */
/* libatoll: sandboxes of an atoll server (or of any server that speaks the E2B API) from C.
 *
 * A struct atoll is where a server is and the key to it; a struct atoll_sandbox is one sandbox and its token; a
 * struct atoll_process is one command that runs in it. None of them may be used by two threads at once; different
 * ones may. An object must be freed before the one it was made from.
 *
 * Calls block until the server has answered, but for a running process, which is driven by atoll_process_poll().
 * Calls return 0 or more, or a negative errno value and then fill *e. Strings that are given are copied; strings that come back
 * belong to the object they were asked from. Outputs are written on success only. */
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
	int no;				/* errno value: ENOENT unknown sandbox or file, EACCES key refused, ECANCELED, ... */
	int status;			/* HTTP status of the answer, 0 if there was none */
	char text[480];			/* one line, no full stop */
};

struct atoll_pair {
	const char *name, *value;
};

struct atoll_config {
	const char *api_url;		/* "http://127.0.0.1:8080" */
	const char *sandbox_url;	/* where calls into sandboxes go; NULL: api_url */
	const char *api_key;
};

const char *atoll_version(void);

int atoll_new(const struct atoll_config *cfg, struct atoll **ret, struct atoll_error *e);
void atoll_free(struct atoll *a);

/* While a call waits, `stop` is asked about once a second; true ends the call with -ECANCELED. NULL: never. */
void atoll_set_stop(struct atoll *a, bool (*stop)(void *user), void *user);

/* 0 if a server answers at api_url. */
int atoll_health(struct atoll *a, struct atoll_error *e);

/* --- sandboxes --- */

struct atoll_spec {
	const char *template_id;	/* id or alias */
	unsigned timeout_s;		/* after which it ends by itself; 0: the server's default */
	const struct atoll_pair *metadata;
	size_t n_metadata;
	const struct atoll_pair *envs;	/* environment of every process in it */
	size_t n_envs;
};

int atoll_sandbox_create(struct atoll *a, const struct atoll_spec *spec, struct atoll_sandbox **ret, struct atoll_error *e);

/* An existing one. A paused one is resumed; else its timeout stays as it is. */
int atoll_sandbox_open(struct atoll *a, const char *id, struct atoll_sandbox **ret, struct atoll_error *e);

const char *atoll_sandbox_id(const struct atoll_sandbox *sb);
const char *atoll_sandbox_json(const struct atoll_sandbox *sb);	/* what the server told about it; holds its token */
int atoll_sandbox_running(struct atoll_sandbox *sb, struct atoll_error *e);	/* 1, or 0: it has ended or is paused */
void atoll_sandbox_free(struct atoll_sandbox *sb);		/* the sandbox itself lives on */

int atoll_kill(struct atoll *a, const char *id, struct atoll_error *e);	/* -ENOENT: there is none */

struct atoll_info {
	const char *id, *template_id, *alias;		/* alias: NULL if none */
	const char *state;				/* "running", "paused" */
	const char *started_at, *end_at;		/* RFC 3339, UTC */
	const struct atoll_pair *metadata;
	size_t n_metadata;
};

struct atoll_list {
	const struct atoll_info *v;
	size_t n;
	const char *json;				/* the same as the server sent it, an array */
};

int atoll_list_sandboxes(struct atoll *a, struct atoll_list **ret, struct atoll_error *e);	/* newest first */
void atoll_list_free(struct atoll_list *l);

/* --- files --- */

/* Gives up to n bytes of the content: their number, 0 at the end, or a negative errno, which ends the call. */
typedef ssize_t atoll_source(void *user, void *p, size_t n);

/* path: absolute, or below the home of `as_user` (NULL: the template's user). Parents are made. */
int atoll_file_write(struct atoll_sandbox *sb, const char *path, const char *as_user, atoll_source *source, void *user,
		     struct atoll_error *e);

/* --- processes --- */

struct atoll_command {
	const char *const *argv;	/* NULL-terminated; argv[0] is a path, or looked up in PATH by the sandbox */
	const char *cwd;		/* NULL: home */
	const char *as_user;		/* NULL: the template's user */
	const struct atoll_pair *envs;
	size_t n_envs;
	bool with_stdin;		/* false: it reads /dev/null */
};

enum atoll_stream { ATOLL_STDOUT = 1, ATOLL_STDERR = 2 };

/* Output as it comes, any cut. Non-zero makes atoll_process_poll() fail with -ECANCELED. */
typedef int atoll_sink(void *user, enum atoll_stream which, const void *p, size_t n);

struct atoll_exit {
	int code;			/* -1 if a signal ended it */
	bool exited;			/* by itself, not by a signal */
	char status[64];		/* "exit status 3", "signal: killed" */
};

/* Asks for the start; whether it worked is told by atoll_process_poll(). `sink` may be NULL. */
int atoll_process_start(struct atoll_sandbox *sb, const struct atoll_command *cmd, atoll_sink *sink, void *user,
			struct atoll_process **ret, struct atoll_error *e);

/* Moves everything on, waiting up to timeout_ms (-1: for ever) for news or for one of fds (as in poll()). 1: it has
 * ended and all its output was given; 0: not yet. -ECONNRESET: the connection broke; -ESRCH: the sandbox is gone. */
int atoll_process_poll(struct atoll_process *p, struct pollfd *fds, size_t n_fds, int timeout_ms, struct atoll_error *e);
const struct atoll_exit *atoll_process_exit(const struct atoll_process *p);	/* NULL before its end */
int64_t atoll_process_pid(const struct atoll_process *p);			/* inside the sandbox; 0 before its start */

/* Input goes out during atoll_process_poll(), one piece at a time: -EAGAIN while the one before is under way (or the
 * process has not started), -EPIPE when the process does not want any more. */
int atoll_process_send(struct atoll_process *p, const void *data, size_t n);
bool atoll_process_can_send(const struct atoll_process *p);
int atoll_process_close_stdin(struct atoll_process *p);				/* after what was sent */
#define ATOLL_INPUT_MAX (32 * 1024)						/* bytes of one piece */

/* sig: SIGKILL or SIGTERM. */
int atoll_process_signal(struct atoll_process *p, int sig, struct atoll_error *e);
void atoll_process_free(struct atoll_process *p);				/* the process itself runs on */

#ifdef __cplusplus
}
#endif
#endif
