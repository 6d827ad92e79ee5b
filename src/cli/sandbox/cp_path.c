/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/cp_path: parses the source and destination of a copy. */
#include "cli/sandbox/cp_path.h"

static bool is_id(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		bool ok = (s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-';

		if (!ok)
			return false;
	}
	return s.n > 0;
}

int cp_path_parse(const char *arg, struct cp_path *ret, struct err *e)
{
	struct str rest = str_of(arg);
	struct str id = str_cut(&rest, ':');
	bool remote = rest.p && !memchr(id.p, '/', id.n);

	*ret = (struct cp_path) { .path = arg, .is_stream = strcmp(arg, "-") == 0 };
	if (*arg == '\0')
		return err_set(e, EINVAL, "the path is empty");
	if (remote) {
		if (!is_id(id) || !str_copy(ret->id, sizeof(ret->id), id))
			return err_set(e, EINVAL, "'%.*s' is not a sandbox ID (for a local file, write './%s')",
			    STR_ARG(id), arg);
		ret->path = rest.n > 0 ? rest.p : ".";
	}
	ret->wants_dir = str_ends(str_of(ret->path), "/");
	return 0;
}

struct str cp_path_name(const char *path)
{
	struct str s = str_of(path);

	while (s.n > 0 && s.p[s.n - 1] == '/')
		s.n--;
	for (size_t i = s.n; i > 0; i--) {
		if (s.p[i - 1] == '/') {
			str_skip(&s, i);
			break;
		}
	}
	return str_is(s, ".") || str_is(s, "..") || str_is(s, "~") ? STR_LIT("") : s;
}

char *cp_path_join(const char *dir, struct str name)
{
	if (name.n == 0)
		return str_dup(str_of(dir));
	return str_fmt("%s%s%.*s", dir, str_ends(str_of(dir), "/") ? "" : "/", STR_ARG(name));
}
