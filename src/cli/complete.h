/* SPDX-License-Identifier: Apache-2.0 */
/* cli/complete: what may stand at the end of a command line. No I/O. */
#pragma once

#include "base/buf.h"

enum complete_more { /* what has to be asked elsewhere */
	MORE_NONE,
	MORE_IDS,  /* sandboxes */
	MORE_COPY, /* sandboxes with a colon behind them, and files */
	MORE_FILES,
	MORE_KEYS,
	MORE_TEAMS,
	MORE_VOLUMES,
};

/* words: what stands behind "atoll", the last one (maybe empty) to be completed. Puts a line for each candidate, with a
 * tab and what it means if that is known. */
enum complete_more complete_words(char *const *words, size_t n, struct buf *out);
