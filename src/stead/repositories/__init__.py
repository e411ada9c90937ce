"""The repository gateway: nodes reach the backups of their sites through it, one site for one job."""
