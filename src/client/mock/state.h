/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/state: declarations shared by the parts of the mock. */
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "client/mock/mock.h"

struct mock_process {
	struct mock_process *next;
	struct mock_sandbox *sb;
	int64_t pid;
	json_t *config, *tag;
	json_t *events; /* all messages sent so far */
	struct buf input;
	bool with_input, input_closed, killed, ended;
};

struct mock_sandbox {
	struct mock_sandbox *next;
	struct mock *m;
	char id[32];
	bool running, paused; /* if neither, it was killed and only calls in progress refer to it */
	json_t *info;         /* as returned by the API */
	json_t *envs;
	json_t *files;    /* path -> {"dir":bool,"data":bytes} */
	json_t *changes;  /* [{"path","type"}] since its creation */
	json_t *watchers; /* id -> {"path","recursive","seen"} */
	json_t *contexts; /* [{"id","language","cwd","vars":{},"count"}] */
	struct mock_process *processes;
	int64_t next_pid;
	unsigned next_id;
};

struct mock {
	pthread_mutex_t lock;   /* protects everything in this struct and below */
	pthread_cond_t changed; /* signals events that streams and processes wait for */
	struct mock_sandbox *sandboxes;
	unsigned next_id;
	size_t threads;
	bool closing;
	int listener;
	char name[64]; /* of its socket */
};

/* One request. Handlers run with the lock held and store their response here; streams send and wait themselves. */
struct mock_call {
	struct mock *m;
	int fd;
	char method[16];
	char *path, *query; /* query: "" if none; path: as sent */
	char sandbox[64];   /* "" for the control API */
	unsigned port, timeout_ms;
	struct str body;
	json_t *json; /* parsed body, or NULL if it is not JSON */
	int status;   /* 0: the handler has sent the response */
	const char *type;
	struct buf answer;
	bool broken; /* the client disconnected */
};

#define MOCK_TICK_MS 50 /* how often a waiting call checks that the client is still connected */

/* --- mock.c --- */
void mock_json(struct mock_call *c, int status, json_t *j); /* takes ownership of j */
void mock_refuse(struct mock_call *c, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void mock_rpc_refuse(struct mock_call *c, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Streams run with the lock held, which is released while they send and wait. */
void mock_stream_begin(struct mock_call *c, const char *type);
void mock_stream_send(struct mock_call *c, const void *p, size_t n);
void mock_stream_message(struct mock_call *c, const json_t *j); /* in an envelope */
void mock_stream_end(struct mock_call *c, const char *code,
    const char *message); /* code: NULL without a last envelope, "" for success */
/* Waits for an event. Returns false if the time is over or the client disconnected. */
bool mock_stream_wait(struct mock_call *c, uint64_t until_ms);
/* Starts a counted thread; fn must end with mock_thread_end(). */
int mock_thread(struct mock *m, void *(*fn)(void *), void *arg);
void mock_thread_end(struct mock *m); /* lock held; releases it */

/* --- api.c --- */
void mock_api(struct mock_call *c);
struct mock_sandbox *mock_sandbox_find(struct mock *m, const char *id);
void mock_sandbox_free(struct mock_sandbox *sb);

/* --- files.c --- */
bool mock_files(struct mock_call *c, struct mock_sandbox *sb); /* false if the call is not one of its own */
void mock_path(const char *path, struct buf *out);             /* absolute, NUL-terminated */
json_t *mock_file(struct mock_sandbox *sb, const char *path);

/* --- watch.c --- */
bool mock_watch(struct mock_call *c, struct mock_sandbox *sb);

/* --- process.c --- */
bool mock_processes(struct mock_call *c, struct mock_sandbox *sb);
void mock_process_put(struct mock_process *p, const char *stream, const void *bytes, size_t n);

/* --- command.c: the lock is held, and released while it waits; returns the exit status, -1 if killed --- */
int mock_command(struct mock_process *p);

/* --- code.c --- */
bool mock_code(struct mock_call *c, struct mock_sandbox *sb);

enum mock_end { MOCK_OK, MOCK_RAISED, MOCK_LEFT };

/* Runs code in a context. emit is called with each line of the stream and takes ownership of it; sleep waits and
 * returns whether to continue. */
struct mock_run {
	json_t *vars, *envs;
	void (*emit)(void *user, json_t *line);
	bool (*sleep)(void *user, double seconds);
	void *user;
};
enum mock_end mock_eval(const struct mock_run *r, const char *code);
