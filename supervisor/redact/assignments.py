"""Secrets that are known by their name: `KEY=value`, `--password value`, JSON, YAML and ini."""

import re
from collections.abc import Iterator
from typing import Final

from supervisor.redact.shapes import GONE

_AFTER: Final = "=:\"'`\\] _-.0123456789"
LITERALS: Final = (
    *("passw", "passphrase", "pwd", "_pass", "-pass", "secret", "credential", "authorization", "keytab"),
    # By far the most frequent words of training logs, there as `tokens/s` and `keys`.
    *(f"{word}{after}" for word in ("token", "key", "auth") for after in _AFTER),
)
"""Lower case; a line without any of them names no secret."""
_NAME: Final = re.compile(
    r"(?P<strong>passw(?:or)?d|passphrase|pwd|(?<=[_-])pass(?![a-z])|secret|(?:api|access|account|private|master|signing"
    r"|encryption|license|shared)[_-]?(?:access)?[_-]?key|authorization|keytab)"
    r"|(?P<token>token(?!s|iz)|credentials?)"
    r"|(?P<weak>key(?!s)|auth)",
    re.IGNORECASE,
)
_REST: Final = re.compile(r"[\w.-]{0,24}")
_SEPARATOR: Final = re.compile(
    r"""(?P<sign>\\?["'`]?\]?\s{0,4}(?:=>|:=|[=:])\s{0,4})|(?P<list>["']\s{0,2},\s{0,2}(?=["']))|(?P<blank>\s{1,4})"""
)
_QUOTED: Final = re.compile(r"""(?P<open>\\?["'`])(?P<value>(?:[^"'`\\\n]|\\[^"'`\n]){4,128})""")
_BARE: Final = re.compile(
    r"(?:(?P<scheme>basic|bearer|token|digest|negotiate)\s{1,4})?(?P<value>[^\s\"'`,;&\\]{4,128})", re.IGNORECASE
)
_QUOTED_ON: Final = re.compile(r"""(?:[^"'`\\\n]|\\[^"'`\n])*""")
_BARE_ON: Final = re.compile(r"[^\s\"'`,;&\\]*")
_BEFORE: Final = 40
"""How far back an option may begin."""
_WORD_BEFORE: Final = 12
"""How far back a name is looked at: `eos_` makes a token no secret."""
_NO_SECRET_BEFORE: Final = re.compile(
    r"(?:eos|bos|pad|unk|mask|sep|cls|special|image|audio|max|min|num|next|prev|per|new|last|first|bad|stop|prompt|total"
    r"|unexpected|invalid|unknown|illegal|missing)[_\-. ]$",
    re.IGNORECASE,
)
_NO_SECRET_AFTER: Final = re.compile(
    r"[_.-]?(?:file|path|dir|name|type|len|length|count|size|error|ids?)$", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"[-+(\[]*[\d.,_eE+-]{1,24}[%\w]{0,4}[)\]]*$")
_ORDINARY: Final = re.compile(
    r"(?:none|null|nil|true|false|required|missing|denied|failed|expired|invalid|empty|unset|redacted|munge|optional"
    r"|unknown|disabled|enabled|default|authentication|verification)$"
)
_REFERENCE: Final = re.compile(r"[$<{%\[(]|[A-Za-z_][\w.]{0,64}[(\[{]|\*\*\*")
_WORD: Final = re.compile(r"[A-Za-z]+[.:!?)\]}]*$")
_DIGIT: Final = re.compile(r"\d")
_RUNS: Final = re.compile(r"[a-z]+|[A-Z]+|\d+")
_RANDOM_LENGTH: Final = 20
_FEWEST_RUNS: Final = 3
_JUDGED: Final = 128
"""So many characters of a value tell what it is."""
_HEX: Final = re.compile(r"(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{32,}$", re.IGNORECASE)
_ASSIGNED: Final = re.compile(r"[=:][ \t]{0,4}[\"'`]?(?P<value>[A-Za-z0-9+/_-]{24,}={0,2})")
_MEAN_RUN: Final = 2.4
"""Letters and digits of a key change their kind after every second one; those of a name or path after every fifth."""


def without_named(line: str) -> str:
    """The line with stars in place of the values of passwords, tokens and keys."""
    pieces: list[str] = []
    at = 0
    for start, end in _values(line):
        pieces += (line[at:start], GONE)
        at = end
    return "".join([*pieces, line[at:]])


def without_assigned(text: str) -> str:
    """The text with stars in place of values that look like a key, whatever they are assigned to."""

    def replaced(match: re.Match[str]) -> str:
        whole, value = match[0], match["value"]
        return whole[: -len(value)] + GONE if _is_mixed(value) else whole

    return _ASSIGNED.sub(replaced, text)


def is_random(value: str) -> bool:
    """It looks like a key: hexadecimal, or mixed. A checksum does, too: this is for values with a telling name."""
    return bool(_HEX.match(value)) or _is_mixed(value)


def _is_mixed(value: str) -> bool:
    """Long, and letters, capitals and digits change without order, in few parts: no path, UUID or date."""
    value = value[:_JUDGED]
    if len(value) < _RANDOM_LENGTH or "_Z" in value or not _DIGIT.search(value):  # _Z: a C++ symbol
        return False
    runs = _RUNS.findall(value)
    length = sum(map(len, runs))
    capitals, digits = sum(run[0].isupper() for run in runs), sum(run[0].isdigit() for run in runs)
    is_mixed = capitals >= _FEWEST_RUNS and digits >= _FEWEST_RUNS - 1 and capitals + digits < len(runs)
    return is_mixed and length >= _RANDOM_LENGTH and length < _MEAN_RUN * len(runs) and 8 * _parts(value) <= length


def _parts(value: str) -> int:
    return sum(map(value.count, "_./:-"))


def is_secret_name(name: str) -> bool:
    """A field of this name holds a secret: `password`, `api_key`; not `key` alone, nor `eos_token`."""
    return any(not _is_weak(name, match, _REST.match(name, match.end())) for match in _NAME.finditer(name))


def _values(line: str) -> Iterator[tuple[int, int]]:
    """Where secret values begin and end, in order, never overlapping."""
    at = 0
    while (name := _NAME.search(line, at)) is not None:
        rest = _REST.match(line, name.end())
        after = rest.end() if rest else name.end()
        separator = _SEPARATOR.match(line, after)
        at = name.end()
        if separator is None:
            continue
        value = _QUOTED.match(line, separator.end()) or _BARE.match(line, separator.end())
        if value is None:
            continue
        if _goes(line, name, separator, value, is_weak=_is_weak(line, name, rest)):
            on = (_QUOTED_ON if "open" in value.re.groupindex else _BARE_ON).match(line, value.end())
            at = on.end() if on else value.end()
            yield value.start("value"), at


def _is_weak(line: str, name: re.Match[str], rest: re.Match[str] | None) -> bool:
    """The name alone tells nothing: its value must look like a key as well."""
    if name.lastgroup == "token" and _NO_SECRET_BEFORE.search(line[max(0, name.start() - _WORD_BEFORE) : name.start()]):
        return True
    return name.lastgroup == "weak" or bool(rest and _NO_SECRET_AFTER.match(rest[0]))


def _goes(line: str, name: re.Match[str], separator: re.Match[str], value: re.Match[str], *, is_weak: bool) -> bool:
    text = value["value"]
    if is_weak:
        return is_random(text) and not _REFERENCE.match(text)
    if _is_no_secret(text, name[0]):
        return False
    if is_random(text):
        return True
    is_told = separator.lastgroup == "sign" or _is_option(line, name.start())
    if not is_told or text.startswith(("/", "./", "~/")):  # where the secret lies, not what it is
        return False
    return name.lastgroup == "strong" or _is_token(separator[0], value)


def _is_no_secret(text: str, name: str) -> bool:
    """`None`, `${TOKEN}`, `token=token`."""
    plain = text.strip(".,;:!?)]}>*").lower()
    return not plain or plain == name.lower() or bool(_ORDINARY.match(plain) or _REFERENCE.match(text))


def _is_token(separator: str, value: re.Match[str]) -> bool:
    """Not a number, as language models count them, nor a word of a sentence."""
    is_quoted = "open" in value.re.groupindex
    is_prose = not is_quoted and separator[-1].isspace() and _WORD.match(value["value"])
    return not is_prose and not _NUMBER.match(value["value"])


def _is_option(line: str, start: int) -> bool:
    """`--api-key`, `-token`: its value may stand behind a blank."""
    before = line[max(0, start - _BEFORE) : start]
    head = before.rsplit(None, 1)[-1] if before.strip() and not before[-1].isspace() else ""
    return head.lstrip("['\"(`").startswith("-")
