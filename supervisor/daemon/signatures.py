"""The signatures that lines are judged by: the product's and a site's. A broken pack costs only itself."""

import structlog

from supervisor.diagnose.reading.packs import site_catalogue
from supervisor.diagnose.scan.catalogue import Catalogue
from supervisor.diagnose.scan.one_log import reading_catalogue
from supervisor.errors import UsageError
from supervisor.telemetry.aside import aside

_log = structlog.stdlib.get_logger(__name__)


async def known_signatures(deadline_s: float) -> Catalogue:
    """Both; the product's alone where a pack is wrong, cannot be read, or does not come within the deadline."""
    try:
        return await aside(site_catalogue, deadline_s=deadline_s, name="packs")
    except (UsageError, OSError) as exc:  # TimeoutError is one
        _log.warning("packs.left_out", reason=str(exc) or f"not read within {deadline_s:.0f} s")
        return reading_catalogue()
