package main

import "testing"

func TestRestoreRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"restore", "restore takes one file, got 0 arguments"},
		refusal{"restore a.tar b.tar", "restore takes one file, got 2 arguments"},
	)
}
