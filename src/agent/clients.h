/* SPDX-License-Identifier: Apache-2.0 */
/* agent/clients: clients of libatoll that were used for a caller, kept a while with their connections to the front for the next call. */
#pragma once

struct atoll;
struct atoll_error;
struct caller;

/* From any thread. One that is given back is never lent to another caller. */
int clients_take(const struct caller *who, struct atoll **ret, struct atoll_error *e);
void clients_give(const struct caller *who, struct atoll *a);
