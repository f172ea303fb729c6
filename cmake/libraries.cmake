# libinsitu_runtime (loads and runs engines) and libinsitu (compiles too), each shared and static. A program links one.
set(INSITU_RUNTIME_ROOMS base core plan engine runtime backend backend_cpu)
set(INSITU_ROOMS ${INSITU_RUNTIME_ROOMS} engine_write archive graph passes network convert builder planner rewrite compile)

# insitu_library(<name> NEEDS <target>... ROOMS <room>...) makes <name> (shared) and <name>_static.
function(insitu_library name)
    cmake_parse_arguments(ARG "" "" "NEEDS;ROOMS" ${ARGN})
    insitu_room_objects(objects ${ARG_ROOMS})
    insitu_room_targets(rooms ${ARG_ROOMS})

    add_library(${name} SHARED ${objects})
    target_link_libraries(${name} PRIVATE ${ARG_NEEDS})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    if(NOT INSITU_SANITIZE)
        target_link_options(${name} PRIVATE -Wl,--no-undefined)
    endif()

    # One relinked object whose hidden symbols are made local: internal names can't clash with a program's own.
    # It depends on the rooms, not on their objects, which the rules of Make for this folder don't know.
    set(relinked ${CMAKE_CURRENT_BINARY_DIR}/${name}_relinked.o)
    get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
    if(is_multi_config)
        set(relinked ${CMAKE_CURRENT_BINARY_DIR}/${name}_relinked_$<CONFIG>.o)
    endif()
    add_custom_command(
        OUTPUT ${relinked}
        COMMAND ${CMAKE_LINKER} -r -o ${relinked} ${objects}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${relinked}
        DEPENDS ${rooms}
        COMMAND_EXPAND_LISTS VERBATIM
        COMMENT "Relinking ${name} with local internal symbols")
    add_library(${name}_static STATIC ${relinked})
    set_target_properties(${name}_static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME ${name})
    target_link_libraries(${name}_static PUBLIC ${ARG_NEEDS})

    foreach(target ${name} ${name}_static)
        target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endforeach()
endfunction()

insitu_library(insitu_runtime NEEDS insitu_runtime_needs ROOMS ${INSITU_RUNTIME_ROOMS})
insitu_library(insitu NEEDS insitu_runtime_needs insitu_compiler_needs ROOMS ${INSITU_ROOMS})

# The names that find_package gives, for projects that have Insitu as a folder of theirs.
add_library(insitu::insitu ALIAS insitu)
add_library(insitu::insitu_static ALIAS insitu_static)
add_library(insitu::runtime ALIAS insitu_runtime)
add_library(insitu::runtime_static ALIAS insitu_runtime_static)
