/* SPDX-License-Identifier: Apache-2.0 */
/* agent/session_log: one line of JSON per change. A line that a crash truncated is skipped.
 *
 * Variables of a session may be secrets. They are in a separate file per session, which is deleted with the session; in
 * the log they would remain until it is rewritten. */
#include "agent/session_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "http/json.h"

#define NAME "sessions.log"
#define ENVS "envs." /* followed by the session's id */
#define ENVS_MAX_BYTES (1024 * 1024)
#define FILE_MAX_BYTES (64u * 1024 * 1024)
#define REWRITE_AT (4u * 1024 * 1024)

struct kept { /* copy of the file's content in memory, for rewriting it */
	struct kept *next;
	struct atoll_session s;
};

static struct {
	pthread_mutex_t lock;
	char *dir, *path, *new_path;
	int fd;
	size_t bytes;
	struct kept *all;
} the = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

/* --- lines --- */

static void put_line(struct buf *out, const struct atoll_session *s, bool gone)
{
	autojson json_t *j = gone
	    ? json_pack("{s:s,s:b}", "id", s->id, "gone", 1)
	    : json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:s,s:b,s:[i,i,i]}", "id", s->id,
		  "sandbox", s->sandbox_id, "agent", s->agent_id, "user", s->user_id, "environment", s->environment,
		  "owner", s->owner, "created", (json_int_t)s->created_ms, "used", (json_int_t)s->last_used_ms,
		  "memory", (json_int_t)s->limits.memory_mb, "cpu", (json_int_t)s->limits.cpu_permille, "disk",
		  (json_int_t)s->limits.disk_mb, "recoveries", (json_int_t)s->recoveries, "holder", s->holder, "scope",
		  s->scope, "disposable", s->disposable, "alerts", (int)s->alerts.memory, (int)s->alerts.cpu,
		  (int)s->alerts.disk);

	if (!j)
		return;
	json_put(out, j);
	buf_ch(out, '\n');
}

static bool line_take(char *to, size_t size, const json_t *o, const char *field)
{
	const char *z = json_string_value(json_object_get(o, field));

	return z && str_copy(to, size, str_of(z));
}

/* Older logs have the owner "TEAM/KEY"; sessions belong to the team now. */
static void take_holder(struct atoll_session *s, const json_t *o)
{
	struct str key = str_of(s->owner), team = str_cut(&key, '/');

	(void)line_take(s->scope, sizeof s->scope, o, "scope");
	s->disposable = json_is_true(json_object_get(o, "disposable"));
	if (line_take(s->holder, sizeof s->holder, o, "holder") || !key.p)
		return;
	(void)str_copy(s->holder, sizeof s->holder, key);
	s->owner[team.n] = '\0';
	s->disposable = str_starts(str_of(s->agent_id), "mcp:") || strcmp(s->agent_id, "tools") == 0;
}

int session_log_parse(struct str line, struct atoll_session *ret, bool *ret_gone)
{
	struct err e = ERR_INIT;
	autojson json_t *o = NULL;
	struct atoll_session s = { 0 };

	if (json_read_object(line, false, &o, &e) < 0 || !line_take(s.id, sizeof s.id, o, "id"))
		return -EINVAL;
	*ret_gone = json_is_true(json_object_get(o, "gone"));
	if (!*ret_gone &&
	    (!line_take(s.sandbox_id, sizeof s.sandbox_id, o, "sandbox") ||
		!line_take(s.agent_id, sizeof s.agent_id, o, "agent") ||
		!line_take(s.user_id, sizeof s.user_id, o, "user") ||
		!line_take(s.environment, sizeof s.environment, o, "environment") ||
		!line_take(s.owner, sizeof s.owner, o, "owner")))
		return -EINVAL;
	take_holder(&s, o);
	(void)json_unpack(json_object_get(o, "alerts"), "[i,i,i]", (int *)&s.alerts.memory, (int *)&s.alerts.cpu,
	    (int *)&s.alerts.disk);
	s.created_ms = json_integer_value(json_object_get(o, "created"));
	s.last_used_ms = json_integer_value(json_object_get(o, "used"));
	s.limits.memory_mb = (uint64_t)json_integer_value(json_object_get(o, "memory"));
	s.limits.cpu_permille = (unsigned)json_integer_value(json_object_get(o, "cpu"));
	s.limits.disk_mb = (uint64_t)json_integer_value(json_object_get(o, "disk"));
	s.recoveries = (unsigned)json_integer_value(json_object_get(o, "recoveries"));
	*ret = s;
	return 0;
}

/* --- the copy in memory; called with the lock held --- */

static int keep(const struct atoll_session *s, bool gone)
{
	struct kept **at = &the.all;

	while (*at && strcmp((*at)->s.id, s->id) != 0)
		at = &(*at)->next;
	if (gone) {
		struct kept *old = *at;

		if (old)
			*at = old->next;
		free(old);
		return 0;
	}
	if (!*at)
		*at = calloc(1, sizeof **at);
	if (!*at)
		return -ENOMEM;
	(*at)->s = *s;
	return 0;
}

static int rewrite(struct err *e)
{
	autobuf struct buf out = BUF_INIT(FILE_MAX_BYTES);
	autoclose int fd = open(the.new_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (const struct kept *k = the.all; k; k = k->next)
		put_line(&out, &k->s, false);
	if (fd < 0)
		return err_sys(e, "create '%s'", the.new_path);
	int r = out.bad ? -EFBIG : fd_write_all(fd, out.p ? out.p : "", out.n);

	if (r < 0)
		return err_set(e, -r, "write '%s': %s", the.new_path, strerror(-r));
	if (fdatasync(fd) < 0 || rename(the.new_path, the.path) < 0)
		return err_sys(e, "rename '%s' into place", the.new_path);
	fd_close(the.fd);
	the.fd = take_fd(&fd);
	the.bytes = out.n;
	return 0;
}

static int load(struct err *e)
{
	autoclose int fd = open(the.path, O_RDONLY | O_CLOEXEC);
	autobuf struct buf text = BUF_INIT(FILE_MAX_BYTES);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "open '%s'", the.path);
	if (fstat(fd, &st) < 0 || st.st_size > FILE_MAX_BYTES)
		return err_set(e, EFBIG, "'%s' is too large", the.path);
	char *room = st.st_size ? buf_room(&text, (size_t)st.st_size) : NULL;

	if (st.st_size && (!room || fd_read_all(fd, room, (size_t)st.st_size) < 0))
		return err_set(e, EIO, "read '%s'", the.path);
	for (struct str rest = { room, room ? (size_t)st.st_size : 0 }; rest.p && rest.n > 0;) {
		struct str line = str_cut(&rest, '\n');
		struct atoll_session s;
		bool gone;

		if (session_log_parse(line, &s, &gone) == 0)
			(void)keep(&s, gone);
		else if (line.n > 0)
			log_warn("skipping an unreadable line in the session log", "bytes=%zu", line.n);
	}
	return 0;
}

/* --- variables --- */

static char *envs_path(const char *id)
{
	return strchr(id, '/') ? NULL : str_fmt("%s/" ENVS "%s", the.dir, id);
}

int session_log_put_envs(const char *id, const char *json)
{
	autofree char *path = envs_path(id);
	autoclose int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
	int r = !path ? -ENOMEM : fd < 0 ? -errno : fd_write_all(fd, json, strlen(json));

	if (r == 0 && fdatasync(fd) < 0)
		r = -errno;
	if (r < 0)
		log_error("could not store the variables of a session, continuing", "session=%s err=%s", id,
		    strerror(-r));
	return r;
}

char *session_log_envs(const char *id)
{
	autofree char *path = envs_path(id);
	autoclose int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	struct stat st;
	char *json = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= ENVS_MAX_BYTES
	    ? calloc(1, (size_t)st.st_size + 1)
	    : NULL;

	if (json && fd_read_all(fd, json, (size_t)st.st_size) < 0) {
		free(json);
		return NULL;
	}
	return json;
}

static void remove_envs(const char *id)
{
	autofree char *path = envs_path(id);

	if (path && unlink(path) < 0 && errno != ENOENT)
		log_error("could not delete the variables of a session", "session=%s err=%s", id, strerror(errno));
}

/* Deletes variables without a session: the process was killed between deleting the two. */
static void remove_stale_envs(void)
{
	DIR *d = opendir(the.dir);

	for (const struct dirent *de; d && (de = readdir(d));) {
		const struct kept *k = the.all;

		if (strncmp(de->d_name, ENVS, sizeof ENVS - 1) != 0)
			continue;
		while (k && strcmp(k->s.id, de->d_name + sizeof ENVS - 1) != 0)
			k = k->next;
		if (!k)
			remove_envs(de->d_name + sizeof ENVS - 1);
	}
	if (d)
		(void)closedir(d);
}

int session_log_open(const char *dir, void (*on_session)(void *user, const struct atoll_session *s), void *user,
    struct err *e)
{
	while (the.all) {
		struct kept *old = the.all;

		the.all = old->next;
		free(old);
	}
	free(the.dir);
	free(the.path);
	free(the.new_path);
	the.dir = strdup(dir);
	the.path = str_fmt("%s/" NAME, dir);
	the.new_path = str_fmt("%s/" NAME ".new", dir);
	if (!the.dir || !the.path || !the.new_path)
		return err_set(e, ENOMEM, "out of memory");
	if (load(e) < 0 || rewrite(e) < 0)
		return -e->no;
	remove_stale_envs();
	for (const struct kept *k = the.all; k; k = k->next)
		on_session(user, &k->s);
	return 0;
}

static void session_log_note(const struct atoll_session *s, bool gone)
{
	autobuf struct buf line = BUF_INIT(8192);
	struct err e = ERR_INIT;

	put_line(&line, s, gone);
	(void)pthread_mutex_lock(&the.lock);
	int r = keep(s, gone);

	if (r == 0 && the.bytes + line.n > REWRITE_AT)
		r = rewrite(&e);
	else if (r == 0)
		r = the.fd < 0 || line.bad ? -EBADF : fd_write_all(the.fd, line.p, line.n);
	/* Synced: a session that was returned to a client must survive a crash. */
	if (r == 0 && the.fd >= 0 && fdatasync(the.fd) < 0)
		r = -errno;
	the.bytes += line.n;
	(void)pthread_mutex_unlock(&the.lock);
	if (r < 0)
		log_error("could not record a session, continuing", "session=%s err=%s", s->id, strerror(-r));
}

void session_log_put(const struct atoll_session *s)
{
	session_log_note(s, false);
}

void session_log_remove(const struct atoll_session *s)
{
	session_log_note(s, true);
	remove_envs(s->id);
}
