#!/bin/sh
# Installs a build to a temporary prefix, compares what the libraries export with the lists beside this script (a function
# that is added or taken away is a line of theirs), and builds and runs a user's program with
# pkg-config (shared and static) and with find_package.
# usage: test_install.sh BUILD_FOLDER C_COMPILER CXX_COMPILER    (a static library needs the OpenMP of its own compiler)
set -eu
build=$1
compiler=$2
cxx_compiler=$3
here=$(dirname "$0")
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

cmake --install "$build" --prefix "$prefix" >"$prefix/install.log"
pc_folder=$(dirname "$(find "$prefix" -name insitu.pc)")
lib_folder=$(dirname "$pc_folder")
export PKG_CONFIG_PATH="$pc_folder"
export LD_LIBRARY_PATH="$lib_folder"

for library in insitu insitu_runtime; do
    nm -D --defined-only "$lib_folder/lib$library.so" | awk '{print $3}' | LC_ALL=C sort >"$prefix/$library.so.symbols"
    nm -g --defined-only "$lib_folder/lib$library.a" | awk 'NF == 3 {print $3}' | LC_ALL=C sort >"$prefix/$library.a.symbols"
    for kind in so a; do
        diff -u "$here/$library.symbols" "$prefix/$library.$kind.symbols" ||
            { echo "lib$library.$kind exports something else than $library.symbols"; exit 1; }
    done

    # shellcheck disable=SC2046 # flags are words
    "$compiler" -std=c11 "$here/consumer/main.c" -o "$prefix/shared" $(pkg-config --cflags --libs $library)
    "$prefix/shared"
    flags=$(pkg-config --static --libs $library | sed "s#-l$library\\b#$lib_folder/lib$library.a#")
    # shellcheck disable=SC2046,SC2086
    "$compiler" -std=c11 "$here/consumer/main.c" -o "$prefix/static" $(pkg-config --cflags $library) $flags
    env -u LD_LIBRARY_PATH "$prefix/static"
done

for consumer in consumer consumer_cxx; do
    cmake -G Ninja -S "$here/$consumer" -B "$prefix/$consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler" \
        -DCMAKE_CXX_COMPILER="$cxx_compiler" >"$prefix/cmake.log" 2>&1 ||
        { cat "$prefix/cmake.log"; exit 1; }
    cmake --build "$prefix/$consumer" >"$prefix/build.log" || { cat "$prefix/build.log"; exit 1; }
    for library in insitu runtime insitu_static runtime_static; do
        "$prefix/$consumer/use_$library"
    done
done
cmake -G Ninja -S "$here/no_component" -B "$prefix/no_component" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler" >"$prefix/cmake.log" 2>&1 ||
    { cat "$prefix/cmake.log"; exit 1; }
grep -q "said: insitu has no component 'statics'" "$prefix/cmake.log" || { cat "$prefix/cmake.log"; exit 1; }
[ ! -e "$prefix/bin/insitu" ] || "$prefix/bin/insitu" --help >/dev/null

# What README.md says of an installed library: a compile line, with the folder of the library in the program.
readme=$(sed -n 's/^cc \(decode_five.*\)$/\1/p' "$here/../../README.md")
[ -n "$readme" ] || { echo "README.md has no compile line of its C example"; exit 1; }
python3 -B "$here/../tools/extract_blocks.py" "$here/../../README.md" c "$prefix/decode_five.c"
(cd "$prefix" && env -u LD_LIBRARY_PATH sh -ec "\"$compiler\" $(echo "$readme" | sed "s#/usr/local/lib#$lib_folder#g")")
status=0
env -u LD_LIBRARY_PATH "$prefix/decode_five" || status=$?
[ $status = 2 ] || { echo "README.md's C example ends with $status without an argument"; exit 1; }

# Licence, documents, examples and the manual page.
documents=$(dirname "$(find "$prefix" -name LICENSE)")
for file in LICENSE README.md docs/c-api.md examples/decode.c examples/wav.h; do
    [ -s "$documents/$file" ] || { echo "the install lacks $file"; exit 1; }
done
[ -s "$(find "$prefix" -path '*man1/insitu.1')" ] || { echo "the install lacks the manual page"; exit 1; }
