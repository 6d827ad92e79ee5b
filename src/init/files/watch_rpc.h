/* SPDX-License-Identifier: Apache-2.0 */
/* watch_rpc: the filesystem.Filesystem calls that watch: as a stream, or polled. */
#pragma once

#include <jansson.h>

struct call;

void watch_dir(struct call *c, json_t *msg);
void watch_create(struct call *c, json_t *msg);
void watch_events(struct call *c, json_t *msg);
void watch_remove(struct call *c, json_t *msg);
