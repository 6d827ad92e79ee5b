/* SPDX-License-Identifier: Apache-2.0 */
/* A server of a few calls, on a thread, for what a client does around them: sandboxes that are numbered, code that is
 * echoed. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct fake {
	int fd;
	char url[64];
	pthread_t thread;
	atomic_int created, killed, executed, requests;
	atomic_int gone;             /* this sandbox, by number, has ended */
	atomic_int paused;           /* this one is paused, until it is connected to */
	atomic_int longest_s;        /* that was given to a sandbox by connecting to it; 0: none was */
	atomic_int drop;             /* so many of the next requests get no answer */
	atomic_int drop_after_event; /* the next execution breaks after its first event */
	char last_body[8192];        /* of a create */
	const char *envs, *says;     /* of every sandbox; events of an execution. NULL: none, the usual ones */
	char snapshot[64];           /* what the list of snapshots has; "": none */
	const char *list;            /* of sandboxes; NULL: 404 */
};

static void fake_answer(int fd, int status, const char *body)
{
	char head[256];
	int n = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
	    strlen(body));

	(void)!write(fd, head, (size_t)n);
	(void)!write(fd, body, strlen(body));
}

static int fake_number(const char *request)
{
	const char *id = strstr(request, "/sandboxes/i");

	id = id ? id + 12 : strcasestr(request, "E2b-Sandbox-Id: i");
	return id ? atoi(*id == 'E' || *id == 'e' ? id + 17 : id) : 0;
}

static void fake_execute(struct fake *f, int fd, int number)
{
	if (number == f->gone || number == f->paused) {
		fake_answer(fd, 502, "{\"code\":502,\"message\":\"The sandbox was not found\"}");
		return;
	}
	f->executed++;
	if (f->drop_after_event) {
		static const char part[] = "HTTP/1.1 200 X\r\nContent-Length: "
					   "500\r\n\r\n{\"type\":\"stdout\",\"text\":\"a\\n\",\"timestamp\":\"x\"}\n";

		f->drop_after_event--;
		(void)!write(fd, part, sizeof part - 1);
		return;
	}
	fake_answer(fd, 200,
	    f->says ? f->says
		    : "{\"type\":\"stdout\",\"text\":\"a\\n\",\"timestamp\":\"x\"}\n{\"type\":\"result\",\"text\":"
		      "\"2\",\"is_main_result\":true}\n"
		      "{\"type\":\"number_of_executions\",\"execution_count\":1}\n{\"type\":\"end_of_execution\"}\n");
}

static void fake_serve(struct fake *f, int fd)
{
	char request[16384] = "", body[256];
	size_t n = 0, need = 0;

	for (ssize_t got; n < sizeof request - 1 && (got = read(fd, request + n, sizeof request - 1 - n)) > 0;) {
		n += (size_t)got;
		request[n] = '\0';
		const char *end = strstr(request, "\r\n\r\n"), *length = strcasestr(request, "Content-Length:");

		need = end ? (size_t)(end - request) + 4 + (length && length < end ? (size_t)atoi(length + 15) : 0) : 0;
		if (need && n >= need)
			break;
	}
	f->requests++;
	int number = fake_number(request);

	if (f->drop > 0) {
		f->drop--;
		return;
	}
	if (strncmp(request, "POST /v2/sandboxes HTTP", 23) == 0) {
		(void)snprintf(f->last_body, sizeof f->last_body, "%.8000s", strstr(request, "\r\n\r\n") + 4);
		(void)snprintf(body, sizeof body, "{\"sandboxID\":\"i%d\",\"templateID\":\"base\"}", ++f->created);
		fake_answer(fd, 201, body);
	} else if (strncmp(request, "DELETE ", 7) == 0) {
		f->killed += number != f->gone;
		fake_answer(fd, number == f->gone ? 404 : 204, "");
	} else if (strncmp(request, "GET /v2/sandboxes?", 18) == 0 && f->list) {
		fake_answer(fd, 200, f->list);
	} else if (strncmp(request, "GET /snapshots", 14) == 0) {
		(void)snprintf(body, sizeof body, *f->snapshot ? "[{\"snapshotID\":\"%s\"}]" : "[]%s", f->snapshot);
		fake_answer(fd, 200, body);
	} else if (strstr(request, "/connect HTTP") && number != f->gone) {
		int s = atoi(strstr(request, "\"timeout\":") + 10);

		if (s > 90000) { /* more than it gives to anybody */
			fake_answer(fd, 400, "{\"code\":400,\"message\":\"field 'timeout' must be at most 90000\"}");
			return;
		}
		f->paused = number == f->paused ? 0 : f->paused;
		f->longest_s = s > f->longest_s ? s : f->longest_s;
		(void)snprintf(body, sizeof body, "{\"sandboxID\":\"i%d\",\"templateID\":\"base\"}", number);
		fake_answer(fd, 200, body);
	} else if (strstr(request, "/timeout HTTP")) {
		fake_answer(fd, number == f->gone ? 404 : 204, "");
	} else if (strncmp(request, "GET /envs", 9) == 0 && f->envs) {
		fake_answer(fd, 200, f->envs);
	} else if (strncmp(request, "POST /execute", 13) == 0) {
		fake_execute(f, fd, number);
	} else if (strncmp(request, "GET /sandboxes/i", 16) == 0 && number != f->gone) {
		(void)snprintf(body, sizeof body, "{\"sandboxID\":\"i%d\",\"state\":\"%s\"}", number,
		    number == f->paused ? "paused" : "running");
		fake_answer(fd, 200, body);
	} else {
		fake_answer(fd, strstr(request, "/health") ? (number == f->gone ? 502 : 204) : 404,
		    "{\"code\":404,\"message\":\"no\"}");
	}
}

static void *fake_main(void *arg)
{
	struct fake *f = arg;

	for (int fd; (fd = accept(f->fd, NULL, NULL)) >= 0; close(fd))
		fake_serve(f, fd);
	return NULL;
}

static inline void fake_start(struct fake *f)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof to;

	memset(f, 0, sizeof *f);
	f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(f->fd, (struct sockaddr *)&to, sizeof to) < 0 || listen(f->fd, 64) < 0 ||
	    getsockname(f->fd, (struct sockaddr *)&to, &n) < 0)
		abort();
	(void)snprintf(f->url, sizeof f->url, "http://127.0.0.1:%u", ntohs(to.sin_port));
	if (pthread_create(&f->thread, NULL, fake_main, f) != 0)
		abort();
}

static inline void fake_stop(struct fake *f)
{
	(void)shutdown(f->fd, SHUT_RDWR);
	(void)pthread_join(f->thread, NULL);
	close(f->fd);
}
