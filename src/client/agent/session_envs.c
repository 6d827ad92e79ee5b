/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/session_envs: the variables that a session was created with. They are stored as the text of a JSON
 * object, because each new sandbox of the session gets them, too. They may be secrets, so the memory is wiped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/agent/sessions.h"
#include "http/json.h"

#define ENVS_MAX 256

void session_envs_forget(char *envs)
{
	if (envs)
		explicit_bzero(envs, strlen(envs));
	free(envs);
}

int session_envs_take(const struct atoll_pair *v, size_t n, char **ret, struct atoll_error *e)
{
	autojson json_t *o = json_object();

	*ret = NULL;
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!v[i].name || !v[i].value || json_object_set_new(o, v[i].name, json_string(v[i].value)) < 0)
			return client_fail(e, EINVAL, 400, "variable %zu of the session is not valid UTF-8", i);
	}
	*ret = json_dumps(o, JSON_COMPACT);
	return *ret ? 0 : client_no_memory(e);
}

const struct atoll_pair client_git_envs[CLIENT_GIT_ENVS] = { { "GIT_CONFIG_COUNT", "1" },
	{ "GIT_CONFIG_KEY_0", "safe.directory" }, { "GIT_CONFIG_VALUE_0", "*" } };

int session_envs_for_sandbox(const char *envs, struct session_envs *ret, struct atoll_error *e)
{
	if (session_envs_read(envs ? envs : "{}", ret, e) < 0)
		return -e->no;
	/* keep git settings that the caller gave */
	if (json_object_get(ret->object, client_git_envs[0].name))
		return 0;
	for (size_t i = 0; i < CLIENT_GIT_ENVS; i++)
		ret->v[ret->n++] = client_git_envs[i];
	return 0;
}

int session_envs_read(const char *envs, struct session_envs *ret, struct atoll_error *e)
{
	struct err why = ERR_INIT;
	const char *name;
	json_t *value;

	*ret = (struct session_envs) { .n = 0 };
	if (!envs)
		return 0;
	if (json_read_object(str_of(envs), false, &ret->object, &why) < 0 ||
	    json_check_str_map(ret->object, "envs", &why) < 0) {
		session_envs_done(ret);
		return client_fail(e, EINVAL, 400, "%s", why.text);
	}
	if (json_object_size(ret->object) > ENVS_MAX) {
		session_envs_done(ret);
		return client_fail(e, EINVAL, 400, "a session can have at most %d variables", ENVS_MAX);
	}
	ret->v = calloc(json_object_size(ret->object) + CLIENT_GIT_ENVS + 1, sizeof *ret->v);
	if (!ret->v) {
		session_envs_done(ret);
		return client_no_memory(e);
	}
	json_object_foreach(ret->object, name, value)
	    ret->v[ret->n++] = (struct atoll_pair) { name, json_string_value(value) };
	return 0;
}

void session_envs_done(struct session_envs *s)
{
	free(s->v);
	json_decref(s->object);
	*s = (struct session_envs) { .n = 0 };
}

char *atoll_session_envs(struct atoll_sessions *m, const char *owner, const char *id)
{
	if (!m || !id)
		return NULL;
	(void)pthread_mutex_lock(&m->lock);
	const struct session *s = sessions_find(m, owner, id);
	char *copy = s && s->envs ? strdup(s->envs) : NULL;

	(void)pthread_mutex_unlock(&m->lock);
	return copy;
}

int atoll_session_set_envs(struct atoll_sessions *m, const char *owner, const char *id, const char *json,
    struct atoll_error *e)
{
	NEED(e, m && id && json);
	struct session_envs envs;

	if (session_envs_read(json, &envs, e) < 0)
		return -e->no;
	session_envs_done(&envs);
	char *copy = strdup(json);

	if (!copy)
		return client_no_memory(e);
	(void)pthread_mutex_lock(&m->lock);
	struct session *s = sessions_find(m, owner, id);

	if (s) {
		char *old = s->envs;

		s->envs = copy;
		copy = old;
	}
	(void)pthread_mutex_unlock(&m->lock);
	session_envs_forget(copy);
	return s ? 0 : client_fail(e, ENOENT, 404, "there is no session '%.60s'", id);
}
