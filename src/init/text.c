/* SPDX-License-Identifier: Apache-2.0 */
/* text: building blocks of API answers. */
#include "init/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/fd.h"

#define TEXT_MAX (16 * 1024 * 1024)

/* Length of the UTF-8 sequence at p, 0 if it is invalid. */
static size_t utf8_len(const unsigned char *p, size_t n)
{
	static const struct {
		unsigned char lo, hi, min2, max2;
		unsigned char len;
	} forms[] = {
		{ 0x00, 0x7f, 0x00, 0x00, 1 },
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		size_t len = forms[i].len;

		if (p[0] < forms[i].lo || p[0] > forms[i].hi)
			continue;
		if (n < len || (len > 1 && (p[1] < forms[i].min2 || p[1] > forms[i].max2)))
			return 0;
		for (size_t k = 2; k < len; k++)
			if ((p[k] & 0xc0) != 0x80)
				return 0;
		return len;
	}
	return 0;
}

json_t *text_json(struct str s)
{
	autobuf struct buf out = BUF_INIT(TEXT_MAX);
	json_t *j = s.n ? json_stringn(s.p, s.n) : json_string("");

	if (j)
		return j;
	while (s.n) {
		size_t len = utf8_len((const unsigned char *)s.p, s.n);

		if (len)
			buf_put(&out, s.p, len);
		else
			buf_z(&out, "\xef\xbf\xbd");
		str_skip(&s, len ? len : 1);
	}
	return out.bad ? json_string("") : json_stringn(out.p, out.n);
}

const char *text_errno(int no)
{
	static char text[80];

	(void)snprintf(text, sizeof(text), "%s", strerror(no));
	if (text[0] >= 'A' && text[0] <= 'Z')
		text[0] = (char)(text[0] - 'A' + 'a');
	return text;
}

void text_time(struct timespec ts, char out[TEXT_TIME_SIZE])
{
	struct tm tm;
	char base[24] = "";

	(void)gmtime_r(&ts.tv_sec, &tm);
	(void)strftime(base, sizeof(base), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(out, TEXT_TIME_SIZE, "%s.%09ldZ", base, ts.tv_nsec);
}

void text_mode(mode_t mode, char out[TEXT_MODE_SIZE])
{
	static const char rwx[] = "rwxrwxrwx";
	size_t n = 0;

	if (S_ISDIR(mode))
		out[n++] = 'd';
	if (S_ISLNK(mode))
		out[n++] = 'L';
	if (S_ISBLK(mode) || S_ISCHR(mode))
		out[n++] = 'D';
	if (S_ISFIFO(mode))
		out[n++] = 'p';
	if (S_ISSOCK(mode))
		out[n++] = 'S';
	if (mode & S_ISUID)
		out[n++] = 'u';
	if (mode & S_ISGID)
		out[n++] = 'g';
	if (S_ISCHR(mode))
		out[n++] = 'c';
	if (mode & S_ISVTX)
		out[n++] = 't';
	if (n == 0)
		out[n++] = '-';
	for (unsigned i = 0; i < 9; i++)
		out[n++] = mode & (1u << (8 - i)) ? rwx[i] : '-';
	out[n] = '\0';
}

static const char *const signal_name[] = {
	[1] = "hangup",
	[2] = "interrupt",
	[3] = "quit",
	[4] = "illegal instruction",
	[5] = "trace/breakpoint trap",
	[6] = "aborted",
	[7] = "bus error",
	[8] = "floating point exception",
	[9] = "killed",
	[10] = "user defined signal 1",
	[11] = "segmentation fault",
	[12] = "user defined signal 2",
	[13] = "broken pipe",
	[14] = "alarm clock",
	[15] = "terminated",
};

void text_status(int wait_status, char out[TEXT_STATUS_SIZE])
{
	const char *core = WIFSIGNALED(wait_status) && WCOREDUMP(wait_status) ? " (core dumped)" : "";
	unsigned sig = WIFSIGNALED(wait_status) ? (unsigned)WTERMSIG(wait_status) : 0;

	if (!sig)
		(void)snprintf(out, TEXT_STATUS_SIZE, "exit status %d", WEXITSTATUS(wait_status));
	else if (sig < ARRAY_LEN(signal_name) && signal_name[sig])
		(void)snprintf(out, TEXT_STATUS_SIZE, "signal: %s%s", signal_name[sig], core);
	else
		(void)snprintf(out, TEXT_STATUS_SIZE, "signal: signal %u%s", sig, core);
}
