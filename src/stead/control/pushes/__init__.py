"""Pushes: heard by hook or by asking, routed by branch, built newest only."""
