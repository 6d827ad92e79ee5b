/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/uploads: archives for the COPY steps of builds: checks whether one exists, and receives it.
 *
 * The URL that a client gets for the upload is valid for one hour and for this archive only. It needs no key,
 * because clients send none: they expect the URL of a storage service. */
#include "front/api/uploads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/sandbox/catalog.h"
#include "front/util/mem.h"
#include "front/util/token.h"
#include "front/util/vault.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"
#include "store/uploads.h"

#define LINK_MS (3600 * 1000ull)
#define PIECE (512 * 1024)
#define MIB (1024 * 1024ull)
#define BLOCKED "team is blocked"
#define TAKINGS_MAX 100 /* uploads of a team at the same time: an SDK sends the files of all COPY steps in parallel */

static bool is_hash(const char *z)
{
	return strlen(z) == UPLOAD_HASH_SIZE - 1 && strspn(z, "0123456789abcdef") == UPLOAD_HASH_SIZE - 1;
}

/* A token that only this server can create, derived from team, template, hash and expiry. */
static void link_token(const struct api *a, const char *team, const char *template_id, const char *hash,
    const char *until, char ret[TOKEN_SIZE])
{
	autobuf struct buf label = BUF_INIT(1024);
	uint8_t seed[VAULT_SEED_SIZE];

	buf_fmt(&label, "upload %s %s %s %s", team, template_id, hash, until);
	vault_derive(a->link->vault, buf_view(&label), seed);
	for (size_t i = 0; i < (TOKEN_SIZE - 1) / 2; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", seed[i]);
}

static void put_link(struct req *r, const struct template_row *t, const char *hash, struct buf *out)
{
	char until[32], token[TOKEN_SIZE];
	struct str proto = http_header_get(&r->http->headers, "x-forwarded-proto");
	bool tls = str_is(proto, "https") || (!proto.n && http_is_secure(r->http));

	(void)snprintf(until, sizeof until, "%llu", (unsigned long long)clock_wall_ms() + LINK_MS);
	link_token(r->api, r->caller.team, t->id, hash, until, token);
	buf_fmt(out, "%s://%.*s/templates/%s/files/%s?until=%s&token=%s", tls ? "https" : "http",
	    STR_ARG(r->http->host), t->id, hash, until, token);
}

void api_upload_link(struct req *r)
{
	struct template_row t;
	autobuf struct buf url = BUF_INIT(2048);
	uint64_t id, bytes;
	struct err e = ERR_INIT;
	int no = catalog_row(r->api->sandbox, r->caller.team, str_of(r->param), &t, NULL, &e);

	if (no == 0 && strcmp(t.team, r->caller.team) != 0)
		no = err_set(&e, EPERM, "template '%.100s' belongs to another team", r->param);
	if (no == 0 && !is_hash(r->param2))
		no = err_set(&e, EINVAL, "the hash in the path must be 64 hex digits");
	if (no < 0) {
		reply_err(r, &e);
		return;
	}
	put_link(r, &t, r->param2, &url);
	bool present = uploads_find(r->api->link->uploads, r->caller.team, r->param2, clock_wall_ms(), &id, &bytes,
			   &e) == 0;

	reply_json(r, 201, json_pack("{s:b,s:s}", "present", (int)present, "url", buf_cstr(&url)), NULL);
}

/* --- receiving
 * ---------------------------------------------------------------------------------------------------- */

struct taking {
	LIST_ENTRY(taking) link; /* while begun */
	struct req *r;
	char team[TEAM_ID_SIZE];
	uint64_t id, pieces, bytes;
	uint64_t last_ms; /* time of the last data */
	bool begun;
};

/* Returns -EACCES if the URL is not valid or has expired. */
static int check_link(struct req *r, struct template_row *t, struct err *e)
{
	autofree char *until = NULL, *token = NULL;
	char want[TOKEN_SIZE];
	uint64_t ms;

	if (!is_hash(r->param2) || templates_by_id(r->api->link->store, r->param, t, e) < 0 ||
	    query_get(r->http->query, "until", &until) < 0 || query_get(r->http->query, "token", &token) < 0 ||
	    str_to_u64(str_of(until), UINT64_MAX, &ms) < 0)
		return err_set(e, EACCES, "this is not an address to send files to");
	link_token(r->api, t->team, t->id, r->param2, until, want);
	if (!secret_eq(str_of(want), str_of(token)))
		return err_set(e, EACCES, "this is not an address to send files to");
	return ms < clock_wall_ms() ? err_set(e, EACCES, "the time of this address is over: ask for another") : 0;
}

/* A URL is valid for an hour, but a block of the team takes effect at once. */
static bool is_blocked(const struct api *a, const char *team)
{
	const struct team *t = keyring_team(a->account->keyring, str_of(team));

	return !t || t->blocked;
}

static void begun(struct req *r, struct taking *t, const char *team)
{
	t->begun = true;
	t->r = r;
	t->last_ms = clock_mono_ms();
	(void)str_copy(t->team, sizeof t->team, str_of(team));
	LIST_INSERT_HEAD(&r->api->takings, t, link);
}

static void over(struct taking *t)
{
	if (t->begun)
		LIST_REMOVE(t, link);
	t->begun = false;
}

static void give_up(struct req *r)
{
	struct taking *t = r->work;
	struct err e;

	if (t && t->begun)
		(void)uploads_drop(r->api->link->uploads, t->id, &e);
	if (t)
		over(t);
}

static unsigned takings_of(const struct api *a, const char *team)
{
	const struct taking *t;
	unsigned n = 0;

	LIST_FOREACH(t, &a->takings, link)
	n += strcmp(t->team, team) == 0;
	return n;
}

static void refuse(struct req *r, int status, const char *text)
{
	give_up(r);
	if (r->http)
		http_close_after(r->http);
	reply_error(r, status, "%s", text);
}

/* --- space --- */

static uint64_t bytes_of(const struct api *a, const char *team)
{
	const struct taking *t;
	uint64_t n = 0;

	LIST_FOREACH(t, &a->takings, link)
	n += strcmp(t->team, team) == 0 ? t->bytes : 0;
	return n;
}

/* Cancels the largest upload of a team that uses more space than this one. Returns false if there is none. */
static bool make_way(struct api *a, const struct taking *mine)
{
	uint64_t ours = bytes_of(a, mine->team);
	struct taking *t, *largest = NULL;

	LIST_FOREACH(t, &a->takings, link)
	{
		if ((!largest || t->bytes > largest->bytes) && bytes_of(a, t->team) > ours)
			largest = t;
	}
	if (largest)
		refuse(largest->r, 507,
		    "the room for files for builds is needed by a team that takes less of it: send it again later");
	return largest;
}

/* Received data counts at once, so that uploads that are never finished cannot fill the disk, and those of one
 * team cannot block the others. */
static int flush(struct req *r, struct taking *t, struct err *e)
{
	struct api *a = r->api;
	uint64_t most = a->link->opt.template_uploads_mb * MIB;

	if (r->body.n == 0)
		return 0;
	if (uploads_put(a->link->uploads, t->id, t->pieces++, r->body.p, r->body.n, e) < 0)
		return -e->no;
	while (uploads_fit(a->link->uploads, most, e) < 0) {
		if (e->no != ENOSPC || !make_way(a, t))
			return -e->no;
		*e = ERR_INIT;
	}
	buf_clear(&r->body);
	return 0;
}

int api_upload_begin(struct req *r)
{
	struct template_row row;
	struct taking *t = r->work = must_alloc(sizeof *t);
	struct err e = ERR_INIT;

	if (check_link(r, &row, &e) < 0) {
		refuse(r, 401, e.text);
		return -1;
	}
	if (is_blocked(r->api, row.team)) {
		refuse(r, 403, BLOCKED);
		return -1;
	}
	if (r->http->content_length > 0 &&
	    (uint64_t)r->http->content_length > r->api->link->opt.template_upload_max_mb * MIB) {
		autofree char *text = str_fmt("the files have more than %u MiB",
		    r->api->link->opt.template_upload_max_mb);

		refuse(r, 413, text);
		return -1;
	}
	if (takings_of(r->api, row.team) >= TAKINGS_MAX) {
		refuse(r, 429, "the team is sending as many files at once as it may: wait until one is finished");
		return -1;
	}
	if (uploads_begin(r->api->link->uploads, row.team, r->param2, clock_wall_ms(), &t->id, &e) < 0) {
		refuse(r, 500, e.text);
		return -1;
	}
	begun(r, t, row.team);
	return 0;
}

void api_upload_data(struct req *r, struct str data)
{
	struct taking *t = r->work;
	struct err e = ERR_INIT;

	t->bytes += data.n;
	t->last_ms = clock_mono_ms();
	if (t->bytes > r->api->link->opt.template_upload_max_mb * MIB) {
		refuse(r, 413, "the files are too large");
		return;
	}
	buf_str(&r->body, data);
	if (r->body.bad || (r->body.n >= PIECE && flush(r, t, &e) < 0))
		refuse(r, e.no == ENOSPC ? 507 : 500, e.no ? e.text : "out of memory");
}

void api_upload_end(struct req *r)
{
	struct taking *t = r->work;
	struct err e = ERR_INIT;

	if (t->bytes == 0) {
		refuse(r, 400, "there are no files in it");
	} else if (flush(r, t, &e) < 0 || uploads_finish(r->api->link->uploads, t->id, t->bytes, &e) < 0) {
		refuse(r, e.no == ENOSPC ? 507 : 500, e.text);
	} else {
		over(t);
		(void)uploads_trim(r->api->link->uploads, r->api->link->opt.template_uploads_mb * MIB, &e);
		reply_empty(r, 200);
	}
}

void api_upload_lost(struct req *r)
{
	give_up(r);
}

void uploads_tick(struct api *a)
{
	uint64_t now = clock_mono_ms();
	struct taking *t, *next;

	for (t = LIST_FIRST(&a->takings); t; t = next) {
		next = LIST_NEXT(t, link);
		if (is_blocked(a, t->team))
			refuse(t->r, 403, BLOCKED);
		else if (now - t->last_ms > a->link->opt.body_timeout_s * 1000ull)
			refuse(t->r, 408, "nothing has come for too long");
	}
}
