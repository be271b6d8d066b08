"""Who raised an exception: a reader of data, by the names that files and functions of readers have."""

import re
from typing import Final

from supervisor.diagnose.scan.traces import Frame

_FUNCTION: Final = re.compile(
    r"__getitems?__|__iter__|__next__|from_file|\w{0,40}collate\w{0,40}|"
    r"_{0,2}(?:read|unpack|deserialize|tokenize|encode)(?:_\w{1,60})?|"
    r"_{0,2}(?:parse|decode)_(?!args|known|config|cfg|opt|env|flags)\w{1,60}|parse|"
    r"_{0,2}(?:load|get|fetch|open|next|iter|crop|extract|augment|pull|sample|transform|preprocess|process|convert|"
    r"slice)_(?:\w{1,40}_)?(?:sample|record|shard|example|item|batch|image|img|audio|wav|video|frame|clip|mask|label|"
    r"target|ann|annotation|document|doc|text|tile|row|chunk|block|feature|spectrogram|mel|utterance|utt|window|patch|"
    r"volume|series|event|graph|molecule|structure|field|pair|caption|token|conversation|trajectory|point|scene|"
    r"granule|pose|poly|polygon|segment|sequence|line|sentence|cloud|day|cycle)s?(?:_\w{1,30})?"
)
_FILE: Final = re.compile(
    r"(?:\w{0,40}_)?(?:data|dataset|datasets|dataloader|dataloaders|datamodule|datapipe|dataio|reader|readers|"
    r"loader|loaders|loading|shards?|streams?|streaming|collat\w{1,8}|records?|corpus|jsonl|parquet|webdataset|wds|"
    r"hdf5|zarr|tfrecord|lmdb|feeder|batcher|batching|ingest|labels?|annotations?|manifests?|samples?|captions?|"
    r"transcripts?|tokenize\w{0,4}|featuri[sz]e\w{0,2}|augment\w{0,7}|transforms?)(?:_\w{0,40})?\.py"
)
_FOLDER: Final = re.compile(r"datasets?|data|dataio|dataloaders?|loaders|readers")
_MAIN: Final = re.compile(r"(?:train|main|run|model|test|eval|launch|finetune|pretrain)\w{0,40}\.py")
_OF_PROGRAM: Final = re.compile(r"\w{0,40}collate\w{0,40}|parse|encode|(?:get|next|fetch)_batch(?:es)?")
"""In the training script itself these put together what it made up: a key that is not there is its own slip."""
_PREPARES: Final = re.compile(
    r"\w{0,40}(?:write|save|dump|init|setup|config)\w{0,40}|set_\w{1,40}|load_state\w{0,20}|(?:restore|resume)\w{0,20}"
)
"""Functions that set up, write or restore, though their file be a reader's."""
_CALLS: Final = re.compile(r"\w{0,40}(?:main|forward|backward|build|download|make)\w{0,40}")
_ASIDE: Final = re.compile(
    r"(?:^|[/_])(?:eval|evaluat|valid|val_|val\.|val$|valset|test|metric|score|log|logger|viz|visual|plot|save|ckpt|"
    r"checkpoint|export|sampler|mixture|report|config(?!_from)|cfg|conf\.|args|opt|sched|lr_|hook|callback|curriculum|"
    r"generat|infer|predict|env\.|wandb)",
    re.IGNORECASE,
)
"""Files and functions whose work begins late in a run: what fails there may never have worked."""
_SETTINGS: Final = re.compile(
    r"(?:config|cfg|settings|hparams|hyperparam|arguments|namelist|params)[\w-]{0,40}\.(?:json|ya?ml|toml|ini|py|"
    r"txt|input|nml)\b|\w\.(?:ya?ml|toml|ini|cfg|conf|nml|in|inp|input|mdp|par|params?|prm|sif|fdf)\b(?!\.)|(?<![\w.-])[A-Za-z_-]{1,60}\.xml\b|"
    r"\bcon(?:fig(?:uration)?|trol) file\b|\bnamelist\b|\bdictionary\b|\bfrom line \d{1,9} to line\b|"
    r"/system/\w{1,40}\b|\bstdin\b",
    re.IGNORECASE,
)
_SETS_UP: Final = re.compile(
    r"config|\bcfg|settings|hparams|hyperparam|arguments|args\b|namelist|\bconf\b", re.IGNORECASE
)
_SCRIPT: Final = frozenset({"<module>", "main", "_main", "cli", "run"})


def is_reader(frame: Frame) -> bool:
    """Its file or function has a name that readers of data have."""
    folder, _, name = frame.file.rpartition("/")
    is_programs_own = bool(_MAIN.fullmatch(name) and _OF_PROGRAM.fullmatch(frame.function))
    if is_programs_own or prepares(frame) or _CALLS.fullmatch(frame.function):
        return False
    if "-packages/" in frame.file:
        return bool(_FUNCTION.fullmatch(frame.function))
    return bool(
        _FUNCTION.fullmatch(frame.function)
        or _FILE.fullmatch(name)
        or (_FOLDER.fullmatch(folder.rpartition("/")[2]) and not _MAIN.fullmatch(name))
    )


def prepares(frame: Frame) -> bool:
    """It sets up, writes or restores."""
    return bool(_PREPARES.fullmatch(frame.function)) and "config_from" not in frame.function


def is_aside(frame: Frame) -> bool:
    """It evaluates, logs, saves or sets up: work that a run of many steps may come to for the first time."""
    name = frame.file.rpartition("/")[2]
    return bool(_ASIDE.search(name) or _ASIDE.search(frame.function))


def sets_up(frame: Frame) -> bool:
    """It reads settings, by the name of its file or function."""
    return bool(_SETS_UP.search(frame.file.rpartition("/")[2]) or _SETS_UP.search(frame.function))


def is_script(frame: Frame) -> bool:
    """It is the program's own outermost code."""
    return frame.function in _SCRIPT


def is_of_settings(text: str) -> bool:
    """A file of settings is named: what is wrong there is the program's."""
    return bool(_SETTINGS.search(text))
