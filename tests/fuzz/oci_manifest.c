/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: documents of images. */
#include <string.h>

#include "fuzz.h"
#include "oci/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct manifest m;
	static struct image_config c;
	const struct platform want = { .os = "linux", .arch = "amd64" };
	struct str s = { (const char *)data, size };
	struct err e = ERR_INIT;
	enum manifest_kind kind;
	struct blob b;

	if (manifest_read(s, &m, &e) == 0) {
		MUST(manifest_kind(s, &kind, &e) == 0 && kind == MANIFEST_IMAGE);
		MUST(m.n_layers <= MANIFEST_LAYERS_MAX && m.config.size <= MANIFEST_TEXT_MAX);
	} else {
		MUST(e.no && e.text[0]);
	}
	(void)manifest_choose(s, &want, NULL, &b, &e);
	(void)manifest_choose(s, &want, "tag", &b, &e);
	if (image_config_read(s, &want, &c, &e) == 0) {
		MUST(c.n_diff_ids <= MANIFEST_LAYERS_MAX && json_is_object(c.run));
		image_config_done(&c);
	}
	return 0;
}
