/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: whatever a sandbox answered, the notebook made of it is JSON, with a cell for what was run. */
#include <jansson.h>
#include <string.h>

#include "front/record/ipynb.h"
#include "fuzz.h"
#include "store/notebooks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autobuf struct buf out = BUF_INIT(64u << 20);
	struct cell_row c = { .n = 1,
		.context = "",
		.language = size % 3 ? "python" : "zig",
		.code = { "1", 1 },
		.output = { (const char *)data, size },
		.outcome = "ok",
		.cut = size % 2 };
	struct ipynb nb;

	ipynb_begin(&nb, "ione", "python", size % 5 == 0, &out);
	ipynb_cell(&nb, &c, &out);
	c.n = 2;
	c.context = "other";
	c.code = c.output; /* not even valid text */
	ipynb_cell(&nb, &c, &out);
	ipynb_end(&nb, size % 7, &out);
	MUST(!out.bad);

	json_t *all = json_loadb(out.p, out.n, JSON_ALLOW_NUL, NULL);
	size_t i;
	json_t *cell;

	MUST(json_is_array(json_object_get(all, "cells")) && json_array_size(json_object_get(all, "cells")) >= 2);
	json_array_foreach(json_object_get(all, "cells"), i, cell)
	{
		MUST(json_is_string(json_object_get(cell, "cell_type")) &&
		    json_is_string(json_object_get(cell, "id")) && json_object_get(cell, "source"));
		MUST(strcmp(json_string_value(json_object_get(cell, "cell_type")), "code") != 0 ||
		    json_is_array(json_object_get(cell, "outputs")));
	}
	json_decref(all);
	return 0;
}
