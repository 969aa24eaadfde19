package drift

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// textOf describes a part of a wrapper, for the kind of its snapshot.
func textOf(v any) string {
	if s, ok := v.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", v)
}

// brief is a vector in full, or a digest of one with more than 4 numbers.
func brief(v []float64) string {
	if len(v) <= 4 {
		return fmt.Sprint(v)
	}
	h := sha256.New()
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	_, _ = h.Write(b) // never fails
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
