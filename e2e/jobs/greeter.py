"""A module of its own: only those who got it by --py-files can import it."""


def greet(name: str) -> str:
    return f"hello {name}"
