// Package files checks the files that a command line names, before any work is done: outputs that
// would overwrite an input or another output, or cannot be written ([CheckOutputs]), pictures of an
// unknown kind ([CheckPlots]), and files that are not what a command expects ([ContentOf]). [Write]
// writes a file whole or not at all.
package files
