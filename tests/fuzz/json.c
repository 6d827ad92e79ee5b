/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what is read can be written and read again to the same. */
#include <string.h>

#include "fuzz.h"
#include "http/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autobuf struct buf out = BUF_INIT(4 << 20);
	autojson json_t *j = NULL, *again = NULL;
	struct err e = ERR_INIT;
	const char *s = NULL;
	int64_t i = 0;
	bool b = false;

	if (json_read_object((struct str) { (const char *)data, size }, size & 1, &j, &e) < 0) {
		MUST(e.no && e.text[0]);
		return 0;
	}
	json_put(&out, j);
	MUST(!out.bad);
	for (size_t k = 0; k < out.n; k++)
		MUST(out.p[k] >= ' ' && (unsigned char)out.p[k] <= 0x7f);
	MUST(json_read_object(buf_view(&out), false, &again, &e) == 0);
	(void)json_get_str(j, "a", &s, &e);
	(void)json_get_int(j, "a", -5, 5, &i, &e);
	MUST(i >= -5 && i <= 5);
	(void)json_get_bool(j, "a", &b, &e);
	(void)json_check_str_map(j, "x", &e);
	return 0;
}
