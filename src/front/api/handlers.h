/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/handlers: the handlers of the control API. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "front/util/time_json.h"

struct front;
struct req;
struct sandbox;
struct team;

/* sandboxes.c */
void api_create_v1(struct req *r);
void api_create_v2(struct req *r);
void api_info(struct req *r);
void api_kill(struct req *r);
json_t *sandbox_json(const struct req *r, const struct sandbox *sb); /* as in the answers of create and connect */
json_t *domain_json(const struct req *r); /* the domain of sandboxes, as this client reaches them */
void sandbox_put_listed(struct buf *out, const struct sandbox *sb, bool with_team); /* as in the lists */

/* list.c */
void api_list_v1(struct req *r);
void api_list_v2(struct req *r);
void admin_sandboxes(struct req *r);

/* lifecycle.c */
void api_timeout(struct req *r);
void api_refresh(struct req *r);
void api_connect_v1(struct req *r);
void api_connect_v2(struct req *r);
void api_pause(struct req *r);
void api_resume(struct req *r);

/* limits.c */
void api_limits(struct req *r);
void api_limits_set(struct req *r);

/* network.c */
void api_network(struct req *r);

/* secrets.c */
void api_secrets(struct req *r);
void api_secret_add(struct req *r);
void api_secret(struct req *r);
void api_secret_set(struct req *r);
void api_secret_drop(struct req *r);

/* capacity.c */
void admin_capacity(struct req *r);

/* events.c, webhooks.c */
void api_events(struct req *r);
void api_events_of(struct req *r);
void api_webhooks(struct req *r);
void api_webhook_add(struct req *r);
void api_webhook(struct req *r);
void api_webhook_set(struct req *r);
void api_webhook_drop(struct req *r);
void api_webhook_test(struct req *r);
void api_webhook_deliveries(struct req *r);

/* notebook.c */
void api_notebook(struct req *r);
void api_notebook_drain(struct req *r);
void api_notebook_over(struct req *r);

/* audit.c */
void api_audit(struct req *r);
void admin_audit(struct req *r); /* of all teams */

/* purge.c */
void api_purge(struct req *r);
/* templates.c: returns the number of deleted templates; *failed: the number of those that stay. */
int64_t templates_purge(struct front *f, const char *team, int64_t *failed);

/* volumes.c */
void api_volumes(struct req *r);
void api_volume_add(struct req *r);
void api_volume(struct req *r);
void api_volume_set(struct req *r);
void api_volume_drop(struct req *r);

/* logs.c */
void api_logs_v1(struct req *r);
void api_logs_v2(struct req *r);

/* usage.c */
void api_metrics(struct req *r);
void api_metrics_many(struct req *r);
void api_team_metrics(struct req *r);
void api_team_metrics_max(struct req *r);
void api_meter(struct req *r);
void admin_meter(struct req *r); /* of all teams */
void api_prometheus(struct req *r);

/* misc.c */
void api_health(struct req *r);
void api_teams(struct req *r);
void api_access_tokens(struct req *r);

/* templates.c */
void api_templates(struct req *r);
void api_templates_v2(struct req *r);
void api_default_templates(struct req *r);
void api_template(struct req *r);
void api_template_alias(struct req *r);
void api_template_set(struct req *r);
void api_template_drop(struct req *r);
void api_build_request(struct req *r);
void api_build_request_v1(struct req *r);

/* tags.c */
void api_tags_add(struct req *r);
void api_tags_drop(struct req *r);
void api_template_tags(struct req *r);
int tag_parse(struct str text, char ret[64]); /* in lower case; -EINVAL */

/* tag_groups.c */
void api_tag_groups(struct req *r);
void api_tag_assignments(struct req *r);
void api_tags_count(struct req *r);
void api_tag_exists(struct req *r);

/* builds.c */
void api_build_start(struct req *r);
void api_build_start_v1(struct req *r);
void api_build_status(struct req *r);
void api_build_logs(struct req *r);
void api_build_cancel(struct req *r);
void admin_template_gc(struct req *r);

/* uploads.c */
void api_upload_link(struct req *r);
int api_upload_begin(struct req *r);
void api_upload_data(struct req *r, struct str data);
void api_upload_end(struct req *r);
void api_upload_lost(struct req *r);

/* agent_pass.c: for atoll-agent */
int api_agent_begin(struct req *r);
void api_agent_data(struct req *r, struct str data);
void api_agent_end(struct req *r);
void api_agent_drain(struct req *r);
void api_agent_over(struct req *r);

/* fork.c, snapshots.c */
void api_fork(struct req *r);
void api_snapshot(struct req *r);
void api_snapshots(struct req *r);
void api_snapshot_adopt(struct req *r);
bool api_snapshot_drop(struct req *r); /* returns false, without an answer, if the path names no snapshot */
/* whether the team may have one more sandbox; -EDQUOT */
int api_check_room(const struct front *f, const char *team, struct err *e);

/* keys.c */
void api_keys(struct req *r);
void api_key_add(struct req *r);
void api_key_rename(struct req *r);
void api_key_drop(struct req *r);
void api_key_rotate(struct req *r);
void admin_keys(struct req *r);
void admin_key_add(struct req *r);
void admin_key_drop(struct req *r);
void admin_key_set(struct req *r);
void admin_key_rotate(struct req *r);
void uploads_tick(struct front *f); /* ends uploads that have stalled */
/* Whether the caller's key is no admin key and has a quota of its own. */
bool req_has_quota(struct req *r);
/* The team in the path. If there is none, sends 404 and returns NULL. */
struct team *req_team(struct req *r);

/* admin.c */
void admin_teams(struct req *r);
void admin_team_add(struct req *r);
void admin_team(struct req *r);
void admin_team_set(struct req *r);
void admin_team_drop(struct req *r);
void admin_kill(struct req *r);
void admin_running(struct req *r);
void admin_log_level(struct req *r);
void admin_log_level_set(struct req *r);
void admin_nodes(struct req *r);
struct quota;
/* Parses the field `quota` into *q. */
int read_quota(const struct front *f, const json_t *body, bool of_key, struct quota *q, struct err *e);
size_t team_sandboxes(const struct front *f, const char *team); /* in any state */
