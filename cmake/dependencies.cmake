# What Insitu is built on. oneDNN is opened at run time: only its headers are used, and only where they are present.
find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)
pkg_check_modules(minizip REQUIRED IMPORTED_TARGET minizip zlib)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)

find_path(INSITU_DNNL_INCLUDE_DIR NAMES dnnl.h oneapi/dnnl/dnnl.h)
if(INSITU_DNNL_INCLUDE_DIR)
    set(INSITU_HAVE_DNNL 1)
else()
    set(INSITU_HAVE_DNNL 0)
    message(STATUS "oneDNN headers not found: matrix products use Insitu's own kernels only")
endif()

# The runtime library's needs, then what the compiler adds.
add_library(insitu_runtime_needs INTERFACE)
target_link_libraries(insitu_runtime_needs INTERFACE OpenMP::OpenMP_C Threads::Threads PkgConfig::jansson PkgConfig::xxhash
                      ${CMAKE_DL_LIBS} m)
add_library(insitu_compiler_needs INTERFACE)
target_link_libraries(insitu_compiler_needs INTERFACE PkgConfig::minizip PkgConfig::zlib)
