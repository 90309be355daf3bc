"""A coherent memory: whatever is done to it, every read path says what the plain model says."""

from depth import depth, parts
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from machine import CoherentMemory


def drive(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        CoherentMemory,
        settings=settings(max_examples=examples, stateful_step_count=steps),
    )


@parts(10)
def test_every_read_path_says_what_the_plain_model_says(part: int) -> None:
    """The promise: nothing acknowledged is lost, nothing abandoned is recalled."""
    del part
    drive(examples=depth(2, 60), steps=depth(25, 50))
