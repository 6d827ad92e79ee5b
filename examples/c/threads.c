/* SPDX-License-Identifier: Apache-2.0 */
/* One sandbox, several threads: each with a context of its own, so that their variables do not meet.
 *
 *	cc threads.c $(pkg-config --cflags --libs libatoll) -pthread -o threads && E2B_API_KEY=... ./threads
 */
#include <atoll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

struct job {
	struct atoll_sandbox *sb; /* shared: a sandbox may be used by all threads at once */
	int number;
	char result[64];
};

static void *work(void *arg)
{
	struct job *j = arg;
	struct atoll_contexts *c = NULL;
	struct atoll_execution *x = NULL;
	struct atoll_error e = { 0 }; /* one per thread */
	char code[64];

	(void)snprintf(code, sizeof(code), "n = %d", j->number);
	(void)snprintf(j->result, sizeof(j->result), "failed");
	if (atoll_context_create(j->sb, "python", NULL, &c, &e) == 0 &&
	    atoll_run_code(j->sb, &(struct atoll_code) { .code = code, .context_id = c->v[0].id }, NULL, NULL, &e) ==
		0 &&
	    atoll_run_code(j->sb, &(struct atoll_code) { .code = "n * n", .context_id = c->v[0].id }, NULL, &x, &e) ==
		0 &&
	    x->text)
		(void)snprintf(j->result, sizeof(j->result), "%s", x->text);
	else
		(void)fprintf(stderr, "threads: %s\n", e.text);
	atoll_execution_free(x);
	atoll_contexts_free(c);
	return NULL;
}

int main(void)
{
	struct atoll *a = NULL;
	struct atoll_sandbox *sb = NULL;
	struct atoll_error e;
	struct job jobs[THREADS];
	pthread_t threads[THREADS];

	if (atoll_new(NULL, &a, &e) < 0 || atoll_sandbox_create(a, NULL, &sb, &e) < 0) {
		(void)fprintf(stderr, "threads: %s\n", e.text);
		atoll_free(a);
		return EXIT_FAILURE;
	}
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (struct job) { .sb = sb, .number = i + 1 };
		if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0)
			abort();
	}
	for (int i = 0; i < THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
		(void)printf("%d squared is %s\n", jobs[i].number, jobs[i].result);
	}
	(void)atoll_kill(a, atoll_sandbox_id(sb), NULL);
	atoll_sandbox_free(sb);
	atoll_free(a);
	return EXIT_SUCCESS;
}
