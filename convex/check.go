package convex

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/vec"
)

// maxDim is the largest dimension. Sums of a few dimensions do not overflow.
const maxDim = min(1<<40, math.MaxInt/4)

func checkDim(what string, d int) error {
	if d < 1 || d > maxDim {
		return noregret.BadInputf(what, "the dimension is %d, want at least 1 and at most %d", d,
			maxDim)
	}
	return nil
}

// checkMemory is checkDim for an object that allocates the given number of float64s.
func checkMemory(what string, d int, numbers float64) error {
	if err := checkDim(what, d); err != nil {
		return err
	}
	return memory.Check(what, fmt.Sprintf("dimension %d", d), numbers)
}

func checkFinite(what, field string, x []float64) error {
	for i, v := range x {
		if !vec.IsFinite(v) {
			return noregret.BadInputf(what, "%s[%d] is %v, want a finite number", field, i, v)
		}
	}
	return nil
}

func checkPositive(what, field string, v float64) error {
	if !(v > 0) || math.IsInf(v, 1) {
		return noregret.BadInputf(what, "%s is %v, want a finite number above 0", field, v)
	}
	return nil
}

func checkLen(what, field string, got, want int) error {
	if got != want {
		return noregret.BadInputf(what, "%s has length %d, want %d", field, got, want)
	}
	return nil
}

// formatVector writes a short vector in full, a constant vector as one number, and a long vector as
// a digest.
func formatVector(x []float64) string {
	constant := true
	for _, v := range x {
		if math.Float64bits(v) != math.Float64bits(x[0]) {
			constant = false
			break
		}
	}
	if constant && len(x) > 1 {
		return formatFloat(x[0]) + "x" + strconv.Itoa(len(x))
	}
	if len(x) > 16 {
		h := sha256.New()
		var b [8]byte
		for _, v := range x {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
			h.Write(b[:])
		}
		return "sha256:" + hex.EncodeToString(h.Sum(nil)[:16]) + "x" + strconv.Itoa(len(x))
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, v := range x {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(formatFloat(v))
	}
	b.WriteByte(']')
	return b.String()
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
