/* What a function in C uses. A request, a response and what passes between a function and the platform are
   JSON; docs/functions.md describes them.

   Memory from these functions is released when the request has ended. */
#ifndef STEAD_H
#define STEAD_H

#include <stddef.h>

/* Defined by the function: answers one request with a response. */
const char *handle(const char *request);

/* Asks the platform for something. Returns {"ok": …} or {"error": {"code": …, "message": …}}. */
const char *stead_call(const char *operation, const char *argument);

/* The value of a member of a JSON object. A text is decoded, everything else is returned as it is written.
   NULL if there is no such member. */
const char *stead_get(const char *object, const char *name);

/* A text as JSON, with its quotation marks. */
const char *stead_quote(const char *text);

/* Text with a format, as by printf. */
const char *stead_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A response with this body. */
const char *stead_respond(int status, const char *content_type, const char *body);

/* Memory until the end of the request. */
void *stead_reserve(size_t size);

#endif
