package main

import "testing"

func TestImportRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"log import", "import takes one file, got 0 arguments"},
		refusal{"log import a b", "import takes one file, got 2 arguments"},
	)
}
