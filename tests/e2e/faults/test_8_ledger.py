"""The whole ledger of all tests before: failures, refused controllers, policies that broke."""

from __future__ import annotations

import pytest

from tests.e2e.laws import assert_decided_again, assert_one_owner, assert_whole, explained_moves
from tests.support.site import RealSite

pytestmark = pytest.mark.hadoop


def test_no_node_ever_had_two_owners(site: RealSite) -> None:
    assert_one_owner(site)


def test_every_move_has_a_reason_and_every_reason_a_sentence(site: RealSite) -> None:
    assert explained_moves(site)


def test_every_decision_comes_again(site: RealSite) -> None:
    assert_decided_again(site)


def test_the_ledger_is_whole(site: RealSite) -> None:
    assert_whole(site)
