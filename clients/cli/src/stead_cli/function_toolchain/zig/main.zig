//! Connects a function with its host.
const std = @import("std");
const stead = @import("stead");
const function = @import("function");

var arena = std.heap.ArenaAllocator.init(std.heap.wasm_allocator);
var handling = false;

/// The platform reserves memory for a request before it is handled, and for results while it is handled.
export fn stead_alloc(size: usize) ?[*]u8 {
    if (!handling) _ = arena.reset(.retain_capacity);
    const made = arena.allocator().alloc(u8, size) catch @trap();
    return made.ptr;
}

export fn stead_handle(place: [*]const u8, size: usize) u64 {
    handling = true;
    defer handling = false;
    const text = respond(place[0..size]) catch |failure|
        std.fmt.allocPrint(arena.allocator(), "{{\"failed\":\"{s}\"}}", .{@errorName(failure)}) catch @trap();
    return @as(u64, @intFromPtr(text.ptr)) << 32 | text.len;
}

fn respond(text: []const u8) ![]const u8 {
    const request = try std.json.parseFromSliceLeaky(stead.Request, arena.allocator(), text, .{});
    const response: stead.Response = try function.handle(arena.allocator(), request);
    return std.json.Stringify.valueAlloc(arena.allocator(), response, .{});
}
