/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/dispatch: sends each request to the API or to the proxy. */
#pragma once

struct api;
struct http_server_ops;

extern const struct http_server_ops dispatch_ops; /* user: struct api */

void api_tick(struct api *a); /* once a second: ends requests that take too long */
