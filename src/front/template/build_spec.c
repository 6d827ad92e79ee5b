/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_spec: the body of POST /v2/templates/{id}/builds/{build}, and its steps. */
#include "front/template/build_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "front/template/recipe.h"
#include "front/util/mem.h"
#include "front/util/token.h"
#include "http/json.h"
#include "store/uploads.h"

#define KEYS_VERSION "1" /* of the derivation of keys: a new number invalidates all layers */
#define DEFAULT_IMAGE "e2bdev/base"
#define TEXT_MAX (256 * 1024) /* of one argument after expansion */
#define LABEL_MAX 200
#define UPLOAD_IMAGE_MAX 256
#define IMAGE_MAX 512
#define RECIPE_MAX 8192 /* it lists packages */

static const struct {
	const char *name;
	enum step_type type;
	size_t min, max;
} kinds[] = {
	{ "RUN", STEP_RUN, 1, 2 },
	{ "COPY", STEP_COPY, 2, 4 },
	{ "ADD", STEP_COPY, 2, 4 },
	{ "ENV", STEP_ENV, 2, SIZE_MAX },
	{ "ARG", STEP_ENV, 2, SIZE_MAX },
	{ "WORKDIR", STEP_WORKDIR, 1, 1 },
	{ "USER", STEP_USER, 1, 2 },
};

static const char *const type_name[] = {
	[STEP_RUN] = "RUN",
	[STEP_COPY] = "COPY",
	[STEP_ENV] = "ENV",
	[STEP_WORKDIR] = "WORKDIR",
	[STEP_USER] = "USER",
	[STEP_UNKNOWN] = "?",
};

/* --- parsing ------------------------------------------------------------------------------------------------ */

static int parse_args(const json_t *o, size_t at, const json_t **ret, struct err *e)
{
	json_t *args = NULL, *arg;
	size_t i;

	if (json_get_arr(o, "args", &args, e) < 0)
		return err_wrap(e, "field 'steps[%zu]'", at);
	json_array_foreach(args, i, arg)
	{
		if (!json_is_string(arg))
			return err_set(e, EINVAL, "field 'steps[%zu].args[%zu]' must be a string", at, i);
	}
	*ret = args;
	return 0;
}

static int parse_step(const json_t *o, size_t at, struct build_step *ret, struct err *e)
{
	struct build_step st = { .type = STEP_UNKNOWN };

	if (!json_is_object(o))
		return err_set(e, EINVAL, "field 'steps[%zu]' must be an object", at);
	if (json_need_str(o, "type", &st.name, e) < 0 || json_get_str(o, "filesHash", &st.files_hash, e) < 0 ||
	    json_get_bool(o, "force", &st.force, e) < 0)
		return err_wrap(e, "field 'steps[%zu]'", at);
	if (parse_args(o, at, &st.args, e) < 0)
		return -e->no;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcasecmp(kinds[i].name, st.name) == 0)
			st.type = kinds[i].type;
	}
	*ret = st;
	return 0;
}

static int parse_steps(const json_t *body, struct build_spec *sp, struct err *e)
{
	json_t *steps = NULL, *o;
	size_t i;

	if (json_get_arr(body, "steps", &steps, e) < 0)
		return -e->no;
	sp->n = json_array_size(steps);
	if (sp->n > BUILD_STEPS_MAX)
		return err_set(e, EINVAL, "field 'steps' has more than %d steps", BUILD_STEPS_MAX);
	sp->steps = must_alloc((sp->n + 1) * sizeof *sp->steps);
	json_array_foreach(steps, i, o)
	{
		if (parse_step(o, i, &sp->steps[i], e) < 0)
			return -e->no;
	}
	return 0;
}

static bool is_image_name(const char *z)
{
	size_t n = strlen(z);

	for (size_t i = 0; i < n; i++) {
		if (z[i] <= ' ' || z[i] > '~')
			return false;
	}
	return n > 0 && n <= UPLOAD_IMAGE_MAX;
}

static int parse(json_t *body, struct build_spec *sp, struct err *e)
{
	json_t *registry = NULL;

	if (json_get_str(body, "fromImage", &sp->from_image, e) < 0 ||
	    json_get_str(body, "fromTemplate", &sp->from_template, e) < 0 ||
	    json_get_str(body, "fromUpload", &sp->from_upload, e) < 0 ||
	    json_get_str(body, "fromUploadImage", &sp->upload_image, e) < 0 ||
	    json_get_obj(body, "fromImageRegistry", &registry, e) < 0 ||
	    json_get_bool(body, "force", &sp->force, e) < 0 || json_get_str(body, "startCmd", &sp->start_cmd, e) < 0 ||
	    json_get_str(body, "readyCmd", &sp->ready_cmd, e) < 0)
		return -e->no;
	sp->registry = registry;
	if (sp->from_image && !*sp->from_image)
		sp->from_image = NULL;
	if (sp->from_template && !*sp->from_template)
		sp->from_template = NULL;
	if (sp->from_image && sp->from_template)
		return err_set(e, EINVAL, "fields 'fromImage' and 'fromTemplate' must not be given together");
	if (sp->from_upload && (sp->from_image || sp->from_template))
		return err_set(e, EINVAL,
		    "field 'fromUpload' must not be given together with 'fromImage' or 'fromTemplate'");
	if (sp->from_upload &&
	    (strlen(sp->from_upload) != UPLOAD_HASH_SIZE - 1 ||
		strspn(sp->from_upload, "0123456789abcdef") != UPLOAD_HASH_SIZE - 1))
		return err_set(e, EINVAL, "field 'fromUpload' must be the hash of an archive, 64 hex digits");
	if (sp->upload_image && !sp->from_upload)
		return err_set(e, EINVAL, "field 'fromUploadImage' needs 'fromUpload'");
	if (sp->upload_image && !is_image_name(sp->upload_image))
		return err_set(e, EINVAL,
		    "field 'fromUploadImage' must be a name of 1 to %d printable characters without blanks",
		    UPLOAD_IMAGE_MAX);
	if (!sp->from_image && !sp->from_template && !sp->from_upload)
		sp->from_image = DEFAULT_IMAGE;
	size_t max = sp->from_image && recipe_is(sp->from_image) ? RECIPE_MAX : IMAGE_MAX;

	if (sp->from_image && strlen(sp->from_image) > max)
		return err_set(e, EINVAL, "field 'fromImage' is longer than %zu bytes", max);
	return parse_steps(body, sp, e);
}

int build_spec_parse(json_t *body, struct build_spec *ret, struct err *e)
{
	struct build_spec sp = { .body = json_incref(body), .start_cmd = "", .ready_cmd = "" };

	if (parse(body, &sp, e) < 0) {
		build_spec_done(&sp);
		return -e->no;
	}
	*ret = sp;
	return 0;
}

/* Exits with 0 only if all packages are installed; only then there is a layer. */
static const char packages_script[] =
    "export DEBIAN_FRONTEND=noninteractive\n"
    "command -v apt-get >/dev/null || { echo 'this image has no apt-get'; exit 3; }\n"
    "missing=\n"
    "for p in %s; do\n"
    "\tdpkg-query -W -f='${Status}' \"$p\" 2>/dev/null | grep 'install ok installed' >/dev/null || missing=\"$missing "
    "$p\"\n"
    "done\n"
    "[ -n \"$missing\" ] || exit 0\n"
    "echo \"installing$missing\"\n"
    "set -- -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Dpkg::Use-Pty=0\n"
    "apt-get \"$@\" -q update && apt-get \"$@\" -qq -o Dpkg::Options::=--force-confold install -y "
    "--no-install-recommends $missing\n";

void build_spec_packages(struct build_spec *sp, const char *packages)
{
	autobuf struct buf script = BUF_INIT(TEXT_MAX);
	struct str rest = { packages_script, sizeof packages_script - 1 }, before = str_cut(&rest, '%');

	buf_str(&script, before);
	buf_z(&script, packages);
	str_skip(&rest, 1); /* the s */
	buf_str(&script, rest);
	json_t *args = json_pack("[s,s]", buf_cstr(&script) ? buf_cstr(&script) : "", "root");

	(void)json_object_set_new(sp->body, "atoll packages", args); /* freed with the body */
	sp->steps = must_grow(sp->steps, (sp->n + 2) * sizeof *sp->steps);
	memmove(sp->steps + 1, sp->steps, sp->n * sizeof *sp->steps);
	sp->steps[0] = (struct build_step) { .type = STEP_RUN, .name = "RUN", .args = args, .is_ours = true };
	sp->n++;
}

size_t build_spec_ours(const struct build_spec *sp)
{
	return sp->n > 0 && sp->steps[0].is_ours;
}

void build_spec_done(struct build_spec *sp)
{
	json_decref(sp->body);
	free(sp->steps);
	*sp = (struct build_spec) { 0 };
}

/* --- steps -------------------------------------------------------------------------------------------------- */

const char *build_step_arg(const struct build_step *st, size_t i)
{
	const char *text = json_string_value(json_array_get(st->args, i));

	return text ? text : "";
}

static bool leaves_context(const char *path)
{
	struct str rest = str_of(path);

	if (path[0] == '/')
		return true;
	while (rest.p) {
		if (str_is(str_cut(&rest, '/'), ".."))
			return true;
	}
	return false;
}

static int check_copy(const struct build_step *st, struct err *e)
{
	if (!st->files_hash || strlen(st->files_hash) != UPLOAD_DIGITS ||
	    strspn(st->files_hash, "0123456789abcdef") != UPLOAD_DIGITS)
		return err_set(e, EINVAL,
		    "%s needs the files that were uploaded for it: 'filesHash' must be 64 hex digits", st->name);
	if (leaves_context(build_step_arg(st, 0)))
		return err_set(e, EINVAL, "%s of '%.200s': the path is outside of the context", st->name,
		    build_step_arg(st, 0));
	return 0;
}

static int check_env(const struct build_step *st, struct err *e)
{
	if (json_array_size(st->args) % 2)
		return err_set(e, EINVAL, "%s requires both a key and value arguments", st->name);
	for (size_t i = 0; i < json_array_size(st->args); i += 2) {
		const char *name = build_step_arg(st, i);

		if (!*name || strchr(name, '='))
			return err_set(e, EINVAL, "%s has a bad name '%.60s': it must not be empty or contain '='",
			    st->name, name);
	}
	return 0;
}

int build_step_check(const struct build_step *st, struct err *e)
{
	size_t n = json_array_size(st->args);

	if (st->type == STEP_UNKNOWN)
		return err_set(e, EINVAL, "command type %.40s is not implemented", st->name);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcasecmp(kinds[i].name, st->name) == 0 && (n < kinds[i].min || n > kinds[i].max))
			return err_set(e, EINVAL, "%s has %zu arguments, which is too %s", kinds[i].name, n,
			    n < kinds[i].min ? "few" : "many");
	}
	switch (st->type) {
	case STEP_COPY:
		return check_copy(st, e);
	case STEP_ENV:
		return check_env(st, e);
	default:
		return *build_step_arg(st, 0) ? 0 : err_set(e, EINVAL, "%s has an empty argument", st->name);
	}
}

bool build_step_has_layer(const struct build_step *st)
{
	return st->type != STEP_ENV;
}

void build_step_label(const struct build_step *st, struct buf *out)
{
	autobuf struct buf all = BUF_INIT(TEXT_MAX);
	const char *name = st->name;

	for (; *name; name++)
		buf_ch(&all, (char)toupper((unsigned char)*name));
	for (size_t i = 0; i < json_array_size(st->args); i++) {
		if (*build_step_arg(st, i))
			buf_fmt(&all, " %s", build_step_arg(st, i));
	}
	for (size_t i = 0; i < all.n && i < LABEL_MAX; i++)
		buf_ch(out, all.p[i] == '\n' || all.p[i] == '\r' ? ' ' : all.p[i]);
	if (all.n > LABEL_MAX)
		buf_z(out, "...");
}

/* --- keys --------------------------------------------------------------------------------------------------- */

static void put_part(struct buf *b, const char *text)
{
	buf_fmt(b, "%zu:", strlen(text)); /* the length prefix makes the encoding unambiguous */
	buf_z(b, text);
}

static void digest(const struct buf *b, char ret[LAYER_KEY_SIZE])
{
	uint8_t hash[SHA256_SIZE];

	sha256(buf_view(b), hash);
	for (size_t i = 0; i < sizeof hash; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", hash[i]);
}

void build_layer_key(const char *before, const struct build_step *st, char ret[LAYER_KEY_SIZE])
{
	autobuf struct buf b = BUF_INIT(SIZE_MAX / 2);

	put_part(&b, KEYS_VERSION);
	put_part(&b, before);
	if (st) {
		put_part(&b, type_name[st->type]);
		for (size_t i = 0; i < json_array_size(st->args); i++)
			put_part(&b, build_step_arg(st, i));
		put_part(&b, st->files_hash ? st->files_hash : "");
	}
	digest(&b, ret);
}

void build_final_key(const char *before, const struct build_spec *sp, uint32_t cpu_permille, uint64_t mem_bytes,
    char ret[LAYER_KEY_SIZE])
{
	autobuf struct buf b = BUF_INIT(SIZE_MAX / 2);
	char limits[64];

	(void)snprintf(limits, sizeof limits, "%u %llu", cpu_permille, (unsigned long long)mem_bytes);
	put_part(&b, KEYS_VERSION);
	put_part(&b, before);
	put_part(&b, "finalize");
	put_part(&b, sp->start_cmd);
	put_part(&b, sp->ready_cmd);
	put_part(&b, limits);
	digest(&b, ret);
}

/* --- variables and directories ------------------------------------------------------------------------------ */

static size_t name_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n > 0 && isdigit((unsigned char)p[0]) ? 0 : n;
}

static const char *value_of(const json_t *env, const char *name, size_t n)
{
	autofree char *z = str_dup((struct str) { name, n });

	return z ? json_string_value(json_object_get(env, z)) : NULL;
}

/* p is after "${". Expands the variable and returns the length including the '}'; 0: not a valid expansion. */
static size_t expand_braces(const char *p, const json_t *env, struct buf *out)
{
	size_t n = name_length(p);
	const char *value = n ? value_of(env, p, n) : NULL, *end = n ? strchr(p + n, '}') : NULL;

	if (!end)
		return 0;
	struct str rest = { p + n, (size_t)(end - (p + n)) };

	if (rest.n == 0)
		buf_z(out, value ? value : "");
	else if (str_starts(rest, ":-"))
		buf_str(out, value && *value ? str_of(value) : (struct str) { rest.p + 2, rest.n - 2 });
	else if (str_starts(rest, ":+"))
		buf_str(out, value && *value ? (struct str) { rest.p + 2, rest.n - 2 } : STR_NULL);
	else
		return 0;
	return (size_t)(end - p) + 1;
}

void build_expand(const char *text, const json_t *env, struct buf *out)
{
	for (const char *p = text; *p;) {
		size_t n;

		if (p[0] == '\\' && p[1] == '$') {
			buf_ch(out, '$');
			p += 2;
		} else if (p[0] == '$' && p[1] == '{' && (n = expand_braces(p + 2, env, out)) > 0) {
			p += 2 + n;
		} else if (p[0] == '$' && (n = name_length(p + 1)) > 0) {
			const char *value = value_of(env, p + 1, n);

			buf_z(out, value ? value : "");
			p += 1 + n;
		} else {
			buf_ch(out, *p++);
		}
	}
}

int build_apply_env(const struct build_step *st, json_t *env, const json_t *base_env, struct err *e)
{
	autojson json_t *all = json_copy((json_t *)base_env);

	(void)json_object_update(all, env);
	for (size_t i = 0; i + 1 < json_array_size(st->args); i += 2) {
		autobuf struct buf value = BUF_INIT(TEXT_MAX);

		build_expand(build_step_arg(st, i + 1), all, &value);
		if (value.bad || !buf_cstr(&value))
			return err_set(e, EINVAL, "the value of '%.60s' is longer than %d bytes", build_step_arg(st, i),
			    TEXT_MAX);
		/* visible from the next step on, as in Docker */
		(void)json_object_set_new(env, build_step_arg(st, i), json_string(buf_cstr(&value)));
	}
	return 0;
}

int build_join(const char *dir, const char *path, char ret[BUILD_DIR_SIZE])
{
	autobuf struct buf all = BUF_INIT(2 * BUILD_DIR_SIZE), out = BUF_INIT(BUILD_DIR_SIZE - 1);

	buf_fmt(&all, "%s/%s", path[0] == '/' ? "" : dir, path);
	struct str rest = buf_view(&all);

	while (rest.p) {
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || str_is(part, "."))
			continue;
		if (str_is(part, "..")) {
			while (out.n > 0 && out.p[--out.n] != '/')
				;
			continue;
		}
		buf_ch(&out, '/');
		buf_str(&out, part);
	}
	if (out.n == 0)
		buf_ch(&out, '/');
	return all.bad || !str_copy(ret, BUILD_DIR_SIZE, buf_view(&out)) || out.bad ? -ENAMETOOLONG : 0;
}
