/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/check: the form of fields and the sizes of messages. */
#include "ipc/check.h"

#include <string.h>

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

/* The kernel's own file systems must not be covered by a mount. */
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
		/* No component may be empty, "." or "..". */
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

/* 0 means no limit, which is valid only if there is no maximum. */
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

static const struct msg_info infos[MSG_TYPES] = {
#define REQUEST(type, name_, body, answer_, other_, fd_) \
	[type] = { MSG_REQUEST, sizeof(struct body), .name = #name_, .answer = answer_, .other = other_, .fd = fd_ },
#define REPLY(type, body, more_) [type] = { MSG_REPLY, sizeof(struct body), .more = more_ },
#define EVENT(type, name_, body, fd_) [type] = { MSG_EVENT, sizeof(struct body), .name = #name_, .fd = fd_ },
#include "ipc/messages.tbl"
};

const struct msg_info *msg_info(unsigned type)
{
	return type < MSG_TYPES && infos[type].size ? &infos[type] : NULL;
}

size_t msg_size(unsigned type)
{
	const struct msg_info *i = msg_info(type);

	return i ? i->size : 0;
}

_Static_assert(sizeof(struct msg_welcome) <= MSG_MAX &&
	sizeof(struct msg_start) + POLICY_MAX + MOUNTS_MAX * sizeof(struct msg_mount) <= MSG_MAX,
    "the largest message must fit");
_Static_assert(OP_COUNT <= RE_BEFORE && RE_ROOM <= EV_BEFORE, "the lists do not overlap");
