/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-agent: the agent layer: MCP and the paths below /agent. The warden starts it with a socket on fd 3, over which
 * it passes the socket to the front, and its options (ipc/settings.h) on fd 4.
 *
 * The process parses untrusted input and has no privileges. It does everything by asking the front, as a client of
 * libatoll with the caller's key. */
#include <curl/curl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/confine.h"
#include "agent/link.h"
#include "agent/mcp_http.h"
#include "agent/request.h"
#include "agent/state.h"
#include "agent/tool_host.h"
#include "agent/worker.h"
#include "base/build.h"
#include "base/cage.h"
#include "base/fd.h"
#include "base/log.h"
#include "http/server.h"
#include "ipc/settings.h"
#include "loop/loop.h"

#define FD_WARDEN 3
#define CONNS_MAX 2048
/* bytes of memory; the last resort, if all other limits fail */
#define DATA_MAX (2ull << 30)
#define ARENAS 4 /* of the allocator; one per thread would retain each thread's peak */

struct agent {
	struct agent_options opt;
	struct loop *loop;
	struct worker_pool *workers;
	struct http_server *server;
};

static void on_conn(void *user, int fd)
{
	struct agent *ag = user;
	int r = http_server_adopt(ag->server, fd);

	if (r < 0)
		log_warn("could not accept a connection from the front", "err=%s", strerror(-r));
}

static void on_warden_gone(void *user)
{
	(void)user;
	log_debug("the warden is gone, exiting", "%s", "");
	_exit(0); /* the next warden starts a new agent */
}

static const struct link_ops link_ops = { .on_conn = on_conn, .on_warden_gone = on_warden_gone };

static void on_request(void *user, struct http_req *rq)
{
	(void)user;
	agent_request_arrive(rq);
}

static const struct http_server_ops server_ops = { .on_request = on_request };

static int agent_open(struct agent *ag, struct err *e)
{
	const char *config = ag->opt.agent_config[0] ? ag->opt.agent_config : NULL;
	struct rlimit l;

	if (fd_cloexec(FD_WARDEN, true) < 0 || fd_nonblock(FD_WARDEN, true) < 0)
		return err_set(e, EBADF, "fd %d is not open: this program must be started by atolld", FD_WARDEN);
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max < 8192 ? l.rlim_max : 8192;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
	l = (struct rlimit) { DATA_MAX, DATA_MAX };
	if (!build_is_sanitized)
		(void)setrlimit(RLIMIT_DATA, &l);
	(void)mallopt(M_ARENA_MAX, ARENAS);
	if (cage_refuse_rings(e) < 0)
		return -e->no;
	json_object_seed(0); /* before threads are started; both calls read files */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, ENOMEM, "set up libcurl");
	ag->loop = loop_new();
	ag->workers = ag->loop ? worker_pool_new(ag->loop) : NULL;
	ag->server = ag->workers ? http_server_new(ag->loop, -1, &server_ops, ag) : NULL;
	if (!ag->server)
		return err_set(e, ENOMEM, "make the event loop");
	http_server_limit(ag->server, CONNS_MAX);
	agent_requests_open(ag->loop, ag->workers);
	if (state_open(ag->opt.state_dir, config, ag->loop, e) < 0 || tool_host_open(e) < 0 ||
	    mcp_http_open(ag->loop, e) < 0)
		return -e->no;
	if (link_open(ag->loop, FD_WARDEN, &link_ops, ag, e) < 0)
		return -e->no;
	return agent_confine(ag->opt.state_dir, e);
}

int main(void)
{
	static struct agent ag;
	struct err e = ERR_INIT;

	log_setup("atoll-agent", LOG_LVL_INFO);
	if (options_take(OPTIONS_AGENT, &ag.opt, sizeof ag.opt, &e) < 0) {
		(void)fprintf(stderr, "atoll-agent: %s (it is started by atolld)\n", e.text);
		return 2;
	}
	log_set_level(ag.opt.log_level);
	if (agent_open(&ag, &e) < 0) {
		log_error("could not start", "err=%s", e.text);
		return 1;
	}
	loop_run(ag.loop);
	return 0;
}
