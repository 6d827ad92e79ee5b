/* SPDX-License-Identifier: Apache-2.0 */
/* client/git: declarations shared by the git files: a command line, and one call. */
#pragma once

#include "client/client.h"

#define GIT_WORDS_MAX 128

struct git_words {
	const char *v[GIT_WORDS_MAX + 1];
	size_t n;
	bool full;
};

void git_word(struct git_words *w, const char *word);

/* Checks the caller's struct and begins the command line with "git -C DIR". */
int git_begin(const struct atoll_git *given, struct atoll_git *g, struct git_words *w, struct atoll_error *e);
/* Refuses a name that git would parse as an option; z may be NULL. */
int git_check_name(const char *what, const char *z, struct atoll_error *e);

/* Runs the command with the credentials for the host of url. A non-zero exit status is not an error here. */
int git_run(struct atoll_sandbox *sb, const struct atoll_git *g, const char *url, const struct git_words *w,
    struct atoll_output **ret, struct atoll_error *e);

/* Does the same, but a failure of git is an error; what is the subcommand for the message. *ret_text is git's output,
 * which the caller frees; ret_text may be NULL. */
int git_do(struct atoll_sandbox *sb, const struct atoll_git *g, const char *url, const struct git_words *w,
    const char *what, char **ret_text, struct atoll_error *e);

/* Returns -EACCES if the remote refused access, or -EIO if git failed otherwise, with the text that it wrote. */
int git_judge(const char *what, const struct atoll_output *o, const struct atoll_git *g, struct atoll_error *e);

/* Returns the URL of the remote, which git would send the password to. The caller frees it. */
char *git_remote_url(struct atoll_sandbox *sb, const struct atoll_git *g, const char *remote);

/* --- client/git_pull.c --- */

/* Like atoll_git_pull(). *ret_conflicts is a list of NUL-terminated names of files in conflict, followed by an empty
 * one, or NULL if there are none. The caller frees it. */
int git_pull(struct atoll_sandbox *sb, const struct atoll_git *given, const char *remote, const char *branch,
    char **ret_conflicts, struct atoll_error *e);

/* --- client/git_owner.c --- */

/* Code runs as root and commands run as the user, so each may create files that the other cannot use. If the error in
 * o is about this, gives the whole repository to the user and returns true: the command can be retried. */
bool git_repair_owner(struct atoll_sandbox *sb, const struct atoll_git *g, const struct atoll_output *o);
