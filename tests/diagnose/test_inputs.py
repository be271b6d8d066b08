"""What applications say of files that they read: which words are of the data, and which of the program or its user."""

from pathlib import Path
from typing import Final

import pytest

from supervisor.diagnose.engine import diagnose
from supervisor.diagnose.reading.folder import read_bundle
from supervisor.model.verdict import Class, Verdict
from tests.diagnose.small_record_cases import STEPS, WORKER, raised

_SITE: Final = "/opt/v/lib/python3.11/site-packages"
_EXIT: Final = "srun: error: n1: task 0: Exited with exit code 1\n"


def _said(folder: Path, text: str) -> Verdict:
    log = folder / "job.out"
    log.write_text(f"reading inputs\n{text}\n{_EXIT}")
    return diagnose(read_bundle(log))


@pytest.mark.parametrize(
    "text",
    [
        "FATAL from PE    12: topography INPUT/topog.nc has depth < 0 at i=311 j=204, 14 points",
        "FATAL from PE     3: sst.data.nc: temp of 9.96921E+36 found at 12, 88",
        "ABORT: bad air pressure in air_1.0041.nc: pr= -9999.0",
        "ERROR: shr_abort_abort: T contains values outside 100..500 K: min 0.0 in cami_0000-01-01.nc",
        "ERROR: header of turbPipe.re2 says 12288 elements, 11944 records follow",
        "FATAL_ERROR: s0412.bam: read CIGAR 151M1X and sequence length 150 differ",
        "ERROR: size of Density (412200) in wing.cgns is not the number of cells (412000)",
        "FATAL ERROR: COULDN'T READ ATOM 41220 FROM PSF FILE system.psf: line is cut off",
        "ERROR: psfile.413.psi is shorter than its table says",
        "ERROR: ICMSHaqct.grib has bad data at level 41",
        "exception: lib_1_left.fq.gz: unexpected symbol '#' in sequence of read 41220",
        "ERROR: scan.h5: time of record 41 jumps by 3 days",
        "***ERROR: ELEMENT 41 IN FILE blade_mesh.inc REFERS TO NODE 812230 THAT IS NOT DEFINED",
        "ERROR: bdyT_y2004m02.nc ends before the requested date",
        "ERROR: field delp in FILE:2004-02-11_06 has a bad plane",
        "ERROR: wfn.cplx header mismatch: 41 k-points",
        "ERROR: subband SB412.MS: weights column lacks 41 rows",
        "ERROR: size of file uvel.0041.data does not match record 41",
    ],
)
def test_values_and_sizes_in_a_file_that_is_named(text: str, tmp_path: Path) -> None:
    """No setting makes them so."""
    said = _said(tmp_path, text)
    assert said.cls is Class.DATA, (said.cause, said.evidence)


def test_a_file_that_is_named_beside_the_heading(tmp_path: Path) -> None:
    """Models print a heading, and then what is wrong."""
    text = (
        " ===>>> : E R R O R\n         ===========\n"
        "      variable runoff of file river_monthly.nc : values beyond valid_range at record 12"
    )
    assert _said(tmp_path, text).cls is Class.DATA


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: energy drift 4.1e+3 > 1e-2, see thermo.dat",
        "FATAL ERROR: Courant number 12.1 > 1.0 in cell 41220 of channel.msh",
        "ERROR: grid.0412.h5 has 64 blocks but 128 tasks were started",
        "ERROR: vgrid.nc has 41 levels but the model is compiled for 45",
        "ERROR: lelt 1000 is less than 1024 elements in turb.re2: recompile with larger lelt",
        "ERROR in input deck flow.inp line 41: expected 3 values, found 2",
        "ERROR: grid.input value idm = 4500 but 4501 expected",
        "ERROR: matrix is singular at row 41220, check boundary conditions",
        "ERROR: geo_em.d01.nc missing, run geogrid first",
        "ERROR: step took longer than 600 s; see /work/run12/log.dat",
        "[E::idx_find_and_load] Could not retrieve index file for 's0412.vcf.gz'",
    ],
)
def test_a_file_is_named_that_is_not_at_fault(text: str, tmp_path: Path) -> None:
    """What was calculated, set, built or not made before: nobody skips data for that."""
    said = _said(tmp_path, text)
    assert said.cls in {Class.SOFTWARE, Class.UNKNOWN}, (said.cause, said.evidence)


@pytest.mark.parametrize(
    "text",
    [
        "SEVERE tclean: deconvolver is not in the allowed values",
        "--- !ERROR: Found token `ecuut` in the input file run.abi",
        "DRIVER_ABORT: timestep below dtmin",
        "ERROR(412): Problem with group &MESHH",
        "*** Unknown keyword 'sc_accuracy_rhoo' in control.in, line 12.",
        'Unrecognized parameter "--threadss". Did you mean "--threads"?',
        "dscf did not converge!",
        "stopping because of convergence problems: dt is too small",
        "Error message: NaNs in error term in BiCGstab",
        "cdo (Abort): Operator >mergetimee< not found!",
        "EXITING because of fatal INPUT FILE error, could not open genomeDir/SA",
        " (horizontal_remap) CFL violation at istep 4112",
        "forward simulation became unstable and blew up",
        "     COORDINATE RESETTING (SHAKE) CANNOT BE ACCOMPLISHED,",
    ],
)
def test_complaints_of_programs_in_many_forms(text: str, tmp_path: Path) -> None:
    """The program's own failure is told, where nothing else is."""
    said = _said(tmp_path, text)
    assert said.cls is Class.SOFTWARE, (said.cause, said.evidence)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Fortran runtime error: Unformatted file structure has been corrupted", "malformed_record"),
        ("forrtl: severe (39): error during read, unit 22, file /work/flx_2004.bin", "malformed_record"),
        ("FIO-F-219/unformatted read/unit=31/attempt to read past end of record.", "malformed_record"),
        ('[E::hts_open_format] Failed to open file "s0412.cram" : Exec format error', "corrupt_shard"),
        ("FITSIO status = 108: error reading from FITS file", "corrupt_shard"),
        ("OSError: Unable to open file (bad heap free list)", "corrupt_shard"),
        ("ncra: ERROR NC_EHDFERR Error at HDF5 layer", "corrupt_shard"),
        ("OSError: truncated file", "corrupt_shard"),
        ("fastq-dump err: data corrupt while reading file within network system module", "corrupt_shard"),
        ("Stopped early on line 412203. Expected 12 fields but found 7.", "malformed_record"),
        ("Reference allele mismatch at chr12:41220 .. REF_SEQ:'A' vs VCF:'T'", "malformed_record"),
        ("Error at chr12:41220: wrong number of fields in FMT/AD at chr12:41220", "malformed_record"),
        ("[E::hts_idx_push] Chromosome blocks not continuous", "malformed_record"),
        ("Error: Read HWI:4112 has more read characters than quality values.", "malformed_record"),
        ("BLAST query/options error: CFastaReader: Near line 412203, there's a line", "malformed_record"),
        (
            "cdo mergetime (Abort): Input streams have different number of variables per step!",
            "malformed_record",
        ),
        ("Something is wrong in the coordinate formatting of file conf_0412.gro. Note that", "malformed_record"),
        ("java.lang.AssertionError: Mismatch between length of bases and qualities for read 41220", "malformed_record"),
        ("petastorm.utils.DecodeFieldError: Decoding field image failed", "malformed_record"),
    ],
)
def test_what_libraries_say_of_a_file(text: str, cause: str, tmp_path: Path) -> None:
    """Their own words for a file that is there, and cannot be used."""
    assert _said(tmp_path, text).cause == cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (raised("IndexError: size does not conform", "src/netCDF4/_netCDF4.pyx", "__setitem__"), "python_exception"),
        (raised("ValueError: no encoder found", f"{_SITE}/webdataset/writer.py", "write"), "python_exception"),
        (raised("ValueError: bad units", f"{_SITE}/xarray/conventions.py", "decode_cf_variables"), "malformed_record"),
        (
            raised(
                "AttributeError: 'FileDataset' object has no attribute 'PixelSpacing'",
                f"{_SITE}/pydicom/dataset.py",
                "__getattr__",
                WORKER,
            ),
            "malformed_record",
        ),
    ],
)
def test_a_library_that_reads_may_be_asked_to_write(text: str, cause: str, tmp_path: Path) -> None:
    """In the middle of a run, what it reads is at fault, and not what it writes."""
    assert _said(tmp_path, STEPS + text).cause == cause
