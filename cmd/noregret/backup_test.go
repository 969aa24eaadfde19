package main

import "testing"

func TestBackupRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"backup", "--output: is required: the file to write, or -"},
		refusal{"backup -o b.tar --data d --server http://127.0.0.1:1", "--data: and --server exclude each other"},
		refusal{"backup now", `backup takes no arguments, got "now"`},
	)
}
