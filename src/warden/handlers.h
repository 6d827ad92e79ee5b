/* SPDX-License-Identifier: Apache-2.0 */
/* handlers: one function for each request of ipc/messages.tbl, in ops.c or in the file of what it is about. It answers,
 * now or later, and waits for nothing. */
#pragma once

#include "ipc/msg.h"

struct warden;

#define REQUEST(type, name, ...) void op_##name(struct warden *w, const void *msg);
#include "ipc/messages.tbl"
