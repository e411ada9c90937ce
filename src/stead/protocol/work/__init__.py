"""The kinds of work that a node can do. Each is one class here, and a member of `Work` in `kinds.py`.

Work names an end state, so doing it twice has the same effect as doing it once. A kind of work that returns
something names the type of its result (`result_type`), which is a member of `WorkResult`. A class that holds
secrets names their fields (`secret_fields`): they are sealed to the node (`sealed_work.py`).

A node may be older than the control plane. A field with its default is not sent, and a node refuses a field
that it does not know, instead of doing half of the work. So a new field has a default, which means what nodes
did before.
"""
