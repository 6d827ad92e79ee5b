/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: what atoll-webhooks and the front tell each other, and URLs of webhooks: taken are only those in which
 * nothing can be a header, a user, or another host. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "ipc/webhooks.h"

static void check_url(struct str url)
{
	struct webhook_url u;
	struct err e = ERR_INIT;

	if (webhook_url_parse(url, &u, &e) < 0) {
		MUST(e.text[0]);
		return;
	}
	MUST(u.port != 0 && u.host[0] && !strpbrk(u.host, "@/\\?#% \r\n"));
	for (size_t i = 0; i < url.n; i++)
		MUST(url.p[i] > ' ' && url.p[i] <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hk_job job;
	struct hk_done done;
	struct str url, body;

	check_url((struct str) { (const char *)data, size });
	if (hk_job_check(data, size, &job, &url, &body) == 0) {
		MUST(url.n + body.n + sizeof job == size);
		MUST(!strpbrk(job.signature, "\r\n:") && !strpbrk(job.webhook, "\r\n:") &&
		    !strpbrk(job.delivery, "\r\n:") && !strpbrk(job.try, "\r\n:"));
		check_url(url);
	}
	if (hk_done_check(data, size, &done) == 0)
		MUST(done.outcome < HK_OUTCOMES && strlen(done.text) < sizeof done.text);
	return 0;
}
