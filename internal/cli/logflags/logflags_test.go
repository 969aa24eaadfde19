package logflags

import (
	"bufio"
	"strings"
	"testing"
)

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
