#!/usr/bin/env bash
# Makes sure the software Vulkan drivers that the tests need are here. As root on Debian or Ubuntu
# it installs what is missing; elsewhere it says what to install and fails. On macOS and Windows
# the system brings Metal and DX12 (with WARP), so there is nothing to do.
set -euo pipefail
cd "$(dirname "$0")"
. ./software_drivers.sh

case "$(uname -s)" in
  Linux) ;;
  *) exit 0 ;;
esac

packages_missing() {
  find_software_drivers
  packages=()
  if [ -z "$TENFERRO_LAVAPIPE_ICD" ]; then packages+=(mesa-vulkan-drivers); fi
  if ! ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1' \
    && [ -z "$(first_existing /usr/lib/*/libvulkan.so.1 /usr/lib64/libvulkan.so.1)" ]; then
    packages+=(libvulkan1)
  fi
  if [ -z "$TENFERRO_SWIFTSHADER_ICD" ]; then packages+=(chromium); fi
  # The browser tests drive the same Chromium.
  if ! command -v chromedriver >/dev/null; then packages+=(chromium-driver); fi
}

# Ubuntu's chromium is a snap without a driver file: there a Chrome from Google brings SwiftShader.
ubuntu() {
  grep -qs '^ID=ubuntu' /etc/os-release
}

packages_missing
if [ "${#packages[@]}" = 0 ]; then exit 0; fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  wanted=("${packages[@]}")
  if ubuntu; then
    wanted=()
    for package in "${packages[@]}"; do
      case "$package" in chromium*) ;; *) wanted+=("$package") ;; esac
    done
  fi
  if [ "${#wanted[@]}" != 0 ]; then
    echo "Installing software Vulkan drivers: ${wanted[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" \
      >/dev/null
  fi
  unset TENFERRO_LAVAPIPE_ICD TENFERRO_SWIFTSHADER_ICD
  packages_missing
  if [ "${#packages[@]}" = 0 ]; then exit 0; fi
fi

echo "The tests need software Vulkan drivers that are not on this machine: ${packages[*]}" >&2
if ubuntu; then
  echo "  sudo apt-get install mesa-vulkan-drivers libvulkan1     (lavapipe)" >&2
  echo "  Google Chrome and chromedriver from google.com/chrome   (SwiftShader)" >&2
elif command -v apt-get >/dev/null; then
  echo "  sudo apt-get install ${packages[*]}" >&2
elif command -v dnf >/dev/null; then
  echo "  sudo dnf install mesa-vulkan-drivers vulkan-loader chromium chromedriver" >&2
elif command -v pacman >/dev/null; then
  echo "  sudo pacman -S vulkan-swrast vulkan-icd-loader chromium" >&2
else
  echo "  Mesa's lavapipe, the Vulkan loader, and Chromium with chromedriver" >&2
fi
echo "Drivers in unusual places: set TENFERRO_LAVAPIPE_ICD and TENFERRO_SWIFTSHADER_ICD to their" >&2
echo "icd .json files." >&2
exit 1
