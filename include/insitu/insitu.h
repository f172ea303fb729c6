/* Insitu: a compiler and runtime for PyTorch programs saved by torch.export that updates state where it lies. */
#ifndef INSITU_INSITU_H
#define INSITU_INSITU_H

#include <insitu/context.h>
#include <insitu/engine.h>
#include <insitu/layers.h>
#include <insitu/log.h>
#include <insitu/module.h>
#include <insitu/network.h>
#include <insitu/program.h>
#include <insitu/state.h>
#include <insitu/status.h>
#include <insitu/tensor.h>
#include <insitu/version.h>

#endif
