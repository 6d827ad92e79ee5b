/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/state: what the parts of the mock share. */
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
	json_t *events; /* all messages so far */
	struct buf input;
	bool with_input, input_closed, killed, ended;
};

struct mock_sandbox {
	struct mock_sandbox *next;
	struct mock *m;
	char id[32];
	bool running, paused; /* neither: it was killed, and only calls that are under way know it */
	json_t *info;         /* as the API tells it */
	json_t *envs;
	json_t *files;    /* path -> {"dir":bool,"data":bytes} */
	json_t *changes;  /* [{"path","type"}] since it began */
	json_t *watchers; /* id -> {"path","recursive","seen"} */
	json_t *contexts; /* [{"id","language","cwd","vars":{},"count"}] */
	struct mock_process *processes;
	int64_t next_pid;
	unsigned next_id;
};

struct mock {
	pthread_mutex_t lock;   /* of all that is here and below */
	pthread_cond_t changed; /* something happened that a stream or a process may wait for */
	struct mock_sandbox *sandboxes;
	unsigned next_id;
	size_t threads;
	bool closing;
	int listener;
	char name[64]; /* of its socket */
};

/* One request. Handlers run with the lock held, and put their answer in place; streams send and wait by themselves. */
struct mock_call {
	struct mock *m;
	int fd;
	char method[16];
	char *path, *query; /* query: "" if none; path as it was sent */
	char sandbox[64];   /* "": a call of the control API */
	unsigned port, timeout_ms;
	struct str body;
	json_t *json; /* of body, if it is that; or NULL */
	int status;   /* 0: the handler has sent it all */
	const char *type;
	struct buf answer;
	bool broken; /* the client is gone */
};

#define MOCK_TICK_MS 50 /* how often something that waits looks whether the client is still there */

/* --- mock.c --- */
void mock_json(struct mock_call *c, int status, json_t *j); /* takes j */
void mock_refuse(struct mock_call *c, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void mock_rpc_refuse(struct mock_call *c, int status, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A stream: with the lock held, which is free while bytes go out and while it waits. */
void mock_stream_begin(struct mock_call *c, const char *type);
void mock_stream_send(struct mock_call *c, const void *p, size_t n);
void mock_stream_message(struct mock_call *c, const json_t *j); /* in an envelope */
void mock_stream_end(struct mock_call *c, const char *code,
    const char *message); /* the last envelope, if code is not NULL or "" with it */
/* for news; false: the time is over, or the client is gone */
bool mock_stream_wait(struct mock_call *c, uint64_t until_ms);
/* counted; fn ends with mock_thread_end() */
int mock_thread(struct mock *m, void *(*fn)(void *), void *arg);
void mock_thread_end(struct mock *m); /* lock held; frees it */

/* --- api.c --- */
void mock_api(struct mock_call *c);
struct mock_sandbox *mock_sandbox_find(struct mock *m, const char *id);
void mock_sandbox_free(struct mock_sandbox *sb);

/* --- files.c --- */
bool mock_files(struct mock_call *c, struct mock_sandbox *sb); /* false: not one of its calls */
void mock_path(const char *path, struct buf *out);             /* absolute, NUL-terminated */
json_t *mock_file(struct mock_sandbox *sb, const char *path);

/* --- watch.c --- */
bool mock_watch(struct mock_call *c, struct mock_sandbox *sb);

/* --- process.c --- */
bool mock_processes(struct mock_call *c, struct mock_sandbox *sb);
void mock_process_put(struct mock_process *p, const char *stream, const void *bytes, size_t n);

/* --- command.c: runs with the lock held, which is free while it waits; returns the exit status, -1: it was killed
 * --- */
int mock_command(struct mock_process *p);

/* --- code.c --- */
bool mock_code(struct mock_call *c, struct mock_sandbox *sb);

enum mock_end { MOCK_OK, MOCK_RAISED, MOCK_LEFT };

/* Runs code in a context. emit gets each line of the stream (it takes it); sleep waits and says if to go on. */
struct mock_run {
	json_t *vars, *envs;
	void (*emit)(void *user, json_t *line);
	bool (*sleep)(void *user, double seconds);
	void *user;
};
enum mock_end mock_eval(const struct mock_run *r, const char *code);
