/* SPDX-License-Identifier: Apache-2.0 */
/* front_send: answers and events to the front, if one is connected. */
#pragma once

#include <stdint.h>

struct unit;
struct warden;

/* Answers to one request. life is that of the front that asked; nothing is sent to a later one. */
void front_ok(struct warden *w, uint64_t life, uint32_t seq);
void front_released(struct warden *w, uint64_t life, uint32_t seq); /* another answer follows */
void front_image(struct warden *w, uint64_t life, uint32_t seq, uint64_t bytes, uint64_t dump_us);
/* With a descriptor, which it owns. */
void front_fd(struct warden *w, uint64_t life, uint32_t seq, int fd);
void front_error(struct warden *w, uint64_t life, uint32_t seq, int no, const char *text);

void front_exited(struct warden *w, const struct unit *sb);
void front_oom(struct warden *w, const struct unit *sb);
void front_shutdown(struct warden *w);
void front_set_log_level(struct warden *w); /* sends the configured level */
void front_tls_files(struct warden *w);     /* the files may have changed */
