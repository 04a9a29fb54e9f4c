#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel that runs with any glibc from 2.28 on, shows that it does, and puts it into dist/.
#
#   build_wheel.sh [x86_64|aarch64] [OUTPUT_DIRECTORY]     default: this machine's, and build/wheel
#
# The compiler is Zig's clang from PyPI, which knows the symbols of each glibc. The libraries are built
# from Debian's source packages with it, since Debian's own archives need its glibc and its libstdc++;
# apt holds each against the checksums of the signed list of packages.
# Nothing is installed: tools, sources and libraries lie below the output directory.
# Exit status 0: the wheel is there; 2: the arguments are wrong; 77: something needed is not to be
# had; another one: a step failed.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
machine=${1:-$(uname -m)}
if [ $# -gt 2 ] || [[ ! $machine =~ ^(x86_64|aarch64)$ ]] || [[ ${2:-} == -* ]]; then
  echo "build_wheel.sh: it takes x86_64 or aarch64 and a directory, not \"$*\". Try $0 --help" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
output=$(realpath -m "${2:-build/wheel}")
glibc=2.28
work=$output/$machine
prefix=$work/prefix
headers=$output/headers
tools=$output/tools/bin
sources=(zlib simdjson sqlite3 libmicrohttpd pugixml)
# Headers and scripts, the same on every machine.
packages=(libcli11-dev nlohmann-json3-dev node-d3)
mkdir -p "$work" "$prefix/lib" "$prefix/include"

skip() {
  echo "skipped: $1"
  exit 77
}

for tool in apt-get dpkg-source dpkg-deb python3 tclsh make /usr/bin/cc; do
  command -v "$tool" > /dev/null || skip "there is no $tool"
done

if [ ! -e "$output/tools/done" ]; then
  python3 -m venv "$output/tools"
  "$tools/pip" -q install 'scikit-build-core>=0.11' build ziglang auditwheel wheel cmake ninja \
    > "$output/tools.log" 2>&1 || skip "pip has no $(tail -n 1 "$output/tools.log")"
  touch "$output/tools/done"
fi

# As apt is configured on this machine, in a state of its own. What was fetched for another list of
# packages is fetched anew.
wanted="${sources[*]} ${packages[*]}"
if [ "$wanted" != "$(cat "$output/fetched" 2> /dev/null)" ]; then
  rm -rf "$output"/{apt,source,headers,nvtx}
  apt=$output/apt
  mkdir -p "$apt"/{lists/partial,cache/archives/partial,parts} "$output/source" "$headers"
  : > "$apt/status"
  : > "$apt/none"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    [ -e "$list" ] || continue
    sed -E 's/^Types:.*/Types: deb deb-src/; s/^(deb)( .*)/\1\2\n\1-src\2/' "$list" \
      > "$apt/parts/${list##*/}"
  done
  [ ! -e "$apt/parts/sources.list" ] || mv "$apt/parts/sources.list" "$apt/none"
  options=(-q -o "Dir::Etc::SourceParts=$apt/parts" -o "Dir::Etc::SourceList=$apt/none"
           -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache"
           -o APT::Sandbox::User=root)
  if ! apt-get "${options[@]}" update > "$apt/log" 2>&1 ||
     ! (cd "$output/source" &&
        apt-get "${options[@]}" source --only-source "${sources[@]}" >> "$apt/log" 2>&1) ||
     ! (cd "$apt" && apt-get "${options[@]}" download "${packages[@]}" >> "$apt/log" 2>&1); then
    tail -n 5 "$apt/log"
    skip "apt has not all sources"
  fi
  for package in "$apt"/*.deb; do
    dpkg-deb -x "$package" "$headers"
  done
  # NVTX's headers, which Debian has no free package of.
  "$tools/pip" -q download --no-deps --dest "$output/nvtx" nvidia-nvtx >> "$apt/log" 2>&1 ||
    skip "pip has no nvidia-nvtx"
  python3 -m zipfile -e "$output"/nvtx/nvidia_nvtx-*.whl "$output/nvtx"
  cp -r "$output"/nvtx/nvidia/*/include/nvtx3 "$headers/usr/include"
  echo "$wanted" > "$output/fetched"
fi

# A compiler is one word for configure scripts and for CMake.
mkdir -p "$work/bin"
zig=$("$tools/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__) + "/zig")')
for name in cc c++ ar ranlib; do
  target=""
  # Zig adds debug information, and checks of undefined behaviour, unless an option turns them off.
  case $name in c*) target="-target $machine-linux-gnu.$glibc -g0 -fno-sanitize=undefined" ;; esac
  # Zig's linker does not know --exclude-libs; the plugin's version script hides the same symbols.
  cat > "$work/bin/$name.new" << END
#!/bin/sh
for one; do
  shift
  case \$one in -Wl,--exclude-libs*) ;; *) set -- "\$@" "\$one" ;; esac
done
exec "$zig" $name $target "\$@"
END
  chmod +x "$work/bin/$name.new"
  # A compiler as old as its last change, for ccache.
  cmp -s "$work/bin/$name.new" "$work/bin/$name" || mv "$work/bin/$name.new" "$work/bin/$name"
  rm -f "$work/bin/$name.new"
done
export ZIG_GLOBAL_CACHE_DIR=$output/zig ZIG_LOCAL_CACHE_DIR=$output/zig
export PATH=$work/bin:$tools:$PATH CC=$work/bin/cc CXX=$work/bin/c++ AR=$work/bin/ar
export RANLIB=$work/bin/ranlib RINGSIDE_WHEEL_PREFIX=$prefix RINGSIDE_WHEEL_HEADERS=$headers
jobs=${JOBS:-$(nproc)}
cmake_for_target=(cmake -G Ninja --toolchain "$PWD/cmake/wheel.cmake" -DCMAKE_BUILD_TYPE=Release
                  "-DCMAKE_INSTALL_PREFIX=$prefix")

# source NAME: the unpacked source package.
source_of() { find "$output/source" -maxdepth 1 -type d -name "$1-*" | head -n 1; }

# library NAME FUNCTION: builds it once, in a directory of its own.
library() {
  local status
  [ ! -e "$work/$1.done" ] || return 0
  echo "building $1"
  rm -rf "${work:?}/$1"
  mkdir -p "$work/$1"
  # Not in a condition: that would switch off `set -e` within.
  set +e
  (set -e; cd "$work/$1"; "$2") > "$work/$1.log" 2>&1
  status=$?
  set -e
  if [ "$status" -ne 0 ]; then
    tail -n 20 "$work/$1.log"
    echo "failed: $1"
    exit 1
  fi
  touch "$work/$1.done"
}

build_zlib() {
  cp -r "$(source_of zlib)/." .
  CHOST=$machine CFLAGS='-O3 -fPIC' ./configure --static --prefix="$prefix"
  make -j "$jobs" libz.a
  cp libz.a "$prefix/lib"
  cp zlib.h zconf.h "$prefix/include"
}

build_simdjson() {
  "${cmake_for_target[@]}" -S "$(source_of simdjson)" -B . -DSIMDJSON_DEVELOPER_MODE=OFF \
    -DBUILD_SHARED_LIBS=OFF -DCMAKE_INSTALL_LIBDIR=lib
  cmake --build . --parallel "$jobs" --target install
}

build_sqlite() {
  cp -r "$(source_of sqlite3)/." .
  # The one large source file is made by programs that run here, so by the machine's own compiler.
  CC=/usr/bin/cc ./configure --disable-tcl --disable-readline --disable-shared
  make BCC=/usr/bin/cc sqlite3.c
  "$CC" -O2 -fPIC -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION -c sqlite3.c
  "$AR" rcs "$prefix/lib/libsqlite3.a" sqlite3.o
  cp sqlite3.h "$prefix/include"
}

# Its CMake package is how ringside finds it. It asks for a CMake older than pip's takes.
build_pugixml() {
  "${cmake_for_target[@]}" -S "$(source_of pugixml)" -B . -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_POLICY_VERSION_MINIMUM=3.5
  cmake --build . --parallel "$jobs" --target install
}

# Without TLS and what the exporter does not use; what GNU's build tools make is there already.
build_microhttpd() {
  cp -r "$(source_of libmicrohttpd)/." .
  find . '(' -name '*.in' -o -name configure -o -name aclocal.m4 ')' -exec touch '{}' +
  CFLAGS='-O2 -fPIC' ./configure --host="$machine-linux-gnu" --build="$(uname -m)-linux-gnu" \
    --prefix="$prefix" --disable-shared --enable-static --disable-doc --disable-examples \
    --disable-curl --disable-https --disable-bauth --disable-dauth --disable-postprocessor
  make -j "$jobs" -C src/microhttpd libmicrohttpd.la
  cp src/microhttpd/.libs/libmicrohttpd.a "$prefix/lib"
  cp src/include/microhttpd.h "$prefix/include"
}

# The licences of all code that becomes part of the wheel, each in a file of its own. For a package
# of Debian's it is the file that has the licence of each part, and the place of the sources.
collect_licences() {
  local name of_zig
  of_zig=$(dirname "$zig")
  rm -rf "$work/licences"
  mkdir -p "$work/licences"
  for name in "${sources[@]}"; do
    cp "$(source_of "$name")/debian/copyright" "$work/licences/$name.txt"
  done
  for name in libcli11-dev nlohmann-json3-dev node-d3; do
    cp -L "$headers/usr/share/doc/$name/copyright" "$work/licences/$name.txt"
  done
  for name in libcxx libcxxabi libunwind; do
    cp "$of_zig/lib/$name/LICENSE.TXT" "$work/licences/llvm-$name.txt"
  done
  # The licence of libmicrohttpd demands that its own text is there.
  cp "$(source_of libmicrohttpd)/COPYING" "$work/licences/libmicrohttpd-COPYING.txt"
  cp "$of_zig/lib/libc/glibc/LICENSES" "$work/licences/glibc.txt"
  cp "$of_zig/LICENSE" "$work/licences/zig.txt"
  cp "$output"/nvtx/nvidia_nvtx-*.dist-info/licenses/License.txt "$work/licences/nvtx.txt"
}

library zlib build_zlib
library simdjson build_simdjson
library sqlite build_sqlite
library pugixml build_pugixml
library microhttpd build_microhttpd
collect_licences

# From the source distribution, which so is shown to be whole.
rm -rf "$work/dist" "$work/sdist" "$output/sdist"
"$tools/python" -m build --no-isolation --sdist --outdir "$output/sdist" . > "$work/sdist.log" 2>&1
mkdir "$work/sdist"
# As of now: files of a source distribution have a time of their own, and the build directory is kept.
tar -xmzf "$output"/sdist/nccl_ringside-*.tar.gz -C "$work/sdist" --strip-components=1
export _PYTHON_HOST_PLATFORM=linux-$machine
"$tools/pip" wheel --no-deps --no-build-isolation --wheel-dir "$work/dist" \
  --config-settings=cmake.args="--toolchain=$PWD/cmake/wheel.cmake" \
  --config-settings=cmake.define.RINGSIDE_STATIC_STDCXX=OFF \
  --config-settings=cmake.define.RINGSIDE_WHEEL_LICENCES="$work/licences" \
  --config-settings=build-dir="$work/build" \
  "$work/sdist" > "$work/wheel.log" 2>&1 || {
  tail -n 40 "$work/wheel.log"
  exit 1
}
(cd "$work/dist" && "$tools/python" -m wheel tags --remove \
  --platform-tag="manylinux_${glibc/./_}_$machine" nccl_ringside-*.whl)
python3 test/wheel/check_symbols.py "$work"/dist/nccl_ringside-*.whl --glibc "$glibc"
"$tools/auditwheel" show "$work"/dist/nccl_ringside-*.whl | tee "$work/auditwheel.log"
grep -q "manylinux_${glibc/./_}_$machine" "$work/auditwheel.log"
scripts/add_to_dist.sh "$work"/dist/nccl_ringside-*.whl
