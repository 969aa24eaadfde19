package policy

import (
	"testing"
	"time"
)

// TestDuration reads lengths of time with days in front, and refuses what is not one.
func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "+1d": 24 * time.Hour,
		"1.5d": 36 * time.Hour, "1d12h": 36 * time.Hour, "2d0.5h": 48*time.Hour + 30*time.Minute, "0d": 0,
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s is %v, %v: want %v", text, time.Duration(d), err, want)
		}
		b, err := d.MarshalText()
		var again Duration
		if err != nil || again.UnmarshalText(b) != nil || again != d {
			t.Errorf("%s is written as %s, %v", text, b, err)
		}
	}
	for _, text := range []string{
		"", "d", "1", "-1d", "1h1d", "1d1d", "1d-1h", "1d+1h", "1e3d", "0x1d", "999999d", "1d2000000h", "week",
	} {
		d := Duration(7)
		if err := d.UnmarshalText([]byte(text)); err == nil || d != 7 {
			t.Errorf("%q is %v, %v: want an error and no change", text, time.Duration(d), err)
		}
	}
}
