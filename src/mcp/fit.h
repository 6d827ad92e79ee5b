/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/fit: makes the result of a tool small enough for what carries it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define MCP_ANSWER_FIT (32u * 1024 * 1024) /* where nothing sets a narrower bound */

/* A CallToolResult, at most max bytes long when it is written (no less than 4096): its longest texts are cut, its
 * largest images and files left out, and it says so. False: it was small enough. */
bool mcp_fit(json_t *result, size_t max);
