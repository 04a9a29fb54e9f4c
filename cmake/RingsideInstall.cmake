# SPDX-License-Identifier: Apache-2.0
# Files that are installed beside the programs and the headers: a CMake package, a pkg-config file, man pages,
# completions, documents, dashboard, alert rules, examples, the Python module; and the target `uninstall`.
#
# With RINGSIDE_BUILT nothing is compiled: the programs are those of that directory (packages).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(RINGSIDE_INSTALL_PYTHONDIR "${CMAKE_INSTALL_DATADIR}/ringside/python")
set(cmake_directory "${CMAKE_INSTALL_LIBDIR}/cmake/ringside")
# CMake and pkg-config of every distribution look here, also where 64-bit libraries are in lib64.
set(pkgconfig_directory "${CMAKE_INSTALL_DATADIR}/pkgconfig")
set(generated "${PROJECT_BINARY_DIR}/install")

if(RINGSIDE_BUILT)
  add_executable(ringside IMPORTED)
  set_property(TARGET ringside PROPERTY IMPORTED_LOCATION "${RINGSIDE_BUILT}/analyzer/ringside")
  install(PROGRAMS "${RINGSIDE_BUILT}/analyzer/ringside" DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(FILES "${RINGSIDE_BUILT}/lib/libnccl-profiler-ringside.so"
          DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(DIRECTORY include/ringside DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

configure_package_config_file(cmake/ringside-config.cmake.in "${generated}/ringside-config.cmake"
  INSTALL_DESTINATION "${cmake_directory}"
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file("${generated}/ringside-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${generated}/ringside-config.cmake" "${generated}/ringside-config-version.cmake"
        DESTINATION "${cmake_directory}")
file(RELATIVE_PATH prefix_from_pc "/${pkgconfig_directory}" "/")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
configure_file(cmake/ringside.pc.in "${generated}/ringside.pc" @ONLY)
install(FILES "${generated}/ringside.pc" DESTINATION "${pkgconfig_directory}")

# Documents that the program itself writes: it must run here.
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
set(documents "")
if(NOT Python3_FOUND OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
  message(STATUS "no man pages and completions: they need Python 3.9 and a program that runs here")
elseif(NOT RINGSIDE_SANITIZE)
  set(documents "${generated}/documents")
  add_custom_command(
    OUTPUT "${documents}/ringside"
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/cmake/make_documents.py" "${documents}"
            ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:ringside>
    DEPENDS ringside cmake/make_documents.py VERBATIM)
  add_custom_target(ringside_documents ALL DEPENDS "${documents}/ringside")
  install(DIRECTORY "${documents}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
  install(FILES "${documents}/ringside"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  # Debian's zsh looks into the second, for what a package brings.
  set(zsh_directories site-functions)
  if(RINGSIDE_BUILT)
    list(APPEND zsh_directories vendor-completions)
  endif()
  foreach(directory IN LISTS zsh_directories)
    install(FILES "${documents}/_ringside" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/${directory}")
  endforeach()
  install(FILES "${documents}/ringside.fish"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()

install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(RINGSIDE_LICENCES)
  install(DIRECTORY "${RINGSIDE_LICENCES}/" DESTINATION "${CMAKE_INSTALL_DOCDIR}/licences")
endif()
# Beside the documents, which a container's image often leaves out.
install(DIRECTORY docs/monitoring DESTINATION "${CMAKE_INSTALL_DATADIR}/ringside")
install(DIRECTORY examples DESTINATION "${CMAKE_INSTALL_DATADIR}/ringside"
        USE_SOURCE_PERMISSIONS
        PATTERN CMakeLists.txt EXCLUDE PATTERN "check_*" EXCLUDE PATTERN gpu EXCLUDE
        PATTERN quickstart.sh EXCLUDE PATTERN __pycache__ EXCLUDE)
install(DIRECTORY python/nccl_ringside DESTINATION "${RINGSIDE_INSTALL_PYTHONDIR}"
        PATTERN __pycache__ EXCLUDE)

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} "-DBUILD=${PROJECT_BINARY_DIR}"
          -P "${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake" VERBATIM)
