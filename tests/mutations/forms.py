"""All forms of mutation, in the order of the table in docs/in-place.md."""
import slices  # noqa: F401
import indexed  # noqa: F401
import whole  # noqa: F401
import run_time  # noqa: F401
import views  # noqa: F401
import meanings  # noqa: F401
