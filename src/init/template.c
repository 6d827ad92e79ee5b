/* SPDX-License-Identifier: Apache-2.0 */
/* template: reads /etc/atoll/template.json. The sandbox can write the file, so its content is not trusted. */
#include "init/template.h"

#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "init/env.h"
#include "init/sysfile.h"

#define FILE_MAX (512 * 1024)

static void take_text(json_t *to, const json_t *from, const char *name)
{
	const char *text = NULL;
	struct err e;

	if (json_get_str(from, name, &text, &e) == 0 && text && *text)
		(void)json_object_set_new(to, name, json_string(text));
}

json_t *template_read(void)
{
	static const char *const texts[] = { "user", "workdir", "startCmd", "readyCmd" };
	json_t *out = json_object(), *env = NULL;
	autojson json_t *j = NULL;
	size_t n;
	struct err e = ERR_INIT;
	autofree char *text = sysfile_read(TEMPLATE_FILE, FILE_MAX, &n);

	if (!text || json_read_object((struct str) { text, n }, false, &j, &e) < 0)
		return out;
	if (json_get_obj(j, "env", &env, &e) == 0 && env && env_check(env, "env", &e) == 0)
		(void)json_object_set(out, "env", env);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		take_text(out, j, texts[i]);
	return out;
}
