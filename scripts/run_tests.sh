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
    case ",${TENFERRO_TEST_ADAPTERS:-}," in
      *,default,*) ;;
      # Both software drivers in one process, no other: results do not depend on the machine.
      *) export VK_DRIVER_FILES="$TENFERRO_LAVAPIPE_ICD:$TENFERRO_SWIFTSHADER_ICD" ;;
    esac
    ;;
  *) adapters="numpy,default" ;;
esac
export TENFERRO_TEST_ADAPTERS="${TENFERRO_TEST_ADAPTERS:-$adapters}"
# lavapipe then computes in the calling thread: tiny arrays do not pay for waking a thread pool.
export LP_NUM_THREADS="${LP_NUM_THREADS:-0}"

# Bit patterns per operation in the fuzz tests of the float dialects.
export TENFERRO_FUZZ_COUNT="${TENFERRO_FUZZ_COUNT:-1000000}"

# All modules of the run, which its last test gives to a browser's compiler.
if [ -z "${TENFERRO_WGSL_LOG:-}" ]; then
  TENFERRO_WGSL_LOG="$(mktemp -d)"
  trap 'rm -rf "$TENFERRO_WGSL_LOG"' EXIT
  export TENFERRO_WGSL_LOG
fi

# The browser's driver imports what only a page has; its tests run there, in one browser that all
# of them share (loadgroup).
"$python" -m pytest tests tenferro_wgpu --doctest-modules --dist loadgroup \
  --ignore-glob='*/webgpu/drivers/browser*.py' "$@"
