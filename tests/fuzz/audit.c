/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a line of the audit trail is read as what it was composed of, or refused; a verifier takes any lines. */
#include <errno.h>
#include <string.h>

#include "audit/verify.h"
#include "fuzz.h"

static void must_be_the_same(struct audit_seal *s, const struct audit_line *l, struct str line)
{
	struct audit_point at = { .seq = l->seq - 1 };
	autobuf struct buf out = BUF_INIT(AUDIT_LINE_MAX + 1);
	struct audit_line again;

	memcpy(at.hash, l->prev, sizeof at.hash);
	MUST(audit_compose(s, &l->rec, &at, &out) == 0 && at.seq == l->seq);
	MUST(audit_read((struct str) { out.p, out.n - 1 }, &again) == 0 && again.seq == l->seq);
	MUST(audit_hash_fits(s, &again) && audit_mac_fits(s, &again));
	if (audit_hash_fits(s, l)) /* then nothing of it was written otherwise than we would */
		MUST(memcmp(out.p, line.p, again.covered.n) == 0 || again.covered.n != l->covered.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[AUDIT_KEY_SIZE] = "fuzz";
	struct audit_seal *s = audit_seal_new(key);
	struct audit_verify v = { .seal = s };
	struct str rest = { (const char *)data, size };
	struct audit_line l;
	struct err e = ERR_INIT;
	uint64_t n = 0;

	while (rest.n > 0) {
		struct str line = str_cut(&rest, '\n');
		int r = audit_read(line, &l);

		MUST(r == 0 || r == -EBADMSG);
		if (r == 0 && l.rec.at_ms < 253402300800000ull)
			must_be_the_same(s, &l, line);
		r = audit_verify_line(&v, line, "f", ++n, &e);
		MUST(r == 0 || (r == -EBADMSG && e.text[0]));
	}
	(void)audit_verify_end(&v, true, &e);
	audit_seal_free(s);
	return 0;
}
