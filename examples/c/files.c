/* SPDX-License-Identifier: Apache-2.0 */
/* Files and commands: write a file, work on it with a command, read it back, list the directory.
 *
 *	cc files.c $(pkg-config --cflags --libs libatoll) -o files && E2B_API_KEY=... ./files
 */
#include <atoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int work(struct atoll_sandbox *sb, struct atoll_error *e)
{
	static const char text[] = "three\nshort\nlines\n";
	struct atoll_output *out;
	struct atoll_entries *list;
	char *back;
	size_t n;

	if (atoll_file_put(sb, "/home/user/data/in.txt", NULL, text, strlen(text), e) < 0)
		return -1;
	/* A command that fails is no failure of the call: its status is in what comes back. */
	if (atoll_command_run(sb,
		&(struct atoll_command) { .line = "cat /home/user/data/in.txt; echo done >&2; exit 4" }, NULL, NULL,
		&out, e) < 0)
		return -1;
	(void)printf("%s%sstatus %d\n", out->out, out->err, out->exit.code);
	atoll_output_free(out);
	if (atoll_file_rename(sb, "/home/user/data/in.txt", "/home/user/data/out.txt", NULL, e) < 0 ||
	    atoll_file_get(sb, "/home/user/data/out.txt", NULL, 0, &back, &n, e) < 0)
		return -1;
	(void)printf("%zu bytes came back\n", n);
	free(back);
	if (atoll_dir_list(sb, "/home/user/data", NULL, 1, &list, e) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++)
		(void)printf("%s %llu %s\n", list->v[i].permissions, (unsigned long long)list->v[i].size,
		    list->v[i].path);
	atoll_entries_free(list);
	return 0;
}

int main(void)
{
	struct atoll *a = NULL;
	struct atoll_sandbox *sb = NULL;
	struct atoll_error e;
	int rc = -1;

	if (atoll_new(NULL, &a, &e) == 0 &&
	    atoll_sandbox_create(a, &(struct atoll_spec) { .timeout_s = 60 }, &sb, &e) == 0) {
		rc = work(sb, &e);
		(void)atoll_kill(a, atoll_sandbox_id(sb), NULL);
	}
	if (rc < 0)
		(void)fprintf(stderr, "files: %s\n", e.text);
	atoll_sandbox_free(sb);
	atoll_free(a);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
