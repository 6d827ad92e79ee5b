/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/check: shape of the fields and sizes of the messages. */
#include "ipc/check.h"

#include <string.h>

#include "base/fd.h"
#include "ipc/policy.h"

bool check_text(const char *field, size_t size)
{
	size_t i = 0;

	while (i < size && field[i])
		i++;
	if (i == size)
		return false;
	for (; i < size; i++)
		if (field[i])
			return false;
	return true;
}

bool check_id(const char id[ID_SIZE])
{
	if (!check_text(id, ID_SIZE) || !id[0])
		return false;
	for (size_t i = 0; id[i]; i++)
		if (!((id[i] >= 'a' && id[i] <= 'z') || (id[i] >= '0' && id[i] <= '9')))
			return false;
	return true;
}

bool check_request(const char request[REQUEST_ID_SIZE])
{
	size_t i;

	if (!check_text(request, REQUEST_ID_SIZE))
		return false;
	for (i = 0; request[i]; i++) {
		char c = request[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
			c == '_'))
			return false;
	}
	return i <= REQUEST_ID_MAX;
}

bool check_image_ref(const char ref[IMAGE_REF_SIZE])
{
	if (!check_text(ref, IMAGE_REF_SIZE) || !ref[0] || ref[0] == '-')
		return false;
	for (size_t i = 0; ref[i]; i++) {
		if (ref[i] <= ' ' || ref[i] > '~')
			return false;
	}
	return true;
}

/* Where the kernel's own file systems are: nothing may be put in their place. */
static bool is_system_path(const char *path)
{
	static const char *const tops[] = { "/proc", "/sys", "/dev" };

	for (size_t i = 0; i < sizeof tops / sizeof *tops; i++) {
		size_t n = strlen(tops[i]);

		if (strncmp(path, tops[i], n) == 0 && (path[n] == '/' || path[n] == '\0'))
			return true;
	}
	return false;
}

bool check_mount_path(const char *path)
{
	if (strlen(path) >= MOUNT_PATH_SIZE || path[0] != '/' || !path[1] || is_system_path(path))
		return false;
	for (const char *p = path; *p; p++) {
		size_t n = strcspn(p + 1, "/");

		if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '[' || *p == ']' || *p == '\\')
			return false;
		/* Of each part: it is not empty, and goes neither nowhere nor up. */
		if (*p == '/' && (n == 0 || (n == 1 && p[1] == '.') || (n == 2 && p[1] == '.' && p[2] == '.')))
			return false;
	}
	return true;
}

bool check_mount(const struct msg_mount *m)
{
	return check_id(m->name) && check_text(m->path, sizeof m->path) && check_mount_path(m->path);
}

bool check_template_key(const char key[TEMPLATE_KEY_SIZE])
{
	for (size_t i = 0; i < TEMPLATE_KEY_SIZE - 1; i++)
		if (!((key[i] >= 'a' && key[i] <= 'f') || (key[i] >= '0' && key[i] <= '9')))
			return false;
	return key[TEMPLATE_KEY_SIZE - 1] == '\0';
}

/* 0 is no limit, for which there must be no maximum. */
static bool check_optional(uint64_t v, uint64_t max)
{
	return !max || (v && v <= max);
}

bool msg_check_limits(const struct msg_limits *l, const struct msg_limits *max)
{
	return l->mem_bytes && l->mem_bytes <= max->mem_bytes && l->disk_bytes && l->disk_bytes <= max->disk_bytes &&
	    l->cpu_permille && l->cpu_permille <= max->cpu_permille && l->pids && l->pids <= max->pids &&
	    l->open_files && l->open_files <= max->open_files && l->swap_bytes <= max->swap_bytes &&
	    check_optional(l->io_bytes_s, max->io_bytes_s) && check_optional(l->io_ops_s, max->io_ops_s) &&
	    check_optional(l->egress_bytes, max->egress_bytes) &&
	    check_optional(l->egress_bytes_s, max->egress_bytes_s);
}

/* A type without an entry is no message, and has no size. */
static const size_t msg_sizes[] = {
	[OP_HELLO] = sizeof(struct msg_hello),
	[OP_START] = sizeof(struct msg_start),
	[OP_KILL] = sizeof(struct msg_id),
	[OP_FREEZE] = sizeof(struct msg_id),
	[OP_THAW] = sizeof(struct msg_id),
	[OP_CONNECT] = sizeof(struct msg_id),
	[OP_LIST] = sizeof(struct msg_list),
	[OP_USAGE] = sizeof(struct msg_id),
	[OP_NETWORK] = sizeof(struct msg_network),
	[OP_LOG_LEVEL] = sizeof(struct msg_level),
	[OP_SNAPSHOT] = sizeof(struct msg_keep),
	[OP_CHECKPOINT] = sizeof(struct msg_keep),
	[OP_FORGET] = sizeof(struct msg_name),
	[OP_KEPT] = sizeof(struct msg_list),
	[OP_TLS_FILE] = sizeof(struct msg_tls_file),
	[OP_VOLUME] = sizeof(struct msg_volume),
	[OP_VOLUME_DROP] = sizeof(struct msg_name),
	[OP_VOLUME_CONNECT] = sizeof(struct msg_name),
	[OP_VOLUMES] = sizeof(struct msg_list),
	[OP_LIMIT] = sizeof(struct msg_limit),
	[OP_PULL] = sizeof(struct msg_pull),
	[OP_AUDIT] = sizeof(struct msg_audit),
	[OP_DIAL] = sizeof(struct msg_dial),
	[OP_ROOM] = sizeof(struct msg_list),
	[RE_OK] = sizeof(struct msg_ok),
	[RE_ERROR] = sizeof(struct msg_error),
	[RE_HELLO] = sizeof(struct msg_welcome),
	[RE_LIST_ITEM] = sizeof(struct msg_sandbox),
	[RE_USAGE] = sizeof(struct msg_usage),
	[RE_IMAGE] = sizeof(struct msg_image),
	[RE_RELEASED] = sizeof(struct msg_ok),
	[RE_KEPT_ITEM] = sizeof(struct msg_kept),
	[RE_VOLUME_ITEM] = sizeof(struct msg_volume_item),
	[RE_AUDIT] = sizeof(struct msg_audit_file),
	[RE_ROOM] = sizeof(struct msg_room),
	[EV_EXITED] = sizeof(struct msg_exited),
	[EV_SHUTDOWN] = sizeof(struct msg_shutdown),
	[EV_LOG_LEVEL] = sizeof(struct msg_level),
	[EV_TLS_FILES] = sizeof(struct msg_ok),
	[EV_REFUSED] = sizeof(struct msg_refused),
	[EV_BLOCKED] = sizeof(struct msg_blocked),
	[EV_OOM] = sizeof(struct msg_oom),
	[EV_EGRESS] = sizeof(struct msg_ok),
	[EV_AGENT] = sizeof(struct msg_ok),
	[EV_WEBHOOKS] = sizeof(struct msg_ok),
};

size_t msg_size(enum msg_type t)
{
	return (size_t)t < ARRAY_LEN(msg_sizes) ? msg_sizes[t] : 0;
}

_Static_assert(sizeof(struct msg_welcome) <= MSG_MAX &&
	sizeof(struct msg_start) + POLICY_MAX + MOUNTS_MAX * sizeof(struct msg_mount) <= MSG_MAX,
    "the largest message must fit");
