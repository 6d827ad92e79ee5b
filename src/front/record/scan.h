/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/scan: reads the answers of /execute and of process.Process/Start as they pass through. No I/O.
 *
 * The bytes come from inside a sandbox. Whatever they are, scanning takes limited memory and one pass over them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define SCAN_HEAD_MAX 160 /* bytes of a line or message that are examined */
#define SCAN_NAME_SIZE 64

struct cell_scan { /* scans lines of JSON; zeroed: at the start */
	char head[SCAN_HEAD_MAX];
	size_t n;                         /* bytes of the line so far, including those not stored */
	uint64_t bytes, results, outputs; /* outputs: chunks of stdout and stderr */
	char error[SCAN_NAME_SIZE];       /* name of the exception; "": none */
	bool ended;                       /* the end event was seen */
};

void cell_scan(struct cell_scan *s, struct str data);

struct process_scan { /* scans messages in envelopes; zeroed: at the start */
	char head[SCAN_HEAD_MAX];
	uint8_t envelope[5];
	size_t n_envelope, n, left; /* of the message: bytes seen, bytes still to come */
	uint64_t bytes;
	bool is_proto; /* set by the caller: the messages are protobuf, not JSON */
	bool started, ended;
	int64_t exit_code; /* valid if ended; -1: killed by a signal */
};

void process_scan(struct process_scan *s, struct str data);
