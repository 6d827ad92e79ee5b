/* SPDX-License-Identifier: Apache-2.0 */
/* client/git: what the files about git share: a command line, and one call. */
#pragma once

#include "client/client.h"

#define GIT_WORDS_MAX 128

struct git_words {
	const char *v[GIT_WORDS_MAX + 1];
	size_t n;
	bool full;
};

void git_word(struct git_words *w, const char *word);

/* "git -C DIR", after a look at what the caller gave. */
int git_begin(const struct atoll_git *given, struct atoll_git *g, struct git_words *w, struct atoll_error *e);
/* a name from outside must not become an option; NULL is fine */
int git_check_name(const char *what, const char *z, struct atoll_error *e);

/* Runs it, with the login for the host of url. The exit status is no failure here. */
int git_run(struct atoll_sandbox *sb, const struct atoll_git *g, const char *url, const struct git_words *w,
    struct atoll_output **ret, struct atoll_error *e);

/* The same, and a failure of git is one; what: its verb. ret_text: what it wrote, to be freed; NULL: of no interest. */
int git_do(struct atoll_sandbox *sb, const struct atoll_git *g, const char *url, const struct git_words *w,
    const char *what, char **ret_text, struct atoll_error *e);

/* -EACCES: the remote did not let us in; -EIO: git failed, for the reason that it wrote last. */
int git_judge(const char *what, const struct atoll_output *o, const struct atoll_git *g, struct atoll_error *e);

/* What git would send a password to: the URL of the remote; to be freed. */
char *git_remote_url(struct atoll_sandbox *sb, const struct atoll_git *g, const char *remote);

/* --- client/git_pull.c --- */

/* As atoll_git_pull(). ret_conflicts: names of files in conflict, each ended by a NUL, and an empty one; to be freed;
 * NULL: there are none. */
int git_pull(struct atoll_sandbox *sb, const struct atoll_git *given, const char *remote, const char *branch,
    char **ret_conflicts, struct atoll_error *e);

/* --- client/git_owner.c --- */

/* Code runs as root and commands as the user, so one of them may not write what the other made. True: all of the
 * repository is the user's now, and what failed as o says may be tried again. */
bool git_repair_owner(struct atoll_sandbox *sb, const struct atoll_git *g, const struct atoll_output *o);
