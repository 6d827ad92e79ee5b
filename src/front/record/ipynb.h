/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/ipynb: executions as a Jupyter notebook (nbformat 4.5). No I/O.
 *
 * A notebook has one kernel: that of the language of most cells. A cell in another language begins with the magic
 * that runs it in its own interpreter. A heading marks a change of context. */
#pragma once

#include "base/buf.h"

struct cell_row;

struct ipynb {
	const char *language; /* of the kernel */
	bool several;         /* more than one context: changes are marked */
	char last[96];        /* context of the previous cell */
	uint64_t put;         /* number of cells so far */
};

void ipynb_begin(struct ipynb *nb, const char *sandbox, const char *language, bool several, struct buf *out);
void ipynb_cell(struct ipynb *nb, const struct cell_row *c, struct buf *out);
void ipynb_end(struct ipynb *nb, uint64_t missed, struct buf *out); /* missed: number of cells that were not stored */
