/* SPDX-License-Identifier: Apache-2.0 */
/* doors: the listening sockets of an instance. The warden binds and keeps them, the front serves them: while there is
 * no front, clients wait instead of being refused. */
#pragma once

#include "base/err.h"

struct warden;

/* Binds all of them and notes in the state directory where clients connect: `url`, with TLS `tls-url` and `domain`, and
 * `debug` if the debug ports are open. */
int doors_open(struct warden *w, struct err *e);
