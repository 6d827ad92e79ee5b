/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/lane_serve: the requests that a lane gets. */
#pragma once

extern const struct http_server_ops lane_serve_ops; /* user: struct lane */
