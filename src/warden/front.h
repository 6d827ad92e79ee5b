/* SPDX-License-Identifier: Apache-2.0 */
/* front: the warden's side of its front: starting it, its requests, what it is told. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct unit;
struct warden;

int front_open(struct warden *w, int exe_fd, const char *exe, const char *state_dir, struct err *e);
void front_close(struct warden *w);

/* Answers to one request. life is that of the front that asked; for an earlier one nothing is sent. */
void front_ok(struct warden *w, uint64_t life, uint32_t seq);
void front_released(struct warden *w, uint64_t life, uint32_t seq); /* more will come */
void front_image(struct warden *w, uint64_t life, uint32_t seq, uint64_t bytes, uint64_t dump_us);
void front_error(struct warden *w, uint64_t life, uint32_t seq, int no, const char *text);

void front_exited(struct warden *w, const struct unit *sb);
void front_oom(struct warden *w, const struct unit *sb);
void front_shutdown(struct warden *w);
void front_set_log_level(struct warden *w); /* as it is now in the configuration */
void front_tls_files(struct warden *w);     /* they may have changed */
