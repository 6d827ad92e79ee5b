/* SPDX-License-Identifier: Apache-2.0 */
/* front/image: names of images that stand for templates of the server. */
#include "front/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "front/front.h"
#include "front/mem.h"
#include "front/template.h"
#include "loop/loop.h"

struct image_call {
	struct front *front;
	char *ref;
	struct timer *timer;
	void (*fn)(void *user, const struct image_result *re);
	void *user;
};

void image_cancel(struct image_call *c)
{
	if (!c)
		return;
	timer_free(c->timer);
	free(c->ref);
	free(c);
}

/* "docker.io/library/ubuntu:latest" is "ubuntu". */
static struct str plain_name(const char *ref)
{
	static const char *const heads[] = { "docker.io/", "index.docker.io/", "library/" };
	struct str s = str_of(ref);

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		if (str_starts(s, heads[i]))
			str_skip(&s, strlen(heads[i]));
	}
	if (str_ends(s, ":latest"))
		s.n -= strlen(":latest");
	return s;
}

/* "NAME=TEMPLATE,NAME=TEMPLATE" */
static bool find_mapped(const char *map, struct str name, struct str *ret)
{
	struct str rest = str_of(map ? map : "");

	while (rest.p && rest.n) {
		struct str to = str_cut(&rest, ',');
		struct str from = str_trim(str_cut(&to, '='));

		if (to.p && str_eq(from, name)) {
			*ret = str_trim(to);
			return true;
		}
	}
	return false;
}

static void answer(void *user)
{
	struct image_call c = *(struct image_call *)user;
	struct image_result re = { .no = ENOENT };
	const struct template *tp = NULL;
	struct str name;
	struct err e = ERR_INIT;

	if (!find_mapped(c.front->opt.image_map, plain_name(c.ref), &name))
		(void)err_set(&e, ENOENT, "image '%.200s' is not known here: the setting 'image_map' has no template for it", c.ref);
	else
		(void)templates_find(&c.front->templates, name, &tp, &e);
	if (tp) {
		re.no = 0;
		memcpy(re.key, tp->key, sizeof re.key);
	}
	re.text = e.text;
	struct image_call *old = user;

	old->ref = NULL;
	image_cancel(old);
	c.fn(c.user, &re);
	free(c.ref);
}

struct image_call *image_get(struct front *f, const char *ref, const json_t *registry, const char *team,
	void (*log)(void *user, const char *line), void (*fn)(void *user, const struct image_result *re), void *user)
{
	struct image_call *c = must_alloc(sizeof *c);

	(void)registry, (void)team, (void)log;
	*c = (struct image_call) { .front = f, .ref = must_dup(ref), .fn = fn, .user = user };
	c->timer = timer_new(f->loop, answer, c);
	timer_arm(c->timer, 0);
	return c;
}
