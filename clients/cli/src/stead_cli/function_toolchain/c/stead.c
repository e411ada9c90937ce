#include "stead.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef union block {
    union block *next;
    max_align_t aligned;
} block;

static block *blocks;
static int handling;

__attribute__((import_module("stead"), import_name("call"))) extern uint64_t
call_platform(const char *operation, size_t operation_size, const char *argument, size_t argument_size);

static void release_all(void) {
    while (blocks) {
        block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

void *stead_reserve(size_t size) {
    block *made = size < SIZE_MAX - sizeof(block) ? malloc(sizeof(block) + size) : NULL;
    if (!made) abort();
    made->next = blocks;
    blocks = made;
    return made + 1;
}

/* The platform reserves memory for a request before it is handled, and for results while it is handled. */
__attribute__((export_name("stead_alloc"))) char *stead_alloc(size_t size) {
    if (!handling) release_all();
    char *made = stead_reserve(size + 1);
    made[size] = 0;
    return made;
}

__attribute__((export_name("stead_handle"))) uint64_t stead_handle(const char *request, size_t size) {
    (void)size;
    handling = 1;
    const char *response = handle(request);
    handling = 0;
    return response ? (uint64_t)(uintptr_t)response << 32 | strlen(response) : 0;
}

const char *stead_call(const char *operation, const char *argument) {
    uint64_t result = call_platform(operation, strlen(operation), argument, strlen(argument));
    return (const char *)(uintptr_t)(result >> 32);
}

const char *stead_format(const char *format, ...) {
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    int size = vsnprintf(NULL, 0, format, values);
    va_end(values);
    if (size < 0) abort();
    char *made = stead_reserve((size_t)size + 1);
    vsnprintf(made, (size_t)size + 1, format, again);
    va_end(again);
    return made;
}

const char *stead_quote(const char *text) {
    char *made = stead_reserve(6 * strlen(text) + 3), *at = made;
    *at++ = '"';
    for (const unsigned char *from = (const unsigned char *)text; *from; from++) {
        if (*from == '"' || *from == '\\') *at++ = '\\';
        if (*from < 32)
            at += sprintf(at, "\\u%04x", *from);
        else
            *at++ = (char)*from;
    }
    *at++ = '"';
    *at = 0;
    return made;
}

const char *stead_respond(int status, const char *content_type, const char *body) {
    return stead_format("{\"status\":%d,\"headers\":[[\"content-type\",%s]],\"body\":%s}", status,
                        stead_quote(content_type), stead_quote(body));
}

static const char *skip_space(const char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at++;
    return at;
}

static const char *skip_text(const char *at) {
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1]) at++;
    return *at ? at + 1 : at;
}

static const char *skip_value(const char *at) {
    if (*at == '"') return skip_text(at);
    int depth = 0;
    while (*at) {
        if (*at == '"') {
            at = skip_text(at);
            continue;
        }
        if (depth == 0 && (*at == ',' || *at == '}' || *at == ']')) return at;
        if (*at == '{' || *at == '[') depth++;
        if ((*at == '}' || *at == ']') && --depth == 0) return at + 1;
        at++;
    }
    return at;
}

static unsigned read_hex(const char *at) {
    char digits[5] = {0};
    strncpy(digits, at, 4);
    return (unsigned)strtoul(digits, NULL, 16);
}

static char *write_utf8(char *at, unsigned code) {
    if (code < 0x80) {
        *at++ = (char)code;
    } else if (code < 0x800) {
        *at++ = (char)(0xC0 | code >> 6);
        *at++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *at++ = (char)(0xE0 | code >> 12);
        *at++ = (char)(0x80 | (code >> 6 & 63));
        *at++ = (char)(0x80 | (code & 63));
    } else {
        *at++ = (char)(0xF0 | code >> 18);
        *at++ = (char)(0x80 | (code >> 12 & 63));
        *at++ = (char)(0x80 | (code >> 6 & 63));
        *at++ = (char)(0x80 | (code & 63));
    }
    return at;
}

static const char *decode_text(const char *from, const char *end) {
    static const char letters[] = "bfnrt", meanings[] = "\b\f\n\r\t";
    char *made = stead_reserve((size_t)(end - from)), *at = made;
    for (from++; from < end - 1; from++) {
        if (*from != '\\') {
            *at++ = *from;
            continue;
        }
        const char *letter = strchr(letters, *++from);
        if (*from == 'u' && end - from > 5) {
            unsigned code = read_hex(from + 1);
            from += 4;
            if (code >= 0xD800 && code < 0xDC00 && end - from > 7 && from[1] == '\\' && from[2] == 'u') {
                code = 0x10000 + ((code - 0xD800) << 10) + (read_hex(from + 3) - 0xDC00);
                from += 6;
            }
            at = write_utf8(at, code);
        } else {
            *at++ = letter && *letter ? meanings[letter - letters] : *from;
        }
    }
    *at = 0;
    return made;
}

const char *stead_get(const char *object, const char *name) {
    const char *at = skip_space(object);
    if (*at != '{') return NULL;
    at = skip_space(at + 1);
    while (*at == '"') {
        const char *end = skip_text(at);
        int found = (size_t)(end - at) == strlen(name) + 2 && !strncmp(at + 1, name, strlen(name));
        at = skip_space(end);
        if (*at != ':') return NULL;
        at = skip_space(at + 1);
        end = skip_value(at);
        if (found && *at == '"') return decode_text(at, end);
        if (found) return stead_format("%.*s", (int)(end - at), at);
        at = skip_space(end);
        if (*at == ',') at = skip_space(at + 1);
    }
    return NULL;
}
