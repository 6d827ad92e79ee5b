/* SPDX-License-Identifier: Apache-2.0 */
/* Retries for the way to a server, a breaker for when it stays away, and failures in words. Needs no server: that is
 * what it shows.
 *
 *	E2B_MAX_RETRIES=2 ./recovery
 */
#include <atoll.h>
#include <stdio.h>
#include <time.h>

static int ask(void *user, bool *ret_begun, struct atoll_error *e)
{
	struct atoll *a = user;

	*ret_begun = false; /* it is asked, nothing is begun */
	return atoll_health(a, e);
}

int main(void)
{
	struct atoll_breaker *b = NULL;
	struct atoll *a = NULL;
	struct atoll_failure f;
	struct atoll_retry r;
	struct atoll_error e;
	struct timespec from, to;
	unsigned tries = 0;

	if (atoll_retry_env(&r, &e) < 0 || atoll_breaker_new(NULL, &b, &e) < 0 ||
	    atoll_new(&(struct atoll_config) { .api_url = "http://127.0.0.1:9", .api_key = "e2b_00" }, &a, &e) < 0) {
		(void)fprintf(stderr, "recovery: %s\n", e.text);
		return 1;
	}
	r.pause_ms = 1;
	for (int i = 0; i < 3; i++) {
		(void)clock_gettime(CLOCK_MONOTONIC, &from);
		if (atoll_retry_run(&r, b, ask, a, &tries, &e) == 0)
			return 1; /* somebody answers on port 9? */
		(void)clock_gettime(CLOCK_MONOTONIC, &to);
		atoll_failure_of(&e, NULL, "ask for its health", 0, &f);
		(void)printf("%s, the breaker is %s\n", f.type, atoll_breaker_state(b));
	}
	(void)printf("%s\n", f.remedy);
	(void)printf("the last one was refused in %.3f ms: %s\n",
	    (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6, e.text);
	atoll_free(a);
	atoll_breaker_free(b);
	return 0;
}
