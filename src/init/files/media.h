/* SPDX-License-Identifier: Apache-2.0 */
/* media: HTTP metadata of a download: its type, file name, range and content coding. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/str.h"

/* By the extension of the name, else by the first bytes. */
const char *media_type(struct str name, struct str first);

void media_disposition(struct buf *out, struct str name); /* "inline; filename=..." */

/* Evaluates a Range header. 1: the part is *ret_from, *ret_n; 0: no usable range, send all; -ERANGE: answer 416. */
int media_range(struct str range, uint64_t size, uint64_t *ret_from, uint64_t *ret_n);

/* The coding that Accept-Encoding allows. gzip is used only if it is the only coding named: HTTP libraries always
 * send a list like "gzip, deflate, br", and on a fast link compression costs more time than it saves. */
enum media_coding { MEDIA_IDENTITY, MEDIA_GZIP, MEDIA_NEITHER };
enum media_coding media_coding(struct str accept_encoding, bool identity_only);

#define MEDIA_DATE_SIZE 32
void media_date(time_t t, char out[MEDIA_DATE_SIZE]); /* "Tue, 15 Nov 1994 08:12:31 GMT" */
bool media_date_parse(struct str s, time_t *ret);
