//! What a function in Zig uses. docs/functions.md describes requests, responses and operations.
const std = @import("std");

pub const Header = [2][]const u8;

pub const Request = struct {
    method: []const u8,
    url: []const u8,
    headers: []const Header = &.{},
    body: []const u8 = "",
    /// Instead of `body`, if the body is not text.
    body_base64: []const u8 = "",

    pub fn header(self: Request, name: []const u8) ?[]const u8 {
        for (self.headers) |pair| {
            if (std.ascii.eqlIgnoreCase(pair[0], name)) return pair[1];
        }
        return null;
    }
};

pub const Response = struct {
    status: u16 = 200,
    headers: []const Header = &.{.{ "content-type", "text/plain; charset=utf-8" }},
    body: []const u8 = "",
};

extern "stead" fn call(operation: [*]const u8, operation_size: usize, argument: [*]const u8, argument_size: usize) u64;

/// Asks the platform for something. What `argument` contains depends on the operation.
pub fn ask(arena: std.mem.Allocator, operation: []const u8, argument: anytype) !std.json.Value {
    const text = try std.json.Stringify.valueAlloc(arena, argument, .{});
    const result = call(operation.ptr, operation.len, text.ptr, text.len);
    const place: [*]const u8 = @ptrFromInt(@as(usize, @intCast(result >> 32)));
    const answer = place[0..@as(usize, @intCast(result & 0xFFFFFFFF))];
    const parsed = try std.json.parseFromSliceLeaky(std.json.Value, arena, answer, .{});
    return parsed.object.get("ok") orelse error.Refused;
}
