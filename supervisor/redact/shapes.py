"""Secrets that are known by their own shape: what services hand out. Data, and the regular expressions made of them.

Each shape has literals (lower case): only a line that holds one of them reaches the regular expression. No expression
has two unbounded parts that can match the same characters, so each is linear in the line.
"""

import re
from dataclasses import dataclass
from typing import Final

GONE: Final = "***"


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret."""

    name: str
    literals: tuple[str, ...]
    """Lower case; a line without any of them holds no such secret."""
    pattern: re.Pattern[str]
    """What it matches goes, but for the group `keep`, which stays in front of the stars."""

    def taken_from(self, line: str) -> str:
        """The line without secrets of this kind."""
        return self.pattern.sub(_replaced, line)


def _replaced(match: re.Match[str]) -> str:
    kept = match["keep"] if "keep" in match.re.groupindex else ""
    return f"{kept}{GONE}"


def _prefix(name: str, prefixes: str, tail: str) -> Shape:
    """A token that begins with one of these, where no letter or digit stands before it."""
    words = tuple(prefixes.split())
    joined = "|".join(map(re.escape, words))
    return Shape(name, tuple(word.lower() for word in words), re.compile(rf"(?<![A-Za-z0-9])(?:{joined}){tail}"))


def _shape(name: str, literals: str, pattern: str, flags: int = 0) -> Shape:
    return Shape(name, tuple(literals.split()), re.compile(pattern, flags))


_I: Final = re.IGNORECASE
_ALNUM_16: Final = r"[A-Za-z0-9]{16,}"
_WORD_16: Final = r"[\w-]{16,}"
_WITH_DIGIT_16: Final = r"(?=[A-Za-z_-]{0,80}\d)[\w-]{16,}"

SHAPES: Final = (
    _prefix("aws key id", "AKIA ASIA ABIA ACCA AROA AIDA", r"[A-Z0-9]{12,}"),
    _prefix("aws session token", "FwoGZXIvYXdz IQoJb3JpZ2lu", r"[A-Za-z0-9+/=]{16,}"),
    _prefix("google api key", "AIza", r"[\w-]{30,}"),
    _prefix("google oauth", "ya29. GOCSPX-", r"[\w.-]{8,}"),
    _prefix("github", "ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM_16),
    _prefix("github fine-grained", "github_pat_", r"\w{16,}"),
    _prefix("gitlab", "glpat- gldt- glrt- glcbt- glptt- glft- gloas- glsoat- glagent-", r"[\w.-]{8,}"),
    _prefix("hugging face", "hf_ api_org_", _ALNUM_16),
    _prefix("openai, anthropic", "sk-", _WITH_DIGIT_16),
    _prefix("model providers", "gsk_ r8_ pplx- xai- tgp_v1_ lsv2_pt_ lsv2_sk_ rpa_ fw_", r"[\w-]{20,}"),
    _prefix("weights and biases", "wandb_v1_", _WORD_16),
    _prefix("slack", "xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp-", r"[\w-]{8,}"),
    _prefix("stripe", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", _ALNUM_16),
    _prefix("sendgrid", "SG.", r"[\w-]{16,}\.[\w-]{16,}"),
    _prefix("npm", "npm_", r"[A-Za-z0-9]{30,}"),
    _prefix("pypi", "pypi-", r"[\w-]{30,}"),
    _prefix("docker", "dckr_pat_ dckr_oat_", _WORD_16),
    _prefix("vault", "hvs. hvb. hvr.", _WORD_16),
    _prefix("databricks", "dapi", r"[0-9a-f]{32}(?:-\d)?"),
    _prefix("ngc", "nvapi-", _WORD_16),
    _prefix("grafana", "glsa_ glc_", r"[\w=+/-]{16,}"),
    _prefix("infrastructure", "dop_v1_ doo_v1_ dp.st. dp.pt. pul- tskey- sbp_ pscale_tkn_ NRAK- AKCp", _WORD_16),
    _prefix("collaboration", "lin_api_ ntn_ shpat_ PMAK- ATATT3x sntrys_ ATCTT3x", r"[\w=+/-]{16,}"),
    _prefix("chinese clouds", "LTAI AKID", r"[A-Za-z0-9]{12,}"),
    _prefix("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{16,}"),
    _prefix("twilio", " ".join(f"SK{digit}" for digit in "0123456789abcdef"), r"[0-9a-f]{31}(?![A-Za-z0-9])"),
    _prefix("mailgun", " ".join(f"key-{digit}" for digit in "0123456789abcdef"), r"[0-9a-f]{31}(?![A-Za-z0-9])"),
    # JWT, and Neptune's token, which is the first part alone.
    _prefix("jwt", "eyJ", r"[\w+/=-]{8,}(?:\.[\w+/=-]{1,4096}){0,4}"),
    _prefix("munge credential", "MUNGE:", r"[A-Za-z0-9+/=]{16,}:?"),
    _shape("azure client secret", "q~", r"(?<![\w.~-])[\w.-]{3}[78]Q~[\w.~-]{30,}"),
    _shape("telegram", ":aa", r"(?<!\d)\d{8,10}:AA[\w-]{30,}"),
    _shape("discord", "discord", r"(?<![\w-])[A-Za-z0-9][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}"),
    _shape("webhook", "hooks.slack.com/", r"(?P<keep>hooks\.slack\.com/\w{1,12}/)[\w/+-]{8,}", _I),
    _shape("webhook", "/api/webhooks/", r"(?P<keep>/api/webhooks/)[\w/-]{8,}", _I),
    _shape("webhook", "webhook.office.com/", r"(?P<keep>webhook\.office\.com/)[\w/@-]{8,}", _I),
    # 40 hexadecimal digits may be a commit as well: only beside W&B's name and without a commit's.
    _shape(
        "weights and biases",
        "wandb",
        r"(?P<keep>\bwandb\b[^\n]{0,40}?(?:login|key|[=:])[^\n]{0,20}?)(?<![0-9A-Za-z/])[0-9a-f]{40}(?![0-9a-f])",
        _I,
    ),
    _shape(
        "presigned url",
        "x-amz- x-goog- awsaccesskeyid= signature= key-pair-id= sig= skoid= sharedaccesssignature",
        r"(?P<keep>(?:\bx-(?:amz|goog)-(?:signature|credential|security-token)"
        r"|(?<=[?&;])(?:awsaccesskeyid|signature|key-pair-id|policy|sig))(?:=|%3d))[^\s&\"'<>*\\]{4,}",
        _I,
    ),
    # The last @ ends a password that holds one itself.
    _shape("url with a password", "://", r"(?P<keep>://[^\s/:@\"'<>]{0,128}:)(?!\*\*\*@)[^\s/\"'<>]{1,512}(?=@)"),
    _shape("url with a token", "://", r"(?P<keep>://)(?=[^\s/:@]{0,64}\d)[^\s/:@\"'<>]{20,512}(?=@)"),
    _shape(
        "header",
        "bearer basic negotiate",
        r"(?P<keep>\b(?:bearer|basic|negotiate)\s{1,4})(?=[A-Za-z]{0,512}[\d._~+/=-])[A-Za-z0-9._~+/=-]{8,}",
        _I,
    ),
    _shape("cookie", "cookie:", r"(?P<keep>\b(?:set-)?cookie:\s{0,4})(?!\*\*\*)[^\n\"']{4,}", _I),
    _shape("netrc", "login", r"(?P<keep>\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8})(?!\*\*\*)\S{4,}", _I),
    _shape(
        "curl user", "curl", r"(?P<keep>\bcurl\b[^\n]{0,512}?\s(?:-u|--user)[\s=]{0,4}[^\s:*]{1,128}:)[^\s*]{4,}", _I
    ),
    _shape("docker config", '"auth"', r"(?P<keep>\"auth\"\s{0,4}:\s{0,4}\")[A-Za-z0-9+/=]{8,}", _I),
    # `klist -K`; an address has at most 16 digits.
    _shape("kerberos key", "(0x", r"(?P<keep>\(0x)[0-9a-f]{32,}(?=\))", _I),
    _shape("ssh key", "b3blbnnz", r"b3BlbnNz[A-Za-z0-9+/=]{16,}"),
)
