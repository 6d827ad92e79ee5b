/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/spec: the body of POST /sandboxes. */
#include "front/sandbox/spec.h"

#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/limits.h"
#include "front/account/quota.h"
#include "front/link/links.h"
#include "front/link/saved.h"
#include "front/sandbox/catalog.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/snapshots.h"
#include "front/sandbox/spec_rules.h"
#include "http/json.h"
#include "ipc/policy.h"

#define TIMEOUT_V1_S 15
#define TIMEOUT_V2_S 300
#define MAP_ENTRIES_MAX 256
#define METADATA_BYTES_MAX (64 * 1024)
#define ENV_BYTES_MAX (128 * 1024)

int field_int(const json_t *o, const char *field, int64_t min, int64_t max, int64_t *ret, bool *ret_given,
    struct err *e)
{
	const json_t *v = json_object_get(o, field);

	*ret_given = v && !json_is_null(v);
	if (!*ret_given)
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < min || json_integer_value(v) > max)
		return err_set(e, EINVAL, "field '%s' must be an integer from %lld to %lld", field, (long long)min,
		    (long long)max);
	*ret = json_integer_value(v);
	return 0;
}

static int flag(const json_t *o, const char *field, uint32_t bit, uint32_t *flags, struct err *e)
{
	bool on = false;

	if (json_get_bool(o, field, &on, e) < 0)
		return -e->no;
	if (on)
		*flags |= bit;
	return 0;
}

/* Checks a map of strings of limited size. The object belongs to the request; *ret is a new reference to it. */
static int string_map(const json_t *o, const char *field, size_t bytes_max, json_t **ret, struct err *e)
{
	json_t *map = NULL, *v;
	const char *key;
	size_t bytes = 0;

	if (json_get_obj(o, field, &map, e) < 0)
		return -e->no;
	if (!map)
		return 0;
	if (json_check_str_map(map, field, e) < 0)
		return -e->no;
	json_object_foreach(map, key, v) bytes += strlen(key) + json_string_length(v);
	if (json_object_size(map) > MAP_ENTRIES_MAX || bytes > bytes_max)
		return err_set(e, EINVAL, "field '%s' must have at most %d entries and %zu bytes", field,
		    MAP_ENTRIES_MAX, bytes_max);
	*ret = json_incref(map);
	return 0;
}

static int check_env_names(const json_t *env, struct err *e)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)env, key, v)
	{
		if (!*key || strchr(key, '='))
			return err_set(e, EINVAL,
			    "field 'envVars' has a bad name '%.60s': it must not be empty or contain '='", key);
	}
	return 0;
}

/* Looks for one of the caller's own snapshots. */
static bool take_snapshot(const struct sandboxes *all, const char *team, const char *text, struct spec *sp)
{
	struct snapshot_ref ref;
	struct err e;
	const struct snapshot *sn = snapshot_ref_parse(str_of(text), &ref, &e) < 0 ? NULL
										   : snapshot_find(all, team, &ref);

	if (!sn)
		return false;
	sp->tpl = sn->base;
	memcpy(sp->tpl.id, sn->template_id, sizeof sp->tpl.id);
	snapshot_build_id(sn, sp->tpl.build);
	if (sn->alias[0])
		memcpy(sp->tpl.name, sn->alias, sizeof sp->tpl.name);
	sp->limits = sn->limits;
	memcpy(sp->from, sn->saved, sizeof sp->from);
	sp->from_what = sn->what;
	memcpy(sp->parent, sn->source, sizeof sp->parent);
	if (spec_volumes_load(sn->volumes, sp) < 0)
		log_warn("ignoring the malformed volumes of a snapshot", "snapshot=%s", sn->template_id);
	return true;
}

static int parse_template(const struct sandboxes *all, const char *team, const json_t *body, struct spec *sp,
    struct err *e)
{
	const char *ref = NULL;
	struct catalog_entry en;

	if (json_need_str(body, "templateID", &ref, e) < 0)
		return -e->no;
	if (!template_ref_valid(str_of(ref)))
		return err_set(e, EINVAL,
		    "field 'templateID' must be a name of letters, digits, '-' and '_', or namespace/name:tag");
	if (take_snapshot(all, team, ref, sp))
		return 0;
	if (catalog_find(all, team, str_of(ref), &en, e) < 0)
		return -e->no;
	sp->tpl = en.tpl;
	sp->limits = en.limits;
	memcpy(sp->from, en.saved, sizeof sp->from);
	sp->from_what = en.what;
	sp->from_built = en.is_built;
	return 0;
}

static int parse_timeout(const struct sandboxes *all, const json_t *body, enum spec_version ver, struct spec *sp,
    struct err *e)
{
	int64_t s = ver == SPEC_V1 ? TIMEOUT_V1_S : TIMEOUT_V2_S;
	bool given;

	if (field_int(body, "timeout", 1, all->link->opt.max_timeout_s, &s, &given, e) < 0)
		return -e->no;
	sp->timeout_s = (uint32_t)(s < all->link->opt.max_timeout_s ? s : all->link->opt.max_timeout_s);
	return 0;
}

static int parse_pausing(const json_t *body, struct spec *sp, struct err *e)
{
	json_t *resume = NULL;
	bool keep_memory = true;

	if (flag(body, "autoPause", SPEC_AUTO_PAUSE, &sp->flags, e) < 0 ||
	    json_get_bool(body, "autoPauseMemory", &keep_memory, e) < 0 ||
	    json_get_obj(body, "autoResume", &resume, e) < 0)
		return -e->no;
	if (resume && flag(resume, "enabled", SPEC_AUTO_RESUME, &sp->flags, e) < 0)
		return err_wrap(e, "field 'autoResume'");
	if (!keep_memory) {
		if (!(sp->flags & SPEC_AUTO_PAUSE))
			return err_set(e, EINVAL, "field 'autoPauseMemory' needs 'autoPause'");
		if (sp->flags & SPEC_AUTO_RESUME)
			return err_set(e, EINVAL,
			    "field 'autoPauseMemory' must not be false together with 'autoResume'");
		sp->flags |= SPEC_PAUSE_DISK;
	}
	return 0;
}

static int parse_internet(const json_t *body, struct spec *sp, struct err *e)
{
	const json_t *v = json_object_get(body, "allow_internet_access");
	json_t *network = NULL;
	bool allow = true;

	if (json_get_bool(body, "allow_internet_access", &allow, e) < 0 ||
	    json_get_obj(body, "network", &network, e) < 0)
		return -e->no;
	if (v && !json_is_null(v))
		sp->flags |= SPEC_INTERNET_ASKED | (allow ? 0 : SPEC_INTERNET_FALSE | SPEC_NO_INTERNET);
	if (network && spec_network(network, sp, e) < 0)
		return -e->no;
	if ((sp->flags & SPEC_PRIVATE_TRAFFIC) && !(sp->flags & SPEC_SECURE))
		return err_set(e, EINVAL,
		    "You cannot create a sandbox without public access unless you enable secure envd access via "
		    "'secure' flag.");
	return 0;
}

/* Unsupported fields are refused, not ignored: otherwise a program that relies on them would find out much later. */
static int refuse_unsupported(const json_t *body, struct err *e)
{
	json_t *iam = NULL, *mcp = NULL, *tokens = NULL;

	if (json_get_obj(body, "iam", &iam, e) < 0 || json_get_obj(body, "mcp", &mcp, e) < 0)
		return -e->no;
	if (iam && json_get_obj(iam, "tokens", &tokens, e) < 0)
		return err_set(e, EINVAL, "field 'iam.tokens' must be an object");
	if (json_object_size(tokens) > 0)
		return err_set(e, EINVAL,
		    "field 'iam.tokens' cannot be used: this server issues no workload identity tokens");
	return 0;
}

void spec_limits_range(const struct sandboxes *all, const char *team, const char *key, const struct template *tpl,
    struct limits_range *ret)
{
	limits_of_template(all, tpl, ret);
	quota_narrow(all->account, team, key, ret);
}

/* Parses the field `limits`. E2B does not have it: its limits come from the template. */
int spec_limits(const struct sandboxes *all, const char *team, const char *key, const json_t *body, struct spec *sp,
    struct err *e)
{
	struct limits_range range;
	struct msg_limits kept = sp->limits;
	json_t *o = NULL;

	spec_limits_range(all, team, key, &sp->tpl, &range);
	sp->limits = range.defaults;
	if (sp->from[0]) { /* a snapshot has the limits of its source */
		sp->limits.mem_bytes = kept.mem_bytes;
		sp->limits.disk_bytes = kept.disk_bytes;
		sp->limits.cpu_permille = kept.cpu_permille;
		sp->limits.pids = kept.pids;
		limits_clip(&sp->limits, &range.maxima);
	}
	if (json_get_obj(body, "limits", &o, e) < 0)
		return -e->no;
	return o ? limits_read(o, "limits.", &range, &sp->limits, e) : 0;
}

/* ret_asked: the client has named one. */
static int read_field(const json_t *body, uint32_t *ret, bool *ret_asked, struct err *e)
{
	const char *name = NULL;

	if (json_get_str(body, "engine", &name, e) < 0)
		return -e->no;
	*ret_asked = name;
	if (name && engine_kind_of(name, ret) < 0)
		return err_set(e, EINVAL, "field 'engine' must be " ENGINES_TEXT);
	return 0;
}

/* The memory of a snapshot can be restored by its own engine only. A template that was built with its memory has its
 * disk, too, and a start command. */
static int check_memory(const struct spec *sp, uint32_t kind, struct err *e)
{
	uint32_t of = saved_engine(sp->from_what);

	if (kind == of || sp->from_built)
		return 0;
	return err_set(e, EINVAL,
	    "the snapshot has the memory of a sandbox with the engine '%s', which the engine '%s' cannot restore",
	    engine_kind_name(of), engine_kind_name(kind));
}

static const struct {
	const char *name;
	uint32_t bit;
} all_needs[] = { { "docker", ENGINE_NEEDS_DOCKER }, { "fuse", ENGINE_NEEDS_FUSE } };

static int read_needs(const json_t *body, uint32_t kind, uint32_t *ret, struct err *e)
{
	const json_t *list = json_object_get(body, "needs");
	const json_t *item;
	size_t i;

	if (list && !json_is_null(list) && !json_is_array(list))
		return err_set(e, EINVAL, "field 'needs' must be a list");
	json_array_foreach((json_t *)list, i, item)
	{
		const char *name = json_string_value(item);
		uint32_t bit = 0;

		for (size_t k = 0; k < ARRAY_LEN(all_needs) && name; k++)
			bit |= strcmp(name, all_needs[k].name) == 0 ? all_needs[k].bit : 0;
		if (!bit)
			return err_set(e, EINVAL, "field 'needs' must list 'docker' or 'fuse'");
		*ret |= bit;
	}
	if (*ret && kind == ENGINE_NAMESPACES) /* nobody gets these powers over the kernel of the host */
		return err_set(e, EINVAL, "field 'needs' requires the engine 'gvisor', and this sandbox has '%s'",
		    engine_kind_name(kind));
	return 0;
}

void spec_needs_put(struct buf *out, const struct spec *sp)
{
	size_t n = 0;

	buf_z(out, ",\"needs\":[");
	for (size_t k = 0; k < ARRAY_LEN(all_needs); k++) {
		if (spec_needs(sp) & all_needs[k].bit)
			buf_fmt(out, "%s\"%s\"", n++ ? "," : "", all_needs[k].name);
	}
	buf_z(out, "]");
}

int spec_engine_pick(const struct sandboxes *all, const char *team, const char *key, const json_t *body,
    struct spec *sp, struct err *e)
{
	bool has_memory = sp->from[0] && (sp->from_what & SAVED_MEMORY), asked = false;
	const struct engine_rule rule = quota_engine(all->account, team, key);
	uint32_t kind = rule.kind, wanted = 0;

	if (read_field(body, &kind, &asked, e) < 0)
		return -e->no;
	if (!asked && has_memory && !sp->from_built && !rule.required)
		kind = saved_engine(sp->from_what);
	if (rule.required && kind != rule.kind)
		return err_set(e, EINVAL, "field 'engine' must be '%s' here: the server requires this engine",
		    engine_kind_name(rule.kind));
	if (all->engine_why[kind][0])
		return err_set(e, EINVAL, "the engine '%s' is not available on this host: %s", engine_kind_name(kind),
		    all->engine_why[kind]);
	if (read_needs(body, kind, &wanted, e) < 0)
		return -e->no;
	if (has_memory && check_memory(sp, kind, e) < 0)
		return -e->no;
	if (has_memory && kind != saved_engine(sp->from_what))
		sp->from_what = (sp->from_what & ~SAVED_MEMORY) | SAVED_START;
	spec_set_engine(sp, kind);
	sp->flags = (sp->flags & ~SPEC_NEEDS) | wanted << SPEC_NEEDS_SHIFT;
	return 0;
}

int spec_parse(const struct sandboxes *all, const char *team, const json_t *body, enum spec_version ver,
    struct spec *ret, struct err *e)
{
	struct spec sp = { .limits = all->account->defaults, .flags = ver == SPEC_V2 ? SPEC_SECURE : 0 };

	if ((ver == SPEC_V1 && flag(body, "secure", SPEC_SECURE, &sp.flags, e) < 0) ||
	    parse_timeout(all, body, ver, &sp, e) < 0 || parse_pausing(body, &sp, e) < 0 ||
	    string_map(body, "metadata", METADATA_BYTES_MAX, &sp.metadata, e) < 0 ||
	    string_map(body, "envVars", ENV_BYTES_MAX, &sp.env_vars, e) < 0 ||
	    (sp.env_vars && check_env_names(sp.env_vars, e) < 0) || parse_internet(body, &sp, e) < 0 ||
	    refuse_unsupported(body, e) < 0 || parse_template(all, team, body, &sp, e) < 0 ||
	    spec_volumes(all, team, body, &sp, e) < 0) {
		spec_done(&sp);
		return -e->no;
	}
	*ret = sp;
	return 0;
}

int spec_copy(const struct spec *sp, bool secrets, struct spec *ret, struct err *e)
{
	autojson json_t *network = secrets || !sp->network ? json_incref(sp->network) : spec_network_bare(sp->network);

	*ret = *sp;
	ret->policy = NULL;
	ret->network = NULL;
	ret->mask_host = NULL;
	(void)json_incref(ret->metadata);
	(void)json_incref(ret->env_vars);
	(void)json_incref(ret->volumes);
	if (sp->network && !network)
		(void)err_set(e, ENOMEM, "out of memory");
	else if (!sp->network || spec_network(network, ret, e) == 0)
		return 0;
	spec_done(ret); /* it was valid before; a copy without it might reach more than the original */
	return -e->no;
}

void spec_done(struct spec *sp)
{
	json_decref(sp->metadata);
	json_decref(sp->env_vars);
	json_decref(sp->network);
	json_decref(sp->volumes);
	policy_free(sp->policy);
	*sp = (struct spec) { 0 };
}
