/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/network: changes what a running sandbox may reach. */
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/inet.h"
#include "base/log.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/init_call.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/row.h"
#include "front/sandbox/rules.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/spec.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "ipc/policy.h"

#define CA_BODY_MAX (16 * 1024)
#define CA_WAIT_MS 5000

/* A change that waits for the warden. */
struct change {
	struct req *r;
	struct sandbox *sb;
	struct spec spec; /* only flags, network, policy and mask_host are used */
};

static void change_free(struct change *ch)
{
	req_unref(ch->r);
	sandbox_unref(ch->sb);
	spec_done(&ch->spec);
	free(ch);
}

/* The whole change is in effect. */
static void changed(struct change *ch)
{
	struct sandbox *sb = ch->sb;

	sandbox_note(sb, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "network changed", "internet=%s request=%s",
	    sb->spec.flags & SPEC_NO_INTERNET ? "no"
		: sb->spec.policy             ? "some"
					      : "yes",
	    ch->r->id);
	reply_empty(ch->r, 204);
	change_free(ch);
}

/* The sandbox has installed the authority that signs for the hosts of its rules, or init failed. In that case its
 * programs report TLS errors. */
static void on_trusted(void *user, const struct init_result *re)
{
	struct change *ch = user;

	fd_close(re->fd);
	if (re->no || (re->status != 200 && re->status != 204))
		log_warn("a sandbox did not install its certificate authority", "id=%s status=%d err=%s", ch->sb->id,
		    re->status, re->no ? re->text : "-");
	changed(ch);
}

static void on_ruled(void *user, int no, const char *pem)
{
	struct change *ch = user;
	struct sandbox *sb = ch->sb;

	if (sandbox_gone(sb)) {
		reply_error(ch->r, 404, "sandbox '%s' not found", sb->id);
		change_free(ch);
	} else if (no) {
		reply_error(ch->r, 503,
		    "the rules are not known to atoll-egress yet: their hosts cannot be reached until they are");
		change_free(ch);
	} else if (!*pem) {
		changed(ch);
	} else {
		autojson json_t *j = json_pack("{s:s}", "caBundle", pem);
		autobuf struct buf body = BUF_INIT(CA_BODY_MAX);

		json_put(&body, j);
		struct init_request rq = {
			.id = sb->id,
			.request = ch->r->id,
			.method = "POST",
			.path = "/init",
			.body = buf_view(&body),
			.fd = -1,
			.wait_ms = CA_WAIT_MS,
		};

		(void)init_call_new(ch->r->api->link, &rq, on_trusted, ch);
	}
}

/* Addresses and names only: rules and proxies may hold secrets. */
static json_t *network_event(const json_t *network)
{
	static const char *const from[] = { "allowOut", "denyOut" };
	json_t *ranges[] = { json_array(), json_array() }, *names = json_array(), *v;
	struct inet_range range;
	size_t k;

	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		json_array_foreach(json_object_get(network, from[i]), k, v)
		{
			struct str s = str_of(json_string_value(v));
			bool is_range = s.p && (inet_parse(s, &range) == 0 || inet_is_v6(s));

			if (s.p && (is_range || i == 0))
				(void)json_array_append(is_range ? ranges[i] : names, v);
		}
	}
	return json_pack("{s:{s:o,s:o,s:o}}", "network_egress", "allowed_cidrs", ranges[0], "denied_cidrs", ranges[1],
	    "allowed_domains", names);
}

static void on_changed(void *user, const struct warden_reply *re)
{
	struct change *ch = user;
	struct sandbox *sb = ch->sb;

	if (sandbox_gone(sb)) {
		reply_no_sandbox(ch->r, str_of(sb->id));
	} else if (re->no == EBUSY) {
		reply_error(ch->r, 429, "too many changes of the network of sandbox '%s' at once", sb->id);
	} else if (re->no) {
		reply_error(ch->r, 500, "could not change the network: %s", re->text);
	} else {
		json_decref(sb->spec.network);
		sb->spec.network = take_ptr(&ch->spec.network);
		sb->spec.mask_host = ch->spec.mask_host;
		policy_free(sb->spec.policy);
		sb->spec.policy = take_ptr(&ch->spec.policy);
		sb->spec.flags = ch->spec.flags;
		row_set_network(sb);
		sandbox_event(sb, EVENT_UPDATED, network_event(sb->spec.network));
		if (spec_has_rules(&sb->spec))
			rules_push(sb, on_ruled, ch);
		else
			changed(ch);
		return;
	}
	change_free(ch);
}

/* Keeps the fields that an update cannot change; all others come from the body or are cleared. */
static json_t *merge(const json_t *old, const json_t *body)
{
	static const char *const kept[] = { "allowPublicTraffic", "maskRequestHost", "httpsPorts" };
	static const char *const given[] = { "allowOut", "denyOut", "dnsServers", "rules", "egressProxy" };
	json_t *all = json_object();

	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		if (json_object_get(old, kept[i]))
			(void)json_object_set(all, kept[i], json_object_get(old, kept[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(given); i++) {
		if (json_object_get(body, given[i]))
			(void)json_object_set(all, given[i], json_object_get(body, given[i]));
	}
	return all;
}

static int parse(const struct sandbox *sb, const json_t *body, struct spec *ret, struct err *e)
{
	const uint32_t policy = SPEC_NO_INTERNET | SPEC_INTERNET_ASKED | SPEC_INTERNET_FALSE;
	const json_t *v = json_object_get(body, "allow_internet_access");
	autojson json_t *network = merge(sb->spec.network, body);
	bool allow = true;

	*ret = (struct spec) { .flags = sb->spec.flags & ~policy };
	if (json_get_bool(body, "allow_internet_access", &allow, e) < 0)
		return -e->no;
	if (v && !json_is_null(v))
		ret->flags |= SPEC_INTERNET_ASKED | (allow ? 0 : SPEC_INTERNET_FALSE | SPEC_NO_INTERNET);
	return spec_network(network, ret, e);
}

void api_network(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	autojson json_t *body = sb ? req_json(r, true) : NULL;
	autobuf struct buf msg = BUF_INIT(MSG_MAX);
	struct msg_network m = { 0 };
	struct spec sp;
	struct err e;

	if (!body)
		return;
	if (parse(sb, body, &sp, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (spec_check_secrets(r->api->link, sb->team, &sp, &e) < 0) {
		spec_done(&sp);
		reply_err(r, &e);
		return;
	}
	if (sb->state != SANDBOX_RUNNING) {
		spec_done(&sp);
		if (sb->state == SANDBOX_PAUSED)
			reply_error(r, 404, "sandbox '%s' is not running", sb->id);
		else
			reply_error(r, 409, "sandbox '%s' is being paused or resumed", sb->id);
		return;
	}

	struct change *ch = must_alloc(sizeof *ch);

	ch->r = req_ref(r);
	ch->sb = sandbox_ref(sb);
	ch->spec = sp;
	memcpy(m.id, sb->id, sizeof m.id);
	memcpy(m.request, r->id, sizeof m.request);
	m.flags = sp.flags & SPEC_NO_INTERNET ? NETWORK_NO_INTERNET : 0;
	warden_compose(&msg, &m, sizeof m, offsetof(struct msg_network, n_policy), sp.policy);
	(void)warden_ask(r->api->link->warden, OP_NETWORK, msg.p, msg.n, on_changed, ch);
}
