/* SPDX-License-Identifier: Apache-2.0 */
/* handlers: one function per request of ipc/messages.tbl, in ops.c or in the file of its subject. A handler
 * answers, now or later, and never blocks. */
#pragma once

#include "ipc/msg.h"

struct warden;

#define REQUEST(type, name, ...) void op_##name(struct warden *w, const void *msg);
#include "ipc/messages.tbl"
