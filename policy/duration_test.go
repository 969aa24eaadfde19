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
	for text, want := range map[string]string{
		"168h": "7d", "2160h": "90d", "48h": "2d", "24h": "24h", "36h": "36h", "49h": "49h", "1h30m": "1h30m",
		"1h0m5s": "1h0m5s", "60s": "1m", "90s": "1m30s", "10m": "10m", "0s": "0s", "250ms": "250ms", "-1h": "-1h",
		"-168h": "-168h", "100h10m": "100h10m", "20h": "20h",
	} {
		var d, again Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.String() != want {
			t.Errorf("%s is written as %s, %v: want %s", text, d, err, want)
		}
		if err := again.UnmarshalText([]byte(d.String())); err != nil || again != d {
			t.Errorf("%s is written as %s, which is read as %s, %v", text, d, again, err)
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
