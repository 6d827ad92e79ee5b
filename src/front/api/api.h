/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/api: the state of the control API: the server, and the requests without an answer yet. */
#pragma once

#include <stdint.h>
#include <sys/queue.h>

struct accounts;
struct builds;
struct console;
struct http_server;
struct links;
struct proxies;
struct records;
struct req;
struct req_wait_entry;
struct sandboxes;
struct taking;

TAILQ_HEAD(req_list, req);
LIST_HEAD(req_waits, req_wait_entry);
LIST_HEAD(taking_list, taking);

struct api {
	struct links *link;
	struct accounts *account;
	struct records *record;
	struct sandboxes *sandbox;
	struct builds *build;
	struct proxies *proxy;
	struct console *console;
	struct http_server *server;
	struct req_list reading;    /* requests whose body is being read, oldest first */
	struct req_waits waiting;   /* requests that wait for the state of a sandbox */
	struct taking_list takings; /* uploads of files for builds in progress */
	uint32_t agent_calls;       /* requests that atoll-agent handles now */
};
