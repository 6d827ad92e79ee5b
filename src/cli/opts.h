/* SPDX-License-Identifier: Apache-2.0 */
/* cli/opts: parses the options of a verb: --name VALUE, --name=VALUE, -x VALUE, flags, and `--`. No I/O. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "client/atoll.h"

enum opt_kind {
	OPT_FLAG,     /* bool */
	OPT_STR,      /* const char *; points into argv */
	OPT_SECONDS,  /* unsigned, at least 1 */
	OPT_DURATION, /* unsigned; seconds, or 90s, 15m, 1h30m, 2d */
	OPT_NUMBER,   /* int64_t, 0 or more */
	OPT_LIMIT,    /* int64_t, 0 or more; "default" sets ATOLL_DEFAULT */
	OPT_PAIR,     /* struct pairs; NAME=VALUE, may be repeated */
};

struct opt {
	const char *name; /* without the dashes */
	char letter;      /* 0: none */
	enum opt_kind kind;
	void *to;
};

struct pairs { /* names are owned, values point into argv */
	struct atoll_pair *v;
	size_t n;
};

void pairs_done(struct pairs *p);
#define autopairs __attribute__((cleanup(pairs_done)))

#define OPTS_MIXED INT_MAX /* options may follow operands */
#define OPTS_HELP 1        /* --help or -h was given */

/* Parses argv and moves the operands to its front. Options are not recognized after `end_after` operands, because
 * what follows belongs to another program. Returns 0, OPTS_HELP, or -EINVAL with a message in e. */
int opts_parse(const struct opt *v, size_t n, int end_after, int argc, char **argv, int *ret_operands, struct err *e);
