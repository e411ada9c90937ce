"""Which tests a run executes: all of them, those of one feature, or those that a change may affect.

`make test SELECT=changed` executes every test that reaches a changed file through the import graph, and one
of several parts of the rest. The parts take turns with the commits, so that all tests have run after a few
landings.

A broad change, such as one of the database schema, reaches most tests. They take longer together than a
landing may, so only those that have changed or test a changed package always run, and a quarter of the others
takes its turn.
"""
