package main

import (
	"bufio"
	"strings"
	"testing"
)

// TestEvaluatePolicyRefuses checks that bad flags are found before the log is read.
func TestEvaluatePolicyRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"evaluate-policy", "evaluate-policy takes one LOG, got 0 arguments"},
		refusal{"evaluate-policy a b", "evaluate-policy takes one LOG, got 2 arguments"},
		refusal{"evaluate-policy x --clip 0", "--clip: 0 is out of range, want a finite number above 0"},
		refusal{"evaluate-policy x --switch Inf", "--switch: +Inf is out of range"},
		refusal{"evaluate-policy x --max-weight 0", "--max-weight: 0 is out of range"},
		refusal{"evaluate-policy x --rewards 1,0", "--rewards: [1 0]: want two numbers"},
		refusal{"evaluate-policy x --format xml", `invalid argument "xml" for "--format" flag: want auto or csv`},
		refusal{"evaluate-policy -", "--arms: standard input or a pipe is read once"},
	)
}

// TestSniffLog checks the format that is recognised by the first line.
func TestSniffLog(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       formatCSV,
		"arm,propensity,reward\n{":               formatCSV,
		` {"arm":1,"propensity":0.5,"reward":1}`: formatJSONL,
		`{"_label_cost":-1,"a":[1]}`:             formatDSJSON,
		`{"RewardValue":1,"EventId":"x"}` + "\n": formatDSJSON,
		`{"position":1,"kind":"experiment","payload":{}}`:   formatExport,
		`{"reward":1}` + "\n" + `{"position":1,"kind":"x"}`: formatJSONL,
	} {
		if got := sniffLog(bufio.NewReader(strings.NewReader(text))); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
