//go:build !unix

package server

// descriptorLimit returns how many file descriptors the process may have.
func descriptorLimit() int { return assumedDescriptors }
