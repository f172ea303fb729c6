#!/bin/sh
# Builds Insitu in the ways that a user may choose beside the presets: CMake's default generator, several configurations in one
# folder, without what the tests need, and as a folder of another project. A build without optimisation each.
# usage: test_ways.sh [make|multi|bare|folder]...     all of them without arguments
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
jobs=$(nproc)
flags="-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DINSITU_WARNINGS_AS_ERRORS=ON"
if command -v ccache >/dev/null; then flags="$flags -DCMAKE_C_COMPILER_LAUNCHER=ccache"; fi

quiet() {
    "$@" >"$work/log" 2>&1 || { tail -n 60 "$work/log"; echo "FAILED: $*"; exit 1; }
}

# Installed to folders of the user's choice, absolute ones among them.
make() {
    # shellcheck disable=SC2086 # flags are words
    quiet env -u CMAKE_GENERATOR cmake -S "$source" -B "$work/make" -G "Unix Makefiles" $flags -DINSITU_BUILD_TESTS=OFF \
        -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_LIBDIR="$work/libraries" -DCMAKE_INSTALL_INCLUDEDIR=headers
    quiet cmake --build "$work/make" -j "$jobs"
    quiet cmake --install "$work/make"
    PKG_CONFIG_PATH="$work/libraries/pkgconfig"
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2046
    cc "$here/consumer/main.c" -o "$work/use" $(pkg-config --cflags --libs insitu) -Wl,-rpath,"$work/libraries"
    "$work/use"
}

multi() {
    # shellcheck disable=SC2086
    quiet cmake -S "$source" -B "$work/multi" -G "Ninja Multi-Config" $flags -DINSITU_BUILD_TESTS=OFF -DCMAKE_C_FLAGS_RELEASE=-O0
    for configuration in Debug Release; do
        quiet cmake --build "$work/multi" --config $configuration -j "$jobs"
        quiet cmake --install "$work/multi" --config $configuration --prefix "$work/prefix_$configuration"
        "$work/prefix_$configuration/bin/insitu" --version
    done
}

# A machine on which pkg-config knows no cmocka: the presets configure, without tests, and say so.
bare() {
    printf '#!/bin/sh\ncase "$*" in *cmocka*) exit 1 ;; esac\nexec pkg-config "$@"\n' >"$work/pkg-config"
    chmod +x "$work/pkg-config"
    PKG_CONFIG="$work/pkg-config" cmake --preset release -S "$source" -B "$work/bare" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    grep -q "No tests: cmocka is not here" "$work/log" || { cat "$work/log"; exit 1; }
    if PKG_CONFIG="$work/pkg-config" cmake --preset release -S "$source" -B "$work/asked" -DINSITU_BUILD_TESTS=ON >"$work/log" 2>&1; then
        echo "FAILED: tests were asked for, cmocka is not there, and nothing was said"
        exit 1
    fi
}

folder() {
    # shellcheck disable=SC2086
    quiet cmake -S "$here/subproject" -B "$work/folder" -G Ninja $flags -DINSITU_SOURCE="$source"
    quiet cmake --build "$work/folder" -j "$jobs"
    for library in insitu runtime insitu_static runtime_static; do "$work/folder/use_$library"; done
    "$work/folder/use_from_cxx"
    quiet cmake --install "$work/folder" --prefix "$work/prefix_folder"
    [ "$(find "$work/prefix_folder" -type f | wc -l)" = 1 ] || { echo "FAILED: the install of another project holds Insitu's files"; exit 1; }
}

[ $# -gt 0 ] || set -- bare make multi folder
for way in "$@"; do
    "$way"
    echo "ok $way"
done
