"""The plain-list phase of the resync machine: a page is requested (Listing); the pager decides the next."""

from __future__ import annotations

from msgspec.structs import replace

from ..wire import Expired, Rejected, TooLarge
from . import pager
from ._resync_requests import (
    NO_VERSION,
    Step,
    fail,
    note,
    note_activity,
    reach,
    refuse,
    report,
    to_listing,
    to_listing_page,
    to_opening,
    wait_for,
)
from ._resync_values import Event, Listing, Received, SyncContext
from .pager import Discard, Failed, Listed, Replace, Stage


def step(state: Listing, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the plain-list phase.

    Each arm matches the event, the page that was requested, and the pager's decision.
    """
    context, count = state.context, state.count
    match event, state.paging, _ask_pager(state, event, now):
        case Received(), paging, _:
            return Listing(note_activity(context, now), paging, count + event.count, state.previous_count), (
                Stage(),
            )

        case Listed(), _, pager.Following() as following:
            # Later pages bypass the rate limiter; otherwise a long list would get one page per second.
            send = pager.request(following, earliest=now, latest=now)
            count += event.count
            return Listing(note_activity(context, now), following, count, count), (Stage(), send)
        case Listed(), paging, pager.Done(version, paged) if version:
            noted = _learn_paging(note_activity(context, now), paging, paged=paged)
            reached, reports = reach(noted, version, now)
            return to_opening(reached, now, Stage(), Replace(version), *reports)
        case Listed(), paging, pager.Lost(outcome):
            # The server's tokens repeat, so request the whole list in a single response.
            failed = fail(note_activity(context, now), "list", outcome, now)
            whole, wait = pager.Whole(paging.plan), wait_for(failed, outcome)
            return to_listing_page(failed, whole, now, Discard(), report(failed), wait=wait)
        case Listed(), paging, _:
            # A watch cannot start from a list without a version.
            failed = fail(note_activity(context, now), "list", NO_VERSION, now)
            first, wait = pager.First(paging.plan), wait_for(failed, NO_VERSION)
            return to_listing_page(failed, first, now, Discard(), report(failed), wait=wait)

        case Failed(outcome), _, pager.Whole() as whole:
            # The version of the list expired between two pages: normal for a large list on a busy server.
            noted = note(context, "list", outcome, now)
            return to_listing_page(noted, whole, now, Discard(), report(noted))
        case Failed((Expired() | TooLarge()) as outcome), pager.First(plan) | pager.Whole(plan), _ if (
            plan.version
        ):
            # The server cannot serve this version; it can serve the latest.
            noted = note(context, "list", outcome, now)
            return to_listing(noted, "", now, Discard(), report(noted))
        case Failed(Rejected() as outcome), pager.First() | pager.Whole(), _:
            # The server may not accept the version or its match; no server refuses the latest.
            failed = fail(context, "list", outcome, now)
            return to_listing(failed, "", now, Discard(), report(failed), wait=wait_for(failed, outcome))
        case Failed((Expired() | Rejected()) as outcome), pager.Following(plan), _:
            # The token will always be refused: begin with the first page.
            failed, version = fail(context, "list", outcome, now), plan.version
            return to_listing(failed, version, now, Discard(), report(failed), wait=wait_for(failed, outcome))
        case Failed(outcome), pager.Following() as following, _:
            # Earlier pages stay staged: the token is still valid, and only this page is requested again.
            failed = fail(context, "list", outcome, now)
            return to_listing_page(failed, following, now, report(failed), wait=wait_for(failed, outcome))
        case Failed(outcome), paging, _:
            # A part of the first page may have arrived, and may not fit the next attempt.
            failed = fail(context, "list", outcome, now)
            return to_listing_page(
                failed, paging, now, Discard(), report(failed), wait=wait_for(failed, outcome)
            )
        case _:
            raise refuse(state, event)


def _ask_pager(state: Listing, event: Event, now: float) -> pager.State | None:
    """Return the pager's decision on a failed or complete page; parts of it may have arrived before."""
    match event:
        case Listed(count=count):
            page = replace(event, count=state.count + count - state.previous_count)
            return pager.step(state.paging, page, now)[0]
        case Failed():
            return pager.step(state.paging, event, now)[0]
        case _:
            return None


def _learn_paging(context: SyncContext, paging: object, *, paged: bool) -> SyncContext:
    """Note that a list at "0" in pages did not come from the watch cache, which ignores the limit."""
    if paged and isinstance(paging, pager.Following) and paging.plan.version == "0":
        return replace(context, endpoint=replace(context.endpoint, paged=True))
    return context
