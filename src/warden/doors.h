/* SPDX-License-Identifier: Apache-2.0 */
/* doors: the listening sockets of an instance. The warden binds and keeps them, the front serves them. While no
 * front is running, clients wait instead of being refused. */
#pragma once

#include "base/err.h"

struct warden;

/* Binds all sockets and writes the addresses for clients to files in the state directory: `url`, with TLS
 * `tls-url` and `domain`, and `debug` if the debug ports are open. */
int doors_open(struct warden *w, struct err *e);
