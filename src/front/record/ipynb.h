/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/ipynb: what was run, as a notebook of Jupyter (nbformat 4.5). No I/O.
 *
 * A notebook has one kernel: that of the language that most cells are in. A cell in another language begins with the
 * magic that has it run by its own interpreter; a change of context is told by a heading. */
#pragma once

#include "base/buf.h"

struct cell_row;

struct ipynb {
	const char *language; /* of the kernel */
	bool several;         /* contexts, so changes are told */
	char last[96];        /* context of the cell before */
	uint64_t put;         /* cells so far */
};

void ipynb_begin(struct ipynb *nb, const char *sandbox, const char *language, bool several, struct buf *out);
void ipynb_cell(struct ipynb *nb, const struct cell_row *c, struct buf *out);
void ipynb_end(struct ipynb *nb, uint64_t missed, struct buf *out); /* missed: cells that were not kept */
