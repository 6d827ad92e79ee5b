/* SPDX-License-Identifier: Apache-2.0 */
/* Results of code that only computes come from a cache, for one session, until something is written.
 *
 *	E2B_API_KEY=... ./cache
 */
#include <atoll.h>
#include <stdio.h>

int main(void)
{
	static const char *const codes[] = { "sum(range(10))", "sum(range(10))", "x = 1", "sum(range(10))" };
	struct atoll_cache *c = NULL;
	struct atoll_sessions *m = NULL;
	struct atoll *a = NULL;
	struct atoll_cache_stats st;
	struct atoll_session s;
	struct atoll_error e;

	if (atoll_new(&(struct atoll_config) { 0 }, &a, &e) < 0 || atoll_cache_new(0, &c, &e) < 0 ||
	    atoll_sessions_new(&(struct atoll_sessions_config) { .cache = c }, &m, &e) < 0 ||
	    atoll_session_create(m, a, &(struct atoll_session_spec) { .agent_id = "example", .cache = true }, &s, &e) <
		0) {
		(void)fprintf(stderr, "cache: %s\n", e.text);
		return 1;
	}
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		struct atoll_session_result r = { 0 };

		if (atoll_session_run(m, a, NULL, s.id, &(struct atoll_code) { .code = codes[i] }, NULL, &r, &e) < 0)
			(void)printf("%s: %s\n", codes[i], e.text);
		else
			(void)printf("%s: %s\n", codes[i], r.cached ? "from the cache" : "run");
		atoll_session_result_done(&r);
	}
	atoll_cache_stats(c, &st);
	(void)printf("%llu hit\n", (unsigned long long)st.hits);
	(void)atoll_session_destroy(m, a, NULL, s.id, &e);
	atoll_sessions_free(m);
	atoll_cache_free(c);
	atoll_free(a);
	return 0;
}
