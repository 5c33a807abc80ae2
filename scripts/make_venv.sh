#!/usr/bin/env bash
# Makes a virtual environment with the newest suitable Python found here: make_venv.sh FOLDER
# $PYTHON names another interpreter.
set -euo pipefail
folder="$1"

suitable() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

python=""
for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
  if suitable "$candidate"; then
    python="$candidate"
    break
  fi
done
if [ -z "$python" ]; then
  echo "tenferro_wgpu needs Python 3.11 or newer; none was found." >&2
  echo "Install one, or name it:  make PYTHON=/path/to/python3 ..." >&2
  exit 1
fi

if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
  # Debian and Ubuntu keep these two modules in a package of their own.
  package="$("$python" -c 'import sys; print(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")')"
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package"
  else
    echo "$python has no venv module. Install it, on Debian or Ubuntu with:" >&2
    echo "  sudo apt-get install $package" >&2
    exit 1
  fi
fi

"$python" -m venv "$folder"
