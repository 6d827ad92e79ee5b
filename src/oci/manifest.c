/* SPDX-License-Identifier: Apache-2.0 */
/* oci/manifest: strict parsing of untrusted documents, with descriptive errors. */
#include "oci/manifest.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "http/json.h"

#define NAMES_MAX 110 /* length of the list of names in an error */
#define MORE "..."
#define INDEX_ENTRIES_MAX 1024
#define TEXT_MAX 32768 /* length of one string in a configuration */

static const char *const index_types[] = {
	"application/vnd.oci.image.index.v1+json",
	"application/vnd.docker.distribution.manifest.list.v2+json",
	NULL,
};
static const char *const image_types[] = {
	"application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.v2+json",
	NULL,
};
static const char *const layer_types[] = {
	"application/vnd.oci.image.layer.v1.tar",
	"application/vnd.oci.image.layer.v1.tar+gzip",
	"application/vnd.oci.image.layer.v1.tar+zstd",
	"application/vnd.docker.image.rootfs.diff.tar",
	"application/vnd.docker.image.rootfs.diff.tar.gzip",
	"application/vnd.docker.image.rootfs.diff.tar.zstd",
	NULL,
};

static bool is_one_of(const char *s, const char *const *list)
{
	for (; *list; list++) {
		if (strcmp(s, *list) == 0)
			return true;
	}
	return false;
}

static int load(struct str text, const char *what, json_t **ret, struct err *e)
{
	json_error_t why;

	if (text.n > MANIFEST_TEXT_MAX)
		return err_set(e, EFBIG, "%s is larger than %u bytes", what, MANIFEST_TEXT_MAX);
	json_t *j = json_loadb(text.n ? text.p : "", text.n, JSON_REJECT_DUPLICATES, &why);

	if (!j)
		return err_set(e, EBADMSG, "%s is not valid JSON: %s at byte %d", what, why.text, why.position);
	if (!json_is_object(j)) {
		json_decref(j);
		return err_set(e, EBADMSG, "%s is not a JSON object", what);
	}
	*ret = j;
	return 0;
}

/* A descriptor: mediaType, digest, size. */
static int read_blob(const json_t *o, const char *what, struct blob *ret, const char **ret_type, struct err *e)
{
	const char *digest = NULL, *type = "";
	int64_t size = -1;

	if (!json_is_object(o))
		return err_set(e, EBADMSG, "%s is not an object", what);
	if (json_get_str(o, "mediaType", &type, e) < 0 || json_need_str(o, "digest", &digest, e) < 0 ||
	    json_get_int(o, "size", 0, INT64_MAX / 4, &size, e) < 0 ||
	    digest_parse(str_of(digest), &ret->digest, e) < 0) {
		e->no = EBADMSG;
		return err_wrap(e, "%s", what);
	}
	if (size < 0)
		return err_set(e, EBADMSG, "%s has no size", what);
	ret->size = (uint64_t)size;
	*ret_type = type;
	return 0;
}

int manifest_kind(struct str text, enum manifest_kind *ret, struct err *e)
{
	autojson json_t *j = NULL;

	if (load(text, "the manifest", &j, e) < 0)
		return -e->no;
	const char *type = json_string_value(json_object_get(j, "mediaType"));
	json_int_t version = json_integer_value(json_object_get(j, "schemaVersion"));
	bool lists = json_is_array(json_object_get(j, "manifests")),
	     layered = json_is_array(json_object_get(j, "layers"));

	if (version == 1)
		return err_set(e, ENOTSUP, "the image has a manifest of schema 1, which is out of use since 2016");
	if (version != 2)
		return err_set(e, EBADMSG, "the manifest has no schemaVersion 2");
	if (lists == layered)
		return err_set(e, EBADMSG, "the manifest has %s",
		    lists ? "both manifests and layers" : "neither manifests nor layers");
	/* A document of both forms could be different images to different readers. */
	if (type && !is_one_of(type, lists ? index_types : image_types))
		return err_set(e, ENOTSUP, "manifests of type '%.80s' are not supported", type);
	*ret = lists ? MANIFEST_INDEX : MANIFEST_IMAGE;
	return 0;
}

struct platform platform_here(void)
{
	static struct utsname u;
	struct platform p = { .os = "linux", .arch = "amd64" };

	if (uname(&u) < 0 || strcmp(u.machine, "x86_64") == 0)
		return p;
	p.arch = strcmp(u.machine, "aarch64") == 0 ? "arm64" : u.machine;
	return p;
}

static const char *text_of(const json_t *o, const char *field)
{
	const char *z = json_string_value(json_object_get(o, field));

	return z ? z : "";
}

static bool fits(const json_t *platform, const struct platform *want)
{
	const char *variant = text_of(platform, "variant");

	return strcmp(text_of(platform, "os"), want->os) == 0 &&
	    strcmp(text_of(platform, "architecture"), want->arch) == 0 &&
	    (!want->variant || !*variant || strcmp(variant, want->variant) == 0);
}

static const char *name_of(const json_t *entry)
{
	return text_of(json_object_get(entry, "annotations"), "org.opencontainers.image.ref.name");
}

static bool has_name(const json_t *entry, const char *tag)
{
	const char *name = name_of(entry), *colon = strrchr(name, ':');

	return strcmp(name, tag) == 0 || (colon && strcmp(colon + 1, tag) == 0);
}

/* "one, app:2": the names of the images in a layout. */
static void put_names(struct buf *out, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = name_of(json_array_get(list, i));

		manifest_put_name(out, name);
	}
}

void manifest_put_name(struct buf *out, const char *name)
{
	if (!*name || (out->n && str_ends(buf_view(out), MORE)))
		return;
	if (out->n + strlen(name) > NAMES_MAX)
		buf_fmt(out, "%s%s", out->n ? ", " : "", MORE);
	else
		buf_fmt(out, "%s%s", out->n ? ", " : "", name);
}

/* "linux/arm64, linux/s390x": the platforms in an index. */
static void put_offers(struct buf *out, const json_t *list)
{
	size_t i;
	json_t *entry;

	json_array_foreach(list, i, entry)
	{
		const json_t *p = json_object_get(entry, "platform");

		if (p && *text_of(p, "os") && out->n < 100)
			buf_fmt(out, "%s%.16s/%.16s", out->n ? ", " : "", text_of(p, "os"), text_of(p, "architecture"));
	}
}

int manifest_choose(struct str index, const struct platform *want, const char *tag, struct blob *ret, struct err *e)
{
	autojson json_t *j = NULL;
	const json_t *found = NULL, *bare = NULL, *entry;
	autobuf struct buf offers = BUF_INIT(256), names = BUF_INIT(256);
	unsigned n_bare = 0, n_others = 0;
	const char *type;

	if (load(index, "the index", &j, e) < 0)
		return -e->no;
	const json_t *list = json_object_get(j, "manifests");
	if (json_array_size(list) > INDEX_ENTRIES_MAX)
		return err_set(e, EFBIG, "the index has more than %d entries", INDEX_ENTRIES_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		entry = json_array_get(list, i);
		if (tag && !has_name(entry, tag))
			continue;
		if (!json_object_get(entry, "platform")) {
			bare = entry;
			n_bare++;
		} else if (fits(json_object_get(entry, "platform"), want)) {
			n_others += found && strcmp(name_of(found), name_of(entry)) != 0;
			found = found ? found : entry;
		}
	}
	put_names(&names, list);
	if (n_others > 0)
		return err_set(e, EINVAL, "there are several images in it, say which one: %s", buf_cstr(&names));
	if (!found && n_bare == 1) /* usual in layouts: the image's configuration names its platform */
		found = bare;
	if (found)
		return read_blob(found, "an entry of the index", ret, &type, e);
	if (n_bare > 1)
		return err_set(e, EINVAL, "there are %u images in it, say which one: %s", n_bare,
		    names.n ? buf_cstr(&names) : "they have no names");
	if (tag && names.n)
		return err_set(e, ENOENT, "no image '%.60s' in it; there is: %s", tag, buf_cstr(&names));
	put_offers(&offers, list);
	return err_set(e, ENOENT, "no image for %s/%s in the index%s%s%s", want->os, want->arch,
	    tag ? " with that tag" : "", offers.n ? "; there is: " : "", offers.n ? buf_cstr(&offers) : "");
}

static int read_layer(const json_t *o, size_t i, struct blob *ret, struct err *e)
{
	char what[32];
	const char *type;

	(void)snprintf(what, sizeof what, "layer %zu", i + 1);
	if (read_blob(o, what, ret, &type, e) < 0)
		return -e->no;
	if (strstr(type, "nondistributable") || strstr(type, "foreign") ||
	    json_array_size(json_object_get(o, "urls")) > 0)
		return err_set(e, ENOTSUP, "layer %zu lies elsewhere (a foreign layer): not supported", i + 1);
	if (!is_one_of(type, layer_types))
		return err_set(e, ENOTSUP, "layer %zu has the type '%.80s': this is not an image of files", i + 1,
		    type);
	return 0;
}

int manifest_read(struct str text, struct manifest *ret, struct err *e)
{
	autojson json_t *j = NULL;
	const char *type;
	enum manifest_kind kind;

	if (manifest_kind(text, &kind, e) < 0)
		return -e->no;
	if (kind != MANIFEST_IMAGE)
		return err_set(e, EBADMSG, "an index stands where a manifest should be");
	if (load(text, "the manifest", &j, e) < 0 ||
	    read_blob(json_object_get(j, "config"), "the configuration", &ret->config, &type, e) < 0)
		return -e->no;
	const json_t *layers = json_object_get(j, "layers");
	if (json_array_size(layers) > MANIFEST_LAYERS_MAX)
		return err_set(e, EFBIG, "the image has %zu layers, %d is the most", json_array_size(layers),
		    MANIFEST_LAYERS_MAX);
	if (ret->config.size > MANIFEST_TEXT_MAX)
		return err_set(e, EFBIG, "the configuration is larger than %u bytes", MANIFEST_TEXT_MAX);
	ret->n_layers = (uint32_t)json_array_size(layers);
	for (size_t i = 0; i < ret->n_layers; i++) {
		if (read_layer(json_array_get(layers, i), i, &ret->layers[i], e) < 0)
			return -e->no;
	}
	return 0;
}

/* --- the configuration --- */

enum shape { SHAPE_TEXT, SHAPE_LIST, SHAPE_SET, SHAPE_MAP };

static bool text_ok(const json_t *j)
{
	return json_is_string(j) && json_string_length(j) <= TEXT_MAX &&
	    !memchr(json_string_value(j), '\0', json_string_length(j));
}

static bool shape_ok(json_t *j, enum shape shape)
{
	const char *key;
	json_t *v;
	size_t i;

	if (shape == SHAPE_TEXT)
		return text_ok(j);
	if (shape == SHAPE_LIST) {
		json_array_foreach(j, i, v)
		{
			if (!text_ok(v))
				return false;
		}
		return json_is_array(j);
	}
	json_object_foreach(j, key, v)
	{
		if (shape == SHAPE_MAP && !text_ok(v))
			return false;
	}
	return json_is_object(j);
}

/* Copies the fields that are used here, after checking their types. */
static int pick(const json_t *from, json_t *to, struct err *e)
{
	static const struct {
		const char *name;
		enum shape shape;
	} fields[] = {
		{ "Env", SHAPE_LIST },
		{ "Cmd", SHAPE_LIST },
		{ "Entrypoint", SHAPE_LIST },
		{ "WorkingDir", SHAPE_TEXT },
		{ "User", SHAPE_TEXT },
		{ "ExposedPorts", SHAPE_SET },
		{ "Labels", SHAPE_MAP },
		{ "OnBuild", SHAPE_LIST },
	};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		json_t *v = json_object_get(from, fields[i].name);

		if (!v || json_is_null(v))
			continue;
		if (!shape_ok(v, fields[i].shape))
			return err_set(e, EBADMSG, "the configuration's %s has not the shape it should have",
			    fields[i].name);
		if (json_object_set(to, fields[i].name, v) < 0)
			return err_set(e, ENOMEM, "read the configuration: out of memory");
	}
	return 0;
}

static int read_diff_ids(const json_t *j, struct image_config *c, struct err *e)
{
	const json_t *ids = json_object_get(json_object_get(j, "rootfs"), "diff_ids");

	if (!json_is_array(ids))
		return err_set(e, EBADMSG, "the configuration has no rootfs.diff_ids");
	if (json_array_size(ids) > MANIFEST_LAYERS_MAX)
		return err_set(e, EFBIG, "the configuration has more than %d diff_ids", MANIFEST_LAYERS_MAX);
	c->n_diff_ids = (uint32_t)json_array_size(ids);
	for (size_t i = 0; i < c->n_diff_ids; i++) {
		const char *z = json_string_value(json_array_get(ids, i));

		if (digest_parse(str_of(z ? z : ""), &c->diff_ids[i], e) < 0) {
			e->no = EBADMSG;
			return err_wrap(e, "the configuration's diff_id %zu", i + 1);
		}
	}
	return 0;
}

int image_config_read(struct str text, const struct platform *want, struct image_config *ret, struct err *e)
{
	autojson json_t *j = NULL, *run = json_object();
	struct image_config c = { 0 };

	if (!run)
		return err_set(e, ENOMEM, "read the configuration: out of memory");
	if (load(text, "the configuration", &j, e) < 0)
		return -e->no;
	const char *os = text_of(j, "os"), *arch = text_of(j, "architecture");
	if ((*os && strcmp(os, want->os) != 0) || (*arch && strcmp(arch, want->arch) != 0))
		return err_set(e, ENOEXEC, "the image is for %.16s/%.16s, this machine is %s/%s", os, arch, want->os,
		    want->arch);
	if (read_diff_ids(j, &c, e) < 0 || pick(json_object_get(j, "config"), run, e) < 0)
		return -e->no;
	c.run = run;
	run = NULL;
	*ret = c;
	return 0;
}

void image_config_done(struct image_config *c)
{
	json_decref(c->run);
	c->run = NULL;
}
