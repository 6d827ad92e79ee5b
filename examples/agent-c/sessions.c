/* SPDX-License-Identifier: Apache-2.0 */
/* A session of an agent: variables stay, files go in and out, and when its sandbox is gone it goes on in a new one.
 *
 *	E2B_API_KEY=... ./sessions
 */
#include <atoll.h>
#include <stdio.h>
#include <stdlib.h>

static void on_created(void *user, const struct atoll_session *s)
{
	(void)user;
	(void)printf("created for %s\n", s->agent_id);
}

static void on_destroyed(void *user, const struct atoll_session *s, const char *why)
{
	(void)user;
	(void)printf("%s: %s\n", why, s->agent_id);
}

static int run(struct atoll_sessions *m, struct atoll *a, const char *id, const char *code)
{
	struct atoll_session_result r;
	struct atoll_error e;

	if (atoll_session_run(m, a, NULL, id, &(struct atoll_code) { .code = code }, NULL, &r, &e) < 0) {
		struct atoll_failure f;

		atoll_failure_of(&e, id, "run code", 0, &f);
		(void)printf("%s: %s\n%s\n", f.type, f.message, f.remedy);
		return 1;
	}
	(void)printf("%s%s\n", r.recovered ? "(in a new sandbox) " : "", r.json);
	atoll_session_result_done(&r);
	return 0;
}

static int work(struct atoll_sessions *m, struct atoll *a)
{
	struct atoll_session s;
	struct atoll_error e;
	char *back = NULL;
	size_t n = 0;

	if (atoll_session_get_or_create(m, a, &(struct atoll_session_spec) { .agent_id = "example" }, &s, &e) < 0 ||
	    atoll_session_upload(m, a, NULL, s.id, "/home/user/in.txt", "21", 2, &e) < 0) {
		(void)fprintf(stderr, "session: %s\n", e.text);
		return 1;
	}
	int bad = run(m, a, s.id, "x = int(open('/home/user/in.txt').read())") +
	    run(m, a, s.id, "open('/home/user/out.txt', 'w').write(str(x * 2))");

	if (atoll_session_download(m, a, NULL, s.id, "/home/user/out.txt", &back, &n, &e) == 0)
		(void)printf("out.txt: %s\n", back);
	free(back);
	if (atoll_kill(a, s.sandbox_id, &e) == 0)
		bad += run(m, a, s.id, "print('still here')");
	return bad || atoll_session_destroy(m, a, NULL, s.id, &e) < 0;
}

int main(void)
{
	struct atoll_sessions *m = NULL;
	struct atoll *a = NULL;
	struct atoll_error e;

	if (atoll_new(&(struct atoll_config) { 0 }, &a, &e) < 0 ||
	    atoll_sessions_new(
		&(struct atoll_sessions_config) { .on_created = on_created, .on_destroyed = on_destroyed }, &m, &e) <
		0) {
		(void)fprintf(stderr, "sessions: %s\n", e.text);
		return 1;
	}
	int status = work(m, a);

	atoll_sessions_free(m);
	atoll_free(a);
	return status;
}
