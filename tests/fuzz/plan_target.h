/* What the targets of graphs and networks have in common: text, and the way from a network to a plan. */
#ifndef PLAN_TARGET_H
#define PLAN_TARGET_H

#include "rewrite/rewrite.h"

#include <stdlib.h>

/* The bytes with a zero byte behind them; the caller frees them. */
char *fuzz_text(const uint8_t *data, size_t size);
/* Recognises shifts, removes dead layers, plans, and prints the plan. What a verified network becomes is verified. */
void fuzz_plan(network_t *network, insitu_diag *diag);

/* A plan's text: printed, parsed and printed again it is the same. */
void fuzz_plan_text(const plan_t *made, insitu_diag *diag);

#endif
