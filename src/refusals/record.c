/* SPDX-License-Identifier: Apache-2.0 */
/* refusals/record: words separated by blanks.
 *
 *	audit(1794756406.423:254): auid=4294967295 uid=268566533 gid=0 ses=4294967295 pid=1030806
 *	comm="x" exe="/x" sig=0 arch=c000003e syscall=250 compat=0 ip=0x7fdeabce3829 code=0x50000
 *
 * The program controls comm and exe. The kernel writes them in hex if they contain a blank, a quote or anything
 * unprintable, so they cannot add words. The first word of a name counts. */
#include "refusals/record.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int parse_u32(struct str s, unsigned base, uint32_t *ret)
{
	uint64_t v = 0;

	if (s.n == 0 || s.n > 10)
		return -EBADMSG;
	for (size_t i = 0; i < s.n; i++) {
		int d = digit(s.p[i]);

		if (d < 0 || (unsigned)d >= base)
			return -EBADMSG;
		v = v * base + (unsigned)d;
	}
	*ret = (uint32_t)v;
	return v > UINT32_MAX ? -EBADMSG : 0;
}

static char printable(unsigned c)
{
	return c > 0x20 && c < 0x7f ? (char)c : c == ' ' ? ' ' : '?';
}

static int parse_comm(struct str s, char ret[AU_COMM_SIZE])
{
	bool quoted = s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"';
	size_t n = quoted ? s.n - 2 : s.n / 2;

	if (n >= AU_COMM_SIZE || (!quoted && s.n % 2))
		return -EBADMSG;
	memset(ret, 0, AU_COMM_SIZE);
	for (size_t i = 0; i < n; i++) {
		int high = quoted ? 0 : digit(s.p[2 * i]), low = quoted ? 0 : digit(s.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EBADMSG;
		ret[i] = printable(quoted ? (unsigned char)s.p[1 + i] : (unsigned)(high << 4 | low));
	}
	return 0;
}

int record_parse(struct str text, struct record *ret)
{
	enum { UID, PID, COMM, ARCH, NR, FIELDS };
	static const char *const names[FIELDS] = { "uid=", "pid=", "comm=", "arch=", "syscall=" };
	struct str value[FIELDS] = { { NULL, 0 } };
	uint32_t nr;

	while (text.p) {
		struct str word = str_cut(&text, ' ');

		for (size_t i = 0; i < FIELDS; i++) {
			if (value[i].p || !str_starts(word, names[i]))
				continue;
			value[i] = word;
			str_skip(&value[i], strlen(names[i]));
		}
	}
	for (size_t i = 0; i < FIELDS; i++) {
		if (!value[i].p)
			return -EBADMSG;
	}
	if (parse_u32(value[UID], 10, &ret->uid) < 0 || parse_u32(value[PID], 10, &ret->pid) < 0 ||
	    parse_u32(value[ARCH], 16, &ret->arch) < 0 || parse_comm(value[COMM], ret->comm) < 0)
		return -EBADMSG;
	/* A number above INT_MAX is printed as a negative one. */
	struct str digits = value[NR];
	bool minus = str_starts(digits, "-");

	if (minus)
		str_skip(&digits, 1);
	if (parse_u32(digits, 10, &nr) < 0 || nr > INT32_MAX)
		return -EBADMSG;
	ret->nr = minus ? -(int32_t)nr : (int32_t)nr;
	return 0;
}

static struct str last_word(struct str line)
{
	struct str last = { NULL, 0 };

	while (line.p) {
		struct str word = str_cut(&line, '\t');

		if (word.n > 0)
			last = word;
	}
	return last;
}

uint32_t record_pid_inside(struct str status, uint32_t from, uint32_t to)
{
	uint32_t uid = 0, pid = 0;
	bool known = false;

	while (status.p) {
		struct str line = str_cut(&status, '\n');

		if (str_starts(line, "Uid:")) {
			(void)str_cut(&line, '\t');
			known = line.p && parse_u32(str_cut(&line, '\t'), 10, &uid) == 0;
		} else if (str_starts(line, "NSpid:")) {
			(void)parse_u32(last_word(line), 10, &pid);
		}
	}
	return known && uid >= from && uid <= to ? pid : 0;
}
