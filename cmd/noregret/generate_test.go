package main

import "testing"

// TestGenerateRefuses checks that bad flags are found before the file is made.
func TestGenerateRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"generate g1 --rows 0 --output g1.svm", "--rows: 0 is out of range, want at least 1"},
		refusal{"generate g1 --output=", "--output: the file name is empty"},
		refusal{"generate g1 --format xml --output g1.svm", "invalid argument \"xml\""},
		refusal{"generate", "generate takes the name of one data set"},
		refusal{"generate g1 g3", "generate takes the name of one data set"},
	)
}
