/* SPDX-License-Identifier: Apache-2.0 */
/* client: what the files of libatoll share: its objects, and one HTTP call through libcurl. */
#pragma once

#include <curl/curl.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/str.h"
#include "client/atoll.h"

#define ANSWER_MAX (8u * 1024 * 1024)	/* of one answer that is kept in memory */
#define ENVD_PORT "49983"

struct atoll {
	char *api_url, *sandbox_url, *api_key;
	CURL *curl;			/* of blocking calls, one after the other: keeps the connection */
	bool (*stop)(void *user);
	void *stop_user;
};

struct atoll_sandbox {
	struct atoll *a;
	char *id, *token, *json;	/* token: NULL if the sandbox is open to all */
};

/* Fills e (control characters of foreign text are replaced) and returns -no. */
int client_fail(struct atoll_error *e, int no, int status, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int client_no_memory(struct atoll_error *e);

/* Turns a refusal of the server, {"code":...,"message":...} or any text, into an error. */
int client_refused(struct atoll_error *e, int status, struct str body);
int client_curl_failed(struct atoll_error *e, CURLcode rc, const char *url);

/* One request and its whole answer. */
struct call {
	const char *method;
	const char *base;		/* URL to which path is appended */
	const char *path;		/* with its query, encoded */
	struct curl_slist *headers;	/* owned */
	struct str body;		/* p == NULL: none, or by source */
	atoll_source *source;
	void *source_user;
	int source_no;			/* negative errno the source gave */
	long timeout_ms;		/* 0: none */
	int status;
	struct buf answer;
	char next_token[512];		/* header X-Next-Token */
};

#define CALL_INIT(m, b, p) \
	((struct call) { .method = (m), .base = (b), .path = (p), .timeout_ms = 120000, .answer = BUF_INIT(ANSWER_MAX) })

int call_header(struct call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));	/* -ENOMEM */
int call_header_sandbox(struct call *c, const struct atoll_sandbox *sb);	/* routing, token */
int call_header_user(struct call *c, const char *user);				/* NULL: none */
int call_run(struct atoll *a, struct call *c, struct atoll_error *e);		/* 0 on 2xx only */
void call_done(struct call *c);
#define autocall __attribute__((cleanup(call_done)))

/* Options that every handle has. */
void client_setup_handle(struct atoll *a, CURL *h, const char *url);

/* The answer as JSON of the wanted type. */
int call_json(const struct call *c, json_type type, json_t **ret, struct atoll_error *e);

int client_pairs_json(const struct atoll_pair *v, size_t n, json_t **ret, struct atoll_error *e);
