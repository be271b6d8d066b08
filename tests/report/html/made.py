"""Reports as the page gets them: one of a bad month, one of which nothing is known."""

from dataclasses import replace

from supervisor.report.fleet.model import (
    Cost,
    Ettr,
    FleetReport,
    Group,
    Interruption,
    Interval,
    Part,
    Profile,
    ProfileRow,
    Rate,
    Row,
    RunEttr,
    Speed,
    Spread,
    Unseen,
    Waiting,
    WindowEttr,
)

UNTIL = 1_796_083_200.0  # 2026-12-01 00:00 UTC
DAY_S = 86_400.0
_NOT_KNOWN = Interval(estimate=None, low=None, high=None)


def report(
    *, node: str = "gpu017", user: str = "anna", job: str = "81234", cause: str = "gpu_hbm_uncorrectable"
) -> FleetReport:
    """A month in which much went wrong; every name that a stranger can choose is to be given."""
    classes = (
        _row("hardware", 19, 1420, causes=(_row(cause, 14, 1200), _row("nvlink_fault", 5, 220))),
        _row("software", 11, 96, causes=(_row("cuda_oom", 11, 96),)),
        _row("network", 6, 310, causes=(_row("link_flap", 6, 310),)),
        _row("data", 2, 14, causes=(_row("bad_sample", 2, 14),)),
        _row("unknown", 3, 40, causes=(_row("unattributed", 3, 40),)),
    )
    mixed = (("unknown", 1), ("hardware", 3), ("software", 2), ("network", 1))
    days = tuple(
        _row(f"2026-11-{day:02d}", 1 + day % 3, 8.0 * day, classes=mixed[: 1 + day % 4])
        for day in range(1, 31)
        if day % 7
    )
    groups = (
        Group(by="day", rows=days),
        Group(by="node", rows=(_row(node, 12, 1100, classes=mixed), _row("gpu044", 5, 300, classes=mixed[1:]))),
        Group(by="user", rows=(_row(user, 41, 1880, classes=mixed),)),
    )
    rate = _rate("all", 212, 41)
    return FleetReport(
        source="ledger",
        place="/srv/supervise",
        clusters=("c1",),
        since=UNTIL - 30 * DAY_S,
        until=UNTIL,
        is_ok=False,
        conclusion=f"NOT OK: effective training time fell 3 weeks in a row. Look at {node}, gpu044 first.",
        blockers=(f"job {job} of {user} was stopped: {cause}", "the accounting gave no answer"),
        look_first=(node, "gpu044"),
        interruptions=41,
        planned=9,
        jobs=212,
        runs=64,
        handled=38,
        not_over=1,
        handled_share=38 / 40,
        unknown=3,
        unknown_share=3 / 41,
        cost=Cost(node_h=250, gpu_h=1880, bare_node_h=12.5, kwh=1400),
        classes=classes,
        groups=groups,
        mtbi=rate,
        mtbi_by_size=(_rate("1", 100, 0), _rate("33~64", 80, 30), _rate("257~512", 32, 11)),
        ettr=_ettr(user, job),
        speed=_speed(),
        profile=Profile(
            name="Llama 3 (arXiv 2407.21783)",
            published=419,
            published_per_1000_node_d=3.8,
            rows=(
                ProfileRow(
                    name="faulty GPU",
                    published=148,
                    published_share=0.301,
                    ours=14,
                    share=Interval(estimate=0.34, low=0.2, high=0.5),
                    is_different=False,
                ),
                ProfileRow(
                    name="software",
                    published=54,
                    published_share=0.129,
                    ours=11,
                    share=Interval(estimate=0.27, low=0.15, high=0.43),
                    is_different=True,
                ),
            ),
        ),
        waiting=(
            Waiting(
                run="4f0c2a9b7d11", job=job, user=user, cls="software", cause="type_error", node=node, at=UNTIL - 9000
            ),
        ),
        unseen=Unseen(
            failures=23,
            states=(("NODE_FAIL", 20), ("REQUEUED", 3)),
            cost_at_most=Cost(gpu_h=900),
            nodes=((node, 7), ("gpu099", 1)),
        ),
        untrusted=((user, 2),),
        rows=tuple(_interruption(number, node, user, job, cause) for number in range(41)),
        problems=(f"/srv/supervise/c1/{node}.jsonl ({user}): left out: 1 torn line",),
    )


def empty() -> FleetReport:
    """Nothing happened and nothing is known."""
    return replace(
        report(),
        is_ok=True,
        conclusion="OK: no interruption in 0 jobs.",
        blockers=(),
        look_first=(),
        interruptions=0,
        planned=0,
        jobs=0,
        runs=0,
        handled=0,
        not_over=0,
        handled_share=None,
        unknown=0,
        unknown_share=None,
        cost=Cost(),
        classes=(),
        groups=(),
        mtbi=_rate("all", 0, 0),
        mtbi_by_size=(),
        ettr=replace(
            report().ettr,
            ratio=None,
            energy_kwh=None,
            windows=(),
            falling=(),
            is_escalated=False,
            lowest=(),
            is_at_most=True,
        ),
        speed=Speed(detection=None, isolation=None, recovery=None, isolated_to=(), parts=(), remedy=""),
        profile=replace(report().profile, rows=()),
        waiting=(),
        unseen=None,
        untrusted=(),
        rows=(),
        problems=(),
    )


def _row(
    name: str, times: int, gpu_h: float, *, classes: tuple[tuple[str, int], ...] = (), causes: tuple[Row, ...] = ()
) -> Row:
    cost = Cost(node_h=gpu_h / 8, gpu_h=gpu_h)
    return Row(
        name=name,
        interruptions=times,
        share=times / 41,
        by_person=times // 10,
        cost=cost,
        classes=classes,
        causes=causes,
    )


def _rate(nodes: str, jobs: int, times: int) -> Rate:
    often = Interval(estimate=4.1, low=3.0, high=5.7) if times else Interval(estimate=None, low=12.0, high=None)
    return Rate(
        nodes=nodes,
        jobs=jobs,
        interruptions=times,
        job_h=170.0,
        node_d=450.0,
        mtbi_h=often if jobs else _NOT_KNOWN,
        per_1000_node_d=Interval(estimate=9.1, low=6.6, high=12.4) if times else _NOT_KNOWN,
    )


def _ettr(user: str, job: str) -> Ettr:
    ratios = (0.961, None, 0.958, 0.952, 0.938, 0.917)
    windows = tuple(
        WindowEttr(
            begins_at=UNTIL - (len(ratios) - at) * 7 * DAY_S,
            ettr=ratio,
            held_node_h=2600.0 if ratio else 3.0,
        )
        for at, ratio in enumerate(ratios)
    )
    lowest = (RunEttr(run="4f0c2a9b7d11", job=job, user=user, ettr=0.61, held_node_h=1200.0, interruptions=12),)
    return Ettr(
        ratio=0.931,
        computing_node_h=10054,
        held_node_h=10800,
        held_gpu_h=86400,
        energy_kwh=64000,
        is_at_most=False,
        window="week",
        windows=windows,
        falling=(0.958, 0.952, 0.938, 0.917),
        is_escalated=True,
        lowest=lowest,
    )


def _speed() -> Speed:
    return Speed(
        detection=Spread(known=41, median_s=1.6, p90_s=12, max_s=58),
        isolation=Spread(known=41, median_s=0.4, p90_s=2.9, max_s=3),
        recovery=Spread(known=38, median_s=160, p90_s=410, max_s=1900),
        isolated_to=(("node", 24), ("gpu", 12), ("job", 5)),
        parts=(
            Part(name="init", seconds=4100, share=0.61),
            Part(name="catch_up", seconds=1900, share=0.28),
            Part(name="stop", seconds=720, share=0.11),
        ),
        remedy="keep the image and the compile cache on the node's own disk",
    )


def _interruption(number: int, node: str, user: str, job: str, cause: str) -> Interruption:
    return Interruption(
        at=UNTIL - (41 - number) * 0.7 * DAY_S,
        cluster="c1",
        job=job,
        run="4f0c2a9b7d11",
        user=user,
        partition="train",
        node_count=64,
        gpus_per_node=8,
        cls=("hardware", "software", "network")[number % 3],
        cause=cause,
        confidence=0.93,
        nodes=(node,) if number % 2 else ("gpu044", node),
        gpus=(f"{node}:3",) if number % 3 == 0 else (),
        action="relaunch_on_spare",
        isolation="gpu",
        detect_s=1.4,
        isolate_s=0.3,
        recovery_s=171.0 if number % 5 else None,
        steps_lost=3,
        cost=Cost(node_h=5.7, gpu_h=46),
    )
