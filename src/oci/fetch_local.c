/* SPDX-License-Identifier: Apache-2.0 */
/* oci/fetch_local: images in a file or directory: OCI layouts, archives of `docker save`, root file systems. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/json.h"
#include "oci/bundle.h"
#include "oci/pull.h"

#define INDEX_DEPTH_MAX 3
#define PIECE (256u << 10)

/* The files of the plan's layers; one image per process. */
static struct bundle *bundle;
static struct bundle_file files[MANIFEST_LAYERS_MAX];

static void blob_name(const struct digest *d, char out[DIGEST_HEX_SIZE + 16])
{
	memcpy(out, "blobs/sha256/", 13);
	digest_hex(d, out + 13);
}

static int blob_text(const struct blob *b, const char *what, struct buf *ret, struct err *e)
{
	char name[DIGEST_HEX_SIZE + 16];
	struct digest got;

	blob_name(&b->digest, name);
	if (bundle_text(bundle, name, ret, e) < 0)
		return -e->no;
	digest_of(buf_view(ret), &got);
	if (ret->n != b->size || !digest_eq(&got, &b->digest))
		return err_set(e, EBADMSG, "digest mismatch: the %s is not what its digest says", what);
	return 0;
}

static int note_layer(struct fetch_plan *p, uint32_t i, const struct blob *b, const struct digest *diff, struct err *e)
{
	char name[DIGEST_HEX_SIZE + 16];

	blob_name(&b->digest, name);
	if (bundle_find(bundle, name, &files[i], e) < 0)
		return -e->no;
	if (files[i].size != b->size)
		return err_set(e, EBADMSG, "layer %u has %llu bytes, not the %llu that were announced", i + 1,
		    (unsigned long long)files[i].size, (unsigned long long)b->size);
	p->layer[i] = (struct plan_layer) { .blob = *b, .diff_id = *diff, .blob_known = true, .diff_known = true };
	return 0;
}

static int plan_layout(const struct pull_spec *sp, struct fetch_plan *p, struct image_config *c, struct err *e)
{
	autobuf struct buf text = BUF_INIT(MANIFEST_TEXT_MAX);
	enum manifest_kind kind = MANIFEST_INDEX;
	static struct manifest m;
	struct blob b;

	if (bundle_text(bundle, "index.json", &text, e) < 0)
		return -e->no;
	for (unsigned depth = 0; kind == MANIFEST_INDEX; depth++) {
		if (depth == INDEX_DEPTH_MAX)
			return err_set(e, ELOOP, "an index leads to an index more than %d times", INDEX_DEPTH_MAX);
		if (manifest_choose(buf_view(&text), &sp->platform, depth == 0 && sp->tag[0] ? sp->tag : NULL, &b, e) <
			0 ||
		    blob_text(&b, "manifest", &text, e) < 0 || manifest_kind(buf_view(&text), &kind, e) < 0)
			return -e->no;
	}
	p->manifest = b.digest;
	if (manifest_read(buf_view(&text), &m, e) < 0 || blob_text(&m.config, "configuration", &text, e) < 0 ||
	    image_config_read(buf_view(&text), &sp->platform, c, e) < 0)
		return -e->no;
	if (c->n_diff_ids != m.n_layers)
		return err_set(e, EBADMSG, "the image has %u layers, but its configuration speaks of %u", m.n_layers,
		    c->n_diff_ids);
	p->n_layers = m.n_layers;
	for (uint32_t i = 0; i < m.n_layers; i++) {
		if (note_layer(p, i, &m.layers[i], &c->diff_ids[i], e) < 0)
			return -e->no;
	}
	return 0;
}

/* --- docker save --- */

static bool has_tag(const json_t *image, const char *tag)
{
	const json_t *tags = json_object_get(image, "RepoTags"), *t;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)tags, i, t)
	{
		const char *z = json_string_value(t), *colon = z ? strrchr(z, ':') : NULL;

		if (z && (strcmp(z, tag) == 0 || (colon && strcmp(colon + 1, tag) == 0)))
			return true;
	}
	return false;
}

static const json_t *choose_saved(const json_t *list, const char *tag, struct err *e)
{
	const json_t *found = NULL;
	autobuf struct buf names = BUF_INIT(256);
	size_t n = 0, k;
	json_t *t;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *image = json_array_get(list, i);

		json_array_foreach(json_object_get(image, "RepoTags"), k, t)
		    manifest_put_name(&names, json_string_value(t) ? json_string_value(t) : "");
		if (*tag && !has_tag(image, tag))
			continue;
		found = image;
		n++;
	}
	if (n == 1)
		return found;
	if (names.n == 0)
		buf_z(&names, "they have no names");
	if (n)
		(void)err_set(e, EINVAL, "there are %zu images in the archive, say which one: %s", n, buf_cstr(&names));
	else
		(void)err_set(e, ENOENT, "no image '%.60s' in the archive; there is: %s", tag, buf_cstr(&names));
	return NULL;
}

static int plan_saved(const struct pull_spec *sp, struct fetch_plan *p, struct image_config *c, struct err *e)
{
	autobuf struct buf text = BUF_INIT(MANIFEST_TEXT_MAX);
	const char *config = NULL;

	if (bundle_text(bundle, "manifest.json", &text, e) < 0)
		return -e->no;
	digest_of(buf_view(&text), &p->manifest);
	autojson json_t *list = json_loadb(text.n ? text.p : "", text.n, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_array(list))
		return err_set(e, EBADMSG, "manifest.json of the archive is not a list");
	const json_t *image = choose_saved(list, sp->tag, e);
	if (!image)
		return -e->no;
	const json_t *layers = json_object_get(image, "Layers");
	if (json_need_str(image, "Config", &config, e) < 0 || bundle_text(bundle, config, &text, e) < 0 ||
	    image_config_read(buf_view(&text), &sp->platform, c, e) < 0)
		return err_wrap(e, "manifest.json of the archive");
	if (!json_is_array(layers) || json_array_size(layers) != c->n_diff_ids)
		return err_set(e, EBADMSG, "the image has %zu layers, but its configuration speaks of %u",
		    json_array_size(layers), c->n_diff_ids);
	p->n_layers = c->n_diff_ids;
	for (uint32_t i = 0; i < p->n_layers; i++) {
		const char *name = json_string_value(json_array_get(layers, i));

		if (!name || bundle_find(bundle, name, &files[i], e) < 0)
			return name ? -e->no
				    : err_set(e, EBADMSG, "manifest.json of the archive has a layer without a name");
		/* Layers have no digest of their own in this format; only their uncompressed content has. */
		p->layer[i] = (struct plan_layer) { .blob = { .size = files[i].size },
			.diff_id = c->diff_ids[i],
			.diff_known = true };
	}
	return 0;
}

/* --- */

static int plan_plain(struct pull_spec *sp, struct fetch_plan *p, struct err *e)
{
	int fd = dup(sp->source_fd);

	if (fd < 0)
		return err_sys(e, "open the archive again");
	off_t size = sp->source == PULL_STREAM ? 0 : lseek(fd, 0, SEEK_END);
	files[0] = (struct bundle_file) { .fd = fd, .size = size < 0 ? 0 : (uint64_t)size };
	p->n_layers = 1;
	p->layer[0] = (struct plan_layer) { .blob = { .size = files[0].size } };
	return 0;
}

int fetch_local_plan(struct pull_spec *sp, struct fetch_plan *ret, struct image_config *ret_config, struct err *e)
{
	int rc = sp->source == PULL_LAYOUT ? bundle_open_dir(sp->source_fd, &bundle, e)
	    : sp->source == PULL_ARCHIVE   ? bundle_open_tar(sp->source_fd, &bundle, e)
					   : 0;

	if (rc < 0)
		return rc;
	if (sp->source == PULL_STREAM || bundle_is_plain(bundle))
		return plan_plain(sp, ret, e);
	if (bundle_has(bundle, "index.json"))
		return plan_layout(sp, ret, ret_config, e);
	return plan_saved(sp, ret, ret_config, e);
}

int fetch_local_layer(struct pull_spec *sp, uint32_t i, const struct fetch_plan *plan, int fd, struct err *e)
{
	autofree char *piece = malloc(PIECE);
	const struct bundle_file *f = &files[i];
	uint64_t done = 0;

	(void)plan;
	if (!piece)
		return err_set(e, ENOMEM, "out of memory");
	for (;;) {
		size_t want = sp->source == PULL_STREAM || f->size - done > PIECE ? PIECE : (size_t)(f->size - done);
		ssize_t n = want == 0           ? 0
		    : sp->source == PULL_STREAM ? read(f->fd, piece, want)
						: pread(f->fd, piece, want, (off_t)(f->at + done));

		if (n < 0)
			return err_sys(e, "read a layer");
		if (n == 0)
			return sp->source == PULL_STREAM || done == f->size
			    ? 0
			    : err_set(e, EBADMSG, "the archive is cut off");
		int rc = fd_write_all(fd, piece, (size_t)n);
		if (rc < 0)
			return err_set(e, -rc, "pass on a layer: %s", strerror(-rc));
		done += (uint64_t)n;
	}
}
