"""A coherent memory: whatever is done to it, every read path says what the plain model says."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from machine import CoherentMemory


def drive(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        CoherentMemory,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


def test_every_read_path_says_what_the_plain_model_says() -> None:
    """The promise: nothing acknowledged is lost, nothing abandoned is recalled."""
    drive(examples=8, steps=30)


@pytest.mark.slow
def test_every_read_path_says_what_the_plain_model_says_for_long() -> None:
    """The same with many more and longer stories."""
    drive(examples=600, steps=50)
