package memory

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
)

func TestCheck(t *testing.T) {
	if err := Check("cube", "dimension 1000", 4e3); err != nil {
		t.Errorf("4,000 numbers are refused: %v", err)
	}
	if err := Check("cube", "dimension 1073741824", Limit/8); err != nil {
		t.Errorf("the limit itself is refused: %v", err)
	}
	err := Check("gradual", "dimension 60000", 60000*60000)
	want := "gradual: dimension 60000 needs 26.8 GiB of memory, want at most 8 GiB"
	if noregret.CodeOf(err) != noregret.BadInput || err.Error() != want {
		t.Errorf("the error is %v, want %q", err, want)
	}
	for _, n := range []float64{math.Inf(1), math.NaN(), 1e300} {
		if Check("cube", "it", n) == nil {
			t.Errorf("%v numbers are not refused", n)
		}
	}
}

func TestFormat(t *testing.T) {
	for bytes, want := range map[float64]string{
		0: "0 B", 512: "512 B", 2048: "2 KiB", 1 << 30: "1 GiB", 28.8e9: "26.8 GiB", 1e30: "8.67e+11 EiB",
	} {
		if got := Format(bytes); got != want {
			t.Errorf("Format(%v) = %q, want %q", bytes, got, want)
		}
	}
}
