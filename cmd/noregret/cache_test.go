package main

import "testing"

// TestCacheRefuses checks that bad flags are found before data are read or a file is made.
func TestCacheRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"cache data.svm", "--output: is required: the "},
		refusal{"cache --output data.cache", "no data: name at least one file"},
		refusal{"cache --output= data.svm", "--output: the file name is empty"},
	)
}
