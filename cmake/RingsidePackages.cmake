# SPDX-License-Identifier: Apache-2.0
# .deb, .rpm and .tar.gz of the programs in RINGSIDE_BUILT: scripts/build_packages.sh. All three have
# the same files, so the plugin is /usr/lib/libnccl-profiler-ringside.so everywhere.
set(CPACK_PACKAGE_NAME ringside)
set(CPACK_PACKAGE_VENDOR "Ringside")
set(CPACK_PACKAGE_CONTACT "Ringside <root@localhost>" CACHE STRING "Maintainer of the packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
    "A profiler plugin that NCCL loads by itself, and the command line tool ringside, which puts the "
    "traces of all ranks together: how fast each collective ran, which rank came late, what is stuck.")
string(CONCAT CPACK_PACKAGE_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_FILE_NAME "ringside-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_GENERATOR TGZ DEB)
find_program(RINGSIDE_RPMBUILD rpmbuild)
mark_as_advanced(RINGSIDE_RPMBUILD)
if(RINGSIDE_RPMBUILD)
  list(APPEND CPACK_GENERATOR RPM)
endif()

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.28)")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)

# rpmbuild finds in the programs what they need of the C library; nothing is needed for recipes and
# the pkg-config file.
set(CPACK_RPM_PACKAGE_ARCHITECTURE "${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
set(CPACK_RPM_PACKAGE_AUTOPROV no)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /usr/lib/cmake /usr/share/pkgconfig /usr/share/bash-completion
    /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions
    /usr/share/zsh/vendor-completions /usr/share/fish /usr/share/fish/vendor_completions.d)
# The programs stay as they were built: this machine's strip does not know every other machine's.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __os_install_post %{nil}\n%define debug_package %{nil}
%define __requires_exclude_from ^/usr/share/")
include(CPack)
