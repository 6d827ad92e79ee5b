/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/webhooks: the messages between the front and atoll-webhooks, which delivers webhooks.
 *
 * A SOCK_SEQPACKET socketpair that the warden creates for the two and does not keep. One message per packet:
 * struct hk_job, then the URL and the body. Each is answered by one struct hk_done with its seq, in any order. A
 * peer that sends anything else is disconnected. The signing key of a webhook stays in the front; messages
 * contain only the signature. The warden passes the socket to atoll-webhooks with HK_FRONT and one fd. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define HK_VERSION 2
#define HK_URL_MAX 2048
#define HK_BODY_MAX (64 * 1024)
#define HK_ID_SIZE 40
#define HK_SIGNATURE_SIZE 48
#define HK_TEXT_SIZE 160
#define HK_JOBS_MAX 32 /* in progress for the front at once */
#define HK_TIMEOUT_MAX_MS 300000
#define HK_RETRY_AFTER_MAX_S 3600

enum hk_type {
	HK_FRONT = 1, /* struct hk_head and one fd, from the warden */
	HK_JOB = 2,
	HK_DONE = 64,
};

enum hk_outcome {        /* stored in the database: never renumber */
	HK_OK = 0,       /* answered with 2xx */
	HK_STATUS = 1,   /* answered with another status */
	HK_REDIRECT = 2, /* answered with 3xx, which is not followed */
	HK_TIMEOUT = 3,  /* not answered in time */
	HK_RESOLVE = 4,  /* the name has no address */
	HK_CONNECT = 5,
	HK_TLS = 6,      /* the certificate is not trusted */
	HK_REFUSED = 7,  /* the address is private, which is not allowed */
	HK_PROTOCOL = 8, /* the answer is not HTTP, or too large */
	HK_LOST = 9,     /* atoll-webhooks exited meanwhile */
	HK_OUTCOMES,
};

struct hk_head {
	uint16_t version;
	uint16_t type;
	uint32_t seq;
};

struct hk_job {
	struct hk_head head;
	uint32_t timeout_ms;
	uint32_t attempt;       /* from 1 */
	uint32_t n_url, n_body; /* bytes that follow */
	char webhook[HK_ID_SIZE], delivery[HK_ID_SIZE];
	char try[HK_ID_SIZE]; /* id of this attempt */
	char signature[HK_SIGNATURE_SIZE];
};

struct hk_done {
	struct hk_head head;
	uint32_t outcome; /* enum hk_outcome */
	uint32_t status;  /* of the answer; 0: none */
	uint32_t took_ms;
	uint32_t retry_after_s;  /* from the answer; 0: none */
	char text[HK_TEXT_SIZE]; /* the error, printable; NUL-terminated, zero padded */
};

#define HK_MAX (sizeof(struct hk_job) + HK_URL_MAX + HK_BODY_MAX)

struct webhook_url {
	bool tls;
	char host[256]; /* without the brackets of an address */
	uint16_t port;
};

/* http:// or https://, a name or an address, and an optional rest, in printable ASCII. No user, password,
 * fragment or backslash: nothing that two URL parsers could resolve to different hosts. -EINVAL, with the reason
 * in e. */
struct err;
int webhook_url_parse(struct str url, struct webhook_url *ret, struct err *e);

/* Checks a job; the two strings point into the message. -EBADMSG. */
int hk_job_check(const void *p, size_t n, struct hk_job *ret, struct str *ret_url, struct str *ret_body);
int hk_done_check(const void *p, size_t n, struct hk_done *ret);

const char *hk_outcome_name(uint32_t outcome);
