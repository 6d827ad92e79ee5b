/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/dispatch: the first look at each request. */
#pragma once

struct http_server_ops;

extern const struct http_server_ops dispatch_ops; /* user: struct front */
