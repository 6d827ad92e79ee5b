/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/proxy_head: what passes into a sandbox and out of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "front/proxy/head.h"
#include "http/call.h"
#include "http/server.h"
#include "unit.h"

static struct http_req rq;
static struct buf out;

static void request(const char *method, const char *target)
{
	buf_done(&out);
	out = BUF_INIT(8192);
	rq = (struct http_req) { .method = str_of(method), .target = str_of(target), .host = STR_LIT("h:1") };
}

static void header(struct http_headers *h, const char *name, const char *value)
{
	h->v[h->n++] = (struct http_header) { str_of(name), str_of(value) };
}

static void secrets_and_hops_do_not_reach_init(void **state)
{
	(void)state;
	request("GET", "/files?path=a%20b");
	header(&rq.headers, "Host", "h:1");
	header(&rq.headers, "X-Access-Token", "t");
	header(&rq.headers, "X-API-Key", "k");
	header(&rq.headers, "E2b-Sandbox-Id", "i");
	header(&rq.headers, "E2b-Sandbox-Port", "1");
	header(&rq.headers, "Connection", "keep-alive, X-Hop");
	header(&rq.headers, "X-Hop", "1");
	header(&rq.headers, "Transfer-Encoding", "chunked");
	header(&rq.headers, "Accept-Encoding", "gzip");
	proxy_put_request(&out, &rq, 49983, "masked", "r1");
	assert_string_equal(buf_cstr(&out),
	    "GET /files?path=a%20b HTTP/1.1\r\nHost: h:1\r\nAccept-Encoding: gzip\r\n"
	    "E2b-Sandbox-Port: 49983\r\nX-Request-Id: r1\r\n\r\n");
}

static void body_is_framed_as_it_came(void **state)
{
	(void)state;
	request("POST", "/x");
	rq.content_length = 12;
	header(&rq.headers, "Content-Length", "12");
	header(&rq.headers, "Expect", "100-continue");
	proxy_put_request(&out, &rq, 49999, NULL, NULL);
	assert_string_equal(buf_cstr(&out),
	    "POST /x HTTP/1.1\r\nHost: h:1\r\nE2b-Sandbox-Port: 49999\r\nContent-Length: 12\r\n\r\n");
	request("POST", "/x");
	rq.content_length = -1;
	proxy_put_request(&out, &rq, 49999, NULL, NULL);
	assert_non_null(strstr(buf_cstr(&out), "\r\nTransfer-Encoding: chunked\r\n\r\n"));
	request("POST", "/x");
	proxy_put_request(&out, &rq, 49999, NULL, NULL);
	assert_non_null(strstr(buf_cstr(&out), "\r\nContent-Length: 0\r\n\r\n"));
}

static void user_ports_see_their_own_headers(void **state)
{
	(void)state;
	request("GET", "/");
	header(&rq.headers, "X-Access-Token", "theirs");
	header(&rq.headers, "E2b-Traffic-Access-Token", "ours");
	proxy_put_request(&out, &rq, 8080, NULL, "r1");
	assert_string_equal(buf_cstr(&out),
	    "GET / HTTP/1.1\r\nHost: h:1\r\nX-Access-Token: theirs\r\nConnection: close\r\n\r\n");
}

static void host_is_masked_on_user_ports_only(void **state)
{
	(void)state;
	request("GET", "/");
	header(&rq.headers, "X-Forwarded-Host", "forged");
	proxy_put_request(&out, &rq, 8080, "app:${PORT}", NULL);
	assert_string_equal(buf_cstr(&out),
	    "GET / HTTP/1.1\r\nHost: app:8080\r\nX-Forwarded-Host: h:1\r\nConnection: close\r\n\r\n");
}

static void upgrades_pass_to_user_ports(void **state)
{
	(void)state;
	request("GET", "/ws");
	rq.upgrade = true;
	header(&rq.headers, "Connection", "Upgrade");
	header(&rq.headers, "Upgrade", "websocket");
	header(&rq.headers, "Sec-WebSocket-Key", "k");
	proxy_put_request(&out, &rq, 8080, NULL, NULL);
	assert_string_equal(buf_cstr(&out),
	    "GET /ws HTTP/1.1\r\nHost: h:1\r\nSec-WebSocket-Key: k\r\nConnection: Upgrade\r\n"
	    "Upgrade: websocket\r\n\r\n");
}

static void absolute_targets_are_shortened(void **state)
{
	(void)state;
	request("GET", "http://h:1/a?b");
	rq.path = STR_LIT("/a");
	rq.query = STR_LIT("b");
	proxy_put_request(&out, &rq, 8080, NULL, NULL);
	assert_int_equal(strncmp(buf_cstr(&out), "GET /a?b HTTP/1.1\r\n", 19), 0);
}

static void answers_lose_framing_and_foreign_cors(void **state)
{
	static struct http_answer a;

	(void)state;
	header(&a.headers, "Content-Length", "5");
	header(&a.headers, "Access-Control-Allow-Origin", "http://evil");
	header(&a.headers, "Keep-Alive", "timeout=5");
	header(&a.headers, "Content-Type", "text/plain");
	request("GET", "/");
	proxy_put_answer(&out, &a, 8080, false);
	assert_string_equal(buf_cstr(&out), "Access-Control-Allow-Origin: http://evil\r\nContent-Type: text/plain\r\n");
	request("GET", "/");
	proxy_put_answer(&out, &a, 49983, false);
	assert_null(strstr(buf_cstr(&out), "evil"));
	assert_non_null(strstr(buf_cstr(&out), "Access-Control-Allow-Origin: *\r\n"));
}

static int tear_down(void **state)
{
	(void)state;
	buf_done(&out);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_and_hops_do_not_reach_init),
		cmocka_unit_test(body_is_framed_as_it_came),
		cmocka_unit_test(user_ports_see_their_own_headers),
		cmocka_unit_test(host_is_masked_on_user_ports_only),
		cmocka_unit_test(upgrades_pass_to_user_ports),
		cmocka_unit_test(absolute_targets_are_shortened),
		cmocka_unit_test(answers_lose_framing_and_foreign_cors),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
