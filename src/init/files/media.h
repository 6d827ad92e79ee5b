/* SPDX-License-Identifier: Apache-2.0 */
/* media: what HTTP wants to know about a download: its type, its name, which part of it, in which coding. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/str.h"

/* By the extension of the name, else by a look at the first bytes. */
const char *media_type(struct str name, struct str first);

void media_disposition(struct buf *out, struct str name); /* "inline; filename=..." */

/* A Range header against a size. 1: *ret_from, *ret_n are the part; 0: no usable range, send all; -ERANGE: 416. */
int media_range(struct str range, uint64_t size, uint64_t *ret_from, uint64_t *ret_n);

/* What Accept-Encoding leaves to choose from. gzip is sent when it is asked for by name and nothing else is; a list
 * like "gzip, deflate, br" is what HTTP libraries always send, and packing costs more than it saves on a fast line. */
enum media_coding { MEDIA_IDENTITY, MEDIA_GZIP, MEDIA_NEITHER };
enum media_coding media_coding(struct str accept_encoding, bool identity_only);

#define MEDIA_DATE_SIZE 32
void media_date(time_t t, char out[MEDIA_DATE_SIZE]); /* "Tue, 15 Nov 1994 08:12:31 GMT" */
bool media_date_parse(struct str s, time_t *ret);
