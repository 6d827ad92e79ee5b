/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/build_spec: bodies of builds, keys of layers, variables, directories. */
#include "front/template/build_spec.h"
#include "unit.h"

#include <stdint.h>
#include <string.h>

#include <errno.h>

static struct build_spec sp;
static struct err e;

static int parse(const char *text)
{
	json_t *j = json_loads(text, 0, NULL);
	int r;

	assert_non_null(j);
	build_spec_done(&sp);
	e = ERR_INIT;
	r = build_spec_parse(j, &sp, &e);
	json_decref(j);
	return r;
}

static void refused(const char *text, const char *why)
{
	assert_int_equal(parse(text), -EINVAL);
	if (!strstr(e.text, why))
		fail_msg("'%s' does not say '%s'", e.text, why);
}

static void wrong_fields_are_named(void **state)
{
	(void)state;
	refused("{\"fromImage\":1}", "fromImage");
	refused("{\"fromImage\":\"a\",\"fromTemplate\":\"b\"}", "must not be given together");
	refused("{\"fromUpload\":\"/etc/passwd\"}", "fromUpload");
	refused("{\"fromUpload\":\"aa\",\"fromImage\":\"a\"}", "fromUpload");
	refused("{\"fromUploadImage\":\"a\"}", "fromUploadImage");
	refused("{\"fromUpload\":\"0000000000000000000000000000000000000000000000000000000000000000\","
		"\"fromUploadImage\":\"a b\"}",
	    "fromUploadImage");
	refused("{\"steps\":{}}", "steps");
	refused("{\"steps\":[1]}", "steps[0]");
	refused("{\"steps\":[{\"args\":[]}]}", "steps[0]");
	refused("{\"steps\":[{\"type\":\"RUN\",\"args\":[\"a\",2]}]}", "steps[0].args[1]");
	refused("{\"startCmd\":[]}", "startCmd");
	refused("{\"force\":\"yes\"}", "force");
}

static void without_a_base_it_is_the_usual_image(void **state)
{
	(void)state;
	assert_int_equal(parse("{}"), 0);
	assert_string_equal(sp.from_image, "e2bdev/base");
	assert_int_equal(sp.n, 0);
	assert_int_equal(parse("{\"fromTemplate\":\"base\",\"fromImage\":\"\"}"), 0);
	assert_null(sp.from_image);
}

static const char *wrong_step(const char *step)
{
	char text[1024];

	(void)snprintf(text, sizeof text, "{\"steps\":[%s]}", step);
	assert_int_equal(parse(text), 0);
	return build_step_check(&sp.steps[0], &e) == 0 ? "" : e.text;
}

static void what_is_wrong_with_a_step_is_told(void **state)
{
	(void)state;
	assert_string_equal(wrong_step("{\"type\":\"RUN\",\"args\":[\"ls\"]}"), "");
	assert_string_equal(wrong_step("{\"type\":\"run\",\"args\":[\"ls\",\"root\"]}"), "");
	assert_string_equal(wrong_step("{\"type\":\"FROBNICATE\",\"args\":[\"x\"]}"),
	    "command type FROBNICATE is not implemented");
	assert_non_null(strstr(wrong_step("{\"type\":\"RUN\"}"), "too few"));
	assert_non_null(strstr(wrong_step("{\"type\":\"WORKDIR\",\"args\":[\"a\",\"b\"]}"), "too many"));
	assert_non_null(strstr(wrong_step("{\"type\":\"ENV\",\"args\":[\"A\",\"1\",\"B\"]}"), "key and value"));
	assert_non_null(strstr(wrong_step("{\"type\":\"ENV\",\"args\":[\"A=B\",\"1\"]}"), "bad name"));
	assert_non_null(strstr(wrong_step("{\"type\":\"COPY\",\"args\":[\"a\",\"b\"]}"), "filesHash"));
	assert_non_null(strstr(wrong_step("{\"type\":\"COPY\",\"args\":[\"../a\",\"b\"],\"filesHash\":"
					  "\"0000000000000000000000000000000000000000000000000000000000000000\"}"),
	    "outside of the context"));
	assert_non_null(strstr(wrong_step("{\"type\":\"USER\",\"args\":[\"\"]}"), "empty"));
}

static void keys_follow_from_all_that_came_before(void **state)
{
	char base[LAYER_KEY_SIZE], a[LAYER_KEY_SIZE], b[LAYER_KEY_SIZE], c[LAYER_KEY_SIZE];

	(void)state;
	assert_int_equal(
	    parse("{\"steps\":[{\"type\":\"RUN\",\"args\":[\"ls\"]},{\"type\":\"RUN\",\"args\":[\"ls\",\"\"]},"
		  "{\"type\":\"COPY\",\"args\":[\"ls\"]},{\"type\":\"ADD\",\"args\":[\"ls\"]}]}"),
	    0);
	build_layer_key("base", NULL, base);
	assert_int_equal(strlen(base), 64);
	build_layer_key(base, &sp.steps[0], a);
	build_layer_key(base, &sp.steps[0], b);
	assert_string_equal(a, b);
	build_layer_key(a, &sp.steps[0], b);
	assert_string_not_equal(a, b);
	build_layer_key(base, &sp.steps[1], b);
	assert_string_not_equal(a, b);
	build_layer_key(base, &sp.steps[2], b);
	build_layer_key(base, &sp.steps[3], c);
	assert_string_equal(b, c); /* ADD is COPY */
	build_final_key(a, &sp, 1000, 1, b);
	build_final_key(a, &sp, 2000, 1, c);
	assert_string_not_equal(b, c);
}

static const char *expand(const char *text)
{
	static struct buf out;
	json_t *env = json_pack("{s:s,s:s,s:s}", "A", "1", "LONG_NAME", "two", "EMPTY", "");

	buf_done(&out);
	out = BUF_INIT(4096);
	build_expand(text, env, &out);
	json_decref(env);
	return buf_cstr(&out);
}

static void variables_are_expanded_and_nothing_is_run(void **state)
{
	(void)state;
	assert_string_equal(expand("x$A-${A}b$LONG_NAME."), "x1-1btwo.");
	assert_string_equal(expand("$NONE|${NONE}|${NONE:-other}|${A:-other}|${EMPTY:-other}"), "||other|1|other");
	assert_string_equal(expand("${A:+yes}${NONE:+no}"), "yes");
	assert_string_equal(expand("\\$A $ $$ $1 ${ ${A ${A!x}"), "$A $ $$ $1 ${ ${A ${A!x}");
	assert_string_equal(expand("$(id) `id`"), "$(id) `id`");
}

static void env_steps_see_the_ones_before_and_not_themselves(void **state)
{
	json_t *env = json_object(), *base = json_pack("{s:s}", "PATH", "/bin");

	(void)state;
	assert_int_equal(parse("{\"steps\":[{\"type\":\"ENV\",\"args\":[\"A\",\"1\",\"PATH\",\"/"
			       "opt:$PATH\"]},{\"type\":\"ENV\",\"args\":[\"A\",\"2\",\"B\",\"$A$A\"]}]}"),
	    0);
	assert_int_equal(build_apply_env(&sp.steps[0], env, base, &e), 0);
	assert_int_equal(build_apply_env(&sp.steps[1], env, base, &e), 0);
	assert_string_equal(json_string_value(json_object_get(env, "PATH")), "/opt:/bin");
	assert_string_equal(json_string_value(json_object_get(env, "A")), "2");
	assert_string_equal(json_string_value(json_object_get(env, "B")), "11");
	json_decref(env);
	json_decref(base);
}

static void directories_are_joined(void **state)
{
	static const char *const cases[][3] = {
		{ "/home/user", "app", "/home/user/app" },
		{ "/home/user", "/app/", "/app" },
		{ "/a/b", "../c/./d//e", "/a/c/d/e" },
		{ "/a", "../../..", "/" },
		{ "/", ".", "/" },
	};
	char dir[BUILD_DIR_SIZE], wide[BUILD_DIR_SIZE + 10];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(build_join(cases[i][0], cases[i][1], dir), 0);
		assert_string_equal(dir, cases[i][2]);
	}
	memset(wide, 'x', sizeof wide);
	wide[sizeof wide - 1] = '\0';
	assert_int_equal(build_join("/a", wide, dir), -ENAMETOOLONG);
}

static void labels_are_one_short_line(void **state)
{
	struct buf out = BUF_INIT(4096);

	(void)state;
	assert_int_equal(parse("{\"steps\":[{\"type\":\"run\",\"args\":[\"a\\nb\",\"\"]}]}"), 0);
	build_step_label(&sp.steps[0], &out);
	assert_string_equal(buf_cstr(&out), "RUN a b");
	buf_done(&out);
}

static int tear_down(void **state)
{
	(void)state;
	build_spec_done(&sp);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_fields_are_named),
		cmocka_unit_test(without_a_base_it_is_the_usual_image),
		cmocka_unit_test(what_is_wrong_with_a_step_is_told),
		cmocka_unit_test(keys_follow_from_all_that_came_before),
		cmocka_unit_test(variables_are_expanded_and_nothing_is_run),
		cmocka_unit_test(env_steps_see_the_ones_before_and_not_themselves),
		cmocka_unit_test(directories_are_joined),
		cmocka_unit_test(labels_are_one_short_line),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
