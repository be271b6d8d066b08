"""What an exception's own words say of data: which file or sample, and what is wrong with it."""

import re
from typing import Final

_EXTENSION: Final = re.compile(
    r"\.(?:tar|tgz|zip|parquet|jsonl|ndjson|csv|tsv|h5|hdf5|he5|npy|npz|bin|idx|arrow|tfrecords?|zarr|nc4?|grib2?|"
    r"grb2?|root|lmdb|mdb|ds|mds|bam|cram|sam|vcf|fastq|fasta|fa|fq|bed|tiff?|jpe?g|png|webp|wav|flac|mp3|opus|ogg|"
    r"mp4|mkv|webm|avi|nii|dcm|fits?|las|laz|ply|pcd|obj|stl|msh|exo|cgns|xyz|cif|pdb|sdf|mol2?|lance|avro|orc|dat|"
    r"ugrid|pfb|psf|prmtop|rst7|dcd|xtc|trr|upf|sra|fast5|pod5|mzml|gsd|vtu|vtk|gff3?|gtf|bcf|bgen|pgen|mrcs?|sac|"
    r"lime|uvfits|shp|gpkg|mmi|cdb|bdf|slf|cube|raw|segy|sgy|mseed|rec|bufr|hdf|jls|jp2|exr|ark|scp|txt|feather|pickle|pkl|pt|shard)(?:\.(?:gz|zst|bz2|xz|"
    r"lz4))?\b|\.json\.(?:gz|zst|bz2|xz)\b|\b(?:part|shard)-(?:[rm]-)?\d{2,6}\b",
    re.IGNORECASE,
)
_SERIES: Final = re.compile(
    r"\d{4}[^/]{0,80}\.(?:jpe?g|png|webp|tiff?|wav|flac|mp3|opus|ogg|mp4|mkv|webm|avi|dcm|nii|npy|npz|pcd|las|laz|ply|"
    r"xyz|cif|pdb|sdf)(?:\.gz)?$",
    re.IGNORECASE,
)
_NAME: Final = re.compile(r"[\w./-]{0,200}\w\.\w[\w.]{0,20}")
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
_LINE_OF: Final = re.compile(
    r"\b(?:at |on |in )?(?:line|row|record|entry|trace|frame|block|chunk|message) (?:number )?#?\d[\d,_]{0,12}:? (?:of|"
    r"in) (?:file )?['\"]?(?=\S{0,80}[./_-])\S{3,200}",
    re.IGNORECASE,
)
"""A line of a file, whatever the file is called."""
_PATH: Final = re.compile(
    r"(?<![\w.])/[\w.-]{1,80}/[\w./-]{1,200}|(?<![\w./])[\w.-]{1,80}/[\w./-]{0,200}"
    r"\w\.(?!(?:py|pyx|pxi|c|cc|cpp|cu|h|hpp|f90|F90|f|rs|go|java|jl|so|out|err|log)\b)\w{1,8}\b"
)
_CONTRADICTION: Final = re.compile(
    r"\b(?:index|idx|manifest|metadata|header)\b[^\n]{0,40}\b(?:counts?|lists?|says|promises|claims|declares?|names|"
    r"covers|records)\b[^\n]{0,30}\d[\d,_]{2,}[^\n]{0,80}\d[\d,_]{2,}",
    re.IGNORECASE,
)
"""An index and what it describes tell different numbers."""
_OF_DATA: Final = re.compile(
    r"\b\w{0,40}(?:InvalidData|Corrupt|DataLoss|BadData|Truncated|Decompress|Decoding|Undecodable|DecodeField)\w{0,20}(?:Error|"
    r"Exception)\b"
)
"""Exceptions whose name says it."""
_LABEL: Final = re.compile(
    r"(?<!<)\b(?:labels?|class(?:es)?|class[_ ]?(?:id|index)|categor(?:y|ies)|category[_ ]?id|targets?|"
    r"token(?:[_ ]ids?)?)\b[^\n]{0,80}(?:\bexceeds?\b|\bout of\b|\bbeyond\b|\boutside\b|\bgreater than\b|>=?|<|"
    r"\bnot (?:in|one of)\b|\bunknown\b|\binvalid\b|\bunexpected\b|\bonly\b|\bmax(?:imum)?\b)|\b(?:invalid|unknown|"
    r"unexpected|illegal|bad)\b[^\n]{0,20}\b(?:label|class|category|token)\b",
    re.IGNORECASE,
)
_DAMAGED: Final = re.compile(
    r"\btruncat\w{2,4}\b|\bcorrupt\w{0,4}\b|\bdamaged?\b|\bbroken document|\binvalid (?:file )?signature\b|"
    r"\bfilter error\b|check ?sum|\bCRC(?:32C?)?\b|\bmd5\b|\bsha256\b|\bmagic\b|\bbad header\b|"
    r"\bunexpected (?:end|EOF)\b|\bend[ -]of[ -]file\b|\bEOF\b|\bshort read\b|"
    r"\bwrong (?:\w{1,12} ){0,3}(?:length|size)\b|\bgarbage\b|\b(?:could not|cannot) be (?:decoded|read|opened)\b|"
    r"(?:\bde|_un)compress\w{0,5}\b|\bsuperblock\b|\binflat(?:e|ed|ing|ion)\b|"
    r"\b(?:expected|wanted|want|need(?:ed|s)?|should (?:be|have)|declares?|says|got|read|only|has|instead of|"
    r"manifest)\b[^\n]{0,40}\d[^\n]{0,10}\bbytes\b|\d bytes\b[^\n]{0,40}\b(?:expected|wanted|got|read|only|instead|"
    r"left|remain\w{0,3}|but|manifest|index)\b|\bnot a(?:n)? (?:valid|readable|proper)\b",
    re.IGNORECASE,
)
_MALFORMED: Final = re.compile(
    r"could not convert|invalid literal|malformed|cannot parse|can't parse|could not parse|failed to parse|"
    r"pars(?:e|ing) (?:error|failed)|\bunparsable\b|\bunterminated\b|\bdelimiter\b|\bexpected \d{1,12} [a-z]{3,20}\b|"
    r"\bschema\b|\b(?:has no|without(?: an?)?|lacks?|missing|no) ['\"]?\w{1,40}['\"]? ?(?:field|key|column|attribute|"
    r"entry|tag)?\b|\bnegative\b|\bnon-?monotonic\b|\bnot sorted\b|\bduplicate\w{0,1}\b|\bunexpected\b|\binvalid\b|"
    r"\bmismatch\b|\bdoes not match\b|\binconsistent\b",
    re.IGNORECASE,
)
_EMPTY: Final = re.compile(
    r"\bempty\b|\bwith size 0\b|\bzero[- ](?:length|size|duration)\b|\b(?:0|no|zero)(?: valid| usable)? (?:tokens|"
    r"pixels|frames|samples|points|atoms|boxes|elements|text|words|nodes|edges)\b|\ball (?:masked|filtered|"
    r"padding)\b",
    re.IGNORECASE,
)
_ABSENT: Final = re.compile(
    r"\bnot (?:found|present|there|available) in\b|\babsent\b|\bno (?:shards?|samples?|files?|records?) (?:is |"
    r"are )?left\b|\bis missing\b|\bare missing\b|\bmissing (?:samples?|files?|shards?|frames?|images?|"
    r"chunks?)\b|\b\d{1,9} of \d{1,9}\b",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(r"\bnan\b|\bnon[- ]?finite\b|\binf(?:inite|inity)?\b|\bnot finite\b", re.IGNORECASE)
_INDEX: Final = re.compile(
    r"\b(?:index|idx|manifest|metadata|lengths?|offsets?)\b[^\n]{0,80}\b(?:but|while|whereas|beyond|past|exceeds?|"
    r"does not|do not agree|disagree\w{0,2}|vs\.?|!=|lists?|counts?|says|declares?|promises|claims|names)(?: |"
    r"$)|!= ?(?:len|num|n)_?|\bpast (?:the )?end\b",
    re.IGNORECASE,
)
_SOUND_OR_IMAGE: Final = re.compile(
    r"\b(?:decod\w{1,4}|image|jpe?g|png|webp|tiff?|wav|flac|mp3|opus|audio|video|frame|mp4|pixel|sampling rate|"
    r"waveform)\b|\.(?:jpe?g|png|webp|tiff?|wav|flac|mp3|opus|mp4|mkv|webm|avi|dcm|nii)",
    re.IGNORECASE,
)
_PART: Final = (
    r"(?:bounding box|b?box(?:es)?|bboxe?s?|annotations?|polygons?|masks?|images?|pixels?|captions?|transcripts?|"
    r"conversations?|conversation roles|utterances?|waveforms?|audio|clips?|videos?|spectrograms?|mels?|labels?|"
    r"label values?|class (?:values?|ids?)|targets? (?:at|of|is|are|value|\d)|records?|samples?|documents?|sentences?|"
    r"molecules?|atoms?|residues?|edge_index|edges?|point clouds?|tiles?|trajector(?:y|ies)|episodes?|timestamps?|"
    r"manifest|aspect ratio|image tokens|jpe?g|png|SR|LQ|GT|recordio|tfrecord|"
    r"in the (?:data|graph|file|batch|sequence))"
)
_FAULT: Final = (
    r"(?:invalid|illegal|malformed|degenerate|corrupt\w{0,4}|truncated|incomplete|empty|negative|non-?finite|nan|"
    r"missing|unexpected|unrecogni[sz]ed|unsupported|too (?:short|long|small|few|many|large)|"
    r"(?:should|must|has to|to) (?:have|be|alternate|contain|match|lie)|"
    r"(?:does not|doesn.t|do not|don.t|did not) (?:match|contain|have|fit|lie)|mismatch(?:es)?|inconsistent|"
    r"(?:less|greater|smaller|larger|longer|shorter) than|out of (?:range|bounds)|outside|not (?:finite|found)|"
    r"error (?:during|while|in)|violates?|please (?:remove|skip)|different (?:size|length|shape)s?)"
)
_CONTENT: Final = re.compile(
    rf"\b{_PART}\b[^\n]{{0,80}}\b{_FAULT}\b|\b{_FAULT}\b[^\n]{{0,60}}\b{_PART}\b", re.IGNORECASE
)
"""A part of a sample, and what is wrong with it."""
_PARSED: Final = re.compile(
    r"could not convert string to (?:float|int|complex)|invalid literal for \w{1,10}\(\)|"
    r"time data '[^'\n]{0,60}' does not match format|cannot convert float NaN to integer|"
    r"could not parse `[^`\n]{0,60}` as dtype|Expected tensor to have size at least \d{1,9} at dimension|"
    r"too many values to unpack \(expected \d\)$"
)
"""What parsers of text and numbers say of what they are given."""
_UNREADABLE: Final = re.compile(
    r"\b(?:fail\w{0,4}|unable|cannot|could not|problems?|errors?)\b[^\n]{0,30}\b(?:load|decod|read|determine|"
    r"open)\w{0,4}\b[^\n]{0,40}\b(?:audio|image|video|frames?|records|document|reader|clip|"
    r"volume)\b|\bno more frames\b|\bunrecogni[sz]ed \w{3,12} format\b|\bsmaller than (?:the )?(?:indicated|expected|"
    r"header)|too short \(n=",
    re.IGNORECASE,
)
_NOTHING: Final = re.compile(r"\bNoneType\b")
_PICTURE: Final = re.compile(r"\bimg\w{0,3}\b|\bimages?\b|\bcv2\b|imread|\bwav\b|\baudio\b|\bmasks?\b", re.IGNORECASE)
_KINDS: Final = (
    ("label_or_token_out_of_range", _LABEL),
    ("nan_in_input", _NUMBERS),
    ("dataset_index_inconsistent", _INDEX),
    ("damaged", _DAMAGED),
    ("empty_batch", _EMPTY),
    ("missing_samples", _ABSENT),
)


def file_names(text: str) -> set[str]:
    """Names of files of data that it tells, without their folders."""
    return {name.rpartition("/")[2] for name in _NAME.findall(text) if _EXTENSION.search(name)}


def names_a_place(text: str) -> bool:
    """It names a file of data, or a sample by its number or name."""
    return bool(_EXTENSION.search(text) or _SAMPLE.search(text) or _KEY.search(text) or _LINE_OF.search(text))


def is_damage(text: str) -> bool:
    """It says that bytes are wrong or lacking, whatever holds them."""
    return bool(_DAMAGED.search(text))


def is_of_a_series(name: str) -> bool:
    """A file of sound, of images or of one sample, with a number in its name: one of thousands alike."""
    return bool(_SERIES.search(name))


def tells_of_content(text: str) -> bool:
    """It says what is wrong with a part of a sample, or what a parser was given."""
    return bool(_CONTENT.search(text) or _PARSED.search(text))


def tells_of_damage(text: str) -> bool:
    """It says that bytes of a file are wrong or lacking, or what is wrong in which line: no code does that."""
    is_file = bool(_EXTENSION.search(text))
    return bool(
        ((is_file or _PATH.search(text)) and _DAMAGED.search(text))
        or (is_file and _SPOT.search(text) and (_MALFORMED.search(text) or _NUMBERS.search(text)))
        or _CONTRADICTION.search(text)
        or _OF_DATA.search(text)
    )


def kind_of(text: str, beside: str = "") -> str:
    """The cause among those of data that the words fit; where they tell nothing finer, that the lines beside fit."""
    return _finer(text) or (_finer(beside) if beside else "") or "malformed_record"


def _finer(text: str) -> str:
    for kind, words in _KINDS:
        if words.search(text):
            return _damaged(text) if kind == "damaged" else kind
    if _UNREADABLE.search(text):
        return _damaged(text)
    if _NOTHING.search(text) and _PICTURE.search(text):
        return "corrupt_sample"  # what reads pictures gives nothing for one that it cannot read
    return "missing_samples" if _KEY.search(text) else ""


def _damaged(text: str) -> str:
    return "corrupt_sample" if _SOUND_OR_IMAGE.search(text) else "corrupt_shard"
