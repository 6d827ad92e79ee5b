/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/replica: a running sandbox as a thread sees it that serves requests into it (front/proxy/lane.h).
 *
 * A replica is a struct sandbox of that thread, in a struct sandboxes of its own: RUNNING until it is ended, with a
 * copy of what a request into the sandbox needs, and with its own connections, requests and share. It has no box, no
 * row, no log and no timer: those are of the sandbox itself, in the main thread. The two share what is redacted and how
 * many requests there are, both made for that. */
#pragma once

#include <jansson.h>

#include "front/util/token.h"
#include "ipc/msg.h"
#include "store/teams.h"

struct sandbox;
struct sandbox_use;
struct sandboxes;
struct veiled;

/* The copy: shares nothing with the sandbox but `secrets` and `use`, whose references it has. */
struct replica_facts {
	char id[ID_SIZE], team[TEAM_ID_SIZE], key[TEAM_ID_SIZE];
	char envd_token[TOKEN_SIZE], traffic_token[TOKEN_SIZE];
	json_t *env_vars; /* NULL: none */
	struct veiled *secrets;
	struct sandbox_use *use;
};

void replica_facts_of(struct sandbox *sb, struct replica_facts *ret); /* also sets sb->use */
void replica_facts_done(struct replica_facts *f);

/* In the other thread; takes what the facts have. It is in the table of `all`. */
struct sandbox *replica_new(struct sandboxes *all, struct replica_facts *f);
void replica_end(struct sandbox *sb); /* leaves the table, and breaks its connections */
