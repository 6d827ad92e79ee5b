/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/handlers: the handlers of the control API. */
#pragma once

#include "base/str.h"

struct req;

/* sandboxes.c */
void api_create_v1(struct req *r);
void api_create_v2(struct req *r);
void api_info(struct req *r);
void api_kill(struct req *r);

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

/* console/login.c */
void api_console_login(struct req *r);
void api_console_logout(struct req *r);
void api_console_session(struct req *r);
void api_console_link(struct req *r);

/* console/oidc.c */
void api_console_ways(struct req *r);
void api_oidc_begin(struct req *r);
void api_oidc_finish(struct req *r);

/* purge.c */
void api_purge(struct req *r);

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
