/* SPDX-License-Identifier: Apache-2.0 */
/* front/api: the handlers of the control API. */
#pragma once

#include <jansson.h>

struct req;
struct sandbox;

/* api_sandboxes.c */
void api_create_v1(struct req *r);
void api_create_v2(struct req *r);
void api_info(struct req *r);
void api_kill(struct req *r);
json_t *sandbox_json(const struct sandbox *sb);			/* as create and connect answer */
json_t *sandbox_listed_json(const struct sandbox *sb);		/* as the lists have it */

/* api_list.c */
void api_list_v1(struct req *r);
void api_list_v2(struct req *r);

/* api_lifecycle.c */
void api_timeout(struct req *r);
void api_refresh(struct req *r);
void api_connect_v1(struct req *r);
void api_connect_v2(struct req *r);
void api_pause(struct req *r);
void api_resume(struct req *r);

/* api_misc.c */
void api_health(struct req *r);
void api_metrics(struct req *r);
void api_templates(struct req *r);
void api_template_alias(struct req *r);
void api_teams(struct req *r);
