/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/oidc: questions to atoll-oidc, and what a browser keeps between its two halves of a log-in.
 *
 * The front remembers nothing of a log-in that has begun, so that nobody can fill its memory with them: the page keeps
 * a ticket, sealed with the key of the vault, and gives it back with the provider's answer. Only the tab that began the
 * log-in has it. The state in the provider's answer must be the one in the ticket. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "ipc/oidc.h"

struct links;
struct oidc_link;
struct vault;

/* done: NULL if atoll-oidc does not run, has ended, or did not answer in time. */
typedef void oidc_fn(void *user, const struct oi_done *done);

struct oidc_link *oidc_link_new(struct links *links);
void oidc_link_free(struct oidc_link *l);        /* NULL is fine; calls the fn of what is under way */
void oidc_link_set(struct oidc_link *l, int fd); /* owned */
void oidc_link_tick(struct oidc_link *l);        /* every few seconds */
/* Sets the head of m. fn is called later, or at once if it cannot be asked. */
void oidc_ask(struct oidc_link *l, enum oi_type what, struct oi_ask *m, oidc_fn *fn, void *user);

#define OIDC_TICKET_S 600 /* how long a log-in may take */
#define OIDC_TICKET_MAX 2048

/* Sets state, nonce and verifier of m, and writes the ticket, which has those and m->back. */
void oidc_ticket_make(const struct vault *v, struct oi_ask *m, uint64_t now_ms, struct buf *out);
/* Sets nonce, verifier and back. -EACCES: it is none, too old, or of another state. */
int oidc_ticket_open(const struct vault *v, struct str ticket, struct str state, uint64_t now_ms, struct oi_ask *m,
    struct err *e);
