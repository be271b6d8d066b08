"""Networks and collectives: a timeout is an echo; who did not come, which pair failed, what the ports said."""

import re
from collections import Counter
from typing import Final

from supervisor.diagnose.evidence.beats import NAMING
from supervisor.diagnose.findings import Finding
from supervisor.diagnose.judge.case import Case
from supervisor.diagnose.judge.rules.hosts import most_accused
from supervisor.diagnose.scan.stamps import stamp_of
from supervisor.model.ids import Rank

_LINKS: Final = frozenset({"link_flap", "link_fault"})
_UNSENT: Final = frozenset({"fabric_undeliverable", "rdma_stall", "fabric_peer_address_stale"})
"""What a port that goes down makes of messages."""
_UP: Final = re.compile(r"\b(?:ACTIVE|[Ll]ink (?:is )?(?:up|UP|Up)|[Ll]ink becomes ready|LinkUp)\b")
_DOWN: Final = re.compile(r"\b(?:DOWN|[Ll]ink (?:is )?(?:down|DOWN|Down)|lost carrier|Lost carrier)\b")
_BY_NAME: Final = frozenset({"remote_service_unreachable", "rendezvous_unreachable", "data_source_error"})
_OWN_HOST: Final = re.compile(
    r"(?:to|at|host|address|coordinator|master\w{0,8})\W{1,4}(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|localhost|::1)\b",
    re.IGNORECASE,
)
_AT_LOOPBACK: Final = re.compile(
    r"(?:connect\w{0,3}(?: to)? ?:?\(?\[?|remote=\[|address )(?:::ffff:)?(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)\b"
)
_HOSTS_FILE: Final = re.compile(r"\b127\.0\.1\.1\b")
"""Debian's own line for the host's name; nobody listens there for others."""
_OF_RANKS: Final = re.compile(r"gloo|NCCL|c10d|[Ss]tore\b|endezvous|MPI|btl_tcp|oordinat|ORTE|PRTE|rank", re.IGNORECASE)
_GLOO_AT_HOME: Final = "gloo_falls_back_to_loopback"
_JAX_AT_HOME: Final = "jax_coordinator_at_home"
_UNREACHABLE: Final = frozenset({"fabric_misconfigured", "rendezvous_unreachable"})
_OTHER_NODE: Final = re.compile(r"\b(?:node|group|machine)[ _]?rank\W{1,3}[1-9]", re.IGNORECASE)
_NEAR_S: Final = 900.0
_ALONE_S: Final = 60.0
_RETRY: Final = "12"
_SEVERAL: Final = 2
_MANY: Final = 3
_WORK: Final = re.compile(r"SeqNum=(\d+), OpType=(\w+), NumelIn=(\d+)")
_MESSAGE: Final = re.compile(r"OpType=(SEND|RECV)\b")
_NOT_WORK: Final = re.compile(r"elastic|closing signal|[Ww]atchdog|ProcessGroup|\bNCCL\b|SIGTERM|srun:|slurmstepd:")
_LONG_WORK: Final = re.compile(
    r"\b(?:sav|export|merg|convert|evaluat|validat|pre-?process|tokeni[sz]|index|consolidat|shuffl|upload|download|pack|"
    r"dump|generat|compress|build)ing\b",
    re.IGNORECASE,
)
_ID_OF_FIRST: Final = re.compile(r"retrieving \w{1,20}Id from \[0\][^\n]{0,120}(?:[Tt]imeout|[Tt]imed out)")
"""The first rank makes the name of a new communicator. The store did answer: it had not come there."""
_SURE: Final = 0.55
_UNREACHED: Final = re.compile(
    r"onnection refused|No route to host|timed out|unreachable|onnection reset", re.IGNORECASE
)


def first_collective(case: Case) -> None:
    """Every RDMA pair times out (status 12) before any step is made: addresses, routes or GIDs are set wrongly."""
    failed = [one for one in case.findings if _is_retry_exceeded(one)]
    ranks = {one.rank if one.rank is not None else one.node for one in failed}
    if len(ranks) < _SEVERAL or case.made_progress or case.of("node_unreachable", *_LINKS):
        return
    case.change(failed, role="root", scope="job", cause="fabric_misconfigured", weight=0.82)


def no_peer_reached(case: Case) -> None:
    """Peers' addresses are refused on several nodes before any step: a rule or a route is missing, none went stale."""
    told = case.of("fabric_peer_address_stale")
    if len({case.node_of(one) for one in told} - {None}) >= _SEVERAL and not case.made_progress:
        case.change(told, cause="fabric_misconfigured", scope="job", weight=0.84)


def virtual_interface(case: Case) -> None:
    """NCCL chose a container's bridge, which no other host reaches, and the ranks could not connect."""
    chosen = case.known("nccl_virtual_interface")
    failed = [one for one in case.findings if one.role != "context" and _UNREACHED.search(one.text)]
    if chosen and failed and not case.made_progress:
        case.change(chosen, role="root", scope="job", cause="fabric_misconfigured", weight=0.84)


def one_host_refuses(case: Case) -> None:
    """One host's firewall refuses the others, or all complaints go to it while it reaches them: only it differs."""
    refusing = {one.node for one in case.known("kernel_firewall_refused")} - {None}
    told = case.of("fabric_misconfigured", "rendezvous_unreachable")
    accused = {node for one in told for node in case.accused_by(one)}
    writers = {case.node_of(one) for one in told} - {None}
    odd = refusing or (accused if len(writers) >= _SEVERAL and not accused & writers else set())
    if len(odd) == 1 and told:
        node = next(iter(odd))
        case.change(told, cause="fabric_misconfigured", node=node, rank=None, scope="own", weight=0.88)


def loopback(case: Case) -> None:
    """A rank looks for others at its own host: a loopback address was given out, by the launcher or /etc/hosts."""
    told = [one for one in case.findings if one.role != "context" and _is_own_host(one)]
    if case.known(_JAX_AT_HOME):
        told += case.known("jax_barrier_timeout", "jax_register_timeout")
    is_given_out = any(_HOSTS_FILE.search(one.text) for one in told) or bool(case.known(_GLOO_AT_HOME, _JAX_AT_HOME))
    is_spread = len(case.nodes) > 1 or any(_OTHER_NODE.search(one.text) for one in told)
    if told and (is_given_out or is_spread):
        case.change(told, role="root", scope="job", cause="launcher_master_addr_loopback", weight=0.88)
        case.change(lambda one: one.role == "root" and one.cause in _UNREACHABLE, role="echo")


def _is_own_host(one: Finding) -> bool:
    """It was refused by, or waited for, a loopback address where another rank was expected."""
    if one.cause in _BY_NAME | {"nccl_timeout_unattributed"} and _OWN_HOST.search(one.text):
        return True
    return bool(_AT_LOOPBACK.search(one.text) and _UNREACHED.search(one.text) and _OF_RANKS.search(one.text))


def one_mtu_differs(case: Case) -> None:
    """One host's frames are of another size than those of all others, and collectives do not come through."""
    told = [one for one in case.known("host_mtu") if one.node and one.number]
    sizes = Counter(one.number for one in told)
    odd = [one for one in told if sizes[one.number] == 1]
    waited = case.marked("timeout") or [one for one in case.findings if one.scope == "peer"]
    if len(sizes) == _SEVERAL and len(odd) == 1 and len(told) > _SEVERAL and waited:
        case.change(odd, role="root", cause="fabric_misconfigured", weight=0.88, rank=None)


def names(case: Case) -> None:
    """Names that do not resolve explain services and peers that could not be reached by them."""
    if case.of("dns_failure"):
        case.change(lambda one: one.role == "root" and one.cause in _BY_NAME, role="echo")


def uneven(case: Case) -> None:
    """Ranks wait for those whose data ended earlier: their inputs are uneven."""
    ended = [one for one in case.findings if one.cause == "uneven_inputs"]
    waited = case.marked("timeout")
    if ended and waited and {one.rank for one in waited} - {one.rank for one in ended} and not case.faults():
        case.change(ended, role="root", weight=0.86)


def mismatch(case: Case) -> None:
    """At one sequence number ranks wait in different collectives, or for different sizes: they diverged."""
    works: dict[str, set[tuple[str, str]]] = {}
    for one in case.marked("timeout"):
        if match := _WORK.search(one.text):
            works.setdefault(match[1], set()).add((match[2], match[3]))
    if (any(len(seen) > 1 for seen in works.values()) or _both_send(case)) and not case.faults():
        case.change(lambda one: one.has("timeout"), role="root", scope="job", cause="collective_mismatch", weight=0.75)


def _both_send(case: Case) -> bool:
    """All ranks there are wait for their message to be taken, or all for one to come: nobody does the other."""
    waited = {one.rank: found[1] for one in case.marked("timeout") if (found := _MESSAGE.search(one.text))}
    ranks = case.ranks
    return len(ranks) >= _SEVERAL and set(waited) == ranks and len(set(waited.values())) == 1


def links(case: Case) -> None:
    """A port that went down when peers lost each other; hours before is history. Up again is a flap, else a fault.

    It explains what could not be sent then.
    """
    told = [one for one in case.roots() if one.cause in _LINKS and one.is_line]
    if not told:
        return
    trouble = [
        one.began for one in case.findings if (one.scope == "peer" or one.has("timeout")) and one.began is not None
    ]
    first = min(trouble) if trouble else None
    for one in told:
        if first is not None and one.time is not None and not -_NEAR_S <= first - one.time <= _NEAR_S:
            case.change(lambda each, one=one: each is one, role="context")  # type: ignore[misc]
    for node in {one.node for one in told}:
        texts = [one.text for one in case.findings if one.node == node and one.source.startswith("kernel/")]
        if any(_UP.search(text) for text in texts) and any(_DOWN.search(text) for text in texts):
            case.change(lambda one, node=node: one in told and one.node == node, cause="link_flap")  # type: ignore[misc]
    if case.of(*_LINKS):
        case.change(lambda one: one.role == "root" and one.cause in _UNSENT, role="echo")


def many_pairs(case: Case) -> None:
    """Mid-run, retries are exceeded on many hosts at once: the fabric; on one pair: the end that the most accuse."""
    failed = [one for one in case.findings if _is_retry_exceeded(one) and one.role == "echo"]
    if not failed or any(one.weight > _SURE for one in case.faults()):
        return
    writers = {case.node_of(one) for one in failed} - {None}
    accused = Counter(node for one in failed for node in case.accused_by(one))
    if len(writers) >= _MANY and (not accused or len(accused) >= _MANY):
        case.change(failed, role="root", scope="job", cause="switch_failure", weight=0.6)
    elif accused:
        node = accused.most_common(1)[0][0]
        case.change(failed, role="root", cause="link_fault", weight=0.6, node=node, rank=None)


def timeouts(case: Case) -> None:
    """Only timeouts are left: blame who did not come; a first rank that worked alone explains why the others waited."""
    waited = case.marked("timeout")
    if not waited or any(one.weight >= _SURE for one in case.faults()):
        return
    if _stopped_itself(case, waited):
        return
    absent = _absent(case, waited)
    busy = [
        one for one in case.marked("saving", "evaluating", "loading") if one.rank in {0, None} or one.rank in absent
    ]
    if busy and not _has_ended(case, busy) and (Rank(0) in absent or not absent):
        last = busy[-1]
        case.change(lambda one: one is last, role="root", cause="rank0_long_work_timeout", weight=0.62)
        return
    if _works_alone(case, absent, waited):
        return
    rank = absent[0] if absent else None
    place = case.places.get(rank) if rank is not None else None
    node = place.node if place else most_accused(case)
    first = min(waited, key=lambda one: one.began if one.began is not None else float("inf"))
    case.change(lambda one: one is first, cause="nccl_timeout_unattributed", weight=0.4, rank=rank, node=node)


def _stopped_itself(case: Case, waited: list[Finding]) -> bool:
    """A rank's own monitor shot it before any collective had timed out: it was alive and busy with something."""
    shot = [one for one in case.findings if one.cause == "watchdog_self_abort"]
    if not shot:
        return False
    first = min(shot, key=lambda one: (one.time is None, one.time or 0.0, one.order))
    others = [one for one in waited if one.cause != "watchdog_self_abort" and one.rank != first.rank]
    if any(one.time is not None and first.time is not None and one.time < first.time for one in others):
        return False
    case.change(lambda one: one is first, role="root", weight=0.64)
    return True


def _works_alone(case: Case, absent: list[Rank], waited: list[Finding]) -> bool:
    """The first rank wrote on while the others waited, or its last word is of long work: it was busy, not gone."""
    begins = [one.began for one in waited if one.began is not None]
    if Rank(0) not in absent:
        return False
    prepares = [one for one in case.findings if one.cause == "rank0_long_work_timeout"]
    prepares += [one for one in waited if _ID_OF_FIRST.search(one.text)]
    if prepares:
        # The very first barrier ran out, and the first rank is the one that did not come: it still prepares something.
        long = {"cause": "rank0_long_work_timeout", "weight": 0.68, "rank": Rank(0), "node": None}
        case.change(lambda one: one is prepares[0], role="root", scope="job", **long)
        return True
    own = _own_lines(case, Rank(0))
    times = [stamp.near(min(begins)) for line in own if begins and (stamp := stamp_of(line))]
    wrote_on = bool(times) and max(times) - min(begins) >= _ALONE_S
    is_busy = wrote_on or bool(own and _LONG_WORK.search(own[-1]))
    if not is_busy and (absent != [Rank(0)] or own or len(waited) < _MANY or not case.made_progress):
        return False
    first = min(waited, key=lambda one: one.order)
    alone = {"cause": "rank0_long_work_timeout", "weight": 0.66 if is_busy else 0.5, "rank": Rank(0)}
    case.change(lambda one: one is first, role="root", scope="job", **alone)
    return True


def _own_lines(case: Case, rank: Rank) -> list[str]:
    """The rank's last lines that are no launcher's or watchdog's."""
    return [line for one in case.scanned if one.log.rank == rank for line in one.end if not _NOT_WORK.search(line)]


def _absent(case: Case, waited: list[Finding]) -> list[Rank]:
    """Ranks that were at an earlier collective, that stopped first by their beats, or printed no timeout."""
    there = {one.rank for one in waited if one.rank is not None}
    behind = [*_behind(waited), *(one.rank for one in case.known(*NAMING) if one.rank is not None)]
    logged = {one.log.rank for one in case.scanned if one.log.rank is not None}
    first = [Rank(0)] if _is_first_awaited(waited, there, case.heard | logged) else []
    return [*dict.fromkeys([*behind, *first, *sorted(logged - there)])]


def _is_first_awaited(waited: list[Finding], there: set[Rank], heard: set[Rank]) -> bool:
    """They say that they wait for the first rank; or it alone of all that are known did not complain."""
    if Rank(0) in there:
        return False
    said = any(_ID_OF_FIRST.search(one.text) for one in waited)
    return said or (len(there) >= _MANY and there == set(range(1, len(there) + 1)) and not heard - there - {Rank(0)})


def _behind(waited: list[Finding]) -> list[Rank]:
    numbers = {
        one.rank: int(one.number)
        for one in waited
        if one.rank is not None and one.number is not None and one.number.isdecimal()
    }
    if not numbers:
        return []
    most = Counter(numbers.values()).most_common(1)[0][0]
    return sorted(rank for rank, number in numbers.items() if number < most)


def _has_ended(case: Case, busy: list[Finding]) -> bool:
    last = busy[-1]
    return any(one.order[0] == last.order[0] and one.order > last.order for one in case.marked("saved"))


def _is_retry_exceeded(one: Finding) -> bool:
    return one.number == _RETRY or "IBV_WC_RETRY_EXC" in one.text or "status=12" in one.text or "error 12" in one.text
