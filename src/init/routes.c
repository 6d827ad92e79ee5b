/* SPDX-License-Identifier: Apache-2.0 */
/* routes: dispatches requests to handlers. Whole paths are matched: "/files" must not match "/filesystem.…". */
#include "init/routes.h"

#include "base/fd.h"
#include "http/json.h"
#include "http/route.h"
#include "http/schema.h"
#include "http/server.h"
#include "init/build/build.h"
#include "init/call.h"
#include "init/control.h"
#include "init/files/files.h"
#include "init/files/fs_rpc.h"
#include "init/files/watch_rpc.h"
#include "init/init.h"
#include "init/interp/interp.h"
#include "init/metrics.h"
#include "init/process/rpc.h"
#include "init/reply.h"
#include "init/text.h"
#include "init/users.h"

#define INTERPRETER_PORT "49999" /* in E2b-Sandbox-Port: the request is for the code interpreter, not for envd */
#define ALLOW_MAX 64

struct route {
	struct http_route on;
	void (*serve)(struct init *in, struct http_req *rq);
};

static void get_events(struct init *in, struct http_req *rq)
{
	events_get(&in->events, rq);
}

static void post_oom(struct init *in, struct http_req *rq)
{
	oom_post(&in->oom, rq);
}

static const struct route routes[] = {
	{ { "GET", "/health" }, control_health },
	{ { "GET", "/metrics" }, metrics_get },
	{ { "GET", "/envs" }, control_envs },
	{ { "POST", "/init" }, control_init },
	{ { "GET", "/atoll/events" }, get_events },
	{ { "POST", "/atoll/quiet" }, control_quiet },
	{ { "POST", "/atoll/oom" }, post_oom },
	{ { "GET", "/atoll/ready" }, interp_ready },
	{ { "POST", "/atoll/build" }, build_serve },
	{ { "GET", "/files" }, files_get },
	{ { "POST", "/files" }, files_post },
	{ { "POST", "/files/compose" }, files_compose },
};

#define UNARY(path, fn, in, out) { { "POST", path }, RPC_UNARY, fn, NULL, NULL, &(in), &(out) }
#define STREAM(path, fn, in, out) { { "POST", path }, RPC_SERVER_STREAM, fn, NULL, NULL, &(in), &(out) }

static const struct rpc rpcs[] = {
	STREAM("/process.Process/Start", process_start, pb_start_request, pb_event_response),
	STREAM("/process.Process/Connect", process_connect, pb_of_process, pb_event_response),
	UNARY("/process.Process/List", process_list, pb_empty, pb_list_response),
	UNARY("/process.Process/Update", process_update, pb_update_request, pb_empty),
	UNARY("/process.Process/SendInput", process_send_input, pb_send_input_request, pb_empty),
	UNARY("/process.Process/SendSignal", process_send_signal, pb_send_signal_request, pb_empty),
	UNARY("/process.Process/CloseStdin", process_close_stdin, pb_of_process, pb_empty),
	{ { "POST", "/process.Process/StreamInput" }, RPC_CLIENT_STREAM, process_stream_input, process_stream_input,
	    process_stream_input_end, &pb_stream_input_request, &pb_empty },
	UNARY("/filesystem.Filesystem/Stat", fs_stat, pb_path_request, pb_entry_response),
	UNARY("/filesystem.Filesystem/MakeDir", fs_make_dir, pb_path_request, pb_entry_response),
	UNARY("/filesystem.Filesystem/Move", fs_move, pb_move_request, pb_entry_response),
	UNARY("/filesystem.Filesystem/ListDir", fs_list_dir, pb_list_dir_request, pb_list_dir_response),
	UNARY("/filesystem.Filesystem/Remove", fs_remove, pb_path_request, pb_empty),
	STREAM("/filesystem.Filesystem/WatchDir", watch_dir, pb_watch_request, pb_watch_response),
	UNARY("/filesystem.Filesystem/CreateWatcher", watch_create, pb_watch_request, pb_watcher),
	UNARY("/filesystem.Filesystem/GetWatcherEvents", watch_events, pb_watcher, pb_watcher_events_response),
	UNARY("/filesystem.Filesystem/RemoveWatcher", watch_remove, pb_watcher, pb_empty),
};

static void refuse_method(struct http_req *rq, const char *allow)
{
	autofree char *header = str_fmt("Allow: %s\r\n", allow);

	reply_refuse(rq, 405, header, "method %.*s is not allowed for '%.*s'", STR_ARG(rq->method),
	    (int)(rq->path.n < 200 ? rq->path.n : 200), rq->path.p);
}

/* An unknown user is refused on every path, even where the user does not matter, as in E2B's envd. */
static bool refuse_user(struct http_req *rq)
{
	autousers struct userdb users = { 0 };
	struct err e = ERR_INIT;
	autojson json_t *body = NULL;
	struct user u;

	if (!http_header_get(&rq->headers, "authorization").n)
		return false;
	userdb_load(&users);
	if (call_user(rq, &users, &u, &e) >= 0)
		return false;
	body = json_pack("{s:s,s:o}", "code", "unauthenticated", "message", text_json(str_of(e.text)));
	init_reply_json(rq, 401, NULL, body);
	return true;
}

static void serve_envd(struct init *in, struct http_req *rq)
{
	autobuf struct buf allow = BUF_INIT(ALLOW_MAX);
	struct str none[HTTP_ROUTE_PARAMS]; /* no path of envd has a parameter */
	ptrdiff_t i = http_route_find(HTTP_ROUTES(routes), rq->method, rq->path, none, &allow);

	if (i >= 0) {
		if (!refuse_user(rq))
			routes[i].serve(in, rq);
		return;
	}
	i = http_route_find(HTTP_ROUTES(rpcs), rq->method, rq->path, none, &allow);
	if (i >= 0)
		call_new(in, rq, &rpcs[i]);
	else if (allow.n > 0)
		refuse_method(rq, buf_cstr(&allow));
	else
		init_reply_error(rq, 404, "path '%.*s' not found", (int)(rq->path.n < 200 ? rq->path.n : 200),
		    rq->path.p);
}

void routes_serve(struct init *in, struct http_req *rq)
{
	if (str_is(http_header_get(&rq->headers, "e2b-sandbox-port"), INTERPRETER_PORT))
		interp_serve(in, rq);
	else
		serve_envd(in, rq);
}
