/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/gobinary: what an executable file that Go has linked says of itself: the module and version it was built
 * from, and whether it needs a loader. Pure: it reads bytes of a file that anybody may have made. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define GOBINARY_TEXT 128

struct gobinary {
	uint16_t machine;            /* EM_X86_64, ... */
	bool needs_loader;           /* it has a PT_INTERP: it is not static */
	char go[GOBINARY_TEXT];      /* version of Go: "go1.26.8" */
	char path[GOBINARY_TEXT];    /* package of main */
	char version[GOBINARY_TEXT]; /* of `module`, "" if it is not named */
	char sum[GOBINARY_TEXT];     /* checksum of the module's sources, "h1:..."; "" if there is none */
};

/* 0; -ENOEXEC: not an ELF file that this program could run at all; -EBADMSG: no build info of Go, or a damaged one. */
int gobinary_read(struct str file, const char *module, struct gobinary *ret, struct err *e);
