/* SPDX-License-Identifier: Apache-2.0 */
/* audit/verify: checks the hash and the MAC of each record, then its link to the one before. */
#include "audit/verify.h"

#include <jansson.h>
#include <string.h>

/* Evaluates the records of the trail about itself. */
static void note_own(struct audit_verify *v, const struct audit_line *l)
{
	uint8_t hash[AUDIT_HASH_SIZE];

	if (!str_starts(l->rec.kind, "trail."))
		return;

	json_t *o = json_loadb(l->rec.fields.p, l->rec.fields.n, 0, NULL);
	const char *hex = json_string_value(json_object_get(o, "last_hash"));
	uint64_t last = (uint64_t)json_integer_value(json_object_get(o, "last_seq"));

	if (str_is(l->rec.kind, "trail.repair")) {
		v->repairs++;
	} else if (str_is(l->rec.kind, "trail.gap")) {
		v->gaps++;
		v->lost += (uint64_t)json_integer_value(json_object_get(o, "lost"));
	} else if (str_is(l->rec.kind, "trail.retention") && hex && last + 1 == v->first_seq &&
	    audit_unhex(str_of(hex), hash, sizeof hash) == 0 && memcmp(hash, v->first_prev, sizeof hash) == 0) {
		v->anchored = true;
	}
	json_decref(o);
}

int audit_verify_line(struct audit_verify *v, struct str line, const char *file, uint64_t line_no, struct err *e)
{
	unsigned long long no = line_no, after = v->at.seq;
	struct audit_line l;

	if (audit_read(line, &l) < 0)
		return v->first_seq
		    ? err_set(e, EBADMSG, "record %llu (%s, line %llu) is damaged: the line is no record", after + 1,
			  file, no)
		    : err_set(e, EBADMSG, "the first record (%s, line %llu) is damaged: the line is no record", file,
			  no);

	unsigned long long seq = l.seq;

	if (!audit_hash_fits(v->seal, &l))
		return err_set(e, EBADMSG, "record %llu (%s, line %llu) was edited: its hash does not match", seq, file,
		    no);
	if (!audit_mac_fits(v->seal, &l))
		return err_set(e, EBADMSG,
		    "record %llu (%s, line %llu) was re-chained: its hash was not sealed with the server's key", seq,
		    file, no);
	if (v->first_seq && l.seq != v->at.seq + 1)
		return err_set(e, EBADMSG,
		    "record %llu (%s, line %llu) stands where record %llu belongs: records are missing or in another "
		    "order",
		    seq, file, no, after + 1);
	if (v->first_seq && memcmp(l.prev, v->at.hash, sizeof l.prev) != 0)
		return err_set(e, EBADMSG,
		    "record %llu (%s, line %llu) does not follow record %llu: one of them was put in place of another",
		    seq, file, no, after);
	if (v->known && v->known->seq == l.seq && memcmp(v->known->hash, l.hash, sizeof l.hash) != 0)
		return err_set(e, EBADMSG,
		    "record %llu (%s, line %llu) was re-chained: the database remembers another hash of it", seq, file,
		    no);
	if (!v->first_seq) {
		v->first_seq = l.seq;
		memcpy(v->first_prev, l.prev, sizeof l.prev);
	}
	v->at.seq = l.seq;
	memcpy(v->at.hash, l.hash, sizeof l.hash);
	v->records++;
	note_own(v, &l);
	return 0;
}

int audit_verify_torn(const struct audit_verify *v, size_t bytes, const char *file, struct err *e)
{
	return err_set(e, EBADMSG,
	    "record %llu (%s, last line) is torn: it ends after %zu bytes; the server mends this when it starts",
	    (unsigned long long)v->at.seq + 1, file, bytes);
}

int audit_verify_end(const struct audit_verify *v, bool whole, struct err *e)
{
	static const uint8_t zero[AUDIT_HASH_SIZE];

	if (v->known && v->known->seq > v->at.seq)
		return err_set(e, EBADMSG,
		    "record %llu is missing: the log was truncated, it ends with record %llu, but record %llu is known",
		    (unsigned long long)v->at.seq + 1, (unsigned long long)v->at.seq,
		    (unsigned long long)v->known->seq);
	if (v->known && v->first_seq > v->known->seq && whole)
		return err_set(e, EBADMSG, "record %llu is missing: the log begins with record %llu only",
		    (unsigned long long)v->known->seq, (unsigned long long)v->first_seq);
	if (!whole || !v->first_seq || v->anchored)
		return 0;
	if (v->first_seq != 1 || memcmp(v->first_prev, zero, sizeof zero) != 0)
		return err_set(e, EBADMSG,
		    "record %llu is missing: the log begins with record %llu, and no record says that those before "
		    "were dropped",
		    (unsigned long long)v->first_seq - 1, (unsigned long long)v->first_seq);
	return 0;
}
