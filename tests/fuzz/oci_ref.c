/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: names of images, challenges of registries, entries of the configuration. What is taken means the same
 * written out. */
#include <string.h>

#include "fuzz.h"
#include "oci/auth.h"
#include "oci/aws.h"
#include "oci/policy.h"
#include "oci/ref.h"

static void try_ref(struct str s)
{
	struct ref r, again;
	struct err e = ERR_INIT;
	autobuf struct buf b = BUF_INIT(4096);

	if (ref_parse(s, &r, &e) < 0) {
		MUST(e.no && e.text[0]);
		return;
	}
	MUST(r.repo[0] && !strstr(r.repo, "..") && !strchr(r.host, '/') && !strchr(r.host, '@'));
	ref_put(&b, &r);
	MUST(ref_parse(buf_view(&b), &again, &e) == 0);
	MUST(strcmp(r.host, again.host) == 0 && strcmp(r.repo, again.repo) == 0 && strcmp(r.tag, again.tag) == 0 &&
	    r.pinned == again.pinned);
}

/* Whatever AWS answers, and whatever a registry is called: a host stays a host, a header one line. */
static void try_aws(struct str s)
{
	autobuf struct buf header = BUF_INIT(4096), name = BUF_INIT(512);
	struct aws_place p;
	struct err e = ERR_INIT;

	buf_str(&name, s);
	if (!name.bad && buf_cstr(&name) && aws_place_of(buf_cstr(&name), &p))
		MUST(p.region[0] && !strchr(p.region, '/') && strstr(p.host, p.region));
	if (aws_read_answer(s, &header, &e) == 0)
		MUST(!strpbrk(buf_cstr(&header), "\r\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str s = { (const char *)data, size };
	static struct policy p;
	struct origin o;
	struct challenge c;
	struct creds creds;
	struct err e = ERR_INIT;

	try_ref(s);
	try_aws(s);
	challenge_parse(s, &c);
	MUST(c.kind != CHALLENGE_BEARER || c.realm[0]);
	p.n = 0;
	if (policy_add_mirrors(&p, s, &e) == 0 && p.n > 0)
		MUST(p.entry[0].of[0] && p.entry[0].at.host[0]);
	if (origin_parse(s, &o, NULL) == 0)
		MUST(o.host[0] && !strchr(o.host, '@') && !strchr(o.host, '/'));
	if (creds_read(s, &creds, &e) == 0)
		creds_done(&creds);
	return 0;
}
