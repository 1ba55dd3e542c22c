"""Events in a few words: what happened, by the names of the things that it happened to."""

from __future__ import annotations

from fawkes.base.units import counted, show_duration
from fawkes.core.values import events
from fawkes.core.values.sight import Attempt, Launcher, SafeMode, Service, Sight
from fawkes.report.words.facts import controller_name, how_it_stands, thing


def event_in_words(event: events.Event) -> str:
    """The event in a few words."""
    if isinstance(event, events.NodesSeen):
        return "; ".join(map(event_in_words, event.seen))
    for words in (_seen_in_words, _facts_in_words):
        said = words(event)
        if said is not None:
            return said
    return _request_in_words(event)


def _seen_in_words(event: events.Event) -> str | None:
    match event:
        case events.Started():
            return f"controller {controller_name(event.controller)}, Fawkes {event.version}, epoch {event.epoch}"
        case events.Reloaded():
            by = f" (by {event.by})" if event.by else ""
            return f"settings read again: {'; '.join(event.changed) or 'nothing has changed'}{by}"
        case events.Woke():
            return "the timer"
        case events.ClockSeen():
            return f"the clock was set {'ahead' if event.by_us > 0 else 'back'} by {show_duration(abs(event.by_us))}"
        case events.Sampled():
            failed = [f"{reading.cluster}: {reading.error}" for reading in event.readings if reading.error]
            return "; ".join([f"{counted(len(event.readings), 'MR-cluster')} read", *failed])
        case events.Done():
            return f"{thing(event.effect)}: done"
        case events.Failed():
            return f"{thing(event.effect)}: failed" + _after_colon(event.error)
    return None


def _facts_in_words(event: events.Event) -> str | None:
    match event:
        case events.NodeObserved():
            return f"{event.node} is {event.condition.value}" + _after_colon(event.error)
        case events.NodeSeen():
            return f"{event.node}: {_sight_in_words(event.sight)}"
        case events.MastersSeen():
            silent = "could not be asked" if event.unasked else "do not answer"
            verb = silent if event.error else "answer"
            return f"the masters of {event.cluster} {verb}" + _after_colon(event.error)
        case events.CopySeen():
            verb = "is not copied" if event.error else "is copied"
            return f"the data of the masters of {event.cluster} {verb}" + _after_colon(event.error)
        case events.ServiceSeen():
            return f"{event.cluster}: {_service_in_words(event.service)}"
        case events.WaitSeen():
            lasting = show_duration(event.at_us - event.since_us)
            return f"{thing(event.effect)} has waited for {lasting}: {event.waits_for}"
        case events.StandbySeen():
            verb = "can take over" if event.ready else "cannot take over"
            return f"the second NameNode of {event.cluster} {verb}" + _after_colon(event.error)
        case events.AttemptSeen():
            return f"{event.job} (attempt {event.attempt}): {_attempt_in_words(event.seen)}"
        case events.JobObserved():
            stands = how_it_stands(event.progress)
            return f"{event.job} (attempt {event.attempt}) {stands}" + _after_colon(event.error)
    return None


def _sight_in_words(sight: Sight) -> str:
    parts = [f"NodeManager {sight.compute}"] if sight.compute else []
    parts += [f"DataNode {sight.stored}"] if sight.stored else []
    blocks = sight.blocks
    if blocks is not None and blocks.known:
        parts.append(f"{blocks.at_risk_files} files at risk, {blocks.missing_files} with missing blocks")
    elif blocks is not None:
        parts.append("its blocks are not known" + _after_colon(blocks.why))
    return ", ".join(parts) or "its masters do not report it"


def _service_in_words(seen: Service) -> str:
    off = {SafeMode.OFF: "HDFS takes writes", SafeMode.NOT_KNOWN: "HDFS not known"}
    parts = [off.get(seen.safe_mode) or f"HDFS in safe mode ({seen.safe_mode})"]
    counts = {"DataNodes in service": seen.storing, "of them full": seen.full, "NodeManagers": seen.computing}
    parts += [f"{count} {name}" for name, count in counts.items() if count is not None]
    parts += [f"ResourceManager {seen.manager}"] if seen.manager not in ("", "ACTIVE") else []
    parts += [f"unhealthy: {', '.join(seen.unhealthy)}"] if seen.unhealthy else []
    parts += [f"stopped queues: {', '.join(seen.stopped)}"] if seen.stopped else []
    return ", ".join(parts)


def _attempt_in_words(seen: Attempt) -> str:
    launcher = "launcher not known" if seen.launcher is Launcher.NOT_KNOWN else f"launcher {seen.launcher}"
    code = "" if seen.exit is None else f" with exit code {seen.exit}"
    if seen.applications is None:
        applications = "applications not known"
    else:
        applications = ", ".join(f"{app.id} {app.life}" for app in seen.applications) or "no application"
    return f"{launcher}{code}, {applications}" + _after_colon(seen.refused or seen.error or seen.words)


def _request_in_words(event: events.Event) -> str:
    what, by = _subject(event), getattr(event, "by", "")
    return " ".join(part for part in (what, f"(by {by})" if by else "") if part)


def _subject(event: events.Event) -> str:
    what: str
    match event:
        case events.Requested() | events.Submitted():
            what = event.spec.id
        case events.ReleaseAsked():
            what = f"{event.cluster}, checked only" if event.dry_run else event.cluster
        case events.DownAsked():
            what = "the whole pool" + (", checked only" if event.dry_run else "")
        case events.CancelAsked():
            what = event.job
        case events.RetryAsked() | events.UnholdAsked():
            what = event.subject
        case events.DrainAsked():
            what = f"{event.node}: {event.reason}" + (", its data is discarded" if event.discard else "")
        case events.UndrainAsked():
            what = event.node
        case events.MoveMastersAsked() | events.RestoreAsked():
            what = event.cluster + (f" to {event.to}" if event.to else "")
        case _:
            what = _steered(event)
    return what


def _steered(event: events.Event) -> str:
    match event:
        case events.HoldAsked():
            return f"{event.subject}: {event.reason}"
        case events.GrowAsked() | events.ShrinkAsked():
            return f"{event.cluster}, {event.node or counted(event.count, 'node')}"
    return str(getattr(event, "reason", ""))


def _after_colon(text: str) -> str:
    return f": {text}" if text else ""
