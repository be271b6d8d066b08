"""What a batch script and the job's environment say about modules, Python and container. Pure."""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Final

_MODULES: Final = re.compile(r"^[ \t]*(?:module|ml)[ \t]+(?:load[ \t]+|add[ \t]+)?([^#;&|\n]+)", re.MULTILINE)
_NO_MODULE: Final = re.compile(
    r"purge|un\w+|list|av\w*|use|sw\w+|restore|save\w*|show|spider|reset|help|init\w*|whatis"
)
_ACTIVATE: Final = re.compile(r"^[ \t]*(?:source|\.)\s+[\"']?([^\s\"';$&|]+)/bin/activate\b", re.MULTILINE)
_CONDA: Final = re.compile(r"^[ \t]*(?:conda|mamba|micromamba)\s+activate\s+[\"']?([^\s\"';$&|]+)", re.MULTILINE)
_PYTHON: Final = re.compile(r".*/bin/python[\d.]*")
_CONTAINER: Final = (
    re.compile(r"--container(?:-image)?[= ][\"']?([^\s\"']+)"),
    re.compile(
        r"\b(?:apptainer|singularity)\s+(?:exec|run)\b[^\n]{0,2000}?\s([^\s\"'$]+\.(?:sif|sqsh|simg)|(?:docker|oras)://\S+)"
    ),
)
_VARIABLES: Final = (
    "SLURM_SPANK__SLURM_SPANK_OPTION_pyxis_container_image",
    "PYXIS_CONTAINER_IMAGE",
    "SLURM_CONTAINER",
    "APPTAINER_CONTAINER",
    "SINGULARITY_CONTAINER",
)


def modules(env: Mapping[str, str], script: str) -> tuple[str, ...]:
    """Those loaded when the job began, then those that the script names."""
    loaded = [name for name in env.get("LOADEDMODULES", "").split(":") if name]
    for match in _MODULES.finditer(script):
        words = match[1].split()
        if words and not _NO_MODULE.fullmatch(words[0]):
            loaded += [word for word in words if not word.startswith("-") and "$" not in word]
    return tuple(dict.fromkeys(loaded))


def python_folders(env: Mapping[str, str], script: str, workdir: str, command: Sequence[str] = ()) -> tuple[str, ...]:
    """Where the job's Python may be installed, the likeliest first: that of the command, of the script, of the job."""
    named = [word for word in command if _PYTHON.fullmatch(word)]
    found = [str(PurePath(workdir, word).parent.parent) for word in named[:1]]
    found += [str(PurePath(workdir, match[1])) for match in _ACTIVATE.finditer(script)]
    for match in _CONDA.finditer(script):
        found += _conda_folders(env, match[1])
    found += [env[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name)]
    return tuple(found)


def container(env: Mapping[str, str], arguments: Sequence[str], script: str) -> str:
    """The image as it was named; empty where none is known."""
    told = next((env[name] for name in _VARIABLES if env.get(name)), "")
    if told:
        return told
    for text in (" ".join(arguments), script):
        for pattern in _CONTAINER:
            if match := pattern.search(text):
                return match[1]
    return ""


def _conda_folders(env: Mapping[str, str], name: str) -> list[str]:
    if "/" in name:
        return [name]
    program = env.get("CONDA_EXE") or env.get("MAMBA_EXE") or ""
    roots = [str(PurePath(program).parents[1])] if program.count("/") > 1 else []
    roots += [env["MAMBA_ROOT_PREFIX"]] if env.get("MAMBA_ROOT_PREFIX") else []
    return [f"{root}/envs/{name}" for root in roots] if name != "base" else roots
