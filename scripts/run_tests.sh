#!/usr/bin/env bash
# Runs pytest and the doctests on every adapter of this machine: run_tests.sh PYTHON [pytest options]
# TENFERRO_TEST_ADAPTERS chooses them: numpy, lavapipe, swiftshader, cupy (skipped without an NVIDIA
# GPU), or default, the system's own adapter.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/software_drivers.sh
python="$1"
shift

case "$(uname -s)" in
  Linux)
    find_software_drivers
    adapters="numpy,lavapipe,swiftshader,cupy"
    # Both software drivers in one process, and no other: results do not depend on the machine.
    export VK_DRIVER_FILES="$TENFERRO_LAVAPIPE_ICD:$TENFERRO_SWIFTSHADER_ICD"
    ;;
  *) adapters="numpy,default" ;;
esac
export TENFERRO_TEST_ADAPTERS="${TENFERRO_TEST_ADAPTERS:-$adapters}"
# lavapipe then computes in the calling thread: tiny arrays do not pay for waking a thread pool.
export LP_NUM_THREADS="${LP_NUM_THREADS:-0}"

exec "$python" -m pytest --doctest-modules tests tenferro_wgpu "$@"
