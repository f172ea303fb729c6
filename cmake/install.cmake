# `cmake --install`: libraries, headers, pkg-config files and CMake package files (insitu::insitu, insitu::runtime; the
# static ones, insitu::insitu_static and insitu::runtime_static, with find_package's component `static`, because they ask
# the user's project for Insitu's own dependencies).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/insitu)

set_target_properties(insitu_runtime PROPERTIES EXPORT_NAME runtime)
set_target_properties(insitu_runtime_static PROPERTIES EXPORT_NAME runtime_static)

install(DIRECTORY include/insitu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
install(TARGETS insitu insitu_runtime EXPORT insituTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS insitu_static insitu_runtime_static insitu_runtime_needs insitu_compiler_needs EXPORT insituStaticTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT insituTargets NAMESPACE insitu:: DESTINATION ${package_dir})
install(EXPORT insituStaticTargets NAMESPACE insitu:: DESTINATION ${package_dir})

# Licence, documents, examples, and the manual page, which scripts/make_manual makes of the command's help.
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN *.md)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples FILES_MATCHING PATTERN *.c PATTERN *.h)
install(FILES docs/insitu.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

configure_package_config_file(cmake/insituConfig.cmake.in ${PROJECT_BINARY_DIR}/insituConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/insituConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/insituConfig.cmake ${PROJECT_BINARY_DIR}/insituConfigVersion.cmake
        DESTINATION ${package_dir})

# insitu_pkg_config(<library> <description> <private packages>)
function(insitu_pkg_config library description requires)
    set(PC_NAME ${library})
    set(PC_DESCRIPTION ${description})
    set(PC_REQUIRES ${requires})
    # The prefix is found from the file's own place, so that the folder can be moved; a folder that was given absolutely stays.
    file(RELATIVE_PATH PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    set(PC_PREFIX "\${pcfiledir}/${PC_PREFIX}")
    set(PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
    if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
        set(PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
        set(PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
    endif()
    if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
        set(PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
    endif()
    string(JOIN " " PC_LIBS ${OpenMP_C_FLAGS} -pthread)
    foreach(lib IN LISTS CMAKE_DL_LIBS ITEMS m)
        string(APPEND PC_LIBS " -l${lib}")
    endforeach()
    configure_file(cmake/insitu.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

insitu_pkg_config(insitu "Compiles and runs saved PyTorch programs, state updated in place" "jansson libxxhash minizip zlib")
insitu_pkg_config(insitu_runtime "Runs programs compiled by Insitu" "jansson libxxhash")
