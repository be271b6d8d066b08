"""What changed between a good run and the one that failed, in words, the most telling first. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from supervisor.diagnose.changed_line import apart, in_words
from supervisor.diagnose.hunks import hunks_between
from supervisor.model.base import plain
from supervisor.model.software import Git, Hunk, Software
from supervisor.model.verdict import Changed

KEY: Final = "changed"
"""Field of a bundle's `environment.json`."""
_SHOWN: Final = 12
_PACKAGES: Final = 5
_COMMIT: Final = 7
_TELLING: Final = (
    *("torch", "jax", "jaxlib", "tensorflow", "numpy", "transformers", "flash-attn", "transformer-engine", "deepspeed"),
    *("megatron-core", "accelerate", "lightning", "pytorch-lightning", "triton", "xformers", "datasets", "torchtitan"),
)
_LIBRARIES: Final = "nvidia-"


def compared(now: Software, good: Software, *, since: str, between: Sequence[Hunk] = ()) -> Changed:
    """What differs. `since` names the good run; `between`: what its commit and the present one differ in."""
    code = [*_code(now.git, good.git, between)]
    what = [
        *(in_words(line) for hunk in code for line in apart(hunk)),
        *_uncommitted(now.git, good.git),
        *_script(now, good, code),
        *_arguments(now, good),
        *_commit(now.git, good.git),
        *_packages(now.packages, good.packages),
        *_modules(now.modules, good.modules),
        *_one("python", now.python, good.python),
        *_one("container", now.container, good.container),
        *_one("driver", now.driver, good.driver),
    ]
    what = list(dict.fromkeys(what))
    return Changed(since=since, what=tuple(what[:_SHOWN]), more=max(0, len(what) - _SHOWN))


def choose(comparisons: Iterable[Changed]) -> Changed | None:
    """The first comparison that shows a change, else the first: nothing changed since then. None: there is none."""
    known = list(comparisons)
    return next((one for one in known if one.what), known[0] if known else None)


def environment(now: Software, changed: Changed | None) -> dict[str, Any]:
    """What a bundle's `environment.json` holds."""
    return {**plain(now), **({KEY: plain(changed)} if changed else {})}


def told(environment: Mapping[str, Any]) -> Changed | None:
    """What a bundle says has changed; None where it does not say it in this form."""
    try:
        return msgspec.convert(environment.get(KEY), Changed)
    except msgspec.ValidationError:
        return None


def _code(now: Git | None, good: Git | None, between: Sequence[Hunk]) -> Iterator[Hunk]:
    """Lines that are not what they were: committed since, changed without a commit, or changed back.

    What the good run had uncommitted and was committed later is no change.
    """
    if now is None or good is None or now.root != good.root:
        return
    had = Counter(_key(hunk) for hunk in good.hunks)
    present: Counter[tuple[str, tuple[str, ...], tuple[str, ...]]] = Counter()
    for hunk in (*between, *now.hunks):
        key = _key(hunk)
        present[key] += 1
        if present[key] > had[key]:
            yield hunk
    if not now.is_cut:
        for hunk in good.hunks:
            if not present[_key(hunk)]:
                yield Hunk(path=hunk.path, line=hunk.line, old=hunk.new, new=hunk.old)


def _key(hunk: Hunk) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Without the line number, which lines above change."""
    return hunk.path, hunk.old, hunk.new


def _uncommitted(now: Git | None, good: Git | None) -> Iterator[str]:
    """Files that differ by so much that their lines were not kept."""
    if now is None or good is None or not now.is_cut:
        return
    kept = {hunk.path for hunk in now.hunks}
    files = [path for path in now.dirty if path not in kept]
    if files and (set(files) - set(good.dirty) or not good.is_cut):
        more = f" and {len(files) - 3} more files" if len(files) > 3 else ""  # noqa: PLR2004
        yield f"uncommitted changes in {', '.join(files[:3])}{more}"


def _script(now: Software, good: Software, code: Sequence[Hunk]) -> Iterator[str]:
    """The job's script, where its lines are not named by the repository's changes already."""
    if not now.script_sha256 or not good.script_sha256 or now.script_sha256 == good.script_sha256:
        return
    hunks = hunks_between(now.script_name, good.script, now.script) if now.script and good.script else None
    named = {(hunk.path.rpartition("/")[2], hunk.old, hunk.new) for hunk in code}
    if not hunks:
        yield f"script {now.script_name}"
    for hunk in hunks or ():
        if _key(hunk) not in named:
            yield from map(in_words, apart(hunk))


def _arguments(now: Software, good: Software) -> Iterator[str]:
    if now.arguments == good.arguments or now.script_name != good.script_name:
        return
    lines = (" ".join(good.arguments),), (" ".join(now.arguments),)
    yield in_words(Hunk(path="", line=0, old=lines[0], new=lines[1]), where="arguments")


def _commit(now: Git | None, good: Git | None) -> Iterator[str]:
    if now is None or good is None:
        return
    if now.root != good.root:
        yield f"repository {good.root} -> {now.root}"
    if now.commit != good.commit:
        yield f"commit {_shown(good)} -> {_shown(now)}"
    yield from _one("branch", now.branch, good.branch)


def _shown(git: Git) -> str:
    return f"{git.commit[:_COMMIT]}{' (dirty)' if git.dirty else ''}"


def _packages(now: Mapping[str, str], good: Mapping[str, str]) -> Iterator[str]:
    if not now or not good:
        return
    differing = sorted((name for name in {*now, *good} if now.get(name) != good.get(name)), key=_rank)
    for name in differing[:_PACKAGES]:
        yield f"{name} {good.get(name, '(none)')} -> {now.get(name, '(none)')}"
    if len(differing) > _PACKAGES:
        yield f"{len(differing) - _PACKAGES} more packages"


def _rank(name: str) -> tuple[int, str]:
    """What training programs stand on comes first."""
    if name in _TELLING:
        return _TELLING.index(name), name
    return len(_TELLING) + (not name.startswith(_LIBRARIES)), name


def _modules(now: Sequence[str], good: Sequence[str]) -> Iterator[str]:
    """`module cuda/12.4 -> cuda/12.6`, where one version took another's place."""
    come, gone = ([one for one in these if one not in those] for these, those in ((now, good), (good, now)))
    for one in come:
        before = next((other for other in gone if _family(other) == _family(one)), None)
        if before is not None:
            gone.remove(before)
        yield f"module {before or '(none)'} -> {one}"
    for one in gone:
        yield f"module {one} -> (none)"


def _family(module: str) -> str:
    return module.partition("/")[0]


def _one(name: str, now: str, good: str) -> Iterator[str]:
    """Only where both are known: not found out is no change."""
    if now and good and now != good:
        yield f"{name} {good} -> {now}"
