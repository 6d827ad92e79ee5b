/* SPDX-License-Identifier: Apache-2.0 */
/* oci/report: one line per event. Write errors are ignored, because the reader may be gone. */
#include "oci/report.h"

#include "base/buf.h"
#include "base/fd.h"
#include "http/json.h"

#define LINE_MAX_ (16u << 20)

static void send_line(int fd, struct buf *b)
{
	buf_ch(b, '\n');
	if (!b->bad)
		(void)fd_write_all(fd, b->p, b->n);
}

void report_resolved(int fd, const struct digest *manifest, uint32_t layers, uint64_t bytes)
{
	autobuf struct buf b = BUF_INIT(LINE_MAX_);
	char digest[DIGEST_TEXT_SIZE];

	digest_text(manifest, digest);
	buf_fmt(&b, "{\"event\":\"resolved\",\"digest\":\"%s\",\"layers\":%u,\"bytes\":%llu}", digest, layers,
	    (unsigned long long)bytes);
	send_line(fd, &b);
}

void report_config(int fd, json_t *config)
{
	autobuf struct buf b = BUF_INIT(LINE_MAX_);

	buf_z(&b, "{\"event\":\"config\",\"config\":");
	json_put(&b, config);
	buf_ch(&b, '}');
	send_line(fd, &b);
}

void report_progress(int fd, const char *phase, uint32_t layer, uint32_t layers, uint64_t done, uint64_t total)
{
	autobuf struct buf b = BUF_INIT(LINE_MAX_);

	buf_fmt(&b, "{\"event\":\"progress\",\"phase\":\"%s\",\"layer\":%u,\"layers\":%u,\"done\":%llu,\"total\":%llu}",
	    phase, layer, layers, (unsigned long long)done, (unsigned long long)total);
	send_line(fd, &b);
}

void report_done(int fd, const char *key, bool cached)
{
	autobuf struct buf b = BUF_INIT(LINE_MAX_);

	buf_fmt(&b, "{\"event\":\"done\",\"key\":\"%s\",\"cached\":%s}", key, cached ? "true" : "false");
	send_line(fd, &b);
}

void report_error(int fd, const struct err *e)
{
	autobuf struct buf b = BUF_INIT(LINE_MAX_);

	buf_fmt(&b, "{\"event\":\"error\",\"errno\":%d,\"message\":\"", e->no);
	for (const char *c = e->text; *c; c++) {
		if (*c == '"' || *c == '\\')
			buf_fmt(&b, "\\%c", *c);
		else if ((unsigned char)*c < ' ' || (unsigned char)*c > '~') /* names in archives are arbitrary bytes */
			buf_fmt(&b, "\\u%04x", (unsigned char)*c);
		else
			buf_ch(&b, *c);
	}
	buf_z(&b, "\"}");
	send_line(fd, &b);
}
