/* SPDX-License-Identifier: Apache-2.0 */
/* agent/mcp_http: the Model Context Protocol over HTTP; its handlers are in agent/routes.h. */
#pragma once

#include "base/err.h"

struct loop;

int mcp_http_open(struct loop *l, struct err *e); /* at start */
