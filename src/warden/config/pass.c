/* SPDX-License-Identifier: Apache-2.0 */
/* config/pass: the settings of each program, from those of the warden. */
#include <string.h>

#include "warden/config.h"

#define COPY_TEXT(name) (void)str_copy(o->name, sizeof o->name, str_of(c->name));
#define COPY_NUMBER(name) o->name = (uint32_t)c->name;
#define COPY_FLAG(name) o->name = c->name;
#define COPY_WORD(name) o->name = c->name;
#define COPY_RANGES(name) o->name = c->name;
#define SETTING(of, form, name, ...) COPY_##form(name)

void config_for_front(const struct config *c, struct front_options *o)
{
	*o = (struct front_options) { .layout = options_layout(OPTIONS_FRONT) };
#define OF front
#include "ipc/settings_of.tbl"
}

void config_for_egress(const struct config *c, struct egress_options *o)
{
	*o = (struct egress_options) { .layout = options_layout(OPTIONS_EGRESS) };
#define OF egress
#include "ipc/settings_of.tbl"
}

void config_for_agent(const struct config *c, struct agent_options *o)
{
	*o = (struct agent_options) { .layout = options_layout(OPTIONS_AGENT) };
#define OF agent
#include "ipc/settings_of.tbl"
}

void config_for_webhooks(const struct config *c, struct webhooks_options *o)
{
	*o = (struct webhooks_options) { .layout = options_layout(OPTIONS_WEBHOOKS) };
#define OF webhooks
#include "ipc/settings_of.tbl"
}

void config_for_oidc(const struct config *c, struct oidc_options *o)
{
	*o = (struct oidc_options) { .layout = options_layout(OPTIONS_OIDC) };
#define OF oidc
#include "ipc/settings_of.tbl"
}

void config_for_refusals(const struct config *c, struct refusals_options *o)
{
	*o = (struct refusals_options) { .layout = options_layout(OPTIONS_REFUSALS) };
#define OF refusals
#include "ipc/settings_of.tbl"
}

void config_for_pull(const struct config *c, struct pull_options *o)
{
	*o = (struct pull_options) { .layout = options_layout(OPTIONS_PULL) };
#define OF pull
#include "ipc/settings_of.tbl"
}
