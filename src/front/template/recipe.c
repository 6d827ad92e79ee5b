/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/recipe: names of suites and packages, and the scripts. The names reach the scripts as arguments,
 * never as part of their text. */
#include "front/template/recipe.h"

#include <errno.h>
#include <string.h>

#define WORD_MAX 100
#define PACKAGES_MAX 400

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* templates/bootstrap has stored the mirror and the options that it found on the host in `base`, so the new system
 * gets the same mirror and its certificate authorities. Nothing can be mounted in a sandbox; the essential
 * packages do not need it. */
static const char bootstrap[] =
    "set -eu\n"
    "export DEBIAN_FRONTEND=noninteractive LC_ALL=C TMPDIR=/var/tmp\n"
    "suite=$1 components=$2 archive=$3\n"
    "lists=/etc/apt/sources.list.d/debian.sources\n"
    "uri() { awk -v want=\"$1\" '/^URIs:/ { u = $2 } /^Suites:/ && (($2 ~ /-security$/) == want) { print u; exit }' "
    "$lists; }\n"
    "main=$(uri 0) security=$(uri 1)\n"
    "key=$(awk '/^Signed-By:/ { print $2; exit }' $lists)\n"
    "has() { /usr/lib/apt/apt-helper download-file \"${1%/}/dists/$2/InRelease\" $TMPDIR/atoll-release; }\n"
    "list() { printf 'Types: deb\\nURIs: %s\\nSuites: %s\\nComponents: %s\\nSigned-By: %s\\n\\n' \"$1\" \"$2\" "
    "\"$components\" \"$key\"; }\n"
    "[ -n \"$main\" ] || { echo 'the template base has no Debian mirror' >&2; exit 1; }\n"
    "has \"$main\" \"$suite\" || { echo \"the suite '$suite' cannot be had from the mirror of this server\" >&2; exit "
    "1; }\n"
    "list \"$main\" \"$suite\" >$TMPDIR/atoll-sources\n"
    "if has \"$main\" \"$suite-updates\" >/dev/null 2>&1; then list \"$main\" \"$suite-updates\" "
    ">>$TMPDIR/atoll-sources; fi\n"
    "if [ -n \"$security\" ] && has \"$security\" \"$suite-security\" >/dev/null 2>&1; then\n"
    "	list \"$security\" \"$suite-security\" >>$TMPDIR/atoll-sources\n"
    "fi\n"
    "command -v mmdebstrap >/dev/null || { apt-get update -qq && apt-get install -qq -y --no-install-recommends "
    "mmdebstrap >/dev/null; }\n"
    "hook='cd / && cp --parents -r $(ls -d etc/apt/apt.conf.d/91atoll-host usr/local/share/ca-certificates "
    "2>/dev/null) \"$1\"'\n"
    "mmdebstrap --mode=root --variant=minbase --format=tar --skip=chroot/mount --include=ca-certificates "
    "--setup-hook=\"$hook\""
    " \"$suite\" \"$archive\" - <$TMPDIR/atoll-sources\n";

static const char install[] = "set -eu\n"
			      "export DEBIAN_FRONTEND=noninteractive LC_ALL=C\n"
			      "[ $# -gt 0 ] || exit 0\n"
			      "apt-get update -qq\n"
			      "apt-get install -y -q --no-install-recommends -- \"$@\"\n"
			      "apt-get clean\n"
			      "rm -rf /var/lib/apt/lists/*\n";

bool recipe_is(const char *image)
{
	return str_starts(str_of(image), RECIPE_PREFIX);
}

static int check_word(struct str word, const char *what, const char *more, struct err *e)
{
	if (word.n == 0)
		return err_set(e, EINVAL,
		    "the name of a %s is empty: a recipe is " RECIPE_PREFIX "SUITE[+COMPONENT]...[,PACKAGE]...", what);
	if (word.n > WORD_MAX || !strchr(LOWER DIGITS, word.p[0]))
		return err_set(e, EINVAL, "'%.*s' is not the name of a %s", (int)(word.n < 60 ? word.n : 60), word.p,
		    what);
	for (size_t i = 0; i < word.n; i++) {
		if (!strchr(LOWER DIGITS "-", word.p[i]) && !strchr(more, word.p[i]))
			return err_set(e, EINVAL, "'%.*s' is not the name of a %s", STR_ARG(word), what);
	}
	return 0;
}

/* "trixie+contrib+non-free" */
static int read_suite(struct str text, struct recipe *r, struct err *e)
{
	struct str suite = str_cut(&text, '+');
	size_t n = strlen("main");

	if (check_word(suite, "suite", "", e) < 0)
		return -e->no;
	if (!str_copy(r->suite, sizeof r->suite, suite))
		return err_set(e, EINVAL, "the name of the suite is too long");
	memcpy(r->components, "main", n + 1);
	while (text.p) {
		struct str c = str_cut(&text, '+');

		if (check_word(c, "component", "", e) < 0)
			return -e->no;
		if (str_is(c, "main"))
			continue;
		if (n + 1 + c.n >= sizeof r->components)
			return err_set(e, EINVAL, "too many components");
		r->components[n++] = ' ';
		memcpy(r->components + n, c.p, c.n);
		n += c.n;
		r->components[n] = '\0';
	}
	return 0;
}

static int read_all(struct str text, struct recipe *r, struct err *e)
{
	if (read_suite(str_cut(&text, ','), r, e) < 0)
		return -e->no;
	while (text.p) {
		struct str package = str_cut(&text, ',');

		if (check_word(package, "package", "+.", e) < 0)
			return -e->no;
		if (json_array_size(r->packages) == PACKAGES_MAX)
			return err_set(e, EINVAL, "more than %d packages", PACKAGES_MAX);
		if (json_array_append_new(r->packages, json_stringn(package.p, package.n)) < 0)
			return err_set(e, ENOMEM, "out of memory");
	}
	return 0;
}

int recipe_read(const char *image, struct recipe *ret, struct err *e)
{
	struct recipe r = { .packages = json_array() };

	if (!r.packages)
		return err_set(e, ENOMEM, "out of memory");
	if (read_all(str_of(image + strlen(RECIPE_PREFIX)), &r, e) < 0) {
		recipe_done(&r);
		return -e->no;
	}
	*ret = r;
	return 0;
}

void recipe_done(struct recipe *r)
{
	json_decref(r->packages);
	*r = (struct recipe) { 0 };
}

json_t *recipe_bootstrap(const struct recipe *r)
{
	return json_pack("[s,s,s,s,s,s]", "-c", bootstrap, "recipe", r->suite, r->components, RECIPE_ARCHIVE);
}

json_t *recipe_install(const struct recipe *r)
{
	json_t *args = json_pack("[s,s,s]", "-c", install, "recipe");

	(void)json_array_extend(args, r->packages);
	return args;
}
