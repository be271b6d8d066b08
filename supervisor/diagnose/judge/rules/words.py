"""What an exception's own words say of data: which file or sample, and what is wrong with it."""

import re
from typing import Final

_EXTENSION: Final = re.compile(
    r"\.(?:tar|tgz|zip|parquet|jsonl|ndjson|csv|tsv|h5|hdf5|he5|npy|npz|bin|idx|arrow|tfrecords?|zarr|nc4?|grib2?|"
    r"grb2?|root|lmdb|mdb|ds|mds|bam|cram|sam|vcf|fastq|fasta|fa|fq|bed|tiff?|jpe?g|png|webp|wav|flac|mp3|opus|ogg|"
    r"mp4|mkv|webm|avi|nii|dcm|fits?|las|laz|ply|pcd|obj|stl|msh|exo|cgns|xyz|cif|pdb|sdf|mol2?|lance|avro|orc|dat|"
    r"raw|segy|sgy|mseed|rec|bufr|hdf|jls|jp2|exr|ark|scp|txt|feather|pickle|pkl|pt|shard)(?:\.(?:gz|zst|bz2|xz|"
    r"lz4))?\b|\b(?:part|shard)-(?:[rm]-)?\d{2,6}\b",
    re.IGNORECASE,
)
_SAMPLE: Final = re.compile(
    r"\b(?:samples?|records?|rows?|shards?|doc(?:ument)?s?|utterances?|utt|clips?|tiles?|images?|examples?|events?|"
    r"granules?|molecules?|scenes?|episodes?|trajector(?:y|ies)|conversations?|captions?|transcripts?|reads?)"
    r"(?:[ _]?(?:id|index|idx|no\.?|number))?[ =:#(\[]{1,3}['\"]?[\w./-]{0,80}\d",
    re.IGNORECASE,
)
_KEY: Final = re.compile(r"KeyError: ['\"]?[\w/.-]{0,80}\d{5}")
"""A key that counts thousands is a sample's."""
_SPOT: Final = re.compile(
    r"\b(?:line|row|record|offset|entry|chunk|block|event|sample|byte|position|band|level)s?[ =:#]{1,3}\d",
    re.IGNORECASE,
)
_PATH: Final = re.compile(r"(?<![\w.])/[\w.-]{1,80}/[\w./-]{1,200}")
_CONTRADICTION: Final = re.compile(
    r"\b(?:index|idx|manifest|metadata|header)\b[^\n]{0,40}\b(?:counts?|lists?|says|promises|claims|declares?|names|"
    r"covers|records)\b[^\n]{0,30}\d[\d,_]{2,}[^\n]{0,80}\d[\d,_]{2,}",
    re.IGNORECASE,
)
"""An index and what it describes tell different numbers."""
_OF_DATA: Final = re.compile(
    r"\b\w{0,40}(?:InvalidData|Corrupt|DataLoss|BadData|Truncated|Decompress|Decoding|Undecodable)\w{0,20}(?:Error|"
    r"Exception)\b"
)
"""Exceptions whose name says it."""
_LABEL: Final = re.compile(
    r"\b(?:labels?|class(?:es)?|class[_ ]?(?:id|index)|categor(?:y|ies)|category[_ ]?id|targets?|token(?:[_ ]ids?)?)\b"
    r"[^\n]{0,80}(?:\bexceeds?\b|\bout of\b|\bbeyond\b|\boutside\b|\bgreater than\b|>=?|<|\bnot (?:in|one of)\b|"
    r"\bunknown\b|\binvalid\b|\bunexpected\b|\bonly\b|\bmax(?:imum)?\b)|"
    r"\b(?:invalid|unknown|unexpected|illegal|bad)\b[^\n]{0,20}\b(?:label|class|category|token)\b",
    re.IGNORECASE,
)
_DAMAGED: Final = re.compile(
    r"\btruncat\w{2,4}\b|\bcorrupt\w{0,4}\b|\bdamaged?\b|check ?sum|\bCRC(?:32C?)?\b|\bmd5\b|\bsha256\b|\bmagic\b|"
    r"\bbad header\b|\bunexpected (?:end|EOF)\b|\bend[ -]of[ -]file\b|\bEOF\b|\bshort read\b|"
    r"\bwrong (?:\w{1,12} )?(?:length|size)\b|\bgarbage\b|\b(?:could not|cannot) be (?:decoded|read|opened)\b|"
    r"(?:\bde|_un)compress\w{0,5}\b|\bsuperblock\b|\binflate\b|\b(?:expected|wanted|want|need(?:ed|s)?|should (?:be|"
    r"have)|declares?|says|got|read|only|has|instead of|manifest)\b[^\n]{0,40}\d[^\n]{0,10}\bbytes\b|"
    r"\d bytes\b[^\n]{0,40}\b(?:expected|wanted|got|read|only|instead|left|remain\w{0,3}|but|manifest|index)\b|"
    r"\bnot a(?:n)? (?:valid|readable|proper)\b",
    re.IGNORECASE,
)
_MALFORMED: Final = re.compile(
    r"could not convert|invalid literal|malformed|cannot parse|can't parse|could not parse|failed to parse|pars(?:e|"
    r"ing) (?:error|failed)|\bunparsable\b|\bunterminated\b|\bdelimiter\b|\bexpected \d{1,9} (?:fields|columns|"
    r"values|tokens|items|entries)\b|\bschema\b|\b(?:has no|without(?: an?)?|lacks?|missing|"
    r"no) ['\"]?\w{1,40}['\"]? ?(?:field|key|column|attribute|entry|tag)?\b|\bnegative\b|\bnon-?monotonic\b|"
    r"\bnot sorted\b|\bduplicate\w{0,1}\b|\bunexpected\b|\binvalid\b|\bmismatch\b|\bdoes not match\b|"
    r"\binconsistent\b",
    re.IGNORECASE,
)
_EMPTY: Final = re.compile(
    r"\bempty\b|\bwith size 0\b|\bzero[- ](?:length|size|duration)\b|\b(?:0|no|zero)(?: valid| usable)? (?:tokens|"
    r"pixels|frames|samples|points|atoms|boxes|elements|text|words|nodes|edges)\b|\ball (?:masked|filtered|"
    r"padding)\b",
    re.IGNORECASE,
)
_ABSENT: Final = re.compile(
    r"\bnot (?:found|present|there|available) in\b|\babsent\b|\bis missing\b|\bare missing\b|\bmissing (?:samples?|"
    r"files?|shards?|frames?|images?|chunks?)\b|\b\d{1,9} of \d{1,9}\b",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(r"\bnan\b|\bnon-?finite\b|\binf(?:inite|inity)?\b|\bnot finite\b", re.IGNORECASE)
_INDEX: Final = re.compile(
    r"\b(?:index|idx|manifest|metadata|lengths?|offsets?)\b[^\n]{0,80}\b(?:but|while|whereas|beyond|past|exceeds?|"
    r"does not|disagree\w{0,2}|vs\.?|!=|lists?|counts?|says|declares?|promises|claims|names) |!= ?(?:len|num|n)_?|"
    r"\bpast (?:the )?end\b",
    re.IGNORECASE,
)
_SOUND_OR_IMAGE: Final = re.compile(
    r"\b(?:decod\w{1,4}|image|jpe?g|png|webp|tiff?|wav|flac|mp3|opus|audio|video|frame|mp4|pixel|sampling rate|"
    r"waveform)\b|\.(?:jpe?g|png|webp|tiff?|wav|flac|mp3|opus|mp4|mkv|webm|avi|dcm|nii)",
    re.IGNORECASE,
)
_KINDS: Final = (
    ("label_or_token_out_of_range", _LABEL),
    ("nan_in_input", _NUMBERS),
    ("dataset_index_inconsistent", _INDEX),
    ("damaged", _DAMAGED),
    ("empty_batch", _EMPTY),
    ("missing_samples", _ABSENT),
)


def names_a_place(text: str) -> bool:
    """It names a file of data, or a sample by its number or name."""
    return bool(_EXTENSION.search(text) or _SAMPLE.search(text) or _KEY.search(text))


def tells_of_damage(text: str) -> bool:
    """It says that bytes of a file are wrong or lacking, or what is wrong in which line: no code does that."""
    is_file = bool(_EXTENSION.search(text))
    return bool(
        ((is_file or _PATH.search(text)) and _DAMAGED.search(text))
        or (is_file and _SPOT.search(text) and (_MALFORMED.search(text) or _NUMBERS.search(text)))
        or _CONTRADICTION.search(text)
        or _OF_DATA.search(text)
    )


def kind_of(text: str) -> str:
    """The cause among those of data that the words fit; a malformed record where they tell nothing finer."""
    for kind, words in _KINDS:
        if words.search(text):
            return _damaged(text) if kind == "damaged" else kind
    return "missing_samples" if _KEY.search(text) else "malformed_record"


def _damaged(text: str) -> str:
    return "corrupt_sample" if _SOUND_OR_IMAGE.search(text) else "corrupt_shard"
