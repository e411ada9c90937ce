"""Tests of the repository gateway, with restic and SeaweedFS."""
