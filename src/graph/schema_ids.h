/* A number for each operator of the table of schemas, in the order of schema_row: for tables that are joined to it. */
#ifndef SCHEMA_IDS_H
#define SCHEMA_IDS_H

enum schema_id {
#define SCHEMA(id, ...) SCHEMA_##id,
#include "graph/schemas.inc"
#include "graph/symbolic_schemas.inc"
#undef SCHEMA
    SCHEMA_COUNT
};

#endif
