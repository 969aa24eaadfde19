package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkDecode compares the decoding of a request of 100 units with encoding/json.
func BenchmarkDecode(b *testing.B) {
	raw := []byte(`{"units": ["user-1` + strings.Repeat(`", "user-2`, 99) + `"]}`)
	type request struct {
		Units []string `json:"units"`
	}
	b.Run("strict", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			var in request
			if err := Decode(raw, &in, Rules{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			var in request
			if err := json.Unmarshal(raw, &in); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkItem decodes a request of one item of feedback.
func BenchmarkItem(b *testing.B) {
	raw := []byte(`{"items":[{"token":"` + strings.Repeat("x", 80) + `","metrics":{"x":1.5}}]}`)
	var in struct {
		Items []struct {
			Token   string             `json:"token"`
			Metrics map[string]float64 `json:"metrics"`
		} `json:"items"`
	}
	for b.Loop() {
		if err := Decode(raw, &in, Rules{}); err != nil {
			b.Fatal(err)
		}
	}
}
