"""`steadctl api` with cheap password hashes: hundreds of generated passwords would take most of the time."""

from argon2 import PasswordHasher

from stead import steadctl
from stead.control.accounts import passwords

passwords._hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)

if __name__ == "__main__":
    steadctl.main()
