/* SPDX-License-Identifier: Apache-2.0 */
/* resolvconf: parses and follows /etc/resolv.conf. */
#include "egress/resolvconf.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"

#define DNS_PORT 53
#define FILE_MAX (16 * 1024)

socklen_t upstream_len(const union upstream *u)
{
	return u->sa.sa_family == AF_INET ? sizeof u->v4 : sizeof u->v6;
}

static struct str word(struct str *line)
{
	while (line->n > 0 && (line->p[0] == ' ' || line->p[0] == '\t'))
		str_skip(line, 1);
	struct str w = { line->p, 0 };

	while (w.n < line->n && line->p[w.n] != ' ' && line->p[w.n] != '\t')
		w.n++;
	str_skip(line, w.n);
	return w;
}

static bool parse_address(struct str text, union upstream *ret)
{
	char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];

	if (!str_copy(host, sizeof host, text))
		return false;
	memset(ret, 0, sizeof *ret);
	if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons(DNS_PORT);
		return true;
	}
	char *zone = strchr(host, '%');

	if (zone)
		*zone++ = '\0';
	if (inet_pton(AF_INET6, host, &ret->v6.sin6_addr) != 1)
		return false;
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = htons(DNS_PORT);
	ret->v6.sin6_scope_id = zone ? if_nametoindex(zone) : 0;
	return true;
}

size_t resolvconf_parse(struct str text, union upstream ret[UPSTREAMS_MAX])
{
	size_t n = 0;

	while (text.p && n < UPSTREAMS_MAX) {
		struct str line = str_cut(&text, '\n');

		if (str_is(word(&line), "nameserver") && parse_address(word(&line), &ret[n]))
			n++;
	}
	return n;
}

void resolvconf_refresh(struct resolvconf *rc)
{
	char text[FILE_MAX];
	struct stat st;

	if (rc->dirfd < 0 || fstatat(rc->dirfd, "resolv.conf", &st, 0) < 0)
		return; /* keep the old servers: the file may be back soon */
	if (st.st_ino == rc->last.st_ino && st.st_size == rc->last.st_size &&
	    st.st_mtim.tv_sec == rc->last.st_mtim.tv_sec && st.st_mtim.tv_nsec == rc->last.st_mtim.tv_nsec)
		return;
	ssize_t n = file_read(rc->dirfd, "resolv.conf", text, sizeof text);
	if (n < 0)
		return;
	rc->last = st;
	rc->n = resolvconf_parse((struct str) { text, (size_t)n }, rc->up);
	log_info("read the host's name servers", "n=%zu", rc->n);
}

void resolvconf_open(struct resolvconf *rc)
{
	*rc = (struct resolvconf) { .dirfd = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	resolvconf_refresh(rc);
}

bool resolvconf_fix(struct resolvconf *rc, struct str list)
{
	rc->n = 0;
	rc->dirfd = -1;
	rc->fixed = true;
	while (list.p) {
		if (rc->n == UPSTREAMS_MAX || !parse_address(str_cut(&list, ','), &rc->up[rc->n]))
			return false;
		rc->n++;
	}
	return true;
}
