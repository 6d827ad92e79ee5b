/* SPDX-License-Identifier: Apache-2.0 */
/* cli/complete: candidates for the last word of a command line. No I/O. */
#pragma once

#include "base/buf.h"

enum complete_more { /* candidates that the caller has to look up */
	MORE_NONE,
	MORE_IDS,  /* sandboxes */
	MORE_COPY, /* sandboxes followed by a colon, and files */
	MORE_FILES,
	MORE_KEYS,
	MORE_TEAMS,
	MORE_VOLUMES,
};

/* words are those after "atoll"; the last one, which may be empty, is completed. Writes one line per candidate to
 * out, followed by a tab and a description if there is one. */
enum complete_more complete_words(char *const *words, size_t n, struct buf *out);
