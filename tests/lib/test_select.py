"""A queryset composed once gives what the queryset itself gives."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from accounts.models import User
from hermes_site.lib.select import Select
from memory.models import Message, Session

pytestmark = [pytest.mark.django_db, pytest.mark.rows]


def _values(row: Message) -> dict[str, object]:
    return {name: value for name, value in vars(row).items() if name != "_state"}


@pytest.fixture
def talks(alice: User, bob: User) -> list[Session]:
    made = []
    for user in (alice, bob):
        session = Session.objects.create(user=user, title=f"of {user.email}", tags=["a", "b"])
        for place in (1, 2, 3):
            Message.objects.create(
                user=user,
                session=session,
                run_id=uuid4(),
                position=place,
                role="user",
                text=f"{place}: 你好",
                metadata={"files": [{"path": "a"}]},
            )
        made.append(session)
    return made


def test_the_same_rows_with_other_ids(talks: list[Session], django_assert_num_queries) -> None:
    def compose(session_id: UUID, user_id: UUID):
        rows = Message.objects.filter(session_id=session_id, user_id=user_id, role="user")
        return rows.select_related("session", "user").order_by("-position")[:2]

    select = Select(compose)
    for session in talks:
        wanted = list(compose(session.pk, session.user_id))
        with django_assert_num_queries(1):
            found = select(session.pk, session.user_id)
            assert [row.session.tags for row in found] == [["a", "b"]] * 2
            assert {row.user.email for row in found} == {session.user.email}
        assert [_values(row)["metadata"] for row in found] == [{"files": [{"path": "a"}]}] * 2
        assert found == wanted
        assert [row.position for row in found] == [3, 2]
        assert found[0].created_at == wanted[0].created_at
        assert found[0]._state.db == wanted[0]._state.db
        assert not found[0]._state.adding


def test_a_foreign_id_finds_nothing(talks: list[Session]) -> None:
    select = Select(lambda id, user: Session.objects.filter(pk=id, user_id=user))
    assert select(talks[0].pk, talks[1].user_id) == []
    assert select(talks[0].pk, talks[0].user_id) == [talks[0]]
