/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a configuration file is taken or refused with a message; what is taken holds the bounds of the table. */
#include <string.h>

#include "fuzz.h"
#include "warden/config.h"

static bool is_within(uint64_t v, uint64_t min, uint64_t max)
{
	return v >= min && v <= max;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config c;
	struct err e = ERR_INIT;

	config_defaults(&c);
	if (config_text(&c, (struct str) { (const char *)data, size }, &e) < 0 || config_settle(&c, &e) < 0) {
		MUST(e.no > 0 && e.text[0]);
		return 0;
	}
#define TEXT(name, size, ...) MUST(memchr(c.name, '\0', sizeof c.name));
#define PATH(name, default_, ...) \
	MUST(memchr(c.name, '\0', sizeof c.name) && (c.name[0] == '/' || !strcmp(c.name, default_)));
#define NUMBER(name, min, max, default_, ...) MUST(c.name == (default_) || is_within(c.name, min, max));
#define RANGES(name, ...) MUST(c.name.n <= INET_RANGES_MAX);
#define LIMIT(id, name, form, min, max, usual, most, optional, ...) \
	MUST(c.defaults[id] <= c.maxima[id] || ((optional) && !c.maxima[id]));
#include "ipc/settings.tbl"
	MUST(c.n_template_limits <= TEMPLATES_MAX && c.n_templates == 0);
	return 0;
}
