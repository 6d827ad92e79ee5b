/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/scan: what the answers of /execute and of process.Process/Start say, read as they pass. No I/O.
 *
 * The bytes come from inside a sandbox: whatever they are, it costs a bounded amount of memory and a look at each
 * byte. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define SCAN_HEAD_MAX 160 /* bytes of a line, or of a message, that are looked at */
#define SCAN_NAME_SIZE 64

struct cell_scan { /* lines of JSON; zeroed: at the start */
	char head[SCAN_HEAD_MAX];
	size_t n;                         /* bytes of the line so far, also those that are not kept */
	uint64_t bytes, results, outputs; /* outputs: pieces of stdout and stderr */
	char error[SCAN_NAME_SIZE];       /* name of the exception; "": none */
	bool ended;                       /* it came to its end */
};

void cell_scan(struct cell_scan *s, struct str data);

struct process_scan { /* messages in envelopes; zeroed: at the start */
	char head[SCAN_HEAD_MAX];
	uint8_t envelope[5];
	size_t n_envelope, n, left; /* of the message: bytes seen, bytes to come */
	uint64_t bytes;
	bool is_proto; /* set before: they are protobuf, not JSON */
	bool started, ended;
	int64_t exit_code; /* when ended; -1: by a signal */
};

void process_scan(struct process_scan *s, struct str data);
