package command

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// A length of time is shown as people write it, and read with days in front.
func TestDurationVar(t *testing.T) {
	v := 168 * time.Hour
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	DurationVar(f, &v, "retain", "how long")
	if help := f.FlagUsages(); !strings.Contains(help, "--retain duration   how long (default 7d)") {
		t.Errorf("help %q", help)
	}
	v = 0
	DurationVar(f, &v, "idle", "how long")
	if help := f.FlagUsages(); !strings.Contains(help, "--idle duration     how long\n") {
		t.Errorf("help %q", help)
	}
	for text, want := range map[string]time.Duration{
		"90d": 2160 * time.Hour, "1h30m": 90 * time.Minute, "-1h": -time.Hour, "0": 0,
	} {
		if err := f.Parse([]string{"--idle=" + text}); err != nil || v != want {
			t.Errorf("%s: %v, %v; want %v", text, v, err, want)
		}
	}
	const want = "want a length of time, such as 10s, 36h or 7d"
	if err := f.Parse([]string{"--retain=soon"}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("soon: %v", err)
	}
}
