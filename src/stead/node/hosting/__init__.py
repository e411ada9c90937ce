"""Environments with processes: what each should be, its container, and when it sleeps and wakes.

Nothing here knows what runs in a container. A runtime, such as WordPress, describes its environments
(`environment.py`, `EnvironmentPlan`).
"""
