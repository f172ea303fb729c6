# Options, and the flags that every target of the project is compiled with.
if(PROJECT_IS_TOP_LEVEL)
    set(INSITU_BUILD_TESTS_DEFAULT AUTO)
else()
    set(INSITU_BUILD_TESTS_DEFAULT OFF)
endif()
set(INSITU_BUILD_TESTS ${INSITU_BUILD_TESTS_DEFAULT} CACHE STRING
    "Build the tests: ON, OFF, or AUTO: if what they need is there (cmocka, a C++ compiler, Python 3)")
option(INSITU_INSTALL "Install the libraries, the command, headers and documents" ${PROJECT_IS_TOP_LEVEL})
option(INSITU_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(INSITU_WARNINGS_AS_ERRORS "Treat warnings as errors (scripts/check does)" OFF)
option(INSITU_FUZZ "Build the libFuzzer programs of tests/fuzz (needs clang)" OFF)
set(INSITU_SANITIZE "" CACHE STRING "Sanitizers to build with, comma separated: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Types are plain words (arena, graph, plan), and so are the variables that hold one: GCC would call that shadowing.
set(INSITU_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wvla -Walloca -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith
    -Wswitch-enum)
if(INSITU_WARNINGS_AS_ERRORS)
    list(APPEND INSITU_WARNINGS -Werror)
endif()

add_library(insitu_flags INTERFACE)
target_compile_options(insitu_flags INTERFACE ${INSITU_WARNINGS})
target_compile_definitions(insitu_flags INTERFACE _GNU_SOURCE)
# A product and a sum are two roundings, as in PyTorch, unless a kernel asks for a fused one by name.
target_compile_options(insitu_flags INTERFACE -ffp-contract=off -fno-math-errno)

if(INSITU_SANITIZE)
    add_compile_options(-fsanitize=${INSITU_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${INSITU_SANITIZE})
endif()

if(INSITU_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# insitu_sanitizer_options(<program>): the sanitizers' defaults, for a program that opens oneDNN or uses OpenMP.
function(insitu_sanitizer_options program)
    if(INSITU_SANITIZE)
        target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/sanitizer_options.c)
    endif()
endfunction()
