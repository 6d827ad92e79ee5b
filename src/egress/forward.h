/* SPDX-License-Identifier: Apache-2.0 */
/* forward: asks the host's name servers on behalf of a client.
 *
 * Each question goes out with a random id from a socket of its own (so the port is random too and only the asked
 * server's packets come in), to the next server after FORWARD_TRY_MS, and over TCP when the answer was cut. The
 * number of open questions is bounded in total and per client, so that one sandbox cannot take all. */
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
#define FORWARD_TRIES 4 /* with the time of one below what clients wait: 5 s */

/* The answer, with the id of the client's query; always called once unless cancelled, never inside forward_ask(). */
typedef void forward_fn(void *user, const uint8_t *p, size_t n);

struct forwarder *forwarder_new(struct loop *l, struct resolvconf *rc);
void forwarder_free(struct forwarder *fw);

/* client: any number that tells clients apart. -EBUSY: too many open questions. */
int forward_ask(struct forwarder *fw, uint32_t client, const struct dns_query *q, forward_fn *fn, void *user,
    struct forward **ret);
void forward_cancel(struct forward *f); /* NULL is fine */
