/* SPDX-License-Identifier: Apache-2.0 */
/* agent/clients: one libatoll client per caller, with its connections to the front and its open sandboxes. */
#pragma once

#include <stddef.h>

struct atoll_breaker_config;
struct atoll_error;
struct atoll_sessions;
struct sandbox_cache;
struct caller;

/* Called at start. Each caller has its own breaker, so that failures in one caller's sandboxes do not affect others. */
void clients_open(struct atoll_sessions *sessions, void (*owner_of)(const struct caller *who, char ret[128]),
    const struct atoll_breaker_config *breaker);

/* The caller's sandbox cache, shared by all of its requests; returns a reference. Thread-safe. */
int clients_take(const struct caller *who, struct sandbox_cache **ret, struct atoll_error *e);

size_t clients_broken(void); /* number of callers whose breaker is not closed */
