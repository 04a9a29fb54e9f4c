# SPDX-License-Identifier: Apache-2.0
# Toolchain of scripts/build_wheel.sh: CC, CXX, AR and RANLIB are that script's, and nothing of this
# machine's own is linked. RINGSIDE_WHEEL_PREFIX: libraries; RINGSIDE_WHEEL_HEADERS: headers.
set(CMAKE_SYSTEM_NAME Linux)
get_filename_component(machine "$ENV{RINGSIDE_WHEEL_PREFIX}/.." ABSOLUTE)
get_filename_component(CMAKE_SYSTEM_PROCESSOR "${machine}" NAME)
set(CMAKE_C_COMPILER "$ENV{CC}")
set(CMAKE_CXX_COMPILER "$ENV{CXX}")
set(CMAKE_AR "$ENV{AR}" CACHE FILEPATH "")
set(CMAKE_RANLIB "$ENV{RANLIB}" CACHE FILEPATH "")
set(CMAKE_PREFIX_PATH "$ENV{RINGSIDE_WHEEL_PREFIX}" "$ENV{RINGSIDE_WHEEL_HEADERS}/usr")
set(CMAKE_FIND_ROOT_PATH "$ENV{RINGSIDE_WHEEL_PREFIX}" "$ENV{RINGSIDE_WHEEL_HEADERS}/usr"
    "$ENV{RINGSIDE_WHEEL_HEADERS}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# As /usr/include: microhttpd.h is included by name.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES "$ENV{RINGSIDE_WHEEL_PREFIX}/include")
set(RINGSIDE_MICROHTTPD_ARCHIVE "$ENV{RINGSIDE_WHEEL_PREFIX}/lib/libmicrohttpd.a")
# In the library directory of the machine that the packages are of.
file(GLOB nlohmann_json_DIR "$ENV{RINGSIDE_WHEEL_HEADERS}/usr/*/cmake/nlohmann_json")
