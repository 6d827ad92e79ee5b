/* SPDX-License-Identifier: Apache-2.0 */
/* ops: carries out the requests of the front that have passed proto_check(). */
#pragma once

#include "ipc/msg.h"

struct warden;

void ops_run(struct warden *w, enum msg_type type, const void *msg);
