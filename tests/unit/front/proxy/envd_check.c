/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/envd_check: who may call envd, and with what. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>

#include "base/buf.h"
#include "front/proxy/envd_check.h"
#include "front/util/token.h"
#include "http/url.h"
#include "unit.h"

#define TOKEN "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"
#define NOW 1000

static const char *message;

static int check(const char *method, const char *path, const char *query, const char *shown)
{
	message = "";
	return envd_check(str_of(method), str_of(path), str_of(query), str_of(shown), TOKEN, NOW, &message);
}

/* A query for hello.txt with a signature of that operation. */
static const char *signed_query(const char *op, const char *expiry)
{
	static struct buf q;
	char sig[SIGNATURE_SIZE];

	buf_done(&q);
	q = BUF_INIT(1024);
	signature_make(STR_LIT("a b.txt"), op, STR_LIT("user"), STR_LIT(TOKEN), str_of(expiry), sig);
	buf_z(&q, "path=a+b.txt&username=user&signature=");
	url_encode(&q, str_of(sig));
	if (expiry)
		buf_fmt(&q, "&signature_expiration=%s", expiry);
	return buf_cstr(&q);
}

static void without_a_token_all_is_open(void **state)
{
	(void)state;
	assert_int_equal(envd_check(STR_LIT("POST"), STR_LIT("/x"), STR_NULL, STR_NULL, "", NOW, &message), 0);
	assert_int_equal(envd_check(STR_LIT("GET"), STR_LIT("/files"), STR_NULL, STR_NULL, "", NOW, &message), 0);
}

static void the_token_is_demanded_but_for_health(void **state)
{
	(void)state;
	assert_int_equal(check("GET", "/health", "", NULL), 0);
	assert_int_equal(check("POST", "/health", "", NULL), -EACCES);
	assert_int_equal(check("GET", "/health/", "", NULL), -EACCES);
	assert_int_equal(check("POST", "/process.Process/List", "", NULL), -EACCES);
	assert_int_equal(check("POST", "/process.Process/List", "", "x" TOKEN), -EACCES);
	assert_int_equal(check("POST", "/process.Process/List", "", TOKEN), 0);
	assert_int_equal(check("POST", "/filesystem.Filesystem/Stat", signed_query("write", NULL), NULL), -EACCES);
}

static void files_take_a_token_or_a_signature(void **state)
{
	(void)state;
	assert_int_equal(check("GET", "/files", "path=x", TOKEN), 0);
	assert_int_equal(check("GET", "/files", signed_query("read", NULL), "wrong"), -EACCES);
	assert_string_equal(message, "access token present in header but does not match");
	assert_int_equal(check("GET", "/files", "path=x", NULL), -EACCES);
	assert_string_equal(message, "missing signature query parameter");
	assert_int_equal(check("GET", "/files", signed_query("read", NULL), NULL), 0);
	assert_int_equal(check("POST", "/files", signed_query("write", NULL), NULL), 0);
	assert_int_equal(check("POST", "/files", signed_query("read", NULL), NULL), -EACCES);
	assert_string_equal(message, "invalid signature");
	assert_int_equal(check("DELETE", "/files", signed_query("read", NULL), NULL), -EACCES);
}

static void signatures_expire(void **state)
{
	(void)state;
	assert_int_equal(check("GET", "/files", signed_query("read", "1000"), NULL), 0);
	assert_int_equal(check("GET", "/files", signed_query("read", "999"), NULL), -EACCES);
	assert_string_equal(message, "signature is already expired");
	assert_int_equal(check("GET", "/files", signed_query("read", "never"), NULL), -EACCES);
	assert_int_equal(check("GET", "/files", signed_query("read", "-1"), NULL), -EACCES);
}

static void internal_paths_are_known_in_any_spelling(void **state)
{
	static const char *const hidden[] = {
		"/init",
		"//init",
		"/./init",
		"/%69nit",
		"/init/",
		"/x/../init",
		"/INIT",
		"/freeze",
		"/unfreeze",
		"/collapse",
		"/fsfreeze",
		"/fsthaw",
		"/upgrade",
		"/%2e/upgrade",
	};
	static const char *const open[] = { "/", "/initial", "/files", "/x/init", "/process.Process/Start", "/%zz" };

	(void)state;
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
		assert_true(envd_path_is_internal(str_of(hidden[i])));
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		assert_false(envd_path_is_internal(str_of(open[i])));
}

static int interp(const char *method, const char *path, const char *shown, enum interp_token need)
{
	message = "";
	return interp_check(str_of(method), str_of(path), str_of(shown), TOKEN, need, &message);
}

/* W4: what no sandbox can have signed is refused before anything is hashed, and each token gives the signature that it
 * should. */
static void a_signature_is_worth_a_hash_only_if_it_can_be_right(void **state)
{
	static const struct {
		const char *name;
		size_t max;
	} parts[] = { { "path", 4096 }, { "username", 256 }, { "signature_expiration", 20 } };
	char sig[SIGNATURE_SIZE], other[] = "x" TOKEN;

	(void)state;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		for (size_t more = 0; more < 2; more++) {
			autobuf struct buf q = BUF_INIT(32768);
			autosigned struct signed_file s;

			buf_fmt(&q, "%s=", parts[i].name);
			for (size_t n = 0; n < parts[i].max + more; n++)
				buf_ch(&q, '1');
			buf_z(&q, "&signature=v1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
			assert_true(signed_file_parse(STR_LIT("GET"), STR_LIT("/files"), buf_view(&q), &s));
			assert_true(more ? !s.signing : s.signing != NULL);
			assert_false(signed_file_by(&s, TOKEN));
		}
	}
	autosigned struct signed_file bad;

	assert_true(signed_file_parse(STR_LIT("GET"), STR_LIT("/files"), STR_LIT("path=x&signature=v1_short"), &bad));
	assert_null(bad.signing);

	autosigned struct signed_file s;

	assert_true(signed_file_parse(STR_LIT("GET"), STR_LIT("/files"), str_of(signed_query("read", "1000")), &s));
	for (int i = 0; i < 3; i++) { /* one token after another, by what was hashed once */
		assert_false(signed_file_by(&s, other));
		assert_true(signed_file_by(&s, TOKEN));
	}
	signature_make(STR_LIT("a b.txt"), "read", STR_LIT("user"), STR_LIT(TOKEN), STR_LIT("1000"), sig);
	assert_string_equal(sig, s.signature);
}

/* W3: an id alone runs no code. */
static void the_interpreter_asks_for_the_token(void **state)
{
	static const char *const open[] = { "/contexts", "/contexts/3f-A_b", "/contexts/3f/restart" };
	static const char *const closed[] = {
		"/execute",
		"/execute/",
		"//execute",
		"/%65xecute",
		"/contexts/../execute",
		"/contexts/%2e%2e/execute",
		"/contexts/x/../../execute",
		"/contexts/",
		"/contexts/x/",
		"/contexts/x/restart/",
		"/contextsx",
		"/",
		"*",
		"http://h/execute",
	};

	(void)state;
	for (size_t i = 0; i < sizeof closed / sizeof *closed; i++) {
		assert_int_equal(interp("POST", closed[i], NULL, INTERP_TOKEN_EXECUTE), -EACCES);
		assert_int_equal(interp("POST", closed[i], "x" TOKEN, INTERP_TOKEN_EXECUTE), -EACCES);
		assert_int_equal(interp("POST", closed[i], TOKEN, INTERP_TOKEN_EXECUTE), 0);
		assert_int_equal(interp("POST", closed[i], NULL, INTERP_TOKEN_NONE), 0);
	}
	for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
		assert_int_equal(interp("POST", open[i], NULL, INTERP_TOKEN_EXECUTE), 0);
		assert_int_equal(interp("POST", open[i], NULL, INTERP_TOKEN_ALL), -EACCES);
		assert_int_equal(interp("POST", open[i], TOKEN, INTERP_TOKEN_ALL), 0);
	}
	assert_int_equal(interp("GET", "/health", NULL, INTERP_TOKEN_ALL), 0);
	assert_int_equal(interp_check(STR_LIT("POST"), STR_LIT("/execute"), STR_NULL, "", INTERP_TOKEN_ALL, &message),
	    0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_token_all_is_open),
		cmocka_unit_test(the_token_is_demanded_but_for_health),
		cmocka_unit_test(files_take_a_token_or_a_signature),
		cmocka_unit_test(signatures_expire),
		cmocka_unit_test(internal_paths_are_known_in_any_spelling),
		cmocka_unit_test(a_signature_is_worth_a_hash_only_if_it_can_be_right),
		cmocka_unit_test(the_interpreter_asks_for_the_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
