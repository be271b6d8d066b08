"""What can go wrong with a testbed; each message says what to do next."""


class TestbedError(Exception):
    """The testbed could not do what was asked; the message is meant for the person who asked."""

    __test__ = False  # pytest would otherwise take the name for a test class


class NotUp(TestbedError):
    """No testbed of that name is up."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no testbed named {name!r} is up; start one with `scripts/testbed up --name {name}`")
