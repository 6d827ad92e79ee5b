/* SPDX-License-Identifier: Apache-2.0 */
/* Units of trail/chain and trail/verify: what a chain is, and that each kind of damage is found at the record where it
 * begins. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/verify.h"
#include "base/fd.h"
#include "unit.h"

#define N 9

static const uint8_t key[AUDIT_KEY_SIZE] = "0123456789abcdef0123456789abcde", other_key[AUDIT_KEY_SIZE] = "another";
static struct err e;

struct log {
	struct buf lines[N]; /* with their newlines */
	size_t n;
	struct audit_point at;
};

static void make(struct log *l, const uint8_t k[AUDIT_KEY_SIZE], const char *kind)
{
	struct audit_seal *s = audit_seal_new(k);

	*l = (struct log) { .n = N };
	for (size_t i = 0; i < N; i++) {
		char fields[32];
		struct audit_record rec = { .at_ms = 1000 * i,
			.kind = str_of(kind),
			.team = STR_LIT("team"),
			.sandbox = STR_LIT("ione") };

		(void)snprintf(fields, sizeof fields, "{\"n\":%zu}", i);
		rec.fields = str_of(fields);
		l->lines[i] = BUF_INIT(AUDIT_LINE_MAX);
		assert_int_equal(audit_compose(s, &rec, &l->at, &l->lines[i]), 0);
	}
	audit_seal_free(s);
}

static void log_done(struct log *l)
{
	for (size_t i = 0; i < N; i++)
		buf_done(&l->lines[i]);
}

static int verify(const struct log *l, const uint8_t *k, const struct audit_point *known, bool whole)
{
	struct audit_verify v = { .seal = audit_seal_new(k), .known = known };
	int r = 0;

	e = ERR_INIT;
	for (size_t i = 0; r == 0 && i < l->n; i++)
		r = audit_verify_line(&v, (struct str) { l->lines[i].p, l->lines[i].n - 1 }, "f", i + 1, &e);
	if (r == 0)
		r = audit_verify_end(&v, whole, &e);
	audit_seal_free(v.seal);
	return r;
}

static void a_sound_chain_is_verified_with_and_without_the_key(void **state)
{
	struct log l;

	(void)state;
	make(&l, key, "code.run");
	assert_int_equal(verify(&l, key, &l.at, true), 0);
	assert_int_equal(verify(&l, NULL, &l.at, true), 0);
	assert_int_equal(verify(&l, NULL, NULL, true), 0);
	log_done(&l);
}

static void a_record_reads_as_it_was_composed(void **state)
{
	struct log l;
	struct audit_line r;

	(void)state;
	make(&l, key, "code.run");
	assert_int_equal(audit_read((struct str) { l.lines[3].p, l.lines[3].n - 1 }, &r), 0);
	assert_int_equal(r.seq, 4);
	assert_int_equal(r.rec.at_ms, 3000);
	assert_true(str_is(r.rec.kind, "code.run") && str_is(r.rec.team, "team") && str_is(r.rec.sandbox, "ione") &&
	    str_is(r.rec.fields, "{\"n\":3}"));
	assert_int_equal(r.rec.request.n, 0);
	assert_int_equal(audit_read(buf_view(&l.lines[3]), &r), -EBADMSG); /* with its newline */
	log_done(&l);
}

static void an_edited_byte_is_found_wherever_it_is(void **state)
{
	struct log l;

	(void)state;
	make(&l, key, "code.run");
	for (size_t i = 0; i + 1 < l.lines[4].n; i++) {
		char old = l.lines[4].p[i];

		l.lines[4].p[i] = old == '1' ? '2' : '1';
		assert_int_equal(verify(&l, key, NULL, true), -EBADMSG);
		assert_non_null(strstr(e.text, "line 5"));
		l.lines[4].p[i] = old;
	}
	assert_int_equal(verify(&l, key, NULL, true), 0);
	log_done(&l);
}

static void reordered_missing_and_truncated_records_are_found(void **state)
{
	struct log l;
	struct buf swap;

	(void)state;
	make(&l, key, "code.run");
	swap = l.lines[2];
	l.lines[2] = l.lines[3];
	l.lines[3] = swap;
	assert_int_equal(verify(&l, key, NULL, true), -EBADMSG);
	assert_string_equal(e.text,
	    "record 4 (f, line 3) stands where record 3 belongs: records are missing or in another order");
	swap = l.lines[2];
	l.lines[2] = l.lines[3];
	l.lines[3] = swap;
	l.n = 6;
	assert_int_equal(verify(&l, key, NULL, true), 0);         /* nobody knows that there were more, */
	assert_int_equal(verify(&l, key, &l.at, true), -EBADMSG); /* ... unless somebody does */
	assert_string_equal(e.text,
	    "record 7 is missing: the log was truncated, it ends with record 6, but record 9 is known");
	log_done(&l);
}

static void a_chain_made_anew_is_found_by_key_or_by_what_is_known(void **state)
{
	struct log l, forged, unsealed;

	(void)state;
	make(&l, key, "code.run");
	make(&forged, other_key, "code.done");
	make(&unsealed, NULL, "code.done");
	assert_int_equal(verify(&forged, NULL, NULL, true), 0);
	assert_int_equal(verify(&forged, key, NULL, true), -EBADMSG);
	assert_string_equal(e.text,
	    "record 1 (f, line 1) was re-chained: its hash was not sealed with the server's key");
	assert_int_equal(verify(&unsealed, key, NULL, true), -EBADMSG);
	assert_int_equal(verify(&forged, NULL, &l.at, true), -EBADMSG);
	assert_string_equal(e.text, "record 9 (f, line 9) was re-chained: the database remembers another hash of it");
	buf_done(&l.lines[5]);
	l.lines[5] = forged.lines[5]; /* one of another chain, with the right number */
	forged.lines[5] = BUF_INIT(1);
	assert_int_equal(verify(&l, NULL, NULL, true), -EBADMSG);
	assert_string_equal(e.text,
	    "record 6 (f, line 6) does not follow record 5: one of them was put in place of another");
	log_done(&l);
	log_done(&forged);
	log_done(&unsealed);
}

static void a_missing_beginning_wants_a_record_that_tells_of_it(void **state)
{
	struct audit_seal *s = audit_seal_new(key);
	struct log l, cut = { .n = N };
	struct audit_line last;
	char hex[AUDIT_HEX_SIZE], fields[160];

	(void)state;
	make(&l, key, "code.run");
	for (size_t i = 4; i < N; i++)
		cut.lines[i - 4] = l.lines[i];
	cut.n = N - 4;
	assert_int_equal(verify(&cut, key, NULL, true), -EBADMSG);
	assert_string_equal(e.text,
	    "record 4 is missing: the log begins with record 5, and no record says that those before were dropped");
	assert_int_equal(verify(&cut, key, NULL, false), 0); /* a single file may be one of several */

	assert_int_equal(audit_read((struct str) { l.lines[3].p, l.lines[3].n - 1 }, &last), 0);
	audit_hex(last.hash, sizeof last.hash, hex);
	(void)snprintf(fields, sizeof fields, "{\"segment\":1,\"last_seq\":4,\"last_hash\":\"%s\"}", hex);
	struct audit_record rec = { .kind = STR_LIT("trail.retention"), .fields = str_of(fields) };

	cut.lines[cut.n] = BUF_INIT(AUDIT_LINE_MAX);
	assert_int_equal(audit_compose(s, &rec, &l.at, &cut.lines[cut.n++]), 0);
	assert_int_equal(verify(&cut, key, NULL, true), 0);
	buf_done(&cut.lines[cut.n - 1]);
	log_done(&l);
	audit_seal_free(s);
}

static void texts_that_would_leave_their_place_are_not_composed(void **state)
{
	static const char *const bad_fields[] = { "", "{", "x", "{\"a\":\"\n\"}", "{\"a\":\"\xc3\xa9\"}", "[]" };
	struct audit_seal *s = audit_seal_new(key);
	autobuf struct buf out = BUF_INIT(AUDIT_LINE_MAX);
	struct audit_point at = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad_fields); i++) {
		struct audit_record rec = { .kind = STR_LIT("a.b"), .fields = str_of(bad_fields[i]) };

		assert_int_equal(audit_compose(s, &rec, &at, &out), -EINVAL);
	}
	struct audit_record quote = { .kind = STR_LIT("a.b"),
		.request = STR_LIT("x\",\"team\":\"y"),
		.fields = STR_LIT("{}") };
	struct audit_record none = { .fields = STR_LIT("{}") };

	assert_int_equal(audit_compose(s, &quote, &at, &out), -EINVAL);
	assert_int_equal(audit_compose(s, &none, &at, &out), -EINVAL);
	assert_int_equal(out.n, 0);
	assert_int_equal(at.seq, 0);
	audit_seal_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_chain_is_verified_with_and_without_the_key),
		cmocka_unit_test(a_record_reads_as_it_was_composed),
		cmocka_unit_test(an_edited_byte_is_found_wherever_it_is),
		cmocka_unit_test(reordered_missing_and_truncated_records_are_found),
		cmocka_unit_test(a_chain_made_anew_is_found_by_key_or_by_what_is_known),
		cmocka_unit_test(a_missing_beginning_wants_a_record_that_tells_of_it),
		cmocka_unit_test(texts_that_would_leave_their_place_are_not_composed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
