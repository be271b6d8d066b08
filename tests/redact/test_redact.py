"""What leaves the run folder tells no secret, and still tells what happened."""

import random
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.redact.shapes import GONE, SHAPES
from supervisor.redact.text import redacted, redacted_in

_RANDOM = random.Random(7)  # noqa: S311  # invented secrets


def _any(length: int, letters: str = string.ascii_letters + string.digits) -> str:
    """A secret nobody has; with a digit, a capital and a small letter where the alphabet has them."""
    while True:
        text = "".join(_RANDOM.choice(letters) for _ in range(length))
        if any(c.isdigit() for c in text) and any(c.isalpha() for c in text):
            return text


_HEX = "0123456789abcdef"
_BASE32 = string.ascii_uppercase + "234567"
_S = {size: _any(size) for size in (8, 10, 12, 16, 20, 22, 24, 28, 32, 36, 40, 43, 64, 86)}
_H = {size: _any(size, _HEX) for size in (31, 32, 40, 64)}

SECRETS = {
    "aws access key": (f"using AKIA{_any(16, _BASE32)} in us-east-1", "AKIA"),
    "aws temporary key": (f"ASIA{_any(16, _BASE32)}", "ASIA"),
    "aws secret, environment": (f"AWS_SECRET_ACCESS_KEY={_S[40]}", _S[40]),
    "aws secret, ini": (f"aws_secret_access_key = /{_S[40]}", _S[40]),
    "aws secret, json": (f'"SecretAccessKey": "{_S[40]}",', _S[40]),
    "aws session": (f"aws_session_token=IQoJb3JpZ2lu{_S[64]}==", _S[64]),
    "aws session by its shape": (f"sent FwoGZXIvYXdz{_S[64]}", _S[64]),
    "google api key": (f"AIza{_any(35)}", "AIza"),
    "google oauth": (f"ya29.{_S[40]}", _S[40]),
    "google private key": (f'{{"private_key": "-----BEGIN PRIVATE KEY-----\\n{_S[64]}\\n-----END', _S[64]),
    "azure sas": (f"https://a.blob.core.windows.net/c?sv=2022&se=2026-01-01&sig={_S[43]}%3D", _S[43]),
    "azure account key": (f"AccountName=a;AccountKey={_S[86]}==;EndpointSuffix=core", _S[86]),
    "azure shared access": (f"SharedAccessKeyName=root;SharedAccessKey={_S[43]}=", _S[43]),
    "azure client secret": (f"got abc8Q~{_S[36]}", _S[36]),
    "github classic": (f"ghp_{_S[36]}", _S[36]),
    "github app": (f"https://x-access-token:ghs_{_S[36]}@github.com/a/b", _S[36]),
    "github fine-grained": (f"github_pat_{_S[22]}_{_S[36]}", _S[36]),
    "gitlab": (f"glpat-{_S[20]}", _S[20]),
    "hugging face": (f"Invalid token hf_{_S[36]}", _S[36]),
    "openai": (f"Incorrect API key provided: sk-proj-{_S[40]}", _S[40]),
    "anthropic": (f"sk-ant-api03-{_S[40]}-{_S[20]}AA", _S[40]),
    "wandb login": (f"wandb login {_H[40]}", _H[40]),
    "wandb environment": (f"export WANDB_API_KEY={_H[40]}", _H[40]),
    "wandb word": (f"wandb: Appending key for api.wandb.ai: {_H[40]}", _H[40]),
    "slack token": (f"xoxb-123456789012-{_S[24]}", _S[24]),
    "slack webhook": (f"https://hooks.slack.com/services/T0001/B0002/{_S[24]}", _S[24]),
    "discord webhook": (f"https://discord.com/api/webhooks/1234/{_S[64]}", _S[64]),
    "discord bot": (f"discord bot M{_any(23)}.{_any(6)}.{_any(30)}", "discord bot M"),
    "telegram": (f"https://api.telegram.org/bot123456789:AA{_any(33)}/sendMessage", "AA"),
    "stripe": (f"sk_live_{_S[24]}", _S[24]),
    "twilio": (f"SKa{_H[31]}", _H[31]),
    "sendgrid": (f"SG.{_S[22]}.{_S[43]}", _S[43]),
    "npm": (f"//registry.npmjs.org/:_authToken=npm_{_S[36]}", _S[36]),
    "pypi": (f"pypi-AgEIcHlwaS5vcmc{_S[64]}", _S[64]),
    "docker config": ('{"auths": {"r.example": {"auth": "dXNlcjpwYXNzd29yZA=="}}}', "dXNlcjpwYXNzd29yZA"),
    "docker token": (f"dckr_pat_{_S[28]}", _S[28]),
    "jwt": (f"eyJhbGciOiJIUzI1NiJ9.{_S[40]}.{_S[43]}", _S[43]),
    "slurm jwt": (f"SLURM_JWT=eyJhbGciOiJIUzI1NiJ9.{_S[40]}.{_S[43]}", _S[40]),
    "bearer": ("Authorization: Bearer abc.def.ghi", "abc.def"),
    "bearer in curl": (f"-H 'Bearer {_S[16]}9'", _S[16]),
    "basic": ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    "cookie": ("Cookie: session=swordfish; a=b", "swordfish"),
    "set-cookie": (f"Set-Cookie: sid={_S[12]}; Path=/", _S[12]),
    "url": ("clone https://me:hunter2@hub.example/x failed", "hunter2"),
    "url, at sign": ("postgres://u:p@ss@db.example:5432/train", "p@ss"),
    "url, no user": ("redis://:swordfish@cache:6379/0", "swordfish"),
    "url, token": (f"git+https://{_S[28]}7@git.example/x.git", _S[28]),
    "database, libpq": ("host=db user=me password=swordfish dbname=x", "swordfish"),
    "mongo": ("mongodb+srv://me:swordfish@cluster0.example/db", "swordfish"),
    "option": ("login --password swordfish --verbose", "swordfish"),
    "option with equals": ("tool --api-key=swordfish", "swordfish"),
    "argument list": ("['tool', '--password', 'swordfish']", "swordfish"),
    "json": ('{"client_secret": "swordfish"}', "swordfish"),
    "json in json": ('"{\\"token\\": \\"abcd-efgh\\"}"', "abcd-efgh"),
    "python": ("{'token': 'abcd-efgh'}", "abcd-efgh"),
    "yaml": ("  db_password: swordfish", "swordfish"),
    "ini": ("secret_key = swordfish", "swordfish"),
    "netrc": ("machine api.example login me password swordfish", "swordfish"),
    "curl": ("curl -s -u me:swordfish https://x", "swordfish"),
    "kerberos": (f"   2 host/n1@REALM (aes256-cts-hmac-sha1-96)  (0x{_H[64]})", _H[64]),
    "munge credential": (f"MUNGE:{_S[64]}==:", _S[64]),
    "munge key": (f"munge.key: {_S[43]}", _S[43]),
    "vault": (f"hvs.{_S[28]}", _S[28]),
    "databricks": (f"dapi{_H[32]}", _H[32]),
    "mlflow": ("MLFLOW_TRACKING_PASSWORD=swordfish", "swordfish"),
    "ngc": (f"nvapi-{_S[64]}", _S[64]),
    "comet": ("COMET_API_KEY=swordfish", "swordfish"),
    "neptune": (f"NEPTUNE_API_TOKEN=eyJhcGlfYWRkcmVzcyI6{_S[40]}==", _S[40]),
    "clearml": (f"CLEARML_API_SECRET_KEY={_S[40]}", _S[40]),
    "clearml, ini": (f'api {{ credentials {{ "secret_key" = "{_S[40]}" }} }}', _S[40]),
    "s3 presigned": (
        f"https://b.s3.amazonaws.com/k?X-Amz-Credential={_S[20]}%2Fs3&X-Amz-Signature={_H[64]}&x=1",
        _H[64],
    ),
    "s3 presigned, old": (f"https://b.s3.amazonaws.com/k?AWSAccessKeyId=x123&Signature={_S[28]}%3D", _S[28]),
    "google presigned": (f"https://storage.googleapis.com/b/k?X-Goog-Signature={_H[64]}", _H[64]),
    "unknown service": (f"FROBNICATOR: {_S[40]}", _S[40]),
    "key and digits": (f"key {_H[40]}", _H[40]),
    "grafana": (f"glsa_{_S[32]}_{_H[32][:8]}", _S[32]),
    "hugging face, short": ("refused hf_abcdefghijklmnop", "hf_abc"),
    "wandb, short": ("WANDB_API_KEY=0123456789abcdef", "0123456789"),
    "a new password": ("new_password=swordfish", "swordfish"),
    "passphrase": ("passphrase: correct-horse", "correct-horse"),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_goes(kind: str) -> None:
    """Each kind of token is gone, whatever stands around it, also in a log with a rank's label and colours."""
    text, secret = SECRETS[kind]
    for around in (text, f"[rank3]: 2026-01-02 03:04:05 \x1b[31mERROR {text} (retrying)", f"ok\n{text}\nstep 5\n"):
        hidden = redacted(around)
        assert GONE in hidden
        assert secret not in hidden, hidden


def test_there_are_more_than_thirty_kinds() -> None:
    """As many as the threat list asks for, twice."""
    assert len(SECRETS) >= 60
    assert len({shape.name for shape in SHAPES}) >= 30


@pytest.mark.parametrize(
    "text",
    [
        "IndexError: token 50257 out of range",
        "software/python_exception on rank 37 at train.py:12 in main: IndexError: token index 50257 is too large",
        "step 1200 | loss 2.31 | tokens/s 183,201 | tokens: 1.2e9 | total_tokens=8388608",
        "consumed tokens: 12884901888 | max_tokens=8192 | num_tokens: 4096",
        "pad_token='<pad>' eos_token: </s> bos_token_id=1 image_token=imagehere",
        "SyntaxError: Unexpected token: identifier",
        "tokenizer=LlamaTokenizerFast tokenizer_path: /data/tok/v2",
        "loading /scratch/ck/4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f70/step_00051200/model-00003-of-00030.safetensors",
        "commit 4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f70 (dirty)",
        "shard_00017.tar: md5 5d41402abc4b2a76b9719d911017c592, expected md5=7d793037a0760186574b0282f2f435e7",
        "sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "GPU-5c2ff3b0-1d0e-4b7a-9e5f-0a1b2c3d4e5f: Xid 79",
        "NVRM: Xid (PCI:0000:9d:00): 48, pid=4711, name=python, channel 0x00000010",
        "ibwarn: LID 0x1a, Node GUID: 0xb83fd20300a1b2c4, port guid b83f:d203:00a1:b2c4, lid: 1729",
        "s3://bucket/run/step_100/optim.pt: 404; https://b.s3.amazonaws.com/data/shard_1.tar?partNumber=3",
        "KeyError: 'loss_mask'",
        'RuntimeError: Missing key(s) in state_dict: "model.layers.0.self_attn.q_proj.weight"',
        "missing key: model.layers.0.self_attn.q_proj.weight",
        "signature=nccl_watchdog signature: node_unreachable",
        "File \"/home/me/train.py\", line 12, in main\n    token = os.environ['HF_TOKEN']",
        "from transformers import hf_argparser; hf_transformers_utils.py:31",
        "slurm_load_jobs error: Unable to authenticate: auth/munge: Munge decode failed: Expired credential",
        "PWD=/home/me OLDPWD=/scratch/me keyfile: /etc/munge/munge.key",
        "node003 does not answer (silent 2.6 s, slurmd refuses): hardware/node_unreachable. Stopping attempt 1.",
        "attempt 2 starts on node001 and node002, from step 250 (/scratch/me/ckpt/step_00000250)",
        'FATAL:  password authentication failed for user "train"',
        "[rank3]:E0102 03:04:05.123456 140213 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught a timeout",
        "WorkNCCL(SeqNum=8114, OpType=ALLREDUCE, NumelIn=33554432, Timeout(ms)=600000)",
        "basic training loop, Basic configuration: 8 ranks; risk-adjusted; task-0001-of-0008",
        "forward pass: 0.31s, key: value, auth: ok",
        "python[12]: segfault at 7f3a (0x00007f3a1c2d3e4f) ip 00007f3a1c2d3e4f sp 00007ffd error 4 in libcuda.so",
        "class=FlashAttentionTransformerLayer2ForCausalLM id: 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0",
        "http://10.0.0.1:8080/metrics user@node001:/data tcp://10.0.0.2:29500",
        "NCCL_IB_HCA=mlx5_0:1,mlx5_1:1 CUDA_VISIBLE_DEVICES=0,1,2,3 TORCH_CUDA_ARCH_LIST=8.0;9.0+PTX",
        "libfused.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
        "Lustre: scratch-OST0012-osc-ffff8e20b1b2c000: Connection to scratch-OST0012 (at 10.9.1.31@o2ib) was lost",
        "srun: error: node003: tasks 4-7: Exited with exit code 1",
        "password=$DB_PASSWORD token: <hidden> api_key=None secret=${SECRET}",
    ],
)
def test_evidence_stays(text: str) -> None:
    """Numbers of tokens, commits, UUIDs, addresses, paths and plain words are what a verdict is made of."""
    assert redacted(text) == text


_PEM = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{_S[64]}\n{_S[64]}\n{_S[24]}==\n-----END OPENSSH PRIVATE KEY-----"


def test_a_private_key_goes_whole() -> None:
    """The lines between begin and end are gone, and the lines around stay."""
    hidden = redacted(f"before\n{_PEM}\nstep 5")
    assert hidden == "before\n-----BEGIN OPENSSH PRIVATE KEY-----***-----END OPENSSH PRIVATE KEY-----\nstep 5"


def test_a_private_key_without_end_goes_as_far_as_it_reaches() -> None:
    """A log that is cut, or a key behind a rank's label: what looks like its lines is gone, the error stays."""
    text = f"[rank0]: -----BEGIN RSA PRIVATE KEY-----\n[rank0]: {_S[64]}\n[rank0]: {_S[64]}\nTraceback (most recent"
    hidden = redacted(text)
    assert _S[64] not in hidden
    assert hidden.endswith("\nTraceback (most recent")


def test_every_text_of_an_answer_is_gone_over() -> None:
    """JSON keeps its form; a field with a secret's name loses its value, whatever it looks like."""
    answer = {"job": 7, "env": {"password": "x1", "key": "a"}, "lines": ["ok", ("token=swordfish9", None)]}
    assert redacted_in(answer) == {
        "job": 7,
        "env": {"password": GONE, "key": "a"},
        "lines": ["ok", ["token=***", None]],
    }
    assert redacted_in(["tool", "--password", "swordfish", "--quiet", "x", "--token", "--dry-run"]) == [
        *("tool", "--password", GONE, "--quiet", "x", "--token", "--dry-run")
    ]


_SIGNS = ("token", "=", ": ", "***", '"', "'", "\n", " ", "password", "key", "://", "@", "\\", "--", "abcd", "Bearer ")
_LETTERS = ("\u0130", "\udce9", "cookie:", "\r", "/", "")
_PIECES = st.sampled_from(
    [*(text for text, _ in SECRETS.values()), _PEM, "-----BEGIN PRIVATE KEY-----", *_SIGNS, *_LETTERS]
)
_TEXTS = st.one_of(st.text(), st.lists(st.one_of(_PIECES, st.text(max_size=4)), max_size=12).map("".join))


@given(_TEXTS)
def test_it_never_raises_and_twice_is_once(text: str) -> None:
    """Whatever the text: no error, and what is redacted holds nothing more to redact."""
    once = redacted(text)
    assert redacted(once) == once


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_what_holds_no_sign_of_a_secret_is_untouched(text: str) -> None:
    """Lines end where they ended: nothing is lost between the pieces."""
    assert redacted(text).count("\n") == text.count("\n")


def test_no_letter_grows_in_lower_case() -> None:
    """Positions in the lowered text are positions in the text, for every letter there is."""
    every = "".join(map(chr, range(0x110000)))
    assert f"{every}password=***" == redacted(f"{every}password=swordfish")[-len(every) - 12 :]


_HOSTILE = (
    "token=", "secret=/", "key=", "://", "://a:", "-----BEGIN PRIVATE KEY-----", "-----END ", "curl -u ", "wandb key ",
    "eyJ.", "password='\\", "a" * 50, "A1b", "=", "login x password ", "Bearer ", "cookie:", "sk-", "token=${", "\n",
    "-----BEGIN PRIVATE KEY-----\n" + "A" * 20, "AKIA", "discord.", "auth ", '"', "\\", "token: a", "--password ",
)  # fmt: skip


@pytest.mark.parametrize("bait", _HOSTILE)
def test_hostile_input_costs_linear_time(bait: str) -> None:
    """Sixteen times the text takes no more than about sixteen times the time."""
    small, large = (_seconds(bait * (size // len(bait))) for size in (25_000, 400_000))
    assert large < max(2.0, 40 * small)


def _seconds(text: str) -> float:
    began = time.process_time()
    redacted(text)
    return time.process_time() - began


def test_ordinary_lines_are_fast() -> None:
    """A log of a healthy run passes at 20 MB/s and more; the bar here leaves room for a busy machine."""
    lines = "".join(
        f"[rank{n % 64}]: 2026-01-02 03:04:{n % 60:02d} INFO train.py:212 step {n} loss 2.{n % 97} lr 3.0e-4 grad 0.9\n"
        for n in range(40_000)
    )
    redacted(lines[:1000])
    took = min(_seconds(lines) for _ in range(3))
    assert len(lines) / took > 8e6
