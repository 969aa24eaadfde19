package dashboard

import "testing"

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.123456: "0.1235", 12.3456: "12.35", 1234.56: "1235",
		-0.00123456: "−0.001235", 1e7: "1e+07", 2e-5: "2e-05", 0.99999: "1.000", 1000: "1000", 9999.6: "10000",
		123456.7: "123457",
	} {
		if got := Figure(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[int64]string{0: "0", 999: "999", 1000: "1\u202f000", -1234567: "-1\u202f234\u202f567"} {
		if got := digits(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	low := 1.0
	if got := Interval(&low, nil) + Interval(nil, &low) + Interval(nil, nil); got != "[1.000, ∞][−∞, 1.000]" {
		t.Error(got)
	}
}
