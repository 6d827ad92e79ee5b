/* SPDX-License-Identifier: Apache-2.0 */
/* front/start_cmd: has the start command of a template run in a new sandbox, where its memory could not be kept. */
#pragma once

struct front;
struct start_cmd;

/* fn is called once, never from inside: no is 0, or an errno value with the reason. */
struct start_cmd *start_cmd_run(struct front *f, const char *id, void (*fn)(void *user, int no, const char *text), void *user);
void start_cmd_free(struct start_cmd *s);	/* not wanted any more; NULL is fine */
