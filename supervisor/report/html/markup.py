"""HTML and SVG that cannot be broken by what is put into it: texts are escaped where elements are made. Pure."""

import html
import unicodedata
from typing import Final, TypeAlias

_VOID: Final = frozenset({"meta", "link", "br", "hr"})
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, bidirectional overrides, zero widths, lone surrogates: what a reader cannot see, or what moves the rest."""
_SHOWN_AS: Final = "\N{REPLACEMENT CHARACTER}"


class Markup(str):
    """A text that is HTML already. Only this module makes it from anything else."""

    __slots__ = ()


Content: TypeAlias = "Markup | str"


def plain(text: str) -> str:
    """The text with blanks for line breaks and tabs, and a mark in place of each character that does not show."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def escaped(text: Content) -> Markup:
    """What may stand between tags and in a quoted attribute."""
    return text if isinstance(text, Markup) else Markup(html.escape(plain(text), quote=True))


def element(name: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """One element. `class_` is `class`, `aria_label` is `aria-label`; an attribute that is None is left out.

    It is well-formed as XML, too, so that tests and tools can read it back.
    """
    told = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in _VOID:
        return Markup(f"<{name}{told} />")
    return Markup(f"<{name}{told}>{joined(*content)}</{name}>")


def joined(*content: Content) -> Markup:
    """One after the other."""
    return Markup("".join(map(escaped, content)))


def _attribute(key: str, value: str | float) -> str:
    told = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f' {key.rstrip("_").replace("_", "-")}="{escaped(told)}"'


def _shown(char: str) -> str:
    if char in "\n\r\t":
        return " "
    return _SHOWN_AS if unicodedata.category(char) in _HIDDEN else char
