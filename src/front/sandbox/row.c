/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/row: maps the fields of a sandbox to columns. */
#include "front/sandbox/row.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/spec_rules.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "front/util/vault.h"
#include "http/json.h"
#include "ipc/check.h"
#include "store/host.h"

#define JSON_MAX (2 * 1024 * 1024) /* larger than any request body */
#define OPEN_FILES_BEFORE 1024
#define SEAL_MARK "sealed:"
#define SEAL_LABEL "network %s"

/* Returns NULL for NULL. */
static const char *to_text(const json_t *j, struct buf *out)
{
	if (!j)
		return NULL;
	json_put(out, j);
	return buf_cstr(out);
}

static const char *or_null(const char *z)
{
	return *z ? z : NULL;
}

static int load_object(const char *text, json_t **ret)
{
	if (!text)
		return 0;
	*ret = json_loads(text, 0, NULL);
	return json_is_object(*ret) ? 0 : -EINVAL;
}

/* If the network has secret values it is encrypted, and the ciphertext is stored as text. */
static const char *network_text(const struct sandbox *sb, struct buf *out)
{
	autobuf struct buf plain = BUF_INIT(JSON_MAX), sealed = BUF_INIT(JSON_MAX);
	autofree char *label = str_fmt(SEAL_LABEL, sb->id);
	const json_t *network = sb->spec.network;

	if (!network || !spec_network_secret(network))
		return to_text(network, out);
	json_put(&plain, network);
	vault_seal(sb->all->link->vault, str_of(label ? label : ""), buf_view(&plain), &sealed);
	buf_z(out, SEAL_MARK);
	base64_encode(out, buf_view(&sealed), false);
	if (plain.p)
		explicit_bzero(plain.p, plain.n);
	if (!label || plain.bad || sealed.bad)
		out->bad = true;
	return buf_cstr(out);
}

static int load_network(const struct sandbox *sb, const char *text, json_t **ret)
{
	autobuf struct buf sealed = BUF_INIT(JSON_MAX), plain = BUF_INIT(JSON_MAX);
	autofree char *label = str_fmt(SEAL_LABEL, sb->id);

	if (!text || strncmp(text, SEAL_MARK, strlen(SEAL_MARK)) != 0)
		return load_object(text, ret);
	if (!label || base64_decode(str_of(text + strlen(SEAL_MARK)), &sealed) < 0 ||
	    vault_unseal(sb->all->link->vault, str_of(label), buf_view(&sealed), &plain) < 0)
		return -EINVAL;
	int r = load_object(buf_cstr(&plain), ret);

	explicit_bzero(plain.p, plain.n);
	return r;
}

static struct row_limits row_limits(const struct msg_limits *l)
{
	return (struct row_limits) {
		.mem_bytes = l->mem_bytes,
		.disk_bytes = l->disk_bytes,
		.cpu_permille = l->cpu_permille,
		.pids = l->pids,
		.swap_bytes = l->swap_bytes,
		.io_bytes_s = l->io_bytes_s,
		.io_ops_s = l->io_ops_s,
		.egress_bytes = l->egress_bytes,
		.egress_bytes_s = l->egress_bytes_s,
		.open_files = l->open_files,
	};
}

/* A row from before the limit open_files existed has none: its sandbox runs with the former default. */
static struct msg_limits limits_of_row(const struct row_limits *l)
{
	return (struct msg_limits) {
		.mem_bytes = l->mem_bytes,
		.disk_bytes = l->disk_bytes,
		.cpu_permille = l->cpu_permille,
		.pids = l->pids,
		.swap_bytes = l->swap_bytes,
		.io_bytes_s = l->io_bytes_s,
		.io_ops_s = l->io_ops_s,
		.egress_bytes = l->egress_bytes,
		.egress_bytes_s = l->egress_bytes_s,
		.open_files = l->open_files ? l->open_files : OPEN_FILES_BEFORE,
	};
}

int row_add(struct sandbox *sb, enum row_state state, struct err *e)
{
	autobuf struct buf metadata = BUF_INIT(JSON_MAX);
	autobuf struct buf env = BUF_INIT(JSON_MAX);
	autobuf struct buf network = BUF_INIT(JSON_MAX);
	const struct spec *sp = &sb->spec;
	autofree char *volumes = spec_volumes_text(sp);
	struct sandbox_row row = {
		.id = sb->id,
		.team = sb->team,
		.template_id = sp->tpl.id,
		.template_name = sp->tpl.name,
		.template_key = sp->tpl.key,
		.build = or_null(sp->tpl.build),
		.parent = or_null(sp->parent),
		.state = state,
		.created_ms = sb->created_ms,
		.started_us = sb->started_us,
		.end_ms = sb->end_ms,
		.active_ms = sb->active_ms,
		.timeout_s = sp->timeout_s,
		.flags = sp->flags,
		.key = or_null(sb->key),
		.limits = row_limits(&sp->limits),
		.envd_token = or_null(sb->envd_token),
		.traffic_token = or_null(sb->traffic_token),
		.metadata = to_text(sp->metadata, &metadata),
		.env_vars = to_text(sp->env_vars, &env),
		.network = network_text(sb, &network),
		.volumes = volumes,
	};

	if (metadata.bad || env.bad || network.bad)
		return err_set(e, E2BIG, "metadata, envVars or network is too large");
	if (sandboxes_add(sb->all->link->store, &row, e) < 0)
		return -e->no;
	sb->row = ROW_COPY_CURRENT;
	return 0;
}

int row_load(struct sandbox *sb, const struct sandbox_row *row)
{
	struct spec *sp = &sb->spec;
	struct err e;

	if (!str_copy(sb->id, sizeof sb->id, str_of(row->id)) || !check_id(sb->id) ||
	    !str_copy(sb->team, sizeof sb->team, str_of(row->team)) ||
	    !str_copy(sp->tpl.id, sizeof sp->tpl.id, str_of(row->template_id)) ||
	    !str_copy(sp->tpl.name, sizeof sp->tpl.name, str_of(row->template_name)) ||
	    !str_copy(sp->tpl.key, sizeof sp->tpl.key, str_of(row->template_key)) ||
	    !str_copy(sb->envd_token, sizeof sb->envd_token, str_of(row->envd_token ? row->envd_token : "")) ||
	    !str_copy(sb->traffic_token, sizeof sb->traffic_token,
		str_of(row->traffic_token ? row->traffic_token : "")))
		return -EINVAL;
	if (row->build)
		(void)str_copy(sp->tpl.build, sizeof sp->tpl.build, str_of(row->build));
	else
		template_build_of_key(row->template_key, sp->tpl.build);
	if (row->parent)
		(void)str_copy(sp->parent, sizeof sp->parent, str_of(row->parent));
	sb->row = ROW_COPY_CURRENT;
	sp->timeout_s = row->timeout_s;
	sp->flags = row->flags;
	sp->limits = limits_of_row(&row->limits);
	sb->sent_before = row->sent_bytes;
	(void)str_copy(sb->key, sizeof sb->key, str_of(row->key ? row->key : ""));
	if (row->kept_name &&
	    !(str_copy(sb->saved.name, sizeof sb->saved.name, str_of(row->kept_name)) && check_id(sb->saved.name)))
		return -EINVAL;
	sb->saved.what = row->kept_name ? row->kept : 0;
	sb->created_ms = row->created_ms;
	sb->started_us = row->started_us;
	sb->end_ms = row->end_ms;
	sb->active_ms = sb->noted_active_ms = row->active_ms ? row->active_ms : row->started_us / 1000;

	/* If a token is missing, the sandbox must not become accessible without one. */
	if (((sp->flags & SPEC_SECURE) && !*sb->envd_token) ||
	    ((sp->flags & SPEC_PRIVATE_TRAFFIC) && !*sb->traffic_token))
		return -EINVAL;
	if (load_object(row->metadata, &sp->metadata) < 0 || load_object(row->env_vars, &sp->env_vars) < 0 ||
	    spec_volumes_load(row->volumes, sp) < 0)
		return -EINVAL;

	json_t *network = NULL;
	int r = load_network(sb, row->network, &network);

	if (r == 0 && network)
		r = spec_network(network, sp, &e);
	json_decref(network);
	return r < 0 ? -EINVAL : 0;
}

static void complain(const struct sandbox *sb, const struct err *e)
{
	log_warn("could not write the row of a sandbox", "id=%s err=%s", sb->id, e->text);
}

int row_try(struct sandbox *sb, enum row_state state, struct err *e)
{
	struct sandbox_row row = {
		.id = sb->id,
		.state = state,
		.started_us = sb->started_us,
		.end_ms = sb->end_ms,
		.flags = sb->spec.flags,
		.kept_name = or_null(sb->saved.name),
		.kept = sb->saved.what,
		.sent_bytes = sb->sent_before,
	};

	sb->row = sandboxes_set(sb->all->link->store, &row, e) < 0 ? ROW_COPY_LAGS : ROW_COPY_CURRENT;
	return sb->row == ROW_COPY_LAGS ? -e->no : 0;
}

void row_set(struct sandbox *sb, enum row_state state)
{
	struct err e;

	if (row_try(sb, state, &e) < 0)
		complain(sb, &e);
}

void row_set_limits(const struct sandbox *sb)
{
	struct row_limits l = row_limits(&sb->spec.limits);
	struct err e;

	if (sandboxes_set_limits(sb->all->link->store, sb->id, &l, &e) < 0)
		complain(sb, &e);
}

void row_save(struct sandbox *sb)
{
	row_set(sb,
	    sb->state == SANDBOX_PAUSED         ? ROW_PAUSED
		: sb->state == SANDBOX_STARTING ? ROW_STARTING
						: ROW_RUNNING);
}

void row_set_network(const struct sandbox *sb)
{
	autobuf struct buf network = BUF_INIT(JSON_MAX);
	struct err e;

	if (sandboxes_set_network(sb->all->link->store, sb->id, sb->spec.flags, network_text(sb, &network), &e) < 0)
		complain(sb, &e);
}

void row_note_active(struct sandbox *sb)
{
	struct err e;

	uint64_t active_ms = sandbox_active_ms(sb);

	if (active_ms == sb->noted_active_ms)
		return;
	sb->noted_active_ms = active_ms;
	if (sandboxes_set_active(sb->all->link->store, sb->id, active_ms, &e) < 0)
		complain(sb, &e);
}

/* --- writes that failed and are retried ---------------------------------------------------------------------- */

struct row_ends {
	struct row_ends *next;
	char id[ID_SIZE];
	uint64_t ended_ms;
	char reason[40];
};

void row_end_id(struct sandboxes *all, const char *id, const char *reason)
{
	uint64_t now_ms = clock_wall_ms();
	struct err e;

	if (sandboxes_end(all->link->store, id, now_ms, reason, &e) == 0)
		return;
	log_warn("could not record the end of a sandbox, retrying", "id=%s err=%s", id, e.text);
	struct row_ends *re = must_alloc(sizeof *re);

	*re = (struct row_ends) { .next = all->row_ends, .ended_ms = now_ms };
	(void)str_copy(re->id, sizeof re->id, str_of(id));
	(void)str_copy(re->reason, sizeof re->reason, str_of(reason));
	all->row_ends = re;
}

void row_end(const struct sandbox *sb, const char *reason)
{
	if (sb->row != ROW_COPY_NONE)
		row_end_id(sb->all, sb->id, reason);
}

/* Waits until all ends of sandboxes are written, because some may belong to an earlier boot of the host. */
static int record_host(struct sandboxes *all, struct err *e)
{
	if (!all->host[0] || all->row_ends)
		return 0;
	if (host_set_boot_id(all->link->store, all->host, e) < 0)
		return -e->no;
	all->host[0] = '\0';
	return 0;
}

void rows_are_of(struct sandboxes *all, const char *boot_id)
{
	struct err e;

	(void)str_copy(all->host, sizeof all->host, str_of(boot_id));
	if (record_host(all, &e) < 0)
		log_warn("could not record the boot id of the host, retrying", "err=%s", e.text);
}

void rows_tick(struct sandboxes *all)
{
	struct err e;

	for (struct row_ends *re; (re = all->row_ends);) {
		if (sandboxes_end(all->link->store, re->id, re->ended_ms, re->reason, &e) < 0)
			return; /* the others would fail as well */
		all->row_ends = re->next;
		free(re);
	}
	if (record_host(all, &e) < 0)
		return;
	for (struct sandbox *sb = sandbox_table_next(all->table, NULL); sb; sb = sandbox_table_next(all->table, sb)) {
		bool settled = sb->state == SANDBOX_RUNNING || sb->state == SANDBOX_PAUSED;

		if (sb->row == ROW_COPY_LAGS && settled &&
		    row_try(sb, sb->state == SANDBOX_PAUSED ? ROW_PAUSED : ROW_RUNNING, &e) < 0)
			return;
	}
}

void rows_free(struct sandboxes *all)
{
	for (struct row_ends *re; (re = all->row_ends);) {
		all->row_ends = re->next;
		free(re);
	}
}
