/* SPDX-License-Identifier: Apache-2.0 */
/* routes: which handler a request goes to. Paths are matched whole: "/files" must not catch "/filesystem.…". */
#include "init/routes.h"

#include "base/fd.h"
#include "http/server.h"
#include "init/call.h"
#include "init/control.h"
#include "init/files.h"
#include "init/fs_rpc.h"
#include "init/init.h"
#include "init/metrics.h"
#include "init/process_rpc.h"
#include "init/reply.h"
#include "init/tunnel.h"
#include "init/watch_rpc.h"

#define INTERPRETER_PORT "49999"	/* in E2b-Sandbox-Port: the request is for the code interpreter, not for envd */

struct route {
	const char *method, *path;
	void (*serve)(struct init *in, struct http_req *rq);
};

static const struct route routes[] = {
	{ "GET", "/health", control_health },
	{ "GET", "/metrics", metrics_get },
	{ "GET", "/envs", control_envs },
	{ "POST", "/init", control_init },
	{ "GET", "/atoll/events", events_get },
	{ "GET", "/files", files_get },
	{ "POST", "/files", files_post },
};

static const struct rpc rpcs[] = {
	{ "/process.Process/Start", RPC_SERVER_STREAM, process_start, NULL, NULL },
	{ "/process.Process/Connect", RPC_SERVER_STREAM, process_connect, NULL, NULL },
	{ "/process.Process/List", RPC_UNARY, process_list, NULL, NULL },
	{ "/process.Process/Update", RPC_UNARY, process_update, NULL, NULL },
	{ "/process.Process/SendInput", RPC_UNARY, process_send_input, NULL, NULL },
	{ "/process.Process/SendSignal", RPC_UNARY, process_send_signal, NULL, NULL },
	{ "/process.Process/CloseStdin", RPC_UNARY, process_close_stdin, NULL, NULL },
	{ "/process.Process/StreamInput", RPC_CLIENT_STREAM, process_stream_input, process_stream_input,
		process_stream_input_end },
	{ "/filesystem.Filesystem/Stat", RPC_UNARY, fs_stat, NULL, NULL },
	{ "/filesystem.Filesystem/MakeDir", RPC_UNARY, fs_make_dir, NULL, NULL },
	{ "/filesystem.Filesystem/Move", RPC_UNARY, fs_move, NULL, NULL },
	{ "/filesystem.Filesystem/ListDir", RPC_UNARY, fs_list_dir, NULL, NULL },
	{ "/filesystem.Filesystem/Remove", RPC_UNARY, fs_remove, NULL, NULL },
	{ "/filesystem.Filesystem/WatchDir", RPC_SERVER_STREAM, watch_dir, NULL, NULL },
	{ "/filesystem.Filesystem/CreateWatcher", RPC_UNARY, watch_create, NULL, NULL },
	{ "/filesystem.Filesystem/GetWatcherEvents", RPC_UNARY, watch_events, NULL, NULL },
	{ "/filesystem.Filesystem/RemoveWatcher", RPC_UNARY, watch_remove, NULL, NULL },
};

static void refuse_method(struct http_req *rq)
{
	reply_error(rq, 405, "method %.*s is not allowed for '%.*s'", STR_ARG(rq->method),
		    (int)(rq->path.n < 200 ? rq->path.n : 200), rq->path.p);
}

static bool serve_rest(struct init *in, struct http_req *rq)
{
	bool known = false;

	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		if (!str_is(rq->path, routes[i].path))
			continue;
		known = true;
		if (str_is(rq->method, routes[i].method)) {
			routes[i].serve(in, rq);
			return true;
		}
	}
	if (known)
		refuse_method(rq);
	return known;
}

static bool serve_rpc(struct init *in, struct http_req *rq)
{
	for (size_t i = 0; i < ARRAY_LEN(rpcs); i++) {
		if (!str_is(rq->path, rpcs[i].path))
			continue;
		if (str_is(rq->method, "POST"))
			call_new(in, rq, &rpcs[i]);
		else
			refuse_method(rq);
		return true;
	}
	return false;
}

void routes_serve(struct init *in, struct http_req *rq)
{
	if (str_is(rq->method, "CONNECT"))
		tunnel_open(in, rq);
	else if (str_is(http_header_get(&rq->headers, "e2b-sandbox-port"), INTERPRETER_PORT))
		interp_serve(in, rq);
	else if (!serve_rest(in, rq) && !serve_rpc(in, rq))
		reply_error(rq, 404, "path '%.*s' not found", (int)(rq->path.n < 200 ? rq->path.n : 200), rq->path.p);
}
