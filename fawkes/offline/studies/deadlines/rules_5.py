"""The rules of the deadline chapter on chapter 5 (Justice) and the follow-up paper, fixed before its runs."""

from __future__ import annotations

from collections.abc import Iterator

from fawkes.offline.studies.deadlines.rule import POINTS, Check, Rule, largest, near, up_to, up_to_check
from fawkes.offline.studies.deadlines.runs import (
    BASELINE,
    JUSTICE,
    KINDS,
    ORACLE,
    REACTIVE,
    TR1_MIDDLE,
    TR1_SMALL,
    TR2_MIDDLE,
    TR2_SMALL,
)
from fawkes.offline.studies.deadlines.study import Study
from fawkes.offline.studies.flat.deadlines import VARIABLE
from fawkes.offline.studies.paper.judging.rules import percent

#: Jockey1x2x and Aria1x3x at 4500: the bands that the fact sheet sets
_BAND = (0.20, 0.60)
_PTR_POINTS = 0.15
_BOTH = (JUSTICE, "FS")


def chapter_5() -> Iterator[Rule]:
    """All rules, in the order of the chapter, then those of the follow-up paper."""
    yield from _fair()
    yield from _satisfied()
    yield from _work()
    yield from _idle()
    yield from _follow_up()


def _fair() -> Iterator[Rule]:
    for capacity in (TR1_SMALL, TR1_MIDDLE):
        yield Rule(
            f"5-fairness-{capacity}",
            f"{capacity} CPUs: Justice is fairer than both fair shares in every case, Welch p < 0.01 to Reactive FS",
            _fairer_than_shares(capacity),
            _BOTH,
            ("no-admission", "blind"),
            "a fair share is as fair for some type",
        )
    yield Rule(
        "5-fairness-oracle",
        "variable deadlines: Justice is fairer than the Oracle",
        _fairer_than_oracle,
        (JUSTICE,),
        ("no-admission", "all-knowing"),
        "the Oracle is as fair for some variable type",
    )

    def below(study: Study) -> tuple[str, bool]:
        most = max(study.value("fairness", kind, at, JUSTICE) for kind in KINDS for at in (TR1_SMALL, TR1_MIDDLE))
        least = min(study.value("fairness", kind, at, JUSTICE) for kind in KINDS for at in (TR1_SMALL, TR1_MIDDLE))
        return f"{least:.3f} to {most:.3f}", most < 1 and least > 0.5

    yield Rule(
        "5-fairness-below-1",
        "Justice's fairness is below 1 (and above one half)",
        below,
        (JUSTICE,),
        ("blind",),
        "a fairness of 1, or one that is closer to nothing",
    )
    for capacity, reported in ((TR1_SMALL, 0.23), (TR1_MIDDLE, 0.17)):
        yield Rule(
            f"5-equality-{capacity}",
            f"{capacity} CPUs: Justice's equality is up to {100 * reported:.0f} % above Reactive FS (half to twice)",
            up_to_check("equality", KINDS, capacity, JUSTICE, REACTIVE, reported),
            _BOTH,
            ("no-admission", "blind"),
            f"the largest gain is below {50 * reported:.0f} % or above {200 * reported:.0f} %",
        )
    yield Rule(
        "5-equality-closer",
        "Reactive FS is closer to Justice in equality than in fairness (mean over types, 2250 CPUs)",
        _closer,
        _BOTH,
        ("no-admission",),
        "the mean gain in equality is as large as that in fairness",
    )


def _fairer_than_shares(capacity: int) -> Check:
    def check(study: Study) -> tuple[str, bool]:
        behind = []
        for kind in KINDS:
            mine = study.value("fairness", kind, capacity, JUSTICE)
            others = [study.value("fairness", kind, capacity, one) for one in (BASELINE, REACTIVE)]
            test = study.fairness_test(kind, capacity, JUSTICE, REACTIVE)
            if mine <= max(others) or test is None or test.p >= 0.01:
                behind.append(f"{kind} {mine:.3f} against {max(others):.3f}")
        return f"not for {'; '.join(behind)}" if behind else "for all types", not behind

    return check


def _fairer_than_oracle(study: Study) -> tuple[str, bool]:
    behind = [
        f"{kind} {at}: {study.value('fairness', kind, at, JUSTICE):.3f} against "
        f"{study.value('fairness', kind, at, ORACLE):.3f}"
        for kind in VARIABLE
        for at in (TR1_SMALL, TR1_MIDDLE)
        if study.value("fairness", kind, at, JUSTICE) <= study.value("fairness", kind, at, ORACLE)
    ]
    return f"not for {'; '.join(behind)}" if behind else "for all variable types", not behind


def _closer(study: Study) -> tuple[str, bool]:
    equal, fair = (
        sum(study.gains(metric, KINDS, TR1_SMALL, JUSTICE, REACTIVE).values()) / len(KINDS)
        for metric in ("equality", "fairness")
    )
    return f"equality {percent(equal)}, fairness {percent(fair)}", abs(equal) < abs(fair)


def _satisfied() -> Iterator[Rule]:
    def baseline(study: Study) -> tuple[str, bool]:
        gains = {
            f"{kind} {at}": study.gain("sdr", kind, at, JUSTICE, BASELINE)
            for kind in KINDS
            for at in (TR1_SMALL, TR1_MIDDLE)
        }
        where, least = min(gains.items(), key=lambda item: item[1])
        return f"at least {percent(least)} ({where})", least >= 0.88

    yield Rule(
        "5-sdr-baseline",
        "SDR of Justice at least +88 % over Baseline FS",
        baseline,
        _BOTH,
        ("blind", "never-late"),
        "a gain below 88 % for some type and capacity",
    )

    def reactive(study: Study) -> tuple[str, bool]:
        gains = study.gains("sdr", KINDS, TR1_SMALL, JUSTICE, REACTIVE)
        low, high = min(gains.values()), max(gains.values())
        return f"{percent(low)} to {percent(high)}", up_to(low, 0.83) and up_to(high, 2.07)

    yield Rule(
        "5-sdr-reactive-2250",
        "2250 CPUs: SDR of Justice +83 to +207 % over Reactive FS (each end half to twice)",
        reactive,
        _BOTH,
        ("no-admission", "never-late"),
        "an end of the range is further away",
    )
    for kind, reported in (("Jockey1x2x", 0.44), ("Aria1x3x", 0.33)):
        yield Rule(
            f"5-sdr-{kind}",
            f"4500 CPUs, {kind}: SDR of Justice +{100 * reported:.0f} % over Reactive FS (20 to 60 %)",
            _in_band("sdr", kind, *_BAND),
            _BOTH,
            ("no-admission", "never-late"),
            "a gain outside of 20 to 60 %",
        )

    def oracle(study: Study) -> tuple[str, bool]:
        off = {
            f"{kind} {at}": study.gain("sdr", kind, at, JUSTICE, ORACLE)
            for kind in KINDS
            for at in (TR1_SMALL, TR1_MIDDLE)
        }
        where, most = min(off.items(), key=lambda item: item[1])
        return f"at worst {percent(most)} ({where})", most >= -0.10

    yield Rule(
        "5-sdr-oracle",
        "SDR of Justice is similar to the Oracle's (at most 10 % less)",
        oracle,
        (JUSTICE,),
        ("no-admission", "blind"),
        "Justice satisfies over 10 % fewer deadlines for some type",
    )


def _in_band(metric: str, kind: str, low: float, high: float) -> Check:
    def check(study: Study) -> tuple[str, bool]:
        gain = study.gain(metric, kind, TR1_MIDDLE, JUSTICE, REACTIVE)
        return percent(gain), low <= gain <= high

    return check


def _work() -> Iterator[Rule]:
    yield Rule(
        "5-ptr-2250-reactive",
        "2250 CPUs: PTR of Justice up to +221 % over Reactive FS (half to twice)",
        up_to_check("ptr", KINDS, TR1_SMALL, JUSTICE, REACTIVE, 2.21),
        _BOTH,
        ("no-admission", "never-late"),
        "the largest gain is below 110 % or above 442 %",
    )

    def below(study: Study) -> tuple[str, bool]:
        kind, most = largest({kind: -study.gain("ptr", kind, TR1_SMALL, JUSTICE, ORACLE) for kind in KINDS})
        return f"{100 * most:.0f} % below ({kind})", up_to(most, 0.33)

    yield Rule(
        "5-ptr-2250-oracle",
        "2250 CPUs: PTR of Justice up to 33 % below the Oracle's (half to twice)",
        below,
        (JUSTICE,),
        ("all-knowing", "blind"),
        "at worst less than 16 % or more than 66 % below",
    )

    def small(study: Study) -> tuple[str, bool]:
        most = max(study.value("ptr", kind, TR1_SMALL, BASELINE) for kind in KINDS)
        return f"at most {100 * most:.1f} %", most < 0.05

    yield Rule(
        "5-ptr-2250-baseline",
        "2250 CPUs: PTR of Baseline FS is very small (below 5 %)",
        small,
        ("FS",),
        ("never-late",),
        "Baseline FS does useful work",
    )

    def wasted(study: Study) -> tuple[str, bool]:
        kind, most = largest({kind: -study.gain("wtr", kind, TR1_SMALL, JUSTICE, REACTIVE) for kind in KINDS})
        return f"{100 * most:.1f} % below ({kind})", most >= 0.99

    yield Rule(
        "5-wtr-2250",
        "2250 CPUs: WTR of Justice up to 100 % below Reactive FS (at least 99 %)",
        wasted,
        _BOTH,
        ("no-admission", "blind"),
        "Justice wastes work for all types",
    )
    for kind, reported in (("Fixed1x", 9.26), ("Aria2x4x", 1.46)):
        yield Rule(
            f"5-ptr-4500-baseline-{kind}",
            f"4500 CPUs, {kind}: PTR of Justice +{100 * reported:.0f} % over Baseline FS (half to twice)",
            up_to_check("ptr", (kind,), TR1_MIDDLE, JUSTICE, BASELINE, reported),
            _BOTH,
            ("blind", "never-late"),
            f"a gain below {50 * reported:.0f} % or above {200 * reported:.0f} %",
        )
    yield Rule(
        "5-ptr-4500-baseline-order",
        "4500 CPUs: that gain is largest for Fixed1x and smallest for Aria2x4x",
        _order,
        _BOTH,
        ("blind", "never-late"),
        "another type has the largest or the smallest gain",
    )

    def fixed(study: Study) -> tuple[str, bool]:
        kinds = ("Fixed1x", "Fixed2x", "90loose")
        kind, gain = largest(study.gains("ptr", kinds, TR1_MIDDLE, JUSTICE, REACTIVE))
        off = min(study.gains("ptr", kinds, TR1_MIDDLE, JUSTICE, ORACLE).values())
        return f"{percent(gain)} ({kind}); at worst {percent(off)} of the Oracle", up_to(gain, 0.72) and off >= -0.10

    yield Rule(
        "5-ptr-4500-fixed",
        "4500 CPUs, Fixed and 90loose: PTR of Justice up to +72 % over Reactive FS (half to twice), like the Oracle's "
        "(within 10 %)",
        fixed,
        _BOTH,
        ("no-admission", "never-late"),
        "a largest gain outside of 36 to 144 %, or far from the Oracle",
    )
    for kind, reported in (("Jockey1x2x", -0.14), ("Aria1x3x", -0.44)):
        yield Rule(
            f"5-ptr-4500-{kind}",
            f"4500 CPUs, {kind}: PTR of Justice {percent(reported)} against Reactive FS (less, within 15 points)",
            _less(kind, reported),
            _BOTH,
            ("no-admission", "never-late"),
            "as much useful work, or over 15 points away",
        )

    def utilised(study: Study) -> tuple[str, bool]:
        over = [
            kind
            for kind in KINDS
            if study.value("utilisation", kind, TR1_SMALL, JUSTICE)
            >= min(study.value("utilisation", kind, TR1_SMALL, one) for one in (BASELINE, REACTIVE))
        ]
        values = [study.value("utilisation", kind, TR1_SMALL, JUSTICE) for kind in KINDS]
        shares = [study.value("utilisation", kind, TR1_SMALL, REACTIVE) for kind in KINDS]
        ours = f"{min(values):.2f} to {max(values):.2f} against {min(shares):.2f} to {max(shares):.2f}"
        return ours, not over

    yield Rule(
        "5-utilisation-2250",
        "2250 CPUs: Justice uses the pool less than both fair shares",
        utilised,
        _BOTH,
        ("no-admission", "blind"),
        "as many busy CPUs for some type",
    )

    def with_less(study: Study) -> tuple[str, bool]:
        worse = [
            kind
            for kind in KINDS
            if study.gain("ptr", kind, TR1_SMALL, JUSTICE, REACTIVE) <= 0
            or study.value("wtr", kind, TR1_SMALL, JUSTICE) >= study.value("wtr", kind, TR1_SMALL, REACTIVE)
        ]
        return f"not for {', '.join(worse)}" if worse else "for all types", not worse

    yield Rule(
        "5-more-with-less-2250",
        "2250 CPUs: with that, more useful and less wasted work than Reactive FS",
        with_less,
        _BOTH,
        ("no-admission", "blind"),
        "less useful or more wasted work for some type",
    )


def _order(study: Study) -> tuple[str, bool]:
    gains = study.gains("ptr", KINDS, TR1_MIDDLE, JUSTICE, BASELINE)
    most, least = max(gains, key=lambda kind: gains[kind]), min(gains, key=lambda kind: gains[kind])
    return f"largest for {most}, smallest for {least}", (most, least) == ("Fixed1x", "Aria2x4x")


def _less(kind: str, reported: float) -> Check:
    def check(study: Study) -> tuple[str, bool]:
        gain = study.gain("ptr", kind, TR1_MIDDLE, JUSTICE, REACTIVE)
        return percent(gain), gain < 0 and near(gain, reported, _PTR_POINTS)

    return check


def _idle() -> Iterator[Rule]:
    kind, capacity = "Aria1x3x", TR1_SMALL
    for size, exists, longer in ((10, 0.98, (0.81, 0.68, 0.59)), (100, 0.76, (0.80, 0.52, 0.41))):
        yield Rule(
            f"5-idle-{size}",
            f"2250 CPUs, {kind}: {size} CPUs idle at once {100 * exists:.0f} % of the time (5 points)",
            _idle_check(size, 0, exists),
            (JUSTICE,),
            ("no-admission", "blind"),
            "more than 5 points away",
        )
        for seconds, reported in zip((100, 500, 1000), longer, strict=True):
            yield Rule(
                f"5-idle-{size}-{seconds}s",
                f"2250 CPUs, {kind}: {100 * reported:.0f} % of idle times of {size} CPUs above {seconds} s (5 points)",
                _idle_check(size, seconds, reported),
                (JUSTICE,),
                ("no-admission", "blind"),
                "more than 5 points away",
            )

    def ordered(study: Study) -> tuple[str, bool]:
        from scipy.stats import spearmanr

        used = [study.value("utilisation", each, capacity, JUSTICE) for each in KINDS]
        long = [study.idle(10, each, capacity, JUSTICE, 1000) for each in KINDS]
        if len(set(used)) == 1 or len(set(long)) == 1:
            return "no order: all types are alike", False
        rank = float(spearmanr(used, long).statistic)
        return f"rank correlation {rank:+.2f}", rank < 0

    yield Rule(
        "5-idle-order",
        "types with lower utilisation have longer idle times (rank correlation below 0)",
        ordered,
        (JUSTICE,),
        ("blind",),
        "the correlation is not negative",
    )


def _idle_check(size: int, seconds: int, reported: float) -> Check:
    def check(study: Study) -> tuple[str, bool]:
        value = study.idle(size, "Aria1x3x", TR1_SMALL, JUSTICE, seconds)
        return f"{100 * value:.0f} %", near(value, reported, POINTS)

    return check


# --- TR2, and the follow-up paper


def _follow_up() -> Iterator[Rule]:
    def better(study: Study) -> tuple[str, bool]:
        worse = [
            kind
            for kind in KINDS
            if study.value("sdr", kind, TR2_SMALL, JUSTICE, "TR2") <= study.value("sdr", kind, TR1_SMALL, JUSTICE)
        ]
        return f"not for {', '.join(worse)}" if worse else "for all types", not worse

    yield Rule(
        "5-tr2",
        "TR2's results are better than TR1's (SDR at the smaller capacity, each type)",
        better,
        (JUSTICE,),
        ("no-admission", "blind"),
        "some type satisfies fewer deadlines on TR2",
    )
    for capacity, reported in ((TR2_SMALL, 0.23), (TR2_MIDDLE, 0.17)):
        yield Rule(
            f"P2-equality-{capacity}",
            f"TR2, {capacity} CPUs: Justice's equality up to {100 * reported:.0f} % above Reactive FS (half to twice)",
            up_to_check("equality", KINDS, capacity, JUSTICE, REACTIVE, reported, "TR2"),
            (JUSTICE,),
            ("no-admission", "blind"),
            f"the largest gain is below {50 * reported:.0f} % or above {200 * reported:.0f} %",
        )

    def optimal(study: Study) -> tuple[str, bool]:
        parts = {
            f"{kind} {at}": 1 + study.gain("sdr", kind, at, JUSTICE, ORACLE, "TR2")
            for kind in KINDS
            for at in (TR2_SMALL, TR2_MIDDLE)
        }
        where, least = min(parts.items(), key=lambda item: item[1])
        return f"at least {100 * least:.0f} % ({where})", least >= 0.80

    yield Rule(
        "P2-sdr-80",
        "TR2: Justice reaches 80 % of the Oracle's SDR",
        optimal,
        (JUSTICE,),
        ("no-admission", "blind"),
        "less than 80 % for some type and capacity",
    )

    def more(study: Study) -> tuple[str, bool]:
        ahead = [
            kind
            for kind in VARIABLE
            if study.gain("ptr", kind, TR2_MIDDLE, REACTIVE, JUSTICE, "TR2") > 0
            and study.gain("utilisation", kind, TR2_MIDDLE, REACTIVE, JUSTICE, "TR2") > 0
        ]
        return f"for {', '.join(ahead) or 'none'}", bool(ahead)

    yield Rule(
        "P2-ptr-5000",
        "TR2, 5000 CPUs, variable deadlines: fair share may do more useful work and use more CPUs",
        more,
        (JUSTICE,),
        ("no-admission", "never-late"),
        "for no variable type",
    )
