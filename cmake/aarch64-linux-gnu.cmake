# SPDX-License-Identifier: Apache-2.0
# Toolchain: Debian's cross compiler for aarch64, programs run by qemu's user-mode emulation.
# RINGSIDE_SYSROOT: where libraries for aarch64 are unpacked (scripts/cross_aarch64.sh).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RINGSIDE_SYSROOT)
list(APPEND CMAKE_FIND_ROOT_PATH "${RINGSIDE_SYSROOT}/usr" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
# Libraries that are headers alone are the machine's own.
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT
    "-Wl,-rpath-link,${RINGSIDE_SYSROOT}/usr/lib/aarch64-linux-gnu -Wl,-rpath-link,${RINGSIDE_SYSROOT}/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64-static;-L;/usr/aarch64-linux-gnu;-E;LD_LIBRARY_PATH=${RINGSIDE_SYSROOT}/usr/lib/aarch64-linux-gnu:${RINGSIDE_SYSROOT}/lib/aarch64-linux-gnu)
