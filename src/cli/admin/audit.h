/* SPDX-License-Identifier: Apache-2.0 */
/* cli/admin/audit: the subcommands of `atoll audit`. */
#pragma once

struct verb;

int audit_verify(const struct verb *v, int argc, char **argv);
