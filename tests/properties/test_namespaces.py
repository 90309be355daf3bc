"""Each user and project has a namespace of its own, that the service takes."""

import re

from hypothesis import assume, example, given
from hypothesis import strategies as st

from memory_mcp.storage.supermemory.documents import namespace_of

ALIKE = st.text("aAb-_./ é0", max_size=6)
"""Names that differ only in what a namespace cannot hold."""

NAMES = st.one_of(
    st.text(max_size=120), ALIKE, st.sampled_from(["none", "None", "x", "", "p-none"])
)
PROJECTS = st.none() | NAMES


@example(user="x" * 1000, project="y" * 1000)
@example(user="\ud800", project="\udfff")
@example(user="a" * 33 + "-" * 9, project=None)
@given(user=NAMES, project=PROJECTS)
def test_a_namespace_is_one_that_the_service_takes(user: str, project: str | None) -> None:
    """Whatever people call themselves and their projects."""
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,100}", namespace_of(user, project))
    assert namespace_of(user, project) == namespace_of(user, project)


@example(one=("ada", None), two=("ada", "none"))
@example(one=("ada", None), two=("ada", ""))
@example(one=("Ada", "x"), two=("ada", "x"))
@example(one=("a_p-b", "c"), two=("a", "b_p-c"))
@example(one=("a-", "x"), two=("a", "x"))
@example(one=("x" * 44, None), two=("x" * 45, None))
@given(one=st.tuples(NAMES, PROJECTS), two=st.tuples(NAMES, PROJECTS))
def test_two_users_or_projects_never_share_one(
    one: tuple[str, str | None], two: tuple[str, str | None]
) -> None:
    """What keeps them apart in the cloud is the namespace alone."""
    assume(one != two)
    assert namespace_of(*one) != namespace_of(*two)


@given(user=NAMES, project=NAMES)
def test_a_name_made_to_look_like_another_ones_namespace_has_its_own(
    user: str, project: str
) -> None:
    """Whoever calls their project as another one's is called there does not get in."""
    namespace = namespace_of(user, project)
    its_user, _, its_project = namespace.removeprefix("cc_u-").partition("_p-")

    for other in ((its_user, project), (user, its_project), (its_user, its_project)):
        assert other == (user, project) or namespace_of(*other) != namespace


def test_plain_names_stay_readable() -> None:
    """People look at the vendor's console, too."""
    assert namespace_of("ada", "web-shop2") == "cc_u-ada_p-web-shop2"
    assert namespace_of("ada", None) == "cc_u-ada_p-none"
    assert re.fullmatch(
        r"cc_u-ada-lovelace-[0-9a-f]{10}_p-github-com-ada-shop-[0-9a-f]{10}",
        namespace_of("Ada Lovelace", "github.com/ada/shop"),
    )
