/* SPDX-License-Identifier: Apache-2.0 */
/* fs_rpc: the filesystem.Filesystem calls that read and change files (watch_rpc.h has those that watch). */
#pragma once

#include <jansson.h>

struct call;

void fs_stat(struct call *c, json_t *msg);
void fs_make_dir(struct call *c, json_t *msg);
void fs_move(struct call *c, json_t *msg);
void fs_list_dir(struct call *c, json_t *msg);
void fs_remove(struct call *c, json_t *msg);
