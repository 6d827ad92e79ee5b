/* SPDX-License-Identifier: Apache-2.0 */
/* forward: queries the host's name servers on behalf of a client.
 *
 * Each query has a random id and a socket of its own, so the port is random too and only packets of the queried
 * server are received. After FORWARD_TRY_MS the next server is tried. A truncated answer is fetched over TCP. The
 * number of open queries is limited in total and per client, so that one sandbox cannot use them all. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct dns_query;
struct forward;
struct forwarder;
struct loop;
struct resolvconf;

#define FORWARD_MAX 2048
#define FORWARD_CLIENT_MAX 128
#define FORWARD_TRY_MS 1200
#define FORWARD_TRIES 4 /* FORWARD_TRIES * FORWARD_TRY_MS is below the 5 s that clients wait */

/* Passes the answer, with the id of the client's query. Called once unless cancelled, never inside forward_ask(). */
typedef void forward_fn(void *user, const uint8_t *p, size_t n);

struct forwarder *forwarder_new(struct loop *l, struct resolvconf *rc);
void forwarder_free(struct forwarder *fw);

/* client: any number that identifies the client. -EBUSY: too many open queries. */
int forward_ask(struct forwarder *fw, uint32_t client, const struct dns_query *q, forward_fn *fn, void *user,
    struct forward **ret);
void forward_cancel(struct forward *f); /* NULL is fine */
