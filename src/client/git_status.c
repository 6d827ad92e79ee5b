/* SPDX-License-Identifier: Apache-2.0 */
/* client/git_status: parses the output of `git status --porcelain=v1 -z --branch`. */
#include "client/git_status.h"

#include <stdlib.h>
#include <string.h>

struct status {
	struct atoll_git_status pub; /* must be first: the public pointer is converted to this */
	char *text;                  /* git's output; owns the strings */
	struct atoll_git_file *files;
};

/* Parses "## main...origin/main [ahead 1, behind 2]", "## No commits yet on main" and "## HEAD (no branch)". */
static void parse_branch(struct status *s, char *line)
{
	static const char fresh[] = "No commits yet on ";
	char *dots = strstr(line, "..."), *counts = strstr(line, " ["), *ahead, *behind;

	if (strncmp(line, "HEAD (", 6) == 0)
		return;
	if (strncmp(line, fresh, sizeof(fresh) - 1) == 0)
		line += sizeof(fresh) - 1;
	if (counts) {
		*counts++ = '\0';
		ahead = strstr(counts, "ahead ");
		behind = strstr(counts, "behind ");
		s->pub.ahead = ahead ? atoi(ahead + 6) : 0;
		s->pub.behind = behind ? atoi(behind + 7) : 0;
	}
	if (dots) {
		*dots = '\0';
		s->pub.upstream = dots + 3;
	}
	s->pub.branch = line;
}

/* Parses NUL-terminated records of "XY path"; a rename is followed by a record with the old path. */
static void parse_status(struct status *s, size_t n)
{
	char *end = s->text + n;

	for (char *p = s->text, *next; p < end; p = next) {
		next = p + strlen(p) + 1; /* before p is modified */
		if (strncmp(p, "## ", 3) == 0) {
			parse_branch(s, p + 3);
			continue;
		}
		if (next - p < 5)
			continue;
		struct atoll_git_file *f = &s->files[s->pub.n++];

		*f = (struct atoll_git_file) { .path = p + 3, .index = p[0], .tree = p[1] };
		if ((p[0] == 'R' || p[0] == 'C') && next < end) {
			f->old_path = next;
			next += strlen(next) + 1;
		}
	}
}

struct atoll_git_status *git_status_parse(struct str text)
{
	struct status *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->text = str_dup(text);
	s->files = calloc(text.n / 4 + 1, sizeof(*s->files)); /* a record has at least 4 bytes */
	s->pub.v = s->files;
	if (!s->text || !s->files) {
		atoll_git_status_free(&s->pub);
		return NULL;
	}
	parse_status(s, text.n);
	return &s->pub;
}

void atoll_git_status_free(struct atoll_git_status *pub)
{
	struct status *s = (struct status *)pub;

	if (!s)
		return;
	free(s->text);
	free(s->files);
	free(s);
}
