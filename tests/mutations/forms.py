"""All forms of mutation, in the order of the table in docs/in-place.md."""
import slices  # noqa: F401
