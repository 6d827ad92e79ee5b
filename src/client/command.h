/* SPDX-License-Identifier: Apache-2.0 */
/* client/command: builds the message that starts a command. */
#pragma once

#include <jansson.h>

#include "client/atoll.h"

bool command_is_tty(const struct atoll_command *cmd);
json_t *command_size(unsigned cols, unsigned rows);                              /* size of a terminal */
json_t *command_message(const struct atoll_command *cmd, struct atoll_error *e); /* NULL on error, with e set */
