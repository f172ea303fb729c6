/* The command line's reader of safetensors files, apart from the library, which has a function of the same name. */
#ifndef TENSOR_FILE_H
#define TENSOR_FILE_H

/* Reads the file as the inputs of a call, and touches every element. */
void tensor_file_read(const char *path);

#endif
