/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes that wait: the first two are there at once; one that is given back is ended and never lent again.
 *
 *	E2B_API_KEY=... ./warm
 */
#include <atoll.h>
#include <stdio.h>

int main(void)
{
	struct atoll_warm *w = NULL;
	struct atoll *a = NULL;
	struct atoll_warm_stats st;
	struct atoll_error e;

	if (atoll_new(&(struct atoll_config) { 0 }, &a, &e) < 0 ||
	    atoll_warm_new(a, &(struct atoll_spec) { .template_id = "base", .timeout_s = 60 }, 2, &w, &e) < 0 ||
	    atoll_warm_fill(w, &e) < 0) {
		(void)fprintf(stderr, "warm: %s\n", e.text);
		return 1;
	}
	for (int i = 0; i < 3; i++) {
		struct atoll_sandbox *sb = NULL;
		struct atoll_output *out = NULL;

		if (atoll_warm_take(w, &sb, &e) < 0 ||
		    atoll_command_run(sb, &(struct atoll_command) { .line = "ls /tmp/used 2>&1; touch /tmp/used" },
			NULL, NULL, &out, &e) < 0) {
			(void)fprintf(stderr, "warm: %s\n", e.text);
			return 1;
		}
		(void)printf("%s", out->out); /* never used before: there is no such file, each time */
		atoll_output_free(out);
		(void)atoll_warm_give(w, sb, &e);
	}
	atoll_warm_stats(w, &st);
	(void)printf("%llu hits, %llu miss\n", (unsigned long long)st.hits, (unsigned long long)st.misses);
	atoll_warm_free(w);
	atoll_free(a);
	return 0;
}
