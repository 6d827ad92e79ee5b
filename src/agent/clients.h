/* SPDX-License-Identifier: Apache-2.0 */
/* agent/clients: for each caller a client of libatoll, with its connections to the front, and the sandboxes that it has
 * open. */
#pragma once

#include <stddef.h>

struct atoll_breaker_config;
struct atoll_error;
struct atoll_sessions;
struct sandbox_cache;
struct caller;

/* At start. Each caller has a breaker of its own: what fails in one's sandboxes is nothing to the others. */
void clients_open(struct atoll_sessions *sessions, void (*owner_of)(const struct caller *who, char ret[128]),
    const struct atoll_breaker_config *breaker);

/* From any thread: the caller's own, shared by all that is done for it at the moment. A reference. */
int clients_take(const struct caller *who, struct sandbox_cache **ret, struct atoll_error *e);

size_t clients_broken(void); /* of how many the breaker is not closed */
