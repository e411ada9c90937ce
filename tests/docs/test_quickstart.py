"""`make quickstart` finds its commands in the documents. CI executes those of the quickstart in a journey."""

from bench.quickstart import commands_of_the_readme
from tests.clients.quickstart import documented_commands


def test_the_readme_says_how_an_installation_starts():
    assert commands_of_the_readme() == (["make", "setup"], ["make", "dev"])


def test_a_folder_is_live_with_three_commands_of_the_program():
    install, *commands = documented_commands("http://localhost:1", "here.example.com")
    assert install[:3] == ["uv", "tool", "install"]
    assert commands == [
        ["stead", "login", "--base-url", "http://localhost:1"],
        ["stead", "init", "here.example.com"],
        ["stead", "deploy"],
    ]
