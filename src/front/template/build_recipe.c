/* SPDX-License-Identifier: Apache-2.0 */
/* front/template/build_recipe: a custom Debian system as the base of a build.
 *
 *	a sandbox of `base`: mmdebstrap --> archive --> atoll-pull --> an image
 *	a sandbox of that image: apt-get install --> a layer, the base of the build
 *
 * Both sandboxes have the limits of the template and a normal network. The host runs nothing of it, and unpacks
 * the archive in the jail for images. The layers of the minimal and of the full system are cached by the recipe,
 * the team and the key of `base`. */
#include <string.h>

#include "base/clock.h"
#include "front/account/accounts.h"
#include "front/link/links.h"
#include "front/link/saved.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/template.h"
#include "front/template/build_impl.h"
#include "front/template/builds.h"
#include "front/template/image.h"
#include "front/template/recipe.h"
#include "http/json.h"

/* Keys of the minimal system, which recipes share, and of the full one. */
static void make_keys(struct build *b, const struct recipe *r, const char *base_key)
{
	autobuf struct buf text = BUF_INIT(64 * 1024);

	buf_fmt(&text, "recipe %s %s %s %s", b->row.team, base_key, r->suite, r->components);
	build_layer_key(buf_cstr(&text), NULL, b->recipe.system_key);
	b->recipe.n_packages = json_array_size(r->packages);
	for (size_t i = 0; i < b->recipe.n_packages; i++)
		buf_fmt(&text, ",%s", json_string_value(json_array_get(r->packages, i)));
	build_layer_key(buf_cstr(&text), NULL, b->recipe.key);
}

/* Ends the sandbox and clears the facts that it has reported. */
static void end_box(struct build *b)
{
	build_box_end(b);
	json_decref(b->base_env);
	json_decref(b->homes);
	b->base_env = b->homes = NULL;
	(void)json_object_clear(b->env);
	b->user[0] = b->workdir[0] = '\0';
}

static void use(struct build *b, const struct layer_row *row)
{
	memcpy(b->base_key, row->base_key, sizeof b->base_key);
	memcpy(b->base_from, row->kept, sizeof b->base_from);
	b->fresh = false;
	build_base_ready(b);
}

/* --- a script in the sandbox ------------------------------------------------------------------------------------ */

static void on_output(void *user, bool is_stderr, struct str data)
{
	build_output(user, is_stderr, data);
}

/* Returns false if it has failed; then the build has failed as well. */
static bool went_well(struct build *b, const char *what, const struct run_end *end)
{
	b->run = NULL;
	build_output_end(b);
	if (!end->no && !end->refused && end->code == 0)
		return true;
	build_fail(b, "the recipe '%.200s': %s: %s; see the log", b->spec.from_image, what, end->text);
	return false;
}

static void run(struct build *b, json_t *args, const struct run_ops *ops)
{
	autojson json_t *own = args;
	struct run_spec sp = { .id = b->box.id,
		.request = "",
		.as_user = "root",
		.cmd = "/bin/bash",
		.args = own,
		.cwd = "/" };

	b->run = init_run_new(b->bs->link, &sp, ops, b);
}

/* --- the packages ----------------------------------------------------------------------------------------------- */

/* Records the saved state as a layer. Returns 1 if another build was faster: its layer is used, because others may
 * be based on it already. Returns 0 if ours is used, or -errno; then b has been freed. */
static int note_layer(struct build *b, const char *key, const char *name, uint32_t what, struct layer_row *ret)
{
	struct layer_row row = { .what = what,
		.bytes = b->disk_bytes,
		.created_ms = clock_wall_ms(),
		.used_ms = clock_wall_ms() },
			 old;
	struct err e = ERR_INIT;
	bool had = layers_find(b->bs->link->store, key, clock_wall_ms(), &old, &e) == 0;

	if (had && !b->spec.force) {
		*ret = old;
		return 1;
	}
	memcpy(row.key, key, sizeof row.key);
	memcpy(row.base_key, b->base_key, sizeof row.base_key);
	memcpy(row.kept, name, sizeof row.kept);
	if (layers_put(b->bs->link->store, &row, &e) < 0) {
		build_fail(b, "%s", e.text);
		return -e.no;
	}
	b->save.name[0] = '\0';
	if (had)
		build_release(b->bs, old.kept);
	*ret = row;
	return 0;
}

static void on_saved(struct build *b, const char *name, uint32_t what)
{
	struct layer_row row;

	if (note_layer(b, b->recipe.key, name, what, &row) < 0)
		return;
	end_box(b);
	use(b, &row);
}

static void on_installed(void *user, const struct run_end *end)
{
	struct build *b = user;

	if (went_well(b, "its packages could not be installed", end))
		build_box_save(b, false, on_saved);
}

static const struct run_ops install_ops = { .on_output = on_output, .on_end = on_installed };

static void install(struct build *b)
{
	struct recipe r;
	struct err e = ERR_INIT;

	if (recipe_read(b->spec.from_image, &r, &e) < 0) {
		build_fail(b, "%s", e.text);
		return;
	}
	build_log(b, "info", "[base] installing packages: %zu", b->recipe.n_packages);
	run(b, recipe_install(&r), &install_ops);
	recipe_done(&r);
}

/* --- the minimal system ----------------------------------------------------------------------------------------- */

static void on_system_saved(struct build *b, const char *name, uint32_t what)
{
	struct layer_row row;

	if (b->recipe.n_packages == 0) {
		on_saved(b, name, what);
		return;
	}
	int r = note_layer(b, b->recipe.system_key, name, what, &row);

	if (r == 1) { /* our saved state is not needed */
		saved_delete(b->bs->link, b->save.name);
		b->save.name[0] = '\0';
	}
	if (r >= 0)
		install(b);
}

static void on_second_box(struct build *b)
{
	build_box_save(b, false, on_system_saved);
}

static void on_image(void *user, const struct image_result *re)
{
	struct build *b = user;

	b->image = NULL;
	if (re->no) {
		build_fail(b, "%s", re->text);
		return;
	}
	end_box(b);
	memcpy(b->base_key, re->key, sizeof b->base_key);
	b->fresh = true;
	build_box_start(b, on_second_box);
}

static void on_image_line(void *user, const char *line)
{
	build_log(user, "info", "[base] %s", line);
}

static void on_bootstrapped(void *user, const struct run_end *end)
{
	struct build *b = user;
	const struct image_source from = { .ref = b->spec.from_image, .box = b->box.id, .path = RECIPE_ARCHIVE };

	if (went_well(b, "mmdebstrap could not make it", end))
		b->image = image_get(b->bs, &from, on_image_line, on_image, b);
}

static const struct run_ops bootstrap_ops = { .on_output = on_output, .on_end = on_bootstrapped };

static void on_first_box(struct build *b)
{
	struct recipe r;
	struct err e = ERR_INIT;

	if (recipe_read(b->spec.from_image, &r, &e) < 0) {
		build_fail(b, "%s", e.text);
		return;
	}
	build_log(b, "info", "[base] making a Debian %s (%s) in a sandbox", r.suite, r.components);
	run(b, recipe_bootstrap(&r), &bootstrap_ops);
	recipe_done(&r);
}

void build_recipe(struct build *b)
{
	const struct template *base = NULL;
	struct layer_row row;
	struct recipe r = { 0 };
	struct err e = ERR_INIT;

	build_log(b, "info", "[base] FROM %s", b->spec.from_image);
	if (recipe_read(b->spec.from_image, &r, &e) < 0 ||
	    templates_find(&b->bs->sandbox->templates, STR_LIT("base"), &base, &e) < 0) {
		recipe_done(&r);
		build_fail(b, "the recipe '%.200s': %s", b->spec.from_image, e.text);
		return;
	}
	make_keys(b, &r, base->key);
	recipe_done(&r);
	(void)str_copy(b->label, sizeof b->label, STR_LIT("base"));
	if (!b->spec.force && layers_find(b->bs->link->store, b->recipe.key, clock_wall_ms(), &row, &e) == 0) {
		build_log(b, "info", "CACHED [base] %s", b->spec.from_image);
		use(b, &row);
	} else if (!b->spec.force &&
	    layers_find(b->bs->link->store, b->recipe.system_key, clock_wall_ms(), &row, &e) == 0) {
		build_log(b, "info", "CACHED [base] the bare system");
		memcpy(b->base_key, row.base_key, sizeof b->base_key);
		memcpy(b->from, row.kept, sizeof b->from);
		build_box_start(b, install);
	} else {
		memcpy(b->base_key, base->key, sizeof b->base_key);
		build_box_start(b, on_first_box);
	}
}
