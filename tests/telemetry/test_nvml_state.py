"""The state of GPUs as the real pynvml reads it from a pretended driver."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from supervisor.telemetry.gpu.state import GpuState, NodeGpus
from tests.fakes.nvml.build import FakeNvml, build

_READ = """
import msgspec, sys
from supervisor.telemetry.gpu.nvml_state import sample
sys.stdout.buffer.write(msgspec.json.encode(sample()))
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> FakeNvml:
    return build(tmp_path_factory.mktemp("nvml"))


def _read(environment: dict[str, str], checkout: Path) -> NodeGpus | None:
    told = subprocess.run(
        [sys.executable, "-c", _READ],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(checkout), **environment},
        capture_output=True,
        check=True,
        timeout=60,
    ).stdout
    return msgspec.json.decode(told, type=NodeGpus | None)


def _gpu(driver: FakeNvml, checkout: Path, *lines: str) -> GpuState:
    driver.says("count=1", *lines)
    found = _read(driver.environment, checkout)
    assert found is not None
    return found.gpus["0"]


def test_a_node_without_nvml_has_nothing_to_tell(checkout: Path) -> None:
    """No library: no reading, and nothing that looks like one."""
    assert _read({}, checkout) is None


def test_a_healthy_gpu_reads_as_zeros_and_names(driver: FakeNvml, checkout: Path) -> None:
    """Each part of the state comes through the real wrappers, structs by reference among them."""
    gpu = _gpu(driver, checkout)
    assert (gpu.uuid, gpu.serial, gpu.pci, gpu.minor) == ("GPU-0000-0", "1650", "00000000:10:00.0", 0)
    assert (gpu.ecc_unc_dram_volatile, gpu.ecc_unc_sram_volatile, gpu.remapped_rows_uncorrectable) == (0, 0, 0)
    assert (gpu.remap_pending, gpu.remap_failure, gpu.recovery_action) == (False, False, 0)
    assert (gpu.fabric_state, gpu.fabric_status, gpu.pcie_width, gpu.temp_c, gpu.hbm_temp_c) == (3, 0, 16, 45, 60)
    assert sorted(gpu.nvlink) == ["0", "1", "2", "3"]
    assert gpu.nvlink["0"].active is True
    assert (gpu.error, gpu.error_code, gpu.processes) == ("", None, ())


def test_what_the_driver_does_not_know_is_none_and_never_0(driver: FakeNvml, checkout: Path) -> None:
    """A function that is missing in the library, a field that is not supported."""
    gpu = _gpu(driver, checkout)
    assert gpu.power_w is None
    assert gpu.temp_margin_c is None
    assert gpu.nvlink["0"].recovery_failed is None


def test_heat_is_told_with_the_devices_own_limits(driver: FakeNvml, checkout: Path) -> None:
    """And with what slows it down; an idle clock is none of that."""
    gpu = _gpu(driver, checkout, "0.clocks=73")
    assert (gpu.temp_c, gpu.temp_limit_c, gpu.hbm_temp_c, gpu.hbm_temp_limit_c) == (45, 92, 60, 95)
    assert gpu.clocks_event_reasons == ("HW_SLOWDOWN", "HW_THERMAL")
    assert _gpu(driver, checkout).clocks_event_reasons == ()


def test_errors_are_told_by_place(driver: FakeNvml, checkout: Path) -> None:
    """DRAM and SRAM apart, the repair of rows, the driver's own wish."""
    gpu = _gpu(
        driver,
        checkout,
        "0.ecc_unc_dram_volatile=2",
        "0.ecc_unc_sram_volatile=1",
        "0.remapped_rows_uncorrectable=7",
        "0.remap_pending=1",
        "0.recovery_action=4",
    )
    assert (gpu.ecc_unc_dram_volatile, gpu.ecc_unc_sram_volatile) == (2, 1)
    assert (gpu.remapped_rows_uncorrectable, gpu.remap_pending, gpu.recovery_action) == (7, True, 4)


@pytest.mark.parametrize("family", [4, 5])
def test_links_are_counted_in_the_way_of_their_generation(driver: FakeNvml, checkout: Path, family: int) -> None:
    """Up to Hopper by call, from Blackwell by field; the other way there gives nothing, and not 0."""
    gpu = _gpu(driver, checkout, f"family={family}", "0.link2.recovery=3", "0.link2.active=0", "0.link1.crc=9")
    assert gpu.nvlink["2"].recovery == 3
    assert gpu.nvlink["2"].active is False
    assert gpu.nvlink["1"].crc == (9 if family == 4 else None)


def test_a_lost_gpu_is_told_and_its_neighbour_is_read(driver: FakeNvml, checkout: Path) -> None:
    """One that answers "lost", and one whose handle cannot even be had."""
    driver.says("count=3", "0.code=15", "1.handle=15")
    found = _read(driver.environment, checkout)
    assert found is not None
    assert [found.gpus[str(index)].error_code for index in range(3)] == [15, 15, None]
    assert found.gpus["0"].error == "GPU is lost"
    assert found.gpus["0"].ecc_unc_dram_volatile is None
    assert found.gpus["2"].uuid == "GPU-0000-2"


def test_a_driver_that_refuses_as_a_whole_is_an_error_and_no_gpus(driver: FakeNvml, checkout: Path) -> None:
    """A library that does not fit its driver."""
    driver.says("init=18")
    found = _read(driver.environment, checkout)
    assert found is not None
    assert (found.error_code, found.device_count, found.gpus) == (18, None, {})
    assert "mismatch" in found.error


def test_processes_on_a_gpu_are_told_with_their_memory(driver: FakeNvml, checkout: Path) -> None:
    """By the host's pid."""
    gpu = _gpu(driver, checkout, "0.process=77", "0.process_mib=300", "0.mem_used_mib=304")
    assert gpu.processes is not None
    assert [(each.pid, each.used_mib) for each in gpu.processes] == [(77, 300)]
    assert gpu.mem_used_mib == 304
