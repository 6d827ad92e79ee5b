/* SPDX-License-Identifier: Apache-2.0 */
/* media: HTTP metadata of a download. */
#include "init/files/media.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "http/url.h"

#define SNIFF 512

static const struct {
	const char *ext, *type;
} types[] = {
	{ "avif", "image/avif" },
	{ "bmp", "image/bmp" },
	{ "css", "text/css; charset=utf-8" },
	{ "csv", "text/csv; charset=utf-8" },
	{ "gif", "image/gif" },
	{ "gz", "application/gzip" },
	{ "htm", "text/html; charset=utf-8" },
	{ "html", "text/html; charset=utf-8" },
	{ "ico", "image/x-icon" },
	{ "jpeg", "image/jpeg" },
	{ "jpg", "image/jpeg" },
	{ "js", "text/javascript; charset=utf-8" },
	{ "json", "application/json" },
	{ "md", "text/markdown; charset=utf-8" },
	{ "mjs", "text/javascript; charset=utf-8" },
	{ "mp3", "audio/mpeg" },
	{ "mp4", "video/mp4" },
	{ "pdf", "application/pdf" },
	{ "png", "image/png" },
	{ "svg", "image/svg+xml" },
	{ "tar", "application/x-tar" },
	{ "tif", "image/tiff" },
	{ "tiff", "image/tiff" },
	{ "txt", "text/plain; charset=utf-8" },
	{ "wasm", "application/wasm" },
	{ "wav", "audio/wav" },
	{ "webm", "video/webm" },
	{ "webp", "image/webp" },
	{ "xml", "text/xml; charset=utf-8" },
	{ "zip", "application/zip" },
};

static bool looks_like_text(struct str s)
{
	for (size_t i = 0; i < s.n && i < SNIFF; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c <= 0x08 || c == 0x0b || (c >= 0x0e && c <= 0x1a) || (c >= 0x1c && c <= 0x1f))
			return false;
	}
	return true;
}

const char *media_type(struct str name, struct str first)
{
	const char *dot = name.n ? memrchr(name.p, '.', name.n) : NULL;

	if (dot) {
		struct str ext = { dot + 1, (size_t)(name.p + name.n - dot) - 1 };

		for (size_t i = 0; i < ARRAY_LEN(types); i++)
			if (str_ieq(ext, str_of(types[i].ext)))
				return types[i].type;
	}
	return looks_like_text(first) ? "text/plain; charset=utf-8" : "application/octet-stream";
}

static bool is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~' || strchr("()<>@,;:\\\"/[]?=", s.p[i]))
			return false;
	return s.n > 0;
}

static bool is_printable(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < ' ' || s.p[i] > '~')
			return false;
	return true;
}

void media_disposition(struct buf *out, struct str name)
{
	if (is_token(name)) {
		buf_fmt(out, "inline; filename=%.*s", STR_ARG(name));
	} else if (is_printable(name)) {
		buf_z(out, "inline; filename=\"");
		for (size_t i = 0; i < name.n; i++) {
			if (name.p[i] == '"' || name.p[i] == '\\')
				buf_ch(out, '\\');
			buf_ch(out, name.p[i]);
		}
		buf_ch(out, '"');
	} else {
		buf_z(out, "inline; filename*=utf-8''");
		url_encode(out, name);
	}
}

int media_range(struct str range, uint64_t size, uint64_t *ret_from, uint64_t *ret_n)
{
	uint64_t from = 0, to = UINT64_MAX;
	struct str a;

	if (!str_starts(range, "bytes=") || memchr(range.p, ',', range.n))
		return 0; /* several ranges: sending the whole file is allowed too */
	str_skip(&range, 6);
	range = str_trim(range);
	a = str_trim(str_cut(&range, '-'));
	if (!range.p)
		return 0;
	range = str_trim(range);
	if ((a.n && str_to_u64(a, UINT64_MAX, &from) < 0) || (range.n && str_to_u64(range, UINT64_MAX, &to) < 0))
		return 0;
	if (a.n == 0) { /* a suffix range: the last `to` bytes */
		if (range.n == 0)
			return 0;
		if (to == 0 || size == 0)
			return -ERANGE;
		*ret_n = to < size ? to : size;
		*ret_from = size - *ret_n;
		return 1;
	}
	if (range.n && to < from)
		return 0;
	if (from >= size)
		return -ERANGE;
	*ret_from = from;
	*ret_n = (to < size ? to + 1 : size) - from;
	return 1;
}

/* "gzip;q=0.5": the name and 500. A malformed weight counts as 1. */
static struct str coding(struct str item, unsigned *ret_weight)
{
	struct str name = str_trim(str_cut(&item, ';'));

	*ret_weight = 1000;
	while (item.p) {
		struct str p = str_trim(str_cut(&item, ';')), whole;
		uint64_t w = 0, f = 0;

		if (p.n < 3 || (p.p[0] != 'q' && p.p[0] != 'Q') || p.p[1] != '=')
			continue;
		str_skip(&p, 2);
		whole = str_cut(&p, '.');
		if (str_to_u64(whole, 1, &w) < 0 || p.n > 3 || (p.n && str_to_u64(p, 999, &f) < 0))
			continue;
		for (size_t i = p.n; i < 3; i++)
			f *= 10;
		*ret_weight = w ? 1000 : (unsigned)f;
	}
	return name;
}

enum media_coding media_coding(struct str list, bool identity_only)
{
	bool named = false, others = false;
	unsigned identity = 1, any = 1, gzip = 0, weight;
	bool has_identity = false, has_any = false;

	while (list.p) {
		struct str name = coding(str_cut(&list, ','), &weight);

		if (str_ieq(name, STR_LIT("identity"))) {
			identity = weight;
			has_identity = true;
		} else if (str_is(name, "*")) {
			any = weight;
			has_any = true;
		} else if (str_ieq(name, STR_LIT("gzip"))) {
			gzip = weight;
			named = true;
		} else if (name.n && weight) {
			others = true;
		}
	}
	if (has_any && !any && !has_identity)
		identity = 0;
	if (has_any && any && !named)
		gzip = any;
	if (identity_only)
		return identity ? MEDIA_IDENTITY : MEDIA_NEITHER;
	if (!identity)
		return gzip ? MEDIA_GZIP : MEDIA_NEITHER;
	return named && gzip && !others && !(has_identity && identity >= gzip) ? MEDIA_GZIP : MEDIA_IDENTITY;
}

static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

void media_date(time_t t, char out[MEDIA_DATE_SIZE])
{
	struct tm tm = { 0 };

	(void)gmtime_r(&t, &tm);
	(void)snprintf(out, MEDIA_DATE_SIZE, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", days + 3 * tm.tm_wday,
	    tm.tm_mday, months + 3 * tm.tm_mon, (tm.tm_year + 1900) % 10000, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

bool media_date_parse(struct str s, time_t *ret)
{
	char z[MEDIA_DATE_SIZE], month[4] = "", day[4] = "";
	struct tm tm = { 0 };
	int end = 0;

	if (!str_copy(z, sizeof(z), s) ||
	    sscanf(z, "%3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", day, &tm.tm_mday, month, &tm.tm_year,
		&tm.tm_hour, &tm.tm_min, &tm.tm_sec, &end) != 7 ||
	    end == 0 || z[end] || strlen(month) != 3)
		return false;
	const char *m = strstr(months, month);
	if (!m || (m - months) % 3)
		return false;
	tm.tm_mon = (int)(m - months) / 3;
	tm.tm_year -= 1900;
	*ret = timegm(&tm);
	return true;
}
