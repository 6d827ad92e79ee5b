/* SPDX-License-Identifier: Apache-2.0 */
/* sni: a strict parser for RFC 8446 4.1.2 and RFC 6066 3. */
#include "egress/sni.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define RECORD_HEAD 5
#define RECORD_HANDSHAKE 22
#define RECORD_MAX 16384
#define HANDSHAKE_HEAD 4
#define CLIENT_HELLO 1
#define SESSION_ID_MAX 32
#define EXT_SERVER_NAME 0
#define NAME_HOST 0

struct in { /* a reader that cannot run past the end; `bad` is sticky */
	const uint8_t *p;
	size_t n;
	bool bad;
};

static uint32_t get(struct in *in, size_t bytes)
{
	uint32_t v = 0;

	if (in->bad || in->n < bytes) {
		in->bad = true;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v = v << 8 | in->p[i];
	in->p += bytes;
	in->n -= bytes;
	return v;
}

/* A vector that is preceded by its length. */
static struct in part(struct in *in, size_t len_bytes, size_t min, size_t max)
{
	size_t n = get(in, len_bytes);
	struct in v = { in->p, n, false };

	if (in->bad || n < min || n > max || in->n < n) {
		in->bad = true;
		return (struct in) { NULL, 0, true };
	}
	in->p += n;
	in->n -= n;
	return v;
}

static int take_name(struct in name, char ret[POLICY_NAME_SIZE])
{
	struct str text = { (const char *)name.p, name.n };

	if (memchr(name.p, '\0', name.n))
		return -EBADMSG;
	return host_parse(text, ret) == 0 && !memchr(name.p, ':', name.n) ? SNI_NAME : SNI_NONE;
}

static int parse_server_name(struct in ext, char ret[POLICY_NAME_SIZE])
{
	struct in list = part(&ext, 2, 1, 65535);
	uint32_t type = get(&list, 1);
	struct in name = part(&list, 2, 1, 65535);

	/* Exactly one name, of the only defined type: of several names, parsers might pick different ones. */
	if (ext.bad || ext.n || list.bad || list.n || name.bad || type != NAME_HOST)
		return -EBADMSG;
	return take_name(name, ret);
}

static int parse_extensions(struct in all, char ret[POLICY_NAME_SIZE])
{
	int r = SNI_NONE;
	bool seen = false;

	while (all.n > 0) {
		uint32_t type = get(&all, 2);
		struct in ext = part(&all, 2, 0, 65535);

		if (all.bad)
			return -EBADMSG;
		if (type != EXT_SERVER_NAME)
			continue;
		if (seen)
			return -EBADMSG;
		seen = true;
		r = parse_server_name(ext, ret);
		if (r < 0)
			return r;
	}
	return r;
}

static int parse_hello(struct in hello, char ret[POLICY_NAME_SIZE])
{
	(void)get(&hello, 2); /* legacy version */
	for (int i = 0; i < 8; i++)
		(void)get(&hello, 4); /* random */
	(void)part(&hello, 1, 0, SESSION_ID_MAX);
	(void)part(&hello, 2, 2, 65534); /* cipher suites */
	(void)part(&hello, 1, 1, 255);   /* compression */
	if (hello.bad)
		return -EBADMSG;
	if (hello.n == 0)
		return SNI_NONE;
	struct in all = part(&hello, 2, 0, 65535);

	return hello.bad || hello.n ? -EBADMSG : parse_extensions(all, ret);
}

/* The message may be split into records anywhere, so its bytes are joined first. */
int sni_parse(struct str in, char ret[POLICY_NAME_SIZE])
{
	static uint8_t msg[SNI_HELLO_MAX]; /* one thread, never nested */
	struct in rest = { (const uint8_t *)in.p, in.n, false };
	size_t n = 0, want = HANDSHAKE_HEAD;

	while (n < want) {
		if (rest.n < 1)
			return SNI_MORE;
		if (rest.p[0] != RECORD_HANDSHAKE || (rest.n > 1 && rest.p[1] != 3))
			return -EBADMSG;
		if (rest.n < RECORD_HEAD)
			return SNI_MORE;
		size_t len = (size_t)rest.p[3] << 8 | rest.p[4];

		if (len == 0 || len > RECORD_MAX || len > sizeof msg - n)
			return -EBADMSG;
		size_t have = rest.n - RECORD_HEAD < len ? rest.n - RECORD_HEAD : len;

		memcpy(msg + n, rest.p + RECORD_HEAD, have);
		n += have;
		if (n >= 1 && msg[0] != CLIENT_HELLO)
			return -EBADMSG;
		if (n >= HANDSHAKE_HEAD)
			want = HANDSHAKE_HEAD + ((size_t)msg[1] << 16 | (size_t)msg[2] << 8 | msg[3]);
		if (want > sizeof msg)
			return -EBADMSG;
		if (have < len)
			return n < want ? SNI_MORE : -EBADMSG;
		rest.p += RECORD_HEAD + len;
		rest.n -= RECORD_HEAD + len;
	}
	if (n > want)
		return -EBADMSG; /* a client must not send a second message yet */
	return parse_hello((struct in) { msg + HANDSHAKE_HEAD, want - HANDSHAKE_HEAD, false }, ret);
}

int host_parse(struct str value, char ret[POLICY_NAME_SIZE])
{
	struct str port = value;
	struct str host = str_cut(&port, ':');
	uint64_t n;

	if (port.p && (port.n == 0 || str_to_u64(port, 65535, &n) < 0))
		return -EINVAL;
	if (host.n > 1 && host.p[host.n - 1] == '.')
		host.n--;
	if (!str_copy(ret, POLICY_NAME_SIZE, host) || strlen(ret) != host.n)
		return -EINVAL;
	for (char *c = ret; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	return policy_name_ok(host.n ? (struct str) { ret, host.n } : STR_NULL) && ret[0] != '*' ? 0 : -EINVAL;
}
