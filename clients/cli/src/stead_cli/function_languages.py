"""The languages of functions, and what a new function looks like in each."""

LANGUAGES = {".js": "javascript", ".mjs": "javascript", ".ts": "typescript"}
LANGUAGES |= {".c": "c", ".rs": "rust", ".go": "go", ".zig": "zig"}
"""By the ending of a file."""
TEMPLATES = {
    "javascript": (
        "js",
        """export default {
  async fetch(request, env, context) {
    return new Response(`hello from ${new URL(request.url).pathname}`);
  },
};
""",
    ),
    "typescript": (
        "ts",
        """export default {
  async fetch(request: Request): Promise<Response> {
    return new Response(`hello from ${new URL(request.url).pathname}`);
  },
};
""",
    ),
    "rust": (
        "rs",
        """use stead::{Request, Response};

fn handle(request: &Request) -> Response {
    Response::text(200, format!("hello from {}", request.url))
}

stead::serve!(handle);
""",
    ),
    "go": (
        "go",
        """package main

func handle(request Request) Response {
	return Response{Body: "hello from " + request.URL}
}
""",
    ),
    "c": (
        "c",
        """#include <stead.h>

const char *handle(const char *request) {
    const char *url = stead_get(request, "url");
    return stead_respond(200, "text/plain", stead_format("hello from %s", url));
}
""",
    ),
    "zig": (
        "zig",
        """const std = @import("std");
const stead = @import("stead");

pub fn handle(arena: std.mem.Allocator, request: stead.Request) !stead.Response {
    return .{ .body = try std.fmt.allocPrint(arena, "hello from {s}", .{request.url}) };
}
""",
    ),
}
"""What `stead fn new` writes: the ending of the file, and its text."""
