# Where the two software Vulkan drivers are: sourced by the scripts beside it, runs nothing itself.
# Both variables may be set by hand; they are empty when a driver is not found.

first_existing() {
  local path
  for path in "$@"; do
    if [ -e "$path" ]; then
      printf '%s' "$path"
      return
    fi
  done
}

find_software_drivers() {
  TENFERRO_LAVAPIPE_ICD="${TENFERRO_LAVAPIPE_ICD:-$(first_existing \
    "/usr/share/vulkan/icd.d/lvp_icd.$(uname -m).json" /usr/share/vulkan/icd.d/lvp_icd*.json \
    /usr/local/share/vulkan/icd.d/lvp_icd*.json /etc/vulkan/icd.d/lvp_icd*.json)}"
  # SwiftShader has no package of its own: browsers built from Chromium carry it.
  TENFERRO_SWIFTSHADER_ICD="${TENFERRO_SWIFTSHADER_ICD:-$(first_existing \
    /usr/lib/chromium/vk_swiftshader_icd.json /usr/lib64/chromium-browser/vk_swiftshader_icd.json \
    /opt/google/chrome/vk_swiftshader_icd.json /opt/chromium/vk_swiftshader_icd.json)}"
  export TENFERRO_LAVAPIPE_ICD TENFERRO_SWIFTSHADER_ICD
}
