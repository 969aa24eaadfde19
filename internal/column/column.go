package column

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

// The columns, by the type of their elements.
type (
	Uint64s  []uint64
	Float64s []float64
	Uint32s  []uint32
)

func toText(b []byte) ([]byte, error) { return strictjson.Encode(base64.StdEncoding.EncodeToString(b)) }

func fromText(data []byte, size int) ([]byte, error) {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err == nil && len(b)%size != 0 {
		err = noregret.BadInputf("column", "%d bytes: want a multiple of %d", len(b), size)
	}
	return b, err
}

// MarshalJSON implements [json.Marshaler].
func (c Uint64s) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(c))
	for _, v := range c {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return toText(b)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Uint64s) UnmarshalJSON(data []byte) error {
	b, err := fromText(data, 8)
	*c = nil
	for ; err == nil && len(b) > 0; b = b[8:] {
		*c = append(*c, binary.LittleEndian.Uint64(b))
	}
	return err
}

// MarshalJSON implements [json.Marshaler].
func (c Float64s) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(c))
	for _, v := range c {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return toText(b)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Float64s) UnmarshalJSON(data []byte) error {
	var u Uint64s
	err := u.UnmarshalJSON(data)
	*c = nil
	for _, v := range u {
		*c = append(*c, math.Float64frombits(v))
	}
	return err
}

// MarshalJSON implements [json.Marshaler].
func (c Uint32s) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 4*len(c))
	for _, v := range c {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return toText(b)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Uint32s) UnmarshalJSON(data []byte) error {
	b, err := fromText(data, 4)
	*c = nil
	for ; err == nil && len(b) > 0; b = b[4:] {
		*c = append(*c, binary.LittleEndian.Uint32(b))
	}
	return err
}
