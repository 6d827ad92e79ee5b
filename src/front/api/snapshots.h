/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/snapshots: deletes the snapshot that a path names. */
#pragma once

#include <stdbool.h>

struct req;

bool api_snapshot_drop(struct req *r); /* returns false, without an answer, if the path names no snapshot */
