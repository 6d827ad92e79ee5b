/* SPDX-License-Identifier: Apache-2.0 */
/* front: the one object that the parts of atoll-front reach each other by.
 *
 *	main.c -> boot.c: hello and list from the warden, reconcile with the store, confine, serve
 *	dispatch.c: a request is for the API (routes.c -> api_*.c) or for a port of a sandbox (proxy.c)
 *	sandbox.c: the life of a sandbox; the only place that asks the warden to change one */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "front/template.h"
#include "ipc/msg.h"
#include "store/keys.h"

struct auth;
struct boot;
struct expiry;
struct http_server;
struct loop;
struct sandbox_table;
struct sigwatch;
struct store;
struct timer;
struct warden_link;

#define ENVD_VERSION "0.6.13"		/* what atoll-init implements, in the reference's counting */
#define CLIENT_ID "6532622b"		/* as the reference: clients only carry it around */

#define PORT_ENVD 49983
#define PORT_INTERPRETER 49999

struct front_options {
	const char *state_dir;
	const char *key_file;
	const char *domain;		/* "" when none is set up */
	const char *url;
	uint32_t max_timeout_s;
};

struct front {
	struct front_options opt;
	struct loop *loop;
	struct store *store;
	struct warden_link *warden;
	struct http_server *server;
	struct sandbox_table *sandboxes;
	struct expiry *expiry;
	struct auth *auth;
	struct templates templates;
	struct msg_limits defaults;
	uint32_t max_sandboxes;
	struct boot *boot;		/* until it serves */
	struct timer *tick;		/* once a second: usage samples, idle connections */
	struct timer *grace;		/* while stopping */
	struct sigwatch *on_term, *on_int;
	uint32_t requests;		/* under way */
	uint32_t fds;			/* how many this process may have; shares of it go to: */
	uint32_t tunnels;		/* ... upgraded connections, now */
	bool stopping;
	int listen_fd;
	int exit_code;
};

/* A client must not be able to use up the fds: an answer of the warden that carries one could not be received. */
static inline uint32_t front_max_conns(const struct front *f)
{
	return f->fds / 4 < 4096 ? f->fds / 4 : 4096;
}

static inline uint32_t front_max_tunnels(const struct front *f)
{
	return f->fds / 8;		/* two fds each */
}

void front_request_over(struct front *f);	/* one of f->requests is done */
void front_stop(struct front *f);		/* finishes what is under way, then ends the loop */
void front_done(struct front *f);		/* frees what is there; sandboxes live on */
