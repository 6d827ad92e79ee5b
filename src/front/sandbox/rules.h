/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/rules: sends atoll-egress the headers to add to the requests of sandboxes, over a socket that the
 * warden creates between the two (ipc/rules.h).
 *
 * When atoll-egress or the front restarts, the warden sends a new socket, and all rules are sent again. */
#pragma once

#include <stdbool.h>

struct sandboxes;
struct rules_link;
struct sandbox;
struct spec;

struct rules_link *rules_link_new(struct sandboxes *all);
void rules_link_free(struct rules_link *l);        /* NULL is fine */
void rules_link_set(struct rules_link *l, int fd); /* owned; replaces the previous one */

bool spec_has_rules(const struct spec *sp); /* whether it has rules to send to atoll-egress */

/* no: 0 or an errno value. pem: the certificate of the sandbox's own authority, "" if it has none. Never called
 * from inside rules_push(). */
typedef void rules_fn(void *user, int no, const char *pem);

/* Sends the current rules of a sandbox. fn may be NULL. The sandbox may have ended when fn is called. */
void rules_push(struct sandbox *sb, rules_fn *fn, void *user);
void rules_push_all(struct sandboxes *all);                  /* for all sandboxes that have rules */
void rules_refresh(struct sandboxes *all, const char *team); /* a secret of the team has changed */
