/* SPDX-License-Identifier: Apache-2.0 */
/* criu_ask: what CRIU asks the process that runs it, through the library that is loaded into it (criu_preload.c). A
 * question is a word and a pid on a line; the answer is "ok" or "no". */
#pragma once

#define CRIU_ASK "ask" /* pipes in CRIU's /tmp */
#define CRIU_ANSWER "answer"
#define CRIU_SCRIPT "/tmp/ask" /* what CRIU is told to run at each stage; never executed */

#define CRIU_NETWORK "setup-namespaces"      /* a stage: the network namespace exists and is empty */
#define CRIU_SOCKETS "post-setup-namespaces" /* a stage: sockets are opened next, so the network must be complete */
#define CRIU_LOOK "pre-resume"               /* a stage: all processes are restored, and none of them runs */
