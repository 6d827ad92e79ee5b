/* SPDX-License-Identifier: Apache-2.0 */
/* client/list: lists sandboxes, and gets one of them. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

#define PAGES_MAX 1000

static void fill_info(struct kept *k, void *item, json_t *o)
{
	struct atoll_info *i = item;

	*i = (struct atoll_info) {
		.id = json_text(o, "sandboxID"),
		.template_id = json_text(o, "templateID"),
		.alias = json_text_or_null(o, "alias"),
		.state = json_text(o, "state"),
		.started_at = json_text(o, "startedAt"),
		.end_at = json_text(o, "endAt"),
		.last_activity_at = json_text_or_null(o, "lastActivityAt"),
		.paused_memory = json_text_or_null(o, "pausedMemory"),
		.on_timeout = json_text_or_null(json_object_get(o, "lifecycle"), "onTimeout"),
		.cpu_count = (unsigned)json_number(o, "cpuCount", 0),
		.memory_mb = (uint64_t)json_number(o, "memoryMB", 0),
		.disk_mb = (uint64_t)json_number(o, "diskSizeMB", 0),
	};
	i->metadata = kept_pairs(k, json_object_get(o, "metadata"), &i->n_metadata);
}

static int list_of(json_t *root, struct atoll_list **ret, struct atoll_error *e)
{
	struct kept *k;

	if (kept_new(root, sizeof(struct atoll_info), fill_info, "metadata", &k, e) < 0)
		return -e->no;
	*ret = &k->list;
	return 0;
}

static int fetch_pages(struct atoll *a, json_t *all, struct atoll_error *e)
{
	autofree char *path = str_dup(STR_LIT("/v2/sandboxes?limit=100"));

	for (int page = 0; page < PAGES_MAX; page++) {
		autocall struct call c = CALL_INIT("GET", a->api_url, path);
		autojson json_t *some = NULL;

		if (api_call(a, &c, e) < 0 || call_json(&c, JSON_ARRAY, &some, e) < 0)
			return -e->no;
		c.log.op = "list_sandboxes";
		c.log.counted = "sandboxCount";
		c.log.count = json_array_size(some);
		if (json_array_extend(all, some) < 0)
			return client_no_memory(e);
		if (c.next_token[0] == '\0')
			return 0;
		free(path);
		path = api_path("/v2/sandboxes?limit=100&nextToken=", c.next_token, "");
	}
	return client_fail(e, EPROTO, 0, "the list of sandboxes does not end");
}

int atoll_list_sandboxes(struct atoll *a, struct atoll_list **ret, struct atoll_error *e)
{
	NEED(e, a && ret);
	autojson json_t *all = json_array();

	if (!all)
		return client_no_memory(e);
	if (fetch_pages(a, all, e) < 0)
		return -e->no;
	return list_of(json_incref(all), ret, e);
}

int atoll_get_sandbox(struct atoll *a, const char *id, struct atoll_list **ret, struct atoll_error *e)
{
	NEED(e, a && id && ret);
	autofree char *path = api_path("/sandboxes/", id, "");
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	json_t *root;

	if (*id == '\0')
		return client_fail(e, EINVAL, 0, "the sandbox id is empty");
	if (api_call(a, &c, e) < 0)
		return api_no_sandbox(e, id);
	if (call_json(&c, JSON_OBJECT, &root, e) < 0)
		return -e->no;
	return list_of(root, ret, e);
}

void atoll_list_free(struct atoll_list *l)
{
	kept_free((struct kept *)l);
}
