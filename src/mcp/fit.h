/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/fit: makes a tool's result small enough for the transport. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define MCP_ANSWER_FIT (32u * 1024 * 1024) /* unless the transport has a lower limit */

/* Reduces a CallToolResult to at most max (>= 4096) serialized bytes. Truncates the longest texts, omits the largest
 * images and files, and adds a note. False: it was small enough. */
bool mcp_fit(json_t *result, size_t max);
